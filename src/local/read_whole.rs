//! The test that a step was read whole: in words that the model knows, with nothing beside them that speaks.
//!
//! A low score says that nothing harmful was read, not that nothing harmful is there. So a step whose score is low enough to
//! be allowed is looked at once more:
//!
//! - what surrounds its texts (names of members, ids, descriptions of tools, undefined members) is scored as well, as if the
//!   one who speaks in the step, or a stranger, said it;
//! - words that the model does not know, runs of letters that are no words, and signs that stand for letters were not read;
//! - in what a user says and in what comes from outside, the model knows nothing of an address or a piece of a command but
//!   its kind;
//! - in what comes from outside, a sentence that begins as an order may be meant for the agent, however harmless its words are.

use crate::model::named_enum;
use std::collections::HashSet;
use std::sync::LazyLock;

use serde::Deserialize;

use super::orders::orders;
use super::step_context::{Passage, StepContext, Token};
use super::voice::{StepRole, Voice};
use super::words::{self, ReadTo, Shape};
use crate::model::Step;

named_enum! {
    /// The reason why a step was not read whole.
    Unread {
        /// It has more words, or more texts hidden in one, than are read.
        Bound = "bound",
        /// Its surroundings speak for harm, or members that are not defined hold sentences.
        Surroundings = "surroundings",
        /// Too many words near each other are unknown.
        Words = "unknown_words",
        /// A run of letters is no word and cannot be taken apart into words.
        Run = "unknown_run",
        /// Signs stand in rows, as in Morse code or in pictures.
        Signs = "signs",
        /// It holds encoded text.
        Encoded = "encoded",
        /// It holds an address.
        Address = "address",
        /// It holds a piece of a command.
        Command = "command",
        /// It comes from outside, and one of its sentences begins as an order.
        Order = "order",
        /// A harmful text with a few harmless words in it could score as low.
        Diluted = "diluted",
    }
}

/// Words in a row among which unknown ones are counted.
const NEAR: usize = 12;
/// Unknown words among them from which on a text was not read. Honest texts have names, and rarely more.
const UNKNOWN: usize = 3;
/// The same where the words stand in paths, names of members and the like.
const UNKNOWN_TECHNICAL: usize = 8;
/// One unknown word among so many is too much, where there are two.
const FEW: usize = 3;
/// Bytes of a run of unknown letters from which on it is no name.
const LONG_RUN: usize = 16;
/// The same in a path, a name of a member and the like.
const LONG_RUN_TECHNICAL: usize = 40;
/// Numbers in a row that are the codes of letters.
const SPELLED: usize = 10;
/// Pieces between blanks that consist of signs alone, in a row.
const SIGN_PIECES: usize = 8;
/// Rows of one sign each, one after the other with no letter between them, that stand for letters.
const SIGN_ROWS: usize = 14;
/// Bytes in unknown words and tokens from which on their share of a text counts.
const MIN_UNREAD: usize = 12;
/// A text was read in part if more than one byte in so many, of all in words and tokens, was not read.
const UNREAD_SHARE: usize = 4;
/// Pictures and other symbols of one text.
const SYMBOLS: usize = 24;

impl StepContext<'_> {
    /// Returns why the words of the step were not read whole, apart from its surroundings; some reasons may not count.
    pub(super) fn unread(&self, counts: &dyn Fn(&Unread) -> bool) -> Option<Unread> {
        if self.read_to == ReadTo::Bound {
            return Some(Unread::Bound);
        }
        if spells(self.step) {
            return Some(Unread::Encoded);
        }
        let looks_inside = matches!(self.part(), StepRole::Asks | StepRole::Reads);
        self.passages.iter().find_map(|passage| {
            let text = self
                .step
                .content(passage.content)
                .map_or("", |content| content.text.as_str());
            // What a user says in this step, or an outsider.
            let heard = looks_inside && passage.own && matches!(passage.voice, Voice::User | Voice::Outside);
            let signs = || passage.own.then(|| signs(text)).flatten();
            let in_part = || (heard && is_read_in_part(text, &passage.words)).then_some(Unread::Words);
            let inside = || heard.then(|| technical(text, &passage.words)).flatten();
            let outside = heard && passage.voice == Voice::Outside;
            let ordered = || (outside && orders(text, &passage.words)).then_some(Unread::Order);
            unknown_words(passage)
                .filter(counts)
                .or_else(|| signs().filter(counts))
                .or_else(|| in_part().filter(counts))
                .or_else(|| inside().filter(counts))
                .or_else(|| ordered().filter(counts))
        })
    }
}

/// Returns `true` if numbers in a row are the codes of letters.
fn spells(step: &Step) -> bool {
    step.data.iter().any(|data| {
        let (mut row, mut letters) = (0, 0);
        let values = data.json.split([',', '[', ']', '{', '}', ':']);
        // A string beside a number is a name.
        let mut numbers = values.filter(|value| !value.is_empty() && !value.starts_with('"'));
        numbers.any(|number| {
            (row, letters) = match number.parse::<u8>() {
                Ok(code) if code == b'\n' || code == b' ' || code.is_ascii_graphic() => {
                    (row + 1, letters + usize::from(code.is_ascii_alphabetic()))
                }
                Ok(_) | Err(_) => (0, 0),
            };
            row >= SPELLED && letters * 2 >= row
        })
    })
}

