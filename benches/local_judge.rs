//! The local judge's scorer: how long a step takes, how long a model takes to load and how much memory it takes, and what an
//! attacker who knows the weights has to do: words are inserted, one by one, where they help most.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    missing_docs,
    reason = "a benchmark prints, and what is not as expected ends it"
)]

use std::sync::{Arc, LazyLock};
use std::time::Instant;

use aos_guardian::local::{Deobfuscator, Model, Score, Scored};
use aos_guardian::model::Step;
use aos_guardian::policy::Policy;
use aos_guardian::session::SessionSnapshot;
use aos_guardian::wire;

/// Attacks of several kinds, in texts of outsiders.
static ATTACKS: LazyLock<Vec<&str>> =
    LazyLock::new(|| include_str!("../src/local/stuffing/attacks.txt").lines().collect());

/// Ordinary words, as an attacker would choose them.
static HARMLESS: LazyLock<Vec<&str>> =
    LazyLock::new(|| include_str!("../src/local/stuffing/harmless.txt").lines().collect());

struct Bench {
    model: Model,
    policy: Policy,
    past: SessionSnapshot,
}

impl Bench {
    fn score(&self, step: &Step) -> Score {
        let scored = Scored {
            step,
            past: &self.past,
            findings: &[],
            policy: &self.policy,
        };
        self.model.score(scored, &Deobfuscator::default(), 1.0, &|_| true)
    }

    fn of_text(&self, text: &str) -> Score {
        self.score(&result(text))
    }
}

fn result(text: &str) -> Arc<Step> {
    let request = serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": "steps/toolCallResult", "params": {
        "context": {"agent": {"id": "a", "name": "Desk", "version": "1", "instructions": "Help the staff of a shop.",
            "provider": {"name": "Shop", "url": "https://shop.example"}},
            "session": {"id": "s"}, "turnId": "t", "stepId": "s1", "timestamp": "2026-03-01T10:00:00Z"},
        "executionId": "e", "result": {"outputs": [{"kind": "text", "text": text}], "isError": false}}});
    wire::decode_step(request.to_string().as_bytes(), &wire::Limits::default())
        .unwrap()
        .1
}

/// What the process has in memory, in KiB; 0 where the system does not say.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok())
        .unwrap_or(0)
}

fn times(bench: &Bench) {
    let started = Instant::now();
    for _ in 0..20 {
        std::hint::black_box(Model::built_in().unwrap());
    }
    println!("load: {:.2} ms", started.elapsed().as_secs_f64() * 1e3 / 20.0);
    for size in [256, 4096, 65_536] {
        let mut text = String::new();
        for piece in HARMLESS.iter().chain(ATTACKS.iter()).cycle() {
            if text.len() >= size {
                break;
            }
            text.push_str(piece);
            text.push(' ');
        }
        let step = result(&text);
        let rounds = 4_000_000 / size;
        let started = Instant::now();
        for _ in 0..rounds {
            std::hint::black_box(bench.score(&step));
        }
        println!(
            "score {size} bytes: {:.1} µs",
            started.elapsed().as_secs_f64() * 1e6 / rounds as f64
        );
    }
}

/// The words with the harmless one more, at the place, that helps most.
fn insert(bench: &Bench, words: &[&'static str]) -> Vec<&'static str> {
    let mut best: (f64, Vec<&'static str>) = (f64::MAX, Vec::new());
    for place in (0..=words.len()).step_by(1 + words.len() / 24) {
        for word in HARMLESS.iter() {
            let mut tried = words.to_vec();
            tried.insert(place, word);
            let probability = bench.of_text(&tried.join(" ")).probability;
            if probability < best.0 {
                best = (probability, tried);
            }
        }
    }
    best.1
}

/// What words take off an attack that nothing else speaks against: no rule, no session.
fn attacks(bench: &Bench) {
    println!(
        "probability as it is, with 10,000 harmless words around, and with 1, 3, 10, 30 words inserted where they help most:"
    );
    for attack in ATTACKS.iter() {
        let padding: Vec<&str> = HARMLESS.iter().copied().cycle().take(5_000).collect();
        let stuffed = format!("{}. {attack} {}", padding.join(" "), padding.join(" "));
        let mut words: Vec<&'static str> = attack.split(' ').collect();
        let mut after = Vec::new();
        for inserted in 1..=30 {
            words = insert(bench, &words);
            if matches!(inserted, 1 | 3 | 10 | 30) {
                after.push(format!("{:.2}", bench.of_text(&words.join(" ")).probability));
            }
        }
        println!(
            "{:.2}  {:.2}  {}  {attack}",
            bench.of_text(attack).probability,
            bench.of_text(&stuffed).probability,
            after.join("  ")
        );
    }
}

fn main() {
    let before = resident();
    let model = Model::built_in().unwrap();
    // The first score reads the list of concepts.
    model.rank(aos_guardian::model::Origin::ToolOutput, "a word");
    println!("memory: {} KiB", resident().saturating_sub(before));
    let bench = Bench {
        model,
        policy: Policy::standard().unwrap(),
        past: SessionSnapshot::default(),
    };
    times(&bench);
    attacks(&bench);
}
