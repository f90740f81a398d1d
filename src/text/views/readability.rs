//! The test that tells decoded bytes that look like written text from noise.

/// The bytes as text, when they are UTF-8 (or UTF-16 as Windows encodes commands), long enough, and mostly letters.
pub(super) fn readable(bytes: &[u8], shortest: usize) -> Option<String> {
    if bytes.len() < shortest {
        return None;
    }
    let text = match utf16(bytes) {
        Some(text) => text,
        // A block may end in the middle of a character.
        None => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(error) if error.error_len().is_none() => {
                let (valid, _) = bytes.split_at_checked(error.valid_up_to())?;
                std::str::from_utf8(valid).ok()?.to_owned()
            }
            Err(_) => return None,
        },
    };
    (text.len() >= shortest && looks_written(&text)).then_some(text)
}

/// Returns `true` if a byte is a sign of ASCII that prints, or white space between such.
pub(super) const fn prints(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t')
}

/// Returns `true` if all of a longer text prints, or nearly all of a shorter one and most are letters, digits or spaces.
pub(super) fn looks_written(text: &str) -> bool {
    let (mut all, mut odd, mut plain, mut letters) = (0usize, 0usize, 0usize, 0usize);
    for c in text.chars() {
        all += 1;
        if c.is_alphabetic() {
            letters += 1;
            plain += 1;
        } else if c.is_ascii_digit() || c.is_whitespace() {
            plain += 1;
        } else if c.is_control() || c == char::REPLACEMENT_CHARACTER || matches!(c, '\u{e000}'..='\u{f8ff}') {
            odd += 1;
        }
    }
    // What prints throughout is no accident even without letters: it may be encoded once more.
    let prints_throughout = text.len() >= 16 && text.bytes().all(prints);
    // Hidden characters are text here: what they hide is for the next layer.
    prints_throughout || odd * 20 <= all && (plain * 2 >= all || text.len() > 64) && letters * 3 >= all
}

/// Text of two bytes a character, in either order, as Windows and some databases write it.
fn utf16(bytes: &[u8]) -> Option<String> {
    if bytes.len() < 8 || bytes.len() % 2 == 1 {
        return None;
    }
    let (bytes, order) = match bytes {
        [0xff, 0xfe, rest @ ..] => (rest, Some(Order::Little)),
        [0xfe, 0xff, rest @ ..] => (rest, Some(Order::Big)),
        all => (all, None),
    };
    let zeros = |first: usize, step: usize| {
        bytes
            .iter()
            .skip(first)
            .step_by(step)
            .filter(|byte| **byte == 0)
            .count()
    };
    let is_wide = |first: usize| zeros(first, 2) * 10 >= bytes.len() / 2 * 9;
    let order = order.or(match (is_wide(1), is_wide(0)) {
        (true, _) => Some(Order::Little),
        (false, true) => Some(Order::Big),
        (false, false) => None,
    })?;
    let unit = |pair: &[u8]| {
        let pair = pair.first_chunk().copied()?;
        Some(match order {
            Order::Little => u16::from_le_bytes(pair),
            Order::Big => u16::from_be_bytes(pair),
        })
    };
    let units: Vec<u16> = bytes.chunks_exact(2).filter_map(unit).collect();
    String::from_utf16(&units).ok()
}

/// The byte of a unit that comes first.
#[derive(Clone, Copy)]
enum Order {
    Little,
    Big,
}

#[cfg(test)]
mod tests;
