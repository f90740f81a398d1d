//! Single letters with gaps between them that spell instructions.

use crate::prefilter::words::obfuscation_gaps::COMPACT;
use std::ops::Range;

use crate::prefilter::injected_instruction::telling;

/// Single letters in a run with gaps.
const MIN_LONELY: usize = 12;

/// Runs of single letters with gaps that spell instructions.
pub(super) fn gaps(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let is_gap = |byte: Option<&u8>| byte.is_some_and(|byte| b" .-_*|/\n\t\"',+~:".contains(byte));
    let mut spans = Vec::new();
    let mut at = 0;
    while at + 2 * MIN_LONELY <= bytes.len() + 1 {
        let lonely = |place: usize| {
            bytes.get(place).is_some_and(u8::is_ascii_alphabetic)
                && (place == 0 || is_gap(bytes.get(place - 1)))
                && (place + 1 == bytes.len() || is_gap(bytes.get(place + 1)))
        };
        if !lonely(at) {
            at += 1;
            continue;
        }
        let start = at;
        let mut end = at;
        let mut joined = String::new();
        let mut letters = 0;
        while lonely(at) {
            joined.extend(bytes.get(at).map(|byte| char::from(*byte)));
            letters += 1;
            end = at + 1;
            at += 1;
            let gap = (at..at + 6).take_while(|place| is_gap(bytes.get(*place))).count();
            if gap > 1
                || bytes.get(at) == Some(&b' ')
                    && bytes.get(at + 2).is_some_and(|byte| matches!(byte, b'.' | b'-' | b'_'))
            {
                joined.push(' ');
            }
            at += gap.max(1);
        }
        if letters >= MIN_LONELY && spells_instructions(&joined) {
            spans.push(start..end);
        }
    }
    spans
}

fn spells_instructions(joined: &str) -> bool {
    let compact: String = joined.split(' ').collect();
    COMPACT.iter().any(|word| compact.contains(word)) || !telling(joined).is_empty()
}
