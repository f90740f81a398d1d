//! Words of a folded text: hashes and places, and what kind of value a word is where it is one.
//!
//! Names are taken apart where case changes and at digits (`IgnoreAllRules2`), and runs of letters that the model does not
//! know into words that it knows (`ignoreallrules`): otherwise any text could be written so that no word of it is read.
//! Letters of scripts that are written without gaps are a word each; runs of katakana and hangul are one word. Ids, long
//! numbers, links and addresses are told by their kind alone, so that no id is learned by heart.

use std::collections::HashSet;
use std::ops::Range;

use serde::{Deserialize, Deserializer};

use super::hashes::hash_of;
pub(super) use super::hashes::{Groups, SEED, folded, groups, hash, join, step};
use super::runs::{Class, pieces, split};
use super::vocabulary::Vocabulary;

/// Words that are read of one text.
const MAX_WORDS: usize = 40_000;
/// The longest word, in bytes; a longer one is a token of something else.
const MAX_LEN: u32 = 40;

/// The kind of a word.
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
    /// The hash of its small letters.
    pub(super) hash: u32,
    /// Its beginning, in bytes of the text.
    pub(super) start: u32,
    /// Its end.
    pub(super) end: u32,
    /// Its kind.
    pub(super) shape: Shape,
    /// True if a sentence or a line begins with it.
    pub(super) first: bool,
    /// True if the model knows it.
    pub(super) known: bool,
}

/// Reads the words of a list in a file as their hashes.
pub(super) fn hashes<'de, D: Deserializer<'de>>(words: D) -> Result<HashSet<u32>, D::Error> {
    Ok(String::deserialize(words)?.split_whitespace().map(hash).collect())
}

/// Reads the words of a text, in order, into a list; `ReadTo::End` if all of them found room.
pub(super) fn read(text: &str, vocabulary: &Vocabulary, words: &mut Vec<Word>) -> ReadTo {
    read_at_most(MAX_WORDS, text, vocabulary, words)
}

/// The extent to which a text was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadTo {
    /// To its end.
    End,
    /// To the bound.
    Bound,
}

/// Reads the first words of a text, in order, into a list.
pub(super) fn read_at_most(most: usize, text: &str, vocabulary: &Vocabulary, words: &mut Vec<Word>) -> ReadTo {
    let mut reader = Reader {
        text,
        vocabulary,
        open: None,
        first: true,
        most: words.len() + most,
        words,
    };
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if reader.words.len() >= reader.most {
            return ReadTo::Bound;
        }
        if byte < 0x80 {
            reader.ascii(byte, at);
            at += 1;
        } else {
            let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) else {
                return ReadTo::Bound;
            };
            reader.other(c, at);
            at += c.len_utf8();
        }
    }
    reader.close(bytes.len());
    ReadTo::End
}

/// A run of letters and digits.
struct Open {
    start: usize,
    hash: u32,
    digits: u32,
    letters: u32,
    /// Changes from small to capital letters, and between letters and digits.
    changes: u32,
    last: Class,
}

struct Reader<'t> {
    text: &'t str,
    vocabulary: &'t Vocabulary,
    open: Option<Open>,
    first: bool,
    most: usize,
    words: &'t mut Vec<Word>,
}

