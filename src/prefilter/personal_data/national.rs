//! National numbers, each by its form and its own check digits: the table of `rules/personal_numbers.toml`.
//!
//! A number with a form of its own is sure; one that any order number could be counts only when the words around it say what
//! it is.

use std::cmp::Reverse;

use serde::Deserialize;

use super::checksum::Check;
use super::context::Context;
use super::digit_runs::Candidate;
use super::{Datum, Hit};
use crate::model::{Confidence, one_of};
use crate::text::expression::Expression;
use crate::text::{CompiledIn, DataError, data_file};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    number: Vec<Data>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    rule: String,
    fits: String,
    #[serde(default)]
    check: Check,
    #[serde(default)]
    weights: Vec<u32>,
    #[serde(default)]
    modulo: u32,
    #[serde(default)]
    rest: u32,
    #[serde(default)]
    grouped: Vec<(String, String)>,
    #[serde(default)]
    spelled: Vec<(usize, String, String)>,
    said: Vec<String>,
}

/// A way of writing a number, and how sure it is where no word says what it is.
struct Form<W> {
    written: W,
    unsaid: Option<Confidence>,
}

/// A kind of number.
pub(super) struct Number {
    datum: Datum,
    fits: Expression,
    data: Data,
    grouped: Vec<Form<String>>,
    spelled: Vec<(usize, Form<Expression>)>,
}

pub(super) static NUMBERS: CompiledIn<Vec<Number>> = CompiledIn::new(|| {
    let data_file = data_file!("prefilter/rules/personal_numbers.toml");
    let file: File = data_file.read()?;
    let unsaid = |name: &str| match name {
        "none" => Ok(None),
        name => one_of(name, Confidence::ALL)
            .map(Some)
            .map_err(|why| data_file.error(why)),
    };
    let number = |mut data: Data| {
        let grouped = std::mem::take(&mut data.grouped).into_iter();
        let spelled = std::mem::take(&mut data.spelled).into_iter();
        let grouped = grouped.map(|(written, name)| {
            let unsaid = unsaid(&name)?;
            Ok(Form { written, unsaid })
        });
        let spelled = spelled.map(|(length, written, name)| {
            let (written, unsaid) = (Expression::of_file(written), unsaid(&name)?);
            Ok((length, Form { written, unsaid }))
        });
        Ok(Number {
            datum: data_file.key(&data.rule)?,
            fits: Expression::of_file(format!("^(?:{})$", data.fits)),
            grouped: grouped.collect::<Result<_, DataError>>()?,
            spelled: spelled.collect::<Result<_, DataError>>()?,
            data,
        })
    };
    file.number.into_iter().map(number).collect()
});

impl Number {
    /// Returns `true` if letters and digits without separators are such a number.
    fn is(&self, number: &[u8]) -> bool {
        let upper = String::from_utf8_lossy(number).to_ascii_uppercase();
        self.fits.is_match(&upper)
            && self.data.check.holds(upper.as_bytes())
            && (self.data.modulo == 0 || self.is_weighed(upper.as_bytes()))
    }

    fn is_weighed(&self, number: &[u8]) -> bool {
        let value = |byte: &u8| char::from(*byte).to_digit(10).unwrap_or(10);
        let digits = number.iter().map(value);
        let sum: u32 = digits
            .zip(&self.data.weights)
            .map(|(digit, weight)| digit * weight)
            .sum();
        sum > 0 && sum % self.data.modulo == self.data.rest
    }

    /// Returns the confidence that a number of a form is one, given the words around it.
    fn confidence<W>(&self, form: &Form<W>, context: &Context<'_>) -> Option<Confidence> {
        let words: Vec<&str> = self.data.said.iter().map(String::as_str).collect();
        match context.says(&words) || context.is_called(&words) {
            true => Some(Confidence::High),
            false => form.unsaid,
        }
    }
}

/// The national number that a candidate is, given the words around it; of several the surest.
pub(super) fn national(candidate: &Candidate<'_>, context: &Context<'_>) -> Option<Hit> {
    if !(9..=15).contains(&candidate.digits.len()) || !candidate.stands_alone() {
        return None;
    }
    let written = candidate.form();
    let rated = NUMBERS.get().iter().filter_map(|number| {
        let mut forms = number.grouped.iter();
        let form = forms.find(|form| form.written == "*" || form.written == written)?;
        // What checks is rare, so the words are asked for last.
        let confidence = number.is(&candidate.digits).then(|| number.confidence(form, context))?;
        Some(candidate.hit(number.datum, confidence?))
    });
    rated.max_by_key(|hit| (hit.confidence, Reverse(hit.datum)))
}

/// The national number with letters that begins here with a word of so many characters.
pub(super) fn with_letters(text: &str, start: usize, length: usize, name: &str) -> Option<Hit> {
    let rest = text.get(start..)?;
    let all = NUMBERS
        .get()
        .iter()
        .flat_map(|number| number.spelled.iter().map(move |form| (number, form)));
    all.filter(|(_, (known, _))| *known == length)
        .find_map(|(number, (_, form))| {
            let found = form.written.find(rest)?;
            let bare: Vec<u8> = found.as_str().bytes().filter(u8::is_ascii_alphanumeric).collect();
            let span = start..start + found.end();
            let confidence = number
                .is(&bare)
                .then(|| number.confidence(form, &Context::of(text, &span, name)))??;
            Some(Hit {
                datum: number.datum,
                span,
                confidence,
            })
        })
}

#[cfg(test)]
mod tests;
