//! What is too large to be examined whole.

use super::{Plain, Prefilter, Rule, Spoken, Subject};
use crate::model::{Confidence, Content, Finding, ReasonCode, Severity, Step, Treatment, View};
use crate::policy::Policy;

/// A step of more contents than this is unusual.
const MANY_CONTENTS: usize = 4096;
/// A content of more bytes than this is more than a judge reads.
const LARGE_CONTENT: usize = 256 * 1024;

/// The rule about what was left unexamined.
pub(in crate::prefilter) const CUT: &str = "oversize.cut";

/// The rule about steps that take more work than any honest one.
pub(in crate::prefilter) const TOO_INTRICATE: &str = "oversize.too_intricate";

/// That a step was not examined to its end, by that rule: this content is the first of so many of which something was left
/// out.
pub(in crate::prefilter) fn too_intricate(rule: &Rule, first: &Content, left_out: usize) -> Finding {
    Finding {
        rule: rule.id.clone(),
        reason: rule.reason.clone(),
        severity: rule.severity,
        confidence: rule.confidence,
        content: Some(first.id),
        pointer: first.pointer.clone(),
        span: 0..first.text.len(),
        view: View::Structure,
        suggested: rule.suggests,
        explanation: format!(
            "to examine the step takes many times the work that a step of its size takes; {left_out} of its texts, from this \
             one on, were not examined to the end: send it in smaller pieces, or without layers of encoding"
        ),
    }
}

/// The family.
pub(in crate::prefilter) struct Oversize {
    rules: [Rule; 4],
}

impl Oversize {
    /// Makes the rules.
    pub(in crate::prefilter) fn new() -> Self {
        let rule = |id: &str, severity, title: &str, fires_on: Vec<String>, silent_on: Vec<String>| Rule {
            id: format!("oversize.{id}"),
            title: title.to_owned(),
            reason: ReasonCode::Oversized,
            severity,
            confidence: Confidence::High,
            suggests: Treatment::Evidence,
            fires_on,
            silent_on,
        };
        let ordinary = || vec!["a short text".to_owned()];
        Self {
            rules: [
                rule(
                    "cut",
                    Severity::Medium,
                    "Some of what is encoded in a text was left unexamined.",
                    // One character that stands for six.
                    vec!["\u{3316}".repeat(20_000)],
                    ordinary(),
                ),
                rule(
                    "large",
                    Severity::Low,
                    "A text is larger than a judge can read whole.",
                    vec!["word ".repeat(60_000)],
                    ordinary(),
                ),
                rule(
                    "many",
                    Severity::Low,
                    "The step holds very many texts.",
                    Vec::new(),
                    Vec::new(),
                ),
                Rule {
                    suggests: Treatment::Deny,
                    ..rule(
                        "too_intricate",
                        Severity::High,
                        "The step takes so much work that it was not examined to its end.",
                        Vec::new(),
                        Vec::new(),
                    )
                },
            ],
        }
    }
}

impl Prefilter for Oversize {
    fn family(&self) -> &'static str {
        "oversize"
    }

    fn rules(&self) -> &[Rule] {
        &self.rules
    }

    fn heeds_plain(&self, _plain: Plain<'_>) -> bool {
        false
    }

    fn screen_content(&self, subject: &Subject<'_>, found: &mut Vec<Finding>) {
        let [cut, large, _, _] = &self.rules;
        let length = subject.content.text.len();
        let Some(raw) = subject.views.iter().next() else { return };
        if subject.views.cut_bytes() > 0 {
            let what = format!("{} bytes were left unexamined.", subject.views.cut_bytes());
            found.push(cut.at(subject, raw, 0..length, what));
        }
        if length > LARGE_CONTENT {
            found.push(large.at(subject, raw, 0..length, format!("The text has {length} bytes.")));
        }
    }

    fn screen_step(&self, step: &Step, _policy: &Policy, _spoken: Spoken<'_>, found: &mut Vec<Finding>) {
        let [_, _, many, _] = &self.rules;
        if step.contents.len() > MANY_CONTENTS {
            found.push(Finding {
                rule: many.id.clone(),
                reason: many.reason.clone(),
                severity: many.severity,
                confidence: many.confidence,
                content: None,
                pointer: Default::default(),
                span: 0..0,
                view: View::Structure,
                suggested: many.suggests,
                explanation: format!("The step holds {} texts.", step.contents.len()),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Origin;
    use crate::prefilter::testing::{hold_examples, seen_in_shape, step};

    #[test]
    fn the_rules_about_texts_keep_to_their_examples() {
        hold_examples(&Oversize::new(), Origin::ToolOutput, |id| {
            !matches!(id, "oversize.many" | TOO_INTRICATE)
        });
    }

    #[test]
    fn very_many_texts_are_told() {
        let contents = |count| (0..count).map(|_| (Origin::ToolOutput, String::new()));
        let policy = Policy::standard().unwrap();
        for (count, expected) in [(MANY_CONTENTS, 0), (MANY_CONTENTS + 1, 1)] {
            let found = seen_in_shape(&Oversize::new(), &step(contents(count)), &policy);
            assert_eq!(found.len(), expected);
        }
    }
}
