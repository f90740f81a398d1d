//! Gates: questions about the bytes of a text that are answered at the speed of memory.

mod base58;
mod classes;

pub(crate) use base58::base58check;
pub(crate) use classes::{ByteClasses, is_base64, is_odd_control};

/// Returns `true` if some byte satisfies `wanted`, tested block by block so that the compiler can use wide registers.
#[inline]
pub(crate) fn any(bytes: &[u8], wanted: impl Fn(u8) -> bool) -> bool {
    const BLOCK: usize = 64;
    let mut blocks = bytes.chunks_exact(BLOCK);
    blocks
        .by_ref()
        .any(|block| block.iter().fold(false, |seen, byte| seen | wanted(*byte)))
        || blocks.remainder().iter().any(|byte| wanted(*byte))
}

/// The first place at or behind `from` whose byte satisfies `wanted`, block by block for the same reason.
#[inline]
pub(crate) fn next(bytes: &[u8], from: usize, wanted: impl Fn(u8) -> bool + Copy) -> Option<usize> {
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

/// The value of a hexadecimal digit.
pub(crate) fn hex_value(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

/// The number that these hexadecimal digits spell; nothing but digits, at most eight of them.
pub(crate) fn hex_number(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() || digits.len() > 8 {
        return None;
    }
    digits.iter().try_fold(0u32, |number, digit| {
        Some(number.wrapping_shl(4) | u32::from(hex_value(*digit)?))
    })
}

/// The rows of digits of a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Digits<'t>(pub(crate) &'t [u8]);

impl Digits<'_> {
    /// The first digit at or behind a place, if there is one.
    pub(crate) fn find(self, from: usize) -> Option<usize> {
        next(self.0, from, |byte| byte.is_ascii_digit())
    }
}
