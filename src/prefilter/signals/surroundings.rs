//! The surroundings of a hit: whether the text quotes it, describes it as an attack, or shows it as an example.
//!
//! A text made for the purpose holds a hit at every other word, so nothing here may read far for each of them: every
//! repeated question about one text (where its lines and code blocks end, where it speaks of attacks) is answered once.

use crate::prefilter::words::signals_surroundings::{DEMANDING, DESCRIBING, REPORTING, TESTING};
use std::cell::{Cell, OnceCell};
use std::ops::Range;
use std::sync::LazyLock;

use crate::text::keywords::{Keywords, Word};

/// The text around a span, itself included.
pub(super) fn around<'t>(text: &'t str, span: &Range<usize>, before: usize, behind: usize) -> &'t str {
    text.get(around_at(text, span, before, behind)).unwrap_or_default()
}

fn around_at(text: &str, span: &Range<usize>, before: usize, behind: usize) -> Range<usize> {
    let start = text.floor_char_boundary(span.start.saturating_sub(before));
    let end = text.ceil_char_boundary(span.end.saturating_add(behind).min(text.len()));
    start..end
}

fn keywords(words: &[&str]) -> Keywords {
    Keywords::of([words.iter().map(|word| Word::exact(*word)).collect()])
}

static DESCRIBED: LazyLock<Keywords> = LazyLock::new(|| keywords(&DESCRIBING));
static REPORTED: LazyLock<Keywords> = LazyLock::new(|| keywords(&REPORTING));
static TESTED: LazyLock<Keywords> = LazyLock::new(|| keywords(&TESTING));

/// A text whose hits are asked about.
pub(super) struct Surroundings<'t> {
    text: &'t str,
    /// The place of the last mark of a code block.
    last_fence: OnceCell<Option<usize>>,
    /// The line asked about last.
    line: Cell<Line>,
    describing: Places,
    reporting: Places,
    testing: Places,
}

/// A part of a line, up to its end.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    /// From here on the end is known.
    from: usize,
    /// Its end.
    end: usize,
    /// The last character that closes neither a list nor a call, and where it stands.
    last: Option<(usize, char)>,
}

impl<'t> Surroundings<'t> {
    /// The surroundings of every span of a text.
    pub(super) fn of(text: &'t str) -> Self {
        Self {
            text,
            last_fence: OnceCell::new(),
            line: Cell::default(),
            describing: Places::default(),
            reporting: Places::default(),
            testing: Places::default(),
        }
    }

    /// Returns `true` if the text quotes a span, or describes it as an attack, rather than saying it.
    pub(super) fn is_quoted(&self, span: &Range<usize>) -> bool {
        const NEAR: usize = 200;
        let text = self.text;
        let near = text.floor_char_boundary(span.start.saturating_sub(NEAR))..span.start;
        if self.describing.is_in(text, &DESCRIBED, near.clone()) || self.is_reported(span) {
            return true;
        }
        let before = text.get(near).unwrap_or_default();
        // A report of what a person tries to do does not ask for it; a text that says what one has to do does.
        if let Some(verb) = before.strip_suffix("to ").map(str::trim_end) {
            let word = verb.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
            return !DEMANDING.contains(&word);
        }
        let trimmed = before.trim_end_matches([' ', '*', '_']);
        let Some(quote) = trimmed.chars().next_back().filter(|c| matches!(c, '"' | '\'' | '`')) else {
            return false;
        };
        // Nothing but the phrase stands between the quotes: it is named, not said.
        let behind = text.get(span.end..).unwrap_or_default();
        if behind.trim_start_matches(['.', '!', ',']).starts_with(quote) {
            return true;
        }
        // A value of JSON or YAML stands in quotes too, but behind a colon, a comma or a bracket.
        let unquoted = trimmed.trim_end_matches(quote);
        unquoted.ends_with([' ', '('])
            && unquoted
                .trim_end_matches([' ', '('])
                .ends_with(|c: char| c.is_alphanumeric() || c == ',')
    }

