//! Contents that nothing is to be said about, unless their name or their place says so.

use crate::model::{Origin, Place};
use crate::policy::Policy;

/// A plain content, of whose text nothing matters.
#[derive(Clone, Copy)]
pub struct TrivialContent<'a> {
    /// The name that it stands under.
    pub label: Option<&'a str>,
    /// Its author.
    pub origin: Origin,
    /// Its place in the step.
    pub place: Place,
    /// The organisation's policy.
    pub policy: &'a Policy,
}

impl TrivialContent<'_> {
    /// Returns `true` if it may be acted on as it stands, even if it is a single word: an argument of a tool, or a message
    /// to an agent or a server that reads it as one. No one acts on ids and names around a step.
    pub fn may_act(self) -> bool {
        let is_acted_on = matches!(self.origin, Origin::ToolArguments | Origin::Agent | Origin::Unknown);
        is_acted_on && self.place == Place::Body
    }
}
