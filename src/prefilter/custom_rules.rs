//! The organisation's own rules, as its policy has them: words that say where to look, an expression that says what is found.
//!
//! The family has no rules of its own; without any in the policy it costs nothing. A rule whose words hold capitals reads
//! every text as it was written; one in any case reads the folded ones too, and so sees through more disguises.

use std::ops::Range;

use super::{Family, Prefilter, Subject, ViewText};
use crate::model::{Finding, Form, Rule, View};
use crate::policy::{Extent, Letters, OWN_FAMILY, OwnRule, Policy};

/// Places that a rule reports of one text. Of more than that, the content as a whole is one finding.
const MAX_HITS: usize = 64;
/// Bytes that the expressions of a policy read in one step. Beyond, contents with their words are findings as a whole.
const EFFORT: usize = 128 << 20;

/// The family of rules that organisations write.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CustomRules;

/// The organisation's own rules as rules are documented and listed.
pub fn own_rules(policy: &Policy) -> Vec<Rule> {
    policy.own_rules.iter().map(|own| own.rule.clone()).collect()
}

impl Family for CustomRules {
    fn family(&self) -> &'static str {
        OWN_FAMILY
    }

    fn rules(&self) -> &[Rule] {
        &[]
    }
}

impl Prefilter for CustomRules {
    fn screen_content(&self, subject: &Subject<'_>, found: &mut Vec<Finding>) {
        let rules = &subject.policy.own_rules;
        if rules.is_empty() || matches!(subject.content.form, Form::OpaqueFile { .. }) {
            return;
        }
        let mut taken: Vec<(&str, Vec<Range<usize>>)> = Vec::new();
        for view in subject.views.iter() {
            for own in rules.concerned(view.in_any_case()) {
                let reads = view.view() != View::Folded || own.letters() == Letters::AnyCase;
                let wanted = own.origins.is_empty() || own.origins.contains(&subject.content.origin);
                if !reads || !wanted {
                    continue;
                }
                let known = match taken.iter().position(|(id, _)| *id == own.rule.id) {
                    Some(place) => place,
                    None => {
                        taken.push((&own.rule.id, Vec::new()));
                        taken.len() - 1
                    }
                };
                if let Some((_, known)) = taken.get_mut(known) {
                    screen_view(subject, view, own, known, found);
                }
            }
        }
    }
}

/// Adds what a rule finds in one view, without what it found in another.
fn screen_view(
    subject: &Subject<'_>,
    view: &ViewText<'_>,
    own: &OwnRule,
    known: &mut Vec<Range<usize>>,
    found: &mut Vec<Finding>,
) {
    let text = view.in_any_case();
    let whole = 0..subject.content.text.len();
    let is_affordable = subject.context.spend(text.len(), EFFORT);
    let hits = is_affordable
        .then(|| own.hits(text, MAX_HITS))
        .filter(|hits| hits.extent == Extent::Complete);
    let mut report = |span: Range<usize>, raw: Range<usize>, explanation: String| {
        if known
            .iter()
            .any(|other| other.start <= raw.start && raw.end <= other.end)
        {
            return;
        }
        let mut finding = own.rule.at(subject, view, span, explanation);
        finding.span = raw.clone();
        known.push(raw);
        found.push(finding);
    };
    let Some(hits) = hits else {
        let why = format!(
            "{} So often, or in so much text, that the whole counts as one.",
            own.rule.title
        );
        report(0..text.len(), whole, why);
        return;
    };
    for span in hits.spans {
        let raw = view.raw_span(span.clone());
        report(
            span,
            raw,
            format!("{}{}", own.rule.title.trim_end_matches('.'), place(view.view())),
        );
    }
}

/// Returns the end of the sentence about a finding in this view.
fn place(view: View) -> &'static str {
    match view {
        View::Raw | View::Structure => ".",
        View::Normalized | View::Folded => ", disguised by look-alike or invisible characters, or in another case.",
        View::Hidden => ", in hidden characters.",
        View::Decoded => ", encoded.",
        View::Json => ", in JSON inside a string.",
    }
}

#[cfg(test)]
mod tests;
