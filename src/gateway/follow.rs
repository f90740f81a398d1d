//! Following a stream: its events are taken one by one, and released or held.

use std::future::Future;

use super::sse::Event;

/// A follower of a stream: it takes each event, and returns those that go on. An error holds the events with which the stream ends.
pub(super) trait Follow: Send + Sync {
    /// Takes an event; `waiting` are the bytes of one that has not arrived whole.
    fn take(&mut self, event: Event, waiting: usize) -> impl Future<Output = Result<Vec<Event>, Vec<Event>>> + Send;

    /// Takes room for an event that has not arrived whole.
    fn wait_for(&mut self, waiting: usize) -> impl Future<Output = Result<(), Vec<Event>>> + Send;

    /// Returns the events that were held until the end of the stream.
    fn release(&mut self) -> impl Future<Output = Result<Vec<Event>, Vec<Event>>> + Send;

    /// Returns the end of a stream that cannot be followed.
    fn broken(&mut self, why: &str) -> Vec<Event>;
}
