//! Words by which the rules over sessions tell what names and sentences are about: the lists of `words.toml`.

use std::collections::HashSet;
use std::sync::LazyLock;

use serde::Deserialize;

use super::data_file_error::DataFileError;
use crate::tools::words_of;

static READ: LazyLock<Result<Words, DataFileError>> = LazyLock::new(|| {
    toml::from_str(include_str!("words.toml")).map_err(|error| DataFileError::new("words.toml", &error))
});
static NONE: LazyLock<Words> = LazyLock::new(Words::default);

/// The lists, described where they stand.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Words {
    pub(super) bodies: HashSet<String>,
    pub(super) receivers: HashSet<String>,
    pub(super) amounts: HashSet<String>,
    pub(super) quantities: HashSet<String>,
    pub(super) rights: HashSet<String>,
    pub(super) guests: HashSet<String>,
    pub(super) software: HashSet<String>,
    pub(super) hints: HashSet<String>,
    pub(super) sending: HashSet<String>,
    pub(super) everything: HashSet<String>,
    pub(super) leave: HashSet<String>,
    pub(super) standing: HashSet<String>,
    pub(super) ordering: HashSet<String>,
    pub(super) open_places: HashSet<String>,
    pub(super) carrying: HashSet<String>,
    pub(super) searching: HashSet<String>,
    pub(super) fillers: HashSet<String>,
    pub(super) statements: HashSet<String>,
    pub(super) common: HashSet<String>,
    pub(super) file_endings: HashSet<String>,
}

/// Reads the lists.
pub(super) fn check() -> Result<(), DataFileError> {
    READ.as_ref().map(|_| ()).map_err(Clone::clone)
}

/// The lists. INVARIANT: whoever starts the program has called [`check`].
pub(super) fn words() -> &'static Words {
    READ.as_ref().unwrap_or(&NONE)
}

/// Whether a name, taken apart into words, has one of a list.
pub(super) fn names_one_of(name: &str, list: &HashSet<String>) -> bool {
    words_of(name).iter().any(|word| list.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_read_and_written_small() {
        assert!(check().is_ok() && words().bodies.contains("subject"));
        let text = include_str!("words.toml").lines().filter(|line| !line.starts_with('#'));
        for line in text {
            assert_eq!(line, line.to_lowercase());
        }
        assert!(names_one_of("createStandingOrder", &words().standing));
        assert!(!names_one_of("read_file", &words().standing));
    }
}
