//! The events of A2A streams.

use std::sync::Arc;

use super::answers;
use super::call::{Binding, Call, Ids};
use crate::gateway::answer::carried_by;
use crate::gateway::cancel_upstream::stop;
use crate::gateway::denial::Denial;
use crate::gateway::hold::Dialect;
use crate::gateway::json::{Json, object};
use crate::gateway::judged_units::CallerWords;
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
    /// The caller's words: agents repeat them.
    sent: CallerWords,
    ids: Ids,
    asked: Vec<Json>,
}

impl Events {
    pub(super) fn new(route: Arc<Route>, call: &Call, received: Arc<Received>) -> Self {
        Self {
            route,
            sent: call.words.clone(),
            call: call.head(),
            received,
            ids: (None, None),
            asked: Vec::new(),
        }
    }

    fn learn_ids(&mut self, value: &Json) {
        let (task, context) = self.call.ids(value);
        self.ids.0 = self.ids.0.take().or(task);
        self.ids.1 = self.ids.1.take().or(context);
        if self.ids.0.is_some()
            && let Some(scope) = self.scope()
        {
            self.route
                .judged
                .allow_repetition(&scope, &std::mem::take(&mut self.sent));
        }
    }
}

impl Dialect for Events {
    const NAMES: &'static [&'static str] = &["message"];

    /// Reads the content of the event: the envelope of JSON-RPC is read here and written anew.
    fn read(&mut self, event: &Event) -> Result<Json, String> {
        let value = self.route.parse(event.data.as_bytes()).map_err(|error| {
            tracing::warn!(
                gateway = self.route.settings.name,
                code = error.code,
                "an event cannot be read"
            );
            "the agent behind the gateway sent an event that is not JSON".to_owned()
        })?;
        let value = match &self.call.binding {
            Binding::Rpc { id, .. } => carried_by(value, id),
            Binding::Rest if value.is_object() => Ok(value),
            Binding::Rest => Err("an event that is not one of A2A"),
        };
        let value = value.map_err(|what| format!("the agent behind the gateway sent {what}"))?;
        self.learn_ids(&value);
        match self.ids.0.as_deref().and_then(|task| self.route.judged.denied(task)) {
            Some(denial) => Err(denial.text()),
            None => Ok(value),
        }
    }

    fn write(&self, event: &Event, value: &Json) -> Event {
        Event {
            data: self.call.written(value.clone()),
            ..event.clone()
        }
    }

    fn completes(&mut self, value: &Json) -> bool {
        let inner = self.call.inner(value);
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
        texts(&self.call, value)
    }

    fn scope(&self) -> Option<String> {
        scope(&self.ids)
    }

    fn task(&self) -> Option<&str> {
        self.ids.0.as_deref()
    }

    fn question(&mut self, values: Vec<Json>) -> Question {
        let is_answer = |value: &Json| match self.call.binding {
            Binding::Rpc { .. } => value.get("result").is_some() || value.get("error").is_some(),
            Binding::Rest => true,
        };
        let question = match values.as_slice() {
            [one] if is_answer(one) => self.call.answer_question(&self.route, one.clone()),
            several => {
                let said = |value: &Json| self.call.result(value).unwrap_or(value).clone();
                let list = object([("list", Json::Array(several.iter().map(said).collect()))]);
                let answer = match self.call.binding {
                    Binding::Rpc { .. } => object([("result", list)]),
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
        let list = self
            .call
            .result_mut(&mut answer)
            .and_then(|result| result.remove("list"));
        let Some(Json::Array(said)) = list.filter(|_| asked.len() > 1) else {
            return (asked.len() == 1).then(|| vec![answer]);
        };
        if said.len() != asked.len() {
            return None;
        }
        let whole = asked.into_iter().zip(said).map(|(mut value, said)| {
            match self.call.result_mut(&mut value) {
                Some(result) => *result = said,
                None => value = said,
            }
            value
        });
        Some(whole.collect())
    }

    fn end_denied(&mut self, denial: &Denial) -> Vec<Event> {
        let task = self.ids.0.as_deref();
        stop(&self.route, &self.received, task, denial, |task| {
            self.call.cancelling(task)
        });
        vec![answers::denied_event(&self.call, &self.ids, denial)]
    }

    fn end_broken(&mut self, why: &str) -> Vec<Event> {
        self.route.count("fault");
        vec![answers::fault_event(&self.call, &self.ids, why)]
    }
}

/// The texts of the artifacts that a task or an update shows, each with the id of its artifact: updates go on from them.
pub(super) fn texts<'v>(call: &Call, value: &'v mut Json) -> Vec<(String, &'v mut String)> {
    let inner = match call.result_mut(value) {
        Some(result) => match ["artifactUpdate", "task"]
            .iter()
            .find(|name| result.get(name).is_some())
        {
            Some(name) => result.get_mut(name),
            None => Some(result),
        },
        None => None,
    };
    let Some(Json::Object(members)) = inner else {
        return Vec::new();
    };
    let mut texts = Vec::new();
    for (name, member) in members {
        let artifacts = match (name.as_str(), member) {
            ("artifact", artifact) => std::slice::from_mut(artifact),
            ("artifacts", Json::Array(artifacts)) => artifacts.as_mut_slice(),
            (_, _) => continue,
        };
        for artifact in artifacts {
            let text_id = artifact.str_of("artifactId").unwrap_or_default().to_owned();
            let Some(Json::Array(parts)) = artifact.get_mut("parts") else {
                continue;
            };
            texts.extend(parts.iter_mut().filter_map(|part| match part.get_mut("text") {
                Some(Json::Text(text)) => Some((text_id.clone(), text)),
                _ => None,
            }));
        }
    }
    texts
}

/// Returns the scope of a message, for units that were judged before.
pub(super) fn scope(ids: &Ids) -> Option<String> {
    match ids {
        (Some(task), _) => Some(format!("task/{task}")),
        (None, Some(context)) => Some(format!("context/{context}")),
        (None, None) => None,
    }
}
