//! Signals: weighted patterns over folded text, read from a rule file and gated by words.
//!
//! A signal alone proves nothing. Each hit has a weight; the sum over *different* signals that stand close together counts
//! ([`Signals::gravest`]). A signal that the text itself quotes or describes weighs half; one that stands in a code block or
//! a literal of a text about attacks or tests weighs a quarter.

mod clusters;
mod surroundings;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use serde::Deserialize;

use super::{ScanContext, Work};
use crate::model::Rule;
use crate::prefilter::engine::RuleFile;
use crate::prefilter::engine::rules;
use crate::text::DataError;
use crate::text::expression::ByteExpression;
use crate::text::keywords::{KeywordHit, Keywords, Word};
use crate::text::views::fold_pattern;
pub(super) use clusters::Cluster;
use surroundings::{Surroundings, around};

/// The fields of the rule of a kind of signal beyond those of every rule.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    weight: u32,
    #[serde(default = "yes")]
    alone: bool,
    #[serde(default)]
    part: Part,
    patterns: Vec<PatternEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PatternEntry {
    gate: Vec<String>,
    re: String,
    weight: Option<u32>,
    alone: Option<bool>,
    #[serde(default)]
    unless: Vec<String>,
}

/// The parts of the file beside the rules: fragments of expressions, by name.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Beside {
    #[serde(default)]
    fragments: BTreeMap<String, String>,
}

const fn yes() -> bool {
    true
}

/// The content of a signal, as far as its weight depends on who says it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Part {
    /// Orders the machine that reads it.
    Order,
    /// Says what to do next, or how to answer.
    Steering,
    /// Takes earlier instructions back.
    Override,
    /// Instructs in another way.
    Instructing,
    /// Anything else.
    #[default]
    Other,
}

/// The condition under which a hit is worth telling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reporting {
    Alone,
    InCompany,
}

#[derive(Debug)]
struct Pattern {
    kind: usize,
    expression: ByteExpression,
    weight: u32,
    part: Part,
    told: Reporting,
    /// Words that, near a hit, make it something else.
    unless: Vec<String>,
}

impl Pattern {
    /// Returns `true` if a word near a hit says that it is not what it looks like.
    fn is_something_else(&self, text: &str, span: &Range<usize>) -> bool {
        const NEAR: usize = 400;
        let near = around(text, span, NEAR, NEAR);
        self.unless.iter().any(|word| near.contains(word.as_str()))
    }
}

/// A pattern that fits.
#[derive(Clone, Debug)]
pub(super) struct Hit {
    /// Index into [`Signals::kinds`].
    pub(super) kind: usize,
    /// Bytes of the folded text.
    pub(super) span: Range<usize>,
    /// Twice the weight of the pattern; where the text quotes it the weight itself, where it shows it as an example half of that.
    pub(super) weight: u32,
    /// Its content.
    pub(super) part: Part,
    told: Reporting,
    quoted: bool,
}

impl Hit {
    /// Returns `true` if the text names or describes it rather than saying it.
    pub(super) fn is_quoted(&self) -> bool {
        self.quoted
    }

    /// Returns `true` if it is worth telling although nothing else stands near it.
    pub(super) fn is_told_alone(&self) -> bool {
        self.told == Reporting::Alone
    }
}

/// The signals of one file.
#[derive(Debug)]
pub(super) struct Signals {
    kinds: Vec<Rule>,
    patterns: Vec<Pattern>,
    words: Vec<Word>,
    /// The words alone, for texts that did not pass the shared gate; compiled when first used.
    gate: OnceLock<Keywords>,
    /// The patterns that each word of the gate opens.
    opens: Vec<Vec<usize>>,
}

/// The state of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Search {
    GoesOn,
    Ends,
}

/// White space and punctuation between two words, escaped line breaks too; not the end of a sentence.
const GAP: &str = r"(?:[^a-z0-9.!?;\x80-\xff]|\\[nrt])+";
/// The bytes before a word of its gate within which a pattern is looked for; `BEHIND` are those after it.
const BEFORE: usize = 256;
const BEHIND: usize = 384;
/// Weights are counted in halves.
pub(super) const HALVES: u32 = 2;

impl Signals {
    /// Reads a rule file.
    pub(super) fn load(file: &RuleFile) -> Result<Self, DataError> {
        let (rules, Beside { fragments }) = rules::read::<Data, _>(file)?;
        let fragments = Arc::new(fragments);
        let mut kinds = Vec::new();
        let mut patterns = Vec::new();
        let mut words: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (rule, entry) in rules {
            let wrong = |why: String| file.wrong(&rule.id, why);
            for pattern in entry.patterns {
                let index = patterns.len();
                let (text, fragments) = (pattern.re, Arc::clone(&fragments));
                let expression = ByteExpression::new(move || expand(&text, &fragments));
                let gate: Vec<String> = pattern.gate.iter().map(|word| fold_pattern(word)).collect();
                patterns.push(Pattern {
                    kind: kinds.len(),
                    expression,
                    weight: pattern.weight.unwrap_or(entry.weight) * HALVES,
                    part: entry.part,
                    told: if pattern.alone.unwrap_or(entry.alone) {
                        Reporting::Alone
                    } else {
                        Reporting::InCompany
                    },
                    unless: pattern.unless.iter().map(|word| fold_pattern(word)).collect(),
                });
                if gate.is_empty() {
                    return Err(wrong("expected words in `gate`, found none".to_owned()));
                }
                for word in gate {
                    words.entry(word).or_default().push(index);
                }
            }
            kinds.push(rule);
        }
        let (words, opens): (Vec<Word>, Vec<Vec<usize>>) = words
            .into_iter()
            .map(|(word, opens)| (Word::any_case(word), opens))
            .unzip();
        Ok(Self {
            kinds,
            patterns,
            gate: OnceLock::new(),
            words,
            opens,
        })
    }

