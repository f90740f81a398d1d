//! A call, in either binding, and answers in its form.

use axum::response::Response;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, StatusCode};
use serde_json::{Value, json};

use super::faults::Fault;
use super::shapes::Shape;
use crate::gateway::a2a::{Op, Version};
use crate::gateway::answer::{Answer, RpcRequest, rpc_error};
use crate::gateway::json::Json;
use crate::gateway::receive::Received;
use crate::gateway::route::Route;

/// A caller's request.
pub(super) struct Call {
    pub(super) op: Op,
    pub(super) version: Version,
    /// The id of a JSON-RPC request; `None` for HTTP+JSON.
    rpc: Option<Json>,
    pub(super) params: Json,
    /// The task that it is about.
    pub(super) task: Option<String>,
}

impl Call {
    /// Reads a request.
    pub(super) fn read(route: &Route, received: &Received) -> Result<Self, Answer> {
        match Op::of_rest(&received.method, &received.rest) {
            Some((op, version)) => Self::read_rest(route, received, op, version),
            None if received.method == Method::POST => Self::read_rpc(route, &received.body),
            None => {
                let body = rpc_error(&Json::Null, -32601, "there is nothing here", None).write();
                Err(Answer::json(StatusCode::NOT_FOUND, body))
            }
        }
    }

    fn read_rpc(route: &Route, body: &[u8]) -> Result<Self, Answer> {
        let RpcRequest { id, name, params } = RpcRequest::read(route, body)?;
        let (op, version) = Op::of_rpc(&name);
        let task = params.str_of("id").map(str::to_owned);
        Ok(Self {
            op,
            version,
            rpc: Some(id),
            params,
            task,
        })
    }

    fn read_rest(route: &Route, received: &Received, op: Op, version: Version) -> Result<Self, Answer> {
        let mut call = Self {
            op,
            version,
            rpc: None,
            params: Json::Object(Vec::new()),
            task: Op::task_of_path(&received.rest).map(str::to_owned),
        };
        if !received.body.is_empty() {
            call.params = match route.parse(&received.body) {
                Ok(body @ Json::Object(_)) => body,
                Ok(_) => return Err(call.refused(&Fault::InvalidParams("expected a JSON object".to_owned()))),
                Err(fault) => return Err(call.refused(&Fault::InvalidParams(fault.message))),
            };
        }
        for (name, value) in received.query.pairs() {
            if call.params.get(name).is_none() {
                call.params.set(name, value);
            }
        }
        Ok(call)
    }

    /// Returns the shape of its revision and binding.
    pub(super) fn shape(&self) -> Shape {
        Shape::of(self.version, self.rpc.is_some())
    }

    /// Writes a result as it goes on the wire.
    pub(super) fn text(&self, result: &Value) -> String {
        let Some(id) = &self.rpc else {
            return result.to_string();
        };
        let mut answer: Json = json!({"jsonrpc": "2.0", "id": null, "result": result}).into();
        answer.set("id", id.clone());
        answer.write()
    }

    /// Answers with an error.
    pub(super) fn refuse(&self, fault: &Fault) -> Response {
        self.refused(fault).into_response()
    }

    fn refused(&self, fault: &Fault) -> Answer {
        let (code, reason, status, name) = fault.codes();
        let details = json!([{
            "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "a2a-protocol.org",
        }]);
        let message = fault.to_string();
        match &self.rpc {
            Some(id) => {
                let data = (self.version == Version::V1).then_some(details);
                Answer::json(StatusCode::OK, rpc_error(id, code, &message, data).write())
            }
            None => {
                let body = json!({"error": {
                    "code": status.as_u16(), "status": name, "message": message, "details": details,
                }});
                let mut answer = Answer::json(status, body.to_string());
                let kind = HeaderValue::from_static("application/a2a+json");
                answer.headers.insert(CONTENT_TYPE, kind);
                answer
            }
        }
    }
}
