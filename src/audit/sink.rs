//! Where records go. In process for now: a writer on its own thread; a database or a stream later, behind the same trait.

use std::io::Write;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use super::Record;

/// Takes records. It may block for a moment rather than lose one.
pub trait Sink: Send + Sync {
    /// Takes one record.
    fn write(&self, record: Record);

    /// Waits until every record taken so far has reached its destination.
    fn flush(&self) {}
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
        self.records
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .push(record);
    }
}

enum Job {
    Line(Vec<u8>),
    Flush(SyncSender<()>),
}

/// Writes one JSON object per line, on a thread of its own.
///
/// Serialising escapes every control character, so no content can start a line of its own or reach a terminal.
pub struct LineSink {
    jobs: Option<SyncSender<Job>>,
    writer: Option<JoinHandle<()>>,
}

/// Records that may wait for the writer; when it is further behind, callers wait instead of losing records.
const WAITING: usize = 4096;

impl LineSink {
    /// A sink that appends to `output`.
    pub fn new(output: Box<dyn Write + Send>) -> Self {
        let (jobs, inbox) = sync_channel(WAITING);
        let writer = std::thread::Builder::new()
            .name("audit".to_owned())
            .spawn(move || Self::run(output, &inbox))
            .ok();
        Self {
            jobs: Some(jobs),
            writer,
        }
    }

    fn run(mut output: Box<dyn Write + Send>, inbox: &Receiver<Job>) {
        for job in inbox {
            let written = match job {
                Job::Line(line) => output.write_all(&line).and_then(|()| output.flush()),
                Job::Flush(done) => {
                    let flushed = output.flush();
                    // The one who asked may have stopped waiting.
                    let _ = done.send(());
                    flushed
                }
            };
            if let Err(error) = written {
                tracing::error!(%error, "an audit record could not be written");
            }
        }
    }

    fn send(&self, job: Job) {
        if self.jobs.as_ref().is_none_or(|jobs| jobs.send(job).is_err()) {
            tracing::error!("an audit record could not be written: the writer is gone");
        }
    }
}

impl Sink for LineSink {
    fn write(&self, record: Record) {
        match serde_json::to_vec(&record) {
            Ok(mut line) => {
                line.push(b'\n');
                self.send(Job::Line(line));
            }
            Err(error) => tracing::error!(%error, "an audit record could not be serialised"),
        }
    }

    fn flush(&self) {
        let (done, wait) = sync_channel(1);
        self.send(Job::Flush(done));
        // An error means that the writer is gone: there is nothing to wait for.
        let _ = wait.recv();
    }
}

impl Drop for LineSink {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::audit::Outcome;

    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn every_record_is_one_line_whatever_it_holds() {
        let output = Shared::default();
        let sink = LineSink::new(Box::new(output.clone()));
        for n in 0..100 {
            sink.write(Record {
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
            });
        }
        drop(sink);
        let text = String::from_utf8(output.0.lock().unwrap().clone()).unwrap();
        assert_eq!(text.lines().count(), 100);
        assert!(!text.contains('\u{1b}'));
        assert!(
            text.lines()
                .all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok())
        );
    }
}
