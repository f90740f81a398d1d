//! A call of Agent Protocol on its way through the gateway.

use std::sync::Arc;

use http::{HeaderMap, StatusCode};

use super::Op;
use super::events::Events;
use super::shapes::{self, denied, refusal};
use crate::gateway::answer::Answer;
use crate::gateway::cancel_upstream::stop;
use crate::gateway::denial::{Denial, Stage};
use crate::gateway::exchange::{Exchange, Head, Outgoing, Protocol, UNASKED_STREAM};
use crate::gateway::hold::{Hold, judge_list};
use crate::gateway::json::Json;
use crate::gateway::judged_units::is_bare;
use crate::gateway::query::Query;
use crate::gateway::receive::Received;
use crate::gateway::route::Route;
use crate::gateway::slow_answer::{Awaited, Opened};
use crate::gateway::sse::Event;
use crate::gateway::upstream::json_body;
use crate::gateway::verdicts::Depth;

/// A caller's request.
pub(super) struct Call {
    op: Op,
    /// The request or run that the address names.
    id: Option<String>,
    /// The agent that the address names.
    agent: String,
    /// `Null` if there is none.
    body: Json,
    query: Query,
}

impl Call {
    pub(super) fn new(op: Op, id: Option<String>, body: Json, received: &Received) -> Self {
        let first = received.rest.trim_start_matches('/').split('/').next();
        Self {
            op,
            id,
            agent: first.unwrap_or_default().to_owned(),
            body,
            query: received.query.clone(),
        }
    }

    fn streams(&self) -> bool {
        let wants_stream = self.query.flag("stream") == Some(true);
        self.op == Op::StreamRequest || (self.op == Op::Events && wants_stream)
    }

    /// Returns the pairs of the query, and the id that the address names.
    fn asked(&self) -> Json {
        let mut asked = Json::Object(Vec::new());
        for (name, value) in self.query.pairs() {
            asked.set(name, value);
        }
        // One of the query that says something else is judged as it is; the address is judged by itself.
        if let Some(id) = self.id.as_ref().filter(|_| self.query.get("request_id").is_none()) {
            asked.set("request_id", id.as_str());
        }
        asked
    }

    fn events(&self, exchange: &Exchange) -> Hold<Events> {
        let events = Events {
            route: Arc::clone(&exchange.route),
            received: Arc::clone(&exchange.received),
            id: self.id.clone(),
            asked: self.id.clone(),
            takes_text: self.op == Op::StreamRequest,
            form: None,
            agent: self.agent.clone(),
        };
        Hold::new(&exchange.route, events)
    }

    /// Returns the answer about a request or run that was stopped.
    fn stopped(&self, route: &Route, denial: &Denial) -> Opened<Hold<Events>> {
        let is_agentic = self.op == Op::Events && self.query.get("request_id").is_some();
        let form = if is_agentic {
            shapes::Form::Agentic
        } else {
            shapes::Form::Snake
        };
        let last_words = || form.last_words(self.id.as_deref(), &self.agent, &denial.text());
        match self.op {
            Op::Events if self.streams() => Opened::Last(last_words()),
            Op::Events => Opened::Whole(list(&last_words())),
            Op::Status | Op::Show => {
                let body = serde_json::json!({
                    "request_id": self.id, "status": "error", "finish_reason": "error", "detail": denial.text(),
                    "aos": denial.data().get("aos"),
                });
                Opened::Whole(Answer::json(StatusCode::OK, body.to_string()))
            }
            Op::Process | Op::StreamRequest => self.refused(route, denial),
        }
    }

    /// Adds the body of an answer whose status is given away: a refused request begins one all the same, whose events tell the refusal.
    fn with_in_band(&self, route: &Route, answer: Answer, denial: &Denial) -> Answer {
        let in_band = match self.op {
            Op::Process => {
                let id = route.judged.reject(String::new(), denial);
                Some(shapes::started(&id).to_string())
            }
            Op::StreamRequest | Op::Events | Op::Status | Op::Show => None,
        };
        Answer { in_band, ..answer }
    }
}

/// Makes events of a whole answer, if events are expected.
fn as_events(answer: Answer) -> Vec<Event> {
    let body = serde_json::from_str::<serde_json::Value>(&answer.body).unwrap_or_default();
    let said = body.get("detail").and_then(|detail| detail.as_str());
    let said = said.unwrap_or("[guardian] the agent gave no stream");
    shapes::Form::Snake.last_words(None, "guardian", said)
}

impl Protocol for Call {
    type Events = Hold<Events>;

