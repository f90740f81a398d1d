//! Contents: the pieces of text that a step carries, with who wrote them and where they stand.

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
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Who speaks in a content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Origin {
    /// The agent's own system prompt and the description of itself.
    Instructions,
    /// The user.
    User,
    /// The agent, in what it says.
    Agent,
    /// The agent, in what it thinks.
    Reasoning,
    /// The agent, in what it passes to a tool.
    ToolArguments,
    /// A tool's answer.
    ToolOutput,
    /// A retrieved document.
    Knowledge,
    /// A stored or retrieved memory.
    Memory,
    /// Another agent.
    RemoteAgent,
    /// An event that activates the agent.
    Trigger,
    /// How a tool describes itself.
    ToolDescription,
    /// Nobody known: ids, metadata, fields outside the specification.
    Unknown,
}

impl Origin {
    /// Every origin.
    pub const ALL: &'static [Origin] = &[
        Origin::Instructions,
        Origin::User,
        Origin::Agent,
        Origin::Reasoning,
        Origin::ToolArguments,
        Origin::ToolOutput,
        Origin::Knowledge,
        Origin::Memory,
        Origin::RemoteAgent,
        Origin::Trigger,
        Origin::ToolDescription,
        Origin::Unknown,
    ];

    /// The name in prompts, policies and audit records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Origin::Instructions => "instructions",
            Origin::User => "user",
            Origin::Agent => "agent",
            Origin::Reasoning => "reasoning",
            Origin::ToolArguments => "tool_arguments",
            Origin::ToolOutput => "tool_output",
            Origin::Knowledge => "knowledge",
            Origin::Memory => "memory",
            Origin::RemoteAgent => "remote_agent",
            Origin::Trigger => "trigger",
            Origin::ToolDescription => "tool_description",
            Origin::Unknown => "unknown",
        }
    }

    /// The origin of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|origin| origin.as_str() == name)
    }

    /// Whether words of this origin may tell the agent what to do.
    pub const fn has_authority(self) -> bool {
        matches!(self, Origin::Instructions | Origin::User)
    }

    /// Whether words of this origin were written outside the agent and its user, so that instructions in them are nobody's.
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
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whether a content is what the step is about, or stands around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// What the step is about: message text, arguments, outputs, memories, reasoning. Only this can be edited.
    Body,
    /// What surrounds it: the agent's description of itself, ids, names, timestamps. Screened, never edited.
    Surroundings,
}

/// How a content stands in the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// A JSON string value.
    Text,
    /// A number of many digits: a card, an account, a phone. The text is the number as it is written; edited, it becomes a
    /// string.
    Number,
    /// The name of a member of somebody's structured data. Never edited. The pointer is that of the member.
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

/// One piece of text of a step that somebody wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// The id by which prompts and edits name it.
    pub id: ContentId,
    /// Who wrote it.
    pub origin: Origin,
    /// Where it stands in the request.
    pub pointer: Pointer,
    /// The nearest name: the argument of a tool call, the key of structured data.
    pub label: Option<String>,
    /// Whether the step is about it.
    pub place: Place,
    /// How it stands in the document.
    pub form: Form,
    /// The text, unescaped.
    pub text: String,
}

impl Content {
    /// Whether it stands under one of these names, in any case.
    pub fn is_labelled(&self, names: &[&str]) -> bool {
        let label = self.label.as_deref();
        label.is_some_and(|label| names.iter().any(|name| name.eq_ignore_ascii_case(label)))
    }

    /// Whether an edit of this content can be written back.
    pub fn is_editable(&self) -> bool {
        self.place == Place::Body && matches!(self.form, Form::Text | Form::Number | Form::TextFile { .. })
    }
}

/// The beginning of a text, at most so many bytes.
pub fn head(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or_default()
}
