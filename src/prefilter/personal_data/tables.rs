//! Tables: a line of names, and below it lines of values — CSV, TSV, Markdown, and the rows of an SQL `INSERT`.
//!
//! A table is read once, from the first known name in its head; a column counts by its name alone.

use std::ops::Range;

use super::context::plain_name;
use super::labelled::{alone, whole_value};
use super::names;
use super::{Datum, Hit};
use crate::model::Confidence::Medium;

/// Lines of one table.
const MOST_ROWS: usize = 4096;
/// Columns of one table.
const MOST_COLUMNS: usize = 128;
/// Bytes of a line.
const LONGEST_LINE: usize = 8192;

/// Reads the table whose head has this name in it, if there is one: what it holds, and where it ends.
pub(super) fn find(text: &str, name: &Range<usize>, hits: &mut Vec<Hit>) -> Option<usize> {
    insert(text, name, hits).or_else(|| lines(text, name, hits))
}

/// The columns that hold personal data, by their names.
struct Columns {
    of: Vec<(usize, Datum)>,
    width: usize,
    is_record: bool,
}

impl Columns {
    fn of(text: &str, head: &[Range<usize>]) -> Option<Self> {
        let of: Vec<(usize, Datum)> = head
            .iter()
            .enumerate()
            .filter_map(|(index, cell)| {
                let cell = text.get(cell.clone())?.trim_matches(QUOTES);
                let meaning = (cell.len() <= 60).then(|| names::meaning(&plain_name(cell)))?;
                meaning.map(|datum| (index, datum))
            })
            .collect();
        (!of.is_empty()).then(|| Self {
            width: head.len(),
            is_record: of
                .iter()
                .any(|(_, datum)| !matches!(datum, Datum::Name | Datum::PostalAddress)),
            of,
        })
    }

    fn read(&self, text: &str, row: &[Range<usize>], hits: &mut Vec<Hit>) {
        for (index, datum) in &self.of {
            let Some(cell) = row.get(*index) else { continue };
            let Some((datum, span, confidence)) = text.get(cell.clone()).and_then(|cell| whole_value(*datum, cell))
            else {
                continue;
            };
            let hit = Hit {
                datum,
                span: cell.start + span.start..cell.start + span.end,
                confidence,
            };
            match datum {
                Datum::Name | Datum::PostalAddress if !self.is_record => hits.extend(alone(hit)),
                _ => hits.push(Hit {
                    confidence: confidence.max(Medium).min(hit.confidence),
                    ..hit
                }),
            }
        }
    }
}

const QUOTES: [char; 6] = [' ', '"', '\'', '`', '*', '\t'];

/// A head of names between signs, and lines of as many values.
fn lines(text: &str, name: &Range<usize>, hits: &mut Vec<Hit>) -> Option<usize> {
    let start = text.get(..name.start)?.rfind('\n').map_or(0, |at| at + 1);
    let end = name.end + text.get(name.end..)?.find('\n')?;
    let head = text.get(start..end).filter(|head| head.len() <= LONGEST_LINE)?;
    let count = |sign: char| head.bytes().filter(|byte| *byte == sign as u8).count();
    let sign = ['|', '\t', ';', ',']
        .into_iter()
        .filter(|sign| count(*sign) > 0 && count(*sign) < MOST_COLUMNS)
        .max_by_key(|sign| count(*sign))?;
    let head = cells(text, start..end, sign);
    let columns = Columns::of(text, &head)?;
    let mut at = end + 1;
    let mut rows = 0;
    while rows < MOST_ROWS && at < text.len() {
        let line = text.get(at..)?;
        let length = line.find('\n').unwrap_or(line.len());
        if length > LONGEST_LINE {
            break;
        }
        let row = cells(text, at..at + length, sign);
        if row.len() != columns.width {
            break;
        }
        columns.read(text, &row, hits);
        at += length + 1;
        rows += 1;
    }
    (rows > 0).then_some(at.min(text.len()))
}

