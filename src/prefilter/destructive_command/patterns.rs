//! Patterns of dangerous commands that are data: `rules/command_patterns_*.toml`.
//!
//! An expression is tried only where one of its needles stands in the text.

use regex::Regex;
use serde::Deserialize;

use super::{Danger, Seen};
use crate::prefilter::engine::{RuleError, RuleKey};
use crate::text::expression::compile_of;
use crate::text::keywords::{Keywords, Word};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    pattern: Vec<Data>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    danger: String,
    needles: Vec<String>,
    expression: String,
    what: String,
}

struct Pattern {
    danger: Danger,
    regex: Regex,
    what: String,
}

/// The patterns of one file, and the needles of each as a vocabulary.
pub(super) struct Patterns {
    needles: Keywords,
    patterns: Vec<Pattern>,
}

impl Patterns {
    /// Reads a file and compiles its expressions.
    pub(super) fn load(name: &'static str, text: &str, needle: fn(&str) -> Word) -> Result<Self, RuleError> {
        let malformed = |why: String| RuleError::Malformed { file: name, why };
        let file: File = toml::from_str(text).map_err(|error| malformed(error.to_string()))?;
        let mut needles = Vec::new();
        let mut patterns = Vec::new();
        for data in file.pattern {
            let danger = Danger::ALL.iter().find(|(_, id)| *id == data.danger);
            let (danger, _) = danger.ok_or_else(|| malformed(format!("`{}` is no rule", data.danger)))?;
            needles.push(data.needles.iter().map(|text| needle(text)).collect());
            patterns.push(Pattern {
                danger: *danger,
                regex: compile_of(name, "expression", &data.expression)?,
                what: data.what,
            });
        }
        Ok(Self {
            needles: Keywords::of(needles),
            patterns,
        })
    }

    /// Adds the danger of every pattern that a text fits.
    pub(super) fn search(&self, text: &str, seen: &mut Seen) {
        let hits = self.needles.hits(text);
        for (index, pattern) in self.patterns.iter().enumerate() {
            if hits.of(index).next().is_some()
                && let Some(hit) = pattern.regex.find(text)
            {
                seen.add_at(pattern.danger, hit.range(), pattern.what.clone());
            }
        }
    }
}
