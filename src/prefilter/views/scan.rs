//! Gates: questions about the bytes of a text that are answered at the speed of memory.

/// Whether some byte satisfies `wanted`, asked block by block so that the compiler can use wide registers.
#[inline]
pub(super) fn any(bytes: &[u8], wanted: impl Fn(u8) -> bool) -> bool {
    const BLOCK: usize = 64;
    let mut blocks = bytes.chunks_exact(BLOCK);
    blocks
        .by_ref()
        .any(|block| block.iter().fold(false, |seen, byte| seen | wanted(*byte)))
        || blocks.remainder().iter().any(|byte| wanted(*byte))
}

/// The first place at or behind `from` whose byte satisfies `wanted`, block by block for the same reason.
#[inline]
pub(in crate::prefilter) fn next(bytes: &[u8], from: usize, wanted: impl Fn(u8) -> bool + Copy) -> Option<usize> {
    const BLOCK: usize = 16;
    let mut at = from;
    loop {
        let rest = bytes.get(at..)?;
        let Some(block) = rest.first_chunk::<BLOCK>() else {
            return rest.iter().position(|byte| wanted(*byte)).map(|offset| at + offset);
        };
        if block.iter().fold(false, |seen, byte| seen | wanted(*byte)) {
            return block.iter().position(|byte| wanted(*byte)).map(|offset| at + offset);
        }
        at += BLOCK;
    }
}

/// The first place at or behind `from` whose byte and the one behind it satisfy `wanted`, block by block for the same reason.
#[inline]
pub(in crate::prefilter) fn next_pair(
    bytes: &[u8],
    from: usize,
    wanted: impl Fn(u8, u8) -> bool + Copy,
) -> Option<usize> {
    const BLOCK: usize = 32;
    let mut at = from;
    loop {
        let rest = bytes.get(at..)?;
        let behind = rest.get(1..)?;
        let pairs = || rest.iter().zip(behind).take(BLOCK);
        let place = || {
            pairs()
                .position(|(byte, next)| wanted(*byte, *next))
                .map(|offset| at + offset)
        };
        let Some((block, next)) = rest.first_chunk::<BLOCK>().zip(behind.first_chunk::<BLOCK>()) else {
            return place();
        };
        let pairs = block.iter().zip(next);
        if pairs.fold(false, |seen, (byte, next)| seen | wanted(*byte, *next)) {
            return place();
        }
        at += BLOCK;
    }
}

/// Which kinds of bytes a text holds: one pass answers what would otherwise be asked of every byte again and again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::prefilter) struct Kinds(u8);

impl Kinds {
    /// Bytes of characters beyond ASCII.
    pub(in crate::prefilter) const BEYOND_ASCII: Self = Self(1);
    /// Capital letters of ASCII.
    pub(in crate::prefilter) const CAPITAL: Self = Self(1 << 1);
    /// Digits of ASCII.
    pub(in crate::prefilter) const DIGIT: Self = Self(1 << 2);
    /// What begins a code for a character: `%`, `&`, a back-slash, `=`.
    pub(in crate::prefilter) const CODE: Self = Self(1 << 3);
    /// Control characters that no ordinary text holds, the one that begins a terminal's escape sequences among them.
    pub(in crate::prefilter) const ODD_CONTROL: Self = Self(1 << 4);
    /// `@`.
    pub(in crate::prefilter) const AT: Self = Self(1 << 5);
    /// Signs other than digits and `@` that are written for letters: `!`, `$`.
    pub(in crate::prefilter) const LETTER_SIGN: Self = Self(1 << 6);

    /// The kinds of bytes in a text.
    pub(in crate::prefilter) fn of(text: &str) -> Self {
        let kinds_of = |bytes: &[u8]| bytes.iter().fold(0, |kinds, byte| kinds | kind(*byte));
        let mut blocks = text.as_bytes().chunks_exact(4);
        // Four at a time, which need not wait for each other.
        let mut kinds = [0; 4];
        for block in blocks.by_ref() {
            for (kinds, byte) in kinds.iter_mut().zip(block) {
                *kinds |= kind(*byte);
            }
        }
        Self(
            kinds
                .iter()
                .fold(kinds_of(blocks.remainder()), |all, kinds| all | kinds),
        )
    }

    /// Whether there are bytes of any of these kinds.
    pub(in crate::prefilter) const fn has(self, any: Self) -> bool {
        self.0 & any.0 != 0
    }

    /// Whether there is nothing but ASCII.
    pub(in crate::prefilter) const fn is_ascii(self) -> bool {
        !self.has(Self::BEYOND_ASCII)
    }

    /// These kinds and those.
    pub(in crate::prefilter) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The kind of a byte.
#[inline]
fn kind(byte: u8) -> u8 {
    const KINDS: [u8; 256] = {
        let mut table = [0; 256];
        let mut byte = 0usize;
        while byte < 256 {
            #[allow(clippy::indexing_slicing, reason = "constant evaluation, within bounds")]
            {
                table[byte] = match byte as u8 {
                    0x80.. => Kinds::BEYOND_ASCII.0,
                    b'A'..=b'Z' => Kinds::CAPITAL.0,
                    b'0'..=b'9' => Kinds::DIGIT.0,
                    b'%' | b'&' | b'\\' | b'=' => Kinds::CODE.0,
                    b'@' => Kinds::AT.0,
                    b'!' | b'$' => Kinds::LETTER_SIGN.0,
                    other if is_odd_control(other) => Kinds::ODD_CONTROL.0,
                    _ => 0,
                };
            }
            byte += 1;
        }
        table
    };
    KINDS.get(usize::from(byte)).copied().unwrap_or_default()
}

/// Whether a byte is a control character that no ordinary text holds.
pub(super) const fn is_odd_control(byte: u8) -> bool {
    (byte < 0x20 && byte != b'\t' && byte != b'\n' && byte != b'\r') || byte == 0x7f
}

/// The value of a hexadecimal digit.
pub(super) fn hex_value(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

/// The number that these hexadecimal digits spell; nothing but digits, at most eight of them.
pub(super) fn hex_number(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() || digits.len() > 8 {
        return None;
    }
    digits.iter().try_fold(0u32, |number, digit| {
        Some(number.wrapping_shl(4) | u32::from(hex_value(*digit)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_of_its_kind_wherever_it_stands() {
        let kinds = [
            (Kinds::BEYOND_ASCII, "é"),
            (Kinds::CAPITAL, "Q"),
            (Kinds::DIGIT, "7"),
            (Kinds::CODE, "%"),
            (Kinds::CODE, "&"),
            (Kinds::CODE, "\\"),
            (Kinds::CODE, "="),
            (Kinds::ODD_CONTROL, "\u{1b}"),
            (Kinds::ODD_CONTROL, "\u{7f}"),
            (Kinds::AT, "@"),
            (Kinds::LETTER_SIGN, "!"),
            (Kinds::LETTER_SIGN, "$"),
        ];
        for length in 0..9 {
            let plain = "a, b\n\t\r(c)".get(..length).unwrap();
            assert_eq!(Kinds::of(plain), Kinds::default());
            for place in 0..=length {
                let (before, behind) = plain.split_at(place);
                for (kind, sign) in kinds {
                    assert_eq!(
                        Kinds::of(&format!("{before}{sign}{behind}")),
                        kind,
                        "{sign:?} at {place}"
                    );
                }
            }
        }
        assert_eq!(Kinds::of("a@B"), Kinds::AT.or(Kinds::CAPITAL));
    }
}
