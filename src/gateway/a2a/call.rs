//! A call of A2A, and the steps that it and its answer are judged as.

use super::methods::{Op, Version};
use crate::gateway::denial::Stage;
use crate::gateway::json::{Json, object};
use crate::gateway::query::Query;
use crate::gateway::route::Route;
use crate::gateway::verdicts::Question;

/// How a call is put on the wire.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Binding {
    /// JSON-RPC: the request's id and method.
    Rpc { id: Json, name: String },
    /// HTTP+JSON.
    Rest,
}

/// What a caller asks for.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) op: Op,
    pub(super) version: Version,
    pub(super) binding: Binding,
    /// JSON-RPC parameters, or the HTTP+JSON body; `Null` where there is none.
    pub(super) params: Json,
    /// The path after the gateway's own, and the query, as they go on.
    pub(super) rest: String,
    pub(super) query: Query,
}

impl Call {
    /// The task that the call is about.
    pub(super) fn task(&self) -> Option<String> {
        let by_params = self.params.str_of("id").filter(|_| self.op != Op::PushSet);
        let named = self.params.str_of("taskId").or(by_params);
        let in_message = self.params.at(&["message", "taskId"]).and_then(Json::as_str);
        let in_path = Op::task_of_path(&self.rest).filter(|_| self.binding == Binding::Rest);
        in_path.or(in_message).or(named).map(str::to_owned)
    }

    /// Whether a message belongs to no task and no conversation yet.
    pub(super) fn begins_conversation(&self) -> bool {
        let belongs = |name| {
            let value = self.params.at(&["message", name]).and_then(Json::as_str);
            value.is_some_and(|id| !id.is_empty())
        };
        !belongs("taskId") && !belongs("contextId")
    }

    /// Everything that the caller says.
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
                // What the query says beside a body that says the same is looked at too.
                let place = match params.get(name) {
                    None => name.to_owned(),
                    Some(_) => format!("query {name}"),
                };
                params.set(&place, value);
            }
        }
        params
    }

    /// Whether the call carries nothing that a verdict could be about.
    pub(super) fn is_bare(&self) -> bool {
        let plain_path = self.rest.split('/').all(crate::gateway::judged_units::is_plain);
        self.op.may_be_bare() && plain_path && crate::gateway::judged_units::is_bare(&self.said())
    }

    /// The step that the call is judged as.
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

    /// Takes over what a verdict made of the call. `None` where it cannot be put on the wire.
    pub(super) fn take_modified(&mut self, step: Json) -> Option<()> {
        let place = if self.op == Op::Unknown { "message" } else { "payload" };
        let said = step.at(&[place, "params"])?;
        match self.binding {
            Binding::Rpc { .. } => self.params = said.clone(),
            Binding::Rest => {
                let before = self.said();
                let mut after = said.clone();
                for name in before_only(&before, &self.params) {
                    // What stands in the address stays what it is.
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

    /// The step that an answer is judged as. `answer` is a JSON-RPC message, or an HTTP+JSON body.
    pub(super) fn answer_question(&self, route: &Route, answer: Json) -> Question {
        let payload = match &self.binding {
            Binding::Rpc { .. } => answer,
            Binding::Rest => object([("jsonrpc", "2.0".into()), ("id", "rest".into()), ("result", answer)]),
        };
        let place = if self.op == Op::Unknown { "message" } else { "payload" };
        Question {
            method: self.op.of_answer(),
            params: object([(place, payload), ("context", route.context(true))]),
            stage: Stage::Response,
        }
    }

    /// The answer that such a step carries.
    pub(super) fn carried_answer(&self, mut step: Json) -> Option<Json> {
        let place = if self.op == Op::Unknown { "message" } else { "payload" };
        let mut payload = step.remove(place)?;
        match self.binding {
            Binding::Rpc { .. } => Some(payload),
            Binding::Rest => payload.remove("result"),
        }
    }

    /// The JSON-RPC message, or the HTTP+JSON body, as it goes on.
    pub(super) fn body(&self) -> Option<String> {
        match &self.binding {
            Binding::Rpc { id, name } => {
                let mut message = object([
                    ("jsonrpc", "2.0".into()),
                    ("id", id.clone()),
                    ("method", name.as_str().into()),
                ]);
                if self.params != Json::Null {
                    message.set("params", self.params.clone());
                }
                Some(message.write())
            }
            Binding::Rest => (self.params != Json::Null).then(|| self.params.write()),
        }
    }
}

/// Names that are said outside of the body.
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

/// The object that says something: the result, the task, the message or the event in an answer.
pub(super) fn inner(answer: &Json) -> &Json {
    let result = answer
        .get("result")
        .filter(|result| result.is_object())
        .unwrap_or(answer);
    ["task", "message", "statusUpdate", "artifactUpdate"]
        .iter()
        .find_map(|name| result.get(name).filter(|value| value.is_object()))
        .unwrap_or(result)
}

/// The task and the conversation that an answer belongs to.
pub(super) fn ids(answer: &Json) -> (Option<String>, Option<String>) {
    let inner = inner(answer);
    let own = inner.str_of("id").filter(|_| inner.get("status").is_some());
    let task = inner.str_of("taskId").or(own);
    (task.map(str::to_owned), inner.str_of("contextId").map(str::to_owned))
}
