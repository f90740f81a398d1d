//! Asking about a message, as the step that it is.

use super::message::Message;
use super::pins::Pins;
use super::session::Session;
use crate::gateway::denial::{Denial, Stage};
use crate::gateway::json::object;
use crate::gateway::route::Route;
use crate::gateway::verdicts::Depth;
use crate::gateway::verdicts::{Question, VerdictClient};

/// A session, and who decides about its messages.
pub(super) struct Judge<'s> {
    pub(super) session: &'s Session,
    pub(super) verdicts: &'s VerdictClient,
    /// The definitions of tools that are pinned, and the name of the server there.
    pub(super) pinned: Option<&'s Pinned>,
}

/// The file in which the definitions of a server's tools are pinned.
#[derive(Clone, Debug)]
pub(super) struct Pinned {
    pub(super) pins: Pins,
    pub(super) server: String,
}

impl Pinned {
    /// Returns the file that the configuration of a gateway names, if it does.
    pub(super) fn of(route: &Route) -> Option<Self> {
        Some(Self {
            pins: Pins::new(route.settings.tools_file.clone()?),
            server: route.settings.name.clone(),
        })
    }
}

impl Judge<'_> {
    /// Has a message judged as the step that it is; gives what became of it.
    pub(super) async fn ask(&self, message: Message, depth: Depth, stage: Stage) -> Result<Message, Denial> {
        let params = object([("message", message.value.clone()), ("context", self.session.context())]);
        let question = Question {
            method: "protocols/MCP",
            params,
            stage,
        };
        let Some(mut params) = self.verdicts.ask(&question, depth).await? else {
            return Ok(message);
        };
        let value = params.remove("message");
        let value = value.ok_or_else(|| Denial::unmodifiable(stage))?;
        Ok(Message { value, ..message })
    }
}
