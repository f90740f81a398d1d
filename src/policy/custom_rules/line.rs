//! One entry of `[[rules]]` as it is written, and its checks.

use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};

use super::{Letters, OWN_FAMILY, OwnRule};
use crate::model::{Confidence, Origin, ReasonCode, Rule, RuleObject, Severity, Treatment, all_of, one_of};
use crate::policy::OwnCode;
use crate::policy::values::line;

/// The longest id.
const MAX_ID: usize = 64;
/// The longest title, in characters.
const MAX_TITLE: usize = 200;
/// The most words of a rule.
const MAX_WORDS: usize = 64;
/// Bytes of a word.
const WORD_BYTES: std::ops::RangeInclusive<usize> = 3..=64;
/// The longest expression, in bytes.
pub(super) const MAX_PATTERN: usize = 1000;
/// Bytes of a compiled expression.
const COMPILED_BYTES: usize = 1 << 20;
/// The most examples of a kind, and the bytes of one.
const MAX_EXAMPLES: usize = 32;
const MAX_EXAMPLE: usize = 2000;
/// The treatments that a rule may suggest. Not `allow`: a text that an attacker may have written would settle a step.
const SUGGESTED: &[Treatment] = &[
    Treatment::Ignore,
    Treatment::Evidence,
    Treatment::Mask,
    Treatment::Suspect,
    Treatment::Deny,
];

/// One entry of `[[rules]]`.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct OwnRuleLine {
    pub(super) id: String,
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

impl OwnRuleLine {
    /// Returns the id under which the rule is reported and what it says is to be made of its findings, if it does.
    pub(in crate::policy) fn treatment(&self) -> Option<(String, String)> {
        let treatment = self.treatment.clone()?;
        Some((format!("{OWN_FAMILY}.{}", self.id), treatment))
    }

    pub(super) fn has_id(&self) -> bool {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        (1..=MAX_ID).contains(&self.id.len()) && self.id.chars().all(fits)
    }

    pub(super) fn build(&self, codes: &[OwnCode]) -> Result<OwnRule, (&'static str, String)> {
        if !self.has_id() {
            let why = format!(
                "expected 1 to {MAX_ID} of `a-z 0-9 _`, found `{}`",
                self.id.escape_debug()
            );
            return Err(("id", why));
        }
        let title = line(&self.title, MAX_TITLE).ok_or_else(|| {
            let why = format!("expected what it looks for, in one line without `|`, at most {MAX_TITLE} characters");
            ("title", why)
        })?;
        let letters = self.letters();
        let rule = Rule {
            id: format!("{OWN_FAMILY}.{}", self.id),
            title: title.trim_end_matches('.').to_owned() + ".",
            reason: self.reason(codes).map_err(|why| ("reason", why))?,
            severity: one_of(self.severity.as_deref().unwrap_or("medium"), Severity::ALL)
                .map_err(|why| ("severity", why))?,
            confidence: one_of(self.confidence.as_deref().unwrap_or("medium"), Confidence::ALL)
                .map_err(|why| ("confidence", why))?,
            suggests: one_of(self.treatment.as_deref().unwrap_or("evidence"), SUGGESTED)
                .map_err(|why| ("treatment", why))?,
            fires_on: self.examples.clone(),
            silent_on: self.counter_examples.clone(),
            // What an organisation forbids, its users cannot allow.
            object: RuleObject::Nothing,
            administration: false,
        };
        let own = OwnRule {
            rule,
            origins: all_of(&self.origins, Origin::ALL).map_err(|why| ("origins", why))?,
            letters,
            words: self.words().map_err(|why| ("words", why))?,
            pattern: self.pattern(letters).map_err(|why| ("pattern", why))?,
        };
        self.hold_examples(&own)?;
        Ok(own)
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
        if self.words.is_empty() || self.words.len() > MAX_WORDS {
            return Err(format!(
                "expected 1 to {MAX_WORDS} words, one of which every match contains, found {}",
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
        if text.is_empty() || text.len() > MAX_PATTERN {
            return Err(format!(
                "expected an expression of 1 to {MAX_PATTERN} bytes, found {}",
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

    fn hold_examples(&self, rule: &OwnRule) -> Result<(), (&'static str, String)> {
        let bounded = |list: &[String]| {
            list.len() <= MAX_EXAMPLES && list.iter().all(|text| (1..=MAX_EXAMPLE).contains(&text.len()))
        };
        for (key, list) in [
            ("examples", &self.examples),
            ("counter_examples", &self.counter_examples),
        ] {
            if !bounded(list) {
                let why = format!("expected at most {MAX_EXAMPLES} texts of 1 to {MAX_EXAMPLE} bytes");
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
