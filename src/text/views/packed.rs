//! Bytes that are compressed: gzip, zlib, and deflate without a frame, unpacked within a budget.

/// The most that one block may unpack to.
const MAX_AT_ONCE: usize = 64 * 1024;
/// How much of a block without a frame is unpacked to see whether it is one.
const PROBE: usize = 96;

/// What may still be unpacked in a text: blocks that unpack to nothing readable cost as well.
#[derive(Debug)]
pub(super) struct Budget {
    left: usize,
}

impl Budget {
    /// A budget of this many bytes.
    pub(super) fn new(left: usize) -> Self {
        Self { left }
    }

    /// What compressed bytes unpack to, as far as the budget goes; nothing for bytes that are not compressed.
    pub(super) fn unpack(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        match bytes {
            [0x1f, 0x8b, 8, flags, ..] => self.inflate(bytes.get(gzip_header(bytes, *flags)?..)?, MAX_AT_ONCE),
            [first, second, rest @ ..] if is_zlib(*first, *second) => self.inflate(rest, MAX_AT_ONCE),
            // The first and only block of a short text, in the compressions that compress.
            [first, ..] if matches!(first & 7, 3 | 5) && bytes.len() > 12 && may_be_block(bytes) => {
                let probe = self.inflate(bytes, PROBE)?;
                super::readability::readable(&probe, 12)?;
                self.inflate(bytes, MAX_AT_ONCE)
            }
            _ => None,
        }
    }

    fn inflate(&mut self, deflated: &[u8], most: usize) -> Option<Vec<u8>> {
        let most = most.min(self.left);
        if most == 0 {
            return None;
        }
        let unpacked = match miniz_oxide::inflate::decompress_to_vec_with_limit(deflated, most) {
            Ok(unpacked) => unpacked,
            // What was unpacked before the end, the limit or the first error still says something.
            Err(error) => error.output,
        };
        // A failure costs time too.
        self.left -= unpacked.len().max(PROBE).min(self.left);
        (!unpacked.is_empty()).then_some(unpacked)
    }
}

/// Whether bytes can be compressed, by the first twelve of them.
pub(super) fn may_be_packed(first: &[u8]) -> bool {
    match first {
        [0x1f, 0x8b, 8, ..] => true,
        [first, second, ..] if is_zlib(*first, *second) => true,
        [one, ..] => matches!(one & 7, 3 | 5) && may_be_block(first),
        [] => false,
    }
}

/// Whether bytes can begin a block without a frame: preparing to unpack one costs more than most blocks are worth.
fn may_be_block(bytes: &[u8]) -> bool {
    let Some(beginning) = bytes.first_chunk::<12>() else {
        return false;
    };
    let bits = beginning
        .iter()
        .rev()
        .fold(0_u128, |bits, byte| bits << 8 | u128::from(*byte));
    match bits & 7 {
        5 => has_codes(bits),
        _ => begins_with_letter(bits),
    }
}

/// Whether the lengths of the codes by which a block tells its codes fit together (RFC 1951, 3.2.7).
fn has_codes(bits: u128) -> bool {
    let count = 4 + (bits >> 13 & 15) as u32;
    let lengths = (0..count)
        .map(|place| (bits >> (17 + 3 * place) & 7) as u32)
        .filter(|length| *length > 0);
    let (used, total) = lengths.fold((0, 0), |(used, total), length| (used + 1, total + (128_u32 >> length)));
    used <= 1 || total == 128
}

/// Whether a block in the fixed codes begins with a byte, rather than with its end or a repetition of nothing (3.2.6).
fn begins_with_letter(bits: u128) -> bool {
    /// The first code of seven bits that there is not: those below are the end and repetitions.
    const FIRST_OF_EIGHT: u8 = 0b0011_0000;
    ((bits >> 3) as u8).reverse_bits() >= FIRST_OF_EIGHT
}

/// Whether bytes begin as compressed ones with a frame do.
pub(super) fn is_framed(bytes: &[u8]) -> bool {
    match bytes {
        [0x1f, 0x8b, 8, ..] => true,
        [first, second, ..] => is_zlib(*first, *second),
        _ => false,
    }
}

fn is_zlib(first: u8, second: u8) -> bool {
    first == 0x78 && (u16::from(first) << 8 | u16::from(second)).is_multiple_of(31) && second & 0x20 == 0
}

/// Where the compressed bytes begin behind the header of gzip.
fn gzip_header(bytes: &[u8], flags: u8) -> Option<usize> {
    let mut at = 10;
    if flags & 4 != 0 {
        let length = u16::from_le_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]);
        at += 2 + usize::from(length);
    }
    for flag in [8, 16] {
        if flags & flag != 0 {
            at += bytes.get(at..)?.iter().position(|byte| *byte == 0)? + 1;
        }
    }
    Some(if flags & 2 != 0 { at + 2 } else { at })
}

#[cfg(test)]
mod tests;