/// Returns the reason if too many words near each other are unknown, or one is a long run.
fn unknown_words(passage: &Passage) -> Option<Unread> {
    let mut plain = Near::default();
    let mut technical = Near::default();
    let (mut words, mut strange) = (0, 0);
    for word in passage.words.iter().filter(|word| word.shape == Shape::Word) {
        let unknown = !word.known || is_letter(word);
        words += usize::from(!word.technical);
        strange += usize::from(unknown && !word.technical);
        let run = if word.technical { LONG_RUN_TECHNICAL } else { LONG_RUN };
        if unknown && word.length() >= run {
            return Some(Unread::Run);
        }
        let most = match word.technical {
            false => plain.add(unknown) >= UNKNOWN,
            true => technical.add(unknown) >= UNKNOWN_TECHNICAL,
        };
        if most {
            return Some(Unread::Words);
        }
    }
    // Of a few words, two that are unknown are many.
    (strange > 1 && strange * FEW > words).then_some(Unread::Words)
}

/// Returns `true` if a large share of a text is unknown words, or tokens that are no ids, wherever they stand.
fn is_read_in_part(text: &str, words: &[Token]) -> bool {
    let (mut read, mut unread) = (0, 0);
    for word in words {
        let is_id = || {
            let token = text.get(word.start as usize..word.end as usize).unwrap_or_default();
            token.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        match word.shape {
            Shape::Word if word.known && !is_letter(word) => read += word.length(),
            Shape::Code if is_id() => {}
            Shape::Word | Shape::Code => unread += word.length(),
            Shape::Number => {}
        }
    }
    unread >= MIN_UNREAD && unread * UNREAD_SHARE > read + unread
}

/// Returns `true` if a word is a single letter, as in words that are written letter by letter; `a` and `I` are words.
fn is_letter(word: &Token) -> bool {
    word.length() == 1 && ![words::hash("a"), words::hash("i")].contains(&word.hash)
}

/// Unknown words among the last [`NEAR`].
#[derive(Default)]
struct Near(u32);

impl Near {
    /// Adds a word, and returns how many of the last ones are unknown.
    fn add(&mut self, unknown: bool) -> usize {
        self.0 = (self.0 << 1 | u32::from(unknown)) & ((1 << NEAR) - 1);
        self.0.count_ones() as usize
    }
}

/// Returns the reason if signs stand where words would.
fn signs(text: &str) -> Option<Unread> {
    let mut row = 0;
    for piece in text.split_whitespace() {
        row = match piece.bytes().any(|byte| byte.is_ascii_alphanumeric() || byte >= 0x80) {
            true => 0,
            false => row + 1,
        };
        if row >= SIGN_PIECES {
            return Some(Unread::Signs);
        }
    }
    let symbols = || text.chars().filter(|c| is_symbol(*c)).take(SYMBOLS).count();
    let alternate = text.lines().filter(|line| !is_ruled(line)).any(alternates);
    (alternate || (!text.is_ascii() && symbols() >= SYMBOLS)).then_some(Unread::Signs)
}

/// Returns `true` if a line rules off columns or paragraphs: `|---|:---|`, `=====`.
fn is_ruled(line: &str) -> bool {
    let mut rules = line.split(['|', ':', '+', ' ', '\t']).filter(|rule| !rule.is_empty());
    rules.all(|rule| rule.len() > 1 && (rule.bytes().all(|byte| byte == b'-') || rule.bytes().all(|byte| byte == b'=')))
}

/// Returns `true` if signs follow one another as letters do, with or without blanks between them.
fn alternates(line: &str) -> bool {
    let (mut rows, mut last) = (0, None);
    for c in line.chars().filter(|c| !c.is_whitespace()) {
        match c.is_alphanumeric() {
            true => (rows, last) = (0, None),
            false if last != Some(c) => (rows, last) = (rows + 1, Some(c)),
            false => {}
        }
        if rows >= SIGN_ROWS {
            return true;
        }
    }
    false
}

/// Returns `true` for pictures, Braille, letters in circles and private characters: a reader may take them for letters, and no word is made of them.
fn is_symbol(c: char) -> bool {
    matches!(u32::from(c), 0x2460..=0x24ff | 0x2600..=0x28ff | 0xe000..=0xf8ff | 0x1_f000..=0x1_faff | 0xf_0000..)
}

/// Hashes of the words of `technical.toml`.
#[derive(Default, Deserialize)]
struct Technical {
    #[serde(deserialize_with = "words::hashes")]
    domains: HashSet<u32>,
    #[serde(deserialize_with = "words::hashes")]
    programs: HashSet<u32>,
}

static TECHNICAL: LazyLock<Technical> =
    LazyLock::new(|| toml::from_str(include_str!("technical.toml")).unwrap_or_default());

/// Returns the reason if a text holds an address or a piece of a command.
fn technical(text: &str, words: &[Token]) -> Option<Unread> {
    if text.contains("://") || text.contains("www.") {
        return Some(Unread::Address);
    }
    if ["$(", "<(", "`", "&&", "${"].iter().any(|sign| text.contains(sign)) {
        return Some(Unread::Command);
    }
    let bytes = text.as_bytes();
    let is = |at: usize, sign: u8| bytes.get(at) == Some(&sign);
    let mut numbers = 0;
    for word in words {
        let (start, end) = (word.start as usize, word.end as usize);
        let dotted = start > 0 && is(start - 1, b'.');
        numbers = if word.shape == Shape::Number && (dotted || numbers == 0) {
            numbers + 1
        } else {
            0
        };
        let host = dotted && start > 1 && bytes.get(start - 2).is_some_and(u8::is_ascii_alphanumeric);
        let address = (host && TECHNICAL.domains.contains(&word.hash)) || is(end, b'@') || numbers == 4;
        if address {
            return Some(Unread::Address);
        }
        if TECHNICAL.programs.contains(&word.hash) {
            return Some(Unread::Command);
        }
    }
    None
}
