//! The surroundings of a value: the words before and after it, and the name it has in the document.

use std::ops::Range;

/// Bytes before a value that can say what it is.
const BEFORE: usize = 56;
/// Bytes after it.
const AFTER: usize = 40;

/// The surroundings of a value, in lower case.
pub(super) struct Context<'n> {
    before: String,
    after: String,
    name: &'n str,
    /// True if anything but digits and their separators stands before the value.
    wordy: bool,
}

impl<'n> Context<'n> {
    /// The surroundings of these bytes of a text that stands under this name.
    pub(super) fn of(text: &str, span: &Range<usize>, name: &'n str) -> Self {
        let from = text.ceil_char_boundary(span.start.saturating_sub(BEFORE));
        let to = text.floor_char_boundary(text.len().min(span.end.saturating_add(AFTER)));
        let lower = |range: Range<usize>| text.get(range).unwrap_or_default().to_lowercase();
        let before = lower(from..span.start);
        let is_word = |byte: u8| !byte.is_ascii() || byte.is_ascii_alphabetic();
        Self {
            wordy: before.bytes().any(is_word),
            before,
            after: lower(span.end..to),
            name,
        }
    }

    /// Returns `true` if one of these words, each with nothing of a word before it, stands before the value or is in its name.
    ///
    /// Every word has a letter or a sign that is not ASCII.
    pub(super) fn says(&self, words: &[&str]) -> bool {
        let begins_in = |text: &str| words.iter().any(|word| begins_a_word(text, word));
        self.wordy && begins_in(&self.before) || begins_in(self.name)
    }

    /// Returns `true` if one of these words stands right behind the value.
    pub(super) fn goes_on_with(&self, words: &[&str]) -> bool {
        let after = self.after.trim_start_matches(|c: char| !c.is_alphanumeric());
        words.iter().any(|word| after.starts_with(word))
    }

    /// Returns `true` if the value is called one of these right behind it: `… is my phone number`.
    pub(super) fn is_called(&self, words: &[&str]) -> bool {
        let after = self.after.trim_start();
        ["is ", "as ", "ist ", "est ", "es ", "è ", "é ", "("]
            .iter()
            .any(|verb| after.starts_with(verb))
            && words.iter().any(|word| begins_a_word(after, word))
    }

    /// Returns `true` if the words right before the value end with one of these.
    pub(super) fn ends_with(&self, words: &[&str]) -> bool {
        let before = self.before.trim_end_matches([' ', ':']);
        words.iter().any(|word| {
            before
                .strip_suffix(word)
                .is_some_and(|rest| !rest.ends_with(char::is_alphanumeric))
        })
    }

    /// Returns `true` if one of these words stands among the last few characters before the value.
    pub(super) fn ends_near(&self, words: &[&str]) -> bool {
        let from = self.before.ceil_char_boundary(self.before.len().saturating_sub(20));
        let near = self.before.get(from..).unwrap_or_default();
        words.iter().any(|word| begins_a_word(near, word))
    }

    /// The last characters before the value.
    pub(super) fn before(&self) -> &str {
        &self.before
    }

    /// The first characters after it.
    pub(super) fn after(&self) -> &str {
        &self.after
    }
}

fn begins_a_word(text: &str, word: &str) -> bool {
    // Both are short: a searcher would take longer to build than to run.
    let Some((first, others)) = word.as_bytes().split_first() else {
        return false;
    };
    let bytes = text.as_bytes();
    memchr::memchr_iter(*first, bytes).any(|at| {
        bytes.get(at + 1..).is_some_and(|rest| rest.starts_with(others))
            && !text
                .get(..at)
                .is_some_and(|before| before.ends_with(|c: char| c.is_alphanumeric()))
    })
}

/// The words of a name in any of the usual spellings, with blanks between them: `dateOfBirth`, `date-of-birth` → `date of birth`.
pub(super) fn plain_name(name: &str) -> String {
    let mut plain = String::with_capacity(name.len() + 4);
    let mut last_small = false;
    let mut chars = name.chars().take(80).peekable();
    let mut last_capital = false;
    while let Some(c) = chars.next() {
        if !c.is_alphanumeric() {
            if !plain.ends_with(' ') && !plain.is_empty() {
                plain.push(' ');
            }
            last_small = false;
            last_capital = false;
            continue;
        }
        // `dateOfBirth`, and `SSNNumber`: the last of several capitals begins a word when a small letter follows.
        let begins = last_capital && chars.peek().is_some_and(|next| next.is_lowercase());
        if c.is_uppercase() && (last_small || begins) {
            plain.push(' ');
        }
        last_capital = c.is_uppercase();
        last_small = c.is_lowercase() || c.is_numeric();
        plain.extend(c.to_lowercase());
    }
    plain.truncate(plain.trim_end().len());
    plain
}

#[cfg(test)]
mod tests;
