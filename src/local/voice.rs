//! The voice of a text and the role of a step: a scorer learns each apart.

use crate::model::named_enum;
use crate::model::{Kind, Origin};

/// The voice of a text: the author of its words, as far as a scorer is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Voice {
    /// The user's.
    User,
    /// The agent's, in what it says.
    Agent,
    /// The agent's, in what it thinks.
    Thought,
    /// The words passed to a tool.
    Argument,
    /// Any other author's.
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

named_enum! {
    /// The role of a step.
    StepRole {
        /// The user asks.
        Asks = "asks",
        /// The agent says.
        Says = "says",
        /// The agent acts.
        Acts = "acts",
        /// Something comes in.
        Reads = "reads",
    }
}

impl StepRole {
    /// The part of a kind of step.
    pub const fn of(kind: Kind) -> Self {
        match kind {
            Kind::UserMessage | Kind::SystemMessage => StepRole::Asks,
            Kind::AgentMessage => StepRole::Says,
            _ if kind.acts() => StepRole::Acts,
            _ => StepRole::Reads,
        }
    }

    /// The voice that speaks in a step of this part.
    pub(super) const fn voice(self) -> Voice {
        match self {
            StepRole::Asks => Voice::User,
            StepRole::Says => Voice::Agent,
            StepRole::Acts => Voice::Argument,
            StepRole::Reads => Voice::Outside,
        }
    }
}
