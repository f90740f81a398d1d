//! Regular expressions, declared once, compiled when first needed.
//!
//! Some hundred expressions stand behind keywords, and most of them are never needed: compiled at the start, they took
//! seconds of processor time and tens of MiB, and to parse them took a quarter of the time of a hook (debug build). So the first
//! text that needs one compiles it. Tests compile all that are part of the program.
//!
//! A border of words as Unicode has it (`\b`) makes the automaton give up at the first letter beyond ASCII, and the search
//! goes on ten to fifty times slower. What our expressions name is written in ASCII, so that a border of ASCII words says
//! the same of it.

use std::borrow::Cow;
use std::sync::{LazyLock, OnceLock};

use regex::bytes;
use regex::{CaptureMatches, Matches, Regex};

/// An expression over text, compiled when first used.
#[derive(Debug)]
pub(crate) struct Expression {
    text: Cow<'static, str>,
    regex: OnceLock<Option<Regex>>,
}

impl Expression {
    /// Makes an expression. Declare it with [`expressions!`], which sees to it that it is tested.
    pub(crate) const fn new(text: &'static str) -> Self {
        Self {
            text: Cow::Borrowed(text),
            regex: OnceLock::new(),
        }
    }

    /// Makes an expression that a file holds. A test of the file's reader compiles it.
    pub(crate) const fn of_file(text: String) -> Self {
        Self {
            text: Cow::Owned(text),
            regex: OnceLock::new(),
        }
    }

    /// Returns the compiled expression. There is always one: a test compiles every expression.
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

/// Declares the expressions of a file, and a test that compiles them.
macro_rules! expressions {
    ($($(#[$doc:meta])* static $name:ident = $text:expr;)+) => {
        $($(#[$doc])* static $name: $crate::text::expression::Expression =
            $crate::text::expression::Expression::new($text);)+

        #[cfg(test)]
        #[test]
        fn every_expression_compiles() {
            $(assert!($name.regex().is_some(), stringify!($name));)+
        }
    };
}
pub(crate) use expressions;

/// An expression over bytes, without the classes of Unicode: written and compiled when first used. Tests compile every one.
#[derive(Debug)]
pub(crate) struct ByteExpression(LazyLock<Option<bytes::Regex>, Box<dyn FnOnce() -> Option<bytes::Regex> + Send>>);

impl ByteExpression {
    /// The most bytes that a compiled expression may take.
    const MAX_BYTES: usize = 4 << 20;

    /// Makes an expression of this text.
    pub(crate) fn new(text: impl FnOnce() -> String + Send + 'static) -> Self {
        Self(LazyLock::new(Box::new(|| {
            let mut builder = bytes::RegexBuilder::new(&text());
            builder.unicode(false).size_limit(Self::MAX_BYTES).build().ok()
        })))
    }

    /// Returns the compiled expression. There is always one.
    pub(crate) fn regex(&self) -> Option<&bytes::Regex> {
        self.0.as_ref()
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
