//! Tables: a line of names, and below it lines of values — CSV, TSV, Markdown, and the rows of an SQL `INSERT`.
//!
//! A table is read once, from the first known name in its head; what a column holds is said by its name alone, and that is for
//! the family that asks.

use std::ops::Range;

/// Lines of one table.
const MAX_ROWS: usize = 4096;
/// Columns of one table.
const MAX_COLUMNS: usize = 128;
/// Bytes of a line.
const MAX_LINE: usize = 8192;
/// Bytes of a name.
const MAX_NAME: usize = 60;

/// A cell below a known name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cell<T> {
    /// The meaning of its name.
    pub meaning: T,
    /// Its place, without its quotes.
    pub span: Range<usize>,
}

/// The cells of a table below known names, and where it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Table<T> {
    /// The meanings of the known columns, from left to right.
    pub columns: Vec<T>,
    /// Their cells, row by row.
    pub cells: Vec<Cell<T>>,
    /// The end of the last row.
    pub end: usize,
}

/// The tables of one text, asked for in the order of the text: no line is read as a head twice.
#[derive(Debug, Default)]
pub(super) struct Tables {
    until: usize,
}

impl Tables {
    /// The table whose head has this name in it, if there is one and nothing of it was read before.
    pub(super) fn around<T: Copy>(
        &mut self,
        text: &str,
        name: &Range<usize>,
        meaning: impl Fn(&str) -> Option<T>,
    ) -> Option<Table<T>> {
        if name.start < self.until || !is_in_cell(text, name) {
            return None;
        }
        let table = insert(text, name, &meaning).or_else(|| {
            let line = line_around(text, name);
            // A name further on in the same line, or in one that is too long, has no other line.
            self.until = line.as_ref().map_or(name.end + MAX_LINE, |line| line.end);
            lines(text, line?, &meaning)
        })?;
        self.until = table.end;
        Some(table)
    }
}

/// Returns `true` if nothing but a name stands between the nearest signs that part cells.
fn is_in_cell(text: &str, name: &Range<usize>) -> bool {
    let parts = |b: &u8| matches!(b, b',' | b';' | b'|' | b'\t' | b'\n' | b'\r' | b'(' | b')');
    let named = |b: &u8| !b.is_ascii() || b.is_ascii_alphanumeric() || b" _-.\"'`*#/".contains(b);
    let bytes = text.as_bytes();
    let before = bytes
        .get(name.start.saturating_sub(MAX_NAME)..name.start)
        .unwrap_or_default();
    let after = bytes
        .get(name.end..bytes.len().min(name.end + MAX_NAME))
        .unwrap_or_default();
    let ends = |stop: Option<&u8>, short: bool| stop.map_or(short, parts);
    ends(before.iter().rev().find(|b| !named(b)), before.len() < MAX_NAME)
        && ends(after.iter().find(|b| !named(b)), false)
}

/// The line in which a name stands, if it is not too long and another follows.
fn line_around(text: &str, name: &Range<usize>) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let is_end = |byte: &u8| *byte == b'\n';
    let from = name.start.saturating_sub(MAX_LINE);
    let start = match bytes.get(from..name.start)?.iter().rposition(is_end) {
        Some(last) => from + last + 1,
        None if from == 0 => 0,
        None => return None,
    };
    let reach = bytes.len().min(name.end + MAX_LINE);
    let end = name.end + bytes.get(name.end..reach)?.iter().position(is_end)?;
    (end - start <= MAX_LINE).then_some(start..end)
}

/// The columns with known names.
struct Columns<T> {
    of: Vec<(usize, T)>,
    width: usize,
}

impl<T: Copy> Columns<T> {
    fn of(text: &str, head: &[Range<usize>], meaning: &impl Fn(&str) -> Option<T>) -> Option<Self> {
        let of: Vec<(usize, T)> = head
            .iter()
            .enumerate()
            .filter_map(|(index, cell)| {
                let cell = text.get(cell.clone())?.trim_matches(QUOTES);
                let meaning = (cell.len() <= MAX_NAME).then(|| meaning(cell))?;
                meaning.map(|meaning| (index, meaning))
            })
            .collect();
        (!of.is_empty()).then_some(Self { width: head.len(), of })
    }

    fn read(&self, row: &[Range<usize>], cells: &mut Vec<Cell<T>>) {
        cells.extend(self.of.iter().filter_map(|(index, meaning)| {
            Some(Cell {
                meaning: *meaning,
                span: row.get(*index)?.clone(),
            })
        }));
    }

    fn table(self, cells: Vec<Cell<T>>, end: usize) -> Table<T> {
        Table {
            columns: self.of.into_iter().map(|(_, meaning)| meaning).collect(),
            cells,
            end,
        }
    }
}

const QUOTES: [char; 6] = [' ', '"', '\'', '`', '*', '\t'];

/// A head of names between signs, and lines of as many values.
fn lines<T: Copy>(text: &str, line: Range<usize>, meaning: &impl Fn(&str) -> Option<T>) -> Option<Table<T>> {
    let Range { start, end } = line;
    let head = text.get(start..end)?;
    let count = |sign: char| head.bytes().filter(|byte| *byte == sign as u8).count();
    let sign = ['|', '\t', ';', ',']
        .into_iter()
        .filter(|sign| count(*sign) > 0 && count(*sign) < MAX_COLUMNS)
        .max_by_key(|sign| count(*sign))?;
    let head = cells(text, start..end, sign);
    let columns = Columns::of(text, &head, meaning)?;
    let mut found = Vec::new();
    let mut at = end + 1;
    let mut rows = 0;
    while rows < MAX_ROWS && at < text.len() {
        let near = text.as_bytes().get(at..text.len().min(at + MAX_LINE))?;
        let length = match near.iter().position(|b| *b == b'\n') {
            Some(length) => length,
            None if near.len() < MAX_LINE => near.len(),
            None => break,
        };
        let row = cells(text, at..at + length, sign);
        if row.len() != columns.width {
            break;
        }
        columns.read(&row, &mut found);
        at += length + 1;
        rows += 1;
    }
    (rows > 0).then(|| columns.table(found, at.min(text.len())))
}

/// `INSERT INTO people (name, ssn) VALUES ('…', '…'), ('…', '…')`.
fn insert<T: Copy>(text: &str, name: &Range<usize>, meaning: &impl Fn(&str) -> Option<T>) -> Option<Table<T>> {
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
    let columns = Columns::of(text, &cells(text, open + 1..close, ','), meaning)?;
    let mut found = Vec::new();
    at = blank(at + 6);
    for _ in 0..MAX_ROWS {
        if text.as_bytes().get(at) != Some(&b'(') {
            break;
        }
        let row = cells(
            text,
            at + 1..text.floor_char_boundary(text.len().min(at + MAX_LINE)),
            ',',
        );
        let row = row.get(..columns.width)?;
        columns.read(row, &mut found);
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
    Some(columns.table(found, at))
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
                if cells.len() > MAX_COLUMNS {
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
mod tests;
