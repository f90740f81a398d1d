//! The events of Agent Protocol's streams and lists.

use std::sync::Arc;

use super::shapes::{self, Form};
use crate::gateway::cancel_upstream::stop;
use crate::gateway::denial::Denial;
use crate::gateway::hold::Dialect;
use crate::gateway::json::Json;
use crate::gateway::protocol_words::may_repeat;
use crate::gateway::receive::Received;
use crate::gateway::route::Route;
use crate::gateway::sse::Event;
use crate::gateway::verdicts::Question;
use crate::wire::is_identifier;

/// One stream, or one list, of events.
pub(super) struct Events {
    pub(super) route: Arc<Route>,
    pub(super) received: Arc<Received>,
    /// The request or run.
    pub(super) id: Option<String>,
    /// The one that the caller named.
    pub(super) asked: Option<String>,
    /// True if events may be plain text.
    pub(super) takes_text: bool,
    pub(super) form: Option<Form>,
    pub(super) agent: String,
}

impl Events {
    fn last_words(&self, text: &str) -> Vec<Event> {
        let form = self
            .form
            .unwrap_or(if self.takes_text { Form::Text } else { Form::Snake });
        let id = self.id.as_deref().filter(|id| may_repeat(id, self.asked.as_deref()));
        form.last_words(id, &self.agent, text)
    }
}

impl Dialect for Events {
    const NAMES: &'static [&'static str] = &["message"];

    fn read(&mut self, event: &Event) -> Result<Json, String> {
        let value = match self.route.parse(event.data.as_bytes()) {
            Ok(value @ Json::Object(_)) => value,
            Ok(_) | Err(_) if self.takes_text && !hides(&event.data) => Json::Text(event.data.clone()),
            Ok(_) | Err(_) => {
                return Err("the agent behind the gateway sent an event that is not a JSON object".to_owned());
            }
        };
        self.form.get_or_insert(Form::of(&value));
        if self.id.is_none() {
            self.id = shapes::id_of(&value);
        }
        // The last words of a stream that was denied say it again.
        if let Some(agent) = value.str_of("agent").filter(|agent| is_identifier(agent)) {
            agent.clone_into(&mut self.agent);
        }
        Ok(value)
    }

    fn write(&self, event: &Event, value: &Json) -> Event {
        let data = match value {
            Json::Text(text) => text.clone(),
            value => value.write(),
        };
        Event { data, ..event.clone() }
    }

    fn completes(&mut self, value: &Json) -> bool {
        let kind = value
            .str_of("type")
            .unwrap_or_default()
            .replace('_', "")
            .to_ascii_lowercase();
        matches!(
            kind.as_str(),
            "requestcompleted" | "runcompleted" | "operationcomplete" | "turnend" | "waitforinput"
        )
    }

    fn texts<'v>(&self, value: &'v mut Json) -> Vec<(String, &'v mut String)> {
        let mut texts = Vec::new();
        match value {
            Json::Text(text) => texts.push(text),
            Json::Object(members) => {
                for (name, member) in members {
                    match (name.as_str(), member) {
                        ("payload", Json::Object(members)) => {
                            texts.extend(members.iter_mut().filter_map(|(name, member)| said(name, member)));
                        }
                        ("payload", Json::Text(text)) => texts.push(text),
                        (name, member) => texts.extend(said(name, member)),
                    }
                }
            }
            _ => {}
        }
        // Clients join the pieces, wherever one of these stands in an event.
        texts.into_iter().map(|text| ("said".to_owned(), text)).collect()
    }

    fn scope(&self) -> Option<String> {
        shapes::scope(self.id.as_deref())
    }

    fn question(&mut self, values: Vec<Json>) -> Question {
        shapes::answer_question(&self.route, self.id.as_deref(), values)
    }

    fn carried(&mut self, params: Json) -> Option<Vec<Json>> {
        shapes::carried_answers(params)
    }

    fn end_denied(&mut self, denial: &Denial) -> Vec<Event> {
        stop(&self.route, &self.received, self.id.as_deref(), denial, |id| {
            shapes::cancelling(&self.received, id)
        });
        self.last_words(&denial.text())
    }

    fn end_broken(&mut self, why: &str) -> Vec<Event> {
        self.route.count("fault");
        self.last_words(&format!("[guardian] {why}"))
    }
}

/// Returns `true` for a text that some clients would read as JSON, with escapes in it that say something else there.
fn hides(text: &str) -> bool {
    let first = text
        .chars()
        .find(|c| c.is_alphanumeric() || matches!(c, '{' | '[' | '"'));
    matches!(first, Some('{' | '[' | '"')) && text.contains('\\')
}

/// Returns a piece of what an event says.
fn said<'v>(name: &str, member: &'v mut Json) -> Option<&'v mut String> {
    match member {
        Json::Text(text) if matches!(name, "content" | "text_result") => Some(text),
        _ => None,
    }
}
