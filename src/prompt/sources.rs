//! The templates that are compiled in, by name.

use super::Length;
use crate::model::Kind;

macro_rules! sources {
    ($($name:literal),+ $(,)?) => {
        /// Every template, in the order of their names.
        pub(super) const ALL: &[(&str, &str)] = &[$(($name, include_str!(concat!("../../prompts/", $name)))),+];
    };
}

sources![
    "_agent.md.j2",
    "_closing.md.j2",
    "_contents.md.j2",
    "_edits.md.j2",
    "_findings.md.j2",
    "_session.md.j2",
    "_step.md.j2",
    "a2a_request.md.j2",
    "a2a_response.md.j2",
    "agent_message.md.j2",
    "first.md.j2",
    "first_step.md.j2",
    "knowledge.md.j2",
    "mcp_request.md.j2",
    "mcp_response.md.j2",
    "memory_retrieval.md.j2",
    "memory_store.md.j2",
    "system.md.j2",
    "system_message.md.j2",
    "tool_call.md.j2",
    "tool_result.md.j2",
    "trigger.md.j2",
    "user_message.md.j2",
];

/// The template of the system prompt.
pub(super) const SYSTEM: &str = "system.md.j2";
/// The templates of the short prompt: of its system message, and of a step of any kind.
pub(super) const SHORT: [&str; 2] = ["first.md.j2", "first_step.md.j2"];

/// Returns the templates of a prompt: of its system message, and of its user message.
pub(super) const fn of(length: Length, kind: Kind) -> [&'static str; 2] {
    match length {
        Length::Full => [SYSTEM, of_kind(kind)],
        Length::Short => SHORT,
    }
}

/// Returns the template of a kind of step.
pub(super) const fn of_kind(kind: Kind) -> &'static str {
    match kind {
        Kind::UserMessage => "user_message.md.j2",
        Kind::AgentMessage => "agent_message.md.j2",
        Kind::SystemMessage => "system_message.md.j2",
        Kind::Trigger => "trigger.md.j2",
        Kind::Knowledge => "knowledge.md.j2",
        Kind::MemoryStore => "memory_store.md.j2",
        Kind::MemoryRetrieval => "memory_retrieval.md.j2",
        Kind::ToolCall => "tool_call.md.j2",
        Kind::ToolResult => "tool_result.md.j2",
        Kind::A2aRequest => "a2a_request.md.j2",
        Kind::A2aResponse => "a2a_response.md.j2",
        Kind::McpRequest => "mcp_request.md.j2",
        Kind::McpResponse => "mcp_response.md.j2",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_the_template_of_its_name_and_every_file_is_listed() {
        for kind in Kind::ALL {
            assert_eq!(of_kind(*kind), format!("{kind}.md.j2"));
            assert!(ALL.iter().any(|(name, _)| *name == of_kind(*kind)));
        }
        let mut files: Vec<String> = std::fs::read_dir("prompts")
            .unwrap()
            .map(|entry| entry.unwrap())
            .filter(|entry| entry.path().is_file())
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect();
        files.sort();
        assert_eq!(files, ALL.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    }
}
