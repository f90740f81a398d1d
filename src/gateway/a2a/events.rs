//! The events of A2A streams.

use std::sync::Arc;

use super::answers;
use super::call::{self, Binding, Call};
use super::cancel::cancel;
use crate::gateway::denial::Denial;
use crate::gateway::hold::Dialect;
use crate::gateway::json::{Json, object};
use crate::gateway::receive::Received;
use crate::gateway::route::Route;
use crate::gateway::sse::Event;
use crate::gateway::verdicts::Question;

/// One stream of A2A events.
pub(super) struct Events {
    route: Arc<Route>,
    call: Call,
    /// Holds the caller's headers, for cancelling.
    received: Arc<Received>,
    /// What the caller sent: agents repeat it.
    sent: Option<Json>,
    ids: (Option<String>, Option<String>),
    asked: Vec<Json>,
}

impl Events {
    pub(super) fn new(route: Arc<Route>, call: Call, received: Arc<Received>) -> Self {
        let sent = call.params.get("message").cloned();
        Self {
            route,
            call,
            received,
            sent,
            ids: (None, None),
            asked: Vec::new(),
        }
    }

    fn learn_ids(&mut self, value: &Json) {
        let (task, context) = call::ids(value);
        self.ids.0 = self.ids.0.take().or(task);
        self.ids.1 = self.ids.1.take().or(context);
        if self.ids.0.is_some()
            && let Some(sent) = self.sent.take()
        {
            self.route.judged.remember(&self.scope(), &sent, &sent);
        }
    }
}

impl Dialect for Events {
    fn read(&mut self, event: &Event) -> Result<Json, String> {
        let value = self.route.parse(event.data.as_bytes()).map_err(|fault| {
            tracing::warn!(
                gateway = self.route.settings.name,
                "an event of a stream cannot be read: {fault}"
            );
            "the agent behind the gateway sent an event that is not JSON".to_owned()
        })?;
        let answers = value.get("result").is_some() || value.get("error").is_some();
        let fits = match self.call.binding {
            Binding::Rpc { .. } => answers && value.get("method").is_none(),
            Binding::Rest => value.is_object(),
        };
        if !fits {
            return Err("the agent behind the gateway sent an event that is not one of A2A".to_owned());
        }
        self.learn_ids(&value);
        match self.ids.0.as_deref().and_then(|task| self.route.judged.denied(task)) {
            Some(denial) => Err(denial.text()),
            None => Ok(value),
        }
    }

    fn write(&self, event: &Event, value: &Json) -> Event {
        Event {
            data: value.write(),
            ..event.clone()
        }
    }

    fn completes(&mut self, value: &Json) -> bool {
        let inner = call::inner(value);
        let state = inner
            .at(&["status", "state"])
            .and_then(Json::as_str)
            .unwrap_or_default();
        let state = state
            .trim_start_matches("TASK_STATE_")
            .to_ascii_lowercase()
            .replace('_', "-");
        let stops = matches!(
            state.as_str(),
            "completed" | "canceled" | "cancelled" | "failed" | "rejected" | "input-required" | "auth-required"
        );
        let is_piece =
            inner.get("artifact").is_some() || (inner.get("status").is_some() && inner.str_of("id").is_none());
        let says_last =
            inner.get("lastChunk").is_some_and(Json::is_true) || inner.get("final").is_some_and(Json::is_true);
        stops || says_last || !is_piece
    }

    fn texts<'v>(&self, value: &'v mut Json) -> Vec<(String, &'v mut String)> {
        let update = match value.get("result").is_some() {
            true => value.get_mut("result"),
            false => Some(value),
        };
        let update = match update {
            Some(update) if update.get("artifactUpdate").is_some() => update.get_mut("artifactUpdate"),
            other => other,
        };
        let Some(artifact) = update.and_then(|update| update.get_mut("artifact")) else {
            return Vec::new();
        };
        let lane = artifact.str_of("artifactId").unwrap_or_default().to_owned();
        match artifact.get_mut("parts") {
            Some(Json::Array(parts)) => {
                let texts = parts.iter_mut().filter_map(|part| match part.get_mut("text") {
                    Some(Json::Text(text)) => Some(text),
                    _ => None,
                });
                texts.map(|text| (lane.clone(), text)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn scope(&self) -> String {
        scope(&self.ids)
    }

    fn question(&mut self, values: Vec<Json>) -> Question {
        let question = match values.as_slice() {
            [one] => self.call.answer_question(&self.route, one.clone()),
            several => {
                let results = several
                    .iter()
                    .map(|value| value.get("result").unwrap_or(value).clone())
                    .collect();
                let list = object([("list", Json::Array(results))]);
                let answer = match &self.call.binding {
                    Binding::Rpc { id, .. } => {
                        object([("jsonrpc", "2.0".into()), ("id", id.clone()), ("result", list)])
                    }
                    Binding::Rest => list,
                };
                self.call.answer_question(&self.route, answer)
            }
        };
        self.asked = values;
        question
    }

    fn carried(&mut self, params: Json) -> Option<Vec<Json>> {
        let asked = std::mem::take(&mut self.asked);
        let mut answer = self.call.carried_answer(params)?;
        if asked.len() == 1 {
            return Some(vec![answer]);
        }
        let mut list = match self.call.binding {
            Binding::Rpc { .. } => answer.remove("result")?,
            Binding::Rest => answer,
        };
        let Some(Json::Array(results)) = list.remove("list") else {
            return None;
        };
        if results.len() != asked.len() {
            return None;
        }
        let whole = asked.into_iter().zip(results).map(|(mut value, result)| {
            if value.get("result").is_some() {
                value.set("result", result);
                value
            } else {
                result
            }
        });
        Some(whole.collect())
    }

    fn end_denied(&mut self, denial: &Denial) -> Vec<Event> {
        self.route.count("denied_response");
        if let Some(task) = &self.ids.0 {
            self.route.judged.deny(task, denial);
            cancel(&self.route, &self.call, &self.received, task);
        }
        vec![answers::denied_event(&self.call, &self.ids, denial)]
    }

    fn end_broken(&mut self, why: &str) -> Vec<Event> {
        self.route.count("fault");
        vec![answers::fault_event(&self.call, &self.ids, why)]
    }
}

/// To what a message belongs, for what was judged before.
pub(super) fn scope(ids: &(Option<String>, Option<String>)) -> String {
    match ids {
        (Some(task), _) => format!("task/{task}"),
        (None, Some(context)) => format!("context/{context}"),
        (None, None) => String::new(),
    }
}
