//! Characters that look like letters and signs of ASCII: the table of `look_alikes.toml`.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::text::expression::ExpressionError;

/// What characters look like; each list by the character that all in it look like.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    plain: HashMap<char, String>,
    ornamental: HashMap<char, String>,
    reminding: HashMap<char, String>,
}

type Table = HashMap<char, char, foldhash::fast::FixedState>;

/// What characters look like, by kind.
pub(super) struct LookAlikes {
    plain: Table,
    ornamental: Table,
    reminding: Table,
}

static TABLES: LazyLock<Result<LookAlikes, ExpressionError>> = LazyLock::new(|| {
    let file: File = toml::from_str(include_str!("look_alikes.toml"))
        .map_err(|error| ExpressionError::new("text/views/look_alikes.toml", "look_alikes", error.to_string()))?;
    let table = |lists: HashMap<char, String>| -> Table {
        let pairs = lists
            .iter()
            .flat_map(|(letter, alike)| alike.chars().map(|c| (c, *letter)));
        pairs.collect()
    };
    Ok(LookAlikes {
        plain: table(file.plain),
        ornamental: table(file.ornamental),
        reminding: table(file.reminding),
    })
});

/// Reads the table.
pub(super) fn check() -> Result<(), ExpressionError> {
    TABLES.as_ref().map(|_| ()).map_err(Clone::clone)
}

/// A letter of a block of letters in alphabetical order.
const fn of_block(c: char, first: u32, begin: char) -> Option<char> {
    char::from_u32(c as u32 - first + begin as u32)
}

fn look_up(table: fn(&LookAlikes) -> &Table, c: char) -> Option<char> {
    // INVARIANT: whoever reads views has called `check` at the start.
    TABLES.as_ref().ok().and_then(|tables| table(tables).get(&c).copied())
}

/// What a character that is used for disguises looks like, in small letters.
pub(super) fn look_alike(c: char) -> Option<char> {
    match c {
        '\u{1f130}'..='\u{1f149}' => of_block(c, 0x1f130, 'a'),
        '\u{1f150}'..='\u{1f169}' => of_block(c, 0x1f150, 'a'),
        '\u{1f170}'..='\u{1f189}' => of_block(c, 0x1f170, 'a'),
        '\u{1f1e6}'..='\u{1f1ff}' => of_block(c, 0x1f1e6, 'a'),
        c => look_up(|tables| &tables.plain, c),
    }
}

/// What a letter of the ornamental kinds that folding does not know looks like, in its own case.
pub(super) fn ornamental(c: char) -> Option<char> {
    match c {
        '\u{1f1e6}'..='\u{1f1ff}' => of_block(c, 0x1f1e6, 'A'),
        c => look_up(|tables| &tables.ornamental, c),
    }
}

/// What a Cyrillic letter is taken for only among letters that are Latin, or look it.
pub(super) fn reminding(c: char) -> Option<char> {
    look_up(|tables| &tables.reminding, c)
}
