//! The escaping of untrusted text: it is shown as it is, except for what a reader could not see or what could pass for our own marks.
//!
//! - A character that cannot be seen (control, zero-width, direction, filler) is shown as `⟨U+200B⟩`.
//! - Text hidden in tag characters is shown as `⟨hidden:the text⟩`, in variation selectors as `⟨hidden-vs:the text⟩`.
//! - `⟨` and `⟦`, which begin escapes and cut marks, are shown as escapes themselves.
//! - The first character of a text that could open or close a fence, or begin a turn of a conversation in some model's own format, is shown as an
//!   escape: `⟨U+003C⟩/content-`.
//!
//! Everything can be taken back: [`as_written`] of what is shown is the text. This module knows nothing of steps.

mod characters;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, BuildError};

use super::tokens;
use characters::{Carrier, Visibility, is_unseen, visibility};

/// The beginnings of a fence of ours, or of a turn in a model's own format. Compared without regard to ASCII case.
const OPENERS: &[&str] = &[
    "<content-",
    "</content-",
    "<example-",
    "</example-",
    "<data-",
    "</data-",
    "<values-",
    "</values-",
    "<findings-",
    "</findings-",
    "<about-",
    "</about-",
    "<source-",
    "</source-",
    "<call-",
    "</call-",
    "<tools-",
    "</tools-",
    "<request-",
    "</request-",
    "<step-",
    "</step-",
    "<said-",
    "</said-",
    "<|",
    "<\u{ff5c}",
    "<start_of_turn>",
    "<end_of_turn>",
    "[inst]",
    "[/inst]",
    "<<sys>>",
    "<</sys>>",
    "<s>",
    "</s>",
    "<bos>",
    "<eos>",
];

const TAGS: &str = "hidden:";
const SELECTORS: &str = "hidden-vs:";

/// The treatment of line breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lines {
    /// They stay.
    Kept,
    /// They are shown as escapes: the text has to stay on one line.
    Escaped,
}

/// Finds the openers. It is built once: building it takes longer than looking through most steps.
static FINDER: LazyLock<Result<AhoCorasick, BuildError>> =
    LazyLock::new(|| AhoCorasick::builder().ascii_case_insensitive(true).build(OPENERS));

/// Makes texts visible, for one fence.
pub(super) struct Escaper {
    openers: &'static AhoCorasick,
    fence: String,
}

/// A text, with the places at which it could pass for a mark of ours.
pub(super) struct ScannedText<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl Escaper {
    /// Makes an escaper that also escapes the name of this fence.
    pub(super) fn new(fence: &str) -> Result<Self, BuildError> {
        let openers = FINDER.as_ref().map_err(BuildError::clone)?;
        Ok(Self {
            openers,
            fence: fence.to_owned(),
        })
    }

    /// Looks through a text once.
    pub(super) fn scan<'t>(&self, text: &'t str) -> ScannedText<'t> {
        ScannedText {
            text,
            starts: self.starts(text),
        }
    }

    /// Shows the whole text.
    pub(super) fn show(&self, text: &str, lines: Lines) -> String {
        self.show_part(&self.scan(text), 0..text.len(), lines)
    }

    /// Shows a part of a text.
    pub(super) fn show_part(&self, seen: &ScannedText<'_>, part: Range<usize>, lines: Lines) -> String {
        let Some(text) = seen.text.get(part.clone()) else {
            return String::new();
        };
        if seen.starts.is_empty() && is_plain(text, lines) {
            return text.to_owned();
        }
        let mut out = String::with_capacity(text.len() + 16);
        let mut rest = text.char_indices().peekable();
        let mut before = None;
        while let Some((at, c)) = rest.next() {
            let after = rest.peek().map(|(_, c)| *c);
            let shown = if seen.opens_at(part.start + at) {
                Visibility::Escaped
            } else {
                visibility(c, before, after, lines)
            };
            match shown {
                Visibility::Plain => out.push(c),
                Visibility::Escaped => escape(c, &mut out),
                Visibility::Hidden(carrier, first) => {
                    let mut hidden = String::from(first);
                    while let Some((_, next)) = rest.peek() {
                        let Some(letter) = carrier.letter(*next) else { break };
                        hidden.push(letter);
                        rest.next();
                    }
                    self.show_hidden(carrier, &hidden, &mut out);
                }
            }
            before = Some(c);
        }
        out
    }

    /// Shows hidden text, decoded; it must not spell a fence either.
    fn show_hidden(&self, carrier: Carrier, hidden: &str, out: &mut String) {
        let starts = self.starts(hidden);
        let mut open = false;
        for (at, letter) in hidden.char_indices() {
            if starts.binary_search(&at).is_ok() {
                if std::mem::take(&mut open) {
                    out.push('⟩');
                }
                escape(carrier.character(letter), out);
                continue;
            }
            if !std::mem::replace(&mut open, true) {
                out.push('⟨');
                out.push_str(carrier.name());
            }
            out.push(letter);
        }
        if open {
            out.push('⟩');
        }
    }

    fn starts(&self, text: &str) -> Vec<usize> {
        // Overlapping, so that a text in which one opener stands inside another hides neither. Every opener begins with
        // one of two characters, which most texts do not hold.
        let openers = text.bytes().any(|byte| matches!(byte, b'<' | b'['));
        let found = openers.then(|| self.openers.find_overlapping_iter(text));
        let found = found.into_iter().flatten().map(|found| found.start());
        let mut starts: Vec<usize> = found.chain(self.fence_starts(text)).collect();
        starts.sort_unstable();
        starts.dedup();
        starts
    }

    /// Returns the places of the fence's name, in any case.
    fn fence_starts(&self, text: &str) -> impl Iterator<Item = usize> {
        let fence = self.fence.as_bytes();
        let first = fence.first().map_or(0, u8::to_ascii_lowercase);
        let places = text.as_bytes().windows(fence.len().max(1)).enumerate();
        places
            .filter(move |(_, place)| {
                place.first().map(u8::to_ascii_lowercase) == Some(first) && place.eq_ignore_ascii_case(fence)
            })
            .map(|(at, _)| at)
    }
}

