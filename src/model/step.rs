//! A step: one thing an agent is about to do or has just received (AOS section 1).

use super::named_enum;
use std::fmt;
use std::sync::Arc;

use super::{AgentId, Content, ContentId, Edit, EditError, Kind, Method, Origin, Pointer, SessionId, UserId};

/// One thing an agent is about to do or has just received, in whatever protocol it came.
#[derive(Clone, Debug)]
pub struct Step {
    /// The method, canonical.
    pub method: Method,
    /// The kind of step.
    pub kind: Kind,
    /// The agent, when the protocol says who it is.
    pub agent: Option<Agent>,
    /// The session it belongs to, when the protocol says so.
    pub session: Option<SessionId>,
    /// The user behind it, when the protocol says so.
    pub user: Option<UserId>,
    /// The ids that tie it to other postings and steps, where the protocol has them.
    pub ties: Ties,
    /// Other facts about it that a judge has to know.
    pub facts: Vec<Fact>,
    /// The tool call it carries: of `steps/toolCallRequest`, or of an MCP `tools/call`.
    pub tool_call: Option<ToolCall>,
    /// Tools that the step itself announces (an MCP `tools/list` answer).
    pub announced_tools: Vec<Tool>,
    /// Every string of the request's parameters, and every long number of its body, in document order.
    ///
    /// INVARIANT: the content at index `i` has the id [`ContentId::from_index`]`(i)`.
    pub contents: Vec<Content>,
    /// The data with numbers, booleans or nulls in the body, in document order. Most of these values are no contents, but a
    /// step with another amount is another step, and a judge has to see it.
    pub data: Vec<Data>,
    /// Remarks on oddities in the way the step was written that are no errors.
    pub remarks: Vec<Remark>,
    /// The document it came from.
    pub original: Arc<dyn Original>,
}

impl Step {
    /// The content of this id.
    pub fn content(&self, id: ContentId) -> Option<&Content> {
        self.contents.get(id.index())
    }

    /// The contents of this origin, in document order.
    pub fn contents_of(&self, origin: Origin) -> impl Iterator<Item = &Content> {
        self.contents.iter().filter(move |content| content.origin == origin)
    }

    /// Every tool whose definition the step carries: the agent's own, then announced ones.
    pub fn tools(&self) -> impl Iterator<Item = &Tool> {
        self.agent
            .iter()
            .flat_map(|agent| &agent.tools)
            .chain(&self.announced_tools)
    }

    /// Returns the ways in which the step departs from the published texts, each once: the code and one sentence without
    /// content, but for names of members that are spelled nearly like others.
    pub fn leniencies(&self) -> Vec<(&'static str, &str)> {
        let mut found: Vec<(&'static str, &str)> = Vec::new();
        for remark in &self.remarks {
            match remark.kind {
                RemarkKind::Leniency(code)
                    if found.iter().all(|(seen, what)| (*seen, *what) != (code, &*remark.what)) =>
                {
                    found.push((code, &remark.what));
                }
                RemarkKind::Leniency(_) | RemarkKind::Oddity => {}
            }
        }
        found
    }

    /// Bytes of text over all contents.
    pub fn text_bytes(&self) -> usize {
        self.contents.iter().map(|content| content.text.len()).sum()
    }
}

/// The ids that tie a step to another posting of itself, and an answer to its call. Untrusted: the sender chose them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ties {
    /// The id of the step (AOS `context.stepId`): the same for every posting of it.
    pub step: Option<String>,
    /// The id that a call shares with its answer (AOS `executionId`; MCP and A2A: the id of the message inside).
    pub call: Option<String>,
    /// The id of the turn that the step belongs to (AOS `context.turnId`).
    pub turn: Option<String>,
    /// The id of the request that carried it (JSON-RPC `id`).
    pub request: Option<String>,
}

/// A statement about a step outside its body: who asked for it, when it runs, where its texts come from.
///
/// Untrusted: the sender of the step, or the author of what it carries, chose the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// Its kind.
    pub kind: FactKind,
    /// The text, shortened.
    pub text: String,
}

