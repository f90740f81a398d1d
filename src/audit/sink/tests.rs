//! Tests of the writer: whole lines, in time, whatever the output does.

use std::sync::atomic::AtomicBool;

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

impl Output for Shared {}

fn record(n: usize) -> Record {
    Record {
        time: "2026-01-01T00:00:00Z".into(),
        decision_id: format!("{n}\n{{\"decision\":\"allow\"}}\u{1b}[2J"),
        outcome: Outcome::Abandoned,
        organisation: "o".into(),
        caller: "c".into(),
        method: "steps/message",
        kind: "user_message",
        told: crate::audit::StepLines::default(),
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
        let _ = sink.write(record(n));
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
    let _ = sink.write(record(1));
    let _ = sink.write(record(2));
    until(|| sink.trouble().is_some());
    output.full.store(false, Ordering::SeqCst);
    until(|| sink.trouble().is_none());
    drop(sink);
    assert_eq!(whole_lines(&output.text()), 2, "{}", output.text());
}

#[test]
fn what_may_be_lost_holds_up_nobody() {
    let output = Shared::default();
    let sink = LineSink::new(Box::new(output.clone()), OnFailure::Continue);
    output.full.store(true, Ordering::SeqCst);
    let _ = sink.write(record(1));
    sink.flush();
    let why = sink.trouble().unwrap();
    assert!(why.contains("space"), "{why}");
    output.full.store(false, Ordering::SeqCst);
    let _ = sink.write(record(2));
    sink.flush();
    assert!(sink.trouble().is_none());
    assert_eq!(whole_lines(&output.text()), 1, "{}", output.text());
}

#[test]
fn a_sink_that_cannot_write_can_be_dropped() {
    let output = Shared::default();
    let sink = LineSink::new(Box::new(output.clone()), OnFailure::Refuse);
    output.full.store(true, Ordering::SeqCst);
    let _ = sink.write(record(1));
    until(|| sink.trouble().is_some());
    drop(sink);
    assert_eq!(whole_lines(&output.text()), 0);
}

/// An output that takes nothing until it may: a reader that stalls.
struct Stalling(std::sync::mpsc::Receiver<()>);

impl Write for Stalling {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let _ = self.0.recv();
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Output for Stalling {}

#[tokio::test]
async fn no_verdict_leaves_before_its_record_is_written() {
    let (go, wait) = std::sync::mpsc::channel();
    let sink = LineSink::new(Box::new(Stalling(wait)), OnFailure::Refuse);
    let taken = sink.write(record(1));
    assert_eq!(taken.wait().await, Recorded::No);
    // The writer may have begun a little after the wait.
    until(|| sink.trouble().is_some_and(|why| why == STALL));
    let taken = sink.write(record(2));
    drop(go);
    assert_eq!(taken.wait().await, Recorded::Yes);
    until(|| sink.trouble().is_none());
}

#[test]
fn a_stalled_output_holds_up_nobody_and_its_end_is_bounded() {
    let (go, wait) = std::sync::mpsc::channel();
    let sink = LineSink::new(Box::new(Stalling(wait)), OnFailure::Continue);
    let begun = Instant::now();
    for n in 0..3 * WAITING {
        let _ = sink.write(record(n));
    }
    assert!(sink.state.lines.load(Ordering::Relaxed) <= WAITING + 1);
    until(|| sink.trouble().is_some());
    sink.flush();
    drop(sink);
    assert!(begun.elapsed() < Duration::from_secs(20));
    drop(go);
}

#[test]
fn records_wait_within_a_bound_of_bytes_too() {
    let (go, wait) = std::sync::mpsc::channel();
    let sink = LineSink::new(Box::new(Stalling(wait)), OnFailure::Continue);
    for _ in 0..100 {
        let mut long = record(1);
        long.caller = "x".repeat(1 << 20);
        let _ = sink.write(long);
    }
    assert!(sink.state.bytes.load(Ordering::Relaxed) <= WAITING_BYTES + (2 << 20));
    drop(go);
}
