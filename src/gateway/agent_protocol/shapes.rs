//! The steps that messages of Agent Protocol are judged as, and the refusals in its forms.

use http::StatusCode;
use serde_json::{Value, json};

use crate::gateway::answer::Answer;
use crate::gateway::denial::{Denial, Stage};
use crate::gateway::json::{Json, object};
use crate::gateway::receive::Received;
use crate::gateway::route::Route;
use crate::gateway::sse::Event;
use crate::gateway::verdicts::Question;

fn part(data: Json) -> Json {
    match data {
        Json::Text(text) => object([("kind", "text".into()), ("text", text.into())]),
        data => object([("kind", "data".into()), ("data", data)]),
    }
}

fn message(role: &str, id: Option<&str>, parts: Vec<Json>) -> Json {
    let parts = Json::Array(parts.into_iter().map(part).collect());
    let mut message = object([
        ("kind", "message".into()),
        ("role", role.into()),
        ("messageId", uuid::Uuid::new_v4().to_string().into()),
        ("parts", parts),
    ]);
    if let Some(id) = id {
        message.set("contextId", id);
    }
    message
}

/// Returns the step that a request is judged as: a message between agents.
pub(super) fn question(route: &Route, id: Option<&str>, body: Json) -> Question {
    let payload = object([
        ("jsonrpc", "2.0".into()),
        ("id", "agent-protocol".into()),
        ("method", "message/send".into()),
        ("params", object([("message", message("user", id, vec![body]))])),
    ]);
    Question {
        method: "message/send",
        params: object([("payload", payload), ("context", route.context(false))]),
        stage: Stage::Request,
    }
}

/// Returns the body that such a step carries.
pub(super) fn carried_body(step: Json) -> Option<Json> {
    carried(step.at(&["payload", "params", "message", "parts"])?).pop()
}

/// Returns the step that answers or events are judged as.
pub(super) fn answer_question(route: &Route, id: Option<&str>, answers: Vec<Json>) -> Question {
    let payload = object([
        ("jsonrpc", "2.0".into()),
        ("id", "agent-protocol".into()),
        ("result", message("agent", id, answers)),
    ]);
    Question {
        method: "message/stream",
        params: object([("payload", payload), ("context", route.context(true))]),
        stage: Stage::Response,
    }
}

/// Returns the answers or events that such a step carries.
pub(super) fn carried_answers(step: Json) -> Option<Vec<Json>> {
    Some(carried(step.at(&["payload", "result", "parts"])?))
}

fn carried(parts: &Json) -> Vec<Json> {
    let of = |part: &Json| part.get("data").or_else(|| part.get("text")).cloned();
    parts.items().iter().filter_map(of).collect()
}

/// Returns the scope of messages.
pub(super) fn scope(id: Option<&str>) -> Option<String> {
    id.map(|id| format!("request/{id}"))
}

/// Returns the request or run that a message belongs to.
pub(super) fn id_of(value: &Json) -> Option<String> {
    ["request_id", "run_id", "thread_id"]
        .iter()
        .find_map(|name| match value.get(name) {
            Some(Json::Text(id)) => Some(id.clone()),
            Some(Json::Number(id)) => Some(id.to_string()),
            _ => None,
        })
}

/// Returns the path and the body of the request that cancels a request or run. The reference implementation knows no such request.
pub(super) fn cancelling(received: &Received, id: &str) -> Option<(String, String)> {
    let marks = [
        "/getevents",
        "/events",
        "/stream_request",
        "/process",
        "/chat",
        "/resume",
        "/request",
    ];
    let parts = marks.iter().find_map(|mark| received.rest.split_once(mark));
    let before = parts.map_or("", |(before, _)| before);
    let body = object([("type", "cancel_request".into()), ("request_id", id.into())]);
    Some((format!("{before}/process"), body.write()))
}

/// Makes an answer that is none of the agent's. Its clients read `detail`.
pub(super) fn refusal(status: StatusCode, message: &str) -> Answer {
    Answer::json(status, json!({"detail": format!("[guardian] {message}")}).to_string())
}

/// Makes a refusal.
pub(super) fn denied(denial: &Denial) -> Answer {
    let mut body = denial.data();
    if let Some(members) = body.as_object_mut() {
        members.insert("detail".to_owned(), Value::String(denial.text()));
    }
    Answer::json(StatusCode::FORBIDDEN, body.to_string())
}

/// Returns the answer to a request that begins and goes no further: a caller that asks for its events is told why.
pub(super) fn started(id: &str) -> Value {
    json!({
        "type": "request_started", "id": 1, "run_id": id, "request_id": id, "thread_id": id, "agent": "guardian",
        "role": "system", "depth": 0, "timestamp": jiff::Timestamp::now().to_string(),
    })
}

/// The form of a stream's events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Form {
    /// The draft's, with names such as `text_output`.
    #[default]
    Snake,
    /// The draft's, with names such as `TextOutput`.
    Camel,
    /// The reference implementation's.
    Agentic,
    /// Plain text.
    Text,
}

impl Form {
    /// Returns the form of an event.
    pub(super) fn of(value: &Json) -> Self {
        match value {
            Json::Text(_) => Form::Text,
            _ if value.get("payload").is_some() => Form::Agentic,
            _ if value
                .str_of("type")
                .is_some_and(|kind| kind.starts_with(char::is_uppercase)) =>
            {
                Form::Camel
            }
            _ => Form::Snake,
        }
    }

    /// Returns the last events of a stream that goes no further. Browsers cannot read the body of an error, so it is said in events.
    pub(super) fn last_words(self, id: Option<&str>, agent: &str, text: &str) -> Vec<Event> {
        let draft = |said: &str, ended: &str| {
            vec![
                json!({
                    "type": said, "id": 0, "run_id": id, "request_id": id, "agent": agent, "role": "system", "depth": 0,
                    "content": text, "timestamp": jiff::Timestamp::now().to_string(),
                }),
                json!({
                    "type": ended, "id": 0, "run_id": id, "request_id": id, "agent": agent, "role": "system", "depth": 0,
                    "finish_reason": "error", "timestamp": jiff::Timestamp::now().to_string(),
                }),
            ]
        };
        let events = match self {
            Form::Text => return vec![Event::of(text)],
            Form::Snake => draft("text_output", "request_completed"),
            Form::Camel => draft("TextOutput", "RequestCompleted"),
            Form::Agentic => vec![
                json!({
                    "type": "chat_output", "agent": agent, "depth": 0,
                    "payload": {"content": text, "role": "assistant"},
                }),
                json!({"type": "turn_end", "agent": agent, "depth": 0, "payload": {"messages": [], "run_context": {}}}),
            ],
        };
        events
            .into_iter()
            .map(|event| Event::named("message", event.to_string()))
            .collect()
    }
}
