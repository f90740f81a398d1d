//! Texts that are too large to be examined whole.

use super::{Prefilter, Subject, family, rule_keys};
use crate::model::{Content, Finding, Pointer, Rule, Step};
use crate::policy::Policy;

/// A step of more contents than this is unusual.
const MANY_CONTENTS: usize = 4096;
/// A content of more bytes than this is more than a judge reads.
const LARGE_CONTENT: usize = 256 * 1024;

rule_keys! {
    /// Its rules.
    pub(in crate::prefilter) enum At {
        Cut = "cut",
        Large = "large",
        Many = "many",
        TooIntricate = "too_intricate",
    }
}

/// Returns the finding, by that rule, that a step was not examined to its end: this content is the first of so many of which
/// something was left out.
pub(in crate::prefilter) fn too_intricate(rule: &Rule, first: &Content, left_out: usize) -> Finding {
    let what = format!(
        "to examine the step takes many times the work that a step of its size takes; {left_out} of its texts, from this \
         one on, were not examined to the end: send it in smaller pieces, or without layers of encoding"
    );
    rule.on_content(first, what)
}

family! {
    /// The family.
    Oversize of At = "oversize", Oversized, Words
}

impl Oversize {
    /// The rule of this key.
    pub(in crate::prefilter) fn rule(&self, key: At) -> &Rule {
        self.rules.rule(key)
    }
}

impl Prefilter for Oversize {
    fn screen_content(&self, subject: &Subject<'_>, found: &mut Vec<Finding>) {
        let length = subject.content.text.len();
        let Some(raw) = subject.views.iter().next() else { return };
        if subject.views.cut_bytes() > 0 {
            let what = format!("{} bytes were left unexamined.", subject.views.cut_bytes());
            found.push(self.rule(At::Cut).at(subject, raw, 0..length, what));
        }
        if length > LARGE_CONTENT {
            found.push(
                self.rule(At::Large)
                    .at(subject, raw, 0..length, format!("The text has {length} bytes.")),
            );
        }
    }

    fn screen_step(&self, step: &Step, _policy: &Policy, found: &mut Vec<Finding>) {
        if step.contents.len() > MANY_CONTENTS {
            let what = format!("The step holds {} texts.", step.contents.len());
            found.push(self.rule(At::Many).on_step(Pointer::default(), what));
        }
    }
}

#[cfg(test)]
mod tests;
