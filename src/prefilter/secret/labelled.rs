//! Values that their name calls a secret: `password = …`, `"api_key": "…"`, `--token …`, `my password is …`.
//!
//! A name alone proves little, so the value has to look like one: no reference to where the secret is kept, no stand-in, no
//! plain word where a random value is meant.

use std::ops::Range;
use std::sync::LazyLock;

use super::check::{self, Opinion};
use super::names::{Label, keywords, names_a_secret};
use super::value;
use crate::model::Confidence;
use crate::prefilter::tables::Tables;
use crate::prefilter::{Gate, Word};

/// A value with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub label: Label,
    pub span: Range<usize>,
    pub confidence: Confidence,
}

/// Bytes of a name on either side of its keyword.
const NAME_REACH: usize = 48;
/// Bytes of a value.
const VALUE_REACH: usize = 300;

/// How a value is tied to its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tie {
    /// `name = value`, `"name": "value"`, `--name value`, `<name>value<`.
    Assigned,
    /// `the name is value`.
    Said,
}

/// A name in running text that promises a secret.
pub(super) struct Name {
    label: Label,
    start: usize,
    end: usize,
    /// `--name` or `-pName`: a blank is enough before the value.
    is_flag: bool,
}

/// The name around a keyword, if it is that of a secret itself.
pub(super) fn name_at(text: &str, keyword: Range<usize>, label: Label) -> Option<Name> {
    let bytes = text.as_bytes();
    let is_name = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'$');
    let head = bytes.get(keyword.start.saturating_sub(NAME_REACH)..keyword.start)?;
    let start = keyword.start - head.iter().rev().take_while(|b| is_name(b)).count();
    let tail = bytes.get(keyword.end..bytes.len().min(keyword.end + NAME_REACH))?;
    let is_name_tail = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    let end = keyword.end + tail.iter().take_while(|b| is_name_tail(b)).count();
    let before = text.get(start..keyword.start)?;
    let after = text.get(keyword.end..end)?;
    if !names_a_secret(before, text.get(keyword.clone())?, after, label) {
        return None;
    }

    Some(Name {
        label,
        start,
        end,
        is_flag: before.starts_with("--")
            || (before == "-" && label == Label::Password)
            || is_image_variable(text, start),
    })
}

/// `ENV NAME value`, as build files of container images have it.
fn is_image_variable(text: &str, start: usize) -> bool {
    let line = text.get(..start).unwrap_or_default();
    ["ENV ", "ARG "].iter().any(|word| {
        line.strip_suffix(word)
            .is_some_and(|before| before.is_empty() || before.ends_with(['\n', ' ', '\t']))
    })
}

/// The secret beside a name in running text.
pub(super) fn beside(text: &str, name: &Name) -> Option<Found> {
    let bytes = text.as_bytes();
    let Name {
        label,
        start,
        end,
        is_flag,
    } = *name;
    let query = start
        .checked_sub(1)
        .and_then(|i| bytes.get(i))
        .is_some_and(|b| matches!(b, b'?' | b'&'));
    let opening = start.checked_sub(1).and_then(|i| bytes.get(i)).copied();
    let rest = text.get(end..text.floor_char_boundary(text.len().min(end + VALUE_REACH + 40)))?;
    let (skipped, tie) = tie(rest, is_flag, opening)?;
    let from = end + skipped;
    if let Some(span) = fallback(text, from)
        && let Some(confidence) = judged(text.get(span.clone())?, label, Tie::Assigned, true)
    {
        return Some(Found {
            label,
            span,
            confidence,
        });
    }
    let (span, quoted) = literal(text, from, query)?;
    let value = text.get(span.clone())?;
    // A call or an index behind a bare word makes it code.
    if !quoted && text.get(span.end..).is_some_and(|rest| rest.starts_with(['(', '['])) {
        return None;
    }
    let confidence = judged(value, label, tie, quoted)?;
    Some(Found {
        label,
        span,
        confidence,
    })
}

