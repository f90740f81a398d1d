//! The contexts of templates: one typed context per family. A template that names anything else does not load.
//!
//! INVARIANT: every text of the request in a context was written by [`Fence`](super::fence::Fence): either a whole
//! element with its fence, or a quoted attribute. There is no unfenced text for a template to show.

use serde::Serialize;

/// The context of the system template.
#[derive(Debug, Serialize)]
pub(super) struct SystemContext<'a> {
    /// Every published reason code, then the organisation's own.
    pub(super) codes: Vec<CodeRow>,
    /// The organisation's own words; empty when it has none.
    pub(super) guidance: &'a str,
    /// Steps that the organisation has decided, as a guide.
    pub(super) examples: Vec<ExampleContext<'a>>,
    /// The name of this call's fence.
    pub(super) fence: &'a str,
    /// This call's canary.
    pub(super) canary: &'a str,
}

/// A step that the organisation has decided.
#[derive(Debug, Serialize)]
pub(super) struct ExampleContext<'a> {
    /// The step in a few lines; fenced.
    pub(super) fenced: String,
    /// `allow`, `deny` or `modify`.
    pub(super) decision: &'static str,
    /// Its reason codes, in back-quotes; empty for allow.
    pub(super) reason_codes: String,
    /// The reason, in the organisation's words.
    pub(super) why: &'a str,
}

/// One row of the table of reason codes.
#[derive(Debug, Serialize)]
pub(super) struct CodeRow {
    /// The code.
    pub(super) name: String,
    /// Its meaning.
    pub(super) meaning: String,
}

/// The context of the template for a kind of step.
#[derive(Debug, Default, Serialize)]
pub(super) struct StepContext {
    /// The canonical method.
    pub(super) method: &'static str,
    /// The kind of step.
    pub(super) kind: &'static str,
    /// True if the step can be modified.
    pub(super) modifiable: bool,
    /// The extent of what edits may take out: `nothing`, `data`, `values` or `passages`.
    pub(super) edits: &'static str,
    /// The replacement of masked text.
    pub(super) mask: MaskContext,
    /// The facts about the step, fenced; empty when there are none.
    pub(super) facts: String,
    /// The agent that takes the step.
    pub(super) agent: AgentContext,
    /// The knowledge about the session.
    pub(super) session: SessionContext,
    /// The findings of automatic checks; fenced, or empty.
    pub(super) findings: String,
    /// Findings that are not listed.
    pub(super) more_findings: usize,
    /// The finding that an answer has to name before it lets the step happen.
    pub(super) suspicion: Option<SuspicionContext>,
    /// Contents around the step in which something was found; fenced.
    pub(super) around: Vec<String>,
    /// The tool call that the step makes.
    pub(super) call: Option<CallContext>,
    /// The data of the step that holds more than strings; fenced.
    pub(super) data: Vec<String>,
    /// The contents that the step is about; fenced.
    pub(super) contents: Vec<String>,
    /// The part of the step's long texts that this is, if they are shown in parts.
    pub(super) part: Option<PartContext>,
    /// The cuts of contents.
    pub(super) cuts: Vec<CutContext>,
    /// Contents of which something was left out and which `cuts` does not list.
    pub(super) more_cuts: usize,
}

/// A suspicion.
#[derive(Debug, Serialize)]
pub(super) struct SuspicionContext {
    /// The rule of the finding.
    pub(super) rule: String,
    /// The reason, in one clause.
    pub(super) why: String,
}

/// The replacement of masked text.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum MaskContext {
    /// Twelve stars.
    Stars,
    /// The reason code in capitals and square brackets.
    #[default]
    Placeholder,
}

/// The agent that takes the step.
#[derive(Debug, Default, Serialize)]
pub(super) struct AgentContext {
    /// True if the step says which agent takes it.
    pub(super) known: bool,
    /// Its description of itself: name, description, instructions; fenced.
    pub(super) contents: Vec<String>,
    /// The description of the other agent of a conversation between agents; fenced.
    pub(super) remote: Vec<String>,
    /// The definition of the tool that is called; fenced.
    pub(super) tool: Vec<String>,
    /// The names of its tools, fenced; empty when it declares none.
    pub(super) tool_names: String,
    /// True if the step says which user stands behind it.
    pub(super) user_known: bool,
    /// True if the step says to which session it belongs.
    pub(super) session_known: bool,
}

/// The knowledge about the session. Empty if it is not remembered.
#[derive(Debug, Default, Serialize)]
pub(super) struct SessionContext {
    /// The user's requests, oldest first; fenced.
    pub(super) requests: Vec<String>,
    /// Requests for which there was no room.
    pub(super) more_requests: usize,
    /// The places where words of the step were read first; fenced.
    pub(super) sources: Vec<String>,
    /// Earlier steps, oldest first; fenced.
    pub(super) steps: Vec<String>,
    /// Earlier steps for which there was no room.
    pub(super) more_steps: usize,
    /// True if an earlier step was denied.
    pub(super) denials: bool,
    /// True if the user spoke, and everything that was said was denied.
    pub(super) refused: bool,
    /// The reason why its beginning is not known, in one sentence; empty if it is known.
    pub(super) gap: &'static str,
}

/// A tool call.
#[derive(Debug, Serialize)]
pub(super) struct CallContext {
    /// The tool and its arguments; fenced.
    pub(super) fenced: String,
    /// The agent's declaration of the tool.
    pub(super) declared: DeclaredContext,
}

/// The declaration of a tool by an agent.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum DeclaredContext {
    /// The agent declares it.
    Yes,
    /// The agent declares others.
    No,
    /// The agent declares none at all.
    Unknown,
}

/// One of several parts of a step's long texts.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct PartContext {
    /// From 1.
    pub(super) number: usize,
    /// The number of parts.
    pub(super) of: usize,
}

/// The cut of one content.
#[derive(Debug, Serialize)]
pub(super) struct CutContext {
    /// The content's id.
    pub(super) content: String,
    /// The number of bytes left out, with thousands set apart.
    pub(super) bytes: String,
}
