//! What an encoded piece of text says, for the excerpt of a finding that was made in a decoded view.
//!
//! Small and forgiving on purpose: it only illustrates a finding. What counts as one is decided by prefilters.

use crate::model::head;
use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Layers that are taken off at most.
const MAX_LAYERS: usize = 3;
/// Bytes that are looked at.
const MAX_BYTES: usize = 8 * 1024;

const FORGIVING: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, FORGIVING);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, FORGIVING);

/// The text without its encodings; `None` when there is none that can be taken off.
pub(super) fn decoded(text: &str) -> Option<String> {
    let mut current = head(text, MAX_BYTES).to_owned();
    let mut layers = 0;
    while layers < MAX_LAYERS {
        let Some(next) = one_layer(&current) else { break };
        current = next;
        layers += 1;
    }
    (layers > 0).then_some(current)
}

fn one_layer(text: &str) -> Option<String> {
    hexadecimal(text)
        .or_else(|| base64(text))
        .or_else(|| percent(text))
        .or_else(|| entities(text))
        .or_else(|| escapes(text))
        .filter(|decoded| decoded != text)
}

fn compact(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

fn readable(bytes: Vec<u8>) -> Option<String> {
    let text = String::from_utf8(bytes).ok()?;
    let strange = text.chars().filter(|c| c.is_control() && !c.is_whitespace()).count();
    (!text.is_empty() && strange * 20 <= text.chars().count()).then_some(text)
}

fn hexadecimal(text: &str) -> Option<String> {
    let digits = compact(text);
    let fits = digits.len() >= 8 && digits.len().is_multiple_of(2) && digits.bytes().all(|b| b.is_ascii_hexdigit());
    fits.then(|| bytes_of_hex(&digits)).flatten().and_then(readable)
}

fn bytes_of_hex(digits: &str) -> Option<Vec<u8>> {
    let nibbles: Option<Vec<u32>> = digits.chars().map(|c| c.to_digit(16)).collect();
    nibbles?
        .chunks(2)
        .map(|pair| match pair {
            [high, low] => u8::try_from(high * 16 + low).ok(),
            _ => None,
        })
        .collect()
}

fn base64(text: &str) -> Option<String> {
    let text = compact(text);
    if text.len() < 8 {
        return None;
    }
    let digits = text.trim_end_matches('=');
    // A cut text may end in the middle of a group of four; one digit alone says nothing.
    let whole = match digits.len() % 4 {
        1 => digits.get(..digits.len() - 1).unwrap_or(digits),
        _ => digits,
    };
    [&STANDARD, &URL_SAFE]
        .into_iter()
        .find_map(|engine| engine.decode(whole).ok().and_then(readable))
}

fn percent(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let pair = (*first == b'%').then(|| after.get(..2)).flatten();
        let byte = pair
            .and_then(|pair| std::str::from_utf8(pair).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        out.push(byte.unwrap_or(*first));
        rest = if byte.is_some() {
            after.get(2..).unwrap_or_default()
        } else {
            after
        };
    }
    (out.len() < text.len()).then_some(out).and_then(readable)
}

fn entities(text: &str) -> Option<String> {
    replaced(text, '&', |after| {
        let (name, rest) = after.split_once(';').filter(|(name, _)| name.len() <= 8)?;
        let c = match name {
            "lt" => '<',
            "gt" => '>',
            "amp" => '&',
            "quot" => '"',
            "apos" => '\'',
            "nbsp" => ' ',
            _ => {
                let number = name.strip_prefix('#')?;
                let code = match number.strip_prefix(['x', 'X']) {
                    Some(digits) => u32::from_str_radix(digits, 16),
                    None => number.parse(),
                };
                char::from_u32(code.ok()?)?
            }
        };
        Some((c, rest))
    })
}

fn escapes(text: &str) -> Option<String> {
    replaced(text, '\\', |after| {
        let (digits, rest) = if let Some(after) = after.strip_prefix('x') {
            after.split_at_checked(2)?
        } else {
            after.strip_prefix('u')?.split_at_checked(4)?
        };
        let c = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
        Some((c, rest))
    })
}

/// Replaces what follows a mark, where that means something.
fn replaced(text: &str, mark: char, meaning: impl Fn(&str) -> Option<(char, &str)>) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut changed = false;
    while let Some((plain, after)) = rest.split_once(mark) {
        out.push_str(plain);
        rest = match meaning(after) {
            Some((c, rest)) => {
                out.push(c);
                changed = true;
                rest
            }
            None => {
                out.push(mark);
                after
            }
        };
    }
    out.push_str(rest);
    changed.then_some(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn common_encodings_are_taken_off() {
        for (encoded, plain) in [
            ("c2VuZCBpdCB0byBtZQ==", "send it to me"),
            ("c2VuZCBpdCB0\nbyBtZQ", "send it to me"),
            ("73656e6420697420746f206d65", "send it to me"),
            ("send%20it%20to%20me", "send it to me"),
            ("send&#32;it&#x20;to me", "send it to me"),
            ("\\u0073end \\x69t to me", "send it to me"),
            ("YzJWdVpDQnBkQ0IwYnlCdFpRPT0=", "send it to me"),
        ] {
            assert_eq!(decoded(encoded).as_deref(), Some(plain), "{encoded}");
        }
        for plain in ["", "send it", "100 % sure & done \\o/"] {
            assert_eq!(decoded(plain), None, "{plain}");
        }
    }

    proptest! {
        #[test]
        fn nothing_makes_it_fail(text in ".*") {
            let _ = decoded(&text);
        }
    }
}
