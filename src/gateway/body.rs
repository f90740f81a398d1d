//! Answers that may take long: a body that keeps its client waiting with heartbeats while a message is held.
//!
//! The work that makes an answer lives in the body itself. A client that goes away takes it along: nothing is left behind.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use tokio::sync::mpsc;
use tokio::time::{Instant, Interval, MissedTickBehavior};

/// Clients of the published kits give up after five seconds of silence.
const HOLD_BEFORE_HEARTBEAT: Duration = Duration::from_secs(1);
const HEARTBEAT: Duration = Duration::from_millis(1_500);
const LOOK: Duration = Duration::from_millis(250);

/// A comment of an event stream.
pub(super) const SSE_HEARTBEAT: &[u8] = b": aos hold\n\n";
/// White space before a JSON text.
pub(super) const JSON_HEARTBEAT: &[u8] = b" ";

/// Tells the time for which a message has been held for a verdict.
#[derive(Clone)]
pub(super) struct Pulse {
    begun: Instant,
    /// Milliseconds since `begun` at which holding began, and one more; 0 while nothing is held.
    held_since: Arc<AtomicU64>,
}

impl Pulse {
    pub(super) fn new() -> Self {
        Self {
            begun: Instant::now(),
            held_since: Arc::default(),
        }
    }

    /// Counts the time of this work as holding.
    pub(super) async fn while_held<T>(&self, work: impl Future<Output = T>) -> T {
        let now = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.held_since.store(now.saturating_add(1), Ordering::Relaxed);
        let made = work.await;
        self.held_since.store(0, Ordering::Relaxed);
        made
    }

    fn is_overdue(&self) -> bool {
        match self.held_since.load(Ordering::Relaxed) {
            0 => false,
            since => self.begun.elapsed() >= Duration::from_millis(since - 1) + HOLD_BEFORE_HEARTBEAT,
        }
    }
}

/// The result of a piece of work, or the work itself once it has held a message for a second.
pub(super) enum Settled<T> {
    /// The result.
    Done(T),
    /// The work, which goes on.
    Holding(Pin<Box<dyn Future<Output = T> + Send>>),
}

/// Waits for a piece of work, as long as it does not hold a message for too long.
pub(super) async fn settle<T>(pulse: &Pulse, work: impl Future<Output = T> + Send + 'static) -> Settled<T> {
    let mut work: Pin<Box<dyn Future<Output = T> + Send>> = Box::pin(work);
    loop {
        match tokio::time::timeout(LOOK, &mut work).await {
            Ok(done) => return Settled::Done(done),
            Err(_) if pulse.is_overdue() => return Settled::Holding(work),
            Err(_) => {}
        }
    }
}

/// Takes the chunks of a body. One waits at a time: a writer that is faster than the client's reading has to wait too.
pub(super) type Chunks = mpsc::Sender<Bytes>;

/// Makes the next heartbeat.
pub(super) type Heartbeat = Box<dyn FnMut() -> Bytes + Send>;

/// Makes a body that is made by a piece of work.
pub(super) fn worked<W>(heartbeat: &'static [u8], work: impl FnOnce(Chunks) -> W) -> Body
where
    W: Future<Output = ()> + Send + 'static,
{
    worked_with(Box::new(move || Bytes::from_static(heartbeat)), work)
}

/// Makes the same, with heartbeats of its own.
pub(super) fn worked_with<W>(heartbeat: Heartbeat, work: impl FnOnce(Chunks) -> W) -> Body
where
    W: Future<Output = ()> + Send + 'static,
{
    let (sender, chunks) = mpsc::channel(1);
    let mut idle = tokio::time::interval_at(Instant::now() + HEARTBEAT, HEARTBEAT);
    idle.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let made = Making {
        work: Some(Box::pin(work(sender))),
        chunks,
        idle,
        heartbeat,
    };
    Body::from_stream(stream::unfold(made, |mut made| async move {
        let chunk = made.next().await?;
        Some((Ok::<_, Infallible>(chunk), made))
    }))
}

struct Making {
    work: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    chunks: mpsc::Receiver<Bytes>,
    idle: Interval,
    heartbeat: Heartbeat,
}

impl Making {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            let Some(work) = &mut self.work else {
                return self.chunks.recv().await;
            };
            tokio::select! {
                biased;
                Some(chunk) = self.chunks.recv() => {
                    self.idle.reset();
                    return Some(chunk);
                }
                () = work => self.work = None,
                _ = self.idle.tick() => return Some((self.heartbeat)()),
            }
        }
    }
}