/// `INSERT INTO people (name, ssn) VALUES ('…', '…'), ('…', '…')`.
fn insert(text: &str, name: &Range<usize>, hits: &mut Vec<Hit>) -> Option<usize> {
    let reach = text.ceil_char_boundary(name.start.saturating_sub(1024));
    let open = reach + text.get(reach..name.start)?.rfind('(')?;
    let close = name.end
        + text
            .get(name.end..text.floor_char_boundary(text.len().min(name.end + 1024)))?
            .find(')')?;
    let mut at = close + 1;
    let blank = |at: usize| {
        let rest = text.get(at..).unwrap_or_default();
        at + (rest.len() - rest.trim_start().len())
    };
    at = blank(at);
    if !text.get(at..at + 6)?.eq_ignore_ascii_case("values") {
        return None;
    }
    let columns = Columns::of(text, &cells(text, open + 1..close, ','))?;
    at = blank(at + 6);
    for _ in 0..MOST_ROWS {
        if text.as_bytes().get(at) != Some(&b'(') {
            break;
        }
        let row = cells(
            text,
            at + 1..text.floor_char_boundary(text.len().min(at + LONGEST_LINE)),
            ',',
        );
        let row = row.get(..columns.width)?;
        columns.read(text, row, hits);
        let end = row.last()?.end;
        at = end
            + text
                .get(end..text.floor_char_boundary(text.len().min(end + 8)))?
                .find(')')?
            + 1;
        at = blank(at);
        if text.as_bytes().get(at) != Some(&b',') {
            break;
        }
        at = blank(at + 1);
    }
    Some(at)
}

/// The cells of a line without their quotes; signs inside quotes belong to the cell. Rows of an `INSERT` end at their bracket.
fn cells(text: &str, line: Range<usize>, sign: char) -> Vec<Range<usize>> {
    let mut cells = Vec::new();
    let mut start = line.start;
    let mut quote: Option<char> = None;
    let bare = |range: Range<usize>| {
        let cell = text.get(range.clone()).unwrap_or_default();
        let front = cell.len() - cell.trim_start_matches([' ', '\t', '"', '\'']).len();
        let back = cell.len() - cell.trim_end_matches([' ', '\t', '"', '\'', '\r']).len();
        let from = (range.start + front).min(range.end);
        from..(range.end - back).max(from)
    };
    for (offset, c) in text.get(line.clone()).unwrap_or_default().char_indices() {
        let at = line.start + offset;
        let opens = text.get(start..at).is_some_and(|so_far| so_far.trim().is_empty());
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if matches!(c, '"' | '\'') && opens => quote = Some(c),
            None if c == sign => {
                cells.push(bare(start..at));
                start = at + 1;
                if cells.len() > MOST_COLUMNS {
                    return cells;
                }
            }
            None if c == ')' && sign == ',' && !cells.is_empty() => {
                cells.push(bare(start..at));
                return cells;
            }
            None => {}
        }
    }
    cells.push(bare(start..line.end));
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'t>(text: &'t str, name: &str) -> Vec<(Datum, &'t str)> {
        let at = text.find(name).unwrap();
        let mut hits = Vec::new();
        find(text, &(at..at + name.len()), &mut hits);
        hits.iter().map(|hit| (hit.datum, &text[hit.span.clone()])).collect()
    }

    #[test]
    fn the_columns_of_a_table_are_read_to_its_end() {
        assert_eq!(
            found(
                "id,ssn,plan\n1,219-09-9998,gold\n2,\"219099998\",silver\n\n3,219-09-9997,x",
                "ssn"
            ),
            [(Datum::NationalId, "219-09-9998"), (Datum::NationalId, "219099998")]
        );
        assert_eq!(
            found("| plan | Passport No |\n|---|---|\n| gold | X1234567 |\n", "Passport"),
            [(Datum::Passport, "X1234567")]
        );
        assert_eq!(
            found("name;passport\r\nNina Falk;X1234567\r\n", "name"),
            [(Datum::Name, "Nina Falk"), (Datum::Passport, "X1234567")]
        );
        assert_eq!(
            found(
                "INSERT INTO people (plan, full_name, note) VALUES ('gold', 'Nina, Falk', 'x'), ('a', 'Tom Berg', 'y');",
                "full_name"
            ),
            [(Datum::Person, "Nina, Falk"), (Datum::Person, "Tom Berg")]
        );
    }

    #[test]
    fn a_sentence_is_no_table() {
        assert_eq!(
            found("My passport, which I lost, is old\nand mine, too, alas\n", "passport"),
            []
        );
    }
}
