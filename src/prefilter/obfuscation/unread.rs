//! Blocks in encodings and ciphers that are not read here: they are told, so that a judge looks at them.
//!
//! Not read are other bases than 16 and 64, compressed bytes, Morse code, spelling alphabets, listings of bytes, and ciphers
//! other than a shift of letters by half the alphabet. A block is told where the text names such an encoding, where it is a row of dots and dashes or a listing of
//! bytes, or where words of instructions stand in it backwards or mirrored.

use crate::prefilter::words::obfuscation_unread::{ENCIPHERED, FORMS, NAMES};
use std::ops::Range;

use crate::prefilter::{KeywordHit, ViewText, Word};

/// The keywords that [`unread`] asks for.
pub(super) fn words() -> impl Iterator<Item = Word> {
    let words = NAMES.iter().chain(ENCIPHERED.iter()).chain(FORMS.iter());
    words.map(|word| Word::any_case(*word))
}

/// Returns the place of such a block in a text; its keywords are the last of the family's, from `first` on.
pub(super) fn unread<S: Iterator<Item = KeywordHit>>(
    view: &ViewText<'_>,
    hits: impl Fn() -> S,
    first: usize,
) -> Option<Range<usize>> {
    let text = view.text();
    let places = || hits().filter_map(|seen| Some((seen.word.checked_sub(first)?, seen.span)));
    let forms = NAMES.len() + ENCIPHERED.len();
    let mut enciphered = places().filter(|(word, _)| (NAMES.len()..forms).contains(word));
    if let Some((word, span)) = enciphered.next()
        && let Some((_, last)) = enciphered.find(|(other, _)| *other != word)
    {
        return Some(span.start.min(last.start)..span.end.max(last.end));
    }
    let is_named = places().any(|(word, _)| word < NAMES.len());
    let has_form = || places().any(|(word, _)| word >= forms);
    let named = is_named.then(|| dense_run(text)).flatten();
    named.or_else(|| {
        has_form()
            .then(|| dots_and_dashes(text).or_else(|| listing(text)))
            .flatten()
    })
}

/// The first run without white space that mixes letters with digits or signs, as encoded bytes do.
fn dense_run(text: &str) -> Option<Range<usize>> {
    const MIN_LEN: usize = 16;
    let mut start = 0;
    text.split(char::is_whitespace).find_map(|run| {
        let place = start..start + run.len();
        start = place.end + text.get(place.end..)?.chars().next().map_or(0, char::len_utf8);
        let count = |is: fn(&u8) -> bool| run.bytes().filter(is).count();
        let (capitals, small) = (count(u8::is_ascii_uppercase), count(u8::is_ascii_lowercase));
        let others = count(u8::is_ascii_digit) + count(u8::is_ascii_punctuation);
        let is_mixed = capitals >= 3 && small >= 3 && others >= 2;
        (run.len() >= MIN_LEN && is_mixed && !run.contains("://")).then_some(place)
    })
}

/// The first row of Morse signs.
fn dots_and_dashes(text: &str) -> Option<Range<usize>> {
    const MIN: usize = 10;
    let is_sign = |word: &str| word.len() <= 6 && word.bytes().all(|byte| matches!(byte, b'.' | b'-'));
    let is_morse = |c: char| matches!(c, '.' | '-' | ' ' | '/' | '\n');
    let mut start = 0;
    text.split_inclusive(|c: char| !is_morse(c)).find_map(|row| {
        let place = start..start + row.len();
        start = place.end;
        let words = row.split([' ', '/', '\n']).filter(|word| !word.is_empty());
        (words.filter(|word| is_sign(word)).count() >= MIN && row.contains('-')).then_some(place)
    })
}

/// The first listing of bytes, as `xxd` and `hexdump` write them: lines that begin with a place and go on with groups of
/// hexadecimal digits.
fn listing(text: &str) -> Option<Range<usize>> {
    const MIN_LINES: usize = 2;
    let (mut lines, mut begin, mut end) = (0, 0, 0);
    for line in text.split_inclusive('\n') {
        let place = end..end + line.len();
        end = place.end;
        if is_listed(line.trim_start_matches(['>', ' ', '\t'])) {
            begin = if lines == 0 { place.start } else { begin };
            lines += 1;
        } else if lines >= MIN_LINES {
            return Some(begin..place.start);
        } else {
            lines = 0;
        }
    }
    (lines >= MIN_LINES).then_some(begin..end)
}

fn is_listed(line: &str) -> bool {
    const MIN_GROUPS: usize = 4;
    let is_hex = |word: &str| word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut words = line.split_whitespace();
    let place = words.next().unwrap_or_default().trim_end_matches(':');
    let groups = words.take_while(|word| matches!(word.len(), 2 | 4) && is_hex(word));
    (7..=16).contains(&place.len()) && is_hex(place) && groups.count() >= MIN_GROUPS
}
