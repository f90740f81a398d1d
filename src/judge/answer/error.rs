//! The reasons why a reply is no answer.

use super::{MAX_BYTES, MAX_ITEMS};

/// The reason why a reply is no answer. It never quotes the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// Too long to be looked at.
    #[error("the reply is longer than {MAX_BYTES} bytes")]
    TooLong,
    /// Prose.
    #[error("the reply holds no JSON object")]
    NoObject,
    /// Something like an object, but not JSON.
    #[error("the reply's JSON is malformed")]
    BrokenJson,
    /// An object that does not end.
    #[error("the reply's JSON ends too early")]
    TruncatedJson,
    /// Thoughts that do not end, and so no answer after them.
    #[error("the reply's thoughts do not end")]
    OnlyThoughts,
    /// Words after an answer that lets the step happen: they may take it back.
    #[error("the reply goes on after its answer")]
    GoesOn,
    /// No object carries this call's canary.
    #[error("no object of the reply carries this call's canary")]
    Canary,
    /// More than one object carries the canary.
    #[error("more than one object of the reply carries this call's canary")]
    TwoObjects,
    /// A key stands twice in an object.
    #[error("a key of the answer stands there twice")]
    DuplicateKey,
    /// A field is missing.
    #[error("the answer has no field `{0}`")]
    MissingField(&'static str),
    /// A field has another JSON type.
    #[error("the answer's field `{0}` has the wrong type")]
    WrongType(&'static str),
    /// A value is none of the possible ones.
    #[error("the answer's field `{0}` has none of its possible values")]
    UnknownValue(&'static str),
    /// A reason code is not on the published list.
    #[error("the answer names a reason code that is not on the list")]
    UnknownReasonCode,
    /// Confidence outside 0 to 1.
    #[error("the answer's confidence is not between 0 and 1")]
    ConfidenceRange,
    /// More items than any answer needs.
    #[error("the answer's field `{0}` has more than {MAX_ITEMS} items")]
    TooManyItems(&'static str),
    /// A suspected step is let happen, and the reasoning does not name the finding.
    #[error("the answer lets a suspected step happen without naming the finding that speaks against it")]
    SuspicionIgnored,
    /// `allow` together with edits or with reasons against it.
    #[error("the answer allows and gives edits or reason codes at once")]
    Inconsistent,
}

impl AnswerError {
    /// Returns the stable name in metrics and diagnostics.
    pub const fn code(self) -> &'static str {
        match self {
            AnswerError::TooLong => "answer_too_long",
            AnswerError::NoObject => "no_object",
            AnswerError::BrokenJson => "broken_json",
            AnswerError::TruncatedJson => "truncated_json",
            AnswerError::OnlyThoughts => "only_thoughts",
            AnswerError::GoesOn => "goes_on",
            AnswerError::Canary => "canary",
            AnswerError::TwoObjects => "two_objects",
            AnswerError::DuplicateKey => "duplicate_key",
            AnswerError::MissingField(_) => "missing_field",
            AnswerError::WrongType(_) => "wrong_type",
            AnswerError::UnknownValue(_) => "unknown_value",
            AnswerError::UnknownReasonCode => "unknown_reason_code",
            AnswerError::ConfidenceRange => "confidence_range",
            AnswerError::TooManyItems(_) => "too_many_items",
            AnswerError::SuspicionIgnored => "suspicion_ignored",
            AnswerError::Inconsistent => "inconsistent",
        }
    }
}

impl AnswerError {
    /// Returns `true` if a second answer may well be better. Not if a content may have influenced the reply: a lost canary, two answers, a reply
    /// beyond all bounds.
    pub const fn may_be_chance(self) -> bool {
        match self {
            AnswerError::NoObject
            | AnswerError::BrokenJson
            | AnswerError::TruncatedJson
            | AnswerError::OnlyThoughts
            | AnswerError::GoesOn
            | AnswerError::DuplicateKey
            | AnswerError::MissingField(_)
            | AnswerError::WrongType(_)
            | AnswerError::UnknownValue(_)
            | AnswerError::UnknownReasonCode
            | AnswerError::ConfidenceRange
            | AnswerError::SuspicionIgnored
            | AnswerError::Inconsistent => true,
            AnswerError::TooLong | AnswerError::Canary | AnswerError::TwoObjects | AnswerError::TooManyItems(_) => {
                false
            }
        }
    }
}
