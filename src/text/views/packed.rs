//! Bytes that are compressed, with the frame of gzip or zlib, unpacked within a budget.

/// The most that one block may unpack to.
const MOST_AT_ONCE: usize = 64 * 1024;
/// What a block costs that cannot be unpacked.
const FAILURE: usize = 96;

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
            [0x1f, 0x8b, 8, flags, ..] => self.inflate(bytes.get(gzip_header(bytes, *flags)?..)?),
            [first, second, rest @ ..] if is_zlib(*first, *second) => self.inflate(rest),
            _ => None,
        }
    }

    fn inflate(&mut self, deflated: &[u8]) -> Option<Vec<u8>> {
        let most = MOST_AT_ONCE.min(self.left);
        if most == 0 {
            return None;
        }
        let unpacked = match miniz_oxide::inflate::decompress_to_vec_with_limit(deflated, most) {
            Ok(unpacked) => unpacked,
            // What was unpacked before the end, the limit or the first error still says something.
            Err(error) => error.output,
        };
        // A failure costs time too.
        self.left -= unpacked.len().max(FAILURE).min(self.left);
        (!unpacked.is_empty()).then_some(unpacked)
    }
}

/// Whether bytes begin as compressed ones do.
pub(super) fn is_packed(bytes: &[u8]) -> bool {
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
