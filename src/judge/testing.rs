//! Steps and findings for this module's tests.

use std::sync::Arc;

use crate::model::{
    Confidence, Content, ContentId, Edit, EditError, Finding, Form, Kind, Method, Origin, Original, Place, Pointer,
    ReasonCode, Severity, Step, Treatment, View,
};

#[derive(Debug)]
struct Nowhere;

impl Original for Nowhere {
    fn json(&self) -> &'static str {
        "{}"
    }

    fn edited(&self, _: &[Edit]) -> Result<Arc<Step>, EditError> {
        Err(EditError::Undecodable("a step of a test has no document".to_owned()))
    }
}

/// A step with these contents, all in its body.
pub(super) fn step(kind: Kind, contents: &[(Origin, &str)]) -> Step {
    Step {
        method: match kind {
            Kind::ToolCall => Method::ToolCallRequest,
            Kind::ToolResult => Method::ToolCallResult,
            _ => Method::Message,
        },
        kind,
        agent: None,
        session: None,
        user: None,
        ties: crate::model::Ties::default(),
        tool_call: None,
        announced_tools: Vec::new(),
        contents: contents
            .iter()
            .enumerate()
            .map(|(index, (origin, text))| Content {
                id: ContentId::from_index(index),
                origin: *origin,
                pointer: Pointer::new(format!("/params/{index}")),
                label: None,
                place: Place::Body,
                form: Form::Text,
                text: (*text).to_owned(),
            })
            .collect(),
        remarks: Vec::new(),
        data: Vec::new(),
        original: Arc::new(Nowhere),
    }
}

/// A finding in the content at this index, at this span.
pub(super) fn finding(
    reason: ReasonCode,
    severity: Severity,
    confidence: Confidence,
    index: usize,
    span: std::ops::Range<usize>,
) -> Finding {
    Finding {
        rule: format!("test.{reason}"),
        reason,
        severity,
        confidence,
        content: Some(ContentId::from_index(index)),
        pointer: Pointer::default(),
        span,
        view: View::Raw,
        suggested: Treatment::Evidence,
        explanation: String::new(),
    }
}
