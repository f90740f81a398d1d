//! The destination of records: a writer on its own thread, before a file, a stream or a database.

use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::output::Output;
use super::{OnFailure, Outcome, Record};
use crate::telemetry::names;

/// The arrival of a record at its destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// It arrived, or need not.
    Yes,
    /// It did not, or not in time, and no verdict may leave without it.
    No,
}

/// The promise that a record reaches its destination.
#[derive(Debug)]
#[must_use = "a verdict waits until its record is taken"]
pub struct Taken(Promise);

#[derive(Debug)]
enum Promise {
    Known(Recorded),
    Awaited(oneshot::Receiver<()>),
}

impl Taken {
    /// The result without a wait.
    pub(super) const YES: Self = Self(Promise::Known(Recorded::Yes));
    /// It will not be.
    pub(super) const NO: Self = Self(Promise::Known(Recorded::No));

    /// Waits until the record is there, but no longer than a stalled output is worth.
    pub async fn wait(self) -> Recorded {
        match self.0 {
            Promise::Known(recorded) => recorded,
            Promise::Awaited(written) => match tokio::time::timeout(STALLED, written).await {
                Ok(Ok(())) => Recorded::Yes,
                Ok(Err(_)) | Err(_) => Recorded::No,
            },
        }
    }
}

enum Job {
    Line(Line),
    Flush(SyncSender<()>),
}

struct Line {
    bytes: Vec<u8>,
    /// The outcome of the step; `None`: it is the record of a change.
    outcome: Option<Outcome>,
    /// The caller that waits until it is written.
    written: Option<oneshot::Sender<()>>,
}

/// Writes one JSON object per line, on a thread of its own.
///
/// Serialising escapes every control character, so no content can start a line of its own or reach a terminal. Lines wait for
/// the writer in a queue that is bounded in lines and bytes; what finds no room is lost and counted. Where a verdict must not
/// leave without its record, it waits until the line is written, and a line that could not be written is tried again. What a
/// full disk took of a line stays there; the next one begins on a line of its own.
pub(super) struct LineSink {
    jobs: Option<SyncSender<Job>>,
    ended: Mutex<Receiver<()>>,
    writer: Option<std::thread::Thread>,
    on_failure: OnFailure,
    state: Arc<State>,
}

/// The state that the writer and its sink share.
struct State {
    failing: AtomicBool,
    /// The last error.
    why: Mutex<String>,
    /// True once the log has told that writing takes too long.
    stall_logged: AtomicBool,
    closing: AtomicBool,
    reopen: AtomicBool,
    /// Lines that are not written yet, and their bytes.
    lines: AtomicUsize,
    bytes: AtomicUsize,
    begun: Instant,
    /// Since when a line is being written, in milliseconds after `begun`, plus one; 0 where none is.
    writing: AtomicU64,
}

impl State {
    fn new() -> Self {
        Self {
            failing: AtomicBool::default(),
            why: Mutex::default(),
            stall_logged: AtomicBool::default(),
            closing: AtomicBool::default(),
            reopen: AtomicBool::default(),
            lines: AtomicUsize::default(),
            bytes: AtomicUsize::default(),
            begun: Instant::now(),
            writing: AtomicU64::default(),
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX - 1) + 1
    }

    /// Takes note that records cannot be written. Returns `true` if they could be until now.
    fn fail(&self, why: String) -> bool {
        *self.why.lock().unwrap_or_else(PoisonError::into_inner) = why;
        !self.failing.swap(true, Ordering::Relaxed)
    }

    /// Takes note that records can be written. Returns `true` if they could not until now.
    fn recover(&self) -> bool {
        let failed = self.failing.swap(false, Ordering::Relaxed);
        self.stall_logged.swap(false, Ordering::Relaxed) || failed
    }

    fn is_stalled(&self) -> bool {
        let since = self.writing.load(Ordering::Relaxed);
        since != 0 && u128::from(self.now().saturating_sub(since)) >= STALLED.as_millis()
    }
}

/// Records that may wait for the writer, and their bytes.
const WAITING: usize = 4096;
const WAITING_BYTES: usize = 16 << 20;
/// The time that a writer rests before it tries a line again.
const REST: Duration = Duration::from_millis(200);
/// The time that writing one line may take before it counts as a failure.
const STALLED: Duration = Duration::from_secs(2);
/// What is said of such a line.
const STALL: &str = "one has been under way for more than 2 s: its disk or database is slow";
/// The longest time that a caller waits for everything to be written.
const MAX_FLUSH: Duration = Duration::from_secs(3);