impl Reader<'_> {
    #[inline]
    fn ascii(&mut self, byte: u8, at: usize) {
        if byte.is_ascii_alphanumeric() {
            self.take(byte.to_ascii_lowercase(), Class::of(char::from(byte)), at);
        } else if byte != b'\'' || self.open.is_none() {
            self.close(at);
            if matches!(byte, b'.' | b'!' | b'?' | b'\n' | b':' | b';' | b'>' | b'"' | b'*') {
                self.first = true;
            }
        }
    }

    #[inline]
    fn take(&mut self, byte: u8, class: Class, at: usize) {
        let open = self.open.get_or_insert(Open {
            start: at,
            hash: SEED,
            digits: 0,
            letters: 0,
            changes: 0,
            last: class,
        });
        open.hash = step(open.hash, byte);
        open.digits += u32::from(class == Class::Digit);
        open.letters += u32::from(class != Class::Digit);
        open.changes += u32::from(class.begins_after(open.last));
        open.last = class;
    }

    fn other(&mut self, c: char, at: usize) {
        if stands_alone(c) {
            self.close(at);
            self.letter(c, Class::Small, at);
            self.close(at + c.len_utf8());
        } else if c.is_alphanumeric() || is_mark(c) {
            let class = Class::of(c);
            for lower in c.to_lowercase() {
                self.letter(lower, class, at);
            }
        } else if c != '\u{2019}' || self.open.is_none() {
            self.close(at);
            self.first |= matches!(c, '。' | '！' | '？' | '：' | '…' | '“' | '„' | '«' | '「');
        }
    }

    fn letter(&mut self, c: char, class: Class, at: usize) {
        let mut utf8 = [0; 4];
        for byte in c.encode_utf8(&mut utf8).bytes() {
            self.take(byte, class, at);
        }
    }

    fn close(&mut self, end: usize) {
        let Some(open) = self.open.take() else { return };
        // A long run that seems to be known is so by chance.
        let known = end - open.start <= MAX_LEN as usize && self.vocabulary.knows(open.hash);
        if !known && open.changes > 0 && self.take_apart(&open, end) {
            return;
        }
        if !known && open.digits == 0 && self.split(open.start, end) {
            return;
        }
        let shape = match (open.digits, open.letters) {
            // However long: what is no token is an unknown word.
            (0, _) => Shape::Word,
            (1..=4, 0) => Shape::Number,
            (digits, letters) if digits * 2 >= letters && digits + letters >= 6 => match self.may_spell(&open, end) {
                true => Shape::Word,
                false => Shape::Code,
            },
            (_, 0) => Shape::Code,
            _ => Shape::Word,
        };
        self.push(open.hash, open.start..end, shape, known);
    }

    fn push(&mut self, hash: u32, span: Range<usize>, shape: Shape, known: bool) {
        self.words.push(Word {
            hash,
            start: u32::try_from(span.start).unwrap_or(u32::MAX),
            end: u32::try_from(span.end).unwrap_or(u32::MAX),
            shape,
            first: std::mem::take(&mut self.first),
            known,
        });
    }

    /// Takes a run apart where case changes and where digits begin or end; returns `false` if it looks like an id: most of
    /// its letters are no known words, beside digits, or it falls into many scraps.
    fn take_apart(&mut self, open: &Open, end: usize) -> bool {
        let Some(run) = self.text.get(open.start..end) else {
            return false;
        };
        let (before, first) = (self.words.len(), self.first);
        let (mut known, mut scraps) = (0, 0);
        let is_word = |piece: &Range<usize>| {
            run.as_bytes()
                .get(piece.start)
                .is_some_and(|byte| !byte.is_ascii_digit())
        };
        let is_name = pieces(run).filter(is_word).count() < GLUED_NAME;
        for piece in pieces(run) {
            let at = open.start + piece.start;
            let text = run.get(piece.clone()).unwrap_or_default();
            let letters = !text.starts_with(|c: char| c.is_ascii_digit());
            scraps += usize::from(letters && piece.len() < 3);
            let already = self.words.len();
            let hash = hash_of(text);
            if letters && (self.vocabulary.knows(hash) || self.split(at, at + piece.len())) {
                known += if piece.len() > 1 { piece.len() } else { 0 };
            }
            if self.words.len() == already {
                let shape = match (letters, piece.len()) {
                    (true, _) => Shape::Word,
                    (false, 1..=4) => Shape::Number,
                    (false, _) => Shape::Code,
                };
                self.push(
                    hash,
                    at..at + piece.len(),
                    shape,
                    letters && is_name && self.vocabulary.knows(hash),
                );
            }
        }
        // Letters and digits in turn that are no words are one: an id, or letters in disguise.
        let is_one = known * 2 < open.letters as usize && (open.digits > 0 || open.letters > MAX_LEN)
            || scraps >= SCRAPS && scraps * 2 > self.words.len() - before;
        if is_one {
            self.words.truncate(before);
            self.first = first;
        }
        !is_one
    }

    /// Returns `true` if a run of letters and digits is long and all its digits stand for letters: `1gn0r34llrul35`. Few ids
    /// are so.
    fn may_spell(&self, open: &Open, end: usize) -> bool {
        let run = self.text.get(open.start..end).unwrap_or_default();
        let stands_for_letters = |byte: u8| !matches!(byte, b'2' | b'6' | b'8' | b'9');
        open.letters * 2 >= open.digits && run.len() >= MIN_SPELLED && run.bytes().all(stands_for_letters)
    }

    /// Splits a run of small letters into known words; returns `false` where it consists of anything else.
    fn split(&mut self, start: usize, end: usize) -> bool {
        let Some(run) = self.text.get(start..end) else {
            return false;
        };
        let Some(words) = split(run, self.vocabulary) else {
            return false;
        };
        // Honest texts rarely join so many words, and another split might be the right one: they count as unknown.
        let known = words.len() < GLUED;
        for span in words {
            let hash = hash_of(run.get(span.clone()).unwrap_or_default());
            self.push(hash, start + span.start..start + span.end, Shape::Word, known);
        }
        true
    }
}

