//! The guardian's tasks in the revisions and bindings of A2A.

use serde_json::{Value, json};

use crate::gateway::a2a::Version;
use crate::gateway::json::Json;
use crate::gateway::own::tasks::{Phase, Progress, Task};
use crate::gateway::own::verdict::line;
use crate::gateway::own::{DESCRIPTION, JUDGE_STEP, JUDGE_TRACE, NAME, read_text};
use crate::gateway::route::Route;

/// The names and shapes of a revision in a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// 0.3 over JSON-RPC.
    V0,
    /// 0.3 over HTTP+JSON: the JSON of its Protocol Buffers.
    V0Rest,
    /// 1.0, which is the same in both.
    V1,
}

impl Shape {
    pub(super) const fn of(version: Version, is_rpc: bool) -> Self {
        match (version, is_rpc) {
            (Version::V0, true) => Shape::V0,
            (Version::V0, false) => Shape::V0Rest,
            (Version::V1, _) => Shape::V1,
        }
    }

    /// Returns everything that the parts of a message hand in.
    pub(super) fn handed_in(self, message: &Json) -> Vec<Json> {
        let parts = match self {
            Shape::V0Rest => message.get("content").or_else(|| message.get("parts")),
            Shape::V0 | Shape::V1 => message.get("parts"),
        };
        let data_of = |part: &Json| match (self, part.get("data")) {
            (Shape::V0Rest, Some(data)) => Some(data.get("data").unwrap_or(data).clone()),
            (Shape::V0 | Shape::V1, Some(data)) => Some(data.clone()),
            (_, None) => part.str_of("text").map(read_text),
        };
        parts.map_or(&[][..], Json::items).iter().filter_map(data_of).collect()
    }

    /// Returns the name of a task's state.
    pub(super) fn state(self, progress: &Progress) -> String {
        let name = match progress.phase {
            Phase::Waiting => "submitted",
            Phase::Working => "working",
            Phase::Judged(_) => "completed",
            Phase::Canceled => "canceled",
        };
        match self {
            Shape::V0 => name.to_owned(),
            Shape::V0Rest if name == "canceled" => "TASK_STATE_CANCELLED".to_owned(),
            Shape::V0Rest | Shape::V1 => format!("TASK_STATE_{}", name.to_ascii_uppercase()),
        }
    }

    fn parts(self, verdict: &Value) -> Value {
        match self {
            Shape::V0 => json!([{"kind": "data", "data": verdict}, {"kind": "text", "text": line(verdict)}]),
            Shape::V0Rest => json!([{"data": {"data": verdict}}, {"text": line(verdict)}]),
            Shape::V1 => json!([{"data": verdict}, {"text": line(verdict)}]),
        }
    }

    fn verdict(self, verdict: &Value) -> Value {
        json!({"artifactId": "verdict", "name": "verdict", "parts": self.parts(verdict)})
    }

    /// Returns a task as it is.
    pub(super) fn whole(self, task: &Task) -> Value {
        let progress = task.progress();
        let artifacts = match &progress.phase {
            Phase::Waiting | Phase::Working | Phase::Canceled => json!([]),
            Phase::Judged(verdict) => json!([self.verdict(verdict)]),
        };
        let mut whole = json!({
            "id": task.id, "contextId": task.context, "artifacts": artifacts,
            "status": {"state": self.state(&progress), "timestamp": progress.at.to_string()},
        });
        if let (Shape::V0, Some(members)) = (self, whole.as_object_mut()) {
            members.insert("kind".to_owned(), json!("task"));
        }
        whole
    }

    /// Returns a task as the answer to a message, and as the first event of a stream.
    pub(super) fn sent(self, task: &Task) -> Value {
        match self {
            Shape::V0 => self.whole(task),
            Shape::V0Rest | Shape::V1 => json!({"task": self.whole(task)}),
        }
    }

