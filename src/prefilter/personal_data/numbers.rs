//! Numbers of people: payment cards, phones, and national numbers, found as islands of digits.
//!
//! A number with check digits and a form of its own is sure; one that any order number could be counts only when the words
//! around it say what it is.

use std::ops::Range;

use super::checksum;
use super::context::Context;
use super::{Datum, Hit};
use crate::model::Confidence::{self, High, Low, Medium};
use crate::prefilter::views::next;

/// Groups of digits of one number.
const MOST_GROUPS: usize = 8;

const CARD_WORDS: &[&str] = &[
    "card",
    "credit",
    "debit",
    "visa",
    "mastercard",
    "amex",
    "american express",
    "maestro",
    "cc number",
    "cc num",
    "cc:",
    "pan:",
    "kreditkarte",
    "carte",
    "tarjeta",
    "kartennummer",
    "discover",
    "diners",
    "jcb",
];
const CARD_NUMBER_WORDS: &[&str] = &[
    "card number",
    "card no",
    "credit card",
    "debit card",
    "kreditkarte",
    "card_number",
    "cardnumber",
];
const PHONE_WORDS: &[&str] = &[
    "phone",
    "telephone",
    "mobile",
    "cell",
    "tel",
    "fax",
    "whatsapp",
    "desk:",
    "landline",
    "hotline",
    "telefon",
    "téléphone",
    "teléfono",
    "telefone",
    "handy",
    "móvil",
    "mobil",
    "mob.",
    "ph:",
    "ph.",
    "sms",
    "call me",
    "call us",
    "call him",
    "call her",
    "call them",
    "ring me",
    "ring us",
    "text me",
    "reach me",
    "reach us",
    "reach him",
    "reach her",
    "contact number",
    "phone_number",
    "callback",
];
const CALL_WORDS: &[&str] = &[
    "call",
    "dial",
    "ring",
    "reach",
    "contact",
    "answering",
    "text",
    "messages to",
    "message to",
    "message on",
    "messages on",
    "registered",
    "office",
    "home",
    "work",
    "number is",
    "my number",
    "his number",
    "her number",
    "their number",
    "your number",
];
const PHONE_AFTER: &[&str] = &["office", "fax", "mobile", "home", "work", "cell", "phone", "tel"];

/// Finds numbers in a text that stands under a name (plain words; may be empty).
pub(super) fn find(text: &str, name: &str, hits: &mut Vec<Hit>) {
    let mut at = 0;
    while let Some(island) = next_island(text.as_bytes(), at) {
        at = island.end.max(at + 1);
        let digits = text
            .as_bytes()
            .get(island.clone())
            .unwrap_or_default()
            .iter()
            .filter(|b| b.is_ascii_digit())
            .count();
        if digits >= 7 {
            read_island(text, island, name, hits);
        }
    }
}

/// The next run of digits with what may stand between the digits of one number.
fn next_island(bytes: &[u8], from: usize) -> Option<Range<usize>> {
    let first = next(bytes, from, |byte| byte.is_ascii_digit())?;
    // A plus sign or an opening bracket belongs to the number.
    let mut start = first;
    for sign in [b'(', b'+'] {
        if start > from && bytes.get(start - 1) == Some(&sign) {
            start -= 1;
        }
    }
    let tail = bytes.get(first..)?;
    let is_part = |b: &u8| b.is_ascii_digit() || matches!(b, b' ' | b'-' | b'.' | b'(' | b')' | b'/' | b'+');
    let len = tail.iter().take_while(|b| is_part(b)).count();
    let last = tail.get(..len)?.iter().rposition(u8::is_ascii_digit)?;
    Some(start..first + last + 1)
}

/// One part of an island that may be one number, with its groups of digits.
struct Candidate<'a> {
    text: &'a str,
    span: Range<usize>,
    groups: Vec<&'a str>,
    separators: Vec<&'a str>,
    digits: Vec<u8>,
}

impl<'a> Candidate<'a> {
    fn of(text: &'a str, span: Range<usize>) -> Option<Self> {
        let part = text.get(span.clone())?;
        let groups: Vec<&str> = part
            .split(|c: char| !c.is_ascii_digit())
            .filter(|group| !group.is_empty())
            .take(MOST_GROUPS + 1)
            .collect();
        let separators = part
            .split(|c: char| c.is_ascii_digit())
            .filter(|separator| !separator.is_empty())
            .take(MOST_GROUPS + 1)
            .collect();
        (groups.len() <= MOST_GROUPS).then(|| Self {
            text,
            groups,
            separators,
            digits: part.bytes().filter(u8::is_ascii_digit).collect(),
            span,
        })
    }

