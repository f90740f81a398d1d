//! Deobfuscate: the texts of a step without their obfuscation, for the trained scorer.

use std::collections::HashMap;
use std::ops::Range;

use crate::model::{Content, ContentId, Coverage, Finding, View};
use crate::text::views;

/// The rule that finds letters with gaps between them.
const GAPS: &str = "obfuscation.gaps";

/// A receiver of texts, with the way back from bytes of a text to bytes of the content's own text.
type Receiver<'r> = dyn FnMut(&str, &dyn Fn(Range<usize>) -> Range<usize>) + 'r;

/// Removes the obfuscation from texts in which screening found some.
#[derive(Default)]
pub struct Deobfuscator<'a> {
    /// The record of the screening; without one, texts are read as they are written.
    coverage: Option<&'a Coverage>,
    /// Of each content the first finding of letters with gaps.
    gaps: HashMap<ContentId, &'a Finding>,
}

impl<'a> Deobfuscator<'a> {
    /// Takes what was found in the texts of a step.
    pub fn of(coverage: &'a Coverage, findings: &'a [Finding]) -> Self {
        let mut gaps = HashMap::new();
        for finding in findings.iter().filter(|finding| finding.rule == GAPS) {
            if let Some(content) = finding.content {
                gaps.entry(content).or_insert(finding);
            }
        }
        Self {
            coverage: Some(coverage),
            gaps,
        }
    }

    /// Shows each text that a content says, the plainest first, with the way back to bytes of the content's own text.
    pub(super) fn show(&self, content: &Content, each: &mut Receiver<'_>) {
        let is_plain = self.coverage.is_none_or(|coverage| {
            let examined = coverage.examined.get(content.id.index());
            let examined = examined.filter(|examined| examined.pointer == content.pointer);
            let is_plain = |view| matches!(view, View::Raw | View::Folded);
            examined.is_some_and(|examined| examined.views.iter().all(is_plain))
        });
        if is_plain {
            each(&content.text, &|span| span);
            self.close_gaps(content, each);
            return;
        }
        let views = views::read(content);
        let mut texts: Vec<_> = views.as_written().collect();
        // The plainest first: what normalisation leaves of the text itself.
        if texts.get(1).is_some_and(|view| view.view() == View::Normalized) {
            texts.remove(0);
        }
        // The scorer hears only so many of the texts that are hidden in a content.
        let mut texts = texts.into_iter();
        let show = |view: &views::ViewText<'_>, each: &mut Receiver<'_>| {
            each(view.text(), &|span| view.raw_span(span));
        };
        texts.by_ref().take(1).for_each(|view| show(view, each));
        self.close_gaps(content, each);
        texts.for_each(|view| show(view, each));
    }

    /// Shows a text whose letters stand apart once more, put together. Rules report that as evidence; a judge should be able to read it, and the
    /// scorer is one.
    fn close_gaps(&self, content: &Content, each: &mut Receiver<'_>) {
        let Some(finding) = self.gaps.get(&content.id) else {
            return;
        };
        let letters = content.text.get(finding.span.clone()).unwrap_or_default();
        let Some(gap) = letters.chars().nth(1) else { return };
        let (text, places) = closed(&content.text, gap);
        each(&text, &|span| {
            let start = places.get(span.start).copied().unwrap_or_default();
            let last = span.end.checked_sub(1).and_then(|at| places.get(at)).copied();
            start..content.text.ceil_char_boundary(last.unwrap_or(start) + 1)
        });
    }
}

/// Returns a text without the gaps between single letters, and the place of each of its bytes.
fn closed(text: &str, gap: char) -> (String, Vec<usize>) {
    let mut closed = String::with_capacity(text.len() / 2);
    let mut places = Vec::with_capacity(text.len() / 2);
    let mut start = 0;
    let mut was_letter = false;
    for piece in text.split(gap) {
        let goes_on = was_letter && is_alone(piece.chars());
        if !goes_on && !closed.is_empty() {
            closed.push(' ');
            places.push(start);
        }
        closed.push_str(piece);
        places.extend(start..start + piece.len());
        was_letter = is_alone(piece.chars().rev());
        start += piece.len() + gap.len_utf8();
    }
    (closed, places)
}

/// Returns `true` if a piece begins, or read from its end ends, with one letter alone.
fn is_alone(mut piece: impl Iterator<Item = char>) -> bool {
    piece.next().is_some() && piece.next().is_none_or(|c| !c.is_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_with_gaps_are_put_together_and_every_byte_keeps_its_place() {
        for (spaced, gap, plain) in [
            ("i g n o r e  a l l", ' ', "ignore all"),
            ("see: i.g.n.o.r.e", '.', "see: ignore"),
            ("i-g-n-o-r-e-all rules", '-', "ignore all rules"),
            ("ü b e r", ' ', "über"),
        ] {
            let (text, places) = closed(spaced, gap);
            assert_eq!(text.split_whitespace().collect::<Vec<_>>().join(" "), plain, "{spaced}");
            assert_eq!(places.len(), text.len());
            for (at, c) in text.char_indices().filter(|(_, c)| *c != ' ') {
                assert!(spaced[places[at]..].starts_with(c), "{spaced}: {c}");
            }
        }
    }
}
