//! A call of AgentVault on its way through the gateway.

use std::sync::Arc;

use http::{HeaderMap, StatusCode};

use super::events::Events;
use super::shapes::{self, Op};
use super::tools;
use crate::gateway::answer::{Answer, RpcRequest, carried_by, in_envelope, rpc_error};
use crate::gateway::cancel_upstream::stop;
use crate::gateway::denial::{Denial, Stage};
use crate::gateway::exchange::{Exchange, Head, Outgoing, Protocol, UNASKED_STREAM};
use crate::gateway::hold::Hold;
use crate::gateway::json::{Json, object};
use crate::gateway::judged_units::{CallerWords, is_bare};
use crate::gateway::receive::Received;
use crate::gateway::route::Route;
use crate::gateway::slow_answer::{Awaited, Opened};
use crate::gateway::sse::Event;
use crate::gateway::upstream::json_body;
use crate::gateway::verdicts::Depth;

/// A caller's request.
pub(super) struct Call {
    op: Op,
    request: RpcRequest,
    /// The task that it is about.
    task: Option<String>,
    /// The caller's words in it, once it was sent on.
    words: CallerWords,
}

impl Call {
    pub(super) fn new(request: RpcRequest) -> Self {
        Self {
            op: Op::of(&request.name),
            task: request.params.str_of("id").map(str::to_owned),
            request,
            words: CallerWords::default(),
        }
    }

    fn depth(&self) -> Depth {
        let whole = object([("id", self.request.id.clone()), ("params", self.request.params.clone())]);
        match self.op {
            Op::Get | Op::Cancel | Op::Subscribe if is_bare(&whole) => Depth::Rules,
            Op::Get | Op::Cancel | Op::Subscribe | Op::Send | Op::Unknown => Depth::Whole,
        }
    }

    /// Puts an answer into the form that its caller waits for.
    fn told(&self, answer: Answer) -> Opened<Hold<Events>> {
        match self.op {
            Op::Subscribe => Opened::Last(as_events(&answer.late_body())),
            Op::Send | Op::Get | Op::Cancel | Op::Unknown => Opened::Whole(answer),
        }
    }

    fn written(&self, status: StatusCode, carried: Json) -> Answer {
        Answer::json(status, in_envelope(&self.request.id, carried).write())
    }
}

/// Makes an event of an error in place of a stream: clients see nothing of it unless it is an event.
fn as_events(body: &str) -> Vec<Event> {
    let error = serde_json::from_str::<serde_json::Value>(body).unwrap_or_default();
    let code = error.pointer("/error/code").and_then(serde_json::Value::as_i64);
    let message = error.pointer("/error/message").and_then(|message| message.as_str());
    let name = if code == Some(-32001) {
        "task_not_found"
    } else {
        "agent_error"
    };
    vec![shapes::error_event(
        name,
        message.unwrap_or("[guardian] the agent gave no stream"),
    )]
}

impl Protocol for Call {
    type Events = Hold<Events>;

    fn awaited(&self, _: &Arc<Route>) -> Awaited {
        match self.op {
            Op::Subscribe => Awaited::Events(Box::new(|answer| as_events(&answer.late_body()))),
            Op::Send | Op::Get | Op::Cancel | Op::Unknown => {
                let id = self.request.id.clone();
                Awaited::Whole(Box::new(move || {
                    shapes::fault(&id, StatusCode::BAD_GATEWAY, UNASKED_STREAM)
                }))
            }
        }
    }

    fn task(&self) -> Option<&str> {
        self.task.as_deref()
    }

    fn follows(&self) -> bool {
        self.op == Op::Subscribe
    }

