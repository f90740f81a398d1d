//! Refusals, in the form that MCP's clients and servers show or understand.
//!
//! A denied `tools/call` is a result with `isError`: clients show it to the model, which can go on. It has no `structuredContent`, because
//! clients validate that even beside `isError`. Everything else is a JSON-RPC error.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::message::Message;
use crate::gateway::answer::rpc_error;
use crate::gateway::denial::{Denial, Stage};
use crate::gateway::json::{Json, object};
use crate::wire::is_identifier;

/// The code of a refusal: outside of the ranges that JSON-RPC and MCP keep for themselves.
const DENIED: i64 = 4030;
/// The code of a fault before or behind the gateway.
const FAULT: i64 = -32603;
/// Many clients give a request up after 60 seconds in which they were told of no progress.
const PATIENCE: Duration = if cfg!(test) {
    Duration::from_millis(400)
} else {
    Duration::from_secs(55)
};

const TOO_LATE: &str = "No verdict was reached before the client gives the request up, so it was stopped.";

/// A request that waits for its answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Asked {
    pub(super) id: Json,
    pub(super) method: String,
    /// The tool that is called.
    pub(super) tool: Option<String>,
    /// The task that is asked about.
    pub(super) task: Option<String>,
    /// Under which progress is told, where the caller wants that.
    pub(super) token: Option<Json>,
    /// True if it names a version of MCP for itself: its results have a type.
    pub(super) typed: bool,
    /// The time at which it came.
    pub(super) since: Instant,
}

impl Asked {
    pub(super) fn of(request: &Message) -> Self {
        let text = |name: &str| request.param(name).and_then(Json::as_str).map(str::to_owned);
        let token = request.param("_meta").and_then(|meta| meta.get("progressToken"));
        Self {
            id: request.id.clone(),
            method: request.method.clone(),
            tool: text("name").filter(|_| request.method == "tools/call"),
            task: text("taskId").filter(|_| request.method.starts_with("tasks/")),
            token: token
                .filter(|token| matches!(token, Json::Text(_) | Json::Number(_)))
                .cloned(),
            typed: request.own_version().is_some(),
            since: Instant::now(),
        }
    }

    /// Makes the same request of a client that cannot be told of progress, whatever it asked for.
    pub(super) fn without_progress(self) -> Self {
        Self { token: None, ..self }
    }

    /// Returns the end of the time in which a verdict about it is of use. A client that is told of progress waits; one that waits still waits.
    fn until(&self) -> Option<Instant> {
        let until = self.since + PATIENCE;
        (self.token.is_none() && Instant::now() < until).then_some(until)
    }

    /// Waits for a verdict as long as the client does.
    pub(super) async fn in_time<T>(
        &self,
        stage: Stage,
        judging: impl Future<Output = Result<T, Denial>>,
    ) -> Result<T, Denial> {
        let Some(until) = self.until() else {
            return judging.await;
        };
        let late = || Denial::undecided(stage, "judge_unavailable", TOO_LATE);
        tokio::time::timeout_at(until, judging)
            .await
            .unwrap_or_else(|_| Err(late()))
    }

    /// Returns the answer to the client in place of what was denied.
    pub(super) fn refusal(&self, denial: &Denial) -> Json {
        if matches!(self.method.as_str(), "tools/call" | "tasks/result") {
            return self.failed(denial);
        }
        rpc_error(&self.id, DENIED, &self.named(denial), Some(denial.data()))
    }

    /// Returns the reason, with what was asked for in place of the name that all of MCP has.
    fn named(&self, denial: &Denial) -> String {
        let tool = self.tool.as_deref().filter(|tool| is_identifier(tool));
        let asked = [Some(self.method.as_str()).filter(|method| is_identifier(method)), tool];
        let asked: Vec<&str> = asked.into_iter().flatten().collect();
        denial.text().replacen("protocols/MCP", &asked.join(" "), 1)
    }

    fn failed(&self, denial: &Denial) -> Json {
        let text = format!("{} {}", self.named(denial), how_to_go_on(denial.stage));
        let mut result = object([]);
        if self.typed {
            result.set("resultType", "complete");
        }
        result.set(
            "content",
            Json::Array(vec![json!({"type": "text", "text": text}).into()]),
        );
        result.set("isError", Json::Bool(true));
        let decision = denial.data().get("aos").cloned().unwrap_or_default();
        result.set("_meta", object([("aos-guardian/decision", decision.into())]));
        object([("jsonrpc", "2.0".into()), ("id", self.id.clone()), ("result", result)])
    }

    /// Returns the answer to the client where something went wrong.
    pub(super) fn fault(&self, message: &str) -> Json {
        rpc_error(&self.id, FAULT, &format!("[guardian] {message}"), None)
    }

    /// Tells the client, which asked for it, that the request is still held.
    pub(super) fn progress(&self, progress: f64) -> Option<Json> {
        let token = self.token.clone()?;
        let params = object([
            ("progressToken", token),
            ("progress", Json::Number(progress.to_string().into())),
            ("message", "[guardian] waiting for a verdict".into()),
        ]);
        Some(object([
            ("jsonrpc", "2.0".into()),
            ("method", "notifications/progress".into()),
            ("params", params),
        ]))
    }
}

/// Returns the advice to an agent after a denied call.
const fn how_to_go_on(stage: Stage) -> &'static str {
    match stage {
        Stage::Request => {
            "The call did not run. Do not repeat it in other words or by another tool: do the task without it, or ask the user."
        }
        Stage::Response => "The result is withheld. Do the task without it, or ask the user.",
    }
}

/// Returns the answer to a server whose request was denied before the client saw it.
pub(super) fn to_server(method: &str, id: &Json, denial: &Denial) -> Json {
    match method {
        // As the specification has it where the user says no.
        "sampling/createMessage" => rpc_error(id, -1, &denial.text(), None),
        "elicitation/create" => object([
            ("jsonrpc", "2.0".into()),
            ("id", id.clone()),
            ("result", object([("action", "decline".into())])),
        ]),
        _ => rpc_error(id, DENIED, &denial.text(), None),
    }
}

/// Returns the answer to what cannot be read as a message.
pub(super) fn unreadable(value: &Json, why: &str) -> Json {
    let id = match value.get("id") {
        Some(id @ (Json::Text(_) | Json::Number(_))) if id.bytes() < 512 => id.clone(),
        _ => Json::Null,
    };
    rpc_error(&id, -32600, &format!("[guardian] {why}"), None)
}
