//! Custom rules of an organisation: `[[rules]]` of a policy, checked and compiled.
//!
//! A rule is words, one of which stands in all that it finds, and an expression that says what exactly is found. Nothing
//! here looks at a step; a prefilter does, and asks for what is compiled here.

mod requires_word;

use std::collections::BTreeSet;
use std::ops::Range;

use aho_corasick::AhoCorasick;
use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};

use super::OwnCode;
use super::values::{all_named, named};
use crate::model::{Confidence, Origin, ReasonCode, Severity, Treatment};
use requires_word::Walk;

/// The family's name: what an own rule is reported under begins so.
pub const OWN_FAMILY: &str = "own";

/// The most rules of its own that an organisation has.
const MOST_RULES: usize = 200;
/// The longest id.
const LONGEST_ID: usize = 64;
/// The longest title, in characters.
const LONGEST_TITLE: usize = 200;
/// The most words of a rule.
const MOST_WORDS: usize = 64;
/// Bytes of a word.
const WORD_BYTES: std::ops::RangeInclusive<usize> = 3..=64;
/// The longest expression, in bytes.
const LONGEST_PATTERN: usize = 1000;
/// Bytes of a compiled expression.
const COMPILED_BYTES: usize = 1 << 20;
/// The most examples of a kind, and the bytes of one.
const MOST_EXAMPLES: usize = 32;
const LONGEST_EXAMPLE: usize = 2000;
/// What a rule may suggest. Not `allow`: a text that anybody may write would settle a step.
const SUGGESTED: &[Treatment] = &[Treatment::Ignore, Treatment::Evidence, Treatment::Mask, Treatment::Deny];

/// The key and what is wrong with it.
type Wrong = (String, String);

/// One entry of `[[rules]]`.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct OwnRuleLine {
    id: String,
    title: String,
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    severity: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    treatment: Option<String>,
    words: Vec<String>,
    pattern: String,
    origins: Vec<String>,
    examples: Vec<String>,
    counter_examples: Vec<String>,
}

/// A rule of the organisation.
#[derive(Clone, Debug)]
pub struct OwnRule {
    /// `own.` and the id that the policy gives it.
    pub id: String,
    /// What it looks for, in one sentence.
    pub title: String,
    /// Why that matters.
    pub reason: ReasonCode,
    /// How bad it is if the finding is right.
    pub severity: Severity,
    /// How likely the finding is right.
    pub confidence: Confidence,
    /// What it suggests.
    pub suggests: Treatment,
    /// Who must have written the text; empty: anybody.
    pub origins: Vec<Origin>,
    /// Texts on which it fires.
    pub examples: Vec<String>,
    /// Texts on which it stays silent.
    pub counter_examples: Vec<String>,
    letters: Letters,
    words: Vec<String>,
    pattern: Regex,
}

/// How a rule compares letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Letters {
    /// In any case: none of its words holds a capital.
    AnyCase,
    /// As they are written in the policy.
    AsWritten,
}

/// What a rule finds in one text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnHits {
    /// Where, in order.
    pub spans: Vec<Range<usize>>,
    /// Whether that is all.
    pub extent: Extent,
}

/// Whether a search went to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// It did.
    Complete,
    /// It was given up: there is more, or may be.
    GivenUp,
}

impl OwnRule {
    /// How it compares letters.
    pub fn letters(&self) -> Letters {
        self.letters
    }

    /// The spans that it finds in a text: at most `most`, each with one of its words in the match.
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
    /// For each word of the gate, the rules that have it.
    of_word: Vec<Vec<usize>>,
}

