//! What exporting telemetry costs a step that rules decide, beside the same server without it, in the same run.
//!
//! `cargo bench --bench telemetry` starts both as processes of their own, and a collector that throws away what it gets. Rounds, as many
//! as a number after `--` says, alternate between them, so that what else the machine does meets both. Latency is what a caller waits; processor time has the exporting threads in it.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark that cannot be set up has nothing to measure, and its table is what it is for"
)]

use std::time::{Duration, Instant};

use axum::Router;
use axum::routing::post;
use serde_json::json;

#[path = "shared/serve.rs"]
mod serve;
#[path = "shared/texts.rs"]
mod texts;

use serve::Served;

const SIZES: [usize; 2] = [1, 4];
/// Rounds, where no argument says how many.
const ROUNDS: usize = 96;
/// Requests in a round.
const ROUND: usize = 50;

/// A server, and what was measured of it.
struct Measured {
    name: &'static str,
    server: Served,
    waits: Vec<Duration>,
    cpu: Duration,
    requests: u32,
}

fn main() {
    if std::env::args().any(|argument| argument == "--collector") {
        return collector();
    }
    let rounds = std::env::args().find_map(|argument| argument.parse().ok());
    let rounds = rounds.unwrap_or(ROUNDS);
    let collector = Served::myself("--collector");
    let export = |share: &str| {
        format!(
            "[audit]\nto = \"off\"\n[otlp]\nendpoint = \"http://{}\"\nsample = {share}\n",
            collector.address
        )
    };
    for kib in SIZES {
        let mut all = [
            ("off", "[audit]\nto = \"off\"\n".to_owned()),
            ("a tenth", export("0.1")),
            ("all", export("1.0")),
        ]
        .map(|(name, toml)| Measured {
            name,
            server: Served::guardian(&toml),
            waits: Vec::new(),
            cpu: Duration::ZERO,
            requests: 0,
        });
        for number in 0..=rounds {
            for measured in &mut all {
                round(measured, kib, number);
            }
        }
        println!("{kib} KiB, {} steps each", rounds * ROUND);
        println!(
            "{:>10} {:>12} {:>8} {:>12} {:>8}",
            "sampled", "median wait", "", "processor", ""
        );
        let figures = all.map(|mut measured| {
            measured.waits.sort_unstable();
            let median = measured.waits[measured.waits.len() / 2];
            (measured.name, median, measured.cpu / measured.requests)
        });
        let (_, base, base_cpu) = figures[0];
        for (name, median, cpu) in figures {
            let more = |one: Duration, base: Duration| (one.as_secs_f64() / base.as_secs_f64() - 1.0) * 100.0;
            println!(
                "{name:>10} {:>9} µs {:>+7.1}% {:>9} µs {:>+7.1}%",
                median.as_micros(),
                more(median, base),
                cpu.as_micros(),
                more(cpu, base_cpu)
            );
        }
    }
}

/// One round; the first only warms up.
fn round(measured: &mut Measured, kib: usize, number: usize) {
    let mut client = measured.server.connect();
    let before = measured.server.cpu();
    for n in 0..ROUND {
        let mut request = texts::request(kib * 1024, texts::Kind::Plain);
        request["params"]["context"]["session"] = json!({ "id": format!("s-{kib}-{number}-{n}") });
        let body = request.to_string().into_bytes();
        let begun = Instant::now();
        let (status, _) = client.post(&body);
        assert_eq!(status, 200);
        if number > 0 {
            measured.waits.push(begun.elapsed());
            measured.requests += 1;
        }
    }
    if number > 0 {
        measured.cpu += measured.server.cpu().saturating_sub(before);
    }
}

fn collector() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let _ = runtime.expect("a runtime").block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        eprintln!("listening on http://{}", listener.local_addr().expect("an address"));
        let take = |_: axum::body::Bytes| async {};
        axum::serve(listener, Router::new().route("/v1/{kind}", post(take))).await
    });
}
