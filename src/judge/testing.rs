//! Steps and findings for this module's tests.

use crate::model::testing::by_hand;
use crate::model::{
    Confidence, ContentId, Finding, Kind, Method, Origin, Pointer, ReasonCode, Severity, Step, Treatment, View,
};

/// Makes a step with these contents, all in its body.
pub(super) fn step(kind: Kind, contents: &[(Origin, &str)]) -> Step {
    let method = match kind {
        Kind::ToolCall => Method::ToolCallRequest,
        Kind::ToolResult => Method::ToolCallResult,
        _ => Method::Message,
    };
    by_hand(method, kind, contents.iter().copied(), |index| {
        format!("/params/{index}")
    })
}

/// Makes a finding in the content at this index, at this span.
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
