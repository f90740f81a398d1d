//! What a text holds: kinds of bytes, and places that some analysis is about. One pass answers what every analysis would
//! otherwise ask of every byte again; most texts hold little of all this, and are spared most analyses.
//!
//! A kind may be said to be there when it is not, never the other way round.

/// What a text holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ByteClasses(u16);

/// Bytes that are looked at together.
const BLOCK: usize = 32;

impl ByteClasses {
    /// Bytes of characters beyond ASCII.
    pub(crate) const BEYOND_ASCII: Self = Self(1);
    /// Capital letters of ASCII.
    pub(crate) const CAPITAL: Self = Self(1 << 1);
    /// Digits of ASCII.
    pub(crate) const DIGIT: Self = Self(1 << 2);
    /// What begins a code for a character: `%`, `&`, a back-slash, `=`.
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
    /// What a seam inside a word or between literals begins with ([`is_seam`]).
    pub(crate) const SEAM: Self = Self(1 << 10);
    /// Somewhere four letters of thirty-two bytes stand alone, as in words that are written with gaps: a run of twelve
    /// letters, each at most seven bytes behind the one before, either fills a block, which then has at least four of them, or
    /// lies in two blocks, one of which has at least six.
    pub(crate) const GAPS: Self = Self(1 << 11);
    /// Somewhere digits and capitals stand closer together than in prose.
    pub(crate) const DENSE: Self = Self(1 << 12);
    /// Somewhere no white space stands for longer than a word lasts.
    pub(crate) const UNBROKEN: Self = Self(1 << 13);
    /// Somewhere dots and dashes stand closer together than punctuation does.
    pub(crate) const DOTTED: Self = Self(1 << 14);

    /// What a text holds.
    pub(crate) fn of(text: &str) -> Self {
        kinds_in(text.as_bytes())
    }

    /// Whether there is any of these.
    pub(crate) const fn has(self, any: Self) -> bool {
        self.0 & any.0 != 0
    }

    /// These kinds but not those.
    pub(crate) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether there is nothing but ASCII.
    pub(crate) const fn is_ascii(self) -> bool {
        !self.has(Self::BEYOND_ASCII)
    }

    /// These kinds and those.
    pub(crate) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    const fn when(self, there: bool) -> Self {
        if there { self } else { Self(0) }
    }
}

/// What these bytes hold: compiled for wider registers too, which most machines have.
#[multiversion::multiversion(targets("x86_64+avx2+bmi1+bmi2"))]
fn kinds_in(bytes: &[u8]) -> ByteClasses {
    let mut kinds = ByteClasses::default();
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        let around = at.checked_sub(1).and_then(|before| {
            let before = bytes.get(before..)?.first_chunk()?;
            let behind = bytes.get(at + 1..)?.first_chunk()?;
            Some((before, rest.first_chunk()?, behind))
        });
        kinds = kinds.or(match around {
            Some((before, block, behind)) => Tally::of(before, block, behind).whole(),
            // The first block and the last ones: spaces stand before the text and behind it.
            None => {
                let end = bytes.len().min(at + BLOCK);
                let mut padded = [b' '; BLOCK + 2];
                let known = at.saturating_sub(1)..bytes.len().min(end + 1);
                let places = padded.iter_mut().skip(known.start + 1 - at);
                places
                    .zip(bytes.get(known).unwrap_or_default())
                    .for_each(|(to, from)| *to = *from);
                let part = |from: usize| {
                    padded
                        .get(from..)
                        .and_then(<[u8]>::first_chunk)
                        .unwrap_or(&[b' '; BLOCK])
                };
                Tally::of(part(0), part(1), part(2)).of_part(end - at)
            }
        });
        at += BLOCK;
    }
    kinds
}

/// What one block holds.
#[derive(Clone, Copy, Default)]
struct Tally {
    /// The lower kinds.
    bytes: u8,
    /// The higher kinds.
    places: u8,
    dense: u8,
    spaces: u8,
    dots: u8,
    lonely: u8,
}

