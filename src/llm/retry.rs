//! Trying again, within what is left of the deadline.
//!
//! A failure that may pass is tried again after a short pause with jitter, or after the time that the endpoint asks for. A wait that would outlast
//! the deadline is not begun: the failure is reported at once, so that the caller can fall back while there is still time.

use std::task::{Context, Poll};
use std::time::Duration;

use async_openai::middleware::HttpRequestFactory;
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use reqwest::Response;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use tokio::time::Instant;
use tower::Service;

use super::failure::{Failure, Retry as Again};
use super::transport::Attempt;

/// The most attempts of one call.
const MAX_ATTEMPTS: u32 = 4;
/// The most attempts of one call while another endpoint could be asked instead.
const MAX_ATTEMPTS_BEFORE_OTHERS: u32 = 2;
/// The longest pause while another endpoint could be asked instead.
const MAX_PAUSE_BEFORE_OTHERS: Duration = Duration::from_millis(250);
/// The pause after the first attempt; it doubles with each.
const FIRST_PAUSE: Duration = Duration::from_millis(40);

/// The tries and pauses that one endpoint is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RetryBudget {
    /// As long as the deadline allows: there is no other endpoint.
    ToTheEnd,
    /// A moment: another endpoint could be asked instead.
    OthersWait,
}

/// A service that repeats the attempts of another one.
#[derive(Clone)]
pub(super) struct Retry<S> {
    attempt: S,
    deadline: Instant,
    budget: RetryBudget,
}

impl<S> Retry<S> {
    pub(super) fn new(attempt: S, deadline: Instant, budget: RetryBudget) -> Self {
        Self {
            attempt,
            deadline,
            budget,
        }
    }
}

impl<S> Service<HttpRequestFactory> for Retry<S>
where
    S: Service<HttpRequestFactory, Response = Response, Error = Failure, Future = Attempt> + Clone + Send + 'static,
{
    type Response = Response;
    type Error = Failure;
    type Future = Attempt;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        self.attempt.poll_ready(cx)
    }

    fn call(&mut self, request: HttpRequestFactory) -> Attempt {
        let mut attempt = self.attempt.clone();
        let (deadline, budget) = (self.deadline, self.budget);
        Box::pin(async move {
            let mut count = 1;
            loop {
                let failure = match attempt.call(request.clone()).await {
                    Ok(response) => return Ok(response),
                    Err(failure) => failure,
                };
                let left = deadline.saturating_duration_since(Instant::now());
                let Some(pause) = pause(&failure, count, left, budget) else {
                    return Err(failure);
                };
                tracing::debug!(attempt = count, failure = failure.code(), "the model is asked again");
                tokio::time::sleep(pause).await;
                count += 1;
            }
        })
    }
}

/// Returns the pause before the next attempt; `None` when there is to be none.
fn pause(failure: &Failure, attempts: u32, left: Duration, budget: RetryBudget) -> Option<Duration> {
    let (asked, most) = match failure.retry() {
        Again::Never => return None,
        Again::Once(asked) => (asked, MAX_ATTEMPTS_BEFORE_OTHERS),
        Again::After(asked) => (asked, MAX_ATTEMPTS),
    };
    let (most, longest) = match budget {
        RetryBudget::ToTheEnd => (most, left),
        RetryBudget::OthersWait => (most.min(MAX_ATTEMPTS_BEFORE_OTHERS), left.min(MAX_PAUSE_BEFORE_OTHERS)),
    };
    if attempts >= most {
        return None;
    }
    let own = FIRST_PAUSE
        .saturating_mul(1 << attempts.saturating_sub(1).min(8))
        .mul_f64(jitter());
    let pause = asked.map_or(own, |asked| asked.max(own));
    (pause < longest).then_some(pause)
}

/// Returns a factor between a half and one, so that callers that failed together do not come back together.
fn jitter() -> f64 {
    let (high, _) = uuid::Uuid::new_v4().as_u64_pair();
    0.5 + f64::from((high >> 48) as u16) / f64::from(u16::MAX) / 2.0
}

