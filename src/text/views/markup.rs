//! Words that tags and comments take apart: `ig<b></b>nore`, `ig<!-- x -->nore`, put together again.

use super::span_map::{Derived, Writer};
use crate::text::expression::expressions;

expressions! {
    /// Tags and comments in a row.
    static TAGS = r"(?s)(?:<!--.{0,400}?-->|</?[a-zA-Z][^<>]{0,200}>)+";
}

/// The text without the tags and comments that stand between two letters; nothing where there are none.
pub(super) fn joined(text: &str, room: usize) -> Option<Derived> {
    if !text.contains('<') {
        return None;
    }
    let is_inside = |start: usize, end: usize| {
        let before = text.get(..start).and_then(|head| head.chars().next_back());
        let behind = text.get(end..).and_then(|rest| rest.chars().next());
        before.is_some_and(char::is_alphanumeric) && behind.is_some_and(char::is_alphanumeric)
    };
    let mut writer = Writer::new(room);
    let mut written = 0;
    for tags in TAGS.find_iter(text).filter(|tags| is_inside(tags.start(), tags.end())) {
        writer.copy(written, text.get(written..tags.start()).unwrap_or_default());
        written = tags.end();
    }
    if written == 0 {
        return None;
    }
    writer.copy(written, text.get(written..).unwrap_or_default());
    Some(writer.finish(text.len()))
}
