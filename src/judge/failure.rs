//! Why a judge gave no assessment.

use super::answer::AnswerError;
use crate::llm::Failure;
use crate::prompt::PromptError;

/// Why a judge gave no assessment: nobody has decided, and the posture applies.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {detail}")]
pub struct JudgeFailure {
    /// The stable name: that of a [`Failure`], of an [`AnswerError`], or `prompt`.
    pub code: &'static str,
    /// One sentence for an operator. It quotes neither the step nor the model.
    pub detail: String,
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
