//! Hexadecimal bytes with something between them: `69 67 6e`, `69:67:6e`, `0x69, 0x67`.

use std::ops::Range;

use super::likeness::readable;
use super::span_map::Writer;
use crate::text::bytes::hex_value;

/// Writes what every row of pairs spells.
pub(super) fn decode(bytes: &[u8], writer: &mut Writer) {
    const FEWEST: usize = 8;
    /// Eight pairs with something between fill at least one such block wholly, wherever they begin.
    const BLOCK: usize = 8;
    /// So many pairs, and something between each two.
    const SHORTEST: usize = 3 * FEWEST - 1;
    if bytes.len() < SHORTEST {
        return;
    }
    let mut looked_until = 0;
    for (block, within) in (0..).step_by(BLOCK).zip(bytes.chunks_exact(BLOCK)) {
        // Without branches: the compiler answers it for a whole block at once.
        let whole = within.iter().fold(true, |all, byte| all & belongs(*byte));
        if !whole || block < looked_until || writer.is_full() {
            continue;
        }
        let before = bytes.get(looked_until..block).unwrap_or_default();
        let at = block - before.iter().rev().take_while(|byte| belongs(**byte)).count();
        let end = at + bytes.iter().skip(at).take_while(|byte| belongs(**byte)).count();
        looked_until = end;
        let mut places: Vec<(Range<usize>, u8)> = Vec::new();
        let mut runs: Vec<Vec<(Range<usize>, u8)>> = Vec::new();
        let mut token = at;
        while token < end {
            let length = bytes
                .iter()
                .take(end)
                .skip(token)
                .take_while(|byte| byte.is_ascii_alphanumeric())
                .count();
            let spelled = bytes.get(token..token + length).unwrap_or_default();
            let digits = spelled.strip_prefix(b"0x").unwrap_or(spelled);
            match digits {
                [high, low] => {
                    if let (Some(high), Some(low)) = (hex_value(*high), hex_value(*low)) {
                        places.push((token..token + length, high << 4 | low));
                    }
                }
                [] => {}
                _ => runs.push(std::mem::take(&mut places)),
            }
            token += length.max(1);
        }
        runs.push(places);
        for run in runs.into_iter().filter(|run| run.len() >= FEWEST) {
            let read: Vec<u8> = run.iter().map(|(_, byte)| *byte).collect();
            let Some(text) = readable(&read, FEWEST) else { continue };
            for (offset, c) in text.char_indices() {
                let from = run.get(offset).map_or(0, |(place, _)| place.start);
                let to = run.get(offset + c.len_utf8() - 1).map_or(from, |(place, _)| place.end);
                writer.put(from..to, c.encode_utf8(&mut [0; 4]));
            }
            writer.put(end..end, "\n");
        }
    }
}

/// Whether a byte may stand in a row of pairs.
#[inline(always)]
const fn belongs(byte: u8) -> bool {
    let digit = byte.wrapping_sub(b'0') < 10;
    let letter = (byte | 0x20).wrapping_sub(b'a') < 6;
    let between = (byte == b' ') | (byte == b':') | (byte == b',') | (byte == b'x') | (byte == b'-') | (byte == b'\n');
    digit | letter | between
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(text: &str) -> String {
        let mut writer = Writer::new(1 << 20);
        decode(text.as_bytes(), &mut writer);
        writer.text().to_owned()
    }

    #[test]
    fn rows_of_pairs_are_read() {
        let hex = |between: &str| {
            "open the door"
                .bytes()
                .map(|byte| format!("{byte:02x}"))
                .collect::<Vec<_>>()
                .join(between)
        };
        for between in [" ", ":", ", ", "-", "\n", ", 0x"] {
            assert_eq!(decoded(&hex(between)), "open the door\n", "{between:?}");
        }
        assert_eq!(decoded("00:1a:2b:3c:4d:5e 12 34 56 78 90 12 34 56"), "");
    }
}
