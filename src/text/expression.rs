//! Expressions whose search takes the same time in every script, declared once and checked at the start.
//!
//! A border of words as Unicode has it (`\b`) makes the automaton give up at the first letter beyond ASCII, and the search
//! goes on ten to fifty times slower. What our expressions name is written in ASCII, so that a border of ASCII words says
//! the same of it.

use std::sync::OnceLock;

use regex::{CaptureMatches, Matches, Regex};

/// An expression that does not compile.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{file}, `{name}`: {why}")]
pub struct ExpressionError {
    file: &'static str,
    name: &'static str,
    why: String,
}

/// An expression in the code: compiled when it is checked, or first used.
#[derive(Debug)]
pub(crate) struct Expression {
    name: &'static str,
    text: &'static str,
    regex: OnceLock<Option<Regex>>,
}

impl Expression {
    /// An expression of this name. Declare it with [`expressions!`], which sees to it that it is checked.
    pub(crate) const fn new(name: &'static str, text: &'static str) -> Self {
        Self {
            name,
            text,
            regex: OnceLock::new(),
        }
    }

    /// Compiles it.
    pub(crate) fn check(&self, file: &'static str) -> Result<(), ExpressionError> {
        let compiled = compile_of(file, self.name, self.text)?;
        self.regex.get_or_init(|| Some(compiled));
        Ok(())
    }

    fn regex(&self) -> Option<&Regex> {
        // INVARIANT: whoever screens has called `check` at the start, so that there is always one.
        self.regex.get_or_init(|| compile(self.text).ok()).as_ref()
    }

    /// Whether it fits anywhere.
    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.regex().is_some_and(|regex| regex.is_match(text))
    }

    /// The first place where it fits.
    pub(crate) fn find<'t>(&self, text: &'t str) -> Option<regex::Match<'t>> {
        self.regex()?.find(text)
    }

    /// Every place where it fits.
    pub(crate) fn find_iter<'r, 't>(
        &'r self,
        text: &'t str,
    ) -> std::iter::Flatten<std::option::IntoIter<Matches<'r, 't>>> {
        self.regex().map(|regex| regex.find_iter(text)).into_iter().flatten()
    }

    /// The groups of every place where it fits.
    pub(crate) fn captures_iter<'r, 't>(
        &'r self,
        text: &'t str,
    ) -> std::iter::Flatten<std::option::IntoIter<CaptureMatches<'r, 't>>> {
        self.regex()
            .map(|regex| regex.captures_iter(text))
            .into_iter()
            .flatten()
    }
}

/// Declares the expressions of a file, and `check_expressions`, which compiles all of them.
macro_rules! expressions {
    ($($(#[$doc:meta])* static $name:ident = $text:expr;)+) => {
        $($(#[$doc])* static $name: $crate::text::expression::Expression =
            $crate::text::expression::Expression::new(stringify!($name), $text);)+

        /// Compiles the expressions of this file.
        pub(crate) fn check_expressions() -> Result<(), $crate::text::expression::ExpressionError> {
            $($name.check(file!())?;)+
            Ok(())
        }
    };
}
pub(crate) use expressions;

/// Compiles an expression of a table, which a file holds under some name.
pub(crate) fn compile_of(file: &'static str, name: &'static str, text: &str) -> Result<Regex, ExpressionError> {
    compile(text).map_err(|error| ExpressionError {
        file,
        name,
        why: error.to_string(),
    })
}

/// Compiles an expression with the borders of ASCII words.
fn compile(text: &str) -> Result<Regex, regex::Error> {
    Regex::new(&with_plain_borders(text))
}

fn with_plain_borders(text: &str) -> String {
    let mut plain = String::with_capacity(text.len() + 32);
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match (c, rest.clone().next()) {
            ('\\', Some('b')) => {
                rest.next();
                plain.push_str(r"(?-u:\b)");
            }
            ('\\', Some(escaped)) => {
                rest.next();
                plain.extend([c, escaped]);
            }
            (c, _) => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests;
