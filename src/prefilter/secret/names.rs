//! Names of secrets: which words in a name promise one, and which words around them take the promise back.

use crate::prefilter::words::secret_names::{NOT_AFTER, NOT_BEFORE, PASSWORDS, TOKENS};

/// The kind of value that a name promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Label {
    /// Something that a person may have chosen.
    Password,
    /// Something that a machine made.
    Token,
    /// Something that is only sometimes a secret.
    Key,
}

const KEYS: &[&str] = &["key"];

/// The names of the gate, with what they promise.
pub(super) fn keywords() -> impl Iterator<Item = (&'static str, Label)> {
    let all = |names: &'static [&'static str], label| names.iter().map(move |name| (*name, label));
    all(&PASSWORDS, Label::Password)
        .chain(all(&TOKENS, Label::Token))
        .chain(all(KEYS, Label::Key))
}

/// Returns `true` if a name stands for the secret itself and not for something around it.
pub(super) fn names_a_secret(before: &str, keyword: &str, after: &str, label: Label) -> bool {
    // `tokens`, `keyboard`, `secretary`: the keyword goes on as another word.
    let goes_on = after.starts_with(|c: char| c.is_ascii_lowercase())
        && !(keyword.ends_with(char::is_uppercase) || is_plain_suffix(after));
    if goes_on || words(after).any(|word| is_listed(word, &NOT_AFTER)) {
        return false;
    }
    let closest = words(before).last();
    if closest.is_some_and(|word| is_listed(word, &NOT_BEFORE)) {
        return false;
    }
    match label {
        // `monkey`, `donkey`: a bare `key` has to be a word of its own, in a longer name.
        Label::Key => closest.is_some() && (before.ends_with(['_', '-', '.']) || keyword.starts_with('K')),
        // `bypass`, `compass`: a short word has to be a word of its own.
        Label::Password => keyword.len() > 4 || alone(before, keyword, after),
        Label::Token => true,
    }
}

/// Returns `true` if a keyword is a whole word of its name.
fn alone(before: &str, keyword: &str, after: &str) -> bool {
    let capital = keyword.starts_with(char::is_uppercase);
    let word = capital && keyword.ends_with(char::is_lowercase);
    let begins = !before.ends_with(|c: char| c.is_ascii_alphanumeric())
        || capital && before.ends_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
        // `DBPass`, but not `COMPASS`.
        || word && before.ends_with(|c: char| c.is_ascii_uppercase());
    begins && !after.starts_with(|c: char| c.is_ascii_alphanumeric())
}

fn is_plain_suffix(after: &str) -> bool {
    after.bytes().take_while(u8::is_ascii_alphabetic).count() == 0
}

fn is_listed(word: &str, list: &[&str]) -> bool {
    list.iter().any(|listed| listed.eq_ignore_ascii_case(word))
}

/// The words of a name in any of the usual spellings.
fn words(name: &str) -> impl Iterator<Item = &str> {
    let humps = |piece| {
        let mut last_small = false;
        let begins = move |c: char| {
            let begins = c.is_ascii_uppercase() && last_small;
            last_small = c.is_ascii_lowercase() || c.is_ascii_digit();
            begins
        };
        split_before(piece, begins)
    };
    name.split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|piece| !piece.is_empty())
        .flat_map(humps)
}

/// A piece of ASCII in parts, each of which begins where `begins` says so.
fn split_before(piece: &str, mut begins: impl FnMut(char) -> bool) -> impl Iterator<Item = &str> {
    let mut rest = piece;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        begins(first);
        let end = rest
            .char_indices()
            .skip(1)
            .find(|(_, c)| begins(*c))
            .map_or(rest.len(), |(at, _)| at);
        let (part, behind) = rest.split_at_checked(end)?;
        rest = behind;
        Some(part)
    })
}
