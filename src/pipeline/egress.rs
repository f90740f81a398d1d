//! Egress: the test for steps that send data to a third party.

use crate::model::{Content, Finding, Kind, Origin, Step, ToolClass};
use crate::policy::{DataFlow, Policy};
use crate::prefilter;

/// Rules that find the signature of a link, which is a credential for its own host alone.
const SIGNED_LINKS: [&str; 2] = ["secret.signed_url", "secret.azure_sas_signature"];

/// The way in which a step sends data to a third party.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Egress {
    /// It sends none.
    None,
    /// It is a message to another agent.
    Message,
    /// It is a call of a tool that sends.
    Tool,
    /// It is a call that runs a command which sends.
    Command,
}

impl Egress {
    pub(super) fn of(step: &Step, policy: &Policy) -> Self {
        if step.kind == Kind::A2aRequest {
            return Egress::Message;
        }
        let Some(call) = &step.tool_call else {
            return Egress::None;
        };
        let classes = crate::tools::classes_of_call(step, call, policy);
        if classes.set.has(ToolClass::SendsOut) {
            Egress::Tool
        } else if step
            .contents_of(Origin::ToolArguments)
            .any(|content| prefilter::sends_by_command(&content.text))
        {
            Egress::Command
        } else {
            Egress::None
        }
    }

    /// Returns the flow of a finding's data: a signed link that is sent to its own host does not leave.
    pub(super) fn flow_of(self, finding: &Finding, step: &Step) -> DataFlow {
        let content = finding.content.and_then(|id| step.content(id));
        let stays = match self {
            Egress::None => true,
            Egress::Message => false,
            Egress::Tool | Egress::Command => {
                SIGNED_LINKS.contains(&finding.rule.as_str())
                    && content.is_some_and(|content| self.is_for_its_own_host(content, finding, step))
            }
        };
        if stays { DataFlow::Internal } else { DataFlow::Outbound }
    }

    /// Returns `true` if a call uses a signed link where it belongs: it names no other host and no recipient, and the link is not the text of a
    /// message.
    fn is_for_its_own_host(self, content: &Content, finding: &Finding, step: &Step) -> bool {
        let before = content.text.get(..finding.span.start).unwrap_or_default();
        let Some(host) = before.rfind("://").and_then(|at| host_at(before, at)) else {
            return false;
        };
        let others = step.contents_of(Origin::ToolArguments).any(|content| {
            let text = content.text.as_str();
            text.contains('@') || text.match_indices("://").any(|(at, _)| host_at(text, at) != Some(host))
        });
        let is_address = self == Egress::Command
            || content.label.as_deref().is_some_and(|label| {
                let label = label.to_ascii_lowercase();
                ["url", "uri", "link", "href", "endpoint"]
                    .iter()
                    .any(|name| label.contains(name))
            }) && !content.text.trim().contains(char::is_whitespace);
        is_address && !others
    }
}

/// Returns the host of the link whose `://` stands at this byte.
fn host_at(text: &str, at: usize) -> Option<&str> {
    let rest = text.get(at + "://".len()..)?;
    rest.split(|c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"' | '\'' | '\\' | '<' | '>' | ')'))
        .next()
        .filter(|host| !host.is_empty())
}
