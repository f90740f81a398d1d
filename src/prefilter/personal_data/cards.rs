//! Payment cards: groupings in use, the issuer's range, Luhn's formula, and the words around.

use std::ops::Range;

use super::checksum;
use super::context::Context;
use super::digit_runs::Candidate;
use super::{Datum, Hit};
use crate::model::Confidence::{self, High, Low, Medium};

#[rustfmt::skip]
const CARD_WORDS: &[&str] = &[
    "card", "credit", "debit", "visa", "mastercard", "amex", "american express", "maestro", "cc number", "cc num",
    "cc:", "pan:", "kreditkarte", "carte", "tarjeta", "kartennummer", "discover", "diners", "jcb",
];
#[rustfmt::skip]
const CARD_NUMBER_WORDS: &[&str] = &[
    "card number", "card no", "credit card", "debit card", "kreditkarte", "card_number", "cardnumber",
];

/// Payment cards: fixed groupings, the issuer's range, Luhn.
pub(super) fn cards(text: &str, run: Range<usize>, name: &str, hits: &mut Vec<Hit>) {
    const GROUPINGS: &[&[usize]] = &[
        &[4, 4, 4, 4],
        &[4, 6, 5],
        &[4, 6, 4],
        &[4, 4, 4, 4, 3],
        &[4, 4, 4, 1],
        &[4, 4, 4, 3],
        &[4, 4, 4],
        &[6, 13],
        &[4, 4, 5],
    ];
    /// The number of groups of each of them, in their order; a number may also stand in one piece.
    const COUNTS: [usize; 5] = [1, 4, 3, 5, 2];
    let bytes = text.as_bytes();
    let part = bytes.get(run.clone()).unwrap_or_default();
    let mut groups: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    while let Some(skip) = part.get(at..).and_then(|rest| rest.iter().position(u8::is_ascii_digit)) {
        let start = at + skip;
        let len = part
            .get(start..)
            .unwrap_or_default()
            .iter()
            .take_while(|b| b.is_ascii_digit())
            .count();
        groups.push(run.start + start..run.start + start + len);
        at = start + len;
    }
    let mut next = 0;
    while let Some(first) = groups.get(next) {
        let mut taken = 1;
        for count in COUNTS {
            let Some(run) = groups.get(next..next + count) else {
                continue;
            };
            let fits = if count == 1 {
                (12..=19).contains(&first.len())
            } else {
                let lengths = || run.iter().map(Range::len);
                let grouped = GROUPINGS.iter().any(|grouping| lengths().eq(grouping.iter().copied()));
                let joint = || {
                    run.windows(2).all(|pair| {
                        matches!(pair, [a, b] if matches!(text.get(a.end..b.start), Some(" " | "-")) && a.end < b.start)
                    })
                };
                grouped && joint()
            };
            let Some(last) = run.last().filter(|_| fits) else {
                continue;
            };
            let span = first.start..last.end;
            if !may_be_card(bytes.get(span.clone()).unwrap_or_default()) {
                continue;
            }
            let Some(candidate) = Candidate::of(text, span) else {
                continue;
            };
            let context = Context::of(text, &candidate.span, name);
            if !candidate.stands_alone() && !is_step_of_path(text, &candidate.span, count, &context) {
                continue;
            }
            if let Some(confidence) = card(&candidate, &context) {
                hits.push(candidate.hit(Datum::PaymentCard, confidence));
                taken = count;
                break;
            }
        }
        next += taken;
    }
}

/// Returns `true` if a number is a whole step of a path, and no mere id: written in the groups of a card, or where one is spoken of.
fn is_step_of_path(text: &str, span: &Range<usize>, groups: usize, context: &Context<'_>) -> bool {
    const PAYING: &[&str] = &["card", "pay", "checkout", "billing", "kreditkarte", "tarjeta", "carte"];
    let before = text.get(..span.start).unwrap_or_default();
    let behind = text.get(span.end..).unwrap_or_default();
    let ends = behind.is_empty() || behind.starts_with(|c: char| c.is_whitespace() || "/?#&\"')>".contains(c));
    before.ends_with('/') && ends && (groups > 1 || context.says(PAYING))
}

/// Returns `true` if the digits of a part of the text can be those of a card, whatever stands around them.
fn may_be_card(part: &[u8]) -> bool {
    let digits: Vec<u8> = part.iter().copied().filter(u8::is_ascii_digit).collect();
    checksum::luhn(&digits) || (15..=16).contains(&digits.len()) && checksum::is_card_issuer(&digits)
}

fn card(candidate: &Candidate<'_>, context: &Context<'_>) -> Option<Confidence> {
    let digits = &candidate.digits;
    let first = digits.first().copied();
    if digits.iter().all(|digit| Some(*digit) == first) {
        return None;
    }
    let issued = checksum::is_card_issuer(digits);
    match (checksum::luhn(digits), context.says(CARD_WORDS)) {
        (true, true) if issued => Some(High),
        // New issuers come faster than tables; the word and the check digit do without.
        (true, true) => Some(Medium),
        // Shorter numbers are as often something else, so they need their word.
        (true, false) if issued => Some(if digits.len() >= 15 { High } else { Low }),
        (false, true) if issued && (15..=16).contains(&digits.len()) && context.says(CARD_NUMBER_WORDS) => Some(Medium),
        (true | false, _) => None,
    }
}
