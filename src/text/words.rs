//! The words of a text, with fingerprints in which case and invisible characters do not count. Compatibility forms and marks
//! on letters are for [`Normalized`] texts.

use super::characters::is_invisible;
use super::fingerprint::Hasher;
use super::views::Normalized;

/// The tag of words.
const TAG: u8 = b'w';

/// One word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) hash: u64,
}

/// The words of a text, small letters. A character of a script that puts no spaces between words is a word.
pub(crate) fn words(text: &str) -> impl Iterator<Item = Word> {
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
pub(crate) fn word(text: &str) -> u64 {
    let mut hasher = Hasher::new(TAG);
    text.chars().for_each(|c| hasher.letter(c));
    hasher.finish()
}

/// Returns the part that a word shares with its other forms: `reserve`, `reserves`, `reserved`, `reservation`.
pub(crate) fn stem(word: &str) -> &str {
    const ENDINGS: &[&str] = &[
        "ations", "ation", "ings", "ing", "ies", "ied", "ed", "es", "s", "e", "y",
    ];
    ENDINGS
        .iter()
        .find_map(|ending| word.strip_suffix(ending).filter(|rest| rest.len() >= 3))
        .unwrap_or(word)
}

/// The words of a text, normalised, with single spaces between them and around, for comparison of short phrases.
pub(crate) fn plain(text: &str) -> String {
    let normal = Normalized::of(text);
    let text = normal.text();
    let mut out = String::with_capacity(text.len() + 2);
    out.push(' ');
    for word in words(text) {
        let word = text.get(word.start..word.end).unwrap_or_default();
        out.extend(word.chars().filter(|c| !is_invisible(*c)).flat_map(char::to_lowercase));
        out.push(' ');
    }
    out
}

/// Returns `true` for letters and digits; fillers of Hangul count as letters in Unicode, and are invisible.
fn is_letter(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_alphanumeric()
    } else {
        c.is_alphanumeric() && !is_invisible(c)
    }
}

/// Returns `true` for Han, kana, Thai and the like: no spaces between words.
fn stands_alone(c: char) -> bool {
    !c.is_ascii() && matches!(u32::from(c), 0x0e00..=0x0eff | 0x2e80..=0x9fff | 0xf900..=0xfaff | 0x20000..=0x3ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_alike_whatever_their_case_and_joints() {
        let hashes = |text: &str| words(text).map(|word| word.hash).collect::<Vec<_>>();
        assert_eq!(hashes("Send the REPORT, now!"), hashes("send\nthe  report -- now"));
        for c in [
            '\u{200b}',
            '\u{34f}',
            '\u{3164}',
            '\u{115f}',
            '\u{180e}',
            '\u{2065}',
            '\u{1d173}',
        ] {
            assert_eq!(hashes(&format!("{c}re{c}port{c}")), hashes("report"), "{c:?}");
            assert_eq!(plain(&format!("re{c}port")), " report ");
        }
        assert_eq!(hashes("密码是"), [word("密"), word("码"), word("是")]);
        assert_eq!(plain(" The\tBIG, fish. "), " the big fish ");
        assert_eq!(plain("ｒｅｐｏｒｔ 𝐧𝐨𝐰 cafe\u{301}"), " report now café ");
        assert_eq!(plain("!?"), " ");
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
}
