//! Talk of commands: lines of prose that hold what begins like a dangerous one.

use crate::prefilter::words::destructive_command_prose::ANCHORS;
use std::ops::Range;

use super::{Danger, Seen, code, look_at_nested, look_at_shell, windows};
use crate::prefilter::Word;
use crate::text::keywords::{Seen as Sighted, apart};

const LONGEST_PROSE: usize = 256 * 1024;
const LONGEST_QUOTED_LINE: usize = 1_000;
/// Lines that are read of any text…
const MOST_QUOTED_LINES: usize = 24;
/// …and for each so many bytes one more.
const BYTES_PER_QUOTED_LINE: usize = 2 * 1024;

/// The words of the gate.
pub(super) fn words() -> Vec<Word> {
    ANCHORS.iter().map(|anchor| Word::any_case(*anchor)).collect()
}

/// Looks at the lines of a text that hold what begins like a command.
pub(super) fn look(text: &str, anchors: impl Iterator<Item = Sighted>, seen: &mut Seen) {
    let text = text.get(..text.floor_char_boundary(LONGEST_PROSE)).unwrap_or_default();
    let mut done = 0;
    let mut lines = 0;
    for Sighted { span: hit, .. } in apart(anchors.take_while(|anchor| anchor.span.end <= text.len())) {
        if hit.start < done {
            continue;
        }
        lines += 1;
        if lines > MOST_QUOTED_LINES + text.len() / BYTES_PER_QUOTED_LINE {
            seen.add_at(Danger::NotExamined, hit, "stands behind more commands than are read");
            break;
        }
        let (from, end) = quoted_line(text, hit.start);
        // What stands in a line of the size of a text is read once.
        let from = from.max(done);
        done = end;
        let before = seen.dangers.len();
        look_at_quotation(text, from..end, seen);
        if seen.dangers.len() == before {
            look_at_quotation(text, hit.start..end, seen);
        }
    }
}

fn look_at_quotation(text: &str, range: Range<usize>, seen: &mut Seen) {
    let Some(line) = text.get(range.clone()) else { return };
    let mut here = Seen::default();
    let mut nested = Vec::new();
    windows::look(line, &mut here);
    code::look(line, &mut here, &mut nested);
    look_at_shell(line, &mut here, &mut nested);
    look_at_nested(nested, &mut here);
    seen.work += here.work;
    for (danger, span, what) in here.dangers {
        let span = span.start.min(line.len())..span.end.min(line.len());
        seen.add_at(danger, range.start + span.start..range.start + span.end, what);
    }
}

/// The command around a place: from the last quote or sentence break to the next, within its line.
fn quoted_line(text: &str, at: usize) -> (usize, usize) {
    let head = text.get(..at).unwrap_or_default();
    let line_start = head
        .rfind('\n')
        .map_or(0, |newline| newline + 1)
        .max(text.floor_char_boundary(at.saturating_sub(LONGEST_QUOTED_LINE)));
    let tail = text.get(at..).unwrap_or_default();
    let line_end = at
        + tail
            .find('\n')
            .unwrap_or(tail.len())
            .min(tail.floor_char_boundary(LONGEST_QUOTED_LINE));
    let before = text.get(line_start..at).unwrap_or_default();
    // A command in back-ticks, or after a prompt or a colon, begins there; else the whole line is read.
    let (start, quote) = match before.rfind('`') {
        Some(tick) if before.matches('`').count() % 2 == 1 => (line_start + tick + 1, Some('`')),
        _ => {
            let start = [": ", "$ ", "# ", "> "]
                .iter()
                .filter_map(|mark| before.find(mark).map(|found| found + mark.len()))
                .min();
            (line_start + start.unwrap_or(0), None)
        }
    };
    let end = quote
        .and_then(|quote| {
            text.get(at..line_end)
                .and_then(|rest| rest.find(quote))
                .map(|found| at + found)
        })
        .unwrap_or(line_end);
    (start, end.max(start))
}
