//! What one event of a stream does, and where in the answer it stands.

use crate::gateway::json::Json;

/// What an event does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It says something, or nothing.
    Says,
    /// It begins a call, or the end: from here on everything is held.
    Holds,
    /// It begins words after thoughts: what was held may go on, unless there is a call in it.
    Frees,
    /// It is the last one.
    Ends,
    /// Nobody knows what it says: it does not go on.
    Drops,
    /// It tells of an error, and is the last one.
    Fails,
}

/// A stream that a client would understand in another way than it was judged.
pub(super) const ODD: &str = "the model behind the gateway sent events that do not fit together";

/// The place of an element, where it says one.
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
