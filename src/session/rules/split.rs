//! An instruction in two pieces: one output ends with its beginning, the next begins with its end.

use super::rule_context::RuleContext;
use super::{FindingSite, RuleId, finding};
use crate::model::{Confidence, Content, Finding, Origin, ReasonCode, Severity, head};

/// Bytes of the later text that are read together with the end of the earlier one.
const HEAD: usize = 256;

pub(super) fn screen(context: &RuleContext<'_>, found: &mut Vec<Finding>) {
    if !context.step.kind.is_tool_answer() {
        return;
    }
    let speaks = |content: &&Content| content.origin == Origin::ToolOutput && content.is_body_value();
    let (Some(end), Some(content)) = (
        context.facts().ends().next_back(),
        context.step.contents.iter().find(speaks),
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
        let seen = context.examine(Origin::ToolOutput, &joined);
        if seen.iter().any(crosses) {
            let place = end.place.describe();
            let span = 0..content.text.len() - text.len() + head.len();
            let site = FindingSite::of(content, "the text", &place).at(span);
            found.extend(finding(RuleId::SplitInstruction, context, site));
            return;
        }
    }
}
