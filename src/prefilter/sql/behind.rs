//! Statements that stand behind something that is none, and losses in the languages of other databases.

use std::ops::Range;

use super::reading::{self, Reading, Trait};
use super::recognised::is_sql_label;
use crate::text::expression::expressions;
use crate::tools::Field;

/// The places where a statement may begin that stands behind something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beginning {
    /// Behind a sign, a quotation mark or a line.
    Anywhere,
    /// At the beginning of a line, where no literal of SQL ends.
    OfLine,
}

/// Returns the effects of statements that stand behind something that is none, where the text goes to a database.
pub(super) fn hidden_behind(label: &str, text: &str, field: Field, beginning: Beginning) -> Option<Reading> {
    let asks = is_sql_label(label) || matches!(label.to_ascii_lowercase().as_str(), "query" | "q");
    if field == Field::Search || (field == Field::Other && !asks) {
        return None;
    }
    if let Some(span) = loss_elsewhere(text).filter(|_| field == Field::Database || is_sql_label(label)) {
        return Some(Reading {
            traits: vec![(Trait::Drops, span)],
            certain: true,
        });
    }
    let mut all: Option<Reading> = None;
    for range in behind(text, beginning) {
        let reading = reading::read(text.get(range.clone())?);
        if reading.traits.is_empty() || !reading.certain {
            continue;
        }
        let all = all.get_or_insert_with(|| Reading {
            traits: Vec::new(),
            certain: true,
        });
        let traits = reading.traits.into_iter();
        all.traits.extend(traits.map(|(seen, _)| (seen, range.clone())));
    }
    all
}

expressions! {
    /// A statement that takes something away, wherever one can begin.
    static STATEMENT = r#"(?im)(?:^|[;)"'`]|\bgo\b)\s*(drop\s+(?:table|database|schema|view|index|user|role|function|owned|keyspace|tablespace)\b|truncate\s+(?:table\s+)?\w|delete\s+from\b|alter\s+(?:table|user|role|database)\b|update\s+\S+\s+set\b|exec(?:ute)?\s+(?:immediate|xp_)|copy\s+\w+\s+(?:to|from)\s)"#;
    /// Statements that take everything away in the languages of databases that speak no SQL.
    static ELSE = r"(?i)^\s*(?:redis-cli\s+(?:-\w\s+\S+\s+){0,4})?flush(?:all|db)\b|\bdb\.\w+\.(?:drop|deleteMany|remove)\(\s*(?:\{\s*\})?\s*\)|\bdropDatabase\(\s*\)|^\s*match\s*\(\w*\)\s*(?:detach\s+)?delete\s+\w+\s*;?\s*$";
}

/// The statements that stand behind something else, each up to where the next one begins.
fn behind(text: &str, beginning: Beginning) -> Vec<Range<usize>> {
    const MAX: usize = 8;
    const MAX_LEN: usize = 32 * 1024;
    if text.len() > MAX_LEN {
        return Vec::new();
    }
    let hits = STATEMENT.captures_iter(text).take(MAX);
    let starts = hits.filter_map(|hit| hit.get(1)).map(|verb| verb.start());
    let before = |start: usize| text.get(..start).unwrap_or_default().trim_end_matches([' ', '\t']);
    starts
        .filter(|start| beginning == Beginning::Anywhere || before(*start).ends_with('\n'))
        .map(|start| {
            let rest = text.get(start..).unwrap_or_default();
            let lower = rest.to_ascii_lowercase();
            let last = before(start).chars().next_back();
            let opened = last.filter(|c| matches!(c, '"' | '\'' | '`'));
            let ends = [
                opened.and_then(|quote| lower.find(quote)),
                lower.find(';'),
                lower.find("\ngo"),
                lower.find("```"),
                lower.find("--"),
            ];
            let end = ends.into_iter().flatten().min().unwrap_or(rest.len());
            let bare = rest.get(..end).unwrap_or_default();
            let bare = bare.trim_end_matches(['"', '\'', '`', ' ', '\n', '\r', '\t']);
            start..start + bare.len()
        })
        .collect()
}

/// Returns the place where a text in another language than SQL takes everything away.
fn loss_elsewhere(text: &str) -> Option<Range<usize>> {
    ELSE.find(text).map(|hit| hit.range())
}

#[cfg(test)]
mod tests;
