//! The ties of a value to its name: signs, quotation marks, words of a sentence.

use crate::model::head;

/// The tie of a value to its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binding {
    /// `name = value`, `"name": "value"`, `--name value`, `<name>value<`.
    Assigned,
    /// `the name is value`.
    Said,
}

/// Words that say what a name is.
const SAYING: [&str; 16] = [
    "is: ", "is ", "was ", "was: ", "are ", "of ", "will be ", "set to ", "ist ", "lautet ", "war ", "es ", "est ",
    "è ", "é ", "era ",
];

/// The same where words are not set apart.
const UNSPACED: [&str; 7] = ["：", "是", "は", "는 ", "은 ", "هي ", "היא "];

/// Reads what stands between a name and its value: the number of bytes, and the tie.
pub(super) fn binding(rest: &str, flag: bool, opening: Option<u8>) -> Option<(usize, Binding)> {
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
    if let Some(word) = UNSPACED.iter().find(|word| operator.starts_with(**word)) {
        let after = at + word.len();
        return Some((after + spaces(after, 4), Binding::Said));
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
        return Some((at + 1, Binding::Assigned));
    } else if (operator.starts_with(',') && quoted_name) || operator.starts_with("(\"") || operator.starts_with("('") {
        at += 1;
    } else if gap > 0 {
        if flag {
            return Some((at, Binding::Assigned));
        }
        let said = SAYING.iter().find(|word| operator.starts_with(**word));
        return said
            .map(|word| (at + word.len() + spaces(at + word.len(), 4), Binding::Said))
            .or_else(|| said_of(operator).map(|skipped| (at + skipped, Binding::Said)))
            .or_else(|| is_strong(operator).then_some((at, Binding::Said)));
    } else {
        return None;
    }
    at += spaces(at, 12);
    if rest.get(at..)?.starts_with('\n') && quoted_name {
        at += 1;
        at += spaces(at, 40);
    }
    Some((at, Binding::Assigned))
}

/// Returns `true` if a name stands in the row of a table: a sign or a blank opens it.
fn is_row(opening: Option<u8>) -> bool {
    opening.is_none_or(|b| matches!(b, b' ' | b'|' | b'\n' | b'`' | b'*'))
}

/// `: str =`, `: Option<String> =`: the type between a name and its value, up to the sign.
fn type_annotation(text: &str) -> Option<usize> {
    let rest = text.strip_prefix(':')?;
    let line = head(rest, 48);
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

/// Returns `true` if a word can hardly be anything but a password: letters of both cases, digits, and a sign or much of it.
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
