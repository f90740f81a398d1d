//! Contents that nothing is to be said about, unless their name or their place says so.

use crate::model::Origin;
use crate::policy::Policy;

/// What is known of a plain content: of its text nothing matters.
#[derive(Clone, Copy)]
pub struct Plain<'a> {
    /// The name that it stands under.
    pub label: Option<&'a str>,
    /// Who speaks in it.
    pub origin: Origin,
    /// The organisation's policy.
    pub policy: &'a Policy,
}

impl Plain<'_> {
    /// Whether it may be acted on as it stands, even if it is a single word: an argument of a tool, or a message to an agent
    /// or a server that reads it as one.
    pub fn may_act(self) -> bool {
        matches!(self.origin, Origin::ToolArguments | Origin::Agent | Origin::Unknown)
    }
}

/// What was answered about plain contents of one step: the same few names stand in it again and again.
#[derive(Default)]
pub(super) struct Heeded<'s>(Vec<(Option<&'s str>, Origin, bool)>);

impl<'s> Heeded<'s> {
    /// The answer for this name and this origin, from before or asked for now.
    pub(super) fn or_ask(&mut self, label: Option<&'s str>, origin: Origin, ask: impl FnOnce() -> bool) -> bool {
        /// More than this are not kept: to search among them would cost more than to ask.
        const MOST: usize = 16;
        let known = self.0.iter().find(|(known, of, _)| *known == label && *of == origin);
        if let Some((_, _, answer)) = known {
            return *answer;
        }
        let answer = ask();
        if self.0.len() < MOST {
            self.0.push((label, origin, answer));
        }
        answer
    }
}
