//! Samples from which every template is rendered before it is used: one with all parts, one with none.

use super::Marks;
use super::context::{
    AgentContext, CallContext, CutContext, DeclaredContext, MaskContext, PartContext, SessionContext, StepContext,
    SuspicionContext,
};
use crate::model::Kind;

/// A text that a rendered template has to show.
pub(super) struct Needed {
    /// Its name, for the error message.
    pub(super) what: &'static str,
    text: String,
}

impl Needed {
    fn new(what: &'static str, text: impl Into<String>) -> Self {
        Self {
            what,
            text: text.into(),
        }
    }

    /// Returns `true` if a rendered template shows it.
    pub(super) fn is_in(&self, text: &str) -> bool {
        text.contains(&self.text)
    }
}

/// Returns the marks of samples.
pub(super) fn marks() -> Marks {
    Marks::fixed("5a5a5a5a5a5a", "c4c4c4c4c4c4c4c4c4c4c4c4c4c4c4c4")
}

/// Returns the parts that the system prompt needs.
pub(super) fn needed_of_system(marks: &Marks) -> Vec<Needed> {
    vec![
        Needed::new("the name of the fence", marks.fence.as_str()),
        Needed::new("the canary on a line of its own", format!("\ncanary: {}", marks.canary)),
        Needed::new("the reason codes, the organisation's own among them", "org.sample"),
    ]
}

/// Returns the parts that the prompt of a step needs.
pub(super) fn needed_of_step() -> Vec<Needed> {
    vec![
        Needed::new("the step's contents", CONTENT),
        Needed::new("the agent's contents", AGENT),
        Needed::new("the findings", FINDINGS),
        Needed::new("what the protocol says of the step", FACTS),
        Needed::new("the contents around the step", AROUND),
        Needed::new("the tool call", CALL),
        Needed::new("the step's data", DATA),
        Needed::new("the user's requests", REQUEST),
        Needed::new("the earlier steps", STEP),
        Needed::new("where words of the step were read first", SOURCE),
        Needed::new("what was cut", "48,210"),
        Needed::new("which part of long texts it is", "part 2 of 3"),
    ]
}

const CONTENT: &str = "<content-5a id=\"c2\">\nsample\n</content-5a>";
const AGENT: &str = "<content-5a id=\"c1\">\nsample agent\n</content-5a>";
const AROUND: &str = "<content-5a id=\"c9\">\nsample name\n</content-5a>";
const FINDINGS: &str =
    "<findings-5a>\nsample.rule (obfuscation, low, low confidence): sample | c2 \"sample\"\n</findings-5a>";
const FACTS: &str = "<values-5a>\nuser: \"sample user\"\n</values-5a>";
const SOURCE: &str = "<source-5a step=\"1\">\nsample source\n</source-5a>";
const CALL: &str = "<call-5a>\ntool c3: \"sample\"\n</call-5a>";
const DATA: &str = "<data-5a>\nat=\"/sample\": {\"sample\":1}\n</data-5a>";
const REQUEST: &str = "<request-5a id=\"r1\">\nsample request\n</request-5a>";
const STEP: &str = "<step-5a n=\"1\">\nsample step\n</step-5a>";

/// Makes a context with everything in it.
pub(super) fn full(kind: Kind) -> StepContext {
    StepContext {
        facts: FACTS.to_owned(),
        agent: AgentContext {
            known: true,
            contents: vec![AGENT.to_owned()],
            remote: vec!["<content-5a>\nsample other\n</content-5a>".to_owned()],
            tool: vec!["<values-5a>\nsample tool\n</values-5a>".to_owned()],
            tool_names: "<tools-5a>\n\"sample\"\n</tools-5a>".to_owned(),
            user_known: true,
            session_known: true,
        },
        session: SessionContext {
            requests: vec![REQUEST.to_owned()],
            more_requests: 1,
            sources: vec![SOURCE.to_owned()],
            steps: vec![STEP.to_owned()],
            more_steps: 4,
            denials: true,
            refused: false,
            gap: "",
        },
        findings: FINDINGS.to_owned(),
        more_findings: 3,
        around: vec![AROUND.to_owned()],
        call: Some(CallContext {
            fenced: CALL.to_owned(),
            declared: DeclaredContext::No,
        }),
        data: vec![DATA.to_owned()],
        contents: vec![CONTENT.to_owned()],
        part: Some(PartContext { number: 2, of: 3 }),
        cuts: vec![CutContext {
            content: "c2".to_owned(),
            bytes: "48,210".to_owned(),
        }],
        more_cuts: 2,
        modifiable: true,
        edits: "passages",
        mask: MaskContext::Stars,
        suspicion: Some(SuspicionContext {
            rule: "session.follows_instruction".to_owned(),
            why: "this rule alone denies a step".to_owned(),
        }),
        ..bare(kind)
    }
}

/// Makes a context with nothing in it.
pub(super) fn bare(kind: Kind) -> StepContext {
    StepContext {
        method: "steps/message",
        kind: kind.as_str(),
        edits: "nothing",
        ..StepContext::default()
    }
}
