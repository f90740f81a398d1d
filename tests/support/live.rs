//! An OpenAI-compatible endpoint on a socket of its own: it can take its time, die with all its connections, and return.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

/// What is said, made from the request's body.
type Says = dyn Fn(&str) -> String + Send + Sync;

/// A running endpoint, or one that died.
pub struct Live {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

struct Shared {
    delay: Duration,
    says: Box<Says>,
    asked: AtomicUsize,
    given_up: AtomicUsize,
}

impl Live {
    /// An endpoint that answers each call after this delay with what `says` makes of it.
    pub async fn start(delay: Duration, says: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        let shared = Arc::new(Shared {
            delay,
            says: Box::new(says),
            asked: AtomicUsize::new(0),
            given_up: AtomicUsize::new(0),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self {
            address: listener.local_addr().unwrap(),
            task: tokio::spawn(serve(listener, Arc::clone(&shared))),
            shared,
        }
    }

    /// An endpoint that allows every step.
    pub async fn allowing(delay: Duration) -> Self {
        Self::start(delay, allowing).await
    }

    /// Its base URL.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// How many calls have arrived.
    pub fn asked(&self) -> usize {
        self.shared.asked.load(Ordering::SeqCst)
    }

    /// How many callers hung up before they were answered.
    pub fn given_up(&self) -> usize {
        self.shared.given_up.load(Ordering::SeqCst)
    }

    /// Closes the port and every connection.
    pub async fn kill(&mut self) {
        self.task.abort();
        let _ = (&mut self.task).await;
    }

    /// Listens again, at the same address.
    pub async fn revive(&mut self) {
        let listener = TcpListener::bind(self.address).await.unwrap();
        self.task = tokio::spawn(serve(listener, Arc::clone(&self.shared)));
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The text of an answer that allows, with the canary of the call.
pub fn allowing(body: &str) -> String {
    json!({
        "risk": "none", "authorization": "implied", "reasoning": "As scripted.", "decision": "allow",
        "reason_codes": [], "confidence": 0.9, "message": "As scripted.", "edits": [], "canary": canary(body),
    })
    .to_string()
}

/// The canary that a request's body carries.
fn canary(body: &str) -> &str {
    let after = body.split_once("\\ncanary: ").map_or("", |(_, after)| after);
    after.split(['\\', '"']).next().unwrap_or_default()
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    // Dropped with this task, and every connection with it.
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let _ = stream.set_nodelay(true);
        connections.spawn(converse(stream, Arc::clone(&shared)));
        while connections.try_join_next().is_some() {}
    }
}

async fn converse(mut stream: TcpStream, shared: Arc<Shared>) {
    let (mut seen, mut chunk) = (Vec::new(), vec![0; 64 * 1024]);
    while let Some(body) = read_request(&mut stream, &mut seen, &mut chunk).await {
        shared.asked.fetch_add(1, Ordering::SeqCst);
        if !shared.delay.is_zero() {
            let mut more = [0; 1024];
            tokio::select! {
                () = tokio::time::sleep(shared.delay) => {}
                Ok(0) | Err(_) = stream.read(&mut more) => {
                    shared.given_up.fetch_add(1, Ordering::SeqCst);
                    return;
                }
            }
        }
        let completion = json!({
            "id": "made-up", "object": "chat.completion", "model": "live",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": (shared.says)(&body)}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
        })
        .to_string();
        let response = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{completion}",
            completion.len()
        );
        if stream.write_all(response.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// The body of the next request on a connection; `None` at its end.
async fn read_request(stream: &mut TcpStream, seen: &mut Vec<u8>, chunk: &mut [u8]) -> Option<String> {
    loop {
        if let Some(head) = seen.windows(4).position(|window| window == b"\r\n\r\n") {
            let length = String::from_utf8_lossy(&seen[..head])
                .lines()
                .find_map(|line| {
                    let (name, value) = line.split_once(':')?;
                    name.eq_ignore_ascii_case("content-length")
                        .then(|| value.trim().parse::<usize>().ok())?
                })
                .unwrap_or(0);
            let end = head + 4 + length;
            if seen.len() >= end {
                let body = String::from_utf8_lossy(&seen[head + 4..end]).into_owned();
                seen.drain(..end);
                return Some(body);
            }
        }
        match stream.read(chunk).await {
            Ok(0) | Err(_) => return None,
            Ok(count) => seen.extend_from_slice(&chunk[..count]),
        }
    }
}
