//! Following a stream: what takes its events one by one, and says what of them goes on.

use std::future::Future;

use super::route::Route;
use super::sse::Event;

/// What follows a stream: it takes each event, and says what goes on. An error holds the events with which the stream ends.
pub(super) trait Follow: Send + Sync {
    /// Takes an event; `waiting` are the bytes of one that has not arrived whole.
    fn take(&mut self, event: Event, waiting: usize) -> impl Future<Output = Result<Vec<Event>, Vec<Event>>> + Send;

    /// Takes room for an event that has not arrived whole.
    fn wait_for(&mut self, waiting: usize) -> impl Future<Output = Result<(), Vec<Event>>> + Send;

    /// What was held until the end of the stream.
    fn release(&mut self) -> impl Future<Output = Result<Vec<Event>, Vec<Event>>> + Send;

    /// How a stream ends that cannot be followed.
    fn broken(&mut self, why: &str) -> Vec<Event>;
}

/// How streams of a protocol are followed. A dialect (`hold.rs`) is enough where events are held, judged and released in their order.
pub(super) trait Streamed: Send + Sync {
    /// What follows one.
    type Follow<'r>: Follow
    where
        Self: 'r;

    /// Begins to follow.
    fn follow<'r>(self, route: &'r Route) -> Self::Follow<'r>
    where
        Self: 'r;
}
