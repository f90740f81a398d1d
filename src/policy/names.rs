//! Patterns for names: `*` stands for any characters, `?` for one.

/// A set of name patterns.
#[derive(Clone, Debug)]
pub struct NamePatterns {
    written: Vec<String>,
}

impl NamePatterns {
    /// Takes patterns. Names are compared exactly, letter case included.
    ///
    /// # Errors
    ///
    /// When a pattern is empty.
    pub fn new(patterns: &[String]) -> Result<Self, String> {
        if patterns.iter().any(String::is_empty) {
            return Err("expected a name pattern, found an empty string".to_owned());
        }
        Ok(Self {
            written: patterns.to_vec(),
        })
    }

    /// Returns `true` if any pattern fits the whole name.
    pub fn matches(&self, name: &str) -> bool {
        self.written.iter().any(|pattern| fits(pattern, name))
    }

    /// Returns the patterns that fit none of these names: misspelled ones, most likely.
    pub fn fitting_none<'n>(&self, names: impl Iterator<Item = &'n str> + Clone) -> Vec<&str> {
        let unused = |pattern: &&str| !names.clone().any(|name| fits(pattern, name));
        self.written.iter().map(String::as_str).filter(unused).collect()
    }

    /// Returns `true` if there is no pattern at all.
    pub fn is_empty(&self) -> bool {
        self.written.is_empty()
    }
}

/// Returns `true` if a pattern fits a whole name. Only the latest star is tried again, so that this takes at most the product of the
/// two lengths.
fn fits(pattern: &str, name: &str) -> bool {
    let (mut pattern, mut name) = (pattern.chars(), name.chars());
    // What stands behind the latest star, and the part of the name that it was last tried on.
    let mut star = None;
    while let Some(found) = name.clone().next() {
        match pattern.clone().next() {
            Some('*') => {
                pattern.next();
                star = Some((pattern.clone(), name.clone()));
            }
            Some(wanted) if wanted == '?' || wanted == found => {
                pattern.next();
                name.next();
            }
            _ => {
                let Some((behind, tried)) = &mut star else {
                    return false;
                };
                tried.next();
                (pattern, name) = (behind.clone(), tried.clone());
            }
        }
    }
    pattern.all(|c| c == '*')
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
        for (pattern, name, fits) in [
            ("*", "", true),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXbYbZ", false),
            ("**x", "x", true),
            ("?", "ä", true),
            ("?", "", false),
            ("ab*", "ab", true),
        ] {
            let patterns = NamePatterns::new(&[pattern.into()]).unwrap();
            assert_eq!(patterns.matches(name), fits, "{pattern} {name}");
        }
        assert!(NamePatterns::new(&[String::new()]).is_err());
        assert_eq!(patterns.fitting_none(["read", "mail.send"].into_iter()), ["a+b"]);
    }
}