/// The words that name secrets in a name, with what they promise. Most names hold none.
fn words_in(name: &str) -> impl Iterator<Item = (Range<usize>, Label)> {
    static KEYWORDS: LazyLock<(Gate, Vec<Label>)> = LazyLock::new(|| {
        let words = keywords().map(|(keyword, _)| Word::any_case(keyword)).collect();
        (Gate::of([words]), keywords().map(|(_, label)| label).collect())
    });
    let (gate, labels) = &*KEYWORDS;
    let seen: Vec<_> = gate.sightings(name).of(0).collect();
    seen.into_iter()
        .filter_map(|seen| Some((seen.span, *labels.get(seen.word)?)))
}

/// The word that says most of what a name stands for: one for a secret itself before one for keys, then the last, then the
/// longest.
fn telling_word(name: &str) -> Option<(Range<usize>, Label)> {
    words_in(name).max_by_key(|(span, label)| (*label != Label::Key, span.end, span.len()))
}

/// Whether a name may be that of a secret.
pub(super) fn may_name(name: &str) -> bool {
    words_in(name).next().is_some()
}

/// The secret that a whole string is, by its name in the document.
pub(super) fn whole(name: &str, text: &str) -> Option<Found> {
    let (keyword, label) = telling_word(name)?;
    let (before, after) = (name.get(..keyword.start)?, name.get(keyword.end..)?);
    let trimmed = text.trim();
    if trimmed.len() > VALUE_REACH || trimmed.contains(char::is_whitespace) {
        return None;
    }
    if !names_a_secret(before, name.get(keyword.clone())?, after, label) {
        return None;
    }
    let confidence = judged(trimmed, label, Tie::Assigned, true)?;
    let start = text.len() - text.trim_start().len();
    Some(Found {
        label,
        span: start..start + trimmed.len(),
        confidence,
    })
}

/// The secrets in the columns of the table in whose head this name stands.
pub(super) fn in_table(tables: &mut Tables, text: &str, name: &Name) -> Vec<Found> {
    let meaning = |cell: &str| {
        let (keyword, label) = telling_word(cell)?;
        let (before, after) = (cell.get(..keyword.start)?, cell.get(keyword.end..)?);
        names_a_secret(before, cell.get(keyword.clone())?, after, label).then_some(label)
    };
    let Some(table) = tables.around(text, &(name.start..name.end), meaning) else {
        return Vec::new();
    };
    let found = table.cells.into_iter().filter_map(|cell| {
        let value = text.get(cell.span.clone())?;
        let confidence =
            judged(value, cell.meaning, Tie::Assigned, true).filter(|_| !value.contains(char::is_whitespace))?;
        (confidence > Confidence::Low).then_some(Found {
            label: cell.meaning,
            span: cell.span,
            confidence,
        })
    });
    found.collect()
}

