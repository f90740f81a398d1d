//! The effects of statements by their words and their form: data in `rules/sql_forms.toml`.
//!
//! It is handed a text without comments and literals, in lower case.

use std::ops::Range;

use serde::Deserialize;

use super::{Reading, Trait};
use crate::prefilter::disposable::is_disposable;
use crate::text::expression::Expression;
use crate::text::{CompiledIn, data_file};

/// The condition under which a form counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum When {
    #[default]
    Always,
    /// Only where no parser takes the text: of a text that it takes it knows better.
    Unparsed,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    form: Vec<Data>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    does: String,
    #[serde(default)]
    when: When,
    /// True if nothing about a statement of this form is in doubt.
    #[serde(default)]
    certain: bool,
    /// Lists of words; the statement holds at least one of each.
    #[serde(default)]
    holds: Vec<Vec<String>>,
    /// An expression that the whole of it fits; the group `table` is the table affected, and the groups that `same` names are written alike.
    fits: Option<String>,
    #[serde(default)]
    unless: Vec<String>,
    #[serde(default)]
    same: Vec<(String, String)>,
}

pub(in crate::prefilter::sql) struct Form {
    seen: Trait,
    fits: Option<Expression>,
    data: Data,
}

pub(in crate::prefilter::sql) static FORMS: CompiledIn<Vec<Form>> = CompiledIn::new(|| {
    let data_file = data_file!("prefilter/rules/sql_forms.toml");
    let file: File = data_file.read()?;
    let form = |data: Data| {
        Ok(Form {
            seen: data_file.key(&data.does)?,
            fits: data.fits.clone().map(Expression::of_file),
            data,
        })
    };
    file.form.into_iter().map(form).collect()
});

/// Adds what the statements of a text do by their form.
pub(super) fn by_form(blank: &str, span: &Range<usize>, reading: &mut Reading) {
    const WRITES: &[&str] = &["drop", "truncate", "alter", "delete", "update", "insert"];
    /// The other words with which a form begins.
    const OTHERS: &[&str] = &["with", "grant", "merge", "create", "replace"];
    let forms = FORMS.get();
    let is_parsed = reading.certain;
    let counts = |form: &&Form| !is_parsed || form.data.when == When::Always;
    for form in forms.iter().filter(counts).filter(|form| form.fits.is_none()) {
        form.look(blank, span, reading);
    }
    let mut read_before = false;
    for statement in blank.split(';') {
        let statement = statement
            .trim_start_matches(|c: char| matches!(c, ' ' | '\'' | ')' | '"') || c.is_ascii_digit())
            .trim_end();
        let verb = statement.split(' ').next().unwrap_or_default();
        let writes = WRITES.contains(&verb);
        if writes && read_before && !is_parsed {
            reading.add(Trait::SeveralWithWrite, span);
        }
        read_before |= !writes && !statement.is_empty();
        if writes || OTHERS.contains(&verb) {
            for form in forms.iter().filter(counts).filter(|form| form.fits.is_some()) {
                form.look(statement, span, reading);
            }
        }
    }
}

impl Form {
    /// Adds what a text of this form does.
    fn look(&self, text: &str, span: &Range<usize>, reading: &mut Reading) {
        if let Some(seen) = self.seen_in(text) {
            reading.add(seen, span);
            reading.certain |= self.data.certain;
        }
    }

    /// Returns the effect of a statement of this form; less, where its table is disposable.
    fn seen_in(&self, statement: &str) -> Option<Trait> {
        let holds_one = |words: &Vec<String>| words.iter().any(|word| statement.contains(word.as_str()));
        let is_other = || {
            statement
                .split(' ')
                .any(|word| self.data.unless.iter().any(|other| other == word))
        };
        if !self.data.holds.iter().all(holds_one) || is_other() {
            return None;
        }
        let Some(fits) = &self.fits else {
            return Some(self.seen);
        };
        let found = fits.captures_iter(statement).next()?;
        let group = |name: &str| found.name(name).map(|group| group.as_str());
        let is_same = self.data.same.iter().all(|(one, other)| group(one) == group(other));
        let seen = match group("table").is_some_and(is_disposable) {
            true => Trait::DropsMinor,
            false => self.seen,
        };
        is_same.then_some(seen)
    }
}

#[cfg(test)]
mod tests;
