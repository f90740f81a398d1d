//! Text whose letters are shifted round the alphabet. It is shifted back only where the result holds words of instructions.
//!
//! Other ciphers are not undone: `obfuscation.unread` tells the judge of the words of instructions backwards or mirrored.

use super::span_map::{Derived, SpanMap};
use crate::text::keywords::{KeywordHit, Word, apart};

/// Words that instructions are made of. Shifted, none of them is a word.
const WORDS: &[&str] = &[
    "ignore",
    "disregard",
    "previous",
    "instruction",
    "forget",
    "system",
    "prompt",
    "secret",
    "password",
    "delete",
    "execute",
    "command",
    "reveal",
    "override",
    "transfer",
    "download",
    "without",
    "confirm",
    "immediately",
    "please",
    "assistant",
    "rules",
    "forward",
    "export",
    "unlock",
];
/// How many of them are looked for in the other shifts than 13.
const FEW: usize = 12;
const LETTERS: u8 = 26;

/// The keywords that [`decode`] asks for: those of each shift, one after the other.
pub(super) fn words() -> Vec<Word> {
    (1..LETTERS)
        .flat_map(|by| {
            let words = WORDS.iter().take(count(by));
            words.map(move |word| Word::any_case(word.chars().map(|c| shifted(c, by)).collect::<String>()))
        })
        .collect()
}

const fn count(by: u8) -> usize {
    if by == 13 { WORDS.len() } else { FEW }
}

fn shifted(c: char, by: u8) -> char {
    match c {
        'a'..='z' => char::from((c as u8 - b'a' + by) % LETTERS + b'a'),
        'A'..='Z' => char::from((c as u8 - b'A' + by) % LETTERS + b'A'),
        other => other,
    }
}

/// The shift in which a keyword is written.
fn shift_of(word: usize) -> Option<u8> {
    let mut first = 0;
    (1..LETTERS).find(|by| {
        first += count(*by);
        word < first
    })
}

/// The text shifted back, once for each shift in which it holds at least two different words.
pub(super) fn decode(text: &str, seen: impl Iterator<Item = KeywordHit>, room: usize) -> Vec<Derived> {
    let mut first: Vec<(u8, usize)> = Vec::new();
    let mut found: Vec<u8> = Vec::new();
    for seen in apart(seen) {
        let Some(by) = shift_of(seen.word) else { continue };
        match first.iter().find(|(known, _)| *known == by) {
            Some((_, word)) if *word != seen.word && !found.contains(&by) => found.push(by),
            Some(_) => {}
            None => first.push((by, seen.word)),
        }
    }
    let fits = text.floor_char_boundary(room);
    let within = text.get(..fits).unwrap_or_default();
    found
        .into_iter()
        .map(|by| Derived {
            text: within.chars().map(|c| shifted(c, LETTERS - by)).collect(),
            map: SpanMap::Identity,
            cut: text.len() - fits,
        })
        .collect()
}

#[cfg(test)]
mod tests;
