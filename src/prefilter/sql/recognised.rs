//! Whether a text is SQL: by the name of the argument, or by how it begins.

use super::bare::without_comments;
use crate::prefilter::words::sql_recognised::{DROPPED, SQL_LABELS, STARTS};
use crate::tools::Field;

/// Whether an argument of this name holds SQL.
pub(super) fn is_sql_label(label: &str) -> bool {
    SQL_LABELS.iter().any(|known| known.eq_ignore_ascii_case(label))
}

pub(super) fn is_sql(label: &str, text: &str, field: Field) -> bool {
    if is_sql_label(label) {
        return true;
    }
    // What is looked up is not run.
    if field == Field::Search {
        return false;
    }
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || c == ';');
    if !may_start(text) {
        return false;
    }
    let label = label.to_ascii_lowercase();
    let head: String = text
        .trim_start()
        .chars()
        .take(200)
        .collect::<String>()
        .to_ascii_lowercase();
    let head = without_comments(&head);
    let head = head.split_whitespace().collect::<Vec<_>>().join(" ");
    let head = format!("{head} ");
    let head = head.as_str();
    let Some(start) = STARTS.iter().find(|start| head.starts_with(**start)) else {
        return false;
    };
    // Prose begins with the same words: `drop me a line`, `select a seat`, `update the address`.
    let rest = head.get(start.len()..).unwrap_or_default();
    match start.trim() {
        "select" => {
            rest.contains(" from ")
                || rest.contains('(')
                || rest.starts_with(|c: char| c.is_ascii_digit() || c == '*' || c == '\'')
        }
        "update" => rest.contains(" set "),
        "drop" => DROPPED.iter().any(|kind| rest.trim_start().starts_with(kind)),
        "alter" => ["table", "user", "role", "database", "system", "schema"]
            .iter()
            .any(|kind| rest.trim_start().starts_with(kind)),
        "truncate" => rest.starts_with("table ") || label.contains("query") || field == Field::Database,
        "grant" | "revoke" => rest.contains(" on ") || rest.contains(" to "),
        "with" => rest.contains(" as (") || rest.contains(" as("),
        "copy" => {
            rest.contains(" from ") && (rest.contains("program") || rest.contains("stdin") || rest.contains('\''))
                || rest.contains(" to '")
                || rest.contains(" to program")
        }
        "exec" | "execute" => {
            rest.starts_with("immediate '")
                || rest.starts_with("xp_")
                || rest.starts_with("sp_")
                || rest.starts_with("master")
                || label.contains("query")
        }
        "delete" => {
            let words: Vec<&str> = rest.split_whitespace().take(3).collect();
            let is_short = matches!(words.as_slice(), [_] | ["top", ..] | ["top(", ..] | [_, "from", ..]);
            field == Field::Database && is_short
        }
        "exec(" | "execute(" => rest.trim_start().starts_with(['\'', '@', 'n']),
        "prepare" => rest.contains(" from ") || rest.contains(" as "),
        "set @" | "declare @" => rest.contains(';') && (rest.contains('=') || rest.contains(" as ")),
        "explain" => {
            rest.starts_with("select")
                || rest.starts_with("analyze")
                || rest.starts_with("update")
                || rest.starts_with("delete")
        }
        "attach" => rest.starts_with("database"),
        _ => true,
    }
}

/// Whether a text can begin with one of the [`STARTS`], by its first two characters; a comment may stand among them.
fn may_start(text: &str) -> bool {
    let [first, second, third] = [0, 1, 2].map(|place| text.as_bytes().get(place).copied().unwrap_or_default());
    let comments = |signs: [u8; 2]| matches!(&signs, b"/*" | b"--");
    let begins = |start: &&str| {
        let letters = start.as_bytes();
        letters.first() == Some(&first.to_ascii_lowercase()) && letters.get(1) == Some(&second.to_ascii_lowercase())
    };
    comments([first, second]) || comments([second, third]) || STARTS.iter().any(begins)
}
