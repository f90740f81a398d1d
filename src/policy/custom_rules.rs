//! Custom rules of an organisation: `[[rules]]` of a policy, checked and compiled.
//!
//! A rule is words, one of which stands in all that it finds, and an expression that says what exactly is found. Nothing
//! here looks at a step; a prefilter does, and asks for what is compiled here.

mod line;

use std::collections::BTreeSet;
use std::ops::Range;

use aho_corasick::AhoCorasick;
use regex::Regex;

use super::OwnCode;
use super::values::Wrong;
use crate::model::{Origin, Rule};
pub use line::OwnRuleLine;

/// The family's name: what an own rule is reported under begins so.
pub const OWN_FAMILY: &str = "own";

/// The most rules of its own that an organisation has.
const MAX_RULES: usize = 200;

/// A rule of the organisation.
#[derive(Clone, Debug)]
pub struct OwnRule {
    /// Its documentation; its id is `own.` and what the policy calls it.
    pub rule: Rule,
    /// The origins of texts that it looks at; empty: every origin.
    pub origins: Vec<Origin>,
    letters: Letters,
    words: Vec<String>,
    pattern: Regex,
}

/// The way in which a rule compares letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Letters {
    /// In any case: none of its words holds a capital.
    AnyCase,
    /// As they are written in the policy.
    AsWritten,
}

/// The hits of a rule in one text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnHits {
    /// The places of the hits, in order.
    pub spans: Vec<Range<usize>>,
    /// The extent of the search: the whole text, or not.
    pub extent: Extent,
}

/// The extent of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// It did.
    Complete,
    /// It was given up: there is more, or may be.
    GivenUp,
}

impl OwnRule {
    /// Returns the way in which it compares letters.
    pub fn letters(&self) -> Letters {
        self.letters
    }

    /// Finds the spans in a text: at most `most`, each with one of its words in the match.
    pub fn hits(&self, text: &str, most: usize) -> OwnHits {
        /// Matches without a word among them, for each that may be found.
        const TRIES: usize = 16;
        let mut spans = Vec::new();
        let mut locations = self.pattern.capture_locations();
        let mut at = 0;
        for _ in 0..=most.saturating_mul(TRIES) {
            let Some(whole) = self.pattern.captures_read_at(&mut locations, text, at) else {
                return OwnHits {
                    spans,
                    extent: Extent::Complete,
                };
            };
            // Behind an empty match the next character is the next place.
            at = whole.end().max(text.ceil_char_boundary(whole.start() + 1));
            if self.has_word(whole.as_str()) {
                if spans.len() == most {
                    break;
                }
                let part = locations.get(1).filter(|(start, end)| start < end);
                spans.push(part.map_or(whole.range(), |(start, end)| start..end));
            }
            if at > text.len() {
                return OwnHits {
                    spans,
                    extent: Extent::Complete,
                };
            }
        }
        OwnHits {
            spans,
            extent: Extent::GivenUp,
        }
    }

    fn has_word(&self, found: &str) -> bool {
        match self.letters {
            Letters::AsWritten => self.words.iter().any(|word| found.contains(word)),
            Letters::AnyCase => {
                let lower = found.to_ascii_lowercase();
                self.words.iter().any(|word| lower.contains(word))
            }
        }
    }

    fn finds_in(&self, text: &str) -> bool {
        !self.hits(text, 1).spans.is_empty()
    }
}

/// The organisation's own rules with the automaton of their words.
#[derive(Clone, Debug, Default)]
pub struct OwnRules {
    rules: Vec<OwnRule>,
    gate: Option<AhoCorasick>,
    /// The rules that have each word of the gate.
    of_word: Vec<Vec<usize>>,
}

impl OwnRules {
    /// Checks and compiles the lines of a policy.
    pub(super) fn new(lines: &[OwnRuleLine], codes: &[OwnCode]) -> Result<Self, Wrong> {
        if lines.is_empty() {
            return Ok(Self::default());
        }
        if lines.len() > MAX_RULES {
            let why = format!("expected at most {MAX_RULES} rules, found {}", lines.len());
            return Err(("rules".to_owned(), why));
        }
        let mut ids = BTreeSet::new();
        let mut rules = Vec::with_capacity(lines.len());
        for (index, line) in lines.iter().enumerate() {
            let name = match line.has_id() {
                true => format!("rules.{}", line.id),
                false => format!("rules[{index}]"),
            };
            let rule = line.build(codes).map_err(|(key, why)| (format!("{name}.{key}"), why))?;
            if !ids.insert(rule.rule.id.clone()) {
                let why = format!("expected an id that no other rule has, found `{}` twice", line.id);
                return Err((format!("{name}.id"), why));
            }
            rules.push(rule);
        }
        let mut words: Vec<String> = Vec::new();
        let mut of_word: Vec<Vec<usize>> = Vec::new();
        for (index, rule) in rules.iter().enumerate() {
            for word in rule.words.iter().map(|word| word.to_ascii_lowercase()) {
                match words.iter().position(|known| *known == word) {
                    Some(place) => of_word.get_mut(place).into_iter().for_each(|rules| rules.push(index)),
                    None => {
                        words.push(word);
                        of_word.push(vec![index]);
                    }
                }
            }
        }
        let gate = AhoCorasick::builder().ascii_case_insensitive(true).build(&words);
        let gate = gate.map_err(|error| ("rules".to_owned(), format!("their words do not compile: {error}")))?;
        Ok(Self {
            rules,
            gate: Some(gate),
            of_word,
        })
    }

    /// Returns every rule, in the order of the policy.
    pub fn iter(&self) -> impl Iterator<Item = &OwnRule> + Clone {
        self.rules.iter()
    }

    /// Returns `true` if there are none.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Returns the rules of which a word stands in a text, in either case: only these can find anything there.
    pub fn concerned(&self, text: &str) -> Vec<&OwnRule> {
        let Some(gate) = &self.gate else { return Vec::new() };
        let mut waiting = self.of_word.len();
        let mut seen = vec![false; waiting];
        let mut concerned = vec![false; self.rules.len()];
        for found in gate.find_overlapping_iter(text) {
            let word = found.pattern().as_usize();
            match seen.get_mut(word) {
                Some(seen) if !*seen => *seen = true,
                _ => continue,
            }
            for rule in self.of_word.get(word).into_iter().flatten() {
                concerned.get_mut(*rule).into_iter().for_each(|rule| *rule = true);
            }
            waiting -= 1;
            if waiting == 0 {
                break;
            }
        }
        let rules = self.rules.iter().zip(concerned);
        rules
            .filter(|(_, concerned)| *concerned)
            .map(|(rule, _)| rule)
            .collect()
    }
}

#[cfg(test)]
mod tests;