    /// The rule of every kind of signal, in the order of the file.
    pub(super) fn kinds(&self) -> &[Rule] {
        &self.kinds
    }

    /// The rules that have a pattern which does not compile; for the test that holds that all do.
    #[cfg(test)]
    pub(super) fn broken(&self) -> Vec<&str> {
        let broken = self
            .patterns
            .iter()
            .filter(|pattern| pattern.expression.regex().is_none());
        broken
            .filter_map(|pattern| Some(self.kinds.get(pattern.kind)?.id.as_str()))
            .collect()
    }

    /// The words that open its patterns.
    pub(super) fn words(&self) -> &[Word] {
        &self.words
    }

    /// Every hit in a folded text, in order.
    pub(super) fn hits(&self, folded: &str) -> Vec<Hit> {
        let gate = self.gate.get_or_init(|| Keywords::of([self.words.clone()]));
        self.search(folded, gate.hits(folded).of(0), |_| Search::GoesOn)
    }

    /// Every hit in a folded text, in order, given where its words stand; as far as the work of the step goes.
    pub(super) fn hits_at(
        &self,
        folded: &str,
        words: impl Iterator<Item = KeywordHit>,
        notes: &ScanContext,
    ) -> Vec<Hit> {
        let hits = self.search(folded, words, |bytes| {
            notes.work(Work::Signal, bytes);
            match notes.is_exhausted() {
                true => Search::Ends,
                false => Search::GoesOn,
            }
        });
        notes.work(Work::Hit, hits.len());
        hits
    }

    /// Reads the windows around words, and asks before each whether to go on, given how many bytes it has.
    fn search(
        &self,
        folded: &str,
        words: impl Iterator<Item = KeywordHit>,
        mut ask: impl FnMut(usize) -> Search,
    ) -> Vec<Hit> {
        let mut words = words.peekable();
        if words.peek().is_none() {
            return Vec::new();
        }
        // Of some hundred patterns a text opens a few.
        let mut windows: Vec<(usize, Range<usize>)> = Vec::new();
        for word in words {
            let start = word.span.start.saturating_sub(BEFORE);
            let end = (word.span.end + BEHIND).min(folded.len());
            let opens = self.opens.get(word.word).into_iter().flatten();
            windows.extend(opens.map(|pattern| (*pattern, start..end)));
        }
        windows.sort_unstable_by_key(|(pattern, window)| (*pattern, window.start));
        windows.dedup_by(|next, last| {
            let goes_on = next.0 == last.0 && next.1.start <= last.1.end;
            if goes_on {
                last.1.end = next.1.end.max(last.1.end);
            }
            goes_on
        });
        let bytes = folded.as_bytes();
        let surroundings = Surroundings::of(folded);
        let mut hits = Vec::new();
        for (pattern, window) in windows {
            if ask(window.len()) == Search::Ends {
                break;
            }
            let Some(pattern) = self.patterns.get(pattern) else {
                continue;
            };
            // The byte before a window must be seen, or the window's edge would pass for that of a word.
            let mut at = window.start;
            let Some(regex) = pattern.expression.regex() else {
                continue;
            };
            while let Some(found) = bytes.get(..window.end).and_then(|text| regex.find_at(text, at)) {
                let span = found.start()..found.end();
                if pattern.is_something_else(folded, &span) {
                    at = span.end.max(at + 1);
                    continue;
                }
                let shown = surroundings.is_shown(&span);
                let quoted = shown || surroundings.is_quoted(&span);
                let weight = match (shown, quoted) {
                    (true, _) => pattern.weight / (2 * HALVES),
                    (false, true) => pattern.weight / HALVES,
                    (false, false) => pattern.weight,
                };
                at = span.end.max(at + 1);
                hits.push(Hit {
                    kind: pattern.kind,
                    span,
                    weight,
                    part: pattern.part,
                    told: pattern.told,
                    quoted,
                });
            }
        }
        hits.sort_by_key(|hit| (hit.span.start, hit.span.end, hit.kind));
        hits
    }
}

/// Puts fragments in, makes gaps of spaces, and folds what is not ASCII.
fn expand(pattern: &str, fragments: &BTreeMap<String, String>) -> String {
    let mut pattern = pattern.to_owned();
    // Fragments may hold fragments, but not for ever.
    for _ in 0..3 {
        for (name, fragment) in fragments {
            pattern = pattern.replace(&format!("{{{name}}}"), fragment);
        }
    }
    let mut expanded = String::with_capacity(pattern.len() * 2);
    let mut in_class = false;
    let mut escaped = false;
    let mut rest = pattern.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '[' if !escaped => in_class = true,
            ']' if !escaped => in_class = false,
            ' ' if !in_class => {
                // `? ` and the like keep their meaning: an optional space is an optional gap.
                expanded.push_str(if matches!(rest.peek(), Some('?' | '*' | '+')) {
                    r"[\s_*`~-]"
                } else {
                    GAP
                });
                continue;
            }
            _ => {}
        }
        escaped = c == '\\' && !escaped;
        expanded.push(c);
    }
    fold_pattern(&expanded)
}

#[cfg(test)]
mod tests;
