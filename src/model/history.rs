//! History: the events of a session before a step, in the words in which a judge is told of them.
//!
//! Everything here is a quotation with its speaker: no text of it has more authority than its author.

use std::sync::Arc;

use super::named_enum;
use super::{Confidence, ContentId, Kind, Method, Origin, Pointer, ReasonCode, Severity};

named_enum! {
    /// The outcome of an earlier step.
    Outcome {
        /// It happened; it was not judged.
        Done = "done",
        /// It was allowed.
        Allowed = "allowed",
        /// It was allowed as modified; what is remembered is the modified text.
        Modified = "modified",
        /// It was denied: it did not happen.
        Denied = "denied",
    }
}

named_enum! {
    /// The reason why the beginning of a session is not known, although there was one.
    Gap {
        /// It began before this process, or its earlier steps were not sent here.
        BeganBefore = "began_before",
        /// It had to make room for other sessions.
        MadeRoom = "made_room",
        /// Too much time passed since its last step.
        TooLongAgo = "too_long_ago",
        /// Other nodes may have taken steps of it that this one was not told of.
        Apart = "apart",
    }
}

impl Gap {
    /// Describes what is not known, and why, in one sentence for operators and judges.
    pub const fn describe(self) -> &'static str {
        match self {
            Gap::BeganBefore => {
                "the session began before this process, or its earlier steps were not sent: what happened in it before is not known"
            }
            Gap::MadeRoom => {
                "the session had to make room for others: what happened in it before that is not known any more"
            }
            Gap::Apart => {
                "the store that nodes share did not tell everything: what other nodes saw of the session may not be known"
            }
            Gap::TooLongAgo => {
                "too much time passed within the session: what happened in it before that is not known any more"
            }
        }
    }
}

impl Outcome {
    /// Returns `true` if the step happened, as it was or as modified.
    pub const fn happened(self) -> bool {
        match self {
            Outcome::Done | Outcome::Allowed | Outcome::Modified => true,
            Outcome::Denied => false,
        }
    }
}

/// Bytes by which an excerpt is shortened to begin and end with a word.
const TO_WORD: usize = 24;

/// A text, or its head and its tail where it was too long to be kept whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excerpt {
    /// The text, or its beginning.
    pub head: String,
    /// Bytes between head and tail that were not kept.
    pub cut: usize,
    /// Its end; empty when nothing was cut.
    pub tail: String,
}

impl Excerpt {
    /// A text of at most about so many bytes: its head, and a quarter of the room for its tail.
    pub fn of(text: &str, room: usize) -> Self {
        if text.len() <= room {
            return Self {
                head: text.to_owned(),
                cut: 0,
                tail: String::new(),
            };
        }
        let for_tail = room / 4;
        let (head, _) = text.split_at(text.floor_char_boundary(room - for_tail));
        // A word is not torn in two, unless it is a long one.
        let head = match head.rfind(char::is_whitespace) {
            Some(space) if space > 0 && space + TO_WORD >= head.len() => head.split_at(space).0,
            _ => head,
        };
        let rest = text.get(head.len()..).unwrap_or_default();
        let (middle, tail) = rest.split_at(rest.ceil_char_boundary(rest.len().saturating_sub(for_tail)));
        let (middle, tail) = match tail.find(char::is_whitespace) {
            Some(space) if space <= TO_WORD => rest.split_at(middle.len() + space),
            _ => (middle, tail),
        };
        Self {
            head: head.to_owned(),
            cut: middle.len(),
            tail: tail.to_owned(),
        }
    }

    /// Bytes that are kept.
    pub fn len(&self) -> usize {
        self.head.len() + self.tail.len()
    }

    /// Returns `true` if nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// One piece of text of an earlier step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EarlierText {
    /// Its author.
    pub origin: Origin,
    /// Its place in its request.
    pub pointer: Pointer,
    /// The nearest name: an argument, the key of structured data.
    pub label: Option<String>,
    /// Its words.
    pub text: Excerpt,
}

/// A finding in an earlier step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noted {
    /// The rule.
    pub rule: String,
    /// The reason why it matters.
    pub reason: ReasonCode,
    /// The harm if it is right.
    pub severity: Severity,
    /// The likelihood that it is right.
    pub confidence: Confidence,
    /// Its place in that step.
    pub pointer: Pointer,
}

