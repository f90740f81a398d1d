//! An estimate of the tokens that a text costs, without knowing the model's tokeniser.
//!
//! One token for 3.6 bytes of ASCII, one for 1.5 characters of anything else. Real tokenisers come out lower for prose
//! and runs of spaces, higher for digits and hexadecimal; the estimate decides only what is cut, so that is enough.

/// The price of one ASCII character, in thousandths of a token.
const ASCII: u64 = 278;
/// The price of one other character, in thousandths of a token.
const OTHER: u64 = 667;
/// The price of a character that is shown as the dearest escape there is (`⟨hidden-vs:x⟩`), in thousandths of a token.
pub(super) const ESCAPED: u64 = 2 * OTHER + 11 * ASCII;

/// Returns the price of a character shown as it is, in thousandths of a token.
pub(super) fn price(c: char) -> u64 {
    if c.is_ascii() { ASCII } else { OTHER }
}

/// Estimates the tokens of a text.
pub(super) fn estimate(text: &str) -> usize {
    // By bytes, which takes a tenth of the time: every character that is not ASCII has exactly one leading byte.
    let (mut ascii, mut other) = (0u64, 0u64);
    // No more than a byte can count: the compiler then counts sixteen bytes at a time.
    for part in text.as_bytes().chunks(255) {
        ascii += u64::from(part.iter().map(|byte| u8::from(*byte < 0x80)).sum::<u8>());
        other += u64::from(part.iter().map(|byte| u8::from(*byte >= 0xC0)).sum::<u8>());
    }
    whole(ascii * ASCII + other * OTHER)
}

/// Rounds thousandths of a token up to whole tokens.
pub(super) fn whole(thousandths: u64) -> usize {
    usize::try_from(thousandths.div_ceil(1000)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ascii_is_cheap_and_everything_else_dear() {
        assert_eq!(estimate(""), 0);
        assert_eq!(estimate(&"a".repeat(3600)), 1001);
        assert_eq!(estimate(&"ж".repeat(1500)), 1001);
    }
}