named_enum! {
    /// The kind of a fact.
    FactKind {
        /// The name of the user behind the step (AOS 3.10).
        UserName = "user",
        /// The organisation that the user belongs to (AOS 3.11).
        UserOrganisation = "user's organisation",
        /// The method of the MCP message.
        McpMethod = "MCP method",
        /// The sessions from which a server wants context in a sampling request (MCP `includeContext`).
        IncludeContext = "includeContext",
        /// The observed agent's side of a message between agents, where it serves.
        Side = "the agent's side",
        /// The type of the trigger (AOS 3.6).
        TriggerType = "trigger",
        /// The type of the event that triggers (AOS 3.6.1).
        TriggerEvent = "event",
        /// The time at which the trigger comes again.
        Schedule = "schedule",
        /// The source of a retrieved document (AOS 3.14.1).
        KnowledgeId = "source",
        /// The id of a memory.
        MemoryId = "memory",
    }
}

/// The agent that takes the step (AOS 3.1).
#[derive(Clone, Debug, Default)]
pub struct Agent {
    /// Its `id`, or its `name` where it has no id.
    pub id: Option<AgentId>,
    /// Its name.
    pub name: Option<String>,
    /// The tools it says it has.
    pub tools: Vec<Tool>,
}

/// A tool's definition (AOS 3.2, MCP `Tool`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// The id by which calls name it; where there is none, its name.
    pub id: String,
    /// The name for people.
    pub name: String,
    /// The description that the model reads.
    pub description: Option<String>,
    /// Its arguments; `None` when not declared.
    pub arguments: Option<Vec<ArgumentDefinition>>,
}

/// One argument of a tool's definition (AOS 3.2.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentDefinition {
    /// Its name.
    pub name: String,
    /// Its JSON type, as declared.
    pub type_name: Option<String>,
    /// True if the argument is required.
    pub required: bool,
}

/// The use of a file, once it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileUse {
    /// Something in it runs by itself.
    Runs,
    /// It steers an agent.
    Steers,
    /// It is a program, which runs when it is started.
    Program,
}

/// A call of a tool (AOS 3.15, MCP `tools/call`).
#[derive(Clone, Debug)]
pub struct ToolCall {
    /// The tool's id, as written.
    pub tool: String,
    /// The content that holds the tool's id.
    pub content: Option<ContentId>,
    /// The arguments, in document order.
    pub arguments: Vec<Argument>,
}

/// Data that holds more than strings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Data {
    /// Its place: the outermost object or array of the data, or a single value.
    pub pointer: Pointer,
    /// Its author.
    pub origin: Origin,
    /// The JSON as it is written in the document, without the white space between its tokens.
    pub json: String,
}

/// One argument of a call.
#[derive(Clone, Debug)]
pub struct Argument {
    /// Its name, as written; empty when there was none.
    pub name: String,
    /// The place of its value.
    pub pointer: Pointer,
    /// The value as it is written in the document: JSON.
    pub json: String,
}

/// Something noteworthy in the way a step was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The place.
    pub pointer: Pointer,
    /// A description in one sentence, without quoting content at length.
    pub what: String,
    /// Its kind, which says what becomes of it.
    pub kind: RemarkKind,
}

/// The kind of a remark, which says what becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemarkKind {
    /// The step contradicts itself or its protocol: screening makes a finding of it.
    Oddity,
    /// The step departs from the published texts in a way that clients do, and was understood all the same: the verdict says so in a
    /// diagnostic of this code. It weighs nothing.
    Leniency(&'static str),
}

/// The document that a step was decoded from. It can be edited, and decoded again.
pub trait Original: fmt::Debug + Send + Sync {
    /// The request as JSON text: byte for byte as received, or as received with edits applied.
    fn json(&self) -> &str;

    /// Applies edits and decodes the result.
    ///
    /// The result differs from this document only in the string tokens of the edited contents.
    ///
    /// # Errors
    ///
    /// An [`EditError`] when an edit names no content, leaves its bounds, overlaps another, touches something
    /// that cannot be edited, or when the edited document does not decode.
    fn edited(&self, edits: &[Edit]) -> Result<Arc<Step>, EditError>;
}