/// The writer's side.
struct Writer {
    output: Box<dyn Output>,
    on_failure: OnFailure,
    state: Arc<State>,
    /// True if the last line may have been written in part.
    torn: bool,
}

impl LineSink {
    /// Makes a sink that appends to `output`.
    pub(super) fn new(output: Box<dyn Output>, on_failure: OnFailure) -> Self {
        let (jobs, inbox) = sync_channel(WAITING);
        let (end, ended) = sync_channel(1);
        let state = Arc::new(State::new());
        let mut writer = Writer {
            output,
            on_failure,
            state: Arc::clone(&state),
            torn: false,
        };
        let writer = std::thread::Builder::new().name("audit".to_owned()).spawn(move || {
            writer.run(&inbox);
            drop(writer);
            // The sink may have stopped waiting.
            let _ = end.send(());
        });
        Self {
            jobs: Some(jobs),
            ended: Mutex::new(ended),
            writer: writer.ok().map(|handle| handle.thread().clone()),
            on_failure,
            state,
        }
    }

    /// Puts a line into the queue, if there is room.
    fn enqueue(&self, line: Line) -> Result<(), &'static str> {
        let length = line.bytes.len();
        let waiting = self.state.bytes.fetch_add(length, Ordering::Relaxed);
        self.state.lines.fetch_add(1, Ordering::Relaxed);
        let jobs = self.jobs.as_ref().ok_or("the writer is gone");
        let sent = match jobs {
            Ok(_) if waiting > WAITING_BYTES => Err("too many wait to be written"),
            Ok(jobs) => jobs.try_send(Job::Line(line)).map_err(|error| match error {
                TrySendError::Full(_) => "too many wait to be written",
                TrySendError::Disconnected(_) => "the writer is gone",
            }),
            Err(gone) => Err(gone),
        };
        if sent.is_err() {
            self.state.bytes.fetch_sub(length, Ordering::Relaxed);
            self.state.lines.fetch_sub(1, Ordering::Relaxed);
        }
        sent
    }

    /// Takes one record. It never blocks: a caller that hands over a record may be serving a connection.
    pub(super) fn write(&self, record: Record) -> Taken {
        let outcome = record.outcome;
        let bytes = match serde_json::to_vec(&record) {
            Ok(mut line) => {
                line.push(b'\n');
                line
            }
            Err(error) => {
                tracing::error!(%error, "an audit record could not be serialised");
                return Taken::NO;
            }
        };
        let (written, taken) = match self.on_failure {
            OnFailure::Continue => (None, Taken::YES),
            OnFailure::Refuse => {
                let (written, awaited) = oneshot::channel();
                (Some(written), Taken(Promise::Awaited(awaited)))
            }
        };
        let line = Line {
            bytes,
            outcome: Some(outcome),
            written,
        };
        let Err(why) = self.enqueue(line) else { return taken };
        metrics::counter!(names::AUDIT_LOST).increment(1);
        if self.state.fail(why.to_owned()) {
            tracing::error!("an audit record is lost: {why}");
        }
        match self.on_failure {
            OnFailure::Continue => Taken::YES,
            OnFailure::Refuse => Taken::NO,
        }
    }

    /// Takes a line of JSON that is the record of no step.
    pub(super) fn note(&self, mut bytes: Vec<u8>) {
        bytes.push(b'\n');
        let line = Line {
            bytes,
            outcome: None,
            written: None,
        };
        if let Err(why) = self.enqueue(line) {
            metrics::counter!(names::AUDIT_LOST).increment(1);
            tracing::error!("the record of a change is lost: {why}");
        }
    }

    /// Waits until every record taken so far has reached its destination, but not for ever.
    pub(super) fn flush(&self) {
        let (done, wait) = sync_channel(1);
        let flush = self.jobs.as_ref().map(|jobs| jobs.try_send(Job::Flush(done)));
        if !matches!(flush, Some(Ok(()))) || wait.recv_timeout(MAX_FLUSH).is_err() {
            let lines = self.state.lines.load(Ordering::Relaxed);
            tracing::error!(records = lines, "audit records could not be written in time");
        }
    }

    /// Returns why records cannot be written, if they cannot: the last one could not, or one has been under way for too long, which the
    /// first call that finds it so writes to the log.
    pub(super) fn trouble(&self) -> Option<String> {
        if self.state.failing.load(Ordering::Relaxed) {
            return Some(self.state.why.lock().unwrap_or_else(PoisonError::into_inner).clone());
        }
        if !self.state.is_stalled() {
            return None;
        }
        if !self.state.stall_logged.swap(true, Ordering::Relaxed) {
            tracing::error!("audit records cannot be written: {STALL}");
        }
        Some(STALL.to_owned())
    }

    /// Opens the destination again, where it has a name: another file may have been put there.
    pub(super) fn reopen(&self) {
        self.state.reopen.store(true, Ordering::Relaxed);
    }
}

