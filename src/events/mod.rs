//! Events: each decision as a CloudEvent around an OCSF event, for other systems.
//!
//! They are made of audit records, off the path of a step, and wait in a bounded queue. One is taken out only when its destination has
//! acknowledged it, so it arrives at least once while this process lives; its id, the decision's, tells a repetition. What finds
//! no room, or is refused, is counted and lost; the audit records have it all.

mod destination;
mod ocsf;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use secrecy::SecretString;
use tokio::sync::mpsc::{Receiver, Sender, channel};

pub use destination::probe;
use destination::{Destination, Unsent};
use ocsf::Event;

use crate::audit::Watcher;
use crate::telemetry::names;

/// The destination of events.
#[derive(Clone, Debug)]
pub enum Settings {
    /// A stream of NATS JetStream.
    Nats {
        /// The server, with user and password or token where it asks for them.
        url: SecretString,
        /// The stream; made where it is missing.
        stream: String,
        /// The beginning of subjects; the organisation and the decision follow.
        subject: String,
    },
    /// Batches are posted there.
    Webhook {
        /// The address.
        url: SecretString,
        /// The key that is sent as `Authorization: Bearer`.
        key: Option<SecretString>,
    },
    /// A file, one event a line, appended to.
    File(PathBuf),
}

/// Events that may wait.
const MAX_WAITING: usize = 8_192;
/// Events that are sent at once.
const MAX_BATCH: usize = 128;
/// The longest time that sending a batch may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The pause after a batch that could not be sent; it doubles up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const MAX_PAUSE: Duration = Duration::from_secs(10);

/// The queue of events.
pub struct Events {
    queue: Sender<Event>,
    inbox: std::sync::Mutex<Option<Receiver<Event>>>,
    settings: Settings,
    unsent: Arc<AtomicUsize>,
}

impl Events {
    /// Makes a queue; nothing is sent before it is [started](Self::start).
    pub fn new(settings: Settings) -> Arc<Self> {
        let (queue, inbox) = channel(MAX_WAITING);
        Arc::new(Self {
            queue,
            inbox: std::sync::Mutex::new(Some(inbox)),
            settings,
            unsent: Arc::default(),
        })
    }

    /// Returns the function that puts records into the queue.
    pub fn watcher(self: &Arc<Self>) -> Arc<Watcher> {
        let events = Arc::clone(self);
        Arc::new(move |record| {
            events.unsent.fetch_add(1, Ordering::Relaxed);
            // The event holds no words of the step, so the queue is small.
            if events.queue.try_send(Event::of(record)).is_err() {
                events.unsent.fetch_sub(1, Ordering::Relaxed);
                count("lost", 1);
            }
        })
    }

    /// Sends what is in the queue, and what comes into it, on the current runtime. A second call changes nothing.
    pub fn start(&self) {
        let inbox = self.inbox.lock().ok().and_then(|mut inbox| inbox.take());
        if let Some(inbox) = inbox {
            let destination = Destination::new(self.settings.clone());
            tokio::spawn(deliver(inbox, destination, Arc::clone(&self.unsent)));
        }
    }

    /// Waits until everything is sent, but no longer than this; answers how many events are not.
    pub async fn finish(&self, most: Duration) -> usize {
        let deadline = tokio::time::Instant::now() + most;
        while self.unsent.load(Ordering::Relaxed) > 0 && tokio::time::Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        self.unsent.load(Ordering::Relaxed)
    }
}

/// Sends batch after batch, each as often as it takes. Of a batch that is refused, each half is sent by itself, down to the event that
/// the destination does not take.
async fn deliver(mut inbox: Receiver<Event>, mut destination: Destination, unsent: Arc<AtomicUsize>) {
    let mut arrived: Vec<Event> = Vec::with_capacity(MAX_BATCH);
    while inbox.recv_many(&mut arrived, MAX_BATCH).await > 0 {
        let mut batches = vec![std::mem::take(&mut arrived)];
        while let Some(mut batch) = batches.pop() {
            let outcome = match (send(&mut destination, &batch).await, batch.len()) {
                (Ok(()), _) => "sent",
                (Err(why), 0 | 1) => {
                    tracing::error!(why, "an event was refused; the audit records have it");
                    "refused"
                }
                (Err(_), _) => {
                    batches.push(batch.split_off(batch.len() / 2));
                    batches.push(batch);
                    continue;
                }
            };
            unsent.fetch_sub(batch.len(), Ordering::Relaxed);
            count(outcome, batch.len() as u64);
        }
    }
}

/// Sends a batch until it is taken, or refused for good.
async fn send(destination: &mut Destination, batch: &[Event]) -> Result<(), String> {
    let mut pause = FIRST_PAUSE;
    loop {
        let sent = tokio::time::timeout(TIMEOUT, destination.send(batch)).await;
        let why = match sent {
            Ok(Err(Unsent::Refused(why))) => return Err(why),
            Ok(Err(Unsent::Failed(why))) => why,
            Err(_) => "there was no answer in time".to_owned(),
            Ok(Ok(())) => {
                if pause > FIRST_PAUSE {
                    tracing::warn!("events can be sent again");
                }
                return Ok(());
            }
        };
        count("failed", 1);
        if pause == FIRST_PAUSE {
            tracing::error!(why, "events cannot be sent; they wait");
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(MAX_PAUSE);
    }
}

fn count(outcome: &'static str, how_many: u64) {
    metrics::counter!(names::EVENTS, "outcome" => outcome).increment(how_many);
}
