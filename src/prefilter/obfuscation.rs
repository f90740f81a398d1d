//! Disguises themselves: too many layers, mixed scripts, ornamental letters, letters with gaps, digits for letters.
//!
//! What a disguise hides is for the other families, which read the views; this one says that somebody took the trouble.

mod digits;
mod gaps;
mod unread;
mod wordplay;

use std::ops::Range;

use super::{Plain, Prefilter, Rule, Subject, ViewText, Word, disguise};
use crate::model::{Finding, ReasonCode, Treatment, View};
use crate::prefilter::engine::{RuleError, RuleFile, RuleTable, rule_keys};
use crate::text::bytes::ByteClasses;


/// More findings of one rule in one view say nothing new.
const MOST: usize = 16;

rule_keys! {
    /// Its rules.
    enum At {
        Layers = "layers",
        MixedScripts = "mixed_scripts",
        Ornamental = "ornamental",
        Gaps = "gaps",
        Digits = "digits",
        RunTogether = "run_together",
        Unread = "unread",
    }
}

/// Its rules.
const RULES: RuleFile = RuleFile {
    name: "obfuscation.toml",
    text: include_str!("rules/obfuscation.toml"),
    family: "obfuscation",
    reason: ReasonCode::Obfuscation,
    suggests: Treatment::Evidence,
};

/// The family.
pub(super) struct Obfuscation {
    rules: RuleTable<At>,
}

impl Obfuscation {
    /// Reads the rules.
    pub(super) fn new() -> Result<Self, RuleError> {
        Ok(Self {
            rules: RuleTable::load(&RULES)?,
        })
    }

    fn add(&self, at: At, subject: &Subject<'_>, view: &ViewText<'_>, span: Range<usize>, found: &mut Vec<Finding>) {
        let rule = self.rules.rule(at);
        found.push(rule.at(subject, view, span, rule.title.clone()));
    }
}

impl Prefilter for Obfuscation {
    fn family(&self) -> &'static str {
        "obfuscation"
    }

    fn rules(&self) -> &[Rule] {
        self.rules.rules()
    }

    fn words(&self) -> Vec<Word> {
        wordplay::words().chain(unread::words()).collect()
    }

    fn heeds_plain(&self, _plain: Plain<'_>) -> bool {
        false
    }

    fn screen_content(&self, subject: &Subject<'_>, found: &mut Vec<Finding>) {
        if let Some(raw) = subject.views.iter().next() {
            for span in subject.views.undecoded().iter().take(MOST) {
                self.add(At::Layers, subject, raw, span.clone(), found);
            }
        }
        for view in subject.views.as_written() {
            // What is already normalised has lost its ornaments, not its look-alikes; the text before shows both.
            if view.view() == View::Normalized || view.kinds().is_ascii() {
                continue;
            }
            for span in disguise::words(view.text())
                .filter(|(_, word)| disguise::is_mixed(word))
                .map(|(span, _)| span)
                .take(MOST)
            {
                self.add(At::MixedScripts, subject, view, span, found);
            }
            for span in disguise::ornaments(view.text()).into_iter().take(MOST) {
                self.add(At::Ornamental, subject, view, span, found);
            }
        }
        if let Some(raw) = subject.views.iter().next()
            && let Some(span) = unread::unread(raw, || subject.hits(raw), wordplay::words().count())
        {
            self.add(At::Unread, subject, raw, span, found);
        }
        for view in subject.views.folded() {
            if subject.hits(view).next().is_some() {
                if let Some(span) = wordplay::run_together(view.text(), subject.hits(view)) {
                    self.add(At::RunTogether, subject, view, span, found);
                }
            }
            if view.kinds().has(ByteClasses::GAPS) {
                for span in gaps::gaps(view.text()).into_iter().take(MOST) {
                    self.add(At::Gaps, subject, view, span, found);
                }
            }
            let has_signs = view
                .kinds()
                .has(ByteClasses::DIGIT.or(ByteClasses::AT).or(ByteClasses::LETTER_SIGN));
            if has_signs && digits::may_have_signs(view.in_any_case()) {
                for span in digits::digits(view.text()).into_iter().take(MOST) {
                    self.add(At::Digits, subject, view, span, found);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Origin;
    use crate::prefilter::testing::{hold_examples, seen};

    #[test]
    fn every_rule_keeps_to_its_examples() {
        hold_examples(&Obfuscation::new(), Origin::ToolOutput, |_| true);
    }

    #[test]
    fn spans_are_those_of_the_words() {
        let text = "это pаsswоrd, да";
        let found = seen(&Obfuscation::new(), Origin::ToolOutput, text);
        assert_eq!(found.len(), 1);
        assert_eq!(text.get(found[0].span.clone()), Some("pаsswоrd"));
    }

    #[test]
    fn ordinary_texts_of_the_world_are_left_alone() {
        for text in [
            "Ελλάδα και Κύπρος, SMS και email",
            "Сервис Google и iPhone; IP-адрес",
            "שלום \u{200f}(abc)\u{200f}",
            "مرحبا \u{200e}PDF\u{200e}",
            "日本語テキスト ＡＢＣ１２３",
            "H₂O, 10 µm, 5 kΩ, ΔG°, x̄ ± σ",
        ] {
            assert!(seen(&Obfuscation::new(), Origin::ToolOutput, text).is_empty(), "{text}");
        }
    }
}
