//! Patterns of file names, as shells read them.

/// Returns `true` if a pattern of file names fits a name. A class in brackets fits any one character.
///
/// Every step but that of a star uses up a character of the name, which is short; two stars in a row are taken to fit.
pub(crate) fn fits(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern, name) {
        ([], []) => true,
        ([b'*', b'*', ..], _) | ([b'*'], _) => true,
        ([b'*', rest @ ..], _) => (0..=name.len()).any(|at| name.get(at..).is_some_and(|name| fits(rest, name))),
        ([b'[', rest @ ..], [_, name @ ..]) => match rest.iter().position(|byte| *byte == b']') {
            Some(end) => fits(rest.get(end + 1..).unwrap_or_default(), name),
            None => false,
        },
        ([b'?', rest @ ..], [_, name @ ..]) => fits(rest, name),
        ([plain, rest @ ..], [first, name @ ..]) => plain == first && fits(rest, name),
        _ => false,
    }
}