impl ScannedText<'_> {
    /// Returns the text itself.
    pub(super) fn text(&self) -> &str {
        self.text
    }

    fn opens_at(&self, at: usize) -> bool {
        self.starts.binary_search(&at).is_ok()
    }

    /// Returns the cost of showing a character, in thousandths of a token; never less than it really costs.
    pub(super) fn price(&self, at: usize, c: char) -> u64 {
        if self.opens_at(at) || is_unseen(c) {
            tokens::ESCAPED
        } else {
            tokens::price(c)
        }
    }

    /// Returns the cost of showing a part of it, in tokens.
    pub(super) fn tokens_of(&self, part: Range<usize>) -> usize {
        let start = part.start;
        let chars = self.text.get(part).unwrap_or_default().char_indices();
        tokens::whole(chars.map(|(at, c)| self.price(start + at, c)).sum())
    }

    /// Returns the cost of showing all of it, in tokens.
    pub(super) fn tokens(&self) -> usize {
        if self.starts.is_empty() && is_plain(self.text, Lines::Kept) {
            return tokens::estimate(self.text);
        }
        tokens::whole(self.text.char_indices().map(|(at, c)| self.price(at, c)).sum())
    }
}

/// Takes escapes back: returns the text of a content for what a judge quotes of it.
pub fn as_written(shown: &str) -> Cow<'_, str> {
    if !shown.contains('⟨') {
        return Cow::Borrowed(shown);
    }
    let mut out = String::with_capacity(shown.len());
    let mut rest = shown;
    while let Some((plain, from)) = rest.find('⟨').and_then(|at| rest.split_at_checked(at)) {
        out.push_str(plain);
        let after = from.strip_prefix('⟨').unwrap_or_default();
        rest = match after.split_once('⟩').filter(|(inner, _)| take_back(inner, &mut out)) {
            Some((_, rest)) => rest,
            None => {
                out.push('⟨');
                after
            }
        };
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Takes one escape back; returns `false`, with nothing written, when it is none.
fn take_back(inner: &str, out: &mut String) -> bool {
    if let Some(digits) = inner.strip_prefix("U+") {
        let fits = (4..=6).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit());
        let character = fits
            .then(|| u32::from_str_radix(digits, 16).ok())
            .flatten()
            .and_then(char::from_u32);
        out.extend(character);
        return character.is_some();
    }
    let (carrier, hidden) = if let Some(hidden) = inner.strip_prefix(TAGS) {
        (Carrier::Tags, hidden)
    } else if let Some(hidden) = inner.strip_prefix(SELECTORS) {
        (Carrier::Selectors, hidden)
    } else {
        return false;
    };
    let fits = !hidden.is_empty() && hidden.bytes().all(|b| (0x20..=0x7e).contains(&b));
    if fits {
        out.extend(hidden.chars().map(|letter| carrier.character(letter)));
    }
    fits
}

/// Returns `true` if a text is of characters alone that are shown as they are, wherever they stand. Most texts are, and looking at bytes takes a
/// tenth of the time of looking at characters.
fn is_plain(text: &str, lines: Lines) -> bool {
    let breaks = lines == Lines::Kept;
    let plain = |byte: &u8| matches!(byte, b' '..=b'~') | (breaks & matches!(byte, b'\n' | b'\t'));
    text.as_bytes()
        .chunks(64)
        .all(|part| part.iter().fold(true, |all, byte| all & plain(byte)))
}

fn escape(c: char, out: &mut String) {
    use std::fmt::Write as _;
    // Writing to a string cannot fail.
    let _ = write!(out, "⟨U+{:04X}⟩", u32::from(c));
}

#[cfg(test)]
mod tests;
