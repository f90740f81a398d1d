//! The failures of a judge.

use super::answer::AnswerError;
use crate::llm::Failure;
use crate::prompt::PromptError;

/// The reason why a judge gave no assessment: there is no decision, and the posture applies.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {detail}")]
pub struct JudgeFailure {
    /// The stable name: that of a [`Failure`], of an [`AnswerError`], or `prompt`.
    pub code: &'static str,
    /// One sentence for an operator. It quotes neither the step nor the model.
    pub detail: String,
}

/// The failures that the author of a content cannot bring about: the endpoint, the network, money and time.
///
/// The list is closed: a failure that is not named here never leads to an open posture.
const NOT_PROVOKED: &[&str] = &[
    "timeout",
    "connect",
    "connection_refused",
    "dns",
    "tls",
    "reset",
    "auth",
    "quota",
    "model_not_found",
    "path_not_found",
    "redirect",
    "server_error",
    "not_json",
    "event_stream",
    "rate_limited",
    "endpoint_limit",
    "breaker_open",
    "deadline",
    "judge_limit",
    "budget_spent",
    "judge_distrusted",
    "schema",
];

impl JudgeFailure {
    /// Returns `true` if the text of a step can bring this failure about: a refusal, a filter, a lost canary, an answer of no use.
    ///
    /// Such a failure never leads to an open posture, or the author of a text could choose that it is not judged.
    pub fn may_be_provoked(&self) -> bool {
        !NOT_PROVOKED.contains(&self.code)
    }

    /// Returns `true` if there was not enough time: with another deadline there may be an answer.
    pub fn is_for_want_of_time(&self) -> bool {
        matches!(self.code, "timeout" | "deadline" | "rate_limited")
    }
}

impl From<Failure> for JudgeFailure {
    fn from(failure: Failure) -> Self {
        Self {
            code: failure.code(),
            detail: failure.to_string(),
        }
    }
}

impl From<AnswerError> for JudgeFailure {
    fn from(error: AnswerError) -> Self {
        Self {
            code: error.code(),
            detail: error.to_string(),
        }
    }
}

/// The error's own message is left out: it may quote what a template was given.
impl From<PromptError> for JudgeFailure {
    fn from(_: PromptError) -> Self {
        Self {
            code: "prompt",
            detail: "the prompt could not be rendered: check the templates".to_owned(),
        }
    }
}
