//! Disguises themselves: too many layers, mixed scripts, ornamental letters, letters with gaps, digits for letters.
//!
//! The text that a disguise hides is for the other families, which read the views; this one reports the disguise itself.

mod digits;
mod gaps;
mod unread;
mod wordplay;

use super::{Prefilter, Subject, Word, disguise};
use crate::model::{Content, Finding, Form, Origin, ToolClass, View};
use crate::prefilter::engine::{family, rule_keys};
use crate::text::bytes::ByteClasses;

/// More findings of one rule in one view say nothing new.
const MAX: usize = 16;

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
        Pieces = "pieces",
    }
}

family! {
    /// The family.
    Obfuscation of At = "obfuscation", Obfuscation, Words
}

impl Prefilter for Obfuscation {
    fn words(&self) -> Vec<Word> {
        wordplay::words().chain(unread::words()).collect()
    }

    fn screen_content(&self, subject: &Subject<'_>, found: &mut Vec<Finding>) {
        if let Some(raw) = subject.views.iter().next() {
            for span in subject.views.undecoded().iter().take(MAX) {
                found.push(self.rules.titled(At::Layers, subject, raw, span.clone()));
            }
        }
        if is_piece(subject) {
            let raw = subject.views.iter().take(1);
            raw.for_each(|raw| {
                found.push(
                    self.rules
                        .titled(At::Pieces, subject, raw, 0..subject.content.text.len()),
                )
            });
        }
        for view in subject.views.as_written() {
            // What is already normalised has lost its ornaments, not its look-alikes; the text before shows both.
            if view.view() == View::Normalized || view.kinds().is_ascii() {
                continue;
            }
            for span in disguise::words(view.text())
                .filter(|(_, word)| disguise::is_mixed(word))
                .map(|(span, _)| span)
                .take(MAX)
            {
                found.push(self.rules.titled(At::MixedScripts, subject, view, span));
            }
            for span in disguise::ornaments(view.text()).into_iter().take(MAX) {
                found.push(self.rules.titled(At::Ornamental, subject, view, span));
            }
        }
        if let Some(raw) = subject.views.iter().next()
            && let Some(span) = unread::unread(raw, || subject.hits(raw), wordplay::count())
        {
            found.push(self.rules.titled(At::Unread, subject, raw, span));
        }
        for view in subject.views.folded() {
            if let Some(span) = wordplay::run_together(view.text(), subject.hits(view)) {
                found.push(self.rules.titled(At::RunTogether, subject, view, span));
            }
            if view.kinds().has(ByteClasses::GAPS) {
                for span in gaps::gaps(view.text()).into_iter().take(MAX) {
                    found.push(self.rules.titled(At::Gaps, subject, view, span));
                }
            }
            let has_signs = view
                .kinds()
                .has(ByteClasses::DIGIT.or(ByteClasses::AT).or(ByteClasses::LETTER_SIGN));
            if has_signs && digits::may_have_signs(view.in_any_case()) {
                for span in digits::digits(view.text()).into_iter().take(MAX) {
                    found.push(self.rules.titled(At::Digits, subject, view, span));
                }
            }
        }
    }
}

/// Returns `true` if a content is the first of the arguments whose names number them as pieces of one text; of a tool that
/// runs what it is given, whatever is numbered. Their texts are not put together here.
fn is_piece(subject: &Subject<'_>) -> bool {
    const MAX: usize = 64;
    let runs = subject.called.classes.set.has(ToolClass::Executes);
    let series = |content: &Content| -> Option<String> {
        let label = content.label.as_deref()?;
        match is_piece_label(label) {
            true => Some("piece".to_owned()),
            false => stem(label)
                .filter(|_| runs && content.form == Form::Text)
                .map(|stem| format!("{stem}…")),
        }
    };
    if subject.content.origin != Origin::ToolArguments {
        return false;
    }
    let Some(own) = series(subject.content) else {
        return false;
    };
    let arguments = subject.step.contents_of(Origin::ToolArguments).take(MAX);
    let mut pieces = arguments.filter(|content| series(content).as_ref() == Some(&own));
    pieces.next().is_some_and(|first| first.id == subject.content.id) && pieces.next().is_some()
}

/// Returns the part before the number of a numbered name, `line` of `line2`; of one letter alone, nothing.
fn stem(label: &str) -> Option<&str> {
    let stem = label.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_letter = label.len() == 1 && stem == label;
    match label.len() - stem.len() {
        0 if is_letter => Some(""),
        1 | 2 => Some(stem.trim_end_matches(['_', '-', ' '])),
        _ => None,
    }
}

/// Returns `true` if a name is that of a numbered piece: `part1`, `chunk_b`.
fn is_piece_label(label: &str) -> bool {
    const NAMES: &[&str] = &["part", "piece", "chunk", "segment", "fragment", "frag", "half", "split"];
    let label = label.to_ascii_lowercase();
    let number = NAMES.iter().find_map(|name| label.strip_prefix(name));
    number.is_some_and(|number| {
        let number = number.trim_start_matches(['_', '-', ' ']);
        (1..=2).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

#[cfg(test)]
mod tests;
