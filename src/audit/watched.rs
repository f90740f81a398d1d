//! Records that are shown to a watcher on their way to their sink.

use std::sync::Arc;

use super::{Audit, Record, Sink, Taken};

/// Is shown each record. It must not block: a connection may be waiting.
pub type Watcher = dyn Fn(&Record) + Send + Sync;

struct WatchedSink {
    sink: Arc<dyn Sink>,
    watcher: Arc<Watcher>,
}

impl Audit {
    /// Returns the same log, whose records are shown to this watcher as well.
    #[must_use]
    pub fn watched_by(mut self, watcher: Arc<Watcher>) -> Self {
        self.sink = Arc::new(WatchedSink {
            sink: self.sink,
            watcher,
        });
        self
    }
}

impl Sink for WatchedSink {
    fn write(&self, record: Record) -> Taken {
        (self.watcher)(&record);
        self.sink.write(record)
    }

    fn note(&self, line: Vec<u8>) {
        self.sink.note(line);
    }

    fn flush(&self) {
        self.sink.flush();
    }

    fn is_failing(&self) -> bool {
        self.sink.is_failing()
    }

    fn reopen(&self) {
        self.sink.reopen();
    }
}
