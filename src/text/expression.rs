//! Expressions whose search takes the same time in every script.
//!
//! A border of words as Unicode has it (`\b`) makes the automaton give up at the first letter beyond ASCII, and the search
//! goes on ten to fifty times slower. What our expressions name is written in ASCII, so that a border of ASCII words says
//! the same of it.

use regex::Regex;

/// Compiles an expression with the borders of ASCII words; `None` when it is none, which tests of its owner hold.
pub(crate) fn expression(text: &str) -> Option<Regex> {
    Regex::new(&with_plain_borders(text)).ok()
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
mod tests {
    use super::*;

    #[test]
    fn borders_become_those_of_ascii_and_nothing_else_changes() {
        assert_eq!(
            with_plain_borders(r"\brm\b \\bin [^\s]"),
            r"(?-u:\b)rm(?-u:\b) \\bin [^\s]"
        );
        assert_eq!(with_plain_borders("\\"), "\\");
        assert!(expression("(").is_none());
    }

    #[test]
    fn words_are_told_apart_in_any_script() {
        let remove = expression(r"(?i)\brm\b").unwrap();
        for (text, found) in [("да rm да", true), ("RM", true), ("farm", false), ("忽略rm忽略", true)] {
            assert_eq!(remove.is_match(text), found, "{text}");
        }
    }
}
