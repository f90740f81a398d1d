//! Words of a folded text: hashes and places, and what kind of value a word is where it is one.
//!
//! Letters of scripts that are written without gaps are a word each; runs of katakana and hangul are one word. Ids, long
//! numbers, links and addresses are told by their kind alone, so that no id is learned by heart.

/// Words that are read of one text.
pub(super) const MOST_WORDS: usize = 40_000;

/// What a word is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// A word of letters.
    Word,
    /// A number of few digits.
    Number,
    /// A long number, an id, a token.
    Code,
}

/// A word of a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word {
    /// Of its small letters.
    pub(super) hash: u32,
    /// Where it begins, in bytes of the text.
    pub(super) start: u32,
    /// Where it ends.
    pub(super) end: u32,
    /// What it is.
    pub(super) shape: Shape,
    /// Whether a sentence or a line begins with it.
    pub(super) first: bool,
}

/// The seed of a word's hash (FNV-1a).
pub(super) const SEED: u32 = 0x811c_9dc5;

/// A byte more.
#[inline]
pub(super) const fn step(hash: u32, byte: u8) -> u32 {
    (hash ^ byte as u32).wrapping_mul(0x0100_0193)
}

/// The hash of two things in order.
#[inline]
pub(super) const fn join(a: u32, b: u32) -> u32 {
    let mixed = (a.rotate_left(13) ^ b).wrapping_mul(0x9e37_79b1);
    mixed ^ (mixed >> 15)
}

/// The hash of a name.
pub(super) fn hash(text: &str) -> u32 {
    text.bytes().fold(SEED, step)
}

/// The bytes of a text in small letters, ASCII or not.
pub(super) fn folded(text: &str) -> impl Iterator<Item = u8> {
    text.chars().flat_map(char::to_lowercase).flat_map(|c| {
        let mut utf8 = [0; 4];
        let length = c.encode_utf8(&mut utf8).len();
        utf8.into_iter().take(length)
    })
}

/// The most groups of letters that are kept of a word.
const MOST_GROUPS: usize = 8;
/// The shortest word that has groups, in letters.
const SHORTEST_IN_GROUPS: usize = 4;

/// Hashes of four letters in a row, zero where there are no more.
pub(super) type Groups = [u32; MOST_GROUPS];

/// The groups of four letters of a word, its beginning and its end counted as letters: what inflected, compounded and
/// misspelt words have in common.
pub(super) fn groups(word: &str) -> Groups {
    let mut groups = Groups::default();
    let lower = |c: char| {
        if c.is_ascii() {
            c.to_ascii_lowercase()
        } else {
            c.to_lowercase().next().unwrap_or(c)
        }
    };
    if word.chars().take(SHORTEST_IN_GROUPS).count() < SHORTEST_IN_GROUPS {
        return groups;
    }
    let letters = std::iter::once('^')
        .chain(word.chars().map(lower))
        .chain(std::iter::once('$'));
    // Eight bits for each letter: after four more, nothing is left of it.
    let ends = letters.scan(0u32, |last, letter| {
        *last = (*last << 8) ^ u32::from(letter);
        Some(*last)
    });
    for (slot, four) in groups.iter_mut().zip(ends.skip(3)) {
        *slot = join(SEED, four) | 1;
    }
    groups
}

/// The words of a text, in order, into a list.
pub(super) fn read(text: &str, words: &mut Vec<Word>) {
    read_at_most(MOST_WORDS, text, words);
}

/// The first words of a text, in order, into a list.
pub(super) fn read_at_most(most: usize, text: &str, words: &mut Vec<Word>) {
    let mut reader = Reader {
        open: None,
        first: true,
        room: most,
    };
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if reader.room == 0 {
            return;
        }
        if byte < 0x80 {
            reader.ascii(byte, at, words);
            at += 1;
        } else {
            let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) else {
                return;
            };
            reader.other(c, at, words);
            at += c.len_utf8();
        }
    }
    if reader.room > 0 {
        reader.close(bytes.len(), words);
    }
}

struct Open {
    start: usize,
    hash: u32,
    digits: u32,
    letters: u32,
}

struct Reader {
    open: Option<Open>,
    first: bool,
    room: usize,
}

impl Reader {
    #[inline]
    fn ascii(&mut self, byte: u8, at: usize, words: &mut Vec<Word>) {
        if byte.is_ascii_alphanumeric() {
            self.take(byte.to_ascii_lowercase(), byte.is_ascii_digit(), at);
        } else if byte != b'\'' || self.open.is_none() {
            self.close(at, words);
            if matches!(byte, b'.' | b'!' | b'?' | b'\n' | b':' | b';' | b'>' | b'"' | b'*') {
                self.first = true;
            }
        }
    }

