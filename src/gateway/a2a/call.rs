//! A call of A2A, and the steps that it and its answer are judged as.

use super::methods::{Op, Version};
use crate::gateway::answer::{RpcRequest, carried_by, in_envelope};
use crate::gateway::cancel_upstream::rpc_cancelling;
use crate::gateway::denial::Stage;
use crate::gateway::json::{Json, object};
use crate::gateway::judged_units::{CallerWords, is_bare};
use crate::gateway::query::Query;
use crate::gateway::route::Route;
use crate::gateway::verdicts::Depth;
use crate::gateway::verdicts::Question;

/// The binding of a call on the wire.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Binding {
    /// JSON-RPC: the request's id and method.
    Rpc { id: Json, name: String },
    /// HTTP+JSON.
    Rest,
}

/// A caller's request.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) op: Op,
    pub(super) version: Version,
    pub(super) binding: Binding,
    /// JSON-RPC parameters, or the HTTP+JSON body; `Null` if there is none.
    pub(super) params: Json,
    /// The path after the gateway's own, and the query, as they go on.
    pub(super) rest: String,
    pub(super) query: Query,
    /// The task that the call is about.
    pub(super) task: Option<String>,
    /// The caller's words in it, once it was sent on: agents repeat them.
    pub(super) words: CallerWords,
}

/// The task and the conversation that an answer belongs to.
pub(super) type Ids = (Option<String>, Option<String>);

impl Call {
    /// Makes a call over HTTP+JSON.
    pub(super) fn over_rest(op: Op, version: Version, params: Json, rest: &str, query: Query) -> Self {
        Self::new(op, version, Binding::Rest, params, rest, query)
    }

    /// Makes a call over JSON-RPC.
    pub(super) fn over_rpc(request: RpcRequest, rest: &str) -> Self {
        let RpcRequest { id, name, params } = request;
        let (op, version) = Op::of_rpc(&name);
        Self::new(op, version, Binding::Rpc { id, name }, params, rest, Query::default())
    }

    fn new(op: Op, version: Version, binding: Binding, params: Json, rest: &str, query: Query) -> Self {
        let by_params = params.str_of("id").filter(|_| op != Op::PushSet);
        let named = params.str_of("taskId").or(by_params);
        let in_message = params.at(&["message", "taskId"]).and_then(Json::as_str);
        let in_path = Op::task_of_path(rest).filter(|_| binding == Binding::Rest);
        let task = in_path.or(in_message).or(named).map(str::to_owned);
        Self {
            op,
            version,
            binding,
            params,
            rest: rest.to_owned(),
            query,
            task,
            words: CallerWords::default(),
        }
    }

    /// Returns the call without its words.
    pub(super) fn head(&self) -> Self {
        Self {
            op: self.op,
            version: self.version,
            binding: self.binding.clone(),
            params: Json::Null,
            rest: self.rest.clone(),
            query: Query::default(),
            task: self.task.clone(),
            words: CallerWords::default(),
        }
    }

