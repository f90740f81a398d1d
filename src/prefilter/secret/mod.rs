//! Credentials in the open: keys of known formats, private keys, passwords in connection strings, and values whose name says
//! what they are.
//!
//! The rules are data (`rules/secret/*.toml`); the folder holds the engine that runs them. Every view of a text is read, a
//! secret that shows in several is reported once, and the span of a finding is exactly the secret, because masking replaces
//! exactly the span. Whether a key is still live is not known here.

mod check;
mod data;
mod format;
mod labelled;
mod names;
mod split;
mod table;
mod value;

use std::ops::Range;

use self::format::{CostMeter, Hit};
use self::table::{Reading, Table};
use super::{Family, Prefilter, Subject, ViewText, Word, Work};
use crate::model::{Confidence, Content, Finding, Origin, Rule, Step, Treatment, View};
use crate::policy::Policy;
use crate::text::DataError;
use crate::text::spans::overlap;

/// The family's name.
const FAMILY: &str = "secret";

/// The views in which secrets are looked for. Folding changes letter case and digits, so it cannot show a key.
const VIEWS: &[View] = &[View::Raw, View::Normalized, View::Hidden, View::Decoded, View::Json];

/// The family of rules that find credentials.
pub(super) struct Secret {
    table: Table,
}

impl Secret {
    /// Reads the rules and compiles what they are found by.
    pub(super) fn new() -> Result<Self, DataError> {
        Ok(Self { table: Table::load()? })
    }
}

impl Family for Secret {
    fn family(&self) -> &'static str {
        FAMILY
    }

    fn rules(&self) -> &[Rule] {
        self.table.rules()
    }
}

impl Prefilter for Secret {
    fn words(&self) -> Vec<Word> {
        self.table.words().to_vec()
    }

    fn is_told_by_name(&self, label: &str) -> bool {
        label.eq_ignore_ascii_case("value") || labelled::may_name(label)
    }

    fn screen_content(&self, subject: &Subject<'_>, found: &mut Vec<Finding>) {
        let table = &self.table;
        let mut taken: Vec<Range<usize>> = Vec::new();
        for view in subject.views.of_kind(VIEWS) {
            let granted = match subject.context.spend(0, CostMeter::OF_STEP) {
                true => CostMeter::OF_STEP,
                false => 0,
            };
            let mut effort = CostMeter::for_text(view.text(), granted);
            let mut hits = table.hits(view.text(), subject.hits(view), Reading::Everything, &mut effort);
            subject.context.spend(effort.used(), CostMeter::OF_STEP);
            subject.context.work(Work::Secret, effort.read());
            let mut belongs = None;
            if view.view() == View::Raw
                && let Some(hit) = by_name(table, subject)
                && !hits.iter().any(|other| overlap(&other.span, &hit.span))
            {
                belongs = is_declared_argument(subject).then(|| hit.span.clone());
                hits.push(hit);
            }
            for hit in hits {
                let raw = view.raw_span(hit.span.clone());
                if taken.iter().any(|other| overlap(other, &raw)) {
                    continue;
                }
                let mut finding = finding(table, subject, view, &hit);
                if let Some(finding) = finding.as_mut()
                    && belongs.as_ref() == Some(&hit.span)
                {
                    // Masking it would break the very call that is to use it.
                    finding.suggested = Treatment::Evidence;
                }
                found.extend(finding);
                taken.push(raw);
            }
        }
    }

    fn screen_step(&self, step: &Step, _policy: &Policy, found: &mut Vec<Finding>) {
        split::screen(&self.table, step, found);
    }
}

/// Contents on either side among which the name of a value may stand (`{"name": "DB_PASSWORD", "value": "…"}`).
const NAME_REACH: usize = 6;

/// The secret that the whole content is by the name it stands under, or by the name beside it.
fn by_name(table: &Table, subject: &Subject<'_>) -> Option<Hit> {
    let content = subject.content;
    let own = content.label.as_deref()?;
    let text = &content.text;
    let mut hit = table.hit_by_name(own, text).or_else(|| {
        let name = own
            .eq_ignore_ascii_case("value")
            .then(|| sibling_name(subject.step, content))
            .flatten()?;
        table.hit_by_name(name, text)
    })?;
    if content.origin == Origin::ToolArguments {
        // An argument that a tool names so is where such a value belongs.
        hit.confidence = Confidence::Low;
    }
    Some(hit)
}

/// Returns `true` if the content is an argument that the called tool declares, among the tools of the step's own agent.
fn is_declared_argument(subject: &Subject<'_>) -> bool {
    let content = subject.content;
    let (Some(call), Some(agent)) = (&subject.step.tool_call, &subject.step.agent) else {
        return false;
    };
    subject
        .context
        .work(Work::Compared, call.arguments.len() + agent.tools.len());
    let argument = call
        .arguments
        .iter()
        .find(|argument| argument.pointer == content.pointer);
    let tool = agent.tools.iter().find(|tool| tool.id == call.tool);
    let declared = tool.and_then(|tool| tool.arguments.as_deref()).unwrap_or_default();
    content.origin == Origin::ToolArguments
        && argument.is_some_and(|argument| declared.iter().any(|known| known.name == argument.name))
}

/// The text of the member `name` or `key` of the same container.
fn sibling_name<'a>(step: &'a Step, content: &Content) -> Option<&'a str> {
    let (own, _) = content.pointer.split()?;
    let from = content.id.index().saturating_sub(NAME_REACH);
    let mut around = step.contents.iter().skip(from).take(2 * NAME_REACH);
    let names = |other: &&Content| {
        let place = other.pointer.split();
        place.is_some_and(|(container, member)| container == own && matches!(member, "name" | "key" | "Name" | "Key"))
    };
    around.find(names).map(|other| other.text.as_str())
}

fn finding(table: &Table, subject: &Subject<'_>, view: &ViewText<'_>, hit: &Hit) -> Option<Finding> {
    let rule = table.rules().get(hit.rule)?;
    let place = match view.view() {
        View::Raw => "",
        View::Normalized | View::Folded => ", disguised by look-alike or invisible characters",
        View::Hidden => ", in hidden characters",
        View::Decoded => ", encoded",
        View::Json => ", in JSON inside a string",
        View::Structure => ", in the shape of the step",
    };
    let mut finding = rule.at(subject, view, hit.span.clone(), format!("{}{place}.", rule.title));
    finding.confidence = hit.confidence;
    Some(finding)
}

#[cfg(test)]
mod tests;