    /// Returns `true` if a span stands between quotes, or between the brackets of a test's name, of a text that reports on attacks.
    fn is_reported(&self, span: &Range<usize>) -> bool {
        const BEFORE: usize = 200;
        const BEHIND: usize = 300;
        let near = around_at(self.text, span, BEFORE, BEHIND);
        let before = self.text.get(near.start..span.start).unwrap_or_default();
        let behind = self.text.get(span.end..near.end).unwrap_or_default();
        let stands_between = |open: char, close: char| {
            let opens = before.rfind(open).filter(|at| {
                // An apostrophe stands behind a letter.
                let last = before.get(..*at).and_then(|head| head.chars().next_back());
                open == '[' || last.is_none_or(|last| !last.is_alphanumeric())
            });
            let is_odd = open != close || open == '\'' || before.matches(open).count() % 2 == 1;
            opens.is_some() && is_odd && behind.contains(close)
        };
        let quoted = stands_between('"', '"') || stands_between('\'', '\'') || stands_between('[', ']');
        quoted && self.reporting.is_in(self.text, &REPORTED, near)
    }

    /// Returns `true` if a span stands in a code block, or in a literal of a program, of a text that speaks of attacks or tests.
    pub(super) fn is_shown(&self, span: &Range<usize>) -> bool {
        const BEFORE: usize = 700;
        const BEHIND: usize = 400;
        if !self.is_in_block(span) && !self.is_in_literal(span) {
            return false;
        }
        let near = around_at(self.text, span, BEFORE, BEHIND);
        self.describing.is_in(self.text, &DESCRIBED, near.clone()) || self.testing.is_in(self.text, &TESTED, near)
    }

    /// The text before a span, as far back as the beginning of a code block is looked for.
    fn block_before(&self, span: &Range<usize>) -> &'t str {
        const BLOCK: usize = 4096;
        let reach = self.text.floor_char_boundary(span.start.saturating_sub(BLOCK));
        self.text.get(reach..span.start).unwrap_or_default()
    }

    fn is_in_block(&self, span: &Range<usize>) -> bool {
        let last = *self.last_fence.get_or_init(|| self.text.rfind("```"));
        last.is_some_and(|last| last >= span.end) && self.block_before(span).matches("```").count() % 2 == 1
    }

    fn is_in_literal(&self, span: &Range<usize>) -> bool {
        let before = self.block_before(span);
        let line = before.rsplit('\n').next().unwrap_or_default().trim_start();
        let Some(quote) = line.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
            return false;
        };
        let last = self.line_of(span.end).last;
        last.is_some_and(|(at, last)| at >= span.end && last == quote)
    }

    /// The line that a place stands in.
    fn line_of(&self, place: usize) -> Line {
        let known = self.line.get();
        if known.from <= place && place <= known.end && known.end > 0 {
            return known;
        }
        let rest = self.text.get(place..).unwrap_or_default();
        let rest = rest.split('\n').next().unwrap_or_default();
        let closed = rest.trim_end().trim_end_matches([',', ')', ']']);
        let line = Line {
            from: place,
            end: place + rest.len(),
            last: closed.char_indices().next_back().map(|(at, c)| (place + at, c)),
        };
        self.line.set(line);
        line
    }
}

/// The places of the words of a list in a text: read off the text the first few times, then found all at once.
#[derive(Default)]
struct Places {
    asked: Cell<usize>,
    all: OnceCell<Vec<Range<usize>>>,
}

impl Places {
    /// Returns `true` if one of the words stands within a part of the text.
    fn is_in(&self, text: &str, words: &Keywords, part: Range<usize>) -> bool {
        /// Reading a text whole costs as much as asking about this many of its parts.
        const FEW: usize = 64;
        if self.asked.get() < FEW {
            self.asked.set(self.asked.get() + 1);
            return text.get(part).is_some_and(|part| !words.hits(part).is_empty());
        }
        let places = self
            .all
            .get_or_init(|| words.hits(text).of(0).map(|hit| hit.span).collect());
        // They are in the order in which they end.
        let first = places.partition_point(|place| place.end <= part.start);
        let ends_within = places.iter().skip(first).take_while(|place| place.end <= part.end);
        ends_within.into_iter().any(|place| place.start >= part.start)
    }
}

#[cfg(test)]
mod tests;
