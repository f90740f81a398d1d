//! Withhold: what a finding calls a secret is not repeated in verdicts and records, wherever it stands.
//!
//! Findings carry no text. But a secret can be the key of somebody's data, and so part of a pointer; or the id of a
//! session, and so part of a record. What is masked in the step is masked there too.

use std::borrow::Cow;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::model::{Confidence, Finding, Pointer, ReasonCode, Step, Treatment, Verdict};

/// What stands for a text that is withheld.
const WITHHELD: &str = "[masked]";
/// Shorter texts stand in other words by chance.
const SHORTEST: usize = 6;

/// Texts that are not to be repeated.
#[derive(Clone, Debug, Default)]
pub(super) struct Withheld {
    texts: Vec<String>,
}

impl Withheld {
    /// The texts that findings call secret, and personal data that the policy masks or denies.
    pub(super) fn of<'a>(step: &Step, treated: impl Iterator<Item = (&'a Finding, Treatment)>) -> Self {
        let mut texts = Vec::new();
        for (finding, treatment) in treated {
            let sensitive = match finding.reason {
                ReasonCode::SecretExposure => finding.confidence >= Confidence::Medium,
                ReasonCode::PersonalData => matches!(treatment, Treatment::Mask | Treatment::Deny),
                _ => false,
            };
            let content = finding.content.and_then(|id| step.content(id));
            let text = content
                .and_then(|content| content.text.get(finding.span.clone()))
                .unwrap_or_default();
            if sensitive && text.len() >= SHORTEST {
                texts.push(text.replace('~', "~0").replace('/', "~1"));
                texts.push(text.to_owned());
            }
        }
        // Longer ones first: one may be part of another.
        texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
        texts.dedup();
        Self { texts }
    }

    /// The texts.
    pub(super) fn texts(&self) -> &[String] {
        &self.texts
    }

    /// Takes them out of whatever a verdict says.
    pub(super) fn clean(&self, verdict: &mut Verdict) {
        if self.texts.is_empty() {
            return;
        }
        // As many places as there are texts, and each of them asked for each text, would be too many questions.
        let finder = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostFirst)
            .build(&self.texts)
            .ok();
        for text in [&mut verdict.message, &mut verdict.reasoning] {
            if let Cow::Owned(cleaned) = Self::without(text, finder.as_ref()) {
                *text = cleaned;
            }
        }
        let findings = verdict.findings.iter_mut().map(|finding| &mut finding.pointer);
        let examined = verdict.coverage.examined.iter_mut().map(|content| &mut content.pointer);
        for pointer in findings.chain(examined).chain(&mut verdict.coverage.cut) {
            if let Cow::Owned(cleaned) = Self::without(pointer.as_str(), finder.as_ref()) {
                *pointer = Pointer::new(cleaned);
            }
        }
    }

    /// The text without them; of those that begin together the longest first.
    fn without<'t>(text: &'t str, finder: Option<&AhoCorasick>) -> Cow<'t, str> {
        match finder {
            Some(finder) if !finder.is_match(text) => Cow::Borrowed(text),
            Some(finder) => {
                let mut cleaned = String::with_capacity(text.len());
                finder.replace_all_with(text, &mut cleaned, |_, _, cleaned| {
                    cleaned.push_str(WITHHELD);
                    true
                });
                Cow::Owned(cleaned)
            }
            None => Cow::Borrowed(WITHHELD),
        }
    }
}
