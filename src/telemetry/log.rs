//! Log lines on their way to standard error: through a bounded queue and a thread of its own, so that a reader of standard
//! error that stops does not hold up the process.

use std::io::Write;
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use tracing_subscriber::fmt::MakeWriter;

use super::names;

/// Lines that may wait to be written. What finds no room is lost and counted.
const WAITING: usize = 1_024;
/// The longest line that is kept whole.
const MAX_LEN: usize = 16 * 1024;
/// The longest time that a caller waits for lines to be written.
const MAX_FLUSH: Duration = Duration::from_secs(1);

enum Job {
    Line(Vec<u8>),
    Flush(SyncSender<()>),
}

/// Gives each event a line.
pub(super) struct Lines(SyncSender<Job>);

/// One line, sent when it is dropped.
pub(super) struct Line {
    jobs: SyncSender<Job>,
    bytes: Vec<u8>,
}

static JOBS: OnceLock<SyncSender<Job>> = OnceLock::new();

impl Lines {
    /// Starts the thread that writes them.
    pub(super) fn start() -> Self {
        Self(JOBS.get_or_init(|| writing_to(std::io::stderr())).clone())
    }
}

fn writing_to(output: impl Write + Send + 'static) -> SyncSender<Job> {
    let (jobs, inbox) = sync_channel(WAITING);
    // Without the thread every line is lost and counted; an error could only be logged.
    let _ = std::thread::Builder::new()
        .name("log".to_owned())
        .spawn(move || write(output, &inbox));
    jobs
}

fn write(mut output: impl Write, inbox: &Receiver<Job>) {
    for job in inbox {
        match job {
            Job::Line(line) => {
                if output.write_all(&line).is_err() {
                    count_lost();
                }
            }
            Job::Flush(done) => {
                // Who asked may have stopped waiting; and where lines cannot be written, nor can they be flushed.
                let _ = output.flush();
                let _ = done.try_send(());
            }
        }
    }
}

/// Waits until every line so far is written, but not for ever.
pub fn flush() {
    let Some(jobs) = JOBS.get() else { return };
    let (done, wait) = sync_channel(1);
    if jobs.try_send(Job::Flush(done)).is_ok() {
        let _ = wait.recv_timeout(MAX_FLUSH);
    }
}

fn count_lost() {
    metrics::counter!(names::LOG_LOST).increment(1);
}

impl<'w> MakeWriter<'w> for Lines {
    type Writer = Line;

    fn make_writer(&'w self) -> Line {
        Line {
            jobs: self.0.clone(),
            bytes: Vec::new(),
        }
    }
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let room = MAX_LEN.saturating_sub(self.bytes.len()).min(bytes.len());
        self.bytes.extend_from_slice(bytes.get(..room).unwrap_or_default());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let mut line = std::mem::take(&mut self.bytes);
        if line.is_empty() {
            return;
        }
        if line.last() != Some(&b'\n') {
            line.push(b'\n');
        }
        match self.jobs.try_send(Job::Line(line)) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => count_lost(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::Receiver;
    use std::sync::{Arc, Mutex};

    use super::*;

    struct Stalling(Receiver<()>, Arc<Mutex<Vec<u8>>>);

    impl Write for Stalling {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let _ = self.0.recv();
            self.1.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_stalls_holds_up_nobody_and_gets_whole_lines() {
        let (go, wait) = std::sync::mpsc::channel();
        let written = Arc::new(Mutex::new(Vec::new()));
        let lines = Lines(writing_to(Stalling(wait, Arc::clone(&written))));
        for number in 0..3 * WAITING {
            writeln!(lines.make_writer(), "line {number}").unwrap();
        }
        write!(lines.make_writer(), "{}", "x".repeat(2 * MAX_LEN)).unwrap();
        drop(go);
        let (done, wait) = sync_channel(1);
        lines.0.send(Job::Flush(done)).unwrap();
        wait.recv_timeout(Duration::from_secs(20)).unwrap();
        let text = String::from_utf8(written.lock().unwrap().clone()).unwrap();
        assert!(text.lines().count() >= WAITING && text.lines().count() < 3 * WAITING);
        assert!(
            text.lines()
                .all(|line| line.starts_with("line ") || line.len() == MAX_LEN)
        );
    }
}