    /// Returns the result in the content of an answer.
    pub(super) fn result<'a>(&self, answer: &'a Json) -> Option<&'a Json> {
        match self.binding {
            Binding::Rpc { .. } => answer.get("result"),
            Binding::Rest => Some(answer),
        }
    }

    /// Returns the result of [`result`](Self::result), to change it.
    pub(super) fn result_mut<'a>(&self, answer: &'a mut Json) -> Option<&'a mut Json> {
        match self.binding {
            Binding::Rpc { .. } => answer.get_mut("result"),
            Binding::Rest => Some(answer),
        }
    }

    /// Returns the object with the words: the task, the message or the event in an answer.
    pub(super) fn inner<'a>(&self, answer: &'a Json) -> &'a Json {
        let result = self
            .result(answer)
            .filter(|result| result.is_object())
            .unwrap_or(answer);
        ["task", "message", "statusUpdate", "artifactUpdate"]
            .iter()
            .find_map(|name| result.get(name).filter(|value| value.is_object()))
            .unwrap_or(result)
    }

    /// Returns the task and the conversation that an answer belongs to.
    pub(super) fn ids(&self, answer: &Json) -> Ids {
        let inner = self.inner(answer);
        let own = inner.str_of("id").filter(|_| inner.get("status").is_some());
        let task = inner.str_of("taskId").or(own);
        (task.map(str::to_owned), inner.str_of("contextId").map(str::to_owned))
    }

    /// Returns all words of the caller.
    fn said(&self) -> Json {
        let mut params = self.params.clone();
        if self.binding == Binding::Rest {
            if params == Json::Null {
                params = Json::Object(Vec::new());
            }
            let task = Op::task_of_path(&self.rest).map(Json::from);
            if let Some(task) = task
                && params.get("id").is_none()
            {
                params.set("id", task);
            }
            for (name, value) in self.query.pairs() {
                // A value of the query beside one of the same name in the body is looked at too.
                let place = match params.get(name) {
                    None => name.to_owned(),
                    Some(_) => format!("query {name}"),
                };
                params.set(&place, value);
            }
        }
        params
    }

    /// Tells whether the call has words beside ids and numbers.
    pub(super) fn depth(&self) -> Depth {
        let id = match &self.binding {
            Binding::Rpc { id, .. } => id.clone(),
            Binding::Rest => Json::Null,
        };
        let whole = object([("id", id), ("params", self.said())]);
        if self.op.may_be_bare() && is_bare(&whole) {
            Depth::Rules
        } else {
            Depth::Whole
        }
    }

    /// Returns the step that the call is judged as.
    pub(super) fn question(&self, route: &Route) -> Question {
        let (id, name) = match &self.binding {
            Binding::Rpc { id, name } => (id.clone(), name.as_str()),
            Binding::Rest => ("rest".into(), self.op.of_request()),
        };
        let mut payload = object([("jsonrpc", "2.0".into()), ("id", id), ("method", name.into())]);
        let said = self.said();
        if said != Json::Null {
            payload.set("params", said);
        }
        let place = if self.op == Op::Unknown { "message" } else { "payload" };
        Question {
            method: self.op.of_request(),
            params: object([(place, payload), ("context", route.context(false))]),
            stage: Stage::Request,
        }
    }

    /// Takes over the call as a verdict modified it. `None` if it cannot be put on the wire.
    pub(super) fn take_modified(&mut self, step: Json) -> Option<()> {
        let place = if self.op == Op::Unknown { "message" } else { "payload" };
        let said = step.at(&[place, "params"])?;
        match self.binding {
            Binding::Rpc { .. } => self.params = said.clone(),
            Binding::Rest => {
                let before = self.said();
                let mut after = said.clone();
                for name in before_only(&before, &self.params) {
                    // A value in the address stays as it is.
                    if before.get(&name) != after.get(&name) {
                        return None;
                    }
                    after.remove(&name);
                }
                self.params = after;
            }
        }
        Some(())
    }

    /// Returns the step that an answer is judged as. `answer` is the content of a JSON-RPC message, or an HTTP+JSON body.
    pub(super) fn answer_question(&self, route: &Route, answer: Json) -> Question {
        let payload = match &self.binding {
            Binding::Rpc { id, .. } => in_envelope(id, answer),
            Binding::Rest => object([("jsonrpc", "2.0".into()), ("id", "rest".into()), ("result", answer)]),
        };
        let place = if self.op == Op::Unknown { "message" } else { "payload" };
        Question {
            method: self.op.of_answer(),
            params: object([(place, payload), ("context", route.context(true))]),
            stage: Stage::Response,
        }
    }

    /// Returns the answer that such a step carries.
    pub(super) fn carried_answer(&self, mut step: Json) -> Option<Json> {
        let place = if self.op == Op::Unknown { "message" } else { "payload" };
        let mut payload = step.remove(place)?;
        match &self.binding {
            Binding::Rpc { id, .. } => carried_by(payload, id).ok(),
            Binding::Rest => payload.remove("result"),
        }
    }

    /// Writes the content of an answer as it goes to the caller.
    pub(super) fn written(&self, carried: Json) -> String {
        match &self.binding {
            Binding::Rpc { id, .. } => in_envelope(id, carried).write(),
            Binding::Rest => carried.write(),
        }
    }

    /// Returns the JSON-RPC message, or the HTTP+JSON body, as it goes on.
    pub(super) fn body(&self) -> Option<String> {
        match &self.binding {
            Binding::Rpc { id, name } => {
                let (id, name, params) = (id.clone(), name.clone(), self.params.clone());
                Some(RpcRequest { id, name, params }.message().write())
            }
            Binding::Rest => (self.params != Json::Null).then(|| self.params.write()),
        }
    }

    /// Returns the path and the body of the request that cancels a task; `None` if this is such a request.
    pub(super) fn cancelling(&self, task: &str) -> Option<(String, String)> {
        let name = match self.version {
            _ if self.op == Op::Cancel => return None,
            Version::V0 => "tasks/cancel",
            Version::V1 => "CancelTask",
        };
        Some(match &self.binding {
            Binding::Rpc { .. } => (self.rest.clone(), rpc_cancelling(name, task)),
            Binding::Rest => {
                let parts = ["/message:", "/tasks"]
                    .iter()
                    .find_map(|mark| self.rest.split_once(mark));
                let before = parts.map_or("", |(before, _)| before);
                (
                    format!("{before}/tasks/{task}:cancel"),
                    object([("id", task.into())]).write(),
                )
            }
        })
    }
}

/// Returns the names that stand outside of the body.
fn before_only(said: &Json, body: &Json) -> Vec<String> {
    match said {
        Json::Object(members) => {
            let outside = members
                .iter()
                .map(|(name, _)| name)
                .filter(|name| body.get(name).is_none());
            outside.cloned().collect()
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) | Json::Array(_) => Vec::new(),
    }
}