impl Writer {
    fn run(&mut self, inbox: &Receiver<Job>) {
        let mut lines = Vec::new();
        let mut next = inbox.recv().ok();
        while let Some(job) = next {
            let flush = match job {
                Job::Line(line) => {
                    lines.push(line);
                    None
                }
                Job::Flush(done) => Some(done),
            };
            // What waits already goes the same way at once, where the output takes several.
            next = match flush.is_none() && lines.len() < self.output.batch() {
                true => inbox.try_recv().ok(),
                false => None,
            };
            if next.is_some() {
                continue;
            }
            self.lines(std::mem::take(&mut lines));
            if let Some(done) = flush {
                if let Err(error) = self.output.flush() {
                    tracing::error!(%error, "the audit log could not be flushed");
                }
                // The one who asked may have stopped waiting.
                let _ = done.try_send(());
            }
            next = inbox.recv().ok();
        }
    }

    /// Writes lines, as often as it takes where they must not be lost.
    fn lines(&mut self, lines: Vec<Line>) {
        while !lines.is_empty() {
            self.state.writing.store(self.state.now(), Ordering::Relaxed);
            let written = self.write(&lines);
            self.state.writing.store(0, Ordering::Relaxed);
            let Err(error) = written else {
                if self.state.recover() {
                    tracing::warn!("audit records can be written again");
                }
                for line in lines {
                    self.done(&line);
                    if let Some(outcome) = line.outcome {
                        count_written(outcome);
                    }
                    if let Some(written) = line.written {
                        // Who waited may have stopped waiting.
                        let _ = written.send(());
                    }
                }
                return;
            };
            self.torn = true;
            if self.state.fail(error.to_string()) {
                tracing::error!(%error, "audit records cannot be written");
            }
            let closing = self.state.closing.load(Ordering::Relaxed);
            match self.on_failure {
                OnFailure::Refuse if !closing => std::thread::park_timeout(REST),
                OnFailure::Refuse | OnFailure::Continue => {
                    lines.iter().for_each(|line| self.done(line));
                    metrics::counter!(names::AUDIT_LOST).increment(lines.len() as u64);
                    return;
                }
            }
        }
    }

    fn done(&self, line: &Line) {
        self.state.bytes.fetch_sub(line.bytes.len(), Ordering::Relaxed);
        self.state.lines.fetch_sub(1, Ordering::Relaxed);
    }

    fn write(&mut self, lines: &[Line]) -> std::io::Result<()> {
        if self.state.reopen.swap(false, Ordering::Relaxed) {
            self.output.reopen();
        }
        if self.torn {
            self.output.write_all(b"\n")?;
            self.torn = false;
        }
        for line in lines {
            self.output.write_all(&line.bytes)?;
        }
        self.output.flush()
    }
}

fn count_written(outcome: Outcome) {
    metrics::counter!(names::AUDIT_RECORDS, "outcome" => outcome.as_str()).increment(1);
}

impl Drop for LineSink {
    /// Waits until everything is written, but not for ever: a stalled output keeps its thread, not the process.
    fn drop(&mut self) {
        drop(self.jobs.take());
        self.state.closing.store(true, Ordering::Relaxed);
        if let Some(writer) = self.writer.take() {
            writer.unpark();
            let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = ended.recv_timeout(MAX_FLUSH);
        }
        let lost = self.state.lines.load(Ordering::Relaxed);
        if lost > 0 {
            metrics::counter!(names::AUDIT_LOST).increment(lost as u64);
            tracing::error!(records = lost, "audit records are lost: their output stalls");
        }
    }
}

#[cfg(test)]
#[path = "sink/tests.rs"]
mod tests;