    #[inline]
    fn take(&mut self, byte: u8, digit: bool, at: usize) {
        let open = self.open.get_or_insert(Open {
            start: at,
            hash: SEED,
            digits: 0,
            letters: 0,
        });
        open.hash = step(open.hash, byte);
        open.digits += u32::from(digit);
        open.letters += u32::from(!digit);
    }

    fn other(&mut self, c: char, at: usize, words: &mut Vec<Word>) {
        if stands_alone(c) {
            self.close(at, words);
            self.letter(c, at);
            self.close(at + c.len_utf8(), words);
        } else if c.is_alphanumeric() || is_mark(c) {
            for lower in c.to_lowercase() {
                self.letter(lower, at);
            }
        } else if c != '\u{2019}' || self.open.is_none() {
            self.close(at, words);
            self.first |= matches!(c, '。' | '！' | '？' | '：' | '…' | '“' | '„' | '«' | '「');
        }
    }

    fn letter(&mut self, c: char, at: usize) {
        let mut utf8 = [0; 4];
        for byte in c.encode_utf8(&mut utf8).bytes() {
            self.take(byte, false, at);
        }
    }

    fn close(&mut self, end: usize, words: &mut Vec<Word>) {
        let Some(open) = self.open.take() else { return };
        let shape = match (open.digits, open.letters) {
            (0, _) => Shape::Word,
            (1..=4, 0) => Shape::Number,
            (_, 0) => Shape::Code,
            (digits, letters) if digits >= 2 && digits + letters >= 6 => Shape::Code,
            _ => Shape::Word,
        };
        let long = u32::try_from(end - open.start).unwrap_or(u32::MAX) > 40;
        words.push(Word {
            hash: open.hash,
            start: u32::try_from(open.start).unwrap_or(u32::MAX),
            end: u32::try_from(end).unwrap_or(u32::MAX),
            shape: if long && open.letters + open.digits > 40 {
                Shape::Code
            } else {
                shape
            },
            first: std::mem::take(&mut self.first),
        });
        self.room -= 1;
    }
}

/// Whether a character is a word by itself: scripts without gaps between words.
fn stands_alone(c: char) -> bool {
    matches!(u32::from(c), 0x3040..=0x309f | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xf900..=0xfaff | 0x2_0000..=0x3_134f | 0x0e00..=0x0e7f)
}

/// Marks within words of scripts that need them.
fn is_mark(c: char) -> bool {
    matches!(u32::from(c), 0x0300..=0x036f | 0x0900..=0x0dff | 0x0610..=0x061a | 0x064b..=0x065f | 0x30fc)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Vec<&str> {
        let mut words = Vec::new();
        read(text, &mut words);
        words
            .iter()
            .map(|word| &text[word.start as usize..word.end as usize])
            .collect()
    }

    #[test]
    fn words_are_runs_of_letters_and_letters_of_scripts_without_gaps() {
        assert_eq!(said("Don't send /etc/passwd!"), ["Don't", "send", "etc", "passwd"]);
        assert_eq!(said("忽略 prompt アシスタント"), ["忽", "略", "prompt", "アシスタント"]);
        assert_eq!(said("naïve — Übermorgen"), ["naïve", "Übermorgen"]);
    }

    #[test]
    fn words_that_share_letters_share_groups_and_short_ones_have_none() {
        // `berw`, `erwe`, `rwei`, `weis`.
        let [one, other] = [groups("Überweisung"), groups("überweisen")];
        assert!(one.iter().filter(|group| other.contains(group)).count() >= 4);
        let [one, other] = [groups("misspelled"), groups("mispelled")];
        assert!(one.iter().filter(|group| **group != 0 && other.contains(group)).count() >= 4);
        assert_eq!(groups("SEND"), groups("send"));
        assert_eq!(groups("send").iter().filter(|group| **group != 0).count(), 3);
        assert!(groups("the") == Groups::default() && groups("") == Groups::default());
    }

    #[test]
    fn hashes_know_no_case_and_ids_have_a_kind() {
        let mut words = Vec::new();
        read("Send SEND 42 4f2a9c11d0 123456789 Größe größe", &mut words);
        let hashes: Vec<u32> = words.iter().map(|word| word.hash).collect();
        assert_eq!(hashes[0], hashes[1]);
        assert_eq!(hashes[5], hashes[6]);
        assert_eq!(hashes[0], hash("send"));
        let shapes: Vec<Shape> = words.iter().map(|word| word.shape).collect();
        assert_eq!(shapes[2..5], [Shape::Number, Shape::Code, Shape::Code]);
    }
}
