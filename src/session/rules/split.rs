//! An instruction in two pieces: one output ends with its beginning, the next begins with its end.

use super::scene::Scene;
use super::{RuleId, Sighting, TextScreener, finding};
use crate::model::{Confidence, Content, Finding, Form, Kind, Origin, Place, ReasonCode, Severity, head};
use crate::policy::Policy;

/// Bytes of the later text that are read together with the end of the earlier one.
const HEAD: usize = 256;

pub(super) fn screen(scene: &Scene<'_>, policy: &Policy, screener: &dyn TextScreener, found: &mut Vec<Finding>) {
    match scene.step.kind {
        Kind::ToolResult | Kind::McpResponse => {}
        _ => return,
    }
    let speaks = |content: &&Content| {
        content.origin == Origin::ToolOutput && content.place == Place::Body && content.form != Form::Key
    };
    let (Some(end), Some(content)) = (
        scene.trail().ends().next_back(),
        scene.step.contents.iter().find(speaks),
    ) else {
        return;
    };
    let text = content.text.trim_start();
    let head = head(text, HEAD);
    if head.len() < 4 || end.text.len() < 4 {
        return;
    }
    for seam in ["", " "] {
        let joined = format!("{}{seam}{head}", end.text);
        let crosses = |finding: &Finding| {
            finding.reason == ReasonCode::PromptInjection
                && finding.severity >= Severity::High
                && finding.confidence >= Confidence::Medium
                && finding.span.start + 3 < end.text.len()
                && finding.span.end > end.text.len() + seam.len() + 3
        };
        let seen = screener.examine(scene.step, Origin::ToolOutput, &joined, policy);
        if seen.iter().any(crosses) {
            let sighting = Sighting {
                content: Some(content.id),
                pointer: content.pointer.clone(),
                span: 0..content.text.len() - text.len() + head.len(),
                what: "the text",
                place: &end.place.describe(),
            };
            found.extend(finding(RuleId::SplitInstruction, scene, sighting));
            return;
        }
    }
}
