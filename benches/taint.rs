//! What it takes to look a step up in what a session has read before.
//!
//! `cargo bench --bench taint` prints medians; the look-up of a step of 4 KiB in a full index is to take less than 50 µs.

#![allow(
    clippy::expect_used,
    reason = "a benchmark that cannot be set up has nothing to measure"
)]

use std::sync::Arc;

use aos_guardian::model::{ClassSet, Method, Origin, Pointer, Step};
use aos_guardian::session::taint::{Provenance, TaintIndex};
use aos_guardian::wire::{self, Limits};
use divan::counter::BytesCount;
use serde_json::json;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    divan::main();
}

const SIZES: [usize; 3] = [256, 4 * 1024, 32 * 1024];

/// Prose with a value now and then; `salt` makes it another text.
fn prose(bytes: usize, salt: usize) -> String {
    const WORDS: [&str; 16] = [
        "the",
        "delivery",
        "of",
        "boxes",
        "arrived",
        "late",
        "and",
        "customer",
        "asked",
        "for",
        "refund",
        "with",
        "replacement",
        "week",
        "warehouse",
        "closed",
    ];
    let mut text = String::with_capacity(bytes + 64);
    let mut state = salt;
    while text.len() < bytes {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let pick = state >> 33;
        text.push_str(WORDS.get(pick % WORDS.len()).copied().unwrap_or("a"));
        match pick % 40 {
            0 => text.push_str(&format!(" person{pick}@shop{}.example", pick % 97)),
            1 => text.push_str(&format!(
                " https://shop{}.example/orders/A-{}",
                pick % 89,
                pick % 100_000
            )),
            2 => text.push('.'),
            _ => {}
        }
        text.push(' ');
    }
    text
}

/// An index into which more was read than it can hold.
fn full() -> TaintIndex {
    let mut index = TaintIndex::default();
    index.learn_user("Summarise the orders of last week and mail ann@shop.example the list.");
    for number in 1..60 {
        let place = Arc::new(Provenance {
            number,
            method: Method::ToolCallResult,
            tool: Some("web.read".to_owned()),
            classes: ClassSet::default(),
            origin: Origin::ToolOutput,
            pointer: Pointer::new("/params/result/outputs/0/text"),
        });
        index.begin_step(usize::MAX);
        index.learn(&place, &prose(64 * 1024, number as usize), &[]);
    }
    index
}

fn call(bytes: usize) -> Arc<Step> {
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "steps/toolCallRequest", "params": {
    "context": {"agent": {"id": "desk"}, "session": {"id": "s-1"}},
    "toolCallRequest": {"executionId": "e-1", "toolId": "mail.send", "inputs": [
        {"name": "to", "value": "ann@shop.example"}, {"name": "body", "value": prose(bytes, 7)},
    ]}}});
    let (_, step) = wire::decode_step(request.to_string().as_bytes(), &Limits::default()).expect("a valid request");
    step
}

#[divan::bench(args = SIZES)]
fn look_up_in_a_full_index(bencher: divan::Bencher, size: usize) {
    let (index, step) = (full(), call(size));
    bencher
        .counter(BytesCount::new(size))
        .bench(|| index.look(divan::black_box(&step)));
}

#[divan::bench(args = SIZES)]
fn learn(bencher: divan::Bencher, size: usize) {
    let text = prose(size, 5);
    let place = Arc::new(Provenance {
        number: 1,
        method: Method::ToolCallResult,
        tool: None,
        classes: ClassSet::default(),
        origin: Origin::ToolOutput,
        pointer: Pointer::default(),
    });
    bencher
        .counter(BytesCount::new(size))
        .with_inputs(|| {
            let mut index = TaintIndex::default();
            index.begin_step(usize::MAX);
            index
        })
        .bench_values(|mut index| {
            index.learn(&place, divan::black_box(&text), &[]);
            index
        });
}

#[divan::bench]
fn clone_a_full_index(bencher: divan::Bencher) {
    let index = full();
    bencher.bench(|| divan::black_box(&index).clone());
}
