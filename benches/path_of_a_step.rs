//! The path of a step, stage by stage, beside plain `serde_json` parsing of the same bytes as the yardstick.
//!
//! `cargo bench` prints medians; what counts are the ratios within one run.

#![allow(
    clippy::expect_used,
    reason = "a benchmark that cannot be set up has nothing to measure"
)]

use std::sync::Arc;

use aos_guardian::audit;
use aos_guardian::config::ConfigFile;
use aos_guardian::pipeline::Guardian;
use aos_guardian::policy::Policy;
use aos_guardian::prefilter::Prefilters;
use aos_guardian::wire::{self, Limits};
use divan::counter::BytesCount;
use serde_json::{Value, json};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    divan::main();
}

const SIZES: [usize; 4] = [1024, 4 * 1024, 32 * 1024, 256 * 1024];

/// A tool's answer of about this many bytes: prose, some structured rows, a realistic context around it.
fn request(bytes: usize) -> Vec<u8> {
    const SENTENCES: [&str; 6] = [
        "The delivery of 14 March arrived two days late and three boxes were damaged.",
        "Customer 4711 asked for a refund; the order total was 129.90 EUR.",
        "Please note: the warehouse in Lyon is closed from the 20th on.",
        "See https://docs.shop.example/returns?lang=en for the conditions of return.",
        "\"I would rather have a replacement,\" she wrote, \"than the money back.\"",
        "Item A-1093 (hammer, 450 g) is in stock; item A-2044 will be back in week 17.",
    ];
    let mut outputs: Vec<Value> = Vec::new();
    let mut text = String::new();
    let mut size = 900;
    let mut sentences = SENTENCES.iter().cycle();
    let mut row = 0;
    while size < bytes {
        let sentence = sentences.next().unwrap_or(&"");
        text.push_str(sentence);
        text.push('\n');
        size += sentence.len() + 3;
        if text.len() > 2_000 {
            outputs.push(json!({"kind": "text", "text": text}));
            text = String::new();
            row += 1;
            outputs.push(json!({"kind": "data", "data": {"order": row, "status": "shipped", "total": 129.9, "lines": ["A-1093", "A-2044"]}}));
            size += 110;
        }
    }
    outputs.push(json!({"kind": "text", "text": text}));
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "steps/toolCallResult", "params": {
        "context": {
            "agent": {"id": "desk", "name": "Desk", "version": "1.0", "instructions": "You help the staff of a hardware shop with orders and returns.",
                "provider": {"name": "Shop", "url": "https://shop.example"},
                "tools": [{"name": "orders.find", "id": "orders.find", "description": "Finds orders by customer.", "type": "function_call",
                    "arguments": [{"name": "customer", "type": "string", "required": true}], "outputs": null}]},
            "session": {"id": "s-1"}, "turnId": "t-1", "stepId": "st-1", "timestamp": "2026-03-01T10:00:00Z"},
        "executionId": "e-1", "result": {"outputs": outputs, "isError": false}}});
    request.to_string().into_bytes()
}

#[divan::bench(args = SIZES)]
fn a_yardstick_serde_json_value(bencher: divan::Bencher, size: usize) {
    let body = request(size);
    bencher
        .counter(BytesCount::new(body.len()))
        .bench(|| serde_json::from_slice::<Value>(divan::black_box(&body)));
}

#[divan::bench(args = SIZES)]
fn b_decode(bencher: divan::Bencher, size: usize) {
    let body = request(size);
    let limits = Limits::default();
    bencher
        .counter(BytesCount::new(body.len()))
        .bench(|| wire::decode(divan::black_box(&body), &limits));
}

#[divan::bench(args = SIZES)]
fn c_screen(bencher: divan::Bencher, size: usize) {
    let body = request(size);
    let (_, step) = wire::decode_step(&body, &Limits::default()).expect("a valid request");
    let (prefilters, policy) = (
        Prefilters::standard(),
        Policy::standard().expect("the built-in profile"),
    );
    bencher
        .counter(BytesCount::new(body.len()))
        .bench(|| prefilters.screen(divan::black_box(&step), &policy));
}

#[divan::bench(args = SIZES)]
fn d_decode_and_decide(bencher: divan::Bencher, size: usize) {
    let body = request(size);
    let limits = Limits::default();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let config = ConfigFile::default()
        .resolve("bench", std::path::Path::new("."))
        .expect("the default configuration");
    let guardian = Arc::new(aos_guardian::app::guardian(&config, &audit::Settings::Off).expect("a guardian"));
    let caller = Guardian::local_caller();
    bencher.counter(BytesCount::new(body.len())).bench(|| {
        runtime.block_on(async {
            let (_, step) = wire::decode_step(divan::black_box(&body), &limits).expect("a valid request");
            let admitted = guardian.admit(&caller).expect("no limits");
            guardian.decide(&admitted, step).await
        })
    });
}
