//! The lexicon: the words by which this module reads names, sentences and requests, in some thirty languages.
//!
//! They are data, a list for each idea, in it a line for each language: `orders.toml` and `servers.toml` (signs that are searched
//! for in texts, `signs.rs`), `phrases.toml` (what users say), `words.toml` (parts of names). It knows words alone: who says
//! them, and what follows, is for others.

mod signs;

use std::collections::{BTreeMap, HashSet};

use aho_corasick::{AhoCorasick, AhoCorasickKind, BuildError, MatchKind};
use serde::Deserialize;

use crate::text::{CompiledIn, DataError, data_file};
use crate::tools::{ToolClass, words_of};

pub(super) use signs::{Sign, SignSearch, Signs};

pub(super) static LEXICON: CompiledIn<Lexicon> = CompiledIn::new(Lexicon::read);

#[derive(Default)]
pub(super) struct Lexicon {
    words: Words,
    phrases: Phrases,
    /// The phrases that ask for something, in small letters and with a capital, each with the text that must not be part of a longer word behind it.
    asking: Option<AhoCorasick>,
    signs: Option<SignSearch>,
}

/// Parts of names and single words, described in `words.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Words {
    pub(super) bodies: HashSet<String>,
    pub(super) receivers: HashSet<String>,
    pub(super) amounts: HashSet<String>,
    pub(super) quantities: HashSet<String>,
    pub(super) rights: HashSet<String>,
    pub(super) guests: HashSet<String>,
    pub(super) software: HashSet<String>,
    pub(super) hints: HashSet<String>,
    pub(super) sending: HashSet<String>,
    pub(super) programs: HashSet<String>,
    pub(super) standing: HashSet<String>,
    pub(super) ordering: HashSet<String>,
    pub(super) open_places: HashSet<String>,
    pub(super) carrying: HashSet<String>,
    pub(super) searching: HashSet<String>,
    pub(super) fillers: HashSet<String>,
    pub(super) statements: HashSet<String>,
    pub(super) common: HashSet<String>,
    pub(super) file_endings: HashSet<String>,
}

/// Phrases of users and instructions, described in `phrases.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Phrases {
    delegating: Vec<String>,
    opening: HashSet<String>,
    asking: Vec<String>,
    agreeing: HashSet<String>,
    agreeing_phrases: Vec<String>,
    reading_only: Vec<String>,
    verbs: BTreeMap<String, HashSet<String>>,
    acts: BTreeMap<String, HashSet<String>>,
}

impl Lexicon {
    fn read() -> Result<Self, DataError> {
        let phrases_file = data_file!("session/lexicon/phrases.toml");
        let phrases: Phrases = phrases_file.read()?;
        let orders = data_file!("session/lexicon/orders.toml");
        let mut signs: BTreeMap<Sign, Vec<String>> = orders.read()?;
        signs.extend(data_file!("session/lexicon/servers.toml").read::<BTreeMap<_, _>>()?);
        let search = SignSearch::new(signs).map_err(|error| orders.error(error))?;
        let asking = asking(&phrases.asking).map_err(|error| phrases_file.error(error))?;
        Ok(Self {
            words: data_file!("session/lexicon/words.toml").read()?,
            asking: Some(asking),
            signs: Some(search),
            phrases,
        })
    }
}

fn asking(phrases: &[String]) -> Result<AhoCorasick, BuildError> {
    let capital = |phrase: &String| {
        let mut chars = phrase.chars();
        let first: String = chars.next().into_iter().flat_map(char::to_uppercase).collect();
        format!("{first}{} ", chars.as_str())
    };
    let written = |phrase: &String| {
        [
            format!("{phrase} "),
            capital(phrase),
            format!("{} ", phrase.to_uppercase()),
        ]
    };
    let mut search = AhoCorasick::builder();
    search
        .match_kind(MatchKind::LeftmostFirst)
        .kind(Some(AhoCorasickKind::DFA));
    search.build(phrases.iter().flat_map(written))
}

/// Returns the search for signs.
pub(super) fn signs() -> Option<&'static SignSearch> {
    LEXICON.get().signs.as_ref()
}

