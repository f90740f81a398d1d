//! Answers of a gateway, and JSON-RPC as its protocols speak it.

use axum::body::Body;
use axum::response::Response;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::{Value, json};

use super::json::{Json, object};
use super::protocol_words::MAX_ID_BYTES;
use super::route::Route;

/// A whole answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: Box<HeaderMap>,
    pub(super) body: String,
    /// The same if the status is given away already: a body that tells the error by itself.
    pub(super) in_band: Option<String>,
}

impl Answer {
    pub(super) fn json(status: StatusCode, body: String) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Self {
            status,
            headers: Box::new(headers),
            body,
            in_band: None,
        }
    }

    pub(super) fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.body));
        *response.status_mut() = self.status;
        *response.headers_mut() = *self.headers;
        response
    }

    /// Returns the body that is sent after heartbeats.
    pub(super) fn late_body(self) -> String {
        self.in_band.unwrap_or(self.body)
    }
}

/// Returns the head of a stream of events.
pub(super) fn stream_response(body: Body) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/event-stream; charset=utf-8"),
    );
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// Makes a JSON-RPC error.
pub(super) fn rpc_error(id: &Json, code: i64, message: &str, data: Option<Value>) -> Json {
    let mut error = json!({"code": code, "message": message});
    if let (Some(data), Some(error)) = (data, error.as_object_mut()) {
        error.insert("data".to_owned(), data);
    }
    let mut answer: Json = json!({"jsonrpc": "2.0", "id": null, "error": error}).into();
    answer.set("id", id.clone());
    answer
}

/// A JSON-RPC request.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RpcRequest {
    pub(super) id: Json,
    pub(super) name: String,
    /// `Null` if there are none.
    pub(super) params: Json,
}

impl RpcRequest {
    /// Reads a body.
    ///
    /// # Errors
    ///
    /// The answer to a body that is no single request, or carries more than one.
    pub(super) fn read(route: &Route, body: &[u8]) -> Result<Self, Answer> {
        let refused = |id: &Json, code, message: &str| {
            Answer::json(
                StatusCode::OK,
                rpc_error(id, code, &format!("[guardian] {message}"), None).write(),
            )
        };
        let mut message = route
            .parse(body)
            .map_err(|error| refused(&Json::Null, error.code, &error.message))?;
        let id = match message.get("id") {
            Some(Json::Text(id)) if id.len() <= MAX_ID_BYTES => Json::text(id.clone()),
            Some(Json::Number(id)) if id.len() <= MAX_ID_BYTES => Json::Number(id.clone()),
            Some(Json::Null) | None => Json::Null,
            Some(_) => {
                let expected = "expected a string or a number of at most 256 bytes as `id`";
                return Err(refused(&Json::Null, -32600, expected));
            }
        };
        if message.str_of("jsonrpc") != Some("2.0") {
            return Err(refused(&id, -32600, "expected one JSON-RPC 2.0 request"));
        }
        let Some(name) = message.str_of("method").map(str::to_owned) else {
            return Err(refused(&id, -32600, "expected a string as `method`"));
        };
        let known = ["jsonrpc", "id", "method", "params"];
        if let Json::Object(members) = &message
            && members.iter().any(|(name, _)| !known.contains(&name.as_str()))
        {
            return Err(refused(
                &id,
                -32600,
                "expected no members but `jsonrpc`, `id`, `method` and `params`",
            ));
        }
        let params = message.remove("params").unwrap_or(Json::Null);
        Ok(Self { id, name, params })
    }

    /// Returns the message as it goes on.
    pub(super) fn message(&self) -> Json {
        let mut message = object([
            ("jsonrpc", "2.0".into()),
            ("id", self.id.clone()),
            ("method", self.name.as_str().into()),
        ]);
        if self.params != Json::Null {
            message.set("params", self.params.clone());
        }
        message
    }
}

/// Returns the content of an answer: an object with its `result` or its `error`, and nothing else.
///
/// # Errors
///
/// When it is no answer to the request of this id, or carries more than an answer has.
pub(super) fn carried_by(mut answer: Json, request: &Json) -> Result<Json, &'static str> {
    let Json::Object(members) = &answer else {
        return Err("something that is no JSON-RPC answer");
    };
    let known = |name: &String| matches!(name.as_str(), "jsonrpc" | "id" | "result" | "error");
    if !members.iter().all(|(name, _)| known(name)) {
        return Err("an answer with members that JSON-RPC does not define");
    }
    if answer
        .get("jsonrpc")
        .is_some_and(|version| version.as_str() != Some("2.0"))
    {
        return Err("something that is no JSON-RPC 2.0 answer");
    }
    let text = |id: &Json| match id {
        Json::Text(id) => id.clone(),
        other => other.write(),
    };
    let id = answer.remove("id").unwrap_or(Json::Null);
    let (result, error) = (answer.remove("result"), answer.remove("error"));
    let carried = match (result, error) {
        // Some serialisers write both members.
        (Some(Json::Null) | None, Some(error)) if error != Json::Null => object([("error", error)]),
        (Some(result), None | Some(Json::Null)) => object([("result", result)]),
        (_, _) => return Err("an answer without one of `result` and `error`"),
    };
    // An agent that could not read a request does not know its id.
    let fits = text(&id) == text(request) || (id == Json::Null && carried.get("error").is_some());
    if fits {
        Ok(carried)
    } else {
        Err("an answer to another request")
    }
}

/// Puts the content of an answer into the envelope for the request of this id.
pub(super) fn in_envelope(request: &Json, carried: Json) -> Json {
    let mut answer = object([("jsonrpc", "2.0".into()), ("id", request.clone())]);
    if let (Json::Object(answer), Json::Object(carried)) = (&mut answer, carried) {
        answer.extend(carried);
    }
    answer
}

/// Returns `true` if headers announce a stream of events.
pub(super) fn is_event_stream(headers: &HeaderMap) -> bool {
    headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .is_some_and(|kind| kind.trim_start().to_ascii_lowercase().starts_with("text/event-stream"))
}

/// Makes a body that is one stream of these events.
pub(super) fn events_response(events: &[super::sse::Event]) -> Response {
    let body: Vec<u8> = events.iter().flat_map(super::sse::Event::to_bytes).collect();
    stream_response(Body::from(body))
}
