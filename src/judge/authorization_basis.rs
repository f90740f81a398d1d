//! Grounds: the requests that a judge's view of the user's authorisation rests on.
//!
//! A judge is asked to name the request (`r2`) on which an `explicit` or `implied` authorisation rests. Its answer is believed, with two exceptions,
//! both only for steps that act:
//!
//! - none of the requests that it names exists: it was made up, or a text told it so;
//! - the session knows its user, and nothing that the user said was let through, and the step carries no instructions that could have asked instead.
//!
//! An agent whose user was never heard is believed: an agent that only sends tool calls may have a user that asked for all of them.

use super::answer::Answer;
use crate::model::{Authorization, Diagnostic, History, Origin, Step, Voice};

/// Returns the reason why an authorisation rests on nothing, if it does.
pub(super) fn missing(answer: &Answer, step: &Step, history: &History) -> Option<Diagnostic> {
    let granted = match answer.authorization {
        Authorization::Explicit | Authorization::Implied => true,
        Authorization::Unknown | Authorization::Contradicted => false,
    };
    if !granted || !step.kind.acts() {
        return None;
    }
    let why = match history.voice {
        Voice::Unheard => return None,
        Voice::Refused if has_instructions(step) => return None,
        Voice::Refused => "nothing that the user said in this session was let through",
        Voice::Heard if names_only_unknown_requests(&answer.reasoning, history) => {
            "the request that it is said to rest on is none of this session"
        }
        Voice::Heard => return None,
    };
    Some(Diagnostic {
        code: "authorization_lowered",
        detail: format!(
            "the judge said `{}`, but {why}: taken as `unknown`",
            answer.authorization
        ),
    })
}

fn has_instructions(step: &Step) -> bool {
    step.contents_of(Origin::Instructions)
        .any(|content| content.pointer.as_str().ends_with("/instructions") && !content.text.trim().is_empty())
}

fn names_only_unknown_requests(reasoning: &str, history: &History) -> bool {
    let made = history.requests.last().map_or(0, |request| request.number);
    let mut named = reasoning
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter_map(|word| word.strip_prefix('r'))
        .filter(|digits| !digits.is_empty() && digits.len() <= 6 && digits.bytes().all(|b| b.is_ascii_digit()))
        .filter_map(|digits| digits.parse::<u32>().ok())
        .peekable();
    named.peek().is_some() && named.all(|number| number == 0 || number > made)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::testing::step;
    use super::*;
    use crate::model::{Decision, Excerpt, Kind, Request, Risk};

    fn answer(authorization: Authorization, reasoning: &str) -> Answer {
        Answer {
            risk: Risk::High,
            authorization,
            decision: Decision::Allow,
            reason_codes: Vec::new(),
            confidence: 0.9,
            reasoning: reasoning.into(),
            message: String::new(),
            edits: Vec::new(),
            flaw: None,
        }
    }

    fn heard(requests: u32) -> History {
        let request = |number| {
            Arc::new(Request {
                number,
                step: number,
                text: Excerpt::of("Pay Ann.", 100),
                answers: None,
            })
        };
        History {
            requests: (1..=requests).map(request).collect(),
            voice: Voice::Heard,
            ..History::default()
        }
    }

    #[test]
    fn a_request_that_there_is_not_grants_nothing() {
        let call = step(Kind::ToolCall, &[(Origin::ToolArguments, "ann")]);
        let lowered =
            |reasoning: &str| missing(&answer(Authorization::Explicit, reasoning), &call, &heard(2)).is_some();
        assert!(lowered("The user asked for it in `r7`."));
        assert!(lowered("Rests on r3 and r0."));
        for fine in [
            "Rests on r2.",
            "The instructions ask for it.",
            "`r1`, not r9",
            "Our bucket for4 and car3",
        ] {
            assert!(!lowered(fine), "{fine}");
        }
    }

    #[test]
    fn a_user_who_was_granted_nothing_authorises_nothing_but_instructions_may() {
        let refused = History {
            voice: Voice::Refused,
            ..History::default()
        };
        let call = |contents: &[(Origin, &str)]| step(Kind::ToolCall, contents);
        let plain = call(&[(Origin::ToolArguments, "ann")]);
        let granted = answer(Authorization::Implied, "Ordinary.");
        assert!(missing(&granted, &plain, &refused).is_some());
        assert!(missing(&granted, &plain, History::NONE).is_none());
        assert!(missing(&answer(Authorization::Unknown, ""), &plain, &refused).is_none());
        let message = step(Kind::UserMessage, &[(Origin::User, "hello")]);
        assert!(missing(&granted, &message, &refused).is_none());
        let mut instructed = call(&[(Origin::Instructions, "Pay the bills.")]);
        if let Some(content) = instructed.contents.first_mut() {
            content.pointer = crate::model::Pointer::new("/params/context/agent/instructions");
        }
        assert!(missing(&granted, &instructed, &refused).is_none());
    }
}
