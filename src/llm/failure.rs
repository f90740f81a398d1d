//! The reasons why a model gave no usable reply: a closed list, with the rules for another try.
//!
//! A failure carries numbers at most, never a word of a request, of a reply or of an error body: those may hold parts of the conversation, and
//! failures end up in logs.

use std::time::Duration;

use async_openai::error::OpenAIError;

use super::NoConnection;

/// The reason why a model gave no usable reply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The deadline passed.
    #[error("the model did not answer in time (`timeout_ms`)")]
    Timeout,
    /// No connection: refused, name resolution, TLS, and what else there is.
    #[error("the model's endpoint cannot be reached: {}", .0.hint())]
    Connect(NoConnection),
    /// The connection broke before the reply was whole.
    #[error("the model's endpoint broke off the connection")]
    Reset,
    /// 401 or 403.
    #[error("the model's endpoint refused the API key: check the variable that `api_key_env` names")]
    Auth,
    /// 402, or a quota that waiting does not refill.
    #[error("the account at the model's endpoint has no quota left")]
    Quota,
    /// 404 about the model.
    #[error("the model's endpoint knows no such model: check `model`")]
    ModelNotFound,
    /// 404 or 405 about anything else: no chat completions are to be had there.
    #[error(
        "there are no chat completions at the address of the model's endpoint: check `base_url` (often it ends in `/v1`)"
    )]
    PathNotFound,
    /// 429, and no time left to wait.
    #[error("the model's endpoint limits the rate of calls")]
    RateLimited {
        /// The time that the endpoint asked to wait.
        retry_after: Option<Duration>,
    },
    /// 5xx or 408, also after further tries.
    #[error("the model's endpoint answered with status {status}")]
    ServerError {
        /// The status.
        status: u16,
        /// The time that the endpoint asked to wait.
        retry_after: Option<Duration>,
    },
    /// Any other 4xx: the endpoint does not take requests of this form.
    #[error("the model's endpoint refused the request with status {status}{}", complaint.hint())]
    BadRequest {
        /// The status.
        status: u16,
        /// The part of the request that the endpoint named.
        complaint: Complaint,
    },
    /// The conversation is longer than the model reads.
    #[error("the prompt is longer than the model reads: lower the prompt's token budget")]
    PromptTooLong,
    /// The reply is larger than a reply may be, or does not end.
    #[error("the reply of the model's endpoint is larger than the limit")]
    TooLarge,
    /// Status 200, but no JSON.
    #[error("the model's endpoint answered with something that is no JSON: check `base_url`")]
    NotJson,
    /// Status 200, but an event stream, which was not asked for.
    #[error(
        "the model's endpoint answered with an event stream, although none was asked for: turn off what makes it stream \
         (a server setting, or a proxy on the way)"
    )]
    EventStream,
    /// JSON, but not one chat completion.
    #[error("the model's endpoint answered with JSON that is no chat completion: check `base_url`")]
    Malformed,
    /// 3xx. Redirects are not followed: a request and its key go nowhere but where they were sent.
    #[error("the model's endpoint redirects: set `base_url` to where it redirects to")]
    Redirect,
    /// The model declined, and said so in the field for it.
    #[error("the model refused to answer")]
    Refusal,
    /// The endpoint's own filter stopped the prompt or the reply.
    #[error("a content filter of the model's endpoint stopped the call")]
    ContentFilter,
    /// A reply without text.
    #[error("the model's reply is empty")]
    Empty,
    /// The reply ended at the token limit.
    #[error("the model's reply was cut off at `max_output_tokens`")]
    Truncated,
    /// The request could not be built.
    #[error("the request to the model could not be built")]
    Unsendable,
    /// 403 without the JSON that endpoints explain it with: something before the endpoint did not like the request.
    #[error("something before the model's endpoint refused the request: look for a firewall or a proxy")]
    Blocked,
    /// Every endpoint rests after too many faults; none was asked.
    #[error("every endpoint of the model failed too often and is left alone for a moment; the log has the faults")]
    BreakerOpen,
    /// The configured pace of the endpoint is reached, and no time left to wait.
    #[error("the configured `requests_per_minute` or `tokens_per_minute` of the model's endpoint is reached")]
    EndpointLimit,
}

