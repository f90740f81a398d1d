//! Text that is typed into a field to change the query around it.

use std::ops::Range;
use std::sync::LazyLock;

use crate::text::expression::expressions;
use crate::text::keywords::{Keywords, Word};

expressions! {
    /// Text that is typed into a field to change the query around it.
    static INJECTED = r#"(?i)['"\)]\s*(?:or|and)\s+(?:\d+\s*=\s*\d+|['"][^'"]{0,20}['"]\s*=\s*['"]|true\b)|\bunion\s+(?:all\s+)?select\b[^\n]{0,200}\bfrom\b|['"\d]\s*;\s*(?:drop|delete|truncate|alter|update|insert|exec)\s+[^\n]{0,80}(?:--|#|/\*)|\bwaitfor\s+delay\b|\b(?:sleep|pg_sleep|benchmark)\s*\(\s*\d"#;
}

/// Words of which one stands in nearly everything that [`INJECTED`] fits.
static INJECTING: LazyLock<Keywords> = LazyLock::new(|| {
    let words = ["union", "--", "sleep", "waitfor", "benchmark"];
    Keywords::of([words.map(Word::any_case).to_vec()])
});

pub(super) fn injected(text: &str) -> Option<Range<usize>> {
    const MAX_LEN: usize = 2_000;
    if text.len() > MAX_LEN || !text.contains(['\'', '"', ';', '(', ' ']) {
        return None;
    }
    let has_or = || text.as_bytes().windows(2).any(|pair| pair.eq_ignore_ascii_case(b"or"));
    let has_word = || !INJECTING.hits(text).is_empty();
    if !(text.contains('=') && has_or() || has_word()) {
        return None;
    }
    INJECTED.find(text).map(|hit| hit.range())
}
