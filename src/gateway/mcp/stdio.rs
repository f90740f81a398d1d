//! MCP over lines: standard input and output of a client and of a server, or of a bridge to one.
//!
//! Messages of one direction are judged beside one another and go on in their order.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::{self, Stream};
use tokio::sync::mpsc;

use super::asking::{Judge, Pinned};
use super::judge::Passed;
use super::message::Message;
use super::pins::Pins;
use super::refusals::{self, Asked};
use super::session::Session;
use crate::gateway::error::GatewayError;
use crate::gateway::json::Json;
use crate::gateway::settings::RemoteGuardian;
use crate::gateway::verdicts::{Source, VerdictClient};
use crate::model::Caller;
use crate::outgoing::client;
use crate::pipeline::Guardian;
use crate::wire;

/// The longest line, in bytes: as long as clients take.
pub const MAX_LINE: usize = 10 * 1024 * 1024;
/// Levels of arrays and objects in a message, and its values.
pub(super) const MAX_DEPTH: usize = 128;
pub(super) const MAX_VALUES: usize = 500_000;
/// Messages of one direction that are judged at the same time.
const AT_ONCE: usize = 8;

/// The decider about the messages.
pub enum Decider {
    /// The guardian of this process.
    Here {
        /// It.
        guardian: Arc<Guardian>,
        /// On whose behalf.
        caller: Caller,
    },
    /// A server.
    There(RemoteGuardian),
}

/// A line that was read.
#[derive(Debug)]
pub enum Line {
    /// Its bytes.
    Whole(Vec<u8>),
    /// It has more than [`MAX_LINE`] bytes and was skipped.
    TooLong,
}

/// One side: lines that it sends, and lines that it is sent, each without its end.
pub struct Side {
    /// From it.
    pub from: mpsc::Receiver<Line>,
    /// To it; closing tells it that nothing more comes.
    pub to: mpsc::Sender<String>,
}

/// Guards the messages between a client and a server.
pub struct Lines {
    session: Session,
    verdicts: VerdictClient,
    pinned: Pinned,
}

impl Lines {
    /// Makes the proxy between a client and the server of this name, whose tools are pinned there. Servers of one client share `session`.
    ///
    /// # Errors
    ///
    /// When nothing can be sent to the server that decides.
    pub fn new(
        decider: Decider,
        deadline: Duration,
        server: &str,
        pins: Pins,
        session: &str,
    ) -> Result<Self, GatewayError> {
        let limits = wire::Limits {
            max_body_bytes: MAX_LINE.saturating_mul(2),
            max_depth: MAX_DEPTH + 8,
            max_nodes: MAX_VALUES * 2,
            ..wire::Limits::default()
        };
        let source = match decider {
            Decider::Here { guardian, caller } => Source::Here { guardian, caller },
            Decider::There(remote) => {
                let http = client().build().map_err(|error| GatewayError::of(server, error))?;
                let (url, key) = (remote.url, remote.key);
                Source::There { http, url, key }
            }
        };
        let verdicts = VerdictClient::new(source, None, deadline, limits);
        Ok(Self {
            session: Session::new("mcp-client", &format!("client of {server}"), session),
            verdicts,
            pinned: Pinned {
                pins,
                server: server.to_owned(),
            },
        })
    }

    /// Passes messages on, until the server sends nothing more; or, after the client has gone, until this time is over.
    pub async fn guard(&self, mut client: Side, mut server: Side, after_client: Duration) {
        let to_client = client.to.clone();
        let server_to = server.to.downgrade();
        let from_client = async {
            let judged = lines(&mut client.from).map(|line| self.of_client(line, &to_client));
            let mut judged = std::pin::pin!(judged.buffered(AT_ONCE));
            while let Some(passed) = judged.next().await {
                self.send(passed, &server.to, &to_client).await;
            }
            // The server is told that nothing more comes, and has some time to end.
            drop(server.to);
            tokio::time::sleep(after_client).await;
        };
        let from_server = async {
            let judged = lines(&mut server.from).map(|line| self.of_server(line, &client.to));
            let mut judged = std::pin::pin!(judged.buffered(AT_ONCE));
            while let Some(passed) = judged.next().await {
                match server_to.upgrade() {
                    Some(to_server) => self.send(passed, &client.to, &to_server).await,
                    None => self.send(passed, &client.to, &client.to).await,
                }
            }
            // The server is gone, so the calls that wait get an error.
            for asked in self.session.drain_asked() {
                self.tell(&client.to, &asked.fault("the MCP server has ended")).await;
            }
        };
        tokio::select! {
            () = from_client => {}
            () = from_server => {}
        }
    }

    async fn send(&self, passed: Passed, on: &mpsc::Sender<String>, back: &mpsc::Sender<String>) {
        if let Some(denial) = &passed.denied {
            tracing::warn!(
                server = self.pinned.server,
                decision = denial.decision_id,
                reasons = ?denial.reason_codes,
                "a message was stopped"
            );
        }
        for (message, to) in [(passed.on, on), (passed.back, back)] {
            if let Some(message) = message {
                self.tell(to, &message).await;
            }
        }
    }

    async fn tell(&self, to: &mpsc::Sender<String>, message: &Json) {
        // Who has gone reads nothing any more.
        let _ = to.send(message.write()).await;
    }

