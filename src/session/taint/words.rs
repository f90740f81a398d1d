//! Words of a text, and shingles: fingerprints of a few words in a row, by which longer passages are recognised whatever
//! became of case, spacing and punctuation.

use std::ops::Range;

use super::hash::{Hasher, mixed};

/// Words of a shingle.
pub(super) const WORDS: usize = 5;
/// Of so many shingles in a row one is remembered, the least: a passage of `WORDS + WINDOW - 1` words is always recognised.
const WINDOW: usize = 6;
/// The tag of words.
const TAG: u8 = b'w';

/// One word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) hash: u64,
}

/// The words of a text, small letters. A character of a script that puts no spaces between words is a word.
pub(super) fn words(text: &str) -> impl Iterator<Item = Word> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        let first = loop {
            at += run(bytes, at, |byte| byte.is_ascii() && !byte.is_ascii_alphanumeric()).len();
            let c = char_at(text, at)?;
            if is_letter(c) {
                break c;
            }
            at += c.len_utf8();
        };
        let mut hasher = Hasher::new(TAG);
        hasher.letter(first);
        let start = at;
        at += first.len_utf8();
        if !stands_alone(first) {
            loop {
                let letters = run(bytes, at, |byte| byte.is_ascii_alphanumeric());
                letters.iter().for_each(|byte| hasher.byte(byte.to_ascii_lowercase()));
                at += letters.len();
                let Some(c) = char_at(text, at).filter(|c| !c.is_ascii()) else {
                    break;
                };
                if is_letter(c) && !stands_alone(c) {
                    hasher.letter(c);
                } else if !is_invisible(c) {
                    break;
                }
                at += c.len_utf8();
            }
        }
        Some(Word {
            start,
            end: at,
            hash: hasher.finish(),
        })
    })
}

/// The bytes from here on that are all of this kind.
#[inline]
fn run(bytes: &[u8], at: usize, is_one: impl Fn(u8) -> bool) -> &[u8] {
    let rest = bytes.get(at..).unwrap_or_default();
    let length = rest.iter().position(|byte| !is_one(*byte)).unwrap_or(rest.len());
    rest.get(..length).unwrap_or_default()
}

/// The character that begins at a byte; of ASCII, as most are, without decoding.
#[inline]
fn char_at(text: &str, at: usize) -> Option<char> {
    let byte = *text.as_bytes().get(at)?;
    match byte.is_ascii() {
        true => Some(char::from(byte)),
        false => text.get(at..)?.chars().next(),
    }
}

/// The fingerprint of one word.
pub(super) fn word(text: &str) -> u64 {
    let mut hasher = Hasher::new(TAG);
    text.chars().for_each(|c| hasher.letter(c));
    hasher.finish()
}

/// What a word has in common with its other forms: `reserve`, `reserves`, `reserved`, `reservation`.
pub(super) fn stem(word: &str) -> &str {
    const ENDINGS: &[&str] = &[
        "ations", "ation", "ings", "ing", "ies", "ied", "ed", "es", "s", "e", "y",
    ];
    ENDINGS
        .iter()
        .find_map(|ending| word.strip_suffix(ending).filter(|rest| rest.len() >= 3))
        .unwrap_or(word)
}

/// The shingles of a text with the bytes that each covers.
pub(super) fn shingles(text: &str) -> impl Iterator<Item = (Range<usize>, u64)> {
    const FACTOR: u64 = 0x0000_0100_0000_01b3;
    const OLDEST: u64 = FACTOR.wrapping_pow(WORDS as u32 - 1);
    let mut last = [(0_usize, 0_u64); WORDS];
    let mut sum = 0_u64;
    let mut seen = 0_usize;
    words(text).filter_map(move |word| {
        let slot = last.get_mut(seen % WORDS)?;
        let (_, oldest) = *slot;
        *slot = (word.start, word.hash);
        sum = sum
            .wrapping_sub(oldest.wrapping_mul(OLDEST))
            .wrapping_mul(FACTOR)
            .wrapping_add(word.hash);
        seen += 1;
        let (start, _) = *last.get(seen % WORDS)?;
        (seen >= WORDS).then_some((start..word.end, mixed(sum)))
    })
}

/// The shingles that are remembered of a text: of each window the least.
pub(super) fn chosen(text: &str) -> Vec<u64> {
    let all: Vec<u64> = shingles(text).map(|(_, hash)| hash).collect();
    let mut chosen: Vec<u64> = Vec::new();
    if all.len() < WINDOW {
        chosen.extend(all.iter().min());
    }
    for window in all.windows(WINDOW) {
        let least = window.iter().min().copied();
        if chosen.last().copied() != least {
            chosen.extend(least);
        }
    }
    chosen
}

/// The words of a text with single spaces between them and around, for comparison of short phrases.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push(' ');
    for word in words(text) {
        let word = text.get(word.start..word.end).unwrap_or_default();
        out.extend(word.chars().filter(|c| !is_invisible(*c)).flat_map(char::to_lowercase));
        out.push(' ');
    }
    out
}

fn is_letter(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_alphanumeric()
    } else {
        c.is_alphanumeric()
    }
}

/// Han, kana, Thai and the like: no spaces between words.
fn stands_alone(c: char) -> bool {
    !c.is_ascii() && matches!(u32::from(c), 0x0e00..=0x0eff | 0x2e80..=0x9fff | 0xf900..=0xfaff | 0x20000..=0x3ffff)
}

/// Characters that nobody sees.
pub(super) fn is_invisible(c: char) -> bool {
    !c.is_ascii()
        && matches!(u32::from(c), 0xad | 0x200b..=0x200f | 0x202a..=0x202e | 0x2060..=0x2064 | 0xfe00..=0xfe0f | 0xfeff | 0xe0000..=0xe01ef)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_alike_whatever_their_case_and_joints() {
        let hashes = |text: &str| words(text).map(|word| word.hash).collect::<Vec<_>>();
        assert_eq!(hashes("Send the REPORT, now!"), hashes("send\nthe  report -- now"));
        assert_eq!(hashes("re\u{200b}port"), hashes("report"));
        assert_eq!(hashes("密码是"), [word("密"), word("码"), word("是")]);
        assert_eq!(plain(" The\tBIG, fish. "), " the big fish ");
        assert_eq!(plain("!?"), " ");
    }

    #[test]
    fn a_long_enough_passage_is_recognised_wherever_it_stands() {
        let passage = "the blue folder under the stairs holds the spare key to the old garden shed";
        let text =
            format!("Something else entirely comes first here. {passage} and then it goes on with other matters");
        let remembered = chosen(&text);
        let met = shingles(&passage.to_uppercase())
            .filter(|(_, hash)| remembered.contains(hash))
            .count();
        assert!(met >= 1);
        assert!(
            !shingles("nothing of this was ever said in that text before").any(|(_, hash)| remembered.contains(&hash))
        );
    }

    #[test]
    fn forms_of_a_word_have_one_stem() {
        for forms in [
            &["reserve", "reserved", "reservation", "reserving"][..],
            &["copy", "copies", "copied"],
            &["file", "files"],
        ] {
            assert!(forms.iter().all(|form| stem(form) == stem(forms[0])), "{forms:?}");
        }
        assert_eq!(stem("bed"), "bed");
    }

    #[test]
    fn a_shingle_covers_its_words() {
        let text = "one two three four five six";
        let spans: Vec<&str> = shingles(text).map(|(span, _)| &text[span]).collect();
        assert_eq!(spans, ["one two three four five", "two three four five six"]);
    }
}
