//! The classes of bytes in a text, and the places that some analysis is about. One pass answers what every analysis would
//! otherwise ask of every byte again; most texts hold little of all this, and are spared most analyses.
//!
//! A class may be said to be there when it is not, never the other way round.

/// The classes of bytes in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ByteClasses(u16);

impl ByteClasses {
    /// Bytes of characters beyond ASCII.
    pub(crate) const BEYOND_ASCII: Self = Self(1);
    /// Capital letters of ASCII.
    pub(crate) const CAPITAL: Self = Self(1 << 1);
    /// Digits of ASCII.
    pub(crate) const DIGIT: Self = Self(1 << 2);
    /// The beginning of a code for a character: `%`, `&`, a back-slash, `=`.
    pub(crate) const CODE: Self = Self(1 << 3);
    /// Control characters that no ordinary text holds, the one that begins a terminal's escape sequences among them.
    pub(crate) const ODD_CONTROL: Self = Self(1 << 4);
    /// `@`.
    pub(crate) const AT: Self = Self(1 << 5);
    /// Signs other than digits and `@` that are written for letters: `!`, `$`.
    pub(crate) const LETTER_SIGN: Self = Self(1 << 6);
    /// Tabs.
    pub(crate) const TAB: Self = Self(1 << 7);
    /// Two capitals in a row.
    pub(crate) const CAPITALS: Self = Self(1 << 8);
    /// A place where a piece of base64 or its kin shows that it is no plain word ([`is_odd_piece`]).
    pub(crate) const ODD_PIECE: Self = Self(1 << 9);
    /// Within 64 bytes four letters stand alone, as in words that are written with gaps: of twelve such letters, each at most
    /// seven bytes behind the one before, one block of 64 holds at least four.
    pub(crate) const GAPS: Self = Self(1 << 10);

    /// Returns the classes of bytes in a text.
    pub(crate) fn of(text: &str) -> Self {
        const BLOCK: usize = 64;
        let bytes = text.as_bytes();
        let mut classes = bytes.first().map_or(0, |first| classes_of(*first));
        let mut lonely = 0;
        let (mut before, mut last) = (b' ', bytes.first().copied().unwrap_or(b' '));
        for block in bytes.get(1..).unwrap_or_default().chunks(BLOCK) {
            for byte in block {
                classes |= classes_of(*byte) | places_at(last, *byte);
                lonely += u16::from(is_letter(last) & !is_letter_or_digit(before) & !is_letter_or_digit(*byte));
                (before, last) = (last, *byte);
            }
            if lonely >= 4 {
                classes |= Self::GAPS.0;
            }
            lonely = 0;
        }
        Self(classes)
    }

    /// Returns `true` if the text holds any of these.
    pub(crate) const fn has(self, any: Self) -> bool {
        self.0 & any.0 != 0
    }

    /// These kinds but not those.
    pub(crate) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns `true` if the text holds nothing but ASCII.
    pub(crate) const fn is_ascii(self) -> bool {
        !self.has(Self::BEYOND_ASCII)
    }

    /// These kinds and those.
    pub(crate) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The classes of a byte, as bits.
#[inline(always)]
const fn classes_of(byte: u8) -> u16 {
    const fn bit(class: ByteClasses, there: bool) -> u16 {
        if there { class.0 } else { 0 }
    }
    bit(ByteClasses::BEYOND_ASCII, byte >= 0x80)
        | bit(ByteClasses::CAPITAL, is_capital(byte))
        | bit(ByteClasses::DIGIT, is_digit(byte))
        | bit(
            ByteClasses::CODE,
            (byte == b'%') | (byte == b'&') | (byte == b'\\') | (byte == b'='),
        )
        | bit(ByteClasses::ODD_CONTROL, is_odd_control(byte))
        | bit(ByteClasses::AT, byte == b'@')
        | bit(ByteClasses::LETTER_SIGN, (byte == b'!') | (byte == b'$'))
        | bit(ByteClasses::TAB, byte == b'\t')
}

/// The classes of two bytes in a row, as bits.
#[inline(always)]
const fn places_at(before: u8, byte: u8) -> u16 {
    let capitals = if is_capital(before) & is_capital(byte) {
        ByteClasses::CAPITALS.0
    } else {
        0
    };
    let odd_piece = if is_odd_piece(before, byte) {
        ByteClasses::ODD_PIECE.0
    } else {
        0
    };
    capitals | odd_piece
}

#[inline(always)]
const fn is_letter(byte: u8) -> bool {
    (byte | 0x20).wrapping_sub(b'a') < 26
}

#[inline(always)]
pub(crate) const fn is_digit(byte: u8) -> bool {
    byte.wrapping_sub(b'0') < 10
}

#[inline(always)]
const fn is_capital(byte: u8) -> bool {
    byte.wrapping_sub(b'A') < 26
}

#[inline(always)]
const fn is_letter_or_digit(byte: u8) -> bool {
    is_letter(byte) | is_digit(byte)
}

/// Returns `true` if a byte is a control character that no ordinary text holds.
#[inline(always)]
pub(crate) const fn is_odd_control(byte: u8) -> bool {
    ((byte < 0x20) & (byte != b'\t') & (byte != b'\n') & (byte != b'\r')) | (byte == 0x7f)
}

/// Returns `true` if a byte is of the alphabets of base64.
#[inline(always)]
pub(crate) const fn is_base64(byte: u8) -> bool {
    is_letter_or_digit(byte) | (byte == b'+') | (byte == b'/') | (byte == b'-') | (byte == b'_')
}

/// Returns `true` if a piece of these alphabets shows by its second byte that it is no plain word, or by its end.
#[inline(always)]
pub(crate) const fn is_odd_piece(before: u8, byte: u8) -> bool {
    let small = byte.wrapping_sub(b'a') < 26;
    let quotes = (byte == b'"') | (byte == b'\'') | (byte == b'`');
    let breaks = quotes | (byte == b'\n') | (byte == b'\r') | (byte == b'\\');
    is_base64(before) & (breaks | (is_base64(byte) & !small & (byte != b'-')))
}

#[cfg(test)]
mod tests;
