//! Letters that stand in for Latin ones, read as those, in their own case: look-alikes of other scripts inside words that
//! are Latin otherwise, whole words of ornamental letters, letters under heaps of marks or with strangers between them,
//! and letters that stand on their heads.
//!
//! Folding does much of this for comparing; this is for rules that need the case, and for what is too far-fetched to be
//! folded in honest text.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::fold::latin;
use super::look_alikes::{ornamental, reminding};
use super::normalize::is_stuffable_mark;
use super::span_map::{Derived, Writer};

/// So many words of other scripts are tried before a text is taken for one of them.
const TRIED: usize = 32;

/// The text with its look-alikes replaced, given how it was received; `None` when there is nothing to replace.
///
/// Words that hold Latin letters are read in any text; those of other letters alone, only where most of them read as Latin.
pub(super) fn plain(text: &str, received: &str, room: usize) -> Option<Derived> {
    let heaped = is_heaped(received);
    let is_foreign = reads_as_latin(text, heaped);
    let mut writer = Writer::new(room);
    let mut written = 0;
    for (start, word) in beyond_ascii(text) {
        if (is_foreign || is_partly_latin(word))
            && let Some(plain) = read(word, heaped, Reading::Lenient)
        {
            replace(text, start, word, &plain, &mut written, &mut writer);
        }
        if writer.is_full() {
            break;
        }
    }
    if written == 0 {
        return None;
    }
    writer.copy(written, text.get(written..).unwrap_or_default());
    Some(writer.finish(text.len()))
}

/// The words that are not plain ASCII, with their places.
fn beyond_ascii(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    let words = text.split_inclusive(char::is_whitespace).map(move |piece| {
        let start = at;
        at += piece.len();
        (start, piece.trim_end_matches(char::is_whitespace))
    });
    words.filter(|(_, word)| !word.is_ascii())
}

fn is_partly_latin(word: &str) -> bool {
    word.bytes().any(|byte| byte.is_ascii_alphanumeric())
}

/// Whether most words without a Latin letter read as Latin ones; a text of another script says so soon.
fn reads_as_latin(text: &str, heaped: bool) -> bool {
    let (mut tried, mut fitting, mut fetched) = (0usize, 0usize, 0usize);
    for (_, word) in beyond_ascii(text).filter(|(_, word)| !is_partly_latin(word)) {
        if tried >= TRIED && fetched * 2 < tried {
            return false;
        }
        let letters = word.chars().filter(|c| !c.is_ascii()).count();
        let is_strict = read(word, heaped, Reading::Strict).is_some();
        let is_lenient = is_strict || read(word, heaped, Reading::Lenient).is_some();
        tried += letters;
        fitting += if is_strict { letters } else { 0 };
        fetched += if is_lenient { letters } else { 0 };
    }
    tried > 0 && fitting * 5 >= tried * 2 && fetched * 3 >= tried * 2
}

/// Writes a word with other characters in place of its own, after everything that stands before it.
fn replace(text: &str, start: usize, word: &str, plain: &[Option<char>], written: &mut usize, writer: &mut Writer) {
    for ((offset, c), plain) in word.char_indices().zip(plain) {
        if *plain == Some(c) {
            continue;
        }
        let from = start + offset;
        writer.copy(*written, text.get(*written..from).unwrap_or_default());
        *written = from + c.len_utf8();
        if let Some(plain) = plain {
            writer.put(from..*written, plain.encode_utf8(&mut [0; 4]));
        }
    }
}

/// Which look-alikes are taken for letters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// Those that deceive the eye.
    Strict,
    /// Those as well that only remind of a letter.
    Lenient,
}

/// For each character of a word the one that it stands for, or nothing for a stranger between letters; `None` when one of
/// them stands for nothing Latin, or nothing would change.
fn read(word: &str, heaped: bool, reading: Reading) -> Option<Vec<Option<char>>> {
    let mut plain = Vec::with_capacity(word.len());
    let mut changes = false;
    let mut before: Option<char> = None;
    // Strangers may stand in long rows: what comes behind a row is looked for once.
    let mut others = word.char_indices().filter(|(_, c)| !is_stranger(*c)).peekable();
    for (at, c) in word.char_indices() {
        while others.next_if(|(other, _)| *other <= at).is_some() {}
        let after = others.peek().map(|(_, c)| *c);
        let is_between = |before: Option<char>| {
            before.is_some_and(|c| c.is_ascii_alphanumeric())
                && (is_combining_mark(c) || after.is_some_and(|c| c.is_ascii_alphanumeric()))
        };
        let stands_for = if c.is_ascii() {
            Some(c)
        } else if is_stranger(c) {
            Some(c).filter(|_| !is_between(before))
        } else {
            let marked = || heaped.then(|| bare(c)).flatten();
            let fetched = || (reading == Reading::Lenient).then(|| reminding(c)).flatten();
            let letter = ornamental(c).or_else(|| latin(c)).or_else(marked).or_else(fetched)?;
            Some(letter)
        };
        changes |= stands_for != Some(c) && !is_typographic(c);
        before = stands_for.or(before);
        plain.push(stands_for);
    }
    changes.then_some(plain)
}

/// Whether a character is set for its beauty in honest text: curly quotes, long dashes, signs of multiplication.
const fn is_typographic(c: char) -> bool {
    matches!(
        c,
        '\u{2010}'
            ..='\u{201f}' | '×' | '´' | 'ʼ' | 'ʹ' | '′' | '″' | '«' | '»' | '‹' | '›' | '−' | '¢' | '§' | 'µ'
    )
}

/// Whether so many letters carry marks that no language writes them.
fn is_heaped(text: &str) -> bool {
    const MIN: usize = 6;
    let (mut marked, mut letters) = (0usize, 0usize);
    for c in text.chars() {
        if c.is_ascii_alphabetic() {
            letters += 1;
        } else if matches!(c, '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}') {
            letters += 1;
            marked += 1;
        } else if is_stuffable_mark(c) {
            marked += 1;
        }
    }
    marked >= MIN && marked * 2 >= letters
}

/// A letter without its marks.
fn bare(c: char) -> Option<char> {
    let mut parts = std::iter::once(c).nfd();
    let letter = parts.next().filter(char::is_ascii_alphabetic)?;
    parts.all(is_stuffable_mark).then_some(letter)
}

/// Whether a character is none that honest text puts between two Latin letters: a mark of another script, a pictogram, a
/// sign of private use, a filler, a replacement of something that was lost.
fn is_stranger(c: char) -> bool {
    match c {
        '\0'..='\u{7f}' => false,
        '\u{80}'..='\u{9f}' | '\u{e000}'..='\u{f8ff}' | '\u{fff0}'..='\u{fffd}' | '\u{fdd0}'..='\u{fdef}' => true,
        '\u{600}'..='\u{605}'
        | '\u{6dd}'
        | '\u{70f}'
        | '\u{890}'
        | '\u{891}'
        | '\u{8e2}'
        | '\u{110bd}'
        | '\u{110cd}' => true,
        '\u{13430}'..='\u{1343f}' | '\u{1d159}' | '\u{16fe4}' | '\u{2800}' | '\u{1160}'..='\u{11ff}' => true,
        '\u{2600}'..='\u{27bf}' | '\u{2b00}'..='\u{2bff}' | '\u{1f300}'..='\u{1faff}' => true,
        '\u{f0000}'..='\u{10ffff}' => true,
        c => is_combining_mark(c),
    }
}

#[cfg(test)]
mod tests;
