//! The judging of a message on its way from the client to the server, or back. Every transport of MCP asks here.

use tokio::time::Instant;

use super::asking::Judge;
use super::lists;
use super::message::{Message, Sort, is_name};
use super::refusals::{self, Asked};
use super::structured::still_fits;
use crate::gateway::denial::{Denial, Stage};
use crate::gateway::json::Json;
use crate::gateway::verdicts::Depth;

/// The result of judging a message.
#[derive(Debug, Default)]
pub(super) struct Passed {
    /// The message that goes on to its receiver.
    pub(super) on: Option<Json>,
    /// The message that goes back to its sender.
    pub(super) back: Option<Json>,
    /// The reason why it does not go on as it is.
    pub(super) denied: Option<Denial>,
}

impl Passed {
    fn on(message: Json) -> Self {
        Self {
            on: Some(message),
            ..Self::default()
        }
    }
}

impl Judge<'_> {
    /// Has a message judged that the client sends. `asked` is the request that it is, as its transport knows the client.
    pub(super) async fn client_sends(&self, message: Message, asked: Option<&Asked>) -> Passed {
        match message.sort {
            Sort::Request => {
                let asked = asked.cloned().unwrap_or_else(|| Asked::of(&message));
                self.request_of_client(message, asked).await
            }
            Sort::Notification => self.notification(message, Stage::Request).await,
            Sort::Answer => self.answer_of_client(message).await,
        }
    }

    /// Has a message judged that the server sends. `asked` is the request that its transport ties an answer to.
    pub(super) async fn server_sends(&self, message: Message, asked: Option<&Asked>) -> Passed {
        match message.sort {
            Sort::Request => self.request_of_server(message).await,
            Sort::Notification => self.notification(message, Stage::Response).await,
            Sort::Answer => self.answer_of_server(message, asked).await,
        }
    }

    async fn request_of_client(&self, mut message: Message, asked: Asked) -> Passed {
        let denied = |denial: Denial| Passed {
            back: Some(asked.refusal(&denial)),
            denied: Some(denial),
            ..Passed::default()
        };
        let known = asked.task.as_deref().and_then(|task| self.session.denied_task(task));
        let is_known = asked.method != "tasks/cancel";
        if let Some(denial) = known.filter(|_| is_known).or_else(|| self.session.hidden(&message)) {
            return denied(denial);
        }
        let before = message.clone();
        if let Some(edited) = self.session.edit(&message)
            && let Some(params) = message.value.get_mut("params")
        {
            params.set("arguments", edited);
        }
        let depth = message.depth();
        let judging = self.ask(message, depth, Stage::Request);
        match asked.in_time(Stage::Request, judging).await {
            Ok(after) => {
                if after.value != before.value {
                    self.session.keep_edit(&before, &after);
                }
                self.session.ask(&asked);
                Passed::on(after.value)
            }
            Err(denial) => denied(denial),
        }
    }

    async fn request_of_server(&self, message: Message) -> Passed {
        let (method, id) = (message.method.clone(), message.id.clone());
        let depth = message.depth();
        match self.ask(message, depth, Stage::Response).await {
            Ok(message) => {
                self.session.ask_back(&message);
                Passed::on(message.value)
            }
            Err(denial) => Passed {
                back: Some(refusals::to_server(&method, &id, &denial)),
                denied: Some(denial),
                ..Passed::default()
            },
        }
    }

    async fn notification(&self, message: Message, stage: Stage) -> Passed {
        let task = message.param("taskId").and_then(Json::as_str);
        let known = task.filter(|_| stage == Stage::Response);
        if let Some(denial) = known.and_then(|task| self.session.denied_task(task)) {
            return nowhere(denial);
        }
        if stage == Stage::Response && message.method == "notifications/progress" {
            self.session.note_progress(&message);
        }
        let depth = message.depth();
        match self.ask(message, depth, stage).await {
            Ok(message) => Passed::on(message.value),
            Err(denial) => nowhere(denial),
        }
    }

    /// Answers of the client to requests of the server: what a user filled in, what a model said, which folders there are. The server gets
    /// an error in place of what was denied, because it waits.
    async fn answer_of_client(&self, message: Message) -> Passed {
        let id = message.id.clone();
        let method = self.session.take_asked_back(&id).unwrap_or_default();
        let depth = depth_of_answer(&message);
        match self.ask(message, depth, Stage::Request).await {
            Ok(message) => Passed::on(message.value),
            Err(denial) => Passed {
                on: Some(refusals::to_server(&method, &id, &denial)),
                denied: Some(denial),
                ..Passed::default()
            },
        }
    }

    async fn answer_of_server(&self, message: Message, asked: Option<&Asked>) -> Passed {
        let waiting = self.session.take_asked(&message.id);
        let nobody = Asked {
            id: message.id.clone(),
            method: String::new(),
            tool: None,
            task: None,
            token: None,
            typed: message.value.at(&["result", "resultType"]).is_some(),
            since: Instant::now(),
        };
        let mut asked = asked.cloned().or(waiting).unwrap_or(nobody);
        if asked.method.is_empty() {
            // Some clients take `"1"` for the answer to 1: it is judged by its form.
            lists::method_of(&message.value)
                .unwrap_or_default()
                .clone_into(&mut asked.method);
        }
        let task = task_of(&asked, &message);
        let judged = match task.as_deref().and_then(|task| self.session.denied_task(task)) {
            Some(denial) => Err(denial),
            None => {
                asked
                    .in_time(Stage::Response, self.judged_answer(message, &asked))
                    .await
            }
        };
        match judged {
            Ok(answer) => Passed::on(answer),
            Err(denial) => {
                if let Some(task) = task {
                    self.session.deny_task(&task, &denial);
                }
                Passed {
                    on: Some(asked.refusal(&denial)),
                    denied: Some(denial),
                    ..Passed::default()
                }
            }
        }
    }

    async fn judged_answer(&self, message: Message, asked: &Asked) -> Result<Json, Denial> {
        if let Some(list) = lists::list_of(&asked.method) {
            return lists::judged(self, list, message).await;
        }
        if matches!(asked.method.as_str(), "initialize" | "server/discover") {
            return self.greeting(message).await;
        }
        let before = message.value.at(&["result", "structuredContent"]).cloned();
        let depth = depth_of_answer(&message);
        let after = self.ask(message, depth, Stage::Response).await?.value;
        if let (Some(before), Some(now)) = (before, after.at(&["result", "structuredContent"])) {
            let schema = asked.tool.as_deref().and_then(|tool| self.session.schema(tool));
            if !still_fits(&before, now, schema.as_deref()) {
                return Err(Denial::unmodifiable(Stage::Response));
            }
        }
        Ok(after)
    }

    /// Judges the greeting of a server. It can be used without its instructions: where they are denied, they are left out.
    async fn greeting(&self, message: Message) -> Result<Json, Denial> {
        let mut bare = message.clone();
        let instructions = bare
            .value
            .get_mut("result")
            .and_then(|result| result.remove("instructions"));
        match self.ask(message, Depth::Whole, Stage::Response).await {
            Ok(message) => Ok(message.value),
            Err(denial) if instructions.is_some() => {
                tracing::warn!(
                    decision = denial.decision_id,
                    "the instructions of an MCP server were left out"
                );
                Ok(self.ask(bare, Depth::Whole, Stage::Response).await?.value)
            }
            Err(denial) => Err(denial),
        }
    }
}

fn nowhere(denial: Denial) -> Passed {
    Passed {
        denied: Some(denial),
        ..Passed::default()
    }
}

/// Checks what an answer says: one with an empty result says nothing.
fn depth_of_answer(message: &Message) -> Depth {
    match message.value.get("result") {
        Some(Json::Object(members)) if members.is_empty() && is_name(&message.id) => Depth::Rules,
        Some(_) | None => Depth::Whole,
    }
}

/// Returns the task to which an answer belongs.
fn task_of(asked: &Asked, message: &Message) -> Option<String> {
    let told = [&["result", "taskId"][..], &["result", "task", "taskId"]];
    let told = told
        .iter()
        .find_map(|path| message.value.at(path).and_then(Json::as_str));
    asked.task.as_deref().or(told).map(str::to_owned)
}
