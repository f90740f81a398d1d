//! The visibility of one character: shown as it is, as an escape, or as the letter that it hides.

use super::{Lines, SELECTORS, TAGS};
use crate::text::characters::is_invisible;

/// The visibility of one character.
pub(super) enum Visibility {
    Plain,
    Escaped,
    Hidden(Carrier, char),
}

pub(super) fn visibility(c: char, before: Option<char>, after: Option<char>, lines: Lines) -> Visibility {
    match c {
        '\n' | '\t' => match lines {
            Lines::Kept => Visibility::Plain,
            Lines::Escaped => Visibility::Escaped,
        },
        '\r' if lines == Lines::Kept && after == Some('\n') => Visibility::Plain,
        _ if !is_unseen(c) => Visibility::Plain,
        // Joiners inside emoji and inside words of scripts that need them.
        '\u{200c}' | '\u{200d}' if is_script(before) && is_script(after) => Visibility::Plain,
        _ => match Carrier::of(c) {
            Some((Carrier::Tags, Some(letter))) => Visibility::Hidden(Carrier::Tags, letter),
            Some((Carrier::Tags, None)) | None => Visibility::Escaped,
            Some((Carrier::Selectors, letter)) => {
                // A single selector after a character that has variants is how emoji and ideographs are written.
                let alone = !is_selector(before) && !is_selector(after);
                let chooses = is_script(before) || after == Some('\u{20e3}');
                match letter {
                    _ if alone && chooses => Visibility::Plain,
                    Some(letter) => Visibility::Hidden(Carrier::Selectors, letter),
                    None => Visibility::Escaped,
                }
            }
        },
    }
}

/// Characters that carry ASCII letters invisibly.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Carrier {
    /// U+E0020 to U+E007E, one for each printable ASCII character.
    Tags,
    /// The 256 variation selectors, one for each byte.
    Selectors,
}

impl Carrier {
    pub(super) fn of(c: char) -> Option<(Self, Option<char>)> {
        match c {
            '\u{e0000}'..='\u{e007f}' => Some((Carrier::Tags, Carrier::Tags.letter(c))),
            c if is_selector(Some(c)) => Some((Carrier::Selectors, Carrier::Selectors.letter(c))),
            _ => None,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Carrier::Tags => TAGS,
            Carrier::Selectors => SELECTORS,
        }
    }

    pub(super) fn base(self) -> u32 {
        match self {
            Carrier::Tags => 0xe0000,
            // U+E0100 stands for byte 16.
            Carrier::Selectors => 0xe0100 - 16,
        }
    }

    /// Returns the printable ASCII letter that a character carries.
    pub(super) fn letter(self, c: char) -> Option<char> {
        let letter = u8::try_from(u32::from(c).checked_sub(self.base())?).ok()?;
        (0x20..=0x7e).contains(&letter).then_some(char::from(letter))
    }

    pub(super) fn character(self, letter: char) -> char {
        char::from_u32(self.base() + u32::from(letter)).unwrap_or(letter)
    }
}

fn is_selector(c: Option<char>) -> bool {
    matches!(c, Some('\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}'))
}

/// Returns `true` for a character outside ASCII that can be seen.
fn is_script(c: Option<char>) -> bool {
    c.is_some_and(|c| !c.is_ascii() && (!is_unseen(c) || is_selector(Some(c))))
}

/// Returns `true` if a character cannot be seen, or begins an escape or a cut mark. Line breaks and tabs are not among them.
pub(super) fn is_unseen(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        ' '..='~' => false,
        '⟨' | '⟦' => true,
        _ => c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') || is_invisible(c),
    }
}