impl OwnRules {
    /// Checks and compiles the lines of a policy.
    pub(super) fn new(lines: &[OwnRuleLine], codes: &[OwnCode]) -> Result<Self, Wrong> {
        if lines.is_empty() {
            return Ok(Self::default());
        }
        if lines.len() > MOST_RULES {
            let why = format!("expected at most {MOST_RULES} rules, found {}", lines.len());
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
            if !ids.insert(rule.id.clone()) {
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

    /// Every rule, in the order of the policy.
    pub fn iter(&self) -> impl Iterator<Item = &OwnRule> + Clone {
        self.rules.iter()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The rules of which a word stands in a text, in either case: only these can find anything there.
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

impl OwnRuleLine {
    /// The id under which the rule is reported and what it says is to be made of its findings, if it does.
    pub(super) fn treatment(&self) -> Option<(String, String)> {
        let treatment = self.treatment.clone()?;
        Some((format!("{OWN_FAMILY}.{}", self.id), treatment))
    }

    fn has_id(&self) -> bool {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        (1..=LONGEST_ID).contains(&self.id.len()) && self.id.chars().all(fits)
    }

    fn build(&self, codes: &[OwnCode]) -> Result<OwnRule, (&'static str, String)> {
        if !self.has_id() {
            let why = format!(
                "expected 1 to {LONGEST_ID} of `a-z 0-9 _`, found `{}`",
                self.id.escape_debug()
            );
            return Err(("id", why));
        }
        let title = self.title.trim();
        let is_title = !title.is_empty()
            && title.chars().nth(LONGEST_TITLE).is_none()
            && !title.chars().any(|c| c.is_control() || c == '|');
        if !is_title {
            let why =
                format!("expected what it looks for, in one line without `|`, at most {LONGEST_TITLE} characters");
            return Err(("title", why));
        }
        let letters = self.letters();
        let rule = OwnRule {
            id: format!("{OWN_FAMILY}.{}", self.id),
            title: title.trim_end_matches('.').to_owned() + ".",
            reason: self.reason(codes).map_err(|why| ("reason", why))?,
            severity: named(self.severity.as_deref().unwrap_or("medium"), Severity::ALL, |s| {
                s.as_str()
            })
            .map_err(|why| ("severity", why))?,
            confidence: named(self.confidence.as_deref().unwrap_or("medium"), Confidence::ALL, |c| {
                c.as_str()
            })
            .map_err(|why| ("confidence", why))?,
            suggests: named(self.treatment.as_deref().unwrap_or("evidence"), SUGGESTED, |t| {
                t.as_str()
            })
            .map_err(|why| ("treatment", why))?,
            origins: all_named(&self.origins, Origin::ALL, |o| o.as_str()).map_err(|why| ("origins", why))?,
            examples: self.examples.clone(),
            counter_examples: self.counter_examples.clone(),
            letters,
            words: self.words().map_err(|why| ("words", why))?,
            pattern: self.pattern(letters).map_err(|why| ("pattern", why))?,
        };
        self.hold_meeting(&rule)?;
        self.hold_examples(&rule)?;
        Ok(rule)
    }

    fn reason(&self, codes: &[OwnCode]) -> Result<ReasonCode, String> {
        let known = ReasonCode::parse(&self.reason).filter(|code| {
            !matches!(code, ReasonCode::Organisation(_)) || codes.iter().any(|declared| declared.code == *code)
        });
        known.ok_or_else(|| {
            format!(
                "expected a published reason code or an `org.…` of `[reason_codes]`, found `{}`",
                self.reason.escape_debug()
            )
        })
    }

    fn letters(&self) -> Letters {
        match self.words.iter().flat_map(|word| word.chars()).any(char::is_uppercase) {
            true => Letters::AsWritten,
            false => Letters::AnyCase,
        }
    }

    fn words(&self) -> Result<Vec<String>, String> {
        let (least, most) = (WORD_BYTES.start(), WORD_BYTES.end());
        if self.words.is_empty() || self.words.len() > MOST_WORDS {
            return Err(format!(
                "expected 1 to {MOST_WORDS} words, one of which stands in all that the rule finds, found {}",
                self.words.len()
            ));
        }
        match self.words.iter().find(|word| !WORD_BYTES.contains(&word.len())) {
            Some(word) => Err(format!(
                "expected words of {least} to {most} bytes, found `{}`, which has {}",
                word.escape_debug(),
                word.len()
            )),
            None => Ok(self.words.clone()),
        }
    }

    fn pattern(&self, letters: Letters) -> Result<Regex, String> {
        let text = &self.pattern;
        if text.is_empty() || text.len() > LONGEST_PATTERN {
            return Err(format!(
                "expected an expression of 1 to {LONGEST_PATTERN} bytes, found {}",
                text.len()
            ));
        }
        let pattern = RegexBuilder::new(text)
            .case_insensitive(letters == Letters::AnyCase)
            .size_limit(COMPILED_BYTES)
            .build()
            .map_err(|error| format!("expected an expression: {error}"))?;
        match ["", "a 1"].iter().any(|text| {
            let mut found = pattern.find_iter(text);
            found.any(|found| found.is_empty())
        }) {
            true => Err("expected an expression that fits no empty text".to_owned()),
            false => Ok(pattern),
        }
    }

    /// A rule none of whose words can stand in what its expression finds would never say anything.
    fn hold_meeting(&self, rule: &OwnRule) -> Result<(), (&'static str, String)> {
        let Some(walk) = Walk::of(&self.pattern, rule.letters, COMPILED_BYTES) else {
            return Ok(());
        };
        if rule.words.iter().any(|word| walk.may_meet(word)) {
            return Ok(());
        }
        let words: Vec<String> = rule
            .words
            .iter()
            .map(|word| format!("`{}`", word.escape_debug()))
            .collect();
        let capitals = match rule.letters {
            Letters::AsWritten => "; as one holds a capital, letters are compared as they are written",
            Letters::AnyCase => "",
        };
        let why = format!(
            "expected one of them in what `pattern` finds, found that nothing it fits holds {}{capitals}",
            words.join(" or ")
        );
        Err(("words", why))
    }

    fn hold_examples(&self, rule: &OwnRule) -> Result<(), (&'static str, String)> {
        let bounded = |list: &[String]| {
            list.len() <= MOST_EXAMPLES && list.iter().all(|text| (1..=LONGEST_EXAMPLE).contains(&text.len()))
        };
        for (key, list) in [
            ("examples", &self.examples),
            ("counter_examples", &self.counter_examples),
        ] {
            if !bounded(list) {
                let why = format!("expected at most {MOST_EXAMPLES} texts of 1 to {LONGEST_EXAMPLE} bytes");
                return Err((key, why));
            }
        }
        if let Some(text) = self.examples.iter().find(|text| !rule.finds_in(text)) {
            let what = match rule.pattern.is_match(text) {
                true => "expected one of `words` in what `pattern` finds",
                false => "expected a text in which `pattern` finds something",
            };
            return Err(("examples", format!("{what}, found `{}`", text.escape_debug())));
        }
        match self.counter_examples.iter().find(|text| rule.finds_in(text)) {
            Some(text) => Err((
                "counter_examples",
                format!(
                    "expected a text in which the rule finds nothing, found `{}`",
                    text.escape_debug()
                ),
            )),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
