//! Characters that look like letters and signs of ASCII: the table of `look_alikes.toml`.

use std::collections::HashMap;

use crate::text::{CompiledIn, data_file};

/// The look-alikes: each list by the character that all in it look like.
type File = HashMap<char, String>;
type Table = HashMap<char, char, foldhash::fast::FixedState>;

pub(super) static TABLE: CompiledIn<Table> = CompiledIn::new(|| {
    let lists: File = data_file!("text/views/look_alikes.toml").read()?;
    let pairs = lists
        .iter()
        .flat_map(|(letter, alike)| alike.chars().map(|c| (c, *letter)));
    Ok(pairs.collect())
});

/// A letter of a block of letters in alphabetical order.
const fn of_block(c: char, first: u32, begin: char) -> Option<char> {
    char::from_u32(c as u32 - first + begin as u32)
}

/// Returns what a character that is used for disguises looks like, in small letters.
pub(super) fn look_alike(c: char) -> Option<char> {
    match c {
        '\u{1f130}'..='\u{1f149}' => of_block(c, 0x1f130, 'a'),
        '\u{1f150}'..='\u{1f169}' => of_block(c, 0x1f150, 'a'),
        '\u{1f170}'..='\u{1f189}' => of_block(c, 0x1f170, 'a'),
        '\u{1f1e6}'..='\u{1f1ff}' => of_block(c, 0x1f1e6, 'a'),
        c => TABLE.get().get(&c).copied(),
    }
}