    /// The lengths of the groups are these.
    fn is_grouped(&self, lengths: &[usize]) -> bool {
        self.groups.len() == lengths.len()
            && self
                .groups
                .iter()
                .zip(lengths)
                .all(|(group, length)| group.len() == *length)
    }

    fn separated_by(&self, separators: &[&str]) -> bool {
        self.separators.len() == separators.len() && self.separators.iter().zip(separators).all(|(a, b)| a == b)
    }

    fn all_separators(&self, separator: &str) -> bool {
        self.separators.iter().all(|have| *have == separator)
    }

    fn is_bare(&self) -> bool {
        self.groups.len() == 1 && self.separators.is_empty()
    }

    fn hit(&self, datum: Datum, confidence: Confidence) -> Hit {
        Hit {
            datum,
            span: self.span.clone(),
            confidence,
        }
    }

    /// Whether it is a number of its own and not the tail or head of a code, a decimal or a date.
    fn stands_alone(&self) -> bool {
        let before = self.text.get(..self.span.start).unwrap_or_default();
        let after = self.text.get(self.span.end..).unwrap_or_default();
        let mut back = before.chars().rev();
        let last = back.next();
        let code = match last {
            Some(c) if c.is_alphanumeric() || matches!(c, '_' | '#' | '$' | '€' | '£' | '¥' | '%' | '\\') => true,
            Some('-' | '.' | '/' | '+' | ':' | ',') => match (last, back.next()) {
                (Some('.' | '+' | ','), Some(c)) => c.is_ascii_digit() || (last == Some('.') && c.is_alphanumeric()),
                (Some('-' | '/'), Some(c)) => c.is_alphanumeric() || c == '/',
                (Some(':'), Some(c)) => c.is_ascii_digit(),
                _ => false,
            },
            _ => false,
        };
        let mut on = after.chars();
        let tail = match on.next() {
            Some(c) if c.is_alphanumeric() || matches!(c, '_' | '%' | '°') => true,
            Some('.' | ',' | ':') => on.next().is_some_and(|c| c.is_ascii_digit()),
            Some('-') => on.next().is_some_and(|c| c.is_ascii_digit()),
            _ => false,
        };
        !code && !tail
    }
}

fn read_island(text: &str, island: Range<usize>, name: &str, hits: &mut Vec<Hit>) {
    cards(text, island.clone(), name, hits);
    for span in segments(text, island) {
        let Some(candidate) = Candidate::of(text, span) else {
            continue;
        };
        if candidate.digits.len() < 7 {
            continue;
        }
        let context = Context::of(text, &candidate.span, name);
        let national = national(&candidate, &context);
        let sure = national.as_ref().is_some_and(|hit| hit.confidence > Low);
        hits.extend(national);
        if !sure {
            hits.extend(phone(text, &candidate, name));
        }
    }
}

/// The parts of an island that no number goes across: several blanks, a slash or a dash between blanks, a plus sign.
fn segments(text: &str, island: Range<usize>) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut segments = Vec::new();
    let mut start = island.start;
    let mut at = island.start;
    let is_digit = |b: Option<&u8>| b.is_some_and(u8::is_ascii_digit);
    while at < island.end {
        if is_digit(bytes.get(at)) {
            at += 1;
            continue;
        }
        let gap = bytes
            .get(at..island.end)
            .unwrap_or_default()
            .iter()
            .take_while(|b| !b.is_ascii_digit())
            .count();
        let between = text.get(at..at + gap).unwrap_or_default();
        let joins = match between {
            " " | "-" | "." | "/" | ") " | ")" | ")-" | " (" | "(" | "-(" => true,
            "+" | "+(" => at == island.start,
            _ => false,
        };
        if !joins {
            segments.push(start..at);
            // A sign right before the next digit opens the next number.
            let opening = between.trim_start_matches(|c| !matches!(c, '+' | '('));
            start = at + gap - opening.len();
        }
        at += gap.max(1);
    }
    segments.push(start..island.end);
    segments.retain(|segment| !segment.is_empty());
    segments
}