    /// Makes an event: the progress of a task.
    pub(super) fn update(self, task: &Task, progress: &Progress, said: Option<&str>) -> Value {
        let mut status = json!({"state": self.state(progress), "timestamp": progress.at.to_string()});
        if let (Some(said), Some(members)) = (said, status.as_object_mut()) {
            members.insert("message".to_owned(), self.message(task, said));
        }
        let mut update = json!({"taskId": task.id, "contextId": task.context, "status": status});
        if let (Shape::V0 | Shape::V0Rest, Some(members)) = (self, update.as_object_mut()) {
            members.insert("final".to_owned(), json!(progress.has_ended()));
        }
        self.event("statusUpdate", "status-update", update)
    }

    fn message(self, task: &Task, said: &str) -> Value {
        let id = uuid::Uuid::new_v4().to_string();
        let (task, context) = (&task.id, &task.context);
        match self {
            Shape::V0 => json!({
                "kind": "message", "role": "agent", "messageId": id, "taskId": task, "contextId": context,
                "parts": [{"kind": "text", "text": said}],
            }),
            Shape::V0Rest => json!({
                "role": "ROLE_AGENT", "messageId": id, "taskId": task, "contextId": context, "content": [{"text": said}],
            }),
            Shape::V1 => json!({
                "role": "ROLE_AGENT", "messageId": id, "taskId": task, "contextId": context, "parts": [{"text": said}],
            }),
        }
    }

    /// Makes an event: the verdict.
    pub(super) fn artifact(self, task: &Task, verdict: &Value) -> Value {
        let update = json!({
            "taskId": task.id, "contextId": task.context, "artifact": self.verdict(verdict), "lastChunk": true,
        });
        self.event("artifactUpdate", "artifact-update", update)
    }

    fn event(self, name: &str, kind: &str, mut update: Value) -> Value {
        match self {
            Shape::V0 => {
                if let Some(members) = update.as_object_mut() {
                    members.insert("kind".to_owned(), json!(kind));
                }
                update
            }
            Shape::V0Rest | Shape::V1 => json!({name: update}),
        }
    }
}

/// Returns one card for both revisions, at the same address.
pub(super) fn card(route: &Route) -> Value {
    let (rpc, rest) = (route.here("/"), route.here(""));
    let skill = |id: &str, name: &str, description: &str| {
        json!({
            "id": id, "name": name, "description": description, "tags": ["security", "guardrails"],
            "examples": ["Is it safe to run `rm -rf build`?"], "inputModes": ["application/json", "text/plain"],
            "outputModes": ["application/json", "text/plain"],
        })
    };
    let interface = |url: &str, binding: &str, version: &str| json!({"url": url, "protocolBinding": binding, "protocolVersion": version});
    let mut card = json!({
        "name": NAME, "description": DESCRIPTION, "version": env!("CARGO_PKG_VERSION"),
        "protocolVersion": "0.3.0", "url": rpc, "preferredTransport": "JSONRPC",
        "additionalInterfaces": [{"url": rpc, "transport": "JSONRPC"}, {"url": rest, "transport": "HTTP+JSON"}],
        "supportedInterfaces": [
            interface(&rpc, "JSONRPC", "1.0"), interface(&rest, "HTTP+JSON", "1.0"), interface(&rpc, "JSONRPC", "0.3"),
            interface(&rest, "HTTP+JSON", "0.3"),
        ],
        "capabilities": {"streaming": true, "pushNotifications": false},
        "defaultInputModes": ["application/json", "text/plain"], "defaultOutputModes": ["application/json", "text/plain"],
        "skills": [skill("judge-step", "Judge a step", JUDGE_STEP), skill("judge-trace", "Judge a trace", JUDGE_TRACE)],
    });
    if let (true, Some(members)) = (route.settings.asks_for_credentials(), card.as_object_mut()) {
        let scheme = json!({"guardianKey": {
            "type": "apiKey", "in": "header", "name": "X-Guardian-Key",
            "apiKeySecurityScheme": {"location": "header", "name": "X-Guardian-Key"},
        }});
        members.insert("securitySchemes".to_owned(), scheme);
        members.insert("security".to_owned(), json!([{"guardianKey": []}]));
        members.insert(
            "securityRequirements".to_owned(),
            json!([{"schemes": {"guardianKey": {"list": []}}}]),
        );
    }
    card
}
