//! What words and their order tell where no parser takes the text, or more than a parser tells.
//!
//! It is handed a text without comments and literals, in lower case.

use std::ops::Range;

use super::{Reading, Trait};
use crate::prefilter::words::sql_reading_searched::{CATALOGUES, COMMANDS, DELAYS, FILES};

/// What single words tell, in a text without comments and literals.
pub(super) fn by_word(blank: &str, span: &Range<usize>, reading: &mut Reading) {
    let has = |any: &[&str]| any.iter().any(|word| blank.contains(word));
    if has(&COMMANDS) {
        reading.add(Trait::RunsCommand, span);
    }
    if has(&FILES) {
        reading.add(Trait::TouchesFiles, span);
    }
    if blank.contains("when matched then delete") && has(&[" on 1=1", " on 1 = 1", " on true", " on (1=1)"]) {
        reading.add(Trait::WritesEverywhere, span);
    }
    if has(&[" union ", "union all"]) && has(&CATALOGUES) || has(&DELAYS) {
        reading.add(Trait::Injected, span);
    }
    if (blank.trim_start().starts_with("grant ") && blank.contains(" to "))
        || (has(&["superuser", "createrole", "bypassrls"])
            && has(&["alter user", "alter role", "create user", "create role"]))
    {
        reading.add(Trait::Grants, span);
    }
}

/// What the shape tells where no parser takes the text.
pub(super) fn by_shape(blank: &str, span: &Range<usize>, reading: &mut Reading) {
    let mut read_before = false;
    for statement in blank.split(';') {
        let statement = statement
            .trim_start_matches(|c: char| c.is_whitespace() || c == '\'' || c == ')' || c == '"' || c.is_ascii_digit());
        let words: Vec<&str> = statement.split_whitespace().take(400).collect();
        let second = |kinds: &[&str]| words.get(1).is_some_and(|word| kinds.contains(word));
        let wrote = match words.first().copied().unwrap_or_default() {
            "drop" if second(&["table", "database", "schema", "view", "index", "user", "role"]) => {
                reading.add(Trait::Drops, span);
                true
            }
            "truncate" => {
                reading.add(Trait::Drops, span);
                true
            }
            "alter" if statement.contains(" drop ") => {
                reading.add(Trait::DropsColumn, span);
                true
            }
            "delete" if second(&["from"]) && !words.contains(&"where") => {
                reading.add(Trait::WritesEverywhere, span);
                true
            }
            "update" if words.contains(&"set") && !words.contains(&"where") => {
                reading.add(Trait::WritesEverywhere, span);
                true
            }
            "delete" | "update" | "insert" => true,
            "with"
                if ["(delete from ", "(update ", "(insert into "]
                    .iter()
                    .any(|part| statement.contains(part)) =>
            {
                reading.add(Trait::HiddenWrite, span);
                false
            }
            _ => false,
        };
        if wrote && read_before {
            reading.add(Trait::SeveralWithWrite, span);
        }
        read_before |= !wrote && !statement.is_empty();
    }
    if (blank.starts_with('\'') || blank.contains("' or ") || blank.contains(" or 1=1"))
        && (blank.contains("--") || blank.contains("1=1") || blank.contains("''=''"))
    {
        reading.add(Trait::Injected, span);
    }
}
