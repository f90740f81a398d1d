//! Contents that nothing is to be said about, unless their name or their place says so.

use crate::model::{Content, Origin, Place};
use crate::policy::Policy;

/// What is known of a plain content: of its text nothing matters.
#[derive(Clone, Copy)]
pub struct Plain<'a> {
    /// The name that it stands under.
    pub label: Option<&'a str>,
    /// Who speaks in it.
    pub origin: Origin,
    /// Whether the step is about it.
    pub place: Place,
    /// The organisation's policy.
    pub policy: &'a Policy,
}

impl Plain<'_> {
    /// Whether it may be acted on as it stands, even if it is a single word: an argument of a tool, or a message to an agent
    /// or a server that reads it as one. On ids and names around a step nobody acts.
    pub fn may_act(self) -> bool {
        let is_acted_on = matches!(self.origin, Origin::ToolArguments | Origin::Agent | Origin::Unknown);
        is_acted_on && self.place == Place::Body
    }
}

/// What was answered about plain contents of one step: the same few names stand in it again and again.
#[derive(Default)]
pub(in crate::prefilter) struct Heeded<'s>(Vec<(Option<&'s str>, Origin, Place, bool)>);

impl<'s> Heeded<'s> {
    /// The answer for a content's name, origin and place, from before or asked for now.
    pub(in crate::prefilter) fn or_ask(&mut self, content: &'s Content, ask: impl FnOnce() -> bool) -> bool {
        /// More than this are not kept: to search among them would cost more than to ask.
        const MOST: usize = 16;
        let (label, origin, place) = (content.label.as_deref(), content.origin, content.place);
        let mut known = self.0.iter();
        if let Some((.., answer)) = known.find(|known| (known.0, known.1, known.2) == (label, origin, place)) {
            return *answer;
        }
        let answer = ask();
        if self.0.len() < MOST {
            self.0.push((label, origin, place, answer));
        }
        answer
    }
}
