//! The degree to which a text is kept from the eyes of people by its letters: look-alikes, ornaments, what stands between or
//! over them, codes for them.
//!
//! It knows no layers and no rules: the caller says what follows from a disguise.

use std::ops::Range;

use crate::model::head;
use crate::text::bytes::next;
use crate::text::characters::is_invisible;

/// The degree to which a text is kept from the eyes of people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Disguise {
    /// Anyone can read it.
    None,
    /// Encoded as honest data is too, or with an odd letter or two.
    Slight,
    /// Encoded as no one writes who wants people to read it.
    Thorough,
}

/// Returns how well the letters of a raw text disguise it: look-alikes, ornaments, what stands between or over them, codes.
pub(super) fn disguise_of(raw: &str) -> Disguise {
    if raw.is_ascii() {
        return if escaped_letters(raw) >= MIN_ODD && 8 * escaped_letters(raw) >= raw.len() {
            Disguise::Thorough
        } else {
            Disguise::None
        };
    }
    let letters = raw.chars().filter(char::is_ascii_alphabetic).count();
    let marks = raw.chars().filter(|c| matches!(c, '\u{300}'..='\u{36f}')).count();
    if words(raw).any(|(_, word)| is_mixed(word))
        || !ornaments(raw).is_empty()
        || splits(raw) >= MIN_SPLITS
        || marks >= MIN_ODD && 2 * marks >= letters
    {
        Disguise::Thorough
    } else if raw
        .chars()
        .any(|c| is_invisible(c) || matches!(c, '\u{17f}' | '\u{212a}'))
    {
        Disguise::Slight
    } else {
        Disguise::None
    }
}

/// Fewer odd letters than this may be there for a reason.
const MIN_ODD: usize = 6;

/// The same for invisible characters inside words.
const MIN_SPLITS: usize = 3;

/// Returns how many ASCII letters are written as codes: `\u0041`, `\x41`, `%41`, `&#65;`, `&#x41;`.
fn escaped_letters(raw: &str) -> usize {
    if next(raw.as_bytes(), 0, |byte| matches!(byte, b'%' | b'\\' | b'&')).is_none() {
        return 0;
    }
    /// Bytes of a code with all its zeros.
    const MAX_CODE: usize = 32;
    let letter = |code: Result<u32, std::num::ParseIntError>| {
        code.ok()
            .and_then(char::from_u32)
            .is_some_and(|c| c.is_ascii_alphabetic())
    };
    let is_letter = |(start, mark): (usize, &str)| {
        let rest = raw.get(start + mark.len()..).unwrap_or_default();
        let hex = |digits: usize| letter(u32::from_str_radix(rest.get(..digits).unwrap_or_default(), 16));
        match mark {
            "%" | "\\x" => hex(2),
            "\\u" => hex(4),
            _ => {
                let near = head(rest, MAX_CODE);
                let code = near.split_once(';').map_or("", |(code, _)| code);
                match code.strip_prefix(['x', 'X']) {
                    Some(code) => letter(u32::from_str_radix(code, 16)),
                    None => letter(code.parse()),
                }
            }
        }
    };
    ["%", "\\x", "\\u", "&#"]
        .into_iter()
        .map(|mark| raw.match_indices(mark).filter(|at| is_letter(*at)).count())
        .sum()
}

/// Counts how often something invisible stands between two letters of a word; hyphenation marks are honest.
fn splits(raw: &str) -> usize {
    let mut count = 0;
    let mut before = ' ';
    let mut pending = false;
    for c in raw.chars() {
        if c != '\u{ad}' && is_invisible(c) {
            pending = true;
            continue;
        }
        count += usize::from(pending && before.is_ascii_alphabetic() && c.is_ascii_alphabetic());
        pending = false;
        before = c;
    }
    count
}

/// The words of a text that are not plain ASCII.
pub(super) fn words(text: &str) -> impl Iterator<Item = (Range<usize>, &str)> {
    let mut at = 0;
    text.split_inclusive(|c: char| !c.is_alphabetic())
        .filter_map(move |piece| {
            let start = at;
            at += piece.len();
            let word = piece.trim_end_matches(|c: char| !c.is_alphabetic());
            (!word.is_ascii()).then_some((start..start + word.len(), word))
        })
}

/// Returns `true` if a word holds Latin letters and look-alikes, and reads as Latin.
pub(super) fn is_mixed(word: &str) -> bool {
    let letters = word.chars().count();
    let latin = word.chars().filter(char::is_ascii_alphabetic).count();
    let alien = word.chars().filter(|c| is_look_alike_script(*c)).count();
    if letters < 4 || latin == 0 || alien == 0 || latin + alien < letters {
        return false;
    }
    // Scientists put one Greek letter at the edge of a name.
    let inner: Vec<char> = word.chars().skip(1).take(letters.saturating_sub(2)).collect();
    let greek_edge = alien <= 2
        && !inner.iter().any(|c| is_look_alike_script(*c))
        && word.chars().any(|c| matches!(c, '\u{370}'..='\u{3ff}'));
    !greek_edge && crate::text::views::fold_pattern(word).is_ascii()
}

/// Runs of ornamental letters that are long enough for a word.
pub(super) fn ornaments(text: &str) -> Vec<Range<usize>> {
    let mut spans: Vec<Range<usize>> = Vec::new();
    let (mut start, mut count, mut end, mut wide) = (0usize, 0usize, 0usize, 0usize);
    for (at, c) in text.char_indices().chain([(text.len(), '\n')]) {
        match ornament(c) {
            Some(kind) => {
                if count == 0 {
                    start = at;
                    wide = 0;
                }
                count += 1;
                wide += usize::from(kind == 3);
                end = at + c.len_utf8();
            }
            // Spaces between words of the same ornament.
            None if count > 0 && matches!(c, ' ' | '\u{3000}') => {}
            None => {
                // Full-width letters belong to East Asian typography: only a longer run is odd.
                if count >= 5 && (wide == 0 || wide >= 10) {
                    spans.push(start..end);
                }
                count = 0;
            }
        }
    }
    spans
}

/// Returns `true` for letters of scripts in which many look like Latin ones.
const fn is_look_alike_script(c: char) -> bool {
    matches!(c, '\u{370}'..='\u{52f}' | '\u{531}'..='\u{58f}' | '\u{13a0}'..='\u{13ff}' | '\u{a4d0}'..='\u{a4ff}')
}

/// The kind of ornamental letter.
const fn ornament(c: char) -> Option<u8> {
    match c {
        '\u{1d400}'..='\u{1d7cb}' | '\u{210a}'..='\u{2134}' => Some(0),
        '\u{24b6}'..='\u{24e9}' | '\u{1f110}'..='\u{1f189}' => Some(1),
        'ᴀ' | 'ʙ' | 'ᴄ' | 'ᴅ' | 'ᴇ' | 'ꜰ' | 'ɢ' | 'ʜ' | 'ɪ' | 'ᴊ' | 'ᴋ' | 'ʟ' | 'ᴍ' | 'ɴ' | 'ᴏ' | 'ᴘ' | 'ʀ' | 'ꜱ'
        | 'ᴛ' | 'ᴜ' | 'ᴠ' | 'ᴡ' | 'ʏ' | 'ᴢ' => Some(2),
        '\u{ff21}'..='\u{ff3a}' | '\u{ff41}'..='\u{ff5a}' => Some(3),
        _ => None,
    }
}
