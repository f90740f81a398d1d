//! Judging: the items of a conversation, as steps, one after the other.

use std::sync::Arc;

use crate::gateway::conversations::Conversation;
use crate::gateway::denial::{Denial, Stage};
use crate::gateway::json::Json;
use crate::gateway::route::Route;
use crate::gateway::verdicts::{Depth, Question};
use crate::wire::chat::{Agent, Call, ChatItem, Log, RunBy};

/// Judges the items of a conversation, each with the context that all of its steps carry.
#[derive(Clone)]
pub(super) struct ConversationJudge {
    pub(super) route: Arc<Route>,
    pub(super) conversation: Arc<Conversation>,
    pub(super) instructions: Arc<str>,
    pub(super) tools: Arc<[Json]>,
}

/// The result of a verdict about an item.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ItemVerdict {
    /// It goes on as it is.
    Same,
    /// It goes on with what these parameters of its step hold.
    Edited(Json),
    /// It does not go on.
    Denied(Denial),
}

impl ConversationJudge {
    /// Has an item judged.
    pub(super) async fn verdict(&self, said: &ChatItem, stage: Stage) -> ItemVerdict {
        match self.route.verdicts.ask(&self.question(said, stage), Depth::Whole).await {
            Ok(None) => ItemVerdict::Same,
            Ok(Some(mut params)) => {
                // The context that every step carries was not said.
                params.remove("context");
                ItemVerdict::Edited(params)
            }
            Err(denial) => ItemVerdict::Denied(denial),
        }
    }

    fn question(&self, said: &ChatItem, stage: Stage) -> Question {
        let agent = Agent {
            name: &self.route.settings.name,
            session: &self.conversation.session,
            instructions: &self.instructions,
            tools: &self.tools,
        };
        let (method, params) = agent.step(said);
        Question { method, params, stage }
    }

    /// Has rules look at tools that run where the model is: when their calls are seen, they have run.
    pub(super) async fn admit_hosted(&self, log: &Log) -> Result<(), Denial> {
        for (name, tool) in &log.hosted {
            let digest = blake3::hash(format!("{name}\n{}", tool.write()).as_bytes()).into();
            if self.route.passes_again(digest) {
                continue;
            }
            let declared = ChatItem::Call(Call {
                place: Default::default(),
                id: format!("declared-{name}"),
                name: name.clone(),
                arguments_at: Default::default(),
                arguments: tool.clone(),
                reasoning: String::new(),
                run_by: RunBy::Provider,
            });
            let question = self.question(&declared, Stage::Request);
            if self.route.verdicts.ask(&question, Depth::Rules).await?.is_some() {
                return Err(Denial::unmodifiable(Stage::Request));
            }
            self.route.judged.let_through(digest);
        }
        Ok(())
    }
}
