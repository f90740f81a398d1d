//! Lists of words that are looked for in texts, all in one pass: a word is found where a word begins, and may go on unless it ends
//! with `|`. Scripts without spaces are searched anywhere.

use aho_corasick::AhoCorasick;

/// Lists, by their number.
pub(super) struct WordLists {
    search: AhoCorasick,
    /// Of each word: its list, and whether it may not go on.
    words: Vec<(usize, bool)>,
}

impl WordLists {
    /// The lists in this order.
    ///
    /// # Errors
    ///
    /// When they are too many to be searched for.
    pub(super) fn new(lists: Vec<Vec<String>>) -> Result<Self, aho_corasick::BuildError> {
        let (mut words, mut patterns) = (Vec::new(), Vec::new());
        for (list, entries) in lists.into_iter().enumerate() {
            for entry in entries {
                words.push((list, entry.ends_with('|')));
                patterns.push(entry.trim_end_matches('|').to_owned());
            }
        }
        let search = AhoCorasick::new(&patterns)?;
        Ok(Self { search, words })
    }

    /// Whether a word of this list stands in a text of small letters.
    pub(super) fn has(&self, list: usize, lower: &str) -> bool {
        self.search.find_overlapping_iter(lower).any(|found| {
            let Some((of, whole)) = self.words.get(found.pattern().as_usize()) else {
                return false;
            };
            let before = lower.get(..found.start()).and_then(|text| text.chars().next_back());
            let inside = lower.get(found.start()..).and_then(|text| text.chars().next());
            let after = lower.get(found.end()..).and_then(|text| text.chars().next());
            let begins = inside.is_none_or(|c| is_unspaced(c) || !c.is_alphanumeric())
                || before.is_none_or(|c| !c.is_alphanumeric() || is_unspaced(c));
            let ends = !whole || after.is_none_or(|c| !c.is_alphanumeric() || is_unspaced(c));
            *of == list && begins && ends
        })
    }
}

/// Scripts in which words are not set apart, or take their article in front.
pub(super) fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{0590}'..='\u{06FF}' | '\u{0E00}'..='\u{0E7F}' | '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7AF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_begin_where_words_begin_and_may_go_on() {
        let lists = [vec!["pin|".to_owned(), "password".to_owned()], vec!["密码".to_owned()]];
        let lists = WordLists::new(lists.to_vec()).unwrap();
        assert!(lists.has(0, "your pin, please"));
        assert!(lists.has(0, "all passwords"));
        assert!(!lists.has(0, "pinned; a mypassword"));
        assert!(lists.has(1, "请输入密码。") && !lists.has(0, "请输入密码。"));
    }
}
