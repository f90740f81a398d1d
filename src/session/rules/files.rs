//! Files that are written in one step and run in another: the written text is checked when it is run.

use super::act::is_harm;
use super::rule_context::RuleContext;
use super::{FindingSite, RuleId, finding};
use crate::model::{Confidence, Content, Finding, Origin, Severity, ToolClass};
use crate::session::effects::file_name;
use crate::session::facts::Written;

pub(super) fn screen(context: &RuleContext<'_>, found: &mut Vec<Finding>) {
    if !context.has(ToolClass::Executes) {
        return;
    }
    for content in context.arguments() {
        if let Some(written) = run(context, content) {
            found.extend(harm(context, content, written).or_else(|| taint(context, content, written)));
            return;
        }
    }
}

/// Returns the file that a command runs, if it was written in this session.
fn run<'a>(context: &'a RuleContext<'_>, content: &Content) -> Option<&'a Written> {
    let facts = context.facts();
    facts.files().next()?;
    let command = context.command(content);
    command.runs.iter().find_map(|path| facts.file(&file_name(path)?))
}

fn harm(context: &RuleContext<'_>, content: &Content, written: &Written) -> Option<Finding> {
    let worst = context
        .examine(Origin::ToolArguments, &written.text)
        .into_iter()
        .filter(is_harm)
        .max_by_key(|finding| (finding.severity, finding.confidence))?;
    let grave = worst.severity >= Severity::High && worst.confidence == Confidence::High;
    let mut finding = tell(
        RuleId::RunsHarmfulFile,
        context,
        content,
        written,
        &format!("step {}", written.number),
    )?;
    finding.reason = worst.reason;
    finding.severity = worst.severity;
    finding.confidence = worst.confidence;
    finding.suggested = worst.suggested;
    if grave {
        finding.suggested = finding.suggested.max(crate::model::Treatment::Evidence);
    }
    finding.explanation = format!("{}: {}", finding.explanation, worst.explanation);
    Some(finding)
}

fn taint(context: &RuleContext<'_>, content: &Content, written: &Written) -> Option<Finding> {
    let from = written
        .from
        .as_ref()
        .filter(|from| !from.classes.has(ToolClass::Executes))?;
    tell(RuleId::RunsTaintedFile, context, content, written, &from.describe())
}

fn tell(rule: RuleId, context: &RuleContext<'_>, content: &Content, written: &Written, place: &str) -> Option<Finding> {
    let file = format!("the file `{}`", crate::session::taint::short(&written.name));
    finding(rule, context, FindingSite::of(content, &file, place))
}
