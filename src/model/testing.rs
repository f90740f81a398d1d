//! Steps made by hand, for tests of modules that do not know the wire.

use std::sync::Arc;

use super::{
    Confidence, Content, ContentId, Edit, EditError, Finding, Form, Kind, Method, Origin, Original, Place, Pointer,
    ReasonCode, Severity, Step, Treatment, View,
};

/// A document that cannot be edited.
#[derive(Debug)]
struct NoDocument;

impl Original for NoDocument {
    fn json(&self) -> &str {
        "{}"
    }

    fn edited(&self, _edits: &[Edit]) -> Result<Arc<Step>, EditError> {
        Err(EditError::Undecodable("made by hand".to_owned()))
    }
}

/// A tool's answer that says nothing much.
pub(crate) fn step() -> Step {
    step_with(Origin::ToolOutput, &["all is well"])
}

/// A tool's answer with these texts as its body, of this origin.
pub(crate) fn step_with(origin: Origin, texts: &[&str]) -> Step {
    let contents = texts.iter().map(|text| (origin, *text));
    by_hand(Method::ToolCallResult, Kind::ToolResult, contents, |index| {
        format!("/params/result/outputs/{index}/text")
    })
}

/// A step whose body has these contents, each at the place that `pointer` gives for its number.
pub(crate) fn by_hand<'t>(
    method: Method,
    kind: Kind,
    contents: impl IntoIterator<Item = (Origin, &'t str)>,
    pointer: impl Fn(usize) -> String,
) -> Step {
    let content = |(index, (origin, text)): (usize, (Origin, &str))| Content {
        id: ContentId::from_index(index),
        origin,
        pointer: Pointer::new(pointer(index)),
        label: None,
        place: Place::Body,
        form: Form::Text,
        text: text.to_owned(),
    };
    Step {
        method,
        kind,
        agent: None,
        session: None,
        user: None,
        ties: crate::model::Ties::default(),
        tool_call: None,
        facts: Vec::new(),
        announced_tools: Vec::new(),
        contents: contents.into_iter().enumerate().map(content).collect(),
        remarks: Vec::new(),
        data: Vec::new(),
        original: Arc::new(NoDocument),
    }
}

/// A finding of this rule that is evidence of personal data and stands nowhere in particular.
pub(crate) fn finding(rule: &str) -> Finding {
    Finding {
        rule: rule.to_owned(),
        reason: ReasonCode::PersonalData,
        severity: Severity::Medium,
        confidence: Confidence::High,
        content: None,
        pointer: Pointer::default(),
        span: 0..0,
        view: View::Raw,
        suggested: Treatment::Evidence,
        explanation: String::new(),
    }
}
