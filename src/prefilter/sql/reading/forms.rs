//! Statements whose whole form leaves no doubt, although no parser here takes them, or takes them for something less.
//!
//! It is handed a text without comments and literals, in lower case.

use crate::prefilter::words::sql_reading_forms::ENDS;
use std::ops::Range;

use super::{Reading, Trait};
use crate::prefilter::disposable::is_disposable;

/// The most statements that are looked at.
const MAX: usize = 64;
/// The most words of a statement that are looked at.
const MAX_WORDS: usize = 200;

/// What statements of these forms do; where there is one, nothing about the text is in doubt.
pub(super) fn by_form(blank: &str, span: &Range<usize>, reading: &mut Reading) {
    const VERBS: &[&str] = &["drop", "delete", "merge", "replace", "insert", "create"];
    let mut beyond_doubt = false;
    for statement in blank.split(';').take(MAX) {
        let is_sign = |c: char| c.is_whitespace() || matches!(c, '(' | ')' | '=' | ',');
        let words: Vec<&str> = statement
            .split(is_sign)
            .filter(|word| !word.is_empty())
            .take(MAX_WORDS)
            .collect();
        let Some((verb, rest)) = words.split_first().filter(|(verb, _)| VERBS.contains(verb)) else {
            continue;
        };
        let seen = match *verb {
            // What a parser takes it knows better: which tables are temporary, for one.
            "drop" if reading.certain => None,
            "drop" => drops(rest),
            "delete" => deletes(rest),
            "merge" => merges(rest),
            "create" => replaces_by_nothing(rest),
            _ => rewrites(verb, rest),
        };
        if let Some(seen) = seen {
            reading.add(seen, span);
            beyond_doubt = true;
        }
    }
    reading.certain |= beyond_doubt;
}

fn of_names<'w>(seen: Trait, mut names: impl Iterator<Item = &'w &'w str>) -> Trait {
    match names.all(|name| is_disposable(name)) {
        true => Trait::DropsMinor,
        false => seen,
    }
}

/// `DROP OWNED BY a`, `DROP KEYSPACE a`, `DROP TABLE a PURGE`.
fn drops(rest: &[&str]) -> Option<Trait> {
    let (kind, rest) = rest.split_first()?;
    if (*kind == "owned" && rest.first() == Some(&"by")) || (*kind == "all" && rest.first() == Some(&"objects")) {
        return Some(Trait::Drops);
    }
    if ![
        "table",
        "tables",
        "database",
        "schema",
        "keyspace",
        "tablespace",
        "collection",
        "measurement",
    ]
    .contains(kind)
    {
        return None;
    }
    let rest = rest.strip_prefix(&["if", "exists"]).unwrap_or(rest);
    let names = rest.iter().take_while(|word| !ENDS.contains(word)).count();
    let (names, ends) = rest.split_at_checked(names)?;
    let is_whole = ends.iter().all(|word| ENDS.contains(word));
    (is_whole && names.len() == 1).then(|| of_names(Trait::Drops, names.iter()))
}

/// `DELETE a FROM b a`, `DELETE TOP (9) FROM a`, `DELETE a`, and conditions that hold for every row.
fn deletes(rest: &[&str]) -> Option<Trait> {
    let narrows = ["join", "limit"].iter().any(|word| rest.contains(word));
    let condition = rest.iter().position(|word| *word == "where");
    let Some(condition) = condition else {
        let name = match rest {
            [only] => only,
            ["top", number, "from", name, ..] | ["top", number, name, ..]
                if number.bytes().all(|b| b.is_ascii_digit()) =>
            {
                name
            }
            [alias, "from", name, ..] if *alias != "from" => name,
            _ => return None,
        };
        return (!narrows).then(|| of_names(Trait::WritesEverywhere, std::iter::once(name)));
    };
    let (head, condition) = rest.split_at_checked(condition)?;
    let ["from", name, ..] = head else { return None };
    let everywhere = match condition {
        ["where", "exists", "select", number] => number.bytes().all(|byte| byte.is_ascii_digit()),
        ["where", column, "in" | "any" | "some", "select", chosen, "from", of] => column == chosen && name == of,
        ["where", "not", left, right] => {
            left != right
                && [left, right]
                    .iter()
                    .all(|side| side.bytes().all(|b| b.is_ascii_digit()))
        }
        _ => false,
    };
    everywhere.then(|| of_names(Trait::WritesEverywhere, std::iter::once(name)))
}

/// `MERGE INTO a USING a … WHEN MATCHED THEN DELETE`: a table that is matched with itself.
fn merges(rest: &[&str]) -> Option<Trait> {
    let rest = rest.strip_prefix(&["into"]).unwrap_or(rest);
    let name = rest.first()?;
    let source = rest
        .iter()
        .position(|word| *word == "using")
        .and_then(|at| rest.get(at + 1))?;
    let deletes = rest.windows(3).any(|words| words == ["matched", "then", "delete"]);
    (deletes && source == name).then(|| of_names(Trait::WritesEverywhere, std::iter::once(name)))
}

/// `CREATE OR REPLACE TABLE a AS SELECT … LIMIT 0`: the table is left empty.
fn replaces_by_nothing(rest: &[&str]) -> Option<Trait> {
    let ["or", "replace", "table", name, "as", "select", query @ ..] = rest else {
        return None;
    };
    let is_empty = query.ends_with(&["limit", "0"])
        || query.ends_with(&["where", "false"])
        || matches!(query, [.., "where", left, right] if left != right && [left, right].iter().all(|side| side.bytes().all(|b| b.is_ascii_digit())));
    is_empty.then(|| of_names(Trait::Drops, std::iter::once(name)))
}

/// `REPLACE INTO a SELECT … FROM a`: every row is written anew.
fn rewrites(verb: &str, rest: &[&str]) -> Option<Trait> {
    let ["into", name, query @ ..] = rest else { return None };
    let from = query.windows(2).any(|words| words == ["from", *name]);
    let overwrites = verb == "replace" || query.windows(3).any(|words| words == ["on", "duplicate", "key"]);
    let narrows = ["where", "join", "limit"].iter().any(|word| query.contains(word));
    (from && overwrites && !narrows).then(|| of_names(Trait::WritesEverywhere, std::iter::once(name)))
}

#[cfg(test)]
mod tests;