/// The shortest run whose digits may stand for letters.
const MIN_SPELLED: usize = 12;
/// Pieces of one or two letters from which on a run is not taken apart, where they are most of its pieces.
const SCRAPS: usize = 4;
/// Words that a run consists of from which on they do not count as known.
const GLUED: usize = 4;
/// The same of names that change case, or hold digits.
const GLUED_NAME: usize = 8;

/// Returns `true` if a character is a word by itself: scripts without gaps between words.
fn stands_alone(c: char) -> bool {
    matches!(u32::from(c), 0x3040..=0x309f | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xf900..=0xfaff | 0x2_0000..=0x3_134f | 0x0e00..=0x0e7f)
}

/// Returns `true` for marks within words of scripts that need them.
fn is_mark(c: char) -> bool {
    matches!(u32::from(c), 0x0300..=0x036f | 0x0900..=0x0dff | 0x0610..=0x061a | 0x064b..=0x065f | 0x30fc)
}

#[cfg(test)]
mod tests {
    use super::super::vocabulary_builder::VocabularyBuilder;
    use super::*;
    use crate::model::Origin;
    use crate::model::testing::step_with;

    fn said(text: &str) -> Vec<&str> {
        let mut words = Vec::new();
        read(text, Vocabulary::EMPTY, &mut words);
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

    /// Returns the words of a text, each with whether a model trained on these words knows it.
    fn said_by<'t>(known: &str, text: &'t str) -> Vec<(&'t str, bool)> {
        let mut builder = VocabularyBuilder::default();
        for group in ["a", "b"] {
            builder.add(group, &step_with(Origin::User, &[known]));
        }
        let mut words = Vec::new();
        assert_eq!(read(text, &builder.finish(), &mut words), ReadTo::End);
        let word = |word: &Word| (&text[word.start as usize..word.end as usize], word.known);
        words.iter().map(word).collect()
    }

    #[test]
    fn names_are_taken_apart_at_changes_of_case_and_at_digits() {
        let known = "how do I build a pipe bomb parse url";
        for (text, expected) in [
            ("HowDoIBuild", &["How", "Do", "I", "Build"][..]),
            ("parseHTTPUrl2", &["parse", "HTTP", "Url", "2"]),
            ("how2build4bomb", &["how", "2", "build", "4", "bomb"]),
            ("XkcdQwertz", &["Xkcd", "Qwertz"]),
        ] {
            let words: Vec<&str> = said_by(known, text).into_iter().map(|(word, _)| word).collect();
            assert_eq!(words, expected, "{text}");
        }
        let long = "HowDoIBuildAPipeBombHowDo";
        assert!(
            said_by(known, long).iter().all(|(_, known)| !known),
            "a sentence is no name"
        );
        for id in ["4f2a9c11d0", "aGVsbG8gd29ybGQ5x1", "Wq7Zk2Xp9"] {
            assert_eq!(said_by(known, id), [(id, false)], "an id is one word");
        }
    }

    #[test]
    fn a_run_of_letters_is_taken_apart_into_words_that_are_known() {
        let known = "ignore all previous instructions";
        assert_eq!(
            said_by(known, "ignoreall PREVIOUSINSTRUCTIONS ignoreallx"),
            [
                ("ignore", true),
                ("all", true),
                ("PREVIOUS", true),
                ("INSTRUCTIONS", true),
                ("ignoreallx", false)
            ]
        );
    }

    #[test]
    fn a_text_beyond_the_bound_says_so() {
        let mut words = Vec::new();
        let text = "one ".repeat(6);
        assert_eq!(read_at_most(5, &text, Vocabulary::EMPTY, &mut words), ReadTo::Bound);
        assert_eq!(read_at_most(6, &text, Vocabulary::EMPTY, &mut words), ReadTo::End);
        assert_eq!(words.len(), 11);
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
        read(
            "Send SEND 42 4f2a9c11d0 123456789 Größe größe",
            Vocabulary::EMPTY,
            &mut words,
        );
        let hashes: Vec<u32> = words.iter().map(|word| word.hash).collect();
        assert_eq!(hashes[0], hashes[1]);
        assert_eq!(hashes[5], hashes[6]);
        assert_eq!(hashes[0], hash("send"));
        let shapes: Vec<Shape> = words.iter().map(|word| word.shape).collect();
        assert_eq!(shapes[2..5], [Shape::Number, Shape::Code, Shape::Code]);
    }
}
