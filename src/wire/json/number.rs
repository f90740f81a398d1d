//! Numbers of more digits than the tokenizer takes: they are kept as they are written, like every other.

/// Returns the end of the number that begins here; `None` if it is not of JSON's grammar.
pub(super) fn end_of(text: &str, start: usize) -> Option<usize> {
    let rest = text.as_bytes().get(start..)?;
    let unsigned = rest.strip_prefix(b"-").unwrap_or(rest);
    let (whole, rest) = digits(unsigned)?;
    if whole.starts_with(b"0") && whole.len() > 1 {
        return None;
    }
    let rest = match rest.strip_prefix(b".") {
        Some(fraction) => digits(fraction)?.1,
        None => rest,
    };
    let rest = match rest {
        [b'e' | b'E', b'+' | b'-', exponent @ ..] | [b'e' | b'E', exponent @ ..] => digits(exponent)?.1,
        _ => rest,
    };
    Some(text.len() - rest.len())
}

/// Splits off digits, at least one, from what follows.
fn digits(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    text.split_at_checked(end).filter(|(digits, _)| !digits.is_empty())
}

#[cfg(test)]
mod tests {
    use super::end_of;

    #[test]
    fn a_number_ends_where_its_grammar_does() {
        for (text, end) in [
            ("12", Some(2)),
            ("x-1.5e+7,", Some(8)),
            ("10E3]", Some(4)),
            ("0", Some(1)),
            ("012", None),
            ("1.", None),
            ("1e", None),
            ("-", None),
            ("", None),
        ] {
            assert_eq!(end_of(text, usize::from(text.starts_with('x'))), end, "{text}");
        }
    }
}
