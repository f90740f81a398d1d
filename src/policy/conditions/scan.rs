//! Scan: where conditions begin in a text, and whether it can be parsed at all. A text that is nested deeper would exhaust the
//! parser's stack.

use std::ops::Range;

/// Bytes of a text.
pub(super) const MAX_BYTES: usize = 64 * 1024;
/// Brackets within brackets.
const MAX_NESTING: usize = 32;
/// Operators of one condition: a row of them is as deep as it is long.
const MAX_OPERATORS: usize = 200;

/// Returns the conditions of a text, each with what stands before it; or what is wrong, and where.
pub(super) fn conditions(text: &str) -> Result<Vec<Range<usize>>, (usize, String)> {
    if text.len() > MAX_BYTES {
        return Err((0, format!("expected at most {MAX_BYTES} bytes, found {}", text.len())));
    }
    let (mut found, mut start) = (Vec::new(), None);
    let (mut nesting, mut operators) = (0_usize, 0_usize);
    let mut left = text.bytes().enumerate().peekable();
    let mut word = Vec::new();
    while let Some((at, byte)) = left.next() {
        let next = left.peek().map(|(_, byte)| *byte);
        if byte == b'/' && next == Some(b'/') {
            while left.next_if(|(_, byte)| *byte != b'\n').is_some() {}
            continue;
        }
        if byte.is_ascii_whitespace() {
            word.clear();
            continue;
        }
        start.get_or_insert(at);
        match byte {
            b'"' => {
                while let Some((_, byte)) = left.next() {
                    match byte {
                        b'\\' => drop(left.next()),
                        b'"' => break,
                        _ => {}
                    }
                }
            }
            b'(' | b'[' | b'{' => {
                nesting += 1;
                operators += usize::from(byte == b'[');
            }
            b')' | b']' | b'}' => nesting = nesting.saturating_sub(1),
            b'.' | b'+' | b'-' | b'*' | b'!' => operators += 1,
            b'|' | b'&' if next == Some(byte) => operators += 1,
            b'f' if word == b"i" => operators += 1,
            b';' if nesting == 0 => {
                found.extend(start.take().map(|start| start..at + 1));
                operators = 0;
            }
            _ => {}
        }
        word.push(byte);
        if nesting > MAX_NESTING {
            return Err((at, format!("expected at most {MAX_NESTING} brackets within each other")));
        }
        if operators > MAX_OPERATORS {
            return Err((
                at,
                format!("expected at most {MAX_OPERATORS} operators in one condition"),
            ));
        }
    }
    // What has no end is for the parser to tell.
    found.extend(start.map(|start| start..text.len()));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_end_at_a_semicolon_outside_of_strings_and_comments() {
        let text = "// a; (((\nforbid(\"a;\\\"(\") ; \n forbid when {a;b}; // end";
        let found: Vec<&str> = conditions(text).unwrap().into_iter().map(|at| &text[at]).collect();
        assert_eq!(found, ["forbid(\"a;\\\"(\") ;", "forbid when {a;b};"]);
        assert!(conditions("").unwrap().is_empty());
        assert_eq!(conditions("forbid \"").unwrap()[0], 0..8);
    }
}