/// Payment cards: fixed groupings, the issuer's range, Luhn.
fn cards(text: &str, island: Range<usize>, name: &str, hits: &mut Vec<Hit>) {
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
    let bytes = text.as_bytes();
    let part = bytes.get(island.clone()).unwrap_or_default();
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
        groups.push(island.start + start..island.start + start + len);
        at = start + len;
    }
    let mut next = 0;
    while let Some(first) = groups.get(next) {
        let mut taken = 1;
        let single = std::iter::once(1);
        for count in single.chain(GROUPINGS.iter().map(|grouping| grouping.len())) {
            let Some(run) = groups.get(next..next + count) else {
                continue;
            };
            let lengths: Vec<usize> = run.iter().map(Range::len).collect();
            let fits = if count == 1 {
                (12..=19).contains(&first.len())
            } else {
                let joint = run.windows(2).all(|pair| {
                    matches!(pair, [a, b] if matches!(text.get(a.end..b.start), Some(" " | "-")) && a.end < b.start)
                });
                joint && GROUPINGS.contains(&lengths.as_slice())
            };
            let Some(last) = run.last().filter(|_| fits) else {
                continue;
            };
            let span = first.start..last.end;
            let Some(candidate) = Candidate::of(text, span).filter(Candidate::stands_alone) else {
                continue;
            };
            let context = Context::of(text, &candidate.span, name);
            if let Some(confidence) = card(&candidate, &context) {
                hits.push(candidate.hit(Datum::PaymentCard, confidence));
                taken = count;
                break;
            }
        }
        next += taken;
    }
}

