//! Names in a policy file and the values of closed sets that they stand for. An error lists the names that there are.

/// The key and what is wrong with it.
pub(super) type Wrong = (String, String);

/// Reads a text of one line without `|`, of at most so many characters, without blanks around it.
pub(super) fn line(text: &str, longest: usize) -> Option<&str> {
    let text = text.trim();
    let fits =
        !text.is_empty() && text.chars().nth(longest).is_none() && !text.chars().any(|c| c.is_control() || c == '|');
    fits.then_some(text)
}

/// Returns the value that a table gives this name.
pub(super) fn one_of<T: Copy>(name: &str, table: &[(&str, T)]) -> Result<T, String> {
    table
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, value)| *value)
        .ok_or_else(|| {
            format!(
                "expected one of {}, found `{name}`",
                list(table.iter().map(|(known, _)| *known))
            )
        })
}

/// Returns the value of this name.
pub(super) fn named<T: Copy>(name: &str, all: &[T], as_str: fn(T) -> &'static str) -> Result<T, String> {
    all.iter().copied().find(|value| as_str(*value) == name).ok_or_else(|| {
        format!(
            "expected one of {}, found `{name}`",
            list(all.iter().map(|value| as_str(*value)))
        )
    })
}

/// Returns the values of these names.
pub(super) fn all_named<T: Copy>(names: &[String], all: &[T], as_str: fn(T) -> &'static str) -> Result<Vec<T>, String> {
    names.iter().map(|name| named(name, all, as_str)).collect()
}

pub(super) fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
