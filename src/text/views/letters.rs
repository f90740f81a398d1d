//! Look-alikes of other scripts inside words that are Latin otherwise, read as the letters that they look like, in their own
//! case. Folding does this for comparing; this is for rules that need the case.

use super::fold::latin;
use super::span_map::{Derived, Writer};

/// The text with its look-alikes replaced; `None` when there is nothing to replace.
pub(super) fn plain(text: &str, room: usize) -> Option<Derived> {
    let mut writer = Writer::new(room);
    let (mut at, mut written) = (0, 0);
    for word in text.split_inclusive(char::is_whitespace) {
        let start = at;
        at += word.len();
        let is_mixed = !word.is_ascii() && word.bytes().any(|byte| byte.is_ascii_alphanumeric());
        if !is_mixed || word.trim_end().chars().any(|c| latin(c).is_none()) {
            continue;
        }
        for (offset, c) in word
            .char_indices()
            .filter(|(_, c)| !c.is_ascii() && !is_typographic(*c))
        {
            let Some(letter) = latin(c) else { continue };
            let from = start + offset;
            writer.copy(written, text.get(written..from).unwrap_or_default());
            written = from + c.len_utf8();
            writer.put(from..written, letter.encode_utf8(&mut [0; 4]));
        }
        if writer.is_full() {
            break;
        }
    }
    if written == 0 {
        return None;
    }
    writer.copy(written, text.get(written..).unwrap_or_default());
    Some(writer.finish(text.len()))
}

/// Returns `true` if a character is set for its beauty in honest text: curly quotes, long dashes, signs of multiplication.
const fn is_typographic(c: char) -> bool {
    matches!(
        c,
        '\u{2010}'
            ..='\u{201f}' | '×' | '´' | 'ʼ' | 'ʹ' | '′' | '″' | '«' | '»' | '‹' | '›' | '−' | '¢' | '§' | 'µ'
    )
}

#[cfg(test)]
mod tests;
