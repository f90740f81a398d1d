//! Contents: the pieces of text that a step carries, with their authors and their places.

use super::{ReasonCode, named_enum};
use std::fmt;
use std::sync::Arc;

/// The id under which prompts, findings and edits name a content: `c1`, `c2`, … in document order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentId(u32);

impl ContentId {
    /// The id of the content at this index of [`Step::contents`](super::Step).
    pub fn from_index(index: usize) -> Self {
        Self(u32::try_from(index).unwrap_or(u32::MAX - 1) + 1)
    }

    /// The index into [`Step::contents`](super::Step).
    pub fn index(self) -> usize {
        (self.0 as usize).saturating_sub(1)
    }

    /// Reads `c1`, `c2`, …; nothing else.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('c')?;
        if digits.is_empty() || digits.starts_with('0') || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        digits.parse().ok().map(Self)
    }
}

impl fmt::Display for ContentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "c{}", self.0)
    }
}

/// A JSON Pointer (RFC 6901) into the request. Cheap to clone: findings and coverage repeat it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pointer(Arc<str>);

impl Pointer {
    /// Wraps an already escaped pointer.
    pub fn new(pointer: impl Into<Arc<str>>) -> Self {
        Self(pointer.into())
    }

    /// The pointer's text; empty for the whole document.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The pointer of the object or array that holds the place, and the name or index in it; `None` for the whole document.
    pub fn split(&self) -> Option<(&str, &str)> {
        self.0.rsplit_once('/')
    }

    /// Returns `true` if both places are in the same object or array.
    pub fn is_sibling_of(&self, other: &Self) -> bool {
        let containers = self.split().zip(other.split());
        containers.is_some_and(|((own, _), (other, _))| own == other)
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

named_enum! {
    /// The author of a content.
    Origin {
        /// The agent's own system prompt and the description of itself.
        Instructions = "instructions",
        /// The user.
        User = "user",
        /// The agent, in what it says.
        Agent = "agent",
        /// The agent, in what it thinks.
        Reasoning = "reasoning",
        /// The agent, in what it passes to a tool.
        ToolArguments = "tool_arguments",
        /// A tool's answer.
        ToolOutput = "tool_output",
        /// A retrieved document.
        Knowledge = "knowledge",
        /// A stored or retrieved memory.
        Memory = "memory",
        /// Another agent.
        RemoteAgent = "remote_agent",
        /// An event that activates the agent.
        Trigger = "trigger",
        /// A tool's description of itself.
        ToolDescription = "tool_description",
        /// An unknown author: ids, metadata, fields outside the specification.
        Unknown = "unknown",
    }
}

impl Origin {
    /// Returns `true` if words of this origin may tell the agent what to do.
    pub const fn has_authority(self) -> bool {
        matches!(self, Origin::Instructions | Origin::User)
    }

    /// Returns `true` if words of this origin were written outside the agent and its user, so that their instructions are void.
    pub const fn is_external(self) -> bool {
        match self {
            Origin::ToolOutput
            | Origin::Knowledge
            | Origin::Memory
            | Origin::RemoteAgent
            | Origin::Trigger
            | Origin::ToolDescription
            | Origin::Unknown => true,
            Origin::Instructions | Origin::User | Origin::Agent | Origin::Reasoning | Origin::ToolArguments => false,
        }
    }

    /// The reason to deny an instruction that has no place in words of this origin.
    pub const fn reason_of_injection(self) -> ReasonCode {
        match self {
            Origin::ToolDescription => ReasonCode::ToolPoisoning,
            Origin::Memory => ReasonCode::MemoryPoisoning,
            Origin::User => ReasonCode::Jailbreak,
            Origin::Instructions
            | Origin::Agent
            | Origin::Reasoning
            | Origin::ToolArguments
            | Origin::ToolOutput
            | Origin::Knowledge
            | Origin::RemoteAgent
            | Origin::Trigger
            | Origin::Unknown => ReasonCode::PromptInjection,
        }
    }
}

/// The place of a content: in the subject of the step or around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// The subject of the step: message text, arguments, outputs, memories, reasoning. Only this can be edited.
    Body,
    /// The surroundings: the agent's description of itself, ids, names, timestamps. Screened, never edited.
    Surroundings,
}

/// The form of a content in the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// A JSON string value.
    Text,
    /// A number of many digits: a card, an account, a phone. The text is the number as it is written; edited, it becomes a
    /// string.
    Number,
    /// The name of a member of structured data. Never edited. The pointer is that of the member.
    Key,
    /// A base64 file that holds text; the content's text is the decoded file, an edit is encoded again.
    TextFile {
        /// The declared media type.
        media_type: Option<String>,
    },
    /// A base64 file that does not hold text (or a broken one); the content's text is what stands in the document. Never edited.
    OpaqueFile {
        /// The declared media type.
        media_type: Option<String>,
    },
}

impl Form {
    /// Returns `true` if the content's text is a value that can be read: no member's name, no file that holds no text.
    pub const fn is_readable(&self) -> bool {
        match self {
            Form::Text | Form::Number | Form::TextFile { .. } => true,
            Form::Key | Form::OpaqueFile { .. } => false,
        }
    }
}

/// A piece of text in a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// The id by which prompts and edits name it.
    pub id: ContentId,
    /// Its author.
    pub origin: Origin,
    /// Its place in the request.
    pub pointer: Pointer,
    /// The nearest name: the argument of a tool call, the key of structured data.
    pub label: Option<String>,
    /// Its place in the step.
    pub place: Place,
    /// Its form in the document.
    pub form: Form,
    /// The text, unescaped.
    pub text: String,
}

impl Content {
    /// Returns `true` if its label is one of these names, in any case.
    pub fn is_labelled(&self, names: &[&str]) -> bool {
        let label = self.label.as_deref();
        label.is_some_and(|label| names.iter().any(|name| name.eq_ignore_ascii_case(label)))
    }

    /// Returns `true` if an edit of this content can be written back.
    pub fn is_editable(&self) -> bool {
        self.place == Place::Body && self.form.is_readable()
    }

    /// Returns `true` if it is a value of the body, no member's name.
    pub fn is_body_value(&self) -> bool {
        self.place == Place::Body && self.form != Form::Key
    }

    /// Returns `true` if it is a value, or the name of one, that the agent passes to a tool.
    pub fn is_argument(&self) -> bool {
        self.origin == Origin::ToolArguments && self.place == Place::Body
    }

    /// Returns `true` if it is a string that the agent passes to a tool.
    pub fn is_argument_text(&self) -> bool {
        self.is_argument() && self.form == Form::Text
    }
}

/// The beginning of a text, at most so many bytes.
pub fn head(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or_default()
}
