//! What a text holds: kinds of bytes, and places that some analysis is about. One pass answers what every analysis would
//! otherwise ask of every byte again; most texts hold little of all this, and are spared most analyses.
//!
//! A kind may be said to be there when it is not, never the other way round.

/// What a text holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::prefilter) struct Kinds(u16);

/// Bytes that are looked at together.
const BLOCK: usize = 32;

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
    /// Tabs.
    pub(in crate::prefilter) const TAB: Self = Self(1 << 7);
    /// Two capitals in a row.
    pub(in crate::prefilter) const CAPITALS: Self = Self(1 << 8);
    /// A place where a piece of base64 or its kin shows that it is no plain word ([`is_odd_piece`]).
    pub(in crate::prefilter) const ODD_PIECE: Self = Self(1 << 9);
    /// What a seam inside a word or between literals begins with ([`is_seam`]).
    pub(in crate::prefilter) const SEAM: Self = Self(1 << 10);
    /// Somewhere four letters of thirty-two bytes stand alone, as in words that are written with gaps: a run of twelve
    /// letters, each at most seven bytes behind the one before, either fills a block, which then has at least four of them, or
    /// lies in two blocks, one of which has at least six.
    pub(in crate::prefilter) const GAPS: Self = Self(1 << 11);
    /// Somewhere digits and capitals stand closer together than in prose.
    pub(in crate::prefilter) const DENSE: Self = Self(1 << 12);
    /// Somewhere no white space stands for longer than a word lasts.
    pub(in crate::prefilter) const UNBROKEN: Self = Self(1 << 13);
    /// Somewhere dots and dashes stand closer together than punctuation does.
    pub(in crate::prefilter) const DOTTED: Self = Self(1 << 14);

    /// What a text holds.
    pub(in crate::prefilter) fn of(text: &str) -> Self {
        kinds_in(text.as_bytes())
    }

    /// Whether there is any of these.
    pub(in crate::prefilter) const fn has(self, any: Self) -> bool {
        self.0 & any.0 != 0
    }

    /// These kinds but not those.
    pub(in crate::prefilter) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether there is nothing but ASCII.
    pub(in crate::prefilter) const fn is_ascii(self) -> bool {
        !self.has(Self::BEYOND_ASCII)
    }

    /// These kinds and those.
    pub(in crate::prefilter) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    const fn when(self, there: bool) -> Self {
        if there { self } else { Self(0) }
    }
}

/// What these bytes hold: compiled for wider registers too, which most machines have.
#[multiversion::multiversion(targets("x86_64+avx2+bmi1+bmi2"))]
fn kinds_in(bytes: &[u8]) -> Kinds {
    let mut kinds = Kinds::default();
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

    fn kinds(self) -> Kinds {
        let kinds = Kinds(u16::from(self.bytes) | u16::from(self.places) << 8);
        kinds.or(Kinds::GAPS.when(self.lonely >= 4))
    }

    /// What a whole block holds.
    fn whole(self) -> Kinds {
        self.kinds()
            .or(Kinds::DENSE.when(self.dense >= 8))
            .or(Kinds::UNBROKEN.when(self.spaces == 0))
            .or(Kinds::DOTTED.when(self.dots >= 14))
    }

    /// What a block holds of which so many bytes are text and the rest is spaces: a small part of a text, or all of a short
    /// one.
    fn of_part(self, length: usize) -> Kinds {
        let spaces = usize::from(self.spaces) + length - BLOCK;
        let longer = length.max(BLOCK / 2);
        self.kinds()
            .or(Kinds::DENSE.when(usize::from(self.dense) * 4 >= longer))
            .or(Kinds::UNBROKEN.when(length >= BLOCK / 2 && spaces == 0))
            .or(Kinds::DOTTED.when(usize::from(self.dots) * 7 >= 3 * longer))
    }
}

#[inline(always)]
const fn is_letter(byte: u8) -> bool {
    (byte | 0x20).wrapping_sub(b'a') < 26
}

#[inline(always)]
pub(in crate::prefilter) const fn is_digit(byte: u8) -> bool {
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
    const fn bit(kind: Kinds, there: bool) -> u8 {
        if there { kind.0 as u8 } else { 0 }
    }
    bit(Kinds::BEYOND_ASCII, byte >= 0x80)
        | bit(Kinds::CAPITAL, is_capital(byte))
        | bit(Kinds::DIGIT, is_digit(byte))
        | bit(
            Kinds::CODE,
            (byte == b'%') | (byte == b'&') | (byte == b'\\') | (byte == b'='),
        )
        | bit(Kinds::ODD_CONTROL, is_odd_control(byte))
        | bit(Kinds::AT, byte == b'@')
        | bit(Kinds::LETTER_SIGN, (byte == b'!') | (byte == b'$'))
        | bit(Kinds::TAB, byte == b'\t')
}

