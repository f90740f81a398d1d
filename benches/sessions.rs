//! What a session costs: the next step of a long one, and of one among very many.
//!
//! `cargo bench --bench sessions`. The yardstick is the same step without any session. Before the figures come the bytes that
//! 100,000 sessions of 20 steps take, which the configured bound has to hold.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a benchmark that cannot be set up has nothing to measure, and has to say what it measured"
)]

use std::sync::Arc;

use aos_guardian::audit;
use aos_guardian::config::ConfigFile;
use aos_guardian::model::{Caller, OrganisationId, Outcome, Step, Withheld};
use aos_guardian::pipeline::Guardian;
use aos_guardian::policy::Policy;
use aos_guardian::session::{Authentication, Identity, LocalSessions, Memory, Nameless, Settings, Settled};
use aos_guardian::wire::{self, Limits};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    bytes_of_many_sessions();
    divan::main();
}

/// A tool's answer of about so many bytes.
fn answer(session: &str, turn: usize, bytes: usize) -> Value {
    let line = format!(
        "{turn}: order A-{turn}093 of ann{turn}@shop.example was shipped on the 14th, total 129.{turn:02} EUR.\n"
    );
    request(
        session,
        "steps/toolCallResult",
        json!({
            "executionId": format!("e-{turn}"),
            "result": {"outputs": [{"kind": "text", "text": line.repeat(bytes.div_ceil(line.len()))}], "isError": false},
        }),
    )
}

/// A call with about 4 KiB of text.
fn call(session: &str) -> Value {
    request(
        session,
        "steps/toolCallRequest",
        json!({
            "toolCallRequest": {"executionId": "e-x", "toolId": "mail.send", "inputs": [
                {"name": "to", "value": "ann7@shop.example"},
                {"name": "body", "value": "Your order was shipped on the 14th. ".repeat(100)},
            ]},
        }),
    )
}

fn request(session: &str, method: &str, mut params: Value) -> Value {
    params["context"] = json!({
        "agent": {"id": "desk", "name": "Desk", "version": "1.0", "instructions": "You help the staff of a shop.",
            "provider": {"name": "Shop", "url": "https://shop.example"}},
        "session": {"id": session}, "turnId": "t-1", "stepId": format!("{method}-{session}"),
        "timestamp": "2026-03-01T10:00:00Z"});
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

fn step(request: &Value) -> Arc<Step> {
    wire::decode_step(request.to_string().as_bytes(), &Limits::default())
        .expect("a valid request")
        .1
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}

fn caller() -> Caller {
    Caller {
        organisation: OrganisationId::new("acme"),
        name: "key-1".to_owned(),
    }
}

async fn live(memory: &Memory, step: &Step, policy: &Policy) {
    let recalled = memory
        .see(&caller(), Authentication::Authenticated, step)
        .await
        .expect("a store in this process");
    let settled = Settled {
        outcome: Outcome::Allowed,
        reasons: &[],
        findings: &[],
        withheld: &Withheld::default(),
    };
    let record = recalled.step_record(step, step, settled, policy);
    memory
        .remember(&recalled, record)
        .await
        .expect("a store in this process");
}

/// 100,000 sessions of 20 short steps.
fn bytes_of_many_sessions() {
    let settings = Settings::default();
    let store = Arc::new(LocalSessions::new(settings.clone()));
    let memory = Memory::new(store.clone(), Nameless::Alone);
    let policy = Policy::standard().expect("the built-in profile");
    let runtime = runtime();
    let sessions = if std::env::args().any(|argument| argument == "--test") {
        1_000
    } else {
        100_000
    };
    let begun = std::time::Instant::now();
    // Decoding is not what is measured: the same steps under other names.
    let steps: Vec<Arc<Step>> = (0..20).map(|turn| step(&answer("s", turn, 300))).collect();
    runtime.block_on(async {
        for n in 0..sessions {
            for step in &steps {
                let mut step = Step::clone(step);
                step.session = Some(aos_guardian::model::SessionId::new(format!("s-{n}")));
                live(&memory, &step, &policy).await;
            }
        }
        let bytes = store.settled_bytes().await;
        println!(
            "{sessions} sessions of 20 steps: {} MiB are remembered, {} MiB are allowed, {:.1} µs a step",
            bytes >> 20,
            settings.bytes >> 20,
            begun.elapsed().as_secs_f64() * 1e6 / (f64::from(sessions) * 20.0)
        );
        assert!(bytes <= settings.bytes, "more is remembered than is allowed");
    });
}

/// A guardian with nothing configured, this many sessions of five steps, and one of this many steps.
fn decide(bencher: divan::Bencher, sessions: usize, steps: usize) {
    let config = ConfigFile::default()
        .resolve("bench", std::path::Path::new("."))
        .expect("the default configuration");
    let guardian = aos_guardian::app::guardian(&config, &audit::Settings::Off).expect("a guardian");
    let caller = Guardian::local_caller();
    let runtime = runtime();
    let remember = |step: Arc<Step>| {
        let admitted = runtime.block_on(guardian.admit(&caller)).expect("no limits");
        runtime.block_on(guardian.observe(&admitted, step));
    };
    for n in 0..sessions {
        for turn in 0..5 {
            remember(step(&answer(&format!("other-{n}"), turn, 4_000)));
        }
    }
    for turn in 0..steps {
        remember(step(&answer("own", turn, 4_000)));
    }
    let next = step(&call("own"));
    bencher.bench(|| {
        let admitted = runtime.block_on(guardian.admit(&caller)).expect("no limits");
        runtime.block_on(guardian.decide(&admitted, Arc::clone(&next)))
    });
}

#[divan::bench(args = [0, 1, 20, 200])]
fn a_step_after_so_many_steps(bencher: divan::Bencher, steps: usize) {
    decide(bencher, 0, steps);
}

#[divan::bench(args = [0, 100, 2_000])]
fn b_step_among_so_many_sessions(bencher: divan::Bencher, sessions: usize) {
    decide(bencher, sessions, 20);
}

#[divan::bench]
fn c_identity(bencher: divan::Bencher) {
    let step = step(&call("own"));
    bencher.bench(|| Identity::of(divan::black_box(&step)));
}
