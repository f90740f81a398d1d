//! Patterns of dangerous commands that are data: `rules/command_patterns_*.toml`, `rules/command_combinations.toml`.
//!
//! An expression is tried only where one of its needles stands in the text.

use serde::Deserialize;

use super::{Danger, Dangers};
use crate::text::expression::Expression;
use crate::text::keywords::{Keywords, Word};
use crate::text::{DataError, DataFile};

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
}

struct Pattern {
    danger: Danger,
    expression: Expression,
}

/// The patterns of one file, and the needles of each as a vocabulary.
#[derive(Default)]
pub(super) struct Patterns {
    needles: Keywords,
    patterns: Vec<Pattern>,
}

impl Patterns {
    /// Reads a file.
    pub(super) fn load(data_file: DataFile, needle: fn(&str) -> Word) -> Result<Self, DataError> {
        let file: File = data_file.read()?;
        let mut needles = Vec::new();
        let mut patterns = Vec::new();
        for data in file.pattern {
            needles.push(data.needles.iter().map(|text| needle(text)).collect());
            patterns.push(Pattern {
                danger: data_file.key(&data.danger)?,
                expression: Expression::of_file(data.expression),
            });
        }
        Ok(Self {
            needles: Keywords::of(needles),
            patterns,
        })
    }

    /// Compiles every expression.
    #[cfg(test)]
    pub(super) fn compile(&self) -> bool {
        self.patterns.iter().all(|pattern| pattern.expression.regex().is_some())
    }

    /// Adds the danger of every pattern that a text fits.
    pub(super) fn search(&self, text: &str, seen: &mut Dangers) {
        let hits = self.needles.hits(text);
        for (index, pattern) in self.patterns.iter().enumerate() {
            if hits.of(index).next().is_some()
                && let Some(hit) = pattern.expression.find(text)
            {
                seen.add_at(pattern.danger, hit.range());
            }
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CombinationFile {
    combination: Vec<CombinationData>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CombinationData {
    danger: String,
    all: Vec<Vec<String>>,
}

/// Things that are dangerous together: of each list a text holds at least one.
#[derive(Default)]
pub(super) struct Combinations(Vec<(Danger, CombinationData)>);

impl Combinations {
    /// Reads a file.
    pub(super) fn load(data_file: DataFile) -> Result<Self, DataError> {
        let file: CombinationFile = data_file.read()?;
        let named = |data: CombinationData| Ok((data_file.key(&data.danger)?, data));
        file.combination
            .into_iter()
            .map(named)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Adds the danger of every combination that a text holds.
    pub(super) fn search(&self, text: &str, seen: &mut Dangers) {
        for (danger, data) in &self.0 {
            let holds_one = |list: &Vec<String>| list.iter().any(|part| text.contains(part.as_str()));
            if data.all.iter().all(holds_one) {
                let at = text.find("connect").map_or(0..text.len().min(1), |at| at..at + 7);
                seen.add_at(*danger, at);
            }
        }
    }
}
