//! Patterns for names: `*` stands for any characters, `?` for one.

use regex::{RegexSet, RegexSetBuilder};

/// A set of name patterns, compiled.
#[derive(Clone, Debug)]
pub struct NamePatterns {
    set: RegexSet,
    written: Vec<String>,
}

impl NamePatterns {
    /// Compiles patterns. Names are compared exactly, letter case included.
    ///
    /// # Errors
    ///
    /// When a pattern is empty or too large to compile.
    pub fn new(patterns: &[String]) -> Result<Self, String> {
        let expressions = patterns
            .iter()
            .map(|pattern| Self::expression(pattern))
            .collect::<Result<Vec<_>, _>>()?;
        let set = RegexSetBuilder::new(expressions)
            .build()
            .map_err(|error| error.to_string())?;
        Ok(Self {
            set,
            written: patterns.to_vec(),
        })
    }

    /// Whether any pattern fits the whole name.
    pub fn matches(&self, name: &str) -> bool {
        self.set.is_match(name)
    }

    /// The patterns that fit none of these names: misspelled ones, most likely.
    pub fn fitting_none<'n>(&self, names: impl Iterator<Item = &'n str>) -> Vec<&str> {
        let mut unused: Vec<bool> = vec![true; self.written.len()];
        for name in names {
            for index in self.set.matches(name) {
                if let Some(unused) = unused.get_mut(index) {
                    *unused = false;
                }
            }
        }
        self.written
            .iter()
            .zip(unused)
            .filter(|(_, unused)| *unused)
            .map(|(pattern, _)| pattern.as_str())
            .collect()
    }

    /// Whether there is no pattern at all.
    pub fn is_empty(&self) -> bool {
        self.set.is_empty()
    }

    fn expression(pattern: &str) -> Result<String, String> {
        if pattern.is_empty() {
            return Err("expected a name pattern, found an empty string".to_owned());
        }
        let body: String = pattern
            .chars()
            .map(|c| match c {
                '*' => ".*".to_owned(),
                '?' => ".".to_owned(),
                other => regex::escape(other.encode_utf8(&mut [0; 4])),
            })
            .collect();
        Ok(format!("(?s)^{body}$"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks_stand_for_characters_and_nothing_else_does() {
        let patterns = NamePatterns::new(&["mail.*".into(), "r?ad".into(), "a+b".into()]).unwrap();
        for yes in ["mail.send", "mail.", "read", "road", "a+b"] {
            assert!(patterns.matches(yes), "{yes}");
        }
        for no in ["mailXsend", "xmail.send", "rad", "aab", "READ"] {
            assert!(!patterns.matches(no), "{no}");
        }
        assert!(NamePatterns::new(&[String::new()]).is_err());
        assert_eq!(patterns.fitting_none(["read", "mail.send"].into_iter()), ["a+b"]);
    }
}
