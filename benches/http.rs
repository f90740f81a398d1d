//! What a step costs over HTTP, beside a server that only parses the same bytes into a `serde_json::Value`, in the same run.
//!
//! `cargo bench --bench http` starts both as processes of their own and counts their processor time a request: with rules only and
//! with a model that answers at once, for steps of many sessions and of one that goes on. What counts are the ratios. Sizes in KiB
//! after `--` choose.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark that cannot be set up has nothing to measure, and its table is what it is for"
)]

use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use serde_json::{Value, json};

#[path = "shared/endpoint.rs"]
mod endpoint;
#[path = "shared/serve.rs"]
mod serve;
#[path = "shared/texts.rs"]
mod texts;

use serve::Served;

const SIZES: [usize; 4] = [1, 4, 32, 256];
/// Processor time that is measured for each figure, at least: the system counts it in hundredths of a second.
const ENOUGH: Duration = Duration::from_millis(800);
/// Requests in one go.
const GO: usize = 50;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--yardstick") {
        return yardstick();
    }
    let chosen: Vec<usize> = arguments.iter().filter_map(|argument| argument.parse().ok()).collect();
    let begun = Instant::now();
    let rules = Served::guardian("[audit]\nto = \"off\"\n");
    rules.connect().post(&step(1, "first", 0));
    let first = begun.elapsed();
    let (_, resting) = rules.memory();
    println!("start to first answer {first:?}, resident memory then {resting} MiB");
    let judged = Served::guardian(&format!(
        "[judge]\nbase_url = \"{}\"\nmodel = \"m\"\nproxy = \"none\"\n[audit]\nto = \"off\"\n",
        endpoint::allowing()
    ));
    let yardstick = Served::myself("--yardstick");
    println!(
        "{:>8} {:>12} {:>18} {:>18} {:>18}",
        "KiB", "yardstick", "many sessions", "one session", "judged"
    );
    for kib in SIZES
        .into_iter()
        .filter(|kib| chosen.is_empty() || chosen.contains(kib))
    {
        let base = cost(&yardstick, kib, |n| format!("s-{n}"));
        let figures = [
            cost(&rules, kib, |n| format!("s-{kib}-{n}")),
            cost(&rules, kib, |n| format!("long-{kib}-{}", n / 200)),
            cost(&judged, kib, |n| format!("s-{kib}-{n}")),
        ];
        let shown = figures.map(|figure| {
            format!(
                "{:9} µs {:5.1}",
                figure.as_micros(),
                figure.as_secs_f64() / base.as_secs_f64()
            )
        });
        println!(
            "{kib:8} {:9} µs {:>18} {:>18} {:>18}",
            base.as_micros(),
            shown[0],
            shown[1],
            shown[2]
        );
    }
    println!(
        "memory at the end: rules {:?} MiB, judged {:?} MiB (most, now)",
        rules.memory(),
        judged.memory()
    );
}

/// Processor time of the server for one request, once it is warm.
fn cost(server: &Served, kib: usize, session: impl Fn(usize) -> String) -> Duration {
    let mut client = server.connect();
    let mut number = 0;
    let mut go = |client: &mut serve::Client| {
        let bodies: Vec<Vec<u8>> = (0..GO).map(|n| step(kib, &session(number + n), number + n)).collect();
        number += GO;
        for body in &bodies {
            assert_eq!(client.post(body).0, 200);
        }
    };
    go(&mut client);
    let before = server.cpu();
    let mut requests = 0_u32;
    while server.cpu().saturating_sub(before) < ENOUGH {
        go(&mut client);
        requests += GO as u32;
    }
    // What is learned after the last answer counts as well.
    std::thread::sleep(Duration::from_millis(50));
    server.cpu().saturating_sub(before) / requests
}

/// An unlike step: no answer of a cache fits it, and no text in it is that of another one.
fn step(kib: usize, session: &str, number: usize) -> Vec<u8> {
    let mut request = texts::request(kib * 1024, texts::Kind::Prose);
    request["params"]["context"]["session"] = json!({ "id": session });
    request["params"]["context"]["stepId"] = json!(format!("st-{number}"));
    for (place, output) in request["params"]["result"]["outputs"]
        .as_array_mut()
        .into_iter()
        .flatten()
        .enumerate()
    {
        if let Some(Value::String(text)) = output.get_mut("text") {
            *text = format!(
                "Note {number}, part {place}. {}",
                text.replace("4711", &(10_000 + number).to_string())
            );
        }
    }
    request.to_string().into_bytes()
}

/// Parses each body and tells how many members it has.
fn yardstick() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let _ = runtime.expect("a runtime").block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        eprintln!("listening on http://{}", listener.local_addr().expect("an address"));
        let parse = |body: Bytes| async move {
            let value: Value = serde_json::from_slice(&body).expect("JSON");
            let members = value.as_object().map_or(0, serde_json::Map::len);
            json!({"jsonrpc": "2.0", "id": 1, "result": {"members": members}}).to_string()
        };
        let router = Router::new()
            .route("/", post(parse))
            .layer(axum::extract::DefaultBodyLimit::disable());
        axum::serve(listener, router).await
    });
}
