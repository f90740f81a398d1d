//! The path of a step, stage by stage, beside plain `serde_json` parsing of the same bytes as the yardstick.
//!
//! `cargo bench` prints medians; what counts are the ratios within one run.

#![allow(
    clippy::expect_used,
    reason = "a benchmark that cannot be set up has nothing to measure"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aos_guardian::audit;
use aos_guardian::config::ConfigFile;
use aos_guardian::model::{Origin, Step};
use aos_guardian::pipeline::Guardian;
use aos_guardian::policy::Policy;
use aos_guardian::prefilter::Prefilters;
use aos_guardian::wire::{self, Limits};
use divan::counter::BytesCount;
use serde_json::Value;

#[path = "shared/texts.rs"]
mod texts;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    divan::main();
}

const SIZES: [usize; 4] = [1024, 4 * 1024, 32 * 1024, 256 * 1024];

/// A tool's answer of about this many bytes: prose full of numbers, and structured rows.
fn request(bytes: usize) -> Vec<u8> {
    texts::request(bytes, texts::Kind::Prose).to_string().into_bytes()
}

/// The same of prose without numbers and links, and records of a business.
fn plain_request(bytes: usize) -> Vec<u8> {
    texts::request(bytes, texts::Kind::Plain).to_string().into_bytes()
}

#[divan::bench(args = SIZES)]
fn a_yardstick_serde_json_value(bencher: divan::Bencher, size: usize) {
    let body = request(size);
    bencher
        .counter(BytesCount::new(body.len()))
        .bench(|| serde_json::from_slice::<Value>(divan::black_box(&body)));
}

#[divan::bench(args = SIZES)]
fn a_yardstick_serde_json_value_plain(bencher: divan::Bencher, size: usize) {
    let body = plain_request(size);
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
    screen(bencher, &request(size));
}

#[divan::bench(args = SIZES)]
fn c_screen_plain(bencher: divan::Bencher, size: usize) {
    screen(bencher, &plain_request(size));
}

/// The same from an agent that was never met before: after its first step its description is known.
#[divan::bench(args = SIZES)]
fn c_screen_plain_of_a_stranger(bencher: divan::Bencher, size: usize) {
    let body = plain_request(size);
    let (_, step) = wire::decode_step(&body, &Limits::default()).expect("a valid request");
    let (prefilters, policy) = (
        Prefilters::standard().expect("the built-in rules"),
        Policy::standard().expect("the built-in profile"),
    );
    let stranger = AtomicUsize::new(0);
    bencher
        .counter(BytesCount::new(body.len()))
        .with_inputs(|| {
            let mut step = Step::clone(&step);
            let instructions = step
                .contents
                .iter_mut()
                .filter(|content| content.origin == Origin::Instructions);
            for content in instructions {
                let number = stranger.fetch_add(1, Ordering::Relaxed);
                content.text.extend(letters(number));
            }
            step
        })
        .bench_refs(|step| prefilters.screen(divan::black_box(step), &policy));
}

/// A number as letters, so that it is as plain as the text that it makes another.
fn letters(number: usize) -> impl Iterator<Item = char> {
    let digits = std::iter::successors(Some(number), |rest| Some(rest / 26).filter(|rest| *rest > 0));
    digits.map(|rest| char::from(b'a' + (rest % 26) as u8))
}

fn screen(bencher: divan::Bencher, body: &[u8]) {
    let (_, step) = wire::decode_step(body, &Limits::default()).expect("a valid request");
    let (prefilters, policy) = (
        Prefilters::standard().expect("the built-in rules"),
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
            let admitted = guardian.admit(&caller).await.expect("no limits");
            guardian.decide(&admitted, step).await
        })
    });
}