    fn judge(&self) -> Judge<'_> {
        Judge {
            session: &self.session,
            verdicts: &self.verdicts,
            pinned: Some(&self.pinned),
        }
    }

    async fn of_client(&self, line: Line, to_client: &mpsc::Sender<String>) -> Passed {
        let message = match read(line) {
            Ok(message) => message,
            Err((value, why)) => {
                return Passed {
                    back: Some(refusals::unreadable(&value, &why)),
                    ..Passed::default()
                };
            }
        };
        let asked = Asked::of(&message);
        let judge = self.judge();
        let judging = judge.client_sends(message, Some(&asked));
        let mut passed = self.held(&asked, to_client, judging).await;
        // A refusal waits for no message before it.
        if let Some(back) = passed.back.take() {
            self.tell(to_client, &back).await;
        }
        passed
    }

    async fn of_server(&self, line: Line, to_client: &mpsc::Sender<String>) -> Passed {
        // What begins like a message may be an answer that the client waits for; anything else is a line of some log.
        let is_lost = match &line {
            Line::TooLong => true,
            Line::Whole(bytes) => bytes.trim_ascii_start().starts_with(b"{"),
        };
        let message = match read(line) {
            Ok(message) => message,
            Err((_, why)) => {
                tracing::warn!(
                    server = self.pinned.server,
                    "a line of the MCP server is left out: {why}"
                );
                if is_lost {
                    for asked in self.session.drain_asked() {
                        // What is wrong may be told in words of the server.
                        let fault = asked.fault("the MCP server sent what cannot be read, or is too long");
                        self.tell(to_client, &fault).await;
                    }
                }
                return Passed::default();
            }
        };
        let waiting = self.session.waiting(&message.id);
        let waiting = waiting.filter(|_| message.method.is_empty());
        let judge = self.judge();
        let judging = judge.server_sends(message, None);
        match waiting {
            Some(asked) => self.held(&asked, to_client, judging).await,
            None => judging.await,
        }
    }

    /// Waits for a verdict; meanwhile tells a client that asked for progress that there is some.
    async fn held(
        &self,
        asked: &Asked,
        to_client: &mpsc::Sender<String>,
        judging: impl Future<Output = Passed>,
    ) -> Passed {
        let mut judging = std::pin::pin!(judging);
        loop {
            match self.session.judged(Some(asked), judging.as_mut()).await {
                Ok(passed) => return passed,
                Err(progress) => self.tell(to_client, &progress).await,
            }
        }
    }
}

fn lines(from: &mut mpsc::Receiver<Line>) -> impl Stream<Item = Line> {
    stream::poll_fn(|context| from.poll_recv(context))
}

/// Reads a line as a message; otherwise as far as it can be read, and what is wrong.
fn read(line: Line) -> Result<Message, (Json, String)> {
    let Line::Whole(line) = line else {
        return Err((Json::Null, format!("the message has more than {MAX_LINE} bytes")));
    };
    let value = Json::parse(&line, MAX_DEPTH, MAX_VALUES).map_err(|error| (Json::Null, error.message))?;
    Message::read(value.clone()).map_err(|why| (value, why.to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns what a client of a server is told within a time, about a call that is never decided.
    async fn told_of(call: serde_json::Value, within: Duration) -> Vec<String> {
        // It takes connections, and answers none.
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", silent.local_addr().unwrap()).parse().unwrap();
        let decider = Decider::There(RemoteGuardian { url, key: None });
        let folder = tempfile::tempdir().unwrap();
        let pins = Pins::new(folder.path().join("pins.json"));
        let lines = Lines::new(decider, Duration::from_secs(600), "notes", pins, "mcp:x").unwrap();
        let (to_guardian, from) = mpsc::channel(4);
        let (to, mut told) = mpsc::channel(64);
        let (server_to, mut to_server) = mpsc::channel(4);
        let (_from_server, server_from) = mpsc::channel(4);
        to_guardian
            .send(Line::Whole(call.to_string().into_bytes()))
            .await
            .unwrap();
        let (client, server) = (
            Side { from, to },
            Side {
                from: server_from,
                to: server_to,
            },
        );
        let guarding = lines.guard(client, server, Duration::ZERO);
        assert!(tokio::time::timeout(within, guarding).await.is_err());
        assert!(to_server.try_recv().is_err());
        std::iter::from_fn(|| told.try_recv().ok()).collect()
    }

    #[tokio::test]
    async fn a_call_is_answered_before_its_client_gives_it_up_unless_it_is_told_of_progress() {
        let call = |meta: serde_json::Value| json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "t", "_meta": meta}});
        let early = told_of(call(json!({})), Duration::from_millis(200)).await;
        assert!(early.is_empty(), "{early:?}");
        let [answer] = told_of(call(json!({})), Duration::from_secs(2))
            .await
            .try_into()
            .unwrap();
        let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
        assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(7), &json!(true)));
        assert!(answer.to_string().contains("No verdict was reached before"), "{answer}");

        let progress = told_of(call(json!({"progressToken": "p"})), Duration::from_secs(1)).await;
        assert!(progress.len() > 4, "{progress:?}");
        assert!(
            progress.iter().all(|line| line.contains("notifications/progress")),
            "{progress:?}"
        );
    }
}
