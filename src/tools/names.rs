//! The words of names and descriptions.

use crate::model::head;

/// Words of a name that are read.
pub(super) const MAX_WORDS: usize = 24;
/// Bytes of a name, or of a description, that are read.
const MAX_BYTES: usize = 256;

/// The words of a name, lower case: `mail.sendAll_now` is `send`, `all`, `now`, `mail`. The last part of a dotted name comes
/// first, because that is where the verb stands.
pub(crate) fn words_of(name: &str) -> Vec<String> {
    let name = head(name, MAX_BYTES);
    let mut parts: Vec<&str> = name.split(['.', '/', ':']).flat_map(|part| part.split("__")).collect();
    parts.reverse();
    let mut words = Vec::new();
    for part in parts {
        split_part(part, &mut words);
    }
    words.truncate(MAX_WORDS);
    words
}

fn split_part(part: &str, words: &mut Vec<String>) {
    let mut word = String::new();
    let mut previous_lower = false;
    let letters: Vec<char> = part.chars().collect();
    for (index, c) in letters.iter().enumerate() {
        let next_lower = letters.get(index + 1).is_some_and(|next| next.is_lowercase());
        // `sendHTTPRequest`: a capital begins a word after a small letter, and before one.
        let begins = c.is_uppercase() && (previous_lower || (next_lower && !word.is_empty()));
        if (begins || !c.is_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        previous_lower = c.is_lowercase();
    }
    if !word.is_empty() {
        words.push(word);
    }
}

/// The words of a description's first sentence; its verb often ends in an s.
pub(super) fn sentence(description: &str) -> Vec<String> {
    let head = head(description, MAX_BYTES);
    let sentence = head.split(['.', '\n']).next().unwrap_or_default();
    let mut words = Vec::new();
    split_part(&sentence.to_lowercase(), &mut words);
    words.truncate(MAX_WORDS);
    if let Some(first) = words.first_mut()
        && let Some(stem) = first.strip_suffix('s')
    {
        *first = stem.to_owned();
    }
    words
}

/// Returns `true` if a word is another form of this one: its plural.
pub(super) fn is_form_of(word: &str, object: &str) -> bool {
    word.strip_prefix(object)
        .is_some_and(|rest| matches!(rest, "" | "s" | "es"))
        || word
            .strip_suffix("ies")
            .is_some_and(|stem| object.strip_suffix('y') == Some(stem))
}
