//! Leeway: what a judge's edits may do to a content.

use super::named_enum;
use super::{Content, Kind, Method, Origin, Step};

named_enum! {
    /// The edits that a judge may make to a content, the least first. None of them can write anything: what goes is replaced
    /// by a fixed mark.
    Leeway {
        /// Nothing: memories, events, lists and descriptions of tools and agents stand or fall whole.
        Nothing = "nothing",
        /// Take out a value that a rule named as a secret or personal data: whatever is acted upon.
        Data = "data",
        /// Take out values: those, and numbers and addresses. The words of the user, and what the agent thinks.
        Values = "values",
        /// Take out values, and whole sentences, lines and fields: what the agent reads, and what it tells the user.
        Passages = "passages",
    }
}

/// The parts of an MCP answer that list what there is to be used.
const LISTS: [&str; 6] = [
    "/result/tools",
    "/result/prompts",
    "/result/resources",
    "/result/resourceTemplates",
    "/result/instructions",
    "/result/serverInfo",
];

impl Step {
    /// Returns what a judge's edits may do to a content of this step.
    pub fn leeway(&self, content: &Content) -> Leeway {
        if !content.is_editable() || !self.method.allows_modification() || self.method == Method::AgentCard {
            return Leeway::Nothing;
        }
        match content.origin {
            Origin::Memory | Origin::Trigger | Origin::ToolDescription | Origin::Instructions => Leeway::Nothing,
            Origin::ToolArguments => Leeway::Data,
            Origin::User | Origin::Reasoning => self.leeway_of_kind(content).min(Leeway::Values),
            Origin::Agent | Origin::ToolOutput | Origin::Knowledge | Origin::RemoteAgent | Origin::Unknown => {
                self.leeway_of_kind(content)
            }
        }
    }

    /// Returns the most that a judge's edits may do to the step.
    pub fn most_leeway(&self) -> Leeway {
        let all = self.contents.iter().map(|content| self.leeway(content));
        all.max().unwrap_or(Leeway::Nothing)
    }

    fn leeway_of_kind(&self, content: &Content) -> Leeway {
        let pointer = content.pointer.as_str();
        match self.kind {
            Kind::Trigger | Kind::MemoryStore | Kind::MemoryRetrieval => Leeway::Nothing,
            Kind::ToolCall | Kind::McpRequest | Kind::A2aRequest => Leeway::Data,
            Kind::McpResponse if LISTS.iter().any(|list| pointer.contains(list)) => Leeway::Nothing,
            // A request of a server: it is acted upon.
            Kind::McpResponse if !pointer.contains("/result") && !pointer.contains("/error") => Leeway::Data,
            Kind::UserMessage => Leeway::Values,
            Kind::AgentMessage
            | Kind::SystemMessage
            | Kind::Knowledge
            | Kind::ToolResult
            | Kind::A2aResponse
            | Kind::McpResponse => Leeway::Passages,
        }
    }
}