    fn tasks_in<'a>(&self, answer: &'a Json) -> Vec<&'a str> {
        answer
            .at(&["result", "id"])
            .and_then(Json::as_str)
            .into_iter()
            .collect()
    }

    /// Judges a request: as a message, and each tool call in it as a call.
    async fn admit(&mut self, exchange: &Exchange) -> Result<(), Denial> {
        let route = &exchange.route;
        let params = &mut self.request.params;
        if let Some(webhook) = params.get("webhookUrl").filter(|url| **url != Json::Null) {
            // The published servers ignore it. It would be a way round the gateway.
            let why = webhook.as_str().map(|url| route.settings.callable.check(url));
            if !matches!(why, Some(Ok(_))) {
                let message = "The address for notifications cannot be used.";
                return Err(Denial::undecided(Stage::Request, "untrusted_destination", message));
            }
        }
        tools::judge(route, params).await?;
        let question = shapes::question(route, self.op, &self.request);
        if let Some(step) = exchange.route.verdicts.ask(&question, self.depth()).await? {
            let carried = shapes::carried_params(self.op, step);
            self.request.params = carried.ok_or_else(|| Denial::unmodifiable(Stage::Request))?;
        }
        // Notifications would not pass through the gateway.
        self.request.params.remove("webhookUrl");
        Ok(())
    }

    fn send(&mut self, received: &Received) -> Outgoing {
        let body = self.request.message().write();
        self.words = self
            .request
            .params
            .get("message")
            .map(CallerWords::of)
            .unwrap_or_default();
        self.request.params = Json::Null;
        Outgoing {
            rest: received.rest.clone(),
            query: None,
            body: Some(json_body(&received.headers, body)),
            headers: HeaderMap::new(),
            to: None,
        }
    }

    fn stream(&self, exchange: &Exchange, _: &Head) -> Option<Hold<Events>> {
        let events = || Events {
            route: Arc::clone(&exchange.route),
            id: self.request.id.clone(),
            received: Arc::clone(&exchange.received),
            task: self.task.clone(),
            asked: self.task.clone(),
        };
        (self.op == Op::Subscribe).then(|| Hold::new(&exchange.route, events()))
    }

    fn read(&self, answer: Json) -> Result<Json, &'static str> {
        carried_by(answer, &self.request.id)
    }

    async fn finish(&self, exchange: &Exchange, answer: Option<Json>, head: Head) -> Opened<Hold<Events>> {
        let route = &exchange.route;
        let Some(answer) = answer else {
            let message = "the agent behind the gateway gave no answer";
            return self.fault(route, StatusCode::BAD_GATEWAY, message);
        };
        let named = answer.at(&["result", "id"]).and_then(Json::as_str);
        let task = named.map(str::to_owned).or_else(|| self.task.clone());
        let scope = shapes::scope(task.as_deref());
        exchange.allow_repetition(scope.as_deref(), &self.words);
        // The agent may name the task that was asked for otherwise.
        let tasks = [task.as_deref(), self.task.as_deref()];
        let denied = tasks.into_iter().flatten().find_map(|task| route.judged.denied(task));
        if let (Op::Get, Some(denial)) = (self.op, denied) {
            return self.told(self.written(head.status, with_failed_task(answer, self.task.as_deref(), &denial)));
        }
        let question = |view| shapes::answer_question(route, self.op, &self.request.id, view);
        let carried = |step| shapes::carried_answer(self.op, &self.request.id, step);
        let judged = route
            .judge_view(scope.as_deref(), answer.clone(), question, carried)
            .await;
        self.told(match judged {
            Ok(became) => {
                route.count("relayed");
                self.written(head.status, became)
            }
            Err(denial) => {
                let received = &exchange.received;
                stop(route, received, task.as_deref(), &denial, |task| {
                    shapes::cancelling(received, task)
                });
                if self.op == Op::Get && answer.get("result").is_some() {
                    self.written(head.status, with_failed_task(answer, self.task.as_deref(), &denial))
                } else {
                    let error = rpc_error(&self.request.id, shapes::DENIED, &denial.text(), Some(denial.data()));
                    Answer::json(head.status, error.write())
                }
            }
        })
    }

    fn refused(&self, _: &Route, denial: &Denial) -> Opened<Hold<Events>> {
        match self.op {
            Op::Subscribe => Opened::Last(shapes::denied_events(self.task.as_deref(), denial)),
            Op::Send | Op::Get | Op::Cancel | Op::Unknown => Opened::Whole(shapes::denied(&self.request.id, denial)),
        }
    }

    fn fault(&self, _: &Route, status: StatusCode, message: &str) -> Opened<Hold<Events>> {
        Opened::Whole(shapes::fault(&self.request.id, status, message))
    }
}

fn with_failed_task(mut answer: Json, asked: Option<&str>, denial: &Denial) -> Json {
    if let Some(task) = answer.get_mut("result") {
        *task = shapes::failed_task(task, asked, denial);
    }
    answer
}
