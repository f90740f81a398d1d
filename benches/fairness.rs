//! What a flood of one organisation does to the steps of another, over HTTP.
//!
//! `cargo bench --bench fairness` starts a guardian that two organisations use. One sends a step at a time and measures how long it
//! waits: first while it is alone, then while the other one floods, with more senders than there are threads and without a pause. It
//! does so for steps that the rules settle and for steps about which a model is asked that takes 300 ms.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a benchmark that cannot be set up has nothing to measure, and its table is what it is for"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use sha2::{Digest, Sha256};

#[path = "shared/endpoint.rs"]
mod endpoint;
#[path = "shared/serve.rs"]
mod serve;
#[path = "shared/texts.rs"]
mod texts;

use serve::Served;

/// Senders of a flood.
const SENDERS: usize = 24;
/// How long the model takes.
const MODEL: Duration = Duration::from_millis(300);

/// What one organisation sends.
#[derive(Clone, Copy)]
struct Sent {
    name: &'static str,
    kib: usize,
    /// Steps of one session.
    per_session: usize,
}

const ONE: Sent = Sent {
    name: "one at a time",
    kib: 1,
    per_session: 50,
};

const FLOODS: [Sent; 3] = [
    Sent {
        name: "steps of 1 KiB",
        ..ONE
    },
    Sent {
        name: "each step in a new session",
        per_session: 1,
        ..ONE
    },
    Sent {
        name: "steps of 128 KiB",
        kib: 128,
        ..ONE
    },
];

fn main() {
    let organisations: String = ["quiet", "flood"]
        .map(|name| {
            format!(
                "[[organisations]]\nid = \"{name}\"\napi_keys = [\"sha256:{}\"]\n",
                hash(name)
            )
        })
        .concat();
    let rest = "[audit]\nto = \"off\"\n[local_judge]\nmode = \"off\"\n";
    let rules = Served::guardian(&format!("{rest}{organisations}"));
    measure("settled by rules", &rules, 2_000, "rules");
    drop(rules);
    let judged = Served::guardian(&format!(
        "[judge]\nbase_url = \"{}\"\nmodel = \"m\"\nproxy = \"none\"\nmax_in_flight = 8\ntimeout_ms = 60000\n{rest}{organisations}",
        endpoint::allowing_after(MODEL)
    ));
    measure("asked about at a model", &judged, 60, "judge");
}

/// Measures so many steps alone and beside each flood.
fn measure(what: &str, server: &Served, steps: usize, source: &str) {
    println!("{what}: {steps} steps of one organisation, {SENDERS} senders of another");
    println!(
        "{:>28} {:>10} {:>6} {:>10} {:>6} {:>12}",
        "flood", "median", "", "99 %", "", "flood/s"
    );
    let quiet = waits(server, steps, source);
    print(None, "none", &quiet, 0.0);
    for flood in FLOODS {
        let over = Arc::new(AtomicBool::new(false));
        let done = Arc::new(AtomicUsize::new(0));
        let senders: Vec<_> = (0..SENDERS)
            .map(|sender| {
                let (over, done, mut client) = (Arc::clone(&over), Arc::clone(&done), server.connect_as(KEYS[1]));
                std::thread::spawn(move || {
                    for number in 0.. {
                        if over.load(Ordering::Relaxed) {
                            return;
                        }
                        let (status, _) = client.post(&step(flood, &format!("{}-{sender}", flood.name), number));
                        match status {
                            200 => _ = done.fetch_add(1, Ordering::Relaxed),
                            _ => std::thread::sleep(Duration::from_millis(20)),
                        }
                    }
                })
            })
            .collect();
        std::thread::sleep(MODEL * 3);
        let (begun, before) = (Instant::now(), done.load(Ordering::Relaxed));
        let flooded = waits(server, steps, source);
        let rate = (done.load(Ordering::Relaxed) - before) as f64 / begun.elapsed().as_secs_f64();
        over.store(true, Ordering::Relaxed);
        for sender in senders {
            sender.join().expect("a sender");
        }
        print(Some(&quiet), flood.name, &flooded, rate);
    }
}

/// How long each step waited for its answer, the shortest first. The first tenth warms up.
fn waits(server: &Served, steps: usize, source: &str) -> Vec<Duration> {
    static ROUND: AtomicUsize = AtomicUsize::new(0);
    let round = ROUND.fetch_add(1, Ordering::Relaxed);
    let mut client = server.connect_as(KEYS[0]);
    let mut waits: Vec<Duration> = (0..steps + steps / 10)
        .map(|number| {
            std::thread::sleep(Duration::from_millis(2));
            let body = step(ONE, &format!("quiet-{round}"), number);
            let begun = Instant::now();
            let (status, answer) = client.post(&body);
            let waited = begun.elapsed();
            let answer = String::from_utf8_lossy(&answer);
            assert!(
                status == 200 && answer.contains(&format!("\"source\":\"{source}\"")),
                "{answer}"
            );
            waited
        })
        .skip(steps / 10)
        .collect();
    waits.sort_unstable();
    waits
}

fn print(quiet: Option<&[Duration]>, flood: &str, waits: &[Duration], rate: f64) {
    let shown = [waits.len() / 2, waits.len() * 99 / 100].map(|place| {
        let times = quiet.map_or(String::new(), |quiet| {
            format!("×{:.2}", waits[place].as_secs_f64() / quiet[place].as_secs_f64())
        });
        format!("{:>7.2} ms {times:>6}", waits[place].as_secs_f64() * 1e3)
    });
    println!("{flood:>28} {} {} {rate:>12.0}", shown[0], shown[1]);
}

fn step(sent: Sent, whose: &str, number: usize) -> Vec<u8> {
    let mut request = texts::request(sent.kib * 1024, texts::Kind::Plain);
    request["params"]["context"]["session"] = json!({ "id": format!("{whose}-{}", number / sent.per_session) });
    // No answer of a cache fits it.
    let outputs = request["params"]["result"]["outputs"].as_array_mut().expect("outputs");
    outputs.push(json!({"kind": "text", "text": format!("Shelf {whose} {number} is free.")}));
    request.to_string().into_bytes()
}

const KEYS: [&str; 2] = ["quiet-key-0123456789", "flood-key-0123456789"];

fn hash(name: &str) -> String {
    Sha256::digest(format!("{name}-key-0123456789"))
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
