//! The effect of one event of a stream, and its place in the answer.

use crate::gateway::json::Json;

/// The effect of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventEffect {
    /// It adds words, or nothing.
    Says,
    /// It begins a call, or the end: from here on everything is held.
    Holds,
    /// It begins words after thoughts: held events may go on, unless there is a call in them.
    Frees,
    /// It is the last one.
    Ends,
    /// It is of an unknown kind: it does not go on.
    Drops,
    /// It tells of an error, and is the last one.
    Fails,
}

/// A stream that a client would understand in another way than it was judged.
pub(super) const ODD: &str = "the model behind the gateway sent events that do not fit together";

/// Returns the place of an element, if it has one.
///
/// # Errors
///
/// When it is no whole number: clients take that for different places.
pub(super) fn index_of(value: &Json, name: &str) -> Result<Option<usize>, &'static str> {
    match value.get(name) {
        None | Some(Json::Null) => Ok(None),
        Some(at) => at.as_index().map(Some).ok_or(ODD),
    }
}
