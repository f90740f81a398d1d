//! Where records go. In process for now: a writer on its own thread; a database or a stream later, behind the same trait.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use super::{OnFailure, Outcome, Record};
use crate::telemetry::names;

/// Takes records. It may block for a moment rather than lose one.
pub trait Sink: Send + Sync {
    /// Takes one record.
    fn write(&self, record: Record);

    /// Waits until every record taken so far has reached its destination, but not for ever.
    fn flush(&self) {}

    /// Whether the last record could not be written.
    fn is_failing(&self) -> bool {
        false
    }
}

/// Takes records and keeps none.
#[derive(Debug)]
pub struct NullSink;

impl Sink for NullSink {
    fn write(&self, _record: Record) {}
}

/// Keeps records in memory, for tests.
#[derive(Debug, Default)]
pub struct MemorySink {
    records: Mutex<Vec<Record>>,
}

impl MemorySink {
    /// Every record so far.
    pub fn records(&self) -> Vec<Record> {
        self.records
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .clone()
    }
}

impl Sink for MemorySink {
    fn write(&self, record: Record) {
        count_written(record.outcome);
        self.records
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .push(record);
    }
}

enum Job {
    Line(Vec<u8>, Outcome),
    Flush(SyncSender<()>),
}

/// Writes one JSON object per line, on a thread of its own.
///
/// Serialising escapes every control character, so no content can start a line of its own or reach a terminal. A line that
/// could not be written is lost and counted, or tried again until it could, as the settings say. What a full disk took of a
/// line stays there; the next one begins on a line of its own.
pub struct LineSink {
    jobs: Option<SyncSender<Job>>,
    writer: Option<JoinHandle<()>>,
    state: Arc<State>,
}

/// How the last line of an output ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LastLine {
    /// With its line end, or there is none.
    Whole,
    /// In its middle: who wrote it was stopped by force, or the machine lost its power.
    Torn,
}

impl LastLine {
    /// Of a file. What cannot be read, and what is no plain file, counts as whole.
    pub(super) fn of(path: &Path) -> Self {
        let last = || {
            let mut file = File::open(path).ok()?;
            file.seek(SeekFrom::End(-1)).ok()?;
            let mut byte = [0];
            file.read_exact(&mut byte).ok()?;
            Some(byte)
        };
        match path.is_file().then(last).flatten() {
            None | Some([b'\n']) => LastLine::Whole,
            Some(_) => LastLine::Torn,
        }
    }
}

/// What the writer and its sink tell each other.
#[derive(Default)]
struct State {
    failing: AtomicBool,
    closing: AtomicBool,
}

/// Records that may wait for the writer; when it is further behind, callers wait instead of losing records.
const WAITING: usize = 4096;
/// How long a writer rests before it tries a line again.
const REST: Duration = Duration::from_millis(200);
/// How long anybody waits for everything to be written.
const LONGEST_FLUSH: Duration = Duration::from_secs(5);

/// The writer's side.
struct Writer {
    output: Box<dyn Write + Send>,
    on_failure: OnFailure,
    state: Arc<State>,
    /// Whether the last line may have been written in part.
    torn: bool,
}

impl LineSink {
    /// A sink that appends to `output`, of which the last line is whole.
    pub fn new(output: Box<dyn Write + Send>, on_failure: OnFailure) -> Self {
        Self::behind(LastLine::Whole, output, on_failure)
    }

    /// A sink that appends to `output` behind such a last line.
    pub(super) fn behind(last: LastLine, output: Box<dyn Write + Send>, on_failure: OnFailure) -> Self {
        let (jobs, inbox) = sync_channel(WAITING);
        let state = Arc::new(State::default());
        let mut writer = Writer {
            output,
            on_failure,
            state: Arc::clone(&state),
            torn: last == LastLine::Torn,
        };
        let writer = std::thread::Builder::new()
            .name("audit".to_owned())
            .spawn(move || writer.run(&inbox))
            .ok();
        Self {
            jobs: Some(jobs),
            writer,
            state,
        }
    }

    fn send(&self, job: Job) {
        if self.jobs.as_ref().is_none_or(|jobs| jobs.send(job).is_err()) {
            self.state.failing.store(true, Ordering::Relaxed);
            metrics::counter!(names::AUDIT_LOST).increment(1);
            tracing::error!("an audit record could not be written: the writer is gone");
        }
    }
}

impl Writer {
    fn run(&mut self, inbox: &Receiver<Job>) {
        for job in inbox {
            match job {
                Job::Line(line, outcome) => self.line(&line, outcome),
                Job::Flush(done) => {
                    if let Err(error) = self.output.flush() {
                        tracing::error!(%error, "the audit log could not be flushed");
                    }
                    // The one who asked may have stopped waiting.
                    let _ = done.send(());
                }
            }
        }
    }

    /// Writes a line, as often as it takes where it must not be lost.
    fn line(&mut self, line: &[u8], outcome: Outcome) {
        loop {
            let Err(error) = self.write(line) else {
                if self.state.failing.swap(false, Ordering::Relaxed) {
                    tracing::warn!("audit records can be written again");
                }
                count_written(outcome);
                return;
            };
            self.torn = true;
            if !self.state.failing.swap(true, Ordering::Relaxed) {
                tracing::error!(%error, "an audit record could not be written");
            }
            let closing = self.state.closing.load(Ordering::Relaxed);
            match self.on_failure {
                OnFailure::Refuse if !closing => std::thread::park_timeout(REST),
                OnFailure::Refuse | OnFailure::Continue => {
                    metrics::counter!(names::AUDIT_LOST).increment(1);
                    return;
                }
            }
        }
    }