/// What stands between a name and its value: how many bytes, and how it ties them.
fn tie(rest: &str, flag: bool, opening: Option<u8>) -> Option<(usize, Tie)> {
    let mut at = 0;
    let next = |at: usize| rest.as_bytes().get(at).copied();
    let spaces = |at: usize, most: usize| {
        rest.as_bytes()
            .iter()
            .skip(at)
            .take(most)
            .take_while(|b| matches!(b, b' ' | b'\t'))
            .count()
    };
    // The closing quote or bracket of the name.
    let mut quoted_name = false;
    if next(at) == Some(b'\\') && matches!(next(at + 1), Some(b'"' | b'\'')) {
        at += 1;
    }
    if matches!(next(at), Some(b'"' | b'\'' | b'`')) && opening == next(at) {
        at += 1;
        quoted_name = true;
    }
    if matches!(next(at), Some(b']' | b')')) && (quoted_name || next(at) == Some(b')')) {
        at += 1;
    }
    // Emphasis around a name, or the code that it is set in.
    let marks = rest.bytes().skip(at).take_while(|b| *b == b'*').count();
    if marks <= 2 && opening == Some(b'*') {
        at += marks;
    }
    let gap = spaces(at, 12);
    at += gap;
    if let Some(typed) = type_annotation(rest.get(at..)?) {
        at += typed;
    }
    let operator = rest.get(at..)?;
    // What ties a name to its value where words are not told apart by blanks.
    if let Some(word) = ["：", "是", "は", "는 ", "은 ", "هي ", "היא "]
        .iter()
        .find(|word| operator.starts_with(**word))
    {
        let after = at + word.len();
        return Some((after + spaces(after, 4), Tie::Said));
    }
    let long = ["=>", ":=", "===", "==", "!=", "->", ":-"]
        .iter()
        .find(|sign| operator.starts_with(**sign));
    if let Some(sign) = long {
        // A comparison with a literal shows the literal; one with another expression shows nothing.
        let compared = operator.trim_start_matches(['=', '!']).trim_start();
        if *sign == "!=" || sign.starts_with("==") && !compared.starts_with(['"', '\'', '`', '\\']) {
            return None;
        }
        at += sign.len();
    } else if operator.starts_with(['=', ':']) {
        at += 1;
        // `**name:** value`.
        if opening == Some(b'*') {
            at += rest.bytes().skip(at).take_while(|b| *b == b'*').count();
        }
    } else if operator.starts_with('|') && is_row(opening) {
        at += 1;
    } else if operator.starts_with('>') && opening.is_some_and(|b| b == b'<' || b == b':') {
        return Some((at + 1, Tie::Assigned));
    } else if (operator.starts_with(',') && quoted_name) || operator.starts_with("(\"") || operator.starts_with("('") {
        at += 1;
    } else if gap > 0 {
        if flag {
            return Some((at, Tie::Assigned));
        }
        let said = [
            "is: ", "is ", "was ", "was: ", "are ", "of ", "will be ", "set to ", "ist ", "lautet ", "war ", "es ",
            "est ", "è ", "é ", "era ",
        ]
        .iter()
        .find(|word| operator.starts_with(**word));
        return said
            .map(|word| (at + word.len() + spaces(at + word.len(), 4), Tie::Said))
            .or_else(|| said_of(operator).map(|skipped| (at + skipped, Tie::Said)))
            .or_else(|| is_strong(operator).then_some((at, Tie::Said)));
    } else {
        return None;
    }
    at += spaces(at, 12);
    if rest.get(at..)?.starts_with('\n') && quoted_name {
        at += 1;
        at += spaces(at, 40);
    }
    Some((at, Tie::Assigned))
}

/// The row of a table before a name: a sign or a blank.
fn is_row(opening: Option<u8>) -> bool {
    opening.is_none_or(|b| matches!(b, b' ' | b'|' | b'\n' | b'`' | b'*'))
}

/// `: str =`, `: Option<String> =`: the type between a name and its value, up to the sign.
fn type_annotation(text: &str) -> Option<usize> {
    let rest = text.strip_prefix(':')?;
    let line = rest.get(..rest.floor_char_boundary(rest.len().min(48)))?;
    let sign = line.find('=')?;
    let name = line.get(..sign)?;
    let is_type = |c: char| {
        c.is_ascii_alphanumeric()
            || matches!(
                c,
                '_' | '<' | '>' | '.' | '?' | '&' | '[' | ']' | '|' | ' ' | '\'' | ':'
            )
    };
    let after = line.get(sign + 1..)?;
    let fits = (after.starts_with(['"', '\'', '`']) || after.starts_with(' ') && name.ends_with(' '))
        && name.chars().all(is_type)
        && name.trim().starts_with(|c: char| c.is_ascii_alphabetic() || c == '&')
        && !line.get(sign + 1..)?.starts_with(['=', '>']);
    fits.then_some(1 + sign)
}

