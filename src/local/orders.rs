//! Orders: sentences that begin as one, in whatever words.

use std::collections::HashSet;
use std::sync::LazyLock;

use serde::Deserialize;

use super::lexicon::MASKS;
use super::step_context::Token;
use super::words::{self, Shape};

/// Hashes of the words of `orders.toml`.
#[derive(Default, Deserialize)]
struct Words {
    #[serde(deserialize_with = "words::hashes")]
    objects: HashSet<u32>,
    #[serde(deserialize_with = "words::hashes")]
    openings: HashSet<u32>,
    #[serde(deserialize_with = "words::hashes")]
    leads: HashSet<u32>,
    #[serde(deserialize_with = "words::hashes")]
    verbs: HashSet<u32>,
}

static WORDS: LazyLock<Words> = LazyLock::new(|| toml::from_str(include_str!("orders.toml")).unwrap_or_default());

/// Returns `true` if a sentence begins as an order, or goes on as one after a polite or leading word: with a verb of orders, or with a word
/// that is none of those that begin other sentences, and what it is about.
pub(super) fn orders(text: &str, words: &[Token]) -> bool {
    let mut led = false;
    words.iter().enumerate().any(|(at, word)| {
        let begins = word.first || led;
        led = begins && (word.concepts & MASKS.courtesy != 0 || WORDS.leads.contains(&word.hash));
        let about = |next: &Token| !next.first && WORDS.objects.contains(&next.hash);
        begins
            && (word.concepts & MASKS.verb != 0
                || WORDS.verbs.contains(&word.hash)
                || (words.get(at + 1).is_some_and(about) && may_order(text, word)))
    })
}

/// Returns `true` if a word may be the verb of an order.
fn may_order(text: &str, word: &Token) -> bool {
    let letters = text.get(word.start as usize..word.end as usize).unwrap_or_default();
    let letters = letters.to_ascii_lowercase();
    word.shape == Shape::Word
        && !WORDS.openings.contains(&word.hash)
        && !["ing", "ed", "ly", "s"].iter().any(|ending| letters.ends_with(ending))
}