/// One earlier step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Earlier {
    /// Its number in the session, from 1, in the order in which verdicts were given.
    pub number: u32,
    /// The number of its latest repetition; its own where it was not repeated.
    pub last: u32,
    /// The number of times it came.
    pub times: u32,
    /// Its method.
    pub method: Method,
    /// Its kind.
    pub kind: Kind,
    /// The tool that it called; of an answer, the tool that answered, where the session knows.
    pub tool: Option<String>,
    /// Its outcome.
    pub outcome: Outcome,
    /// The reasons of its verdict.
    pub reasons: Vec<ReasonCode>,
    /// Its texts, in document order.
    pub said: Vec<EarlierText>,
    /// Texts that were not kept.
    pub unsaid: usize,
    /// The findings in it, the gravest first.
    pub noted: Vec<Noted>,
}

/// Something the user asked for or granted, quoted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its number among the requests of the session, from 1: `r1`, `r2`, …
    pub number: u32,
    /// The number of the step in which the user said it.
    pub step: u32,
    /// The user's words.
    pub text: Excerpt,
    /// The step that the words answer, if they only make sense as an answer (“yes, do it”).
    pub answers: Option<u32>,
}

/// The first reading of something in a step, with the words around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstRead {
    /// The number of the step in which it was read.
    pub step: u32,
    /// Its author there.
    pub origin: Origin,
    /// The tool whose output it was, where the session knows.
    pub tool: Option<String>,
    /// Its place in that step.
    pub pointer: Pointer,
    /// The parts of it that reappear; empty where the step only does what the words ask for.
    pub of: Vec<Reappears>,
    /// Bytes of the text before these words.
    pub before: usize,
    /// The words.
    pub text: String,
    /// Bytes of the text after these words.
    pub after: usize,
}

/// Something in a step that was read before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reappears {
    /// The content of the step; `None` for a number among the arguments.
    pub content: Option<ContentId>,
    /// Its place in the step.
    pub pointer: Pointer,
    /// Its text as it is written there; of a long passage the beginning.
    pub text: String,
}

/// A session's knowledge of what its user asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Voice {
    /// No message of the user was ever seen: a user whose messages are not sent here may have asked for everything.
    #[default]
    Unheard,
    /// The user was heard.
    Heard,
    /// The user spoke, and everything that was said was denied.
    Refused,
}

/// The history of a session before a step, chosen and shortened for a judge.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The user's requests, oldest first.
    pub requests: Vec<Arc<Request>>,
    /// Requests that are left out.
    pub more_requests: usize,
    /// The first readings of things in the step, the most telling first.
    pub first_read: Vec<FirstRead>,
    /// Earlier steps, the most relevant first.
    pub steps: Vec<Arc<Earlier>>,
    /// Earlier steps that are left out.
    pub more_steps: usize,
    /// The session's knowledge of what its user asked for.
    pub voice: Voice,
    /// The reason why its beginning is not known, where it is not.
    pub gap: Option<Gap>,
}

impl History {
    /// The history where nothing happened or nothing is known.
    pub const NONE: &'static History = &History {
        requests: Vec::new(),
        more_requests: 0,
        first_read: Vec::new(),
        steps: Vec::new(),
        more_steps: 0,
        voice: Voice::Unheard,
        gap: None,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_keeps_head_and_tail_on_character_borders() {
        let whole = Excerpt::of("short", 10);
        assert_eq!((whole.head.as_str(), whole.cut, whole.tail.as_str()), ("short", 0, ""));
        let text = "é".repeat(100);
        let cut = Excerpt::of(&text, 41);
        assert_eq!(cut.len() + cut.cut, text.len());
        assert!(cut.len() <= 41 && cut.head.len() > cut.tail.len() && !cut.tail.is_empty());
        let words = Excerpt::of(&"seven words stand here ".repeat(20), 100);
        assert!(
            ["seven", "words", "stand", "here"]
                .iter()
                .any(|word| words.head.ends_with(word)),
            "{words:?}"
        );
        assert!(words.tail.starts_with(' '), "{words:?}");
    }
}