/// The literal that stands in for a value kept elsewhere (`os.getenv("X", "…")`, `process.env.X || '…'`), or that a call wraps
/// (`String::from("…")`).
fn fallback(text: &str, from: usize) -> Option<Range<usize>> {
    /// Bytes of an expression.
    const REACH: usize = 240;
    /// What stands right before such a literal.
    const BEFORE: &[&str] = &[
        "||",
        "??",
        "?:",
        " or ",
        "from(",
        "String(",
        "Secret(",
        "SecretStr(",
        "Some(",
        "fallback=",
    ];
    /// What looks a value up, with a second argument for when there is none.
    const LOOKS_UP: &[&str] = &["env", "ENV", "get(", "fetch(", "config(", "getProperty("];
    let rest = text.get(from..text.floor_char_boundary(text.len().min(from + REACH)))?;
    let line = rest.split('\n').next()?;
    if !line.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '$' | '\\' | ':')) {
        return None;
    }
    // A bare value ends before the first blank or bracket; only an expression goes on.
    let expression = line.find(['(', '|', '?', '[']).or_else(|| line.find(" or "))?;
    let mut at = expression;
    let mut found = None;
    while let Some(open) = line.get(at..)?.find(['"', '\'', '`']) {
        let start = at + open;
        let quote = line.get(start..)?.chars().next()?;
        let Some(length) = line.get(start + 1..)?.find(quote) else {
            break;
        };
        let before = line.get(..start)?.trim_end_matches(['@', 'b', 'r']);
        let stands_in = BEFORE
            .iter()
            .any(|sign| before.ends_with(sign) || before.trim_end().ends_with(sign.trim_end()));
        let second = before.trim_end().ends_with(',') && LOOKS_UP.iter().any(|word| before.contains(word));
        if stands_in || second {
            found = Some(from + start + 1..from + start + 1 + length);
        }
        at = start + length + 2;
        if at > line.len() {
            break;
        }
    }
    found
}

/// Whether a word can hardly be anything but a password: letters of both cases, digits, and a sign or much of it.
fn is_strong(text: &str) -> bool {
    let word = text
        .split(|c: char| c.is_whitespace() || matches!(c, ',' | '"' | '(' | ')'))
        .next()
        .unwrap_or_default();
    let word = word.trim_end_matches(['.', ';', '?']);
    let count = |what: fn(&u8) -> bool| word.bytes().filter(what).count();
    let (small, capital, digits) = (
        count(u8::is_ascii_lowercase),
        count(u8::is_ascii_uppercase),
        count(u8::is_ascii_digit),
    );
    let signs = word.bytes().filter(|b| b"!@#$%^&*?+=~".contains(b)).count();
    let plain = word.contains("://") || word.starts_with(['$', '{', '<', '@', '#', '%', '&', '*', '=']);
    let kinds = usize::from(small > 0) + usize::from(capital > 0) + usize::from(digits > 1);
    // A word with a digit and a sign that no sentence has inside a word.
    let shouts = digits > 0 && small > 2 && word.bytes().any(|b| b"!$^*".contains(&b));
    (8..=64).contains(&word.len())
        && !plain
        && digits > 0
        && ((kinds == 3 && digits > 2) || (signs > 0 && kinds >= 2) || shouts)
}

/// `for the orders account is …`, `to the vault: …`: a few plain words between a name and its value.
fn said_of(text: &str) -> Option<usize> {
    if !["for ", "to ", "of ", "on ", "in "]
        .iter()
        .any(|word| text.starts_with(word))
    {
        return None;
    }
    let mut skipped = 0;
    for word in text.split_inclusive(' ').take(7) {
        let bare = word.trim_end();
        skipped += word.len();
        if skipped > 60 {
            return None;
        }
        if matches!(bare, "is" | "=" | ":" | "is:") || bare.ends_with(':') {
            return Some(skipped);
        }
        if !bare
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'\'' | b'-' | b'_' | b'.' | b'@'))
        {
            return None;
        }
    }
    None
}

