//! Whose words a text is, and what part a step plays: a scorer learns each apart.

use crate::model::{Kind, Origin};

/// Whose words a text is, as far as a scorer is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Voice {
    /// The user's.
    User,
    /// The agent's, in what it says.
    Agent,
    /// The agent's, in what it thinks.
    Thought,
    /// What is passed to a tool.
    Argument,
    /// Anybody else's.
    Outside,
}

impl Voice {
    /// Every voice.
    pub const ALL: &'static [Voice] = &[
        Voice::User,
        Voice::Agent,
        Voice::Thought,
        Voice::Argument,
        Voice::Outside,
    ];

    pub(super) const fn of(origin: Origin) -> Option<Self> {
        match origin {
            Origin::User => Some(Voice::User),
            Origin::Agent => Some(Voice::Agent),
            Origin::Reasoning => Some(Voice::Thought),
            Origin::ToolArguments => Some(Voice::Argument),
            Origin::ToolOutput
            | Origin::Knowledge
            | Origin::Memory
            | Origin::RemoteAgent
            | Origin::Trigger
            | Origin::ToolDescription => Some(Voice::Outside),
            Origin::Instructions | Origin::Unknown => None,
        }
    }
}

/// What part a step plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// The user asks.
    Asks,
    /// The agent says.
    Says,
    /// The agent acts.
    Acts,
    /// Something comes in.
    Reads,
}

impl Part {
    /// Every part.
    pub const ALL: &'static [Part] = &[Part::Asks, Part::Says, Part::Acts, Part::Reads];

    /// The part of a kind of step.
    pub const fn of(kind: Kind) -> Self {
        match kind {
            Kind::UserMessage | Kind::SystemMessage => Part::Asks,
            Kind::AgentMessage => Part::Says,
            Kind::ToolCall | Kind::McpRequest | Kind::A2aRequest | Kind::MemoryStore => Part::Acts,
            Kind::Trigger
            | Kind::Knowledge
            | Kind::MemoryRetrieval
            | Kind::ToolResult
            | Kind::A2aResponse
            | Kind::McpResponse => Part::Reads,
        }
    }

    /// The voice that speaks in a step of this part.
    pub(super) const fn voice(self) -> Voice {
        match self {
            Part::Asks => Voice::User,
            Part::Says => Voice::Agent,
            Part::Acts => Voice::Argument,
            Part::Reads => Voice::Outside,
        }
    }

    /// The name in policies and reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Part::Asks => "asks",
            Part::Says => "says",
            Part::Acts => "acts",
            Part::Reads => "reads",
        }
    }
}
