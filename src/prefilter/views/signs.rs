//! Signs by which a text that may hold lists of numbers, groups of letters or long unbroken codes is told from one that
//! cannot: counted in blocks, so that the ordinary text costs one fast look.

/// Bytes that are looked at together.
const BLOCK: usize = 32;

/// What a text shows signs of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Signs {
    /// Somewhere digits and capitals stand closer together than in prose.
    pub(super) dense: bool,
    /// Somewhere no white space stands for longer than a word lasts.
    pub(super) unbroken: bool,
    /// Somewhere dots and dashes stand closer together than punctuation does.
    pub(super) dotted: bool,
}

/// The signs that a text shows.
pub(super) fn of(bytes: &[u8]) -> Signs {
    let mut signs = Signs::default();
    let mut blocks = bytes.chunks_exact(BLOCK);
    for block in blocks.by_ref() {
        let (mut dense, mut spaces, mut dots) = (0u8, 0u8, 0u8);
        for byte in block {
            let (is_dense, is_space, is_dot) = kinds(*byte);
            dense += u8::from(is_dense);
            spaces += u8::from(is_space);
            dots += u8::from(is_dot);
        }
        signs.dense |= dense >= 8;
        signs.unbroken |= spaces == 0;
        signs.dotted |= dots >= 14;
    }
    // What is left over is a small part, or all of a short text.
    let rest = blocks.remainder();
    let count = |kind: fn(&(bool, bool, bool)) -> bool| rest.iter().map(|byte| kinds(*byte)).filter(kind).count();
    signs.dense |= count(|(dense, _, _)| *dense) * 4 >= rest.len().max(BLOCK / 2);
    signs.unbroken |= rest.len() >= BLOCK / 2 && count(|(_, space, _)| *space) == 0;
    signs.dotted |= count(|(_, _, dot)| *dot) * 7 >= 3 * rest.len().max(BLOCK / 2);
    signs
}

/// Whether a byte is a digit or a capital, white space, a dot or a dash.
#[inline]
const fn kinds(byte: u8) -> (bool, bool, bool) {
    (
        byte.wrapping_sub(b'0') < 10 || byte.wrapping_sub(b'A') < 26,
        byte <= b' ',
        byte == b'.' || byte == b'-',
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_shows_no_signs() {
        let prose =
            "The meeting on Monday was moved to 10 a.m., and Ms. Keller asks everybody to bring the drafts. ".repeat(5);
        assert_eq!(of(prose.as_bytes()), Signs::default());
        assert_eq!(of(b""), Signs::default());
    }

    #[test]
    fn codes_show_theirs() {
        assert!(of(b"Read this: 105 103 110 111 114 101 32 97 108 108").dense);
        assert!(of(b"Read this: SWdub 3JlIG FsbCB wcmV2 aW91c").dense);
        assert!(of(b"see 87cURD]i,\"Ebo80+Dbt)A7TZlGAhM4E,9)oF(HJ+DfTK%F<G.<ATE").unbroken);
        assert!(of(b".. --. -. --- .-. . / .- .-.. .-..").dotted);
    }
}
