//! Phrases of seven languages: words that ask, that agree, that hand a decision over, and for what tools do.
//!
//! The words are data (`phrases.toml`). It knows words alone: who says them, and what follows, is for others.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use serde::Deserialize;

use super::data_file_error::DataFileError;
use crate::tools::ToolClass;

static READ: LazyLock<Result<Phrases, DataFileError>> = LazyLock::new(|| {
    toml::from_str(include_str!("phrases.toml")).map_err(|error| DataFileError::new("phrases.toml", &error))
});

/// The words. INVARIANT: whoever starts the program has called [`check`].
static PHRASES: LazyLock<&'static Phrases> = LazyLock::new(|| {
    static NONE: LazyLock<Phrases> = LazyLock::new(Phrases::default);
    READ.as_ref().unwrap_or(&NONE)
});

/// Reads the words.
pub(super) fn check() -> Result<(), DataFileError> {
    READ.as_ref().map_err(Clone::clone)?;
    ASKING.as_ref().map(|_| ()).map_err(Clone::clone)
}

/// The phrases of a list, each between spaces, as [`super::taint::plain`] writes texts.
fn phrases(list: &[String]) -> Vec<String> {
    list.iter().map(|phrase| format!(" {phrase} ")).collect()
}

static DELEGATING: LazyLock<Vec<String>> = LazyLock::new(|| phrases(&PHRASES.delegating));

/// As sentences write them, in small letters and with a capital; with what may not be part of a longer word behind them.
static ASKING: LazyLock<Result<AhoCorasick, DataFileError>> = LazyLock::new(|| {
    let capital = |phrase: &String| {
        let mut chars = phrase.chars();
        let first: String = chars.next().into_iter().flat_map(char::to_uppercase).collect();
        format!("{first}{} ", chars.as_str())
    };
    let shouted = |phrase: &String| format!("{} ", phrase.to_uppercase());
    let written = |phrase| [format!("{phrase} "), capital(phrase), shouted(phrase)];
    let mut search = AhoCorasick::builder();
    search
        .match_kind(MatchKind::LeftmostFirst)
        .kind(Some(AhoCorasickKind::DFA));
    search
        .build(PHRASES.asking.iter().flat_map(written))
        .map_err(|error| DataFileError::new("phrases.toml", &error))
});

static OPENING: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| PHRASES.opening.iter().map(String::as_str).collect());

static VERBS: LazyLock<HashMap<&'static str, ToolClass>> = LazyLock::new(|| by_word(&PHRASES.verbs));
static ACTS: LazyLock<HashMap<&'static str, ToolClass>> = LazyLock::new(|| by_word(&PHRASES.acts));

fn by_word(words: &'static BTreeMap<String, Vec<String>>) -> HashMap<&'static str, ToolClass> {
    let of_class = |class: ToolClass| {
        let words = words.get(class.as_str()).into_iter().flatten();
        words.map(move |word| (word.as_str(), class))
    };
    ToolClass::ALL.iter().copied().flat_map(of_class).collect()
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Phrases {
    delegating: Vec<String>,
    opening: Vec<String>,
    asking: Vec<String>,
    agreeing: Vec<String>,
    agreeing_phrases: Vec<String>,
    reading_only: Vec<String>,
    verbs: BTreeMap<String, Vec<String>>,
    acts: BTreeMap<String, Vec<String>>,
}

/// Phrases that hand a decision to a text, with a space before and behind.
pub(super) fn delegating() -> &'static [String] {
    &DELEGATING
}

/// Where a sentence first says, by one of the phrases for that, that it asks for something. One search for all phrases: one for
/// each took half of the processor time of a step.
pub(super) fn asks_at(sentence: &str) -> Option<usize> {
    Some(ASKING.as_ref().ok()?.find(sentence)?.start())
}

/// Whether a word may stand before the verb of a sentence that asks for something.
pub(super) fn is_opening(word: &str) -> bool {
    OPENING.contains(word)
}

/// Whether a word agrees.
pub(super) fn agrees(word: &str) -> bool {
    PHRASES.agreeing.iter().any(|known| known == word)
}

/// Phrases that agree.
pub(super) fn agreeing_phrases() -> &'static [String] {
    &PHRASES.agreeing_phrases
}

/// What a tool does that a verb of another language than English speaks of.
pub(super) fn class_of(verb: &str) -> Option<ToolClass> {
    VERBS.get(verb).copied()
}

/// What a program, or an English word of a request, says is done, beside the verbs that tools are classified by.
pub(super) fn act_of(word: &str) -> Option<ToolClass> {
    ACTS.get(word).copied()
}

/// How instructions say that an agent only reads.
pub(super) fn reading_only() -> &'static [String] {
    &PHRASES.reading_only
}

/// Verbs of other languages than English for what tools of a class do.
pub(super) fn verbs_of(class: ToolClass) -> impl Iterator<Item = &'static str> {
    PHRASES
        .verbs
        .get(class.as_str())
        .into_iter()
        .flatten()
        .map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_read_and_written_as_texts_are() {
        assert!(check().is_ok() && !DELEGATING.is_empty() && !OPENING.is_empty() && !VERBS.is_empty());
        for class in PHRASES.verbs.keys().chain(PHRASES.acts.keys()) {
            assert!(ToolClass::ALL.iter().any(|known| known.as_str() == class), "{class}");
        }
        let words = PHRASES
            .opening
            .iter()
            .chain(&PHRASES.agreeing)
            .chain(PHRASES.verbs.values().flatten());
        for word in words.chain(&PHRASES.delegating).chain(&PHRASES.asking) {
            assert_eq!(*word, word.to_lowercase());
        }
        for word in PHRASES.opening.iter().chain(PHRASES.verbs.values().flatten()) {
            assert!(word.chars().all(char::is_alphanumeric), "{word}");
        }
        for phrase in &PHRASES.delegating {
            assert_eq!(super::super::taint::plain(phrase), format!(" {phrase} "));
        }
    }

    #[test]
    fn a_verb_speaks_of_one_class() {
        let mut known = HashMap::new();
        for (class, verbs) in &PHRASES.verbs {
            for verb in verbs {
                assert_eq!(known.insert(verb, class), None, "{verb}");
            }
        }
        assert_eq!(class_of("überweise"), Some(ToolClass::Pays));
        assert_eq!(class_of("summarise"), None);
    }
}
