//! Numbers of a text, and accounts that are written in groups: the values that no single token holds.

use super::{Value, ValueKind, key};
use crate::text::expression::expressions;
use crate::text::fingerprint::Hasher;

expressions! {
    /// Digits with any separators between their groups.
    static NUMBER = r"[0-9]+(?:[. /-][0-9]+|\) [0-9]+|,[0-9]{3}\b)*";
    /// `DE89 3704 0044 0532 0130 00`.
    static ACCOUNT = r"[A-Z]{2}[0-9]{2}(?:[ -][A-Z0-9]{4}\b){2,7}(?:[ -][A-Z0-9]{1,3}\b)?";
    /// `2026-03-01`, `01/03/2026`, also with the time behind.
    static DATE = r"^(?:[0-9]{4}[^0-9]+[0-9]{1,2}[^0-9]+[0-9]{1,2}|[0-9]{1,2}[^0-9]+[0-9]{1,2}[^0-9]+[0-9]{4})(?:[^0-9]|$)";
}

/// Finds numbers: long ones with any separators between their groups, accounts in groups of four, and distinctive short ones.
pub(super) fn numbers(text: &str, found: &mut Vec<Value>) {
    let bytes = text.as_bytes();
    let is_inside = |at: usize| {
        let before = |back: usize| at.checked_sub(back).and_then(|at| bytes.get(at)).copied().unwrap_or(0);
        before(1).is_ascii_alphanumeric() || before(1) == b'_' || before(1) == b'-' && before(2).is_ascii_alphabetic()
    };
    let accounts: Vec<_> = ACCOUNT
        .find_iter(text)
        .filter(|account| !is_inside(account.start()) && account.len() >= 16)
        .collect();
    found.extend(accounts.iter().map(|account| Value {
        kind: ValueKind::Account,
        key: key(ValueKind::Account, account.as_str()),
        span: account.range(),
    }));
    for number in NUMBER.find_iter(text) {
        // Of digits that go on a word, only what follows the word is a number.
        let lead = match is_inside(number.start()) {
            true => number.as_str().find(|c: char| !c.is_ascii_digit()).map(|end| end + 1),
            false => Some(0),
        };
        let Some(start) = lead.map(|lead| number.start() + lead) else {
            continue;
        };
        let written = text.get(start..number.end()).unwrap_or_default();
        let ends_in_word = bytes
            .get(number.end())
            .is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
        let within_account = accounts.iter().any(|account| account.range().contains(&start));
        if ends_in_word || within_account || DATE.is_match(written) {
            continue;
        }
        if let Some((kind, key)) = value(written) {
            found.push(Value {
                kind,
                key,
                span: start..number.end(),
            });
        }
    }
}

fn value(written: &str) -> Option<(ValueKind, u64)> {
    let digits: Vec<u8> = written.bytes().filter(u8::is_ascii_digit).collect();
    let groups = written.split(|c: char| !c.is_ascii_digit()).count();
    let is_plain = !written.contains([' ', '-', '/', ')']);
    if is_plain && groups <= 4 && (written.contains(['.', ',']) || digits.len() < 7) {
        return amount(written);
    }
    (7..=24).contains(&digits.len()).then(|| {
        let mut hasher = Hasher::new(ValueKind::Digits.tag());
        digits.iter().for_each(|digit| hasher.byte(*digit));
        (ValueKind::Digits, hasher.finish())
    })
}

/// Returns a number that is distinctive: three digits that count, and not merely three digits.
fn amount(written: &str) -> Option<(ValueKind, u64)> {
    let text = written.replace(',', "");
    let is_decimal = text.contains('.');
    let shortest = match is_decimal {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text.as_str(),
    };
    let counting = shortest
        .trim_start_matches('0')
        .bytes()
        .filter(u8::is_ascii_digit)
        .count();
    let round = shortest.trim_end_matches('0').len();
    let is_year = shortest.len() == 4 && (shortest.starts_with("19") || shortest.starts_with("20"));
    let distinctive = counting >= 3
        && (shortest.contains('.') || counting >= 5 && round >= 3 || counting == 4 && round == 4 && !is_year);
    if !distinctive || text.matches('.').count() > 1 {
        return None;
    }
    let mut hasher = Hasher::new(ValueKind::Number.tag());
    shortest.bytes().for_each(|byte| hasher.byte(byte));
    Some((ValueKind::Number, hasher.finish()))
}
