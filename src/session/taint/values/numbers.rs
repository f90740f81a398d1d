//! Numbers of a text, and accounts that are written in groups: the values that no single token holds.

use std::ops::Range;

use super::{Value, ValueKind, key};
use crate::text::fingerprint::Hasher;

/// Numbers: long ones with whatever separates their groups, accounts in groups of four, and distinctive short ones.
pub(super) fn numbers(text: &str, found: &mut Vec<Value>) {
    let bytes = text.as_bytes();
    let get = |at: usize| bytes.get(at).copied().unwrap_or(0);
    let mut at = 0;
    let begins = |byte: &u8| byte.is_ascii_digit() || byte.is_ascii_uppercase();
    while let Some(ahead) = bytes.get(at..).and_then(|rest| rest.iter().position(begins)) {
        at += ahead;
        let byte = get(at);
        let before = |back: usize| at.checked_sub(back).map_or(0, get);
        let inside = before(1).is_ascii_alphanumeric()
            || before(1) == b'_'
            || before(1) == b'-' && before(2).is_ascii_alphabetic();
        if inside {
            at += 1;
            continue;
        }
        if byte.is_ascii_uppercase() {
            if let Some(span) = grouped_account(bytes, at) {
                at = span.end;
                if let Some(value) = text.get(span.clone()) {
                    found.push(Value {
                        kind: ValueKind::Account,
                        key: key(ValueKind::Account, value),
                        span,
                    });
                }
                continue;
            }
            at += 1;
            continue;
        }
        let run = number(bytes, at);
        at = run.end.max(at + 1);
        if let Some((kind, key)) = run.value(bytes) {
            found.push(Value {
                kind,
                key,
                span: run.start..run.end,
            });
        }
    }
}

/// `DE89 3704 0044 0532 0130 00`.
fn grouped_account(bytes: &[u8], start: usize) -> Option<Range<usize>> {
    let head = bytes.get(start..start + 5)?;
    let [a, b, c, d, b' ' | b'-'] = head else { return None };
    if !(a.is_ascii_alphabetic() && b.is_ascii_alphabetic() && c.is_ascii_digit() && d.is_ascii_digit()) {
        return None;
    }
    let (mut at, mut end, mut letters) = (start + 4, start + 4, 4);
    while matches!(bytes.get(at), Some(b' ' | b'-')) && letters < 34 {
        let group = bytes
            .get(at + 1..)?
            .iter()
            .take_while(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
            .count();
        if !(1..=4).contains(&group) {
            break;
        }
        letters += group;
        at += 1 + group;
        end = at;
        if group < 4 {
            break;
        }
    }
    (letters >= 14).then_some(start..end)
}

/// A run of digits with what separates them.
struct Run {
    start: usize,
    end: usize,
    digits: usize,
    groups: [usize; 8],
    group_count: usize,
    decimal: bool,
    ends_in_word: bool,
}

fn number(bytes: &[u8], start: usize) -> Run {
    let get = |at: usize| bytes.get(at).copied().unwrap_or(0);
    let mut run = Run {
        start,
        end: start,
        digits: 0,
        groups: [0; 8],
        group_count: 0,
        decimal: false,
        ends_in_word: false,
    };
    let mut at = start;
    loop {
        let group = bytes
            .get(at..)
            .unwrap_or_default()
            .iter()
            .take(32)
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        if group == 0 {
            break;
        }
        if let Some(slot) = run.groups.get_mut(run.group_count) {
            *slot = group;
        }
        run.group_count += 1;
        run.digits += group;
        at += group;
        run.end = at;
        let behind = |next: usize| get(next).is_ascii_digit();
        at = match get(at) {
            b'.' if behind(at + 1) => {
                run.decimal = run.group_count == 1 || run.decimal;
                at + 1
            }
            b',' if behind(at + 1) && behind(at + 2) && behind(at + 3) && !behind(at + 4) => at + 1,
            b' ' | b'-' | b'/' if behind(at + 1) && run.group_count < 8 => at + 1,
            b')' if get(at + 1) == b' ' && behind(at + 2) => at + 2,
            _ => break,
        };
    }
    run.ends_in_word = get(run.end).is_ascii_alphabetic() || get(run.end) == b'_';
    run
}

impl Run {
    fn value(&self, bytes: &[u8]) -> Option<(ValueKind, u64)> {
        let written = bytes.get(self.start..self.end)?;
        if self.ends_in_word || self.is_date() {
            return None;
        }
        let plain = !written.iter().any(|byte| matches!(byte, b' ' | b'-' | b'/' | b')'));
        if plain && self.group_count <= 4 && (self.decimal || written.contains(&b',') || self.digits < 7) {
            return self.amount(written);
        }
        if !(7..=24).contains(&self.digits) {
            return None;
        }
        let mut hasher = Hasher::new(ValueKind::Digits.tag());
        written
            .iter()
            .filter(|byte| byte.is_ascii_digit())
            .for_each(|byte| hasher.byte(*byte));
        Some((ValueKind::Digits, hasher.finish()))
    }

    /// A number that is not one of those that everybody writes: three digits that count, and not merely three digits.
    fn amount(&self, written: &[u8]) -> Option<(ValueKind, u64)> {
        let text: Vec<u8> = written.iter().copied().filter(|byte| *byte != b',').collect();
        let text = std::str::from_utf8(&text).ok()?;
        let shortest = if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.')
        } else {
            text
        };
        let counting = shortest
            .trim_start_matches('0')
            .bytes()
            .filter(u8::is_ascii_digit)
            .count();
        let round = shortest.trim_end_matches('0').len();
        let distinctive = counting >= 3
            && (self.decimal && shortest.contains('.')
                || counting >= 5 && round >= 3
                || counting == 4 && round == 4 && !is_year(shortest));
        if !distinctive || text.matches('.').count() > 1 {
            return None;
        }
        let mut hasher = Hasher::new(ValueKind::Number.tag());
        shortest.bytes().for_each(|byte| hasher.byte(byte));
        Some((ValueKind::Number, hasher.finish()))
    }

    /// `2026-03-01`, `01/03/2026`, also with the time behind.
    fn is_date(&self) -> bool {
        self.group_count >= 3 && matches!(self.groups.get(..3), Some([4, 1..=2, 1..=2] | [1..=2, 1..=2, 4]))
    }
}

fn is_year(digits: &str) -> bool {
    digits.len() == 4 && (digits.starts_with("19") || digits.starts_with("20"))
}
