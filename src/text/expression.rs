//! Regular expressions, declared once, checked at the start, compiled when first needed.
//!
//! Some hundred expressions stand behind keywords, and most of them are never needed: compiled at the start, they took
//! seconds of processor time and tens of MiB. So the start parses each (what does not parse stops it), and the first text
//! that needs one compiles it. Tests compile all of them.
//!
//! A border of words as Unicode has it (`\b`) makes the automaton give up at the first letter beyond ASCII, and the search
//! goes on ten to fifty times slower. What our expressions name is written in ASCII, so that a border of ASCII words says
//! the same of it.

use std::borrow::Cow;
use std::sync::OnceLock;

use regex::bytes;
use regex::{CaptureMatches, Matches, Regex};
use regex_syntax::ParserBuilder;

/// An expression that does not compile.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{file}, `{name}`: {why}")]
pub struct ExpressionError {
    file: &'static str,
    name: &'static str,
    why: String,
}

impl ExpressionError {
    /// Describes an error in the value that a file holds under a name.
    pub(crate) fn new(file: &'static str, name: &'static str, why: String) -> Self {
        Self { file, name, why }
    }
}

/// An expression over text: checked at the start, compiled when first used.
#[derive(Debug)]
pub(crate) struct Expression {
    name: &'static str,
    text: Cow<'static, str>,
    regex: OnceLock<Option<Regex>>,
}

impl Expression {
    /// An expression of this name. Declare it with [`expressions!`], which sees to it that it is checked.
    pub(crate) const fn new(name: &'static str, text: &'static str) -> Self {
        Self {
            name,
            text: Cow::Borrowed(text),
            regex: OnceLock::new(),
        }
    }

    /// An expression that a file holds under some name.
    pub(crate) fn of_file(file: &'static str, name: &'static str, text: String) -> Result<Self, ExpressionError> {
        let expression = Self {
            name,
            text: Cow::Owned(text),
            regex: OnceLock::new(),
        };
        expression.check(file)?;
        Ok(expression)
    }

    /// Parses it.
    pub(crate) fn check(&self, file: &'static str) -> Result<(), ExpressionError> {
        let parsed = ParserBuilder::new().build().parse(&with_plain_borders(&self.text));
        parsed.map(drop).map_err(|error| ExpressionError {
            file,
            name: self.name,
            why: error.to_string(),
        })
    }

    /// The compiled expression. There is always one: screening begins with a call of `check`, and a test compiles every
    /// expression.
    pub(crate) fn regex(&self) -> Option<&Regex> {
        self.regex
            .get_or_init(|| Regex::new(&with_plain_borders(&self.text)).ok())
            .as_ref()
    }

    /// Returns `true` if it matches anywhere.
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

/// Declares the expressions of a file, `check_expressions`, which parses all of them, and a test that compiles them.
macro_rules! expressions {
    ($($(#[$doc:meta])* static $name:ident = $text:expr;)+) => {
        $($(#[$doc])* static $name: $crate::text::expression::Expression =
            $crate::text::expression::Expression::new(stringify!($name), $text);)+

        /// Parses the expressions of this file.
        pub(crate) fn check_expressions() -> Result<(), $crate::text::expression::ExpressionError> {
            $($name.check(file!())?;)+
            Ok(())
        }

        #[cfg(test)]
        #[test]
        fn every_expression_compiles() {
            $(assert!($name.regex().is_some(), stringify!($name));)+
        }
    };
}
pub(crate) use expressions;

/// An expression over bytes, without the classes of Unicode: parsed when it is read, compiled when first used.
#[derive(Debug)]
pub(crate) struct ByteExpression {
    text: String,
    regex: OnceLock<Option<bytes::Regex>>,
}

impl ByteExpression {
    /// The most bytes that a compiled expression may take.
    const MAX_BYTES: usize = 4 << 20;

    /// Parses an expression.
    pub(crate) fn parse(text: String) -> Result<Self, String> {
        let mut parser = ParserBuilder::new().unicode(false).utf8(false).build();
        parser.parse(&text).map_err(|error| error.to_string())?;
        let regex = OnceLock::new();
        Ok(Self { text, regex })
    }

    /// The compiled expression. There is always one: it was parsed, and tests compile every expression.
    pub(crate) fn regex(&self) -> Option<&bytes::Regex> {
        let compile = || {
            let mut builder = bytes::RegexBuilder::new(&self.text);
            builder.unicode(false).size_limit(Self::MAX_BYTES).build().ok()
        };
        self.regex.get_or_init(compile).as_ref()
    }
}

/// The expression with the borders of ASCII words.
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
