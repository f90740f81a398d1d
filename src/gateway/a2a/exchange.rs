//! A call of A2A on its way through the gateway.

use std::sync::Arc;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, StatusCode};

use super::call::{Binding, Call};
use super::events::{Events, scope, texts};
use super::methods::Op;
use super::views::{each_task, has_tasks, overlaid};
use super::{answers, card, webhooks};
use crate::gateway::answer::{Answer, carried_by};
use crate::gateway::cancel_upstream::stop;
use crate::gateway::denial::{Denial, Stage};
use crate::gateway::exchange::{Exchange, Head, Outgoing, Protocol, UNASKED_STREAM};
use crate::gateway::hold::Hold;
use crate::gateway::json::Json;
use crate::gateway::judged_units::CallerWords;
use crate::gateway::receive::Received;
use crate::gateway::route::Route;
use crate::gateway::slow_answer::{Awaited, Opened};
use crate::gateway::sse::Event;
use crate::gateway::upstream::json_body;

impl Protocol for Call {
    type Events = Hold<Events>;

    fn awaited(&self, route: &Arc<Route>) -> Awaited {
        let (route, call) = (Arc::clone(route), self.head());
        if self.op.streams() {
            Awaited::Events(Box::new(move |answer| vec![late_event(&call, answer)]))
        } else {
            Awaited::Whole(Box::new(move || {
                answers::fault(&route, &call, StatusCode::BAD_GATEWAY, UNASKED_STREAM)
            }))
        }
    }

    fn task(&self) -> Option<&str> {
        self.task.as_deref()
    }

    fn follows(&self) -> bool {
        self.op == Op::Subscribe
    }

    fn tasks_in<'a>(&self, answer: &'a Json) -> Vec<&'a str> {
        let listed = self.result(answer).and_then(|result| result.get("tasks"));
        let listed = listed.map(Json::items).unwrap_or_default();
        let all = listed.iter().chain([self.inner(answer)]);
        all.filter_map(|task| task.str_of("id").or(task.str_of("taskId")))
            .collect()
    }

    fn known(&self, exchange: &Exchange) -> Option<Opened<Hold<Events>>> {
        answers::of_rejected(&exchange.route, self).map(Opened::Whole)
    }

    /// Judges a call, and puts webhooks behind the gateway.
    async fn admit(&mut self, exchange: &Exchange) -> Result<(), Denial> {
        let route = &exchange.route;
        let owner = webhooks::owner(route, &exchange.received);
        webhooks::check(route, self)?;
        webhooks::hide_trusted(route, self, owner)?;
        if let Some(step) = exchange.route.verdicts.ask(&self.question(route), self.depth()).await? {
            self.take_modified(step)
                .ok_or_else(|| Denial::unmodifiable(Stage::Request))?;
        }
        webhooks::hide(route, self, owner)
    }

    fn send(&mut self, received: &Received) -> Outgoing {
        let body = self.body().map(|body| json_body(&received.headers, body));
        self.words = self.params.get("message").map(CallerWords::of).unwrap_or_default();
        self.params = Json::Null;
        Outgoing {
            rest: self.rest.clone(),
            query: self.query.write(),
            body,
            headers: HeaderMap::new(),
            to: None,
        }
    }

    fn stream(&self, exchange: &Exchange, _: &Head) -> Option<Hold<Events>> {
        let received = Arc::clone(&exchange.received);
        let events = Events::new(Arc::clone(&exchange.route), self, received);
        Some(Hold::new(&exchange.route, events))
    }

    fn read(&self, answer: Json) -> Result<Json, &'static str> {
        match &self.binding {
            Binding::Rpc { id, .. } => carried_by(answer, id),
            Binding::Rest if answer.is_object() || answer == Json::Null => Ok(answer),
            Binding::Rest => Err("an answer that is not one of A2A"),
        }
    }

    async fn finish(&self, exchange: &Exchange, answer: Option<Json>, head: Head) -> Opened<Hold<Events>> {
        Opened::Whole(match answer {
            Some(answer) => finish(self, exchange, answer, head).await,
            None if self.binding == Binding::Rest || !head.status.is_success() => {
                let mut answer = Answer::json(head.status, String::new());
                *answer.headers = head.headers;
                answer
            }
            None => {
                let message = "the agent behind the gateway gave no answer";
                answers::fault(&exchange.route, self, StatusCode::BAD_GATEWAY, message)
            }
        })
    }

    /// Tells a caller that follows a stopped task so in the form of an event.
    fn refused(&self, route: &Route, denial: &Denial) -> Opened<Hold<Events>> {
        let mut answer = answers::denied(route, self, denial);
        let told_as_event = self.op.streams() && (self.binding != Binding::Rest || answer.status.is_success());
        if told_as_event {
            let event = Event::of(answer.body.clone());
            answer.in_band = Some(answer.body);
            answer.body = String::from_utf8_lossy(&event.to_bytes()).into_owned();
            let kind = HeaderValue::from_static("text/event-stream; charset=utf-8");
            answer.headers.insert(CONTENT_TYPE, kind);
        }
        Opened::Whole(answer)
    }

    fn fault(&self, route: &Route, status: StatusCode, message: &str) -> Opened<Hold<Events>> {
        Opened::Whole(answers::fault(route, self, status, message))
    }
}