impl Tally {
    /// Counts, without branches, so that the compiler can use wide registers.
    #[inline(always)]
    fn of(before: &[u8; BLOCK], block: &[u8; BLOCK], behind: &[u8; BLOCK]) -> Self {
        let mut tally = Self::default();
        for ((before, byte), behind) in before.iter().zip(block).zip(behind) {
            let (before, byte, behind) = (*before, *byte, *behind);
            tally.bytes |= kinds_of(byte);
            tally.places |= places_at(before, byte, behind);
            tally.dense += u8::from(is_digit(byte) | is_capital(byte));
            tally.spaces += u8::from(byte <= b' ');
            tally.dots += u8::from((byte == b'.') | (byte == b'-'));
            tally.lonely += u8::from(is_letter(byte) & !is_letter_or_digit(before) & !is_letter_or_digit(behind));
        }
        tally
    }

    fn kinds(self) -> ByteClasses {
        let kinds = ByteClasses(u16::from(self.bytes) | u16::from(self.places) << 8);
        kinds.or(ByteClasses::GAPS.when(self.lonely >= 4))
    }

    /// What a whole block holds.
    fn whole(self) -> ByteClasses {
        self.kinds()
            .or(ByteClasses::DENSE.when(self.dense >= 8))
            .or(ByteClasses::UNBROKEN.when(self.spaces == 0))
            .or(ByteClasses::DOTTED.when(self.dots >= 14))
    }

