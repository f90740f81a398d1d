//! Lists and texts of one line in a policy file, and what is wrong with a key.

/// The key and what is wrong with it.
pub(super) type Wrong = (String, String);

/// Builds every entry of a list; the key of an error says which entry it is.
pub(super) fn each<L, T>(
    section: &str,
    lines: &[L],
    build: impl Fn(&L) -> Result<T, (&'static str, String)>,
) -> Result<Vec<T>, Wrong> {
    let built = lines.iter().enumerate().map(|(index, line)| {
        let at = |(key, why)| (format!("{section}[{index}].{key}"), why);
        build(line).map_err(at)
    });
    built.collect()
}

/// Reads a text of one line without `|`, of at most so many characters, without blanks around it.
pub(super) fn line(text: &str, longest: usize) -> Option<&str> {
    let text = text.trim();
    let fits =
        !text.is_empty() && text.chars().nth(longest).is_none() && !text.chars().any(|c| c.is_control() || c == '|');
    fits.then_some(text)
}
