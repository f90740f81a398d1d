//! Words that are taken apart by what a reader does not take for a part of them, and put together again: emphasis and
//! empty elements inside words, hyphens at line ends, string literals that are joined.

use super::span_map::{Derived, Writer};
use crate::text::bytes::kinds::begins_seam;
use crate::text::bytes::next_pair;

/// Fewer seams than this may be honest: a plural behind a name in bold, a word at the end of a line.
const FEWEST: usize = 3;
/// The longest seam.
const LONGEST: usize = 64;

/// The text without its seams; `None` when there are too few to matter.
pub(super) fn closed(text: &str, room: usize) -> Option<Derived> {
    let bytes = text.as_bytes();
    let mut seams = Vec::new();
    let mut at = 1;
    while let Some(start) = next_pair(bytes, at, begins_seam) {
        at = start + 1;
        let before = start.checked_sub(1).and_then(|before| bytes.get(before));
        let is_quote = matches!(bytes.get(start), Some(b'"' | b'\''));
        if !before.is_some_and(|byte| byte.is_ascii_alphanumeric() || is_quote && !matches!(byte, b'"' | b'\'')) {
            continue;
        }
        if let Some(length) = seam(bytes.get(start..).unwrap_or_default()) {
            seams.push(start..start + length);
            at = start + length;
        }
    }
    if seams.len() < FEWEST {
        return None;
    }
    let mut writer = Writer::new(room);
    let mut written = 0;
    for seam in seams {
        writer.copy(written, text.get(written..seam.start).unwrap_or_default());
        writer.skip_to(seam.end);
        written = seam.end;
    }
    writer.copy(written, text.get(written..).unwrap_or_default());
    Some(writer.finish(text.len()))
}

/// How long the seam is with which this begins; a word or a literal goes on behind it.
fn seam(rest: &[u8]) -> Option<usize> {
    let length = match rest {
        [b'<', ..] => elements(rest),
        [b'*', b'*', ..] | [b'~', b'~', ..] => rest
            .iter()
            .take(4)
            .take_while(|byte| matches!(byte, b'*' | b'~'))
            .count(),
        [b'*', ..] => 1,
        [b'-', b'\n', ..] => 2,
        [quote @ (b'"' | b'\''), ..] => return joint(rest, *quote),
        _ => return None,
    };
    rest.get(length)
        .filter(|byte| length > 0 && byte.is_ascii_alphabetic())
        .map(|_| length)
}

/// How long a row of elements and comments is.
fn elements(rest: &[u8]) -> usize {
    let mut length = 0;
    while let Some(behind) = rest.get(length..)
        && let [b'<', b'!' | b'/' | b'a'..=b'z' | b'A'..=b'Z', ..] = behind
    {
        let end = match behind {
            [b'<', b'!', b'-', b'-', ..] => behind
                .windows(3)
                .take(LONGEST)
                .position(|window| window == b"-->")
                .map(|at| at + 3),
            _ => behind
                .iter()
                .take(LONGEST)
                .position(|byte| *byte == b'>')
                .map(|at| at + 1),
        };
        let Some(end) = end else { break };
        // These end a word for everybody.
        let name: Vec<u8> = behind
            .iter()
            .skip(1)
            .filter(|byte| **byte != b'/')
            .take(3)
            .map(u8::to_ascii_lowercase)
            .collect();
        if matches!(
            name.as_slice(),
            [b'b', b'r', ..]
                | [b'p', b'>' | b' ', ..]
                | [b't', b'd' | b'r', ..]
                | [b'l', b'i', ..]
                | [b'd', b'i', b'v']
        ) {
            return 0;
        }
        length += end;
    }
    length
}

/// How long the end of a literal, a sign that joins, and the beginning of the next literal are.
fn joint(rest: &[u8], quote: u8) -> Option<usize> {
    let inside = rest.get(1..)?;
    let sign = inside
        .iter()
        .take(LONGEST)
        .take_while(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t' | b'+' | b'.' | b'&' | b'\\' | b'|'))
        .count();
    let between = inside.get(..sign)?;
    // A space alone joins in C and in Python, and parts words in a shell.
    let joins = between
        .iter()
        .any(|byte| matches!(byte, b'+' | b'.' | b'&' | b'|' | b'\n'))
        || between == b" ";
    (joins && inside.get(sign) == Some(&quote)).then_some(sign + 2)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn said(text: &str) -> String {
        closed(text, 1 << 20).map_or_else(|| text.to_owned(), |derived| derived.text)
    }

    #[test]
    fn seams_inside_words_are_closed() {
        assert_eq!(said("op<b></b>en th<!-- x -->e do<i>o</i>r"), "open the door");
        assert_eq!(said("op**en** th**e** do**or**"), "open** the** door**");
        assert_eq!(
            said("op-\nen the do-\nor of the gar-\nage"),
            "open the door of the garage"
        );
        assert_eq!(said(r#"x = "op" + "en t" + "he do" + "or""#), r#"x = "open the door""#);
        assert_eq!(said("'op' . 'en ' . 'the d' . 'oor'"), "'open the door'");
        let derived = closed("a<b></b>b<b></b>c<b></b>d", 100).unwrap();
        assert_eq!(derived.map.source_span(1..2), 8..9);
    }

    #[test]
    fn what_parts_words_is_no_seam() {
        for text in [
            "one<br>two<br>three<br>four",
            "<td>one</td><td>two</td><td>three</td>",
            "**Bold** and *soft* and **hard** words, 2*3*4*5",
            "[\"one\", \"two\", \"three\", \"four\"]",
            "{\"a\":\"b\",\"c\":\"d\",\"e\":\"f\"}",
            "- one\n- two\n- three\n- four",
        ] {
            assert_eq!(said(text), text);
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(text in "([a-zé]{0,3}(<b>|</b|<!--|-->|\\*\\*|-\n|\" \\+ \"|'|é)){0,30}", room in 0usize..100) {
            if let Some(derived) = closed(&text, room) {
                prop_assert!(derived.text.len() <= room);
                prop_assert!(text.get(derived.map.source_span(0..derived.text.len())).is_some());
            }
        }
    }
}
