//! Texts that are cut into arguments whose names say that they are pieces: `part1` and `part2`, a program and its
//! arguments, a directory and a name in it, a list of chunks.

use std::ops::Range;

use super::{Implied, PROGRAM_LABELS, Way, array_place};
use crate::model::Content;

/// The longest text that is put together.
const LONGEST: usize = 8 * 1024;
/// The most pieces of one text.
const MOST_PIECES: usize = 64;
/// What may have stood between two pieces.
const ANYTHING: &[&str] = &["", " "];
const NOTHING: &[&str] = &[""];
const A_BLANK: &[&str] = &[" "];
const A_LINE: &[&str] = &["\n"];
/// Names of pieces, behind which a number or a letter follows, with what may stand between two.
const PIECE_NAMES: &[(&str, &[&str])] = &[
    ("part", ANYTHING),
    ("piece", ANYTHING),
    ("chunk", ANYTHING),
    ("segment", ANYTHING),
    ("seg", ANYTHING),
    ("fragment", ANYTHING),
    ("frag", ANYTHING),
    ("half", ANYTHING),
    ("split", ANYTHING),
    ("token", A_BLANK),
    ("tok", A_BLANK),
    ("word", A_BLANK),
    ("arg", A_BLANK),
    ("str", NOTHING),
    ("string", NOTHING),
    ("text", NOTHING),
    ("input", NOTHING),
    ("param", NOTHING),
    ("s", NOTHING),
    ("p", NOTHING),
    ("x", NOTHING),
    ("line", A_LINE),
    ("step", A_LINE),
    ("block", A_LINE),
    ("cmd", A_LINE),
    ("command", A_LINE),
];
/// Names that stand for places in a row, in their order.
const PLACES: &[&[&str]] = &[
    &["first", "second", "third", "fourth", "fifth"],
    &["one", "two", "three", "four", "five"],
    &["prefix", "infix", "suffix"],
    &["head", "body", "tail"],
    &["start", "middle", "end"],
    &["begin", "middle", "end"],
    &["beginning", "middle", "ending"],
    &["left", "mid", "right"],
    &["verb", "object"],
];
/// Names of lists of pieces.
const LIST_NAMES: &[&str] = &["chunks", "parts", "pieces", "fragments", "segments"];
/// Names of what a program is given, in one text.
const GIVEN_LABELS: &[&str] = &[
    "arguments",
    "args",
    "argv",
    "params",
    "parameters",
    "options",
    "flags",
    "switches",
];
/// Names of what a program does it to.
const OPERAND_LABELS: &[&str] = &["target", "targets", "operand", "operands", "path", "paths"];
const DIRECTORY_LABELS: &[&str] = &[
    "dir",
    "directory",
    "folder",
    "base",
    "base_dir",
    "basedir",
    "root",
    "parent",
    "prefix",
];
const NAME_LABELS: &[&str] = &["name", "file", "filename", "file_name", "basename", "leaf", "suffix"];

/// Every text that the arguments are pieces of.
pub(in crate::prefilter) fn pieces<'s>(arguments: &[&'s Content]) -> Vec<Implied<'s>> {
    let mut all = Vec::new();
    let siblings = arguments
        .iter()
        .copied()
        .filter(|content| content.text.len() <= LONGEST);
    let mut named: Vec<(Row, usize, &'s Content)> = Vec::new();
    let mut programs = Vec::new();
    let mut given = Vec::new();
    let mut operands = Vec::new();
    let mut directories = Vec::new();
    let mut names = Vec::new();
    let mut listed = Vec::new();
    for content in siblings {
        let label = content.label.as_deref().unwrap_or_default();
        if label.len() > 24 || label.is_empty() {
            continue;
        }
        let label = label.to_ascii_lowercase();
        let is = |list: &[&str]| list.contains(&label.as_str());
        if matches!(array_place(content.pointer.as_str()), Some((_, _, "")))
            && !label.bytes().all(|byte| byte.is_ascii_digit())
        {
            if is(LIST_NAMES) {
                listed.push(content);
            }
            continue;
        }
        if let Some((row, place)) = place(&label) {
            named.push((row, place, content));
        }
        if is(PROGRAM_LABELS) {
            programs.push(content);
        }
        if is(GIVEN_LABELS) {
            given.push(content);
        }
        if is(OPERAND_LABELS) {
            operands.push(content);
        }
        if is(DIRECTORY_LABELS) {
            directories.push(content);
        }
        if is(NAME_LABELS) {
            names.push(content);
        }
    }
    named.sort_by_key(|(row, place, _)| (*row, *place));
    for row in named.chunk_by(|(a, ..), (b, ..)| a == b) {
        let glues = row.first().map_or(NOTHING, |(row, ..)| row.glues());
        let row: Vec<&Content> = row.iter().map(|(_, _, content)| *content).collect();
        all.extend(glues.iter().filter_map(|glue| together(&row, glue, Way::Pieces)));
    }
    all.extend(together(&listed, "", Way::Pieces));
    if let [program] = programs.as_slice()
        && given.len() <= 1
        && operands.len() <= 1
        && !program.text.trim().contains(char::is_whitespace)
    {
        let words: Vec<&Content> = std::iter::once(*program).chain(given).chain(operands).collect();
        all.extend(together(&words, " ", Way::Pieces));
    }
    if let ([directory], [name]) = (directories.as_slice(), names.as_slice())
        && directory.text.contains(['/', '\\', '~'])
    {
        let glue = if directory.text.ends_with(['/', '\\']) { "" } else { "/" };
        all.extend(together(&[directory, name], glue, Way::Path).map(|mut implied| {
            implied.whole.label = Some("path".to_owned());
            implied
        }));
    }
    all
}