/// Returns parts of names and single words.
pub(super) fn words() -> &'static Words {
    &LEXICON.get().words
}

/// Returns `true` if one of the words of a name is in a list.
pub(super) fn names_one_of(name: &str, list: &HashSet<String>) -> bool {
    words_of(name).iter().any(|word| list.contains(word))
}

/// Returns `true` if a text, as [`plain`](super::taint::plain) writes it, hands a decision to a text.
pub(super) fn delegates(plain: &str) -> bool {
    let mut phrases = LEXICON.get().phrases.delegating.iter();
    phrases.any(|phrase| plain.contains(&format!(" {phrase} ")))
}

/// Returns the place of the first phrase by which a sentence asks for something. One search for all phrases: one for each took half of the processor
/// time of a step.
pub(super) fn asks_at(sentence: &str) -> Option<usize> {
    Some(LEXICON.get().asking.as_ref()?.find(sentence)?.start())
}

/// Returns `true` if a word may stand before the verb of a sentence that asks for something.
pub(super) fn is_opening(word: &str) -> bool {
    LEXICON.get().phrases.opening.contains(word)
}

/// Returns `true` if a word agrees.
pub(super) fn agrees(word: &str) -> bool {
    LEXICON.get().phrases.agreeing.contains(word)
}

/// Returns the phrases that agree.
pub(super) fn agreeing_phrases() -> &'static [String] {
    &LEXICON.get().phrases.agreeing_phrases
}

/// Returns the phrases by which instructions say that an agent only reads.
pub(super) fn reading_only() -> &'static [String] {
    &LEXICON.get().phrases.reading_only
}

/// Returns the class of tool that a verb of another language than English speaks of.
pub(super) fn class_of(verb: &str) -> Option<ToolClass> {
    class_in(&LEXICON.get().phrases.verbs, verb)
}

/// Returns the class of tool that a program, or an English word of a request, speaks of, beside the verbs that tools are classified by.
pub(super) fn act_of(word: &str) -> Option<ToolClass> {
    class_in(&LEXICON.get().phrases.acts, word)
}

fn class_in(lists: &BTreeMap<String, HashSet<String>>, word: &str) -> Option<ToolClass> {
    let has = |class: &ToolClass| lists.get(class.as_str()).is_some_and(|words| words.contains(word));
    ToolClass::ALL.iter().copied().find(has)
}

/// Returns the verbs of other languages than English for the acts of a class of tools.
pub(super) fn verbs_of(class: ToolClass) -> impl Iterator<Item = &'static str> {
    let verbs = LEXICON.get().phrases.verbs.get(class.as_str());
    verbs.into_iter().flatten().map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_read_and_written_as_texts_are() {
        assert!(LEXICON.check().is_ok() && words().bodies.contains("subject"));
        for text in [
            include_str!("orders.toml"),
            include_str!("servers.toml"),
            include_str!("phrases.toml"),
            include_str!("words.toml"),
        ] {
            for line in text.lines().filter(|line| !line.starts_with('#')) {
                assert_eq!(line, line.to_lowercase());
            }
        }
        let phrases = &LEXICON.get().phrases;
        for class in phrases.verbs.keys().chain(phrases.acts.keys()) {
            assert!(ToolClass::ALL.iter().any(|known| known.as_str() == class), "{class}");
        }
        for word in phrases.opening.iter().chain(phrases.verbs.values().flatten()) {
            assert!(word.chars().all(char::is_alphanumeric), "{word}");
        }
        for phrase in &phrases.delegating {
            assert_eq!(super::super::taint::plain(phrase), format!(" {phrase} "));
        }
        assert!(names_one_of("createStandingOrder", &words().standing));
        assert!(!names_one_of("read_file", &words().standing));
    }

    #[test]
    fn a_verb_speaks_of_one_class() {
        let mut known = HashSet::new();
        for verb in LEXICON.get().phrases.verbs.values().flatten() {
            assert!(known.insert(verb), "{verb}");
        }
        assert_eq!(class_of("überweise"), Some(ToolClass::Pays));
        assert_eq!(class_of("summarise"), None);
    }
}