fn card(candidate: &Candidate<'_>, context: &Context) -> Option<Confidence> {
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

/// National numbers that are digits with separators.
fn national(candidate: &Candidate<'_>, context: &Context) -> Option<Hit> {
    if !candidate.stands_alone() {
        return None;
    }
    let digits = candidate.digits.as_slice();
    let said = |words: &[&str]| context.says(words);
    let rated = |datum, valid: bool, said: bool, unsaid: Option<Confidence>| {
        let confidence = if said { Some(High) } else { unsaid };
        confidence
            .filter(|_| valid)
            .map(|confidence| candidate.hit(datum, confidence))
    };
    let swedish = |dashed: bool| {
        let words = said(&["personnummer", "personnr", "personal identity", "pnr"]);
        let form = dashed || candidate.is_bare();
        rated(
            Datum::SePersonnummer,
            form && checksum::se_personnummer(digits),
            words,
            dashed.then_some(High),
        )
    };
    let candidates = match digits.len() {
        9 => {
            let dashed =
                candidate.is_grouped(&[3, 2, 4]) && ["-", " ", "."].iter().any(|sign| candidate.all_separators(sign));
            let words = said(&[
                "social security",
                "ssn",
                "ss#",
                "social sec",
                "taxpayer",
                "tax id",
                "itin",
                "social",
            ]);
            let american = dashed || (words && candidate.is_bare());
            let unsaid = (dashed && candidate.all_separators("-")).then_some(Medium);
            let triple = candidate.is_grouped(&[3, 3, 3]);
            let canadian = triple || candidate.is_bare();
            vec![
                rated(Datum::UsSsn, american && checksum::us_ssn(digits), words, unsaid),
                rated(Datum::UsItin, american && checksum::us_itin(digits), words, unsaid),
                rated(
                    Datum::CaSin,
                    canadian && checksum::ca_sin(digits),
                    said(&["social insurance", "sin:", "sin number", "sin is", "sin "]),
                    triple.then_some(Low),
                ),
                rated(
                    Datum::NlBsn,
                    checksum::nl_bsn(digits),
                    said(&["bsn", "burgerservice", "sofinummer", "sofi"]),
                    None,
                ),
                rated(Datum::AuTfn, checksum::au_tfn(digits), said(&["tfn", "tax file"]), None),
            ]
        }
        10 => {
            let dashed = candidate.is_grouped(&[6, 4]) && matches!(candidate.separators.as_slice(), ["-" | "+"]);
            let british = candidate.is_bare() || candidate.is_grouped(&[3, 3, 4]);
            vec![
                swedish(dashed),
                rated(Datum::UkNhs, british && checksum::uk_nhs(digits), said(&["nhs"]), None),
                rated(
                    Datum::AuMedicare,
                    checksum::au_medicare(digits),
                    said(&["medicare"]),
                    None,
                ),
            ]
        }
        11 => {
            let dotted = candidate.is_grouped(&[3, 3, 3, 2]) && candidate.separated_by(&[".", ".", "-"]);
            let brazilian = dotted || candidate.is_bare();
            vec![
                rated(
                    Datum::BrCpf,
                    brazilian && checksum::br_cpf(digits),
                    said(&["cpf", "cadastro de pessoa"]),
                    dotted.then_some(High),
                ),
                rated(
                    Datum::DeSteuerId,
                    checksum::de_steuer_id(digits),
                    said(&["steuer", "idnr", "tax id", "tin", "identifikationsnummer"]),
                    Some(Low),
                ),
                rated(
                    Datum::PlPesel,
                    candidate.is_bare() && checksum::pl_pesel(digits),
                    said(&["pesel"]),
                    Some(Low),
                ),
                rated(
                    Datum::AuMedicare,
                    checksum::au_medicare(digits),
                    said(&["medicare"]),
                    None,
                ),
            ]
        }
        12 => {
            let grouped =
                candidate.is_grouped(&[4, 4, 4]) && ["-", " "].iter().any(|sign| candidate.all_separators(sign));
            let indian = matches!(digits.first(), Some(b'2'..=b'9')) && (grouped || candidate.is_bare());
            let dashed = candidate.is_grouped(&[8, 4]) && matches!(candidate.separators.as_slice(), ["-" | "+"]);
            let century = digits.starts_with(b"19") || digits.starts_with(b"20");
            vec![
                swedish(dashed).filter(|_| century),
                rated(
                    Datum::InAadhaar,
                    indian && checksum::verhoeff(digits),
                    said(&["aadhaar", "aadhar", "uidai", "uid"]),
                    grouped.then_some(Medium),
                ),
            ]
        }
        13 => {
            let grouped = candidate.is_grouped(&[3, 4, 4, 2]);
            let unsaid = if grouped { High } else { Medium };
            vec![rated(
                Datum::ChAhv,
                (grouped || candidate.is_bare()) && checksum::ch_ahv(digits),
                said(&["ahv", "avs", "social security"]),
                Some(unsaid),
            )]
        }
        15 => {
            let unsaid = if candidate.groups.len() > 1 { High } else { Medium };
            let words = said(&[
                "sécurité sociale",
                "securite sociale",
                "nir",
                "insee",
                "social security",
                "sécu",
            ]);
            vec![rated(Datum::FrNir, checksum::fr_nir(digits), words, Some(unsaid))]
        }
        _ => Vec::new(),
    };
    candidates
        .into_iter()
        .flatten()
        .max_by_key(|hit| (hit.confidence, std::cmp::Reverse(hit.datum)))
}

/// Phone numbers: international, North American, national with a trunk zero, or by the words around them.
fn phone(text: &str, candidate: &Candidate<'_>, name: &str) -> Option<Hit> {
    let mut span = candidate.span.clone();
    let digits = candidate.digits.len();
    if !(7..=15).contains(&digits) || looks_like_a_date(candidate) {
        return None;
    }
    span.end += extension(text.get(span.end..).unwrap_or_default());
    let context = Context::of(text, &span, name);
    let plus = text
        .get(span.clone())
        .is_some_and(|part| part.trim_start_matches('(').starts_with('+'));
    let loose = loosely_alone(&context, plus);
    let (strong, weak) = (
        context.says(PHONE_WORDS) || context.goes_on_with(PHONE_AFTER),
        context.says(CALL_WORDS),
    );
    let slashed = candidate.separators.contains(&"/");
    let dotted = candidate.separators.contains(&".");
    let grouped = candidate.groups.len() >= 2 && candidate.groups.iter().skip(1).all(|group| group.len() >= 2);
    let zero = candidate.digits.first() == Some(&b'0');
    let bracketed = candidate.span.len() > digits && text.get(span.clone()).is_some_and(|part| part.starts_with('('));

    let clear = if !loose {
        false
    } else if plus {
        digits >= 10 || (digits >= 8 && candidate.groups.len() >= 2)
    } else if slashed {
        false
    } else {
        let international = candidate.digits.starts_with(b"00") && digits >= 11 && candidate.groups.len() >= 3;
        let national = zero && (9..=11).contains(&digits) && candidate.groups.len() >= 3 && grouped;
        let area =
            bracketed && candidate.separators.first() == Some(&"(") && digits >= 8 && candidate.groups.len() >= 2;
        international || national || area || north_american(candidate)
    };
    let told = loose
        && ((strong && digits >= 7)
            || (weak && !dotted && !slashed && (candidate.groups.len() >= 2 && grouped || digits >= 10 && zero)));
    (clear || told).then(|| Hit {
        datum: Datum::Phone,
        span,
        confidence: Medium,
    })
}

/// `(602)272-9781`, `602-272-9781`, `602.272.9781`, `1 602 272 9781`.
fn north_american(candidate: &Candidate<'_>) -> bool {
    let groups = match candidate.groups.as_slice() {
        ["1", rest @ ..] => rest,
        all => all,
    };
    let area = |group: &str| group.len() == 3 && group.starts_with(|c| matches!(c, '2'..='9'));
    let uniform = {
        let plain: Vec<&&str> = candidate
            .separators
            .iter()
            .filter(|separator| !separator.contains(['(', ')']))
            .collect();
        plain.windows(2).all(|pair| matches!(pair, [a, b] if a == b))
            || candidate.separators.iter().any(|s| s.contains(')'))
    };
    matches!(groups, [a, b, c] if area(a) && b.len() == 3 && c.len() == 4) && uniform
}

/// Whether no letter or digit touches the number; a dash and a word may follow it (`…-Office`).
fn loosely_alone(context: &Context, plus: bool) -> bool {
    let mut back = context.before().chars().rev();
    let before = match (back.next(), back.next()) {
        (Some(c), _) if c.is_alphanumeric() || matches!(c, '_' | '#' | '$' | '€' | '£' | '¥') => false,
        (Some('-' | '/' | '.'), Some(c)) => !c.is_alphanumeric() && c != '/',
        (Some('+' | '*' | '^'), _) => false,
        (Some(','), Some(c)) => plus || !c.is_ascii_digit(),
        _ => true,
    };
    let mut on = context.after().chars();
    let after = match (on.next(), on.next()) {
        (Some(c), _) if c.is_alphanumeric() || matches!(c, '_' | '%' | '°' | '*' | '^') => false,
        (Some('-' | '.' | ',' | ':'), Some(c)) => !c.is_ascii_digit(),
        _ => true,
    };
    before && after
}

/// The length of an extension: `x459`, ` ext. 12`, ` extension 7`.
fn extension(rest: &str) -> usize {
    let lower: String = rest.chars().take(14).collect::<String>().to_ascii_lowercase();
    let trimmed = lower.trim_start_matches(' ');
    let spaces = lower.len() - trimmed.len();
    let Some(word) = ["extension", "ext.", "ext", "x"]
        .iter()
        .find(|word| trimmed.starts_with(**word))
    else {
        return 0;
    };
    let number = trimmed.get(word.len()..).unwrap_or_default();
    let gap = number.len() - number.trim_start_matches([' ', ':']).len();
    let digits = number.bytes().skip(gap).take_while(u8::is_ascii_digit).count();
    let ends = number
        .as_bytes()
        .get(gap + digits)
        .is_none_or(|b| !b.is_ascii_alphanumeric());
    if spaces <= 1 && gap <= 1 && (1..=6).contains(&digits) && ends {
        spaces + word.len() + gap + digits
    } else {
        0
    }
}

/// `2026-05-11`, `11.05.2026`, `05/11/2026`, also with more behind; ranges of years.
fn looks_like_a_date(candidate: &Candidate<'_>) -> bool {
    let year = |group: &str| group.len() == 4 && matches!(group.get(..2), Some("19" | "20"));
    let small = |group: &str, most: u32| {
        group.len() <= 2 && group.parse::<u32>().is_ok_and(|value| (1..=most).contains(&value))
    };
    match candidate.groups.as_slice() {
        [y, m, d, ..] if year(y) && small(m, 12) && small(d, 31) => true,
        [a, b, y, ..] if year(y) && small(a, 31) && small(b, 31) => true,
        [a, b] if year(a) && year(b) => true,
        _ => false,
    }
}
