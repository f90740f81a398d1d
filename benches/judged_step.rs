//! A judged step beside the yardstick: a bare relay (axum in, reqwest out) in front of the same scripted endpoint.
//!
//! `cargo bench --bench judged_step` prints, for the relay and for the guardian, how long one request takes over HTTP:
//!
//! - *at once*: 64 clients, an endpoint that takes 200 ms, every step another one. What counts is what is added to the 200 ms.
//! - *alone*: one client, an endpoint that answers at once. What counts is the ratio.
//!
//! A session lasts for twenty steps: the guardian recalls it, shows it to the judge, and remembers the step.
//!
//! Clients, servers and endpoint share one process, so that a busy machine slows all of them alike.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stdout,
    reason = "a benchmark that cannot be set up has nothing to measure"
)]

#[path = "../tests/support/live.rs"]
#[allow(dead_code, unreachable_pub)]
mod live;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aos_guardian::config::ConfigFile;
use aos_guardian::server::Server;
use aos_guardian::{app, audit};
use axum::Router;
use axum::extract::State;
use axum::routing::post;
use bytes::Bytes;
use serde_json::{Value, json};

use live::Live;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How long the slow endpoint takes.
const LATENCY: Duration = Duration::from_millis(200);
const CLIENTS: usize = 64;

#[tokio::main]
async fn main() {
    let rounds: usize = std::env::var("ROUNDS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(3);
    for round in 0..rounds {
        let slow = Live::allowing(LATENCY).await;
        println!(
            "\nround {}: {CLIENTS} clients at once, endpoint takes {LATENCY:?}; added to that",
            round + 1
        );
        report("relay", &added(at_once(&relay(slow.url()).await, 20).await));
        report("guardian", &added(at_once(&guardian(slow.url()).await, 20).await));

        let fast = Live::allowing(Duration::ZERO).await;
        println!("round {}: one client, endpoint answers at once; whole time", round + 1);
        let yardstick = report("relay", &alone(&relay(fast.url()).await, 2_000).await);
        let judged = report("guardian", &alone(&guardian(fast.url()).await, 2_000).await);
        for (name, n) in [("10 %", 0), ("median", 1)] {
            println!(
                "  ratio     {:.2} ({name})",
                judged[n].as_secs_f64() / yardstick[n].as_secs_f64()
            );
        }
    }
}

/// The bare relay: the step in a chat request, the reply's text back.
async fn relay(endpoint: String) -> String {
    async fn pass_on(State((http, url)): State<(reqwest::Client, Arc<str>)>, step: Bytes) -> String {
        let chat = json!({
            "model": "m", "temperature": 0.0, "max_tokens": 1500,
            "messages": [
                {"role": "system", "content": "You judge steps.\ncanary: none"},
                {"role": "user", "content": String::from_utf8_lossy(&step)},
            ],
        });
        let reply = http.post(&*url).json(&chat).send().await.expect("a reply");
        let reply: Value = reply.json().await.expect("JSON");
        let text = reply.pointer("/choices/0/message/content").and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    }
    let http = reqwest::Client::builder().no_proxy().build().expect("a client");
    let url: Arc<str> = format!("{endpoint}/chat/completions").into();
    let router = Router::new().route("/", post(pass_on)).with_state((http, url));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}/")
}

async fn guardian(endpoint: String) -> String {
    let toml = format!("[judge]\nbase_url = \"{endpoint}\"\nmodel = \"m\"\nproxy = \"none\"");
    let mut config = ConfigFile::parse(&toml, "bench")
        .and_then(|file| file.resolve("bench", Path::new(".")))
        .expect("a configuration");
    config.server.listen.set_port(0);
    let guardian = Arc::new(app::guardian(&config, &audit::Settings::Off).expect("a guardian"));
    let keyring = app::keyring(&config).expect("keys");
    let server = Server::bind(config.server, config.wire, guardian, keyring).expect("a server");
    let address = server.address();
    tokio::spawn(server.run());
    format!("http://{address}/")
}

/// Many clients, each one step after the other.
async fn at_once(url: &str, steps: usize) -> Vec<Duration> {
    let http = client();
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let (http, url) = (http.clone(), url.to_owned());
            tokio::spawn(async move {
                let mut times = Vec::new();
                for step in 0..steps {
                    // The first steps open the connections.
                    let time = ask(&http, &url, &format!("{client} {step}")).await;
                    if step > 1 {
                        times.push(time);
                    }
                }
                times
            })
        })
        .collect();
    let mut times = Vec::new();
    for client in clients {
        times.extend(client.await.expect("a client that ends"));
    }
    times
}

/// One client.
async fn alone(url: &str, steps: usize) -> Vec<Duration> {
    let http = client();
    let mut times = Vec::new();
    for step in 0..steps {
        let time = ask(&http, url, &format!("alone {step}")).await;
        if step > 100 {
            times.push(time);
        }
    }
    times
}

fn client() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().expect("a client")
}

async fn ask(http: &reqwest::Client, url: &str, number: &str) -> Duration {
    let body = step(number).to_string();
    let begun = Instant::now();
    let reply = http
        .post(url)
        .header("content-type", "application/json")
        .body(body)
        .send()
        .await
        .expect("a reply");
    let text = reply.text().await.expect("a text");
    let took = begun.elapsed();
    assert!(text.contains("As scripted."), "not judged: {text}");
    took
}

/// A tool call of a client, each another one, in a session that lasts for twenty steps.
fn step(number: &str) -> Value {
    let (client, at) = number.split_once(' ').expect("a client and a number");
    let session = format!("s-{client}-{}", at.parse::<usize>().expect("a number") / 20);
    json!({"jsonrpc": "2.0", "id": 1, "method": "steps/toolCallRequest", "params": {
        "context": {
            "agent": {"id": "desk", "name": "Desk", "version": "1.0", "instructions": "You help the staff of a hardware shop.",
                "provider": {"name": "Shop", "url": "https://shop.example"},
                "tools": [{"name": "orders.find", "id": "orders.find", "description": "Finds orders by customer.",
                    "type": "function_call", "arguments": [{"name": "customer", "type": "string", "required": true}], "outputs": null}]},
            "session": {"id": session}, "turnId": "t-1", "stepId": "st-1", "timestamp": "2026-03-01T10:00:00Z"},
        "toolCallRequest": {"executionId": "e-1", "toolId": "orders.find",
            "inputs": [{"name": "customer", "value": format!("customer {number}")}]},
        "reasoning": "The customer asked where the order is."}})
}

fn added(times: Vec<Duration>) -> Vec<Duration> {
    times.into_iter().map(|time| time.saturating_sub(LATENCY)).collect()
}

/// Prints a line; gives the tenth part, which a busy machine changes least, and the median.
fn report(name: &str, times: &[Duration]) -> [Duration; 2] {
    let mut times = times.to_vec();
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    println!(
        "  {name:9} 10 % {:>9.3?}   median {:>9.3?}   99 % {:>9.3?}   ({} steps)",
        at(0.1),
        at(0.5),
        at(0.99),
        times.len()
    );
    [at(0.1), at(0.5)]
}
