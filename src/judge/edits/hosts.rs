//! The hosts and addresses that a text names.

use std::collections::HashSet;

use unicode_normalization::UnicodeNormalization;

use crate::model::Edit;

/// Returns `true` if a text names a host or an address, once these edits are made, that it did not name before. The edits stand in their order and do
/// not overlap.
pub(super) fn adds(text: &str, edits: &[Edit]) -> bool {
    let mut left = String::with_capacity(text.len());
    let mut at = 0;
    for edit in edits {
        left.push_str(text.get(at..edit.span.start).unwrap_or_default());
        left.push_str(&edit.replacement);
        at = edit.span.end;
    }
    left.push_str(text.get(at..).unwrap_or_default());
    let there = hosts(text);
    hosts(&left).iter().any(|host| !there.contains(host))
}

/// Returns everything with a dot or an at sign inside, in the form that a network knows it by.
fn hosts(text: &str) -> HashSet<String> {
    // Compatibility forms fold first: a full-width `＠` or `．` makes an address all the same.
    let folded: String = text.nfkc().flat_map(char::to_lowercase).collect();
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '@' | '+');
    folded
        .split(|c: char| !is_part(c))
        .map(|word| word.trim_matches(['.', '-', '_', '+', '@']))
        .filter(|word| word.contains(['.', '@']))
        .map(str::to_owned)
        .collect()
}
