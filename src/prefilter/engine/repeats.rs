//! What was seen in small contents, for those of the same step that say the same again.
//!
//! The cells of a table and the fields of a list of records repeat themselves, and so do floods. Two contents of the same
//! words, of the same origin, under the same name and at the same kind of place are seen alike by every family, but for the
//! few whose meaning lies in what stands beside them ([`Prefilter::looks_around`](super::Prefilter::looks_around)): those are
//! not kept.

use std::collections::HashMap;
use std::mem::{Discriminant, discriminant};

use foldhash::fast::RandomState;

use super::scan_outcome::ScanOutcome;
use crate::model::{Content, Finding, Form, Origin, Place, Step};

/// In a step of fewer contents nothing is kept.
const FEWEST: usize = 128;
/// Longer texts are seldom the same.
const LONGEST: usize = 256;
/// The most outcomes that are kept…
const MOST: usize = 4096;
/// …and the most findings of one of them.
const MOST_FINDINGS: usize = 16;

/// Everything about a content that what is seen in it depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key<'s> {
    text: &'s str,
    label: Option<&'s str>,
    origin: Origin,
    place: Place,
    form: Discriminant<Form>,
}

impl<'s> Key<'s> {
    fn of(content: &'s Content) -> Option<Self> {
        let is_small = content.text.len() <= LONGEST;
        let is_text = matches!(content.form, Form::Text | Form::Number | Form::Key);
        (is_small && is_text).then(|| Self {
            text: &content.text,
            label: content.label.as_deref(),
            origin: content.origin,
            place: content.place,
            form: discriminant(&content.form),
        })
    }
}

/// What came of a content.
#[derive(Clone, Debug, Default)]
pub(in crate::prefilter) struct Outcome {
    /// What was seen, in order.
    pub(in crate::prefilter) findings: Vec<Finding>,
    /// What else examining it gave.
    pub(in crate::prefilter) gave: ScanOutcome,
}

impl Outcome {
    /// The findings, at another content that says the same.
    pub(in crate::prefilter) fn findings_at<'o>(&'o self, content: &'o Content) -> impl Iterator<Item = Finding> + 'o {
        self.findings.iter().map(|finding| Finding {
            content: Some(content.id),
            pointer: content.pointer.clone(),
            ..finding.clone()
        })
    }
}

/// The outcomes of one step, if it has contents enough to repeat themselves.
#[derive(Default)]
pub(in crate::prefilter) struct Memo<'s>(Option<HashMap<Key<'s>, Outcome, RandomState>>);

impl<'s> Memo<'s> {
    /// For the contents of a step.
    pub(in crate::prefilter) fn of_step(step: &Step) -> Self {
        Self((step.contents.len() >= FEWEST).then(HashMap::default))
    }

    /// Whether outcomes are kept.
    pub(in crate::prefilter) fn is_kept(&self) -> bool {
        self.0.as_ref().is_some_and(|known| known.len() < MOST)
    }

    /// What came of a content that said the same.
    pub(in crate::prefilter) fn of(&self, content: &'s Content) -> Option<&Outcome> {
        self.0.as_ref()?.get(&Key::of(content)?)
    }

    /// Keeps what came of a content, if it is worth keeping.
    pub(in crate::prefilter) fn keep(&mut self, content: &'s Content, outcome: Outcome) {
        if let Some(known) = self.0.as_mut().filter(|known| known.len() < MOST)
            && let Some(key) = Key::of(content)
            && outcome.findings.len() <= MOST_FINDINGS
        {
            known.insert(key, outcome);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ContentId, Origin};
    use crate::prefilter::testing::step;

    #[test]
    fn only_the_same_words_of_the_same_origin_under_the_same_name_are_the_same() {
        let texts = ["a%41", "a%41", "a%42", "a%41"].map(|text| (Origin::ToolOutput, text.to_owned()));
        let mut step = step(texts.into_iter().chain([(Origin::User, "a%41".to_owned())]));
        for (content, label) in step.contents.iter_mut().zip([None, None, None, Some("x"), None]) {
            content.label = label.map(str::to_owned);
        }
        let mut memo = Memo(Some(HashMap::default()));
        let [first, same, other, named, by_user] = step.contents.as_slice() else {
            panic!("five contents");
        };
        let gave = ScanOutcome {
            vocabularies: 7,
            ..ScanOutcome::default()
        };
        let findings = Vec::new();
        memo.keep(first, Outcome { findings, gave });
        assert_eq!(memo.of(same).map(|known| known.gave), Some(gave));
        assert!(memo.of(other).is_none() && memo.of(named).is_none() && memo.of(by_user).is_none());
    }

    #[test]
    fn findings_are_told_where_the_same_is_said_again() {
        let texts = ["password=x1Jk9q", "password=x1Jk9q"].map(|text| (Origin::ToolOutput, text.to_owned()));
        let screening = crate::prefilter::testing::screened(&step(texts));
        let told = |content: usize| -> Vec<Finding> {
            let at = ContentId::from_index(content);
            let findings = screening.findings.iter().filter(|found| found.content == Some(at));
            findings.cloned().collect()
        };
        assert!(!told(0).is_empty());
        assert_eq!(told(0).len(), told(1).len());
        for (first, second) in told(0).into_iter().zip(told(1)) {
            assert_eq!(second.pointer, step_pointer(1));
            let (content, pointer) = (first.content, first.pointer.clone());
            assert_eq!(
                first,
                Finding {
                    content,
                    pointer,
                    ..second
                }
            );
        }
    }

    fn step_pointer(index: usize) -> crate::model::Pointer {
        crate::model::Pointer::new(format!("/params/result/outputs/{index}/text"))
    }
}