/// The bytes of a value that begins here, without its quotes, and whether it had any.
fn literal(text: &str, from: usize, query: bool) -> Option<(Range<usize>, bool)> {
    let limit = text.floor_char_boundary(text.len().min(from + VALUE_REACH));
    let mut rest = text.get(from..limit)?;
    let mut at = from;
    for scheme in ["Bearer ", "bearer ", "Basic ", "Token ", "token "] {
        if let Some(stripped) = rest.strip_prefix(scheme) {
            at += scheme.len();
            rest = stripped;
        }
    }
    // String prefixes of programming languages.
    if matches!(
        rest.as_bytes(),
        [b'b' | b'r' | b'f' | b'u' | b'@' | b'L', b'"' | b'\'', ..]
    ) {
        at += 1;
        rest = rest.get(1..)?;
    }
    for quote in ["\\\"", "\\'", "\"\"\"", "\"", "'", "`", "&quot;", "“"] {
        let Some(inside) = rest.strip_prefix(quote) else {
            continue;
        };
        let closing = if quote == "“" { "”" } else { quote };
        let end = inside.find(closing)?;
        let value = inside.get(..end)?;
        if value.contains(['\n', '\r']) {
            return None;
        }
        let mut start = at + quote.len();
        let mut value = value;
        for scheme in ["Bearer ", "Basic ", "Token "] {
            if let Some(stripped) = value.strip_prefix(scheme) {
                start += scheme.len();
                value = stripped;
            }
        }
        return Some((start..start + value.len(), true));
    }
    let stop = |c: char| {
        c.is_whitespace()
            || matches!(
                c,
                '"' | '\'' | '`' | '<' | '>' | ';' | '|' | '\\' | ',' | '(' | ')' | '[' | ']'
            )
            || (query && matches!(c, '&' | '#'))
    };
    let end = rest.find(stop).unwrap_or(rest.len());
    let value = rest.get(..end)?.trim_end_matches(['.', ',', ':', '?']);
    let value = if value.starts_with('{') {
        value
    } else {
        value.trim_end_matches('}')
    };
    Some((at..at + value.len(), false))
}

/// How sure it is that a value is the secret its name promises; `None`: it is not.
fn judged(text: &str, label: Label, tie: Tie, quoted: bool) -> Option<Confidence> {
    if text.is_empty() || value::is_reference(text) || value::is_placeholder(text.as_bytes()) {
        return None;
    }
    if is_name_of_a_field(text) {
        return None;
    }
    if text.contains("://") || text.starts_with('?') || (!quoted && is_expression(text)) {
        return None;
    }
    match label {
        Label::Password => {
            if text.chars().count() > 128 || (text.contains(char::is_whitespace) && !value::looks_chosen(text)) {
                return None;
            }
            match check::password(text) {
                Opinion::Refuted => None,
                Opinion::Weak | Opinion::Doubtful => Some(Confidence::Low),
                Opinion::Plausible if value::looks_chosen(text) && !is_prose(text) => Some(Confidence::Medium),
                Opinion::Plausible if tie == Tie::Assigned && quoted && text.len() >= 6 && !is_prose(text) => {
                    Some(Confidence::Low)
                }
                Opinion::Plausible => None,
            }
        }
        Label::Token => {
            (text.len() >= 10 && value::looks_random(text) && !is_structured(text)).then_some(Confidence::Medium)
        }
        Label::Key => (text.len() >= 24
            && tie == Tie::Assigned
            && value::looks_random(text)
            && !value::is_uuid(text)
            && !is_structured(text)
            && value::entropy(text.as_bytes()) >= 3.4)
            .then_some(Confidence::Medium),
    }
}

/// A bare word that is code rather than a literal: `user.password`, `getToken`, `nil`.
fn is_expression(text: &str) -> bool {
    let plain = text
        .bytes()
        .all(|b| b.is_ascii_alphabetic() || matches!(b, b'_' | b'.' | b'-' | b':' | b'/' | b'?' | b'!'));
    let member = text.contains("::") || text.contains("->") || text.split('.').count() > 2 && plain;
    let starts_as_member = [
        "self.",
        "this.",
        "req.",
        "request.",
        "config.",
        "settings.",
        "user.",
        "args.",
        "params.",
        "data.",
        "ctx.",
        "opts.",
        "options.",
    ]
    .iter()
    .any(|start| text.starts_with(start));
    plain && !value::is_irregular(text) || member || starts_as_member
}

/// `password_confirmation`, `new-password`: small letters about a password.
fn is_name_of_a_field(text: &str) -> bool {
    text.bytes()
        .all(|b| b.is_ascii_lowercase() || matches!(b, b'_' | b'-' | b'.'))
        && ["password", "passwd", "token", "secret", "passphrase"]
            .iter()
            .any(|word| text.contains(word))
}

