//! The events of AgentVault's streams.

use std::sync::Arc;

use super::shapes::{self, Op};
use crate::gateway::cancel_upstream::stop;
use crate::gateway::denial::Denial;
use crate::gateway::hold::Dialect;
use crate::gateway::json::{Json, object};
use crate::gateway::protocol_words::may_repeat;
use crate::gateway::receive::Received;
use crate::gateway::route::Route;
use crate::gateway::sse::Event;
use crate::gateway::verdicts::Question;

/// One stream of events.
pub(super) struct Events {
    pub(super) route: Arc<Route>,
    pub(super) id: Json,
    pub(super) received: Arc<Received>,
    pub(super) task: Option<String>,
    /// The one that the caller named.
    pub(super) asked: Option<String>,
}

impl Dialect for Events {
    const NAMES: &'static [&'static str] = &["task_status", "task_message", "task_artifact", "error", "message"];

    fn read(&mut self, event: &Event) -> Result<Json, String> {
        let value = self.route.parse(event.data.as_bytes()).ok().filter(Json::is_object);
        let value = value.ok_or("the agent behind the gateway sent an event that is not a JSON object")?;
        if self.task.is_none() {
            self.task = value.str_of("taskId").map(str::to_owned);
        }
        Ok(value)
    }

    fn write(&self, event: &Event, value: &Json) -> Event {
        Event {
            data: value.write(),
            ..event.clone()
        }
    }

    fn completes(&mut self, value: &Json) -> bool {
        // A message is whole; an artifact may come in versions.
        let state = value.str_of("state").unwrap_or_default();
        value.get("message").is_some_and(Json::is_object)
            || value.get("error").is_some()
            || matches!(state, "COMPLETED" | "FAILED" | "CANCELED" | "INPUT_REQUIRED")
    }

    fn texts<'v>(&self, value: &'v mut Json) -> Vec<(String, &'v mut String)> {
        let Json::Object(members) = value else {
            return Vec::new();
        };
        let holders = members
            .iter_mut()
            .filter(|(name, _)| matches!(name.as_str(), "artifact" | "message"));
        let mut texts = Vec::new();
        for (text_id, holder) in holders {
            let Json::Object(members) = holder else { continue };
            for (name, member) in members {
                match (name.as_str(), member) {
                    ("content", Json::Text(text)) => texts.push((text_id.clone(), text)),
                    ("content" | "parts", Json::Array(parts)) => {
                        texts.extend(parts.iter_mut().filter_map(|part| match part.get_mut("content") {
                            Some(Json::Text(text)) => Some((text_id.clone(), text)),
                            _ => None,
                        }));
                    }
                    _ => {}
                }
            }
        }
        texts
    }

    fn scope(&self) -> Option<String> {
        shapes::scope(self.task.as_deref())
    }

    fn question(&mut self, mut values: Vec<Json>) -> Question {
        let result = match values.len() {
            1 => values.pop().unwrap_or(Json::Null),
            _ => object([("list", Json::Array(values))]),
        };
        shapes::answer_question(&self.route, Op::Subscribe, &self.id, object([("result", result)]))
    }

    fn carried(&mut self, params: Json) -> Option<Vec<Json>> {
        let mut result = shapes::carried_answer(Op::Subscribe, &self.id, params)?.remove("result")?;
        match result.remove("list") {
            Some(Json::Array(values)) => Some(values),
            Some(_) => None,
            None => Some(vec![result]),
        }
    }

    fn end_denied(&mut self, denial: &Denial) -> Vec<Event> {
        stop(&self.route, &self.received, self.task.as_deref(), denial, |task| {
            shapes::cancelling(&self.received, task)
        });
        let task = self
            .task
            .as_deref()
            .filter(|task| may_repeat(task, self.asked.as_deref()));
        shapes::denied_events(task, denial)
    }

    fn end_broken(&mut self, why: &str) -> Vec<Event> {
        self.route.count("fault");
        vec![shapes::error_event("agent_error", &format!("[guardian] {why}"))]
    }
}