fn late_event(call: &Call, answer: Answer) -> Event {
    match &call.binding {
        Binding::Rpc { .. } => Event::of(answer.late_body()),
        Binding::Rest if answer.status.is_success() => Event::of(answer.late_body()),
        Binding::Rest => {
            let error = serde_json::from_str::<serde_json::Value>(&answer.body).unwrap_or_default();
            let message = error.pointer("/error/message").and_then(|message| message.as_str());
            answers::fault_event(call, &(call.task.clone(), None), message.unwrap_or("the call failed"))
        }
    }
}

/// Judges an answer and puts it into its form.
async fn finish(call: &Call, exchange: &Exchange, answer: Json, head: Head) -> Answer {
    let Exchange { route, received } = exchange;
    let ids = call.ids(&answer);
    let scope = match call.op {
        Op::List | Op::Card => Some(format!("{:?}", call.op)),
        _ => scope(&ids),
    };
    exchange.allow_repetition(scope.as_deref().filter(|_| ids.0.is_some()), &call.words);
    let view = match overlaid(route, call, answer) {
        Ok(view) => view,
        Err(view) => {
            route.count("denied_response");
            return whole_answer(call, head, view);
        }
    };
    let judged = route
        .judge_view(
            scope.as_deref(),
            view.clone(),
            |view| call.answer_question(route, view),
            |step| call.carried_answer(step),
        )
        .await;
    let owner = webhooks::owner(route, received);
    match judged {
        Ok(mut became) => {
            route.count("relayed");
            if let Some(scope) = scope.as_deref().filter(|_| ids.0.is_some()) {
                for (artifact, text) in texts(call, &mut became) {
                    route.judged.go_on(scope, &artifact, text);
                }
            }
            webhooks::restore(route, call, &mut became, owner).await;
            if call.op == Op::Card {
                card::rewrite_answer(route, call, &mut became);
            }
            whole_answer(call, head, became)
        }
        Err(_) if call.op == Op::List && has_tasks(call, &view) => {
            route.count("denied_response");
            let view = each_task(route, call, view).await;
            whole_answer(call, head, view)
        }
        Err(denial) => {
            stop(route, received, ids.0.as_deref(), &denial, |task| call.cancelling(task));
            if call.op == Op::Get
                && let Err(view) = overlaid(route, call, view)
            {
                return whole_answer(call, head, view);
            }
            answers::denied(route, call, &denial)
        }
    }
}

fn whole_answer(call: &Call, head: Head, answer: Json) -> Answer {
    let mut whole = Answer::json(head.status, call.written(answer));
    whole.headers.extend::<HeaderMap>(head.headers);
    whole
}