/// Several words of a sentence.
fn is_prose(text: &str) -> bool {
    text.split_whitespace().count() > 4
}

/// A path, a URL, an address, a date, a version: irregular, but no secret by its form.
fn is_structured(text: &str) -> bool {
    text.starts_with(['/', '.', '~'])
        || text.matches('/').count() > 3
        || (text.contains('@') && text.contains('.'))
        || text.contains(' ')
        || text
            .bytes()
            .all(|b| b.is_ascii_digit() || matches!(b, b'-' | b':' | b'.' | b'T' | b'Z' | b'+' | b'/'))
        || text.starts_with("sha256:")
        || text.starts_with("sha512-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(text: &str) -> Option<(&str, Confidence)> {
        keywords().find_map(|(keyword, label)| {
            let at = text.to_ascii_lowercase().find(keyword)?;
            let found = beside(text, &name_at(text, at..at + keyword.len(), label)?)?;
            Some((text.get(found.span.clone())?, found.confidence))
        })
    }

    proptest::proptest! {
        #[test]
        fn the_telling_word_is_that_of_a_plain_search(
            name in "((db|user|api|my)[_-]?)?(pass(word)?|pwd|token|secret|key|auth|PASSWD|Token){1,3}([_.]?[a-z]{0,4})",
        ) {
            let lower = name.to_ascii_lowercase();
            let plainly = keywords()
                .filter_map(|(keyword, label)| lower.rfind(keyword).map(|at| (at..at + keyword.len(), label)))
                .max_by_key(|(range, label)| (*label != Label::Key, range.end, range.len()));
            proptest::prop_assert_eq!(telling_word(&name), plainly);
        }
    }

    #[test]
    fn the_span_is_exactly_the_value() {
        for (text, value) in [
            ("password = \"m0oring Line 42\"", "m0oring Line 42"),
            ("{\"dbPassword\": \"t7Hq22mV\"}", "t7Hq22mV"),
            ("{\\\"db_password\\\": \\\"t7Hq22mV\\\"}", "t7Hq22mV"),
            ("PASSWORD=t7Hq22mV!\nUSER=x", "t7Hq22mV!"),
            ("app --password q7Vt-Lm22 run", "q7Vt-Lm22"),
            ("the password is gr8-Lanterns.", "gr8-Lanterns"),
            ("conf['password'] = 't7Hq22mV'", "t7Hq22mV"),
            ("<DbPassword>t7Hq22mV</DbPassword>", "t7Hq22mV"),
            ("setPassword(\"t7Hq22mV\")", "t7Hq22mV"),
            ("DB_PASS=t7Hq22mV", "t7Hq22mV"),
            ("the password for the orders account is gr8-Lanterns", "gr8-Lanterns"),
        ] {
            assert_eq!(find(text).map(|(value, _)| value), Some(value), "{text}");
        }
    }

    #[test]
    fn names_around_a_secret_are_not_its_name() {
        for text in [
            "password_hint = \"t7Hq22mV\"",
            "max_tokens = 409612345",
            "tokenizer = \"q8ZtVw3nYkR5xLp2Jd7s\"",
            "primary_key = \"q8ZtVw3nYkR5xLp2Jd7s99ab\"",
            "secretary: q8ZtVw3nYkR5xLp2Jd7s",
            "monkey = q8ZtVw3nYkR5xLp2Jd7s99ab",
            "bypass = t7Hq22mV",
            "passing: t7Hq22mV",
        ] {
            assert_eq!(find(text), None, "{text}");
        }
    }

    #[test]
    fn a_member_of_that_name_is_the_secret_whole() {
        assert_eq!(whole("dbPassword", " t7Hq22mV ").map(|found| found.span), Some(1..9));
        assert_eq!(
            whole("api_key", "q8ZtVw3nYkR5xLp2Jd7s").map(|found| found.span),
            Some(0..20)
        );
        assert_eq!(whole("api_key_id", "q8ZtVw3nYkR5xLp2Jd7s"), None);
        assert_eq!(whole("password", "please reset it tomorrow"), None);
    }
}