impl Failure {
    /// Returns the stable name in metrics and diagnostics.
    pub const fn code(&self) -> &'static str {
        match self {
            Failure::Timeout => "timeout",
            Failure::Connect(cause) => cause.code(),
            Failure::Reset => "reset",
            Failure::Auth => "auth",
            Failure::Quota => "quota",
            Failure::ModelNotFound => "model_not_found",
            Failure::PathNotFound => "path_not_found",
            Failure::RateLimited { .. } => "rate_limited",
            Failure::ServerError { .. } => "server_error",
            Failure::BadRequest { .. } => "bad_request",
            Failure::PromptTooLong => "prompt_too_long",
            Failure::TooLarge => "too_large",
            Failure::NotJson => "not_json",
            Failure::EventStream => "event_stream",
            Failure::Malformed => "malformed",
            Failure::Redirect => "redirect",
            Failure::Refusal => "refusal",
            Failure::ContentFilter => "content_filter",
            Failure::Empty => "empty",
            Failure::Truncated => "truncated",
            Failure::Unsendable => "unsendable",
            Failure::Blocked => "blocked",
            Failure::BreakerOpen => "breaker_open",
            Failure::EndpointLimit => "endpoint_limit",
        }
    }

    /// Returns the cause: it decides whether another endpoint is asked, and whether the failure counts against this one.
    ///
    /// A failure that the author of a content can bring about is never the endpoint's: otherwise that author could choose the judge, or take an
    /// endpoint away from everyone.
    pub(super) const fn blame(&self) -> Blame {
        match self {
            Failure::Timeout
            | Failure::Connect(_)
            | Failure::Reset
            | Failure::Auth
            | Failure::Quota
            | Failure::ModelNotFound
            | Failure::PathNotFound
            | Failure::ServerError { .. }
            | Failure::NotJson
            | Failure::EventStream
            | Failure::Redirect => Blame::Endpoint,
            Failure::RateLimited { .. } | Failure::EndpointLimit | Failure::BreakerOpen => Blame::Traffic,
            Failure::BadRequest { .. }
            | Failure::PromptTooLong
            | Failure::Malformed
            | Failure::TooLarge
            | Failure::Refusal
            | Failure::ContentFilter
            | Failure::Empty
            | Failure::Truncated
            | Failure::Unsendable
            | Failure::Blocked => Blame::Conversation,
        }
    }

    /// Returns `true` if an operator has to mend it.
    pub(super) const fn is_misconfiguration(&self) -> bool {
        matches!(
            self,
            Failure::Auth
                | Failure::Quota
                | Failure::ModelNotFound
                | Failure::PathNotFound
                | Failure::Redirect
                | Failure::NotJson
                | Failure::EventStream
                | Failure::Connect(NoConnection::Name | NoConnection::Certificate | NoConnection::Tls)
        )
    }

    /// Returns whether and when the same request may well succeed.
    pub(super) const fn retry(&self) -> Retry {
        match self {
            Failure::Connect(NoConnection::Certificate) => Retry::Never,
            Failure::Connect(_) | Failure::Reset => Retry::After(None),
            Failure::RateLimited { retry_after } => Retry::After(*retry_after),
            Failure::ServerError {
                status: 408 | 502 | 503 | 504 | 529,
                retry_after,
            } => Retry::After(*retry_after),
            // A hiccup or a request that this server chokes on: a second time tells.
            Failure::ServerError {
                status: 500,
                retry_after,
            } => Retry::Once(*retry_after),
            Failure::ServerError { .. }
            | Failure::Timeout
            | Failure::Auth
            | Failure::Quota
            | Failure::ModelNotFound
            | Failure::PathNotFound
            | Failure::BadRequest { .. }
            | Failure::PromptTooLong
            | Failure::TooLarge
            | Failure::NotJson
            | Failure::EventStream
            | Failure::Malformed
            | Failure::Redirect
            | Failure::Refusal
            | Failure::ContentFilter
            | Failure::Empty
            | Failure::Truncated
            | Failure::Unsendable
            | Failure::Blocked
            | Failure::BreakerOpen
            | Failure::EndpointLimit => Retry::Never,
        }
    }
}

/// The cause of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blame {
    /// The endpoint: the next one is asked, and it counts against this one.
    Endpoint,
    /// Too much traffic: the next one is asked.
    Traffic,
    /// The conversation, or its author: the failure stands.
    Conversation,
}

/// The rule for another try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Retry {
    /// The same request fails again.
    Never,
    /// After a pause, as [`Retry::After`], but only after the first attempt.
    Once(Option<Duration>),
    /// After the time that the endpoint asked for, or after our own pause.
    After(Option<Duration>),
}

/// The part of a request that an endpoint named when it refused it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Complaint {
    /// The response format: this kind of structured output is not supported.
    ResponseFormat,
    /// The name of the field that limits the reply's tokens.
    TokenLimit,
    /// The temperature.
    Temperature,
    /// No part that we know.
    Unspecified,
}

impl Complaint {
    const fn hint(self) -> &'static str {
        match self {
            Complaint::ResponseFormat => ": it does not take this `structured_output`",
            Complaint::TokenLimit => ": it does not take this `max_output_tokens`",
            Complaint::Temperature => ": it does not take this `temperature`",
            Complaint::Unspecified => "",
        }
    }
}

/// Carries a failure out through the client library.
impl From<Failure> for OpenAIError {
    fn from(failure: Failure) -> Self {
        OpenAIError::Boxed(Box::new(failure))
    }
}

/// Takes the failure back out. The library's own messages are replaced: they quote bodies.
impl From<OpenAIError> for Failure {
    fn from(error: OpenAIError) -> Self {
        match error {
            OpenAIError::Boxed(inner) => match inner.downcast::<Failure>() {
                Ok(failure) => *failure,
                Err(_) => Failure::Unsendable,
            },
            OpenAIError::Reqwest(error) => Failure::from(&error),
            OpenAIError::JSONDeserialize(..) => Failure::NotJson,
            OpenAIError::ApiError(response) => Failure::ServerError {
                status: response.status_code.as_u16(),
                retry_after: None,
            },
            OpenAIError::FileSaveError(_)
            | OpenAIError::FileReadError(_)
            | OpenAIError::StreamError(_)
            | OpenAIError::InvalidArgument(_) => Failure::Unsendable,
        }
    }
}

impl From<&reqwest::Error> for Failure {
    fn from(error: &reqwest::Error) -> Self {
        if error.is_builder() {
            Failure::Unsendable
        } else if error.is_connect() {
            Failure::Connect(NoConnection::of(error))
        } else {
            Failure::Reset
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_passes_through_the_library_unchanged() {
        let failure = Failure::RateLimited {
            retry_after: Some(Duration::from_secs(3)),
        };
        assert_eq!(Failure::from(OpenAIError::from(failure.clone())), failure);
    }

    #[test]
    fn what_the_library_says_is_not_passed_on() {
        let error = serde_json::from_str::<u8>("x").unwrap_err();
        let failure = Failure::from(OpenAIError::JSONDeserialize(error, "the secret body".into()));
        assert_eq!(failure, Failure::NotJson);
        assert!(!failure.to_string().contains("secret"));
    }
}
