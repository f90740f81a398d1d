//! Texts of one line in a policy file, and what is wrong with a key.

/// The key and what is wrong with it.
pub(super) type Wrong = (String, String);

/// Reads a text of one line without `|`, of at most so many characters, without blanks around it.
pub(super) fn line(text: &str, longest: usize) -> Option<&str> {
    let text = text.trim();
    let fits =
        !text.is_empty() && text.chars().nth(longest).is_none() && !text.chars().any(|c| c.is_control() || c == '|');
    fits.then_some(text)
}