    fn awaited(&self, _: &Arc<Route>) -> Awaited {
        if self.streams() {
            Awaited::Events(Box::new(as_events))
        } else {
            Awaited::Whole(Box::new(|| refusal(StatusCode::BAD_GATEWAY, UNASKED_STREAM)))
        }
    }

    fn task(&self) -> Option<&str> {
        self.id.as_deref()
    }

    fn known(&self, exchange: &Exchange) -> Option<Opened<Hold<Events>>> {
        // An agent may go by any of them.
        let asked = ["request_id", "run_id", "thread_id"].map(|name| self.query.get(name));
        let mut ids = asked.into_iter().flatten().chain(self.id.as_deref());
        let denial = ids.find_map(|id| exchange.route.judged.denied(id))?;
        Some(self.stopped(&exchange.route, &denial))
    }

    /// Judges a request. One without a body is judged by the words of its address.
    async fn admit(&mut self, exchange: &Exchange) -> Result<(), Denial> {
        let route = &exchange.route;
        let asked = self.asked();
        if asked != Json::Object(Vec::new()) {
            let depth = if is_bare(&asked) { Depth::Rules } else { Depth::Whole };
            let question = shapes::question(route, None, asked);
            if exchange.route.verdicts.ask(&question, depth).await?.is_some() {
                return Err(Denial::unmodifiable(Stage::Request));
            }
        }
        if self.body == Json::Null {
            return Ok(());
        }
        let id = shapes::id_of(&self.body);
        let question = shapes::question(route, id.as_deref(), self.body.clone());
        if let Some(step) = exchange.route.verdicts.ask(&question, Depth::Whole).await? {
            let carried = shapes::carried_body(step);
            self.body = carried.ok_or_else(|| Denial::unmodifiable(Stage::Request))?;
        }
        Ok(())
    }

    fn send(&mut self, received: &Received) -> Outgoing {
        let body = std::mem::replace(&mut self.body, Json::Null);
        Outgoing {
            rest: received.rest.clone(),
            query: self.query.write(),
            body: (body != Json::Null).then(|| json_body(&received.headers, body.write())),
            headers: HeaderMap::new(),
            to: None,
        }
    }

    fn stream(&self, exchange: &Exchange, _: &Head) -> Option<Hold<Events>> {
        Some(self.events(exchange))
    }

    fn read(&self, answer: Json) -> Result<Json, &'static str> {
        Ok(answer)
    }

    async fn finish(&self, exchange: &Exchange, answer: Option<Json>, head: Head) -> Opened<Hold<Events>> {
        let route = &exchange.route;
        let answer = match answer {
            None => {
                route.count("relayed");
                let mut answer = refusal(head.status, "");
                answer.body = String::new();
                return Opened::Whole(answer);
            }
            Some(Json::Array(items)) if self.op == Op::Events && head.status.is_success() => {
                let given = items.iter().map(|item| Event::of(item.write())).collect();
                let (shown, _) = judge_list(self.events(exchange), given).await;
                route.count("relayed");
                return Opened::Whole(list(&shown));
            }
            Some(answer) => answer,
        };
        let id = self.id.clone().or_else(|| shapes::id_of(&answer));
        let denied_before = id.as_deref().and_then(|id| route.judged.denied(id));
        if let (Some(denial), Op::Status | Op::Show) = (denied_before, self.op) {
            return self.stopped(route, &denial);
        }
        let question = |view| shapes::answer_question(route, id.as_deref(), vec![view]);
        let carried = |step| shapes::carried_answers(step)?.pop();
        let scope = shapes::scope(id.as_deref());
        Opened::Whole(
            match route.judge_view(scope.as_deref(), answer, question, carried).await {
                Ok(became) => {
                    route.count("relayed");
                    Answer::json(head.status, became.write())
                }
                Err(denial) => {
                    let received = &exchange.received;
                    stop(route, received, id.as_deref(), &denial, |id| {
                        shapes::cancelling(received, id)
                    });
                    self.with_in_band(route, denied(&denial), &denial)
                }
            },
        )
    }

    fn refused(&self, route: &Route, denial: &Denial) -> Opened<Hold<Events>> {
        Opened::Whole(self.with_in_band(route, denied(denial), denial))
    }

    fn fault(&self, route: &Route, status: StatusCode, message: &str) -> Opened<Hold<Events>> {
        let denial = Denial::undecided(Stage::Response, "fault", message);
        Opened::Whole(self.with_in_band(route, refusal(status, message), &denial))
    }
}

fn list(events: &[Event]) -> Answer {
    let data: Vec<&str> = events.iter().map(|event| event.data.as_str()).collect();
    Answer::json(StatusCode::OK, format!("[{}]", data.join(",")))
}