/// Which names belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Row {
    /// One name with a number or a letter behind it.
    Named(usize),
    /// Words for places in a row.
    Placed(usize),
    /// Numbers alone.
    Numbered,
    /// Letters alone.
    Lettered,
}

impl Row {
    /// What may have stood between two of its pieces.
    fn glues(self) -> &'static [&'static str] {
        match self {
            Row::Named(name) => PIECE_NAMES.get(name).map_or(NOTHING, |(_, glues)| glues),
            Row::Placed(_) | Row::Numbered | Row::Lettered => ANYTHING,
        }
    }
}

/// The row that a name belongs to, and its place there.
fn place(label: &str) -> Option<(Row, usize)> {
    if label.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some((Row::Numbered, label.parse().ok()?));
    }
    if let [letter @ b'a'..=b'h'] = label.as_bytes() {
        return Some((Row::Lettered, usize::from(*letter)));
    }
    for (row, places) in PLACES.iter().enumerate() {
        if let Some(at) = places.iter().position(|place| *place == label) {
            return Some((Row::Placed(row), at));
        }
    }
    let bare = label.trim_end_matches(|c: char| c.is_ascii_digit());
    let (name, number) = if bare.len() < label.len() {
        (
            bare.trim_end_matches(['_', '-']),
            label.get(bare.len()..)?.parse().ok()?,
        )
    } else {
        let (name, letter) = label.rsplit_once(['_', '-'])?;
        match letter.as_bytes() {
            [letter @ b'a'..=b'h'] => (name, usize::from(*letter)),
            _ => return None,
        }
    };
    let row = PIECE_NAMES.iter().position(|(known, _)| *known == name)?;
    Some((Row::Named(row), number))
}

/// The pieces as one text.
fn together<'s>(
    pieces: &[&'s Content],
    glue: &str,
    way: impl Fn(Vec<(Range<usize>, &'s Content)>) -> Way<'s>,
) -> Option<Implied<'s>> {
    if pieces.len() < 2 || pieces.len() > MOST_PIECES {
        return None;
    }
    let mut whole = (*pieces.first()?).clone();
    whole.text.clear();
    let mut places = Vec::with_capacity(pieces.len());
    for piece in pieces {
        if !places.is_empty() {
            whole.text.push_str(glue);
        }
        let start = whole.text.len();
        whole.text.push_str(&piece.text);
        places.push((start..whole.text.len(), *piece));
    }
    (whole.text.len() <= LONGEST).then(|| Implied {
        whole,
        way: way(places),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Origin;
    use crate::model::Pointer;
    use crate::prefilter::testing;

    fn texts(arguments: &[(&str, &str)]) -> Vec<String> {
        let contents = arguments
            .iter()
            .map(|(_, text)| (Origin::ToolArguments, (*text).to_owned()));
        let mut step = testing::step(contents);
        for (content, (label, _)) in step.contents.iter_mut().zip(arguments) {
            content.pointer = Pointer::new(format!("/inputs/{label}/value"));
            content.label = Some((*label).to_owned());
        }
        let all: Vec<&Content> = step.contents.iter().collect();
        pieces(&all).into_iter().map(|implied| implied.whole.text).collect()
    }

    #[test]
    fn pieces_are_put_together_in_their_order() {
        assert!(texts(&[("part2", "f /"), ("part1", "rm -r")]).contains(&"rm -rf /".to_owned()));
        assert!(texts(&[("first", "rm"), ("second", "-rf"), ("third", "/")]).contains(&"rm -rf /".to_owned()));
        assert!(texts(&[("2", "-rf /"), ("1", "rm")]).contains(&"rm -rf /".to_owned()));
        assert!(texts(&[("program", "rm"), ("arguments", "-rf /")]).contains(&"rm -rf /".to_owned()));
        assert!(texts(&[("cmd", "rm"), ("target", "/"), ("flags", "-rf")]).contains(&"rm -rf /".to_owned()));
        assert!(texts(&[("part_a", "rm -r"), ("part_b", "f /")]).contains(&"rm -rf /".to_owned()));
        assert_eq!(texts(&[("dir", "/etc"), ("name", "shadow")]), ["/etc/shadow"]);
    }

    #[test]
    fn other_names_are_no_pieces() {
        assert!(texts(&[("city", "rm -r"), ("country", "f /")]).is_empty());
        assert!(texts(&[("part1", "alone")]).is_empty());
        assert!(texts(&[("dir", "asc"), ("name", "price")]).is_empty());
        assert!(texts(&[("program", "run it all"), ("options", "-v")]).is_empty());
    }
}