/// The kinds of a place, as bits.
#[inline(always)]
const fn places_at(before: u8, byte: u8, behind: u8) -> u8 {
    const fn bit(kind: Kinds, there: bool) -> u8 {
        if there { (kind.0 >> 8) as u8 } else { 0 }
    }
    bit(Kinds::CAPITALS, is_capital(before) & is_capital(byte))
        | bit(Kinds::ODD_PIECE, is_odd_piece(before, byte))
        | bit(Kinds::SEAM, is_seam(before, byte, behind))
}

/// Whether a byte is a control character that no ordinary text holds.
#[inline(always)]
pub(in crate::prefilter) const fn is_odd_control(byte: u8) -> bool {
    ((byte < 0x20) & (byte != b'\t') & (byte != b'\n') & (byte != b'\r')) | (byte == 0x7f)
}

/// Whether a byte is of the alphabets of base64.
#[inline(always)]
pub(in crate::prefilter) const fn is_base64(byte: u8) -> bool {
    is_letter_or_digit(byte) | (byte == b'+') | (byte == b'/') | (byte == b'-') | (byte == b'_')
}

/// Whether a piece of these alphabets shows by its second byte that it is no plain word, or by what it ends with.
#[inline(always)]
pub(in crate::prefilter) const fn is_odd_piece(before: u8, byte: u8) -> bool {
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
pub(in crate::prefilter) const fn begins_seam(byte: u8, behind: u8) -> bool {
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
            (Kinds::TAB, "\t"),
        ];
        for length in 0..100 {
            let plain = "a, b\n \r(c) ".repeat(10);
            let plain = plain.get(..length).unwrap();
            let of_bytes = |text: &str| Kinds(Kinds::of(text).0 & 0xff);
            assert_eq!(of_bytes(plain), Kinds::default());
            for place in 0..=length {
                let (before, behind) = plain.split_at(place);
                for (kind, sign) in kinds {
                    let text = format!("{before}{sign}{behind}");
                    assert_eq!(of_bytes(&text), kind, "{sign:?} at {place}");
                }
            }
        }
        assert_eq!(Kinds::of("a@B"), Kinds::AT.or(Kinds::CAPITAL));
    }

    #[test]
    fn every_place_is_of_its_kind_wherever_it_stands() {
        let kinds = [
            (Kinds::CAPITALS, "AB"),
            (Kinds::ODD_PIECE, "k7"),
            (Kinds::ODD_PIECE, "k'"),
            (Kinds::SEAM, "k<b"),
            (Kinds::SEAM, "k**n"),
            (Kinds::SEAM, "k-\nn"),
            (Kinds::SEAM, "\"+\""),
            (Kinds::SEAM, "' . '"),
        ];
        for before in 0..70 {
            for behind in [0, 1, 7, 31, 32, 33, 60] {
                for (kind, signs) in kinds {
                    let text = format!("{}{signs}{}", " ".repeat(before), " ".repeat(behind));
                    assert!(Kinds::of(&text).has(kind), "{text:?}");
                }
            }
        }
    }

    #[test]
    fn prose_holds_nothing_that_lists_and_codes_do() {
        let prose =
            "The meeting on Monday was moved to 10 a.m., and Ms. Keller asks everybody to bring the drafts. ".repeat(5);
        let unwanted = Kinds::DENSE.or(Kinds::UNBROKEN).or(Kinds::DOTTED).or(Kinds::GAPS);
        let unwanted = unwanted.or(Kinds::CAPITALS).or(Kinds::SEAM).or(Kinds::TAB);
        assert!(!Kinds::of(&prose).has(unwanted));
        assert_eq!(Kinds::of(""), Kinds::default());
    }

    #[test]
    fn codes_hold_theirs() {
        let holds = |text: &str, kind: Kinds| Kinds::of(text).has(kind);
        assert!(holds("Read this: 105 103 110 111 114 101 32 97 108 108", Kinds::DENSE));
        assert!(holds("Read this: SWdub 3JlIG FsbCB wcmV2 aW91c", Kinds::DENSE));
        assert!(holds(
            "see 87cURD]i,\"Ebo80+Dbt)A7TZlGAhM4E,9)oF(HJ+DfTK%F<G.<ATE",
            Kinds::UNBROKEN
        ));
        assert!(holds(".. --. -. --- .-. . / .- .-.. .-..", Kinds::DOTTED));
        assert!(holds("please i g n o r e all of it", Kinds::GAPS));
    }
}
