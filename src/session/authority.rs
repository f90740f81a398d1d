//! Authority: the user's real requests and grants, quoted, in a budget of its own.
//!
//! INVARIANT: only the user's own words in a message of the user that was let through are added. What any other text
//! says of the user's wishes changes nothing here, and no amount of it pushes a request out.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::model::{Excerpt, Request, Voice};

/// Bytes that are kept of one request.
const MAX_REQUEST: usize = 4 * 1024;
/// Bytes over all requests of a session.
const MAX_BYTES: usize = 32 * 1024;
/// Requests of a session.
const MAX_REQUESTS: usize = 48;
/// The first requests, which set the task, stay; of the later ones the latest do.
const FIRST: usize = 2;

/// The requests of the user of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Authority {
    requests: Vec<Arc<Request>>,
    made: u32,
    /// The step in which the user first spoke.
    spoken: Option<u32>,
    bytes: usize,
}

impl Authority {
    /// Returns the user's requests, oldest first.
    pub fn requests(&self) -> &[Arc<Request>] {
        &self.requests
    }

    /// Returns the number of requests that were too many to be kept.
    pub fn forgotten(&self) -> usize {
        (self.made as usize).saturating_sub(self.requests.len())
    }

    /// Returns the extent to which the session knows its user's requests.
    pub fn voice(&self) -> Voice {
        match (self.requests.is_empty(), self.spoken) {
            (false, _) => Voice::Heard,
            (true, Some(_)) => Voice::Refused,
            (true, None) => Voice::Unheard,
        }
    }

    /// Returns the bytes that it takes.
    pub fn bytes(&self) -> usize {
        self.bytes + self.requests.len() * 96
    }

    /// Returns the requests made before this step.
    pub(super) fn before(&self, step: u32) -> Self {
        let mut earlier = self.clone();
        earlier.requests.retain(|request| request.step < step);
        earlier.made -= u32::try_from(self.requests.len() - earlier.requests.len()).unwrap_or(earlier.made);
        earlier.bytes = earlier.requests.iter().map(|request| request.text.len()).sum();
        earlier.spoken = self.spoken.filter(|first| *first < step);
        earlier
    }

    /// Returns `true` if the user said something in or after this step.
    pub(super) fn spoke_since(&self, step: u32) -> bool {
        self.requests.last().is_some_and(|request| request.step >= step)
    }

    /// Notes that the user spoke, and was denied.
    pub(super) fn refuse(&mut self, step: u32) {
        self.spoken.get_or_insert(step);
    }

    /// Adds what the user said in this step. `answers` is the step that it answers, where it makes sense only as an answer.
    pub(super) fn grant(&mut self, step: u32, text: &str, answers: Option<u32>) {
        self.spoken.get_or_insert(step);
        let text = Excerpt::of(text.trim(), MAX_REQUEST);
        let known = |request: &Arc<Request>| request.text == text && request.answers == answers;
        if text.is_empty() || self.requests.iter().any(known) {
            return;
        }
        self.made = self.made.saturating_add(1);
        self.bytes += text.len();
        self.requests.push(Arc::new(Request {
            number: self.made,
            step,
            text,
            answers,
        }));
        while self.requests.len() > FIRST + 1 && (self.requests.len() > MAX_REQUESTS || self.bytes > MAX_BYTES) {
            let gone = self.requests.remove(FIRST);
            self.bytes -= gone.text.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_task_and_the_latest_requests_stay() {
        let mut authority = Authority::default();
        assert_eq!(authority.voice(), Voice::Unheard);
        authority.refuse(1);
        assert_eq!(authority.voice(), Voice::Refused);
        for n in 1..=1000 {
            authority.grant(n, &format!("Request {n}: {}", "x".repeat(5_000)), None);
        }
        assert_eq!(authority.voice(), Voice::Heard);
        let numbers: Vec<u32> = authority.requests().iter().map(|request| request.number).collect();
        assert_eq!(numbers[..2], [1, 2]);
        assert_eq!(numbers.last(), Some(&1000));
        assert!(authority.bytes() < 40_000);
        assert_eq!(authority.forgotten() + numbers.len(), 1000);
        assert!(authority.requests()[0].text.head.starts_with("Request 1:"));
    }

    #[test]
    fn the_same_words_are_one_request_unless_they_answer_something_else() {
        let mut authority = Authority::default();
        authority.grant(1, "Pay the invoice.", None);
        authority.grant(2, " Pay the invoice. ", None);
        authority.grant(4, "yes", Some(3));
        authority.grant(7, "yes", Some(6));
        authority.grant(8, "  ", None);
        let steps: Vec<u32> = authority.requests().iter().map(|request| request.step).collect();
        assert_eq!(steps, [1, 4, 7]);
        assert!(authority.spoke_since(7) && !authority.spoke_since(8));
        assert_eq!(authority.before(4).requests().len(), 1);
    }
}