/// Returns the time that `Retry-After` asks for: seconds, or a date (RFC 9110 section 10.2.3).
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // More seconds than there are numbers for is long enough.
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    let date = rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
    let seconds = date.as_second().saturating_sub(Timestamp::now().as_second());
    Some(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::NoConnection;

    /// Returns the pause when there is no other endpoint.
    fn pause(failure: &Failure, attempts: u32, left: Duration) -> Option<Duration> {
        super::pause(failure, attempts, left, RetryBudget::ToTheEnd)
    }

    fn asked(value: &str) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, value.parse().unwrap());
        retry_after(&headers)
    }

    #[test]
    fn retry_after_is_read_as_seconds_or_as_a_date() {
        assert_eq!(asked("3600"), Some(Duration::from_secs(3600)));
        assert_eq!(asked("Wed, 21 Oct 2015 07:28:00 GMT"), Some(Duration::ZERO));
        assert!(asked("Tue, 21 Oct 2098 07:28:00 GMT").unwrap() > Duration::from_secs(3600));
        assert_eq!(asked("99999999999999999999"), Some(Duration::from_secs(u64::MAX)));
        assert_eq!(asked("soon"), None);
        assert_eq!(asked("-3"), None);
    }

    #[test]
    fn a_wait_that_outlasts_the_deadline_is_not_begun() {
        let limited = |seconds| Failure::RateLimited {
            retry_after: Some(Duration::from_secs(seconds)),
        };
        let left = Duration::from_secs(10);
        assert_eq!(pause(&limited(3600), 1, left), None);
        assert_eq!(pause(&limited(u64::MAX), 1, left), None);
        assert_eq!(pause(&limited(2), 1, left), Some(Duration::from_secs(2)));
        assert!(pause(&limited(0), 1, left).unwrap() >= FIRST_PAUSE / 2);
        assert_eq!(
            pause(&Failure::Connect(NoConnection::Refused), 1, Duration::from_millis(1)),
            None
        );
    }

    #[test]
    fn pauses_grow_and_attempts_end() {
        let left = Duration::from_secs(10);
        for attempts in 1..MAX_ATTEMPTS {
            let longest = FIRST_PAUSE * (1 << (attempts - 1));
            let pause = pause(&Failure::Reset, attempts, left).unwrap();
            assert!(pause >= longest / 2 && pause <= longest, "{pause:?}");
        }
        assert_eq!(pause(&Failure::Reset, MAX_ATTEMPTS, left), None);
    }

    #[test]
    fn an_internal_error_is_tried_once_more() {
        let failure = Failure::ServerError {
            status: 500,
            retry_after: None,
        };
        let left = Duration::from_secs(10);
        assert!(pause(&failure, 1, left).is_some());
        assert_eq!(pause(&failure, 2, left), None);
    }

    #[test]
    fn nobody_insists_while_another_endpoint_waits() {
        let left = Duration::from_secs(10);
        let limited = |seconds| Failure::RateLimited {
            retry_after: Some(Duration::from_secs(seconds)),
        };
        let pause = |failure: &Failure, attempts| super::pause(failure, attempts, left, RetryBudget::OthersWait);
        assert_eq!(pause(&limited(2), 1), None);
        assert!(pause(&limited(0), 1).is_some());
        assert!(pause(&Failure::Connect(NoConnection::Refused), 1).is_some());
        assert_eq!(pause(&Failure::Connect(NoConnection::Refused), 2), None);
    }

    #[test]
    fn what_will_not_pass_is_not_tried_again() {
        for failure in [
            Failure::Auth,
            Failure::ModelNotFound,
            Failure::NotJson,
            Failure::TooLarge,
            Failure::Quota,
        ] {
            assert_eq!(pause(&failure, 1, Duration::from_secs(10)), None, "{failure:?}");
        }
    }
}