    /// What a block holds of which so many bytes are text and the rest is spaces: a small part of a text, or all of a short
    /// one.
    fn of_part(self, length: usize) -> ByteClasses {
        let spaces = usize::from(self.spaces) + length - BLOCK;
        let longer = length.max(BLOCK / 2);
        self.kinds()
            .or(ByteClasses::DENSE.when(usize::from(self.dense) * 4 >= longer))
            .or(ByteClasses::UNBROKEN.when(length >= BLOCK / 2 && spaces == 0))
            .or(ByteClasses::DOTTED.when(usize::from(self.dots) * 7 >= 3 * longer))
    }
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

/// The kinds of a byte, as bits.
#[inline(always)]
const fn kinds_of(byte: u8) -> u8 {
    const fn bit(kind: ByteClasses, there: bool) -> u8 {
        if there { kind.0 as u8 } else { 0 }
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

/// The kinds of a place, as bits.
#[inline(always)]
const fn places_at(before: u8, byte: u8, behind: u8) -> u8 {
    const fn bit(kind: ByteClasses, there: bool) -> u8 {
        if there { (kind.0 >> 8) as u8 } else { 0 }
    }
    bit(ByteClasses::CAPITALS, is_capital(before) & is_capital(byte))
        | bit(ByteClasses::ODD_PIECE, is_odd_piece(before, byte))
        | bit(ByteClasses::SEAM, is_seam(before, byte, behind))
}

/// Whether a byte is a control character that no ordinary text holds.
#[inline(always)]
pub(crate) const fn is_odd_control(byte: u8) -> bool {
    ((byte < 0x20) & (byte != b'\t') & (byte != b'\n') & (byte != b'\r')) | (byte == 0x7f)
}

/// Whether a byte is of the alphabets of base64.
#[inline(always)]
pub(crate) const fn is_base64(byte: u8) -> bool {
    is_letter_or_digit(byte) | (byte == b'+') | (byte == b'/') | (byte == b'-') | (byte == b'_')
}

/// Whether a piece of these alphabets shows by its second byte that it is no plain word, or by what it ends with.
#[inline(always)]
pub(crate) const fn is_odd_piece(before: u8, byte: u8) -> bool {
    let small = byte.wrapping_sub(b'a') < 26;
    let quotes = (byte == b'"') | (byte == b'\'') | (byte == b'`');
    let breaks = quotes | (byte == b'\n') | (byte == b'\r') | (byte == b'\\');
    is_base64(before) & (breaks | (is_base64(byte) & !small & (byte != b'-')))
}

/// Whether a seam may begin with this byte, from those around it: emphasis or an element behind a letter, the end of a
/// literal with a sign behind it that joins, a hyphen at the end of a line.
#[inline(always)]
const fn is_seam(before: u8, byte: u8, behind: u8) -> bool {
    let is_quote = (byte == b'"') | (byte == b'\'');
    begins_seam(byte, behind) & (is_letter_or_digit(before) | is_quote)
}

/// The same, whatever stands before.
#[inline(always)]
pub(crate) const fn begins_seam(byte: u8, behind: u8) -> bool {
    let is_mark = (byte == b'<') | (byte == b'*') | (byte == b'~');
    let is_quote = (byte == b'"') | (byte == b'\'');
    let blank = (behind == b' ') | (behind == b'\n') | (behind == b'\r') | (behind == b'\t');
    let sign = (behind == b'+') | (behind == b'.') | (behind == b'&') | (behind == b'\\') | (behind == b'|');
    let is_broken = (byte == b'-') & (behind == b'\n');
    is_mark | is_broken | (is_quote & (blank | sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_of_its_kind_wherever_it_stands() {
        let kinds = [
            (ByteClasses::BEYOND_ASCII, "é"),
            (ByteClasses::CAPITAL, "Q"),
            (ByteClasses::DIGIT, "7"),
            (ByteClasses::CODE, "%"),
            (ByteClasses::CODE, "&"),
            (ByteClasses::CODE, "\\"),
            (ByteClasses::CODE, "="),
            (ByteClasses::ODD_CONTROL, "\u{1b}"),
            (ByteClasses::ODD_CONTROL, "\u{7f}"),
            (ByteClasses::AT, "@"),
            (ByteClasses::LETTER_SIGN, "!"),
            (ByteClasses::LETTER_SIGN, "$"),
            (ByteClasses::TAB, "\t"),
        ];
        for length in 0..100 {
            let plain = "a, b\n \r(c) ".repeat(10);
            let plain = plain.get(..length).unwrap();
            let of_bytes = |text: &str| ByteClasses(ByteClasses::of(text).0 & 0xff);
            assert_eq!(of_bytes(plain), ByteClasses::default());
            for place in 0..=length {
                let (before, behind) = plain.split_at(place);
                for (kind, sign) in kinds {
                    let text = format!("{before}{sign}{behind}");
                    assert_eq!(of_bytes(&text), kind, "{sign:?} at {place}");
                }
            }
        }
        assert_eq!(ByteClasses::of("a@B"), ByteClasses::AT.or(ByteClasses::CAPITAL));
    }

    #[test]
    fn every_place_is_of_its_kind_wherever_it_stands() {
        let kinds = [
            (ByteClasses::CAPITALS, "AB"),
            (ByteClasses::ODD_PIECE, "k7"),
            (ByteClasses::ODD_PIECE, "k'"),
            (ByteClasses::SEAM, "k<b"),
            (ByteClasses::SEAM, "k**n"),
            (ByteClasses::SEAM, "k-\nn"),
            (ByteClasses::SEAM, "\"+\""),
            (ByteClasses::SEAM, "' . '"),
        ];
        for before in 0..70 {
            for behind in [0, 1, 7, 31, 32, 33, 60] {
                for (kind, signs) in kinds {
                    let text = format!("{}{signs}{}", " ".repeat(before), " ".repeat(behind));
                    assert!(ByteClasses::of(&text).has(kind), "{text:?}");
                }
            }
        }
    }

    #[test]
    fn prose_holds_nothing_that_lists_and_codes_do() {
        let prose =
            "The meeting on Monday was moved to 10 a.m., and Ms. Keller asks everybody to bring the drafts. ".repeat(5);
        let unwanted = ByteClasses::DENSE
            .or(ByteClasses::UNBROKEN)
            .or(ByteClasses::DOTTED)
            .or(ByteClasses::GAPS);
        let unwanted = unwanted
            .or(ByteClasses::CAPITALS)
            .or(ByteClasses::SEAM)
            .or(ByteClasses::TAB);
        assert!(!ByteClasses::of(&prose).has(unwanted));
        assert_eq!(ByteClasses::of(""), ByteClasses::default());
    }

    #[test]
    fn codes_hold_theirs() {
        let holds = |text: &str, kind: ByteClasses| ByteClasses::of(text).has(kind);
        assert!(holds(
            "Read this: 105 103 110 111 114 101 32 97 108 108",
            ByteClasses::DENSE
        ));
        assert!(holds("Read this: SWdub 3JlIG FsbCB wcmV2 aW91c", ByteClasses::DENSE));
        assert!(holds(
            "see 87cURD]i,\"Ebo80+Dbt)A7TZlGAhM4E,9)oF(HJ+DfTK%F<G.<ATE",
            ByteClasses::UNBROKEN
        ));
        assert!(holds(".. --. -. --- .-. . / .- .-.. .-..", ByteClasses::DOTTED));
        assert!(holds("please i g n o r e all of it", ByteClasses::GAPS));
    }
}
