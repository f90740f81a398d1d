//! What templates are given: one typed context per family. A template that names anything else does not load.
//!
//! INVARIANT: every text of the request in a context was written by [`Fence`](super::fence::Fence): either a whole
//! element with its fence, or a quoted attribute. There is no unfenced text for a template to show.

use serde::Serialize;

/// What the system template is given.
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
    /// Why, in the organisation's words.
    pub(super) why: &'a str,
}

/// One row of the table of reason codes.
#[derive(Debug, Serialize)]
pub(super) struct CodeRow {
    /// The code.
    pub(super) name: String,
    /// What it means.
    pub(super) meaning: String,
}

/// What the template of a kind of step is given.
#[derive(Debug, Serialize)]
pub(super) struct StepContext {
    /// The canonical method.
    pub(super) method: &'static str,
    /// The kind of step.
    pub(super) kind: &'static str,
    /// Whether the step can be modified.
    pub(super) modifiable: bool,
    /// What edits may take out: `nothing`, `data`, `values` or `passages`.
    pub(super) edits: &'static str,
    /// What stands in the place of masked text.
    pub(super) mask: MaskContext,
    /// What is said about the step, fenced; empty when nothing is.
    pub(super) facts: String,
    /// The agent that takes the step.
    pub(super) agent: AgentContext,
    /// What is known of the session.
    pub(super) session: SessionContext,
    /// What automatic checks saw; fenced, or empty.
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
    /// Which part of the step's long texts this is, where they are shown in parts.
    pub(super) part: Option<PartContext>,
    /// What was left out.
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

/// What stands in the place of masked text.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum MaskContext {
    /// Twelve stars.
    Stars,
    /// The reason code in capitals and square brackets.
    Placeholder,
}

/// The agent that takes the step.
#[derive(Debug, Default, Serialize)]
pub(super) struct AgentContext {
    /// Whether the step says which agent takes it.
    pub(super) known: bool,
    /// How it describes itself: name, description, instructions; fenced.
    pub(super) contents: Vec<String>,
    /// How the other agent of a conversation between agents is described; fenced.
    pub(super) remote: Vec<String>,
    /// The definition of the tool that is called; fenced.
    pub(super) tool: Vec<String>,
    /// The names of its tools, fenced; empty when it declares none.
    pub(super) tool_names: String,
    /// Whether the step says which user stands behind it.
    pub(super) user_known: bool,
    /// Whether the step says to which session it belongs.
    pub(super) session_known: bool,
}

/// What is known of the session. Empty where nobody remembers it.
#[derive(Debug, Default, Serialize)]
pub(super) struct SessionContext {
    /// What the user asked for, oldest first; fenced.
    pub(super) requests: Vec<String>,
    /// Requests for which there was no room.
    pub(super) more_requests: usize,
    /// Where words of the step were read first; fenced.
    pub(super) sources: Vec<String>,
    /// Earlier steps, oldest first; fenced.
    pub(super) steps: Vec<String>,
    /// Earlier steps for which there was no room.
    pub(super) more_steps: usize,
    /// Whether an earlier step was denied.
    pub(super) denials: bool,
    /// Whether the user spoke, and everything that was said was denied.
    pub(super) refused: bool,
    /// Why its beginning is not known, in one sentence; empty where it is.
    pub(super) gap: &'static str,
}

/// A tool call.
#[derive(Debug, Serialize)]
pub(super) struct CallContext {
    /// The tool and its arguments; fenced.
    pub(super) fenced: String,
    /// Whether the agent declares the tool.
    pub(super) declared: DeclaredContext,
}

/// Whether an agent declares a tool.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum DeclaredContext {
    /// It does.
    Yes,
    /// It declares others.
    No,
    /// It declares none at all.
    Unknown,
}

/// One of several parts of a step's long texts.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct PartContext {
    /// From 1.
    pub(super) number: usize,
    /// How many there are.
    pub(super) of: usize,
}

/// What was left out of one content.
#[derive(Debug, Serialize)]
pub(super) struct CutContext {
    /// The content's id.
    pub(super) content: String,
    /// How many bytes, with thousands set apart.
    pub(super) bytes: String,
}