    fn write(&mut self, line: &[u8]) -> std::io::Result<()> {
        if self.torn {
            self.output.write_all(b"\n")?;
            self.torn = false;
        }
        self.output.write_all(line)?;
        self.output.flush()
    }
}

fn count_written(outcome: Outcome) {
    metrics::counter!(names::AUDIT_RECORDS, "outcome" => outcome.as_str()).increment(1);
}

impl Sink for LineSink {
    fn write(&self, record: Record) {
        match serde_json::to_vec(&record) {
            Ok(mut line) => {
                line.push(b'\n');
                self.send(Job::Line(line, record.outcome));
            }
            Err(error) => tracing::error!(%error, "an audit record could not be serialised"),
        }
    }

    fn flush(&self) {
        let (done, wait) = sync_channel(1);
        self.send(Job::Flush(done));
        // An error means that the writer is gone or cannot write: there is nothing to wait for.
        let _ = wait.recv_timeout(LONGEST_FLUSH);
    }

    fn is_failing(&self) -> bool {
        self.state.failing.load(Ordering::Relaxed)
    }
}

impl Drop for LineSink {
    fn drop(&mut self) {
        drop(self.jobs.take());
        self.state.closing.store(true, Ordering::Relaxed);
        if let Some(writer) = self.writer.take() {
            writer.thread().unpark();
            let _ = writer.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Default)]
    struct Shared {
        bytes: Arc<Mutex<Vec<u8>>>,
        full: Arc<AtomicBool>,
    }

    impl Shared {
        fn text(&self) -> String {
            String::from_utf8(self.bytes.lock().unwrap().clone()).unwrap()
        }
    }

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let mut written = self.bytes.lock().unwrap();
            if !self.full.load(Ordering::SeqCst) {
                return written.write(bytes);
            }
            // What fits of a full disk.
            match written.last() {
                Some(b'\n') | None if bytes.len() > 5 => written.write(&bytes[..5]),
                _ => Err(std::io::Error::from(std::io::ErrorKind::StorageFull)),
            }
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn record(n: usize) -> Record {
        Record {
            time: "2026-01-01T00:00:00Z".into(),
            decision_id: format!("{n}\n{{\"decision\":\"allow\"}}\u{1b}[2J"),
            outcome: Outcome::Abandoned,
            organisation: "o".into(),
            caller: "c".into(),
            method: "steps/message",
            kind: "user_message",
            agent: None,
            session: None,
            user: None,
            tool: None,
            duration_ms: 0.5,
            verdict: None,
        }
    }

    fn until(what: impl Fn() -> bool) {
        let begun = std::time::Instant::now();
        while !what() {
            assert!(begun.elapsed() < Duration::from_secs(20), "it never came about");
            std::thread::yield_now();
        }
    }

    fn whole_lines(text: &str) -> usize {
        let lines = text.lines();
        lines
            .filter(|line| serde_json::from_str::<serde_json::Value>(line).is_ok())
            .count()
    }

    #[test]
    fn every_record_is_one_line_whatever_it_holds() {
        let output = Shared::default();
        let sink = LineSink::new(Box::new(output.clone()), OnFailure::Continue);
        for n in 0..100 {
            sink.write(record(n));
        }
        drop(sink);
        let text = output.text();
        assert_eq!(text.lines().count(), 100);
        assert!(!text.contains('\u{1b}'));
        assert_eq!(whole_lines(&text), 100);
    }

    #[test]
    fn what_must_not_be_lost_waits_until_there_is_room_and_is_whole_then() {
        let output = Shared::default();
        let sink = LineSink::new(Box::new(output.clone()), OnFailure::Refuse);
        output.full.store(true, Ordering::SeqCst);
        sink.write(record(1));
        sink.write(record(2));
        until(|| sink.is_failing());
        output.full.store(false, Ordering::SeqCst);
        until(|| !sink.is_failing());
        drop(sink);
        assert_eq!(whole_lines(&output.text()), 2, "{}", output.text());
    }

    #[test]
    fn a_line_that_was_torn_by_an_end_takes_no_other_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        assert_eq!(LastLine::of(&path), LastLine::Whole);
        for (before, last) in [
            ("", LastLine::Whole),
            ("{}\n", LastLine::Whole),
            ("{}\n{\"time", LastLine::Torn),
        ] {
            std::fs::write(&path, before).unwrap();
            assert_eq!(LastLine::of(&path), last, "{before:?}");
            let output = Shared::default();
            output.bytes.lock().unwrap().extend_from_slice(before.as_bytes());
            let sink = LineSink::behind(last, Box::new(output.clone()), OnFailure::Continue);
            sink.write(record(1));
            drop(sink);
            let whole = before.matches('\n').count() + 1;
            assert_eq!(whole_lines(&output.text()), whole, "{}", output.text());
        }
    }

    #[test]
    fn what_may_be_lost_holds_up_nobody() {
        let output = Shared::default();
        let sink = LineSink::new(Box::new(output.clone()), OnFailure::Continue);
        output.full.store(true, Ordering::SeqCst);
        sink.write(record(1));
        sink.flush();
        assert!(sink.is_failing());
        output.full.store(false, Ordering::SeqCst);
        sink.write(record(2));
        sink.flush();
        assert!(!sink.is_failing());
        assert_eq!(whole_lines(&output.text()), 1, "{}", output.text());
    }

    #[test]
    fn a_sink_that_cannot_write_can_be_dropped() {
        let output = Shared::default();
        let sink = LineSink::new(Box::new(output.clone()), OnFailure::Refuse);
        output.full.store(true, Ordering::SeqCst);
        sink.write(record(1));
        until(|| sink.is_failing());
        drop(sink);
        assert_eq!(whole_lines(&output.text()), 0);
    }
}
