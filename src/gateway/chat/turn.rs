//! A turn: the answer to a request that was admitted, and the part of it that the agent gets.

use std::sync::Arc;

use http::Method;

use super::Api;
use super::forms::ToldSoFar;
use super::judging::{ConversationJudge, ItemVerdict};
use crate::gateway::answer::is_event_stream;
use crate::gateway::conversations::{Became, Stored, beginning, next};
use crate::gateway::denial::{Denial, Stage};
use crate::gateway::json::Json;
use crate::gateway::judged_units::Digest;
use crate::gateway::receive::Received;
use crate::gateway::upstream::{Forward, Room, ShownCredentials, json_body};
use crate::wire::chat::{self, ChatItem, RunBy};

/// Pieces of one answer that are judged.
const MAX_PIECES: usize = 256;
const TOO_MANY: &str = "The answer holds too many calls, so the last ones were stopped.";
/// The number of times that a model is asked again whose calls were all denied.
const ROUNDS: usize = 3;

/// The state that the answer to an admitted request goes on from.
#[derive(Clone)]
pub(super) struct Turn {
    pub(super) api: Api,
    pub(super) judge: ConversationJudge,
    /// The request; its place among the exchanges under way is held until the answer has ended.
    pub(super) received: Arc<Received>,
    /// The end of what was said so far.
    pub(super) end: Digest,
    /// The name under which a stored conversation goes on, if the request names one.
    pub(super) stored_as: Option<Digest>,
    pub(super) caller: Digest,
    /// True if the caller expects words in a form of its own: the replacement of a denied call is then a refusal.
    pub(super) structured: bool,
    /// The question to the model, if it may be asked again.
    pub(super) asked: Option<Arc<SentRequest>>,
}

/// A request as it went to the model, and the room that it takes.
pub(super) struct SentRequest {
    pub(super) request: Json,
    pub(super) _room: Room,
}

/// The answer that an agent gets.
pub(super) struct Settled {
    pub(super) answer: Json,
    /// The usage of answers after the first; `Null` if there are none.
    pub(super) used: Json,
}

/// Returns the name under which a stored answer or conversation is remembered.
pub(super) fn stored_name(caller: Digest, id: &str) -> Digest {
    beginning(&[&caller, b"stored", id.as_bytes()])
}

impl Turn {
    /// Has an answer judged, and remembers what the agent gets of it. If all calls were denied, and the configuration says so, the model is told and
    /// asked again.
    pub(super) async fn settle(&self, first: &Json, told: ToldSoFar) -> Settled {
        let judged = self.judge(first).await;
        let mut answer = first.clone();
        let stopped = self.api.apply(&mut answer, &judged, told, self.structured);
        let (route, mut used) = (&self.judge.route, Json::Null);
        route.count(if stopped { "denied_response" } else { "relayed" });
        let again = match &self.asked {
            Some(asked) if is_all_stopped(&judged) => self.ask_again(asked, first, &judged).await,
            Some(_) | None => None,
        };
        match again {
            Some((before, judged, further)) => {
                let mut next = before.clone();
                self.api.apply(&mut next, &judged, ToldSoFar::Nothing, self.structured);
                if let (Some(usage), Some(of_first)) = (next.get_mut("usage"), first.get("usage")) {
                    *usage = of_first.clone();
                    add(usage, &further);
                }
                used = further;
                answer = self.api.after_told(first, next, told);
                self.remember(&before, &judged, &answer);
            }
            None => self.remember(first, &judged, &answer),
        }
        Settled { answer, used }
    }

    /// Returns the answer of the model that was told which calls were denied, the result for each piece of it, and the usage of all answers after the
    /// first. `None` if it gives none.
    async fn ask_again(
        &self,
        asked: &SentRequest,
        first: &Json,
        judged: &[(ChatItem, ItemVerdict)],
    ) -> Option<(Json, Vec<(ChatItem, ItemVerdict)>, Json)> {
        let mut request = asked.request.clone();
        let mut used = Json::Null;
        let mut last = self.round(&mut request, first, judged, &mut used).await?;
        for _ in 1..ROUNDS {
            if !is_all_stopped(&last.1) {
                break;
            }
            match self.round(&mut request, &last.0, &last.1, &mut used).await {
                Some(next) => last = next,
                None => break,
            }
        }
        let (answer, judged) = last;
        Some((answer, judged, used))
    }

    async fn round(
        &self,
        request: &mut Json,
        answer: &Json,
        judged: &[(ChatItem, ItemVerdict)],
        used: &mut Json,
    ) -> Option<(Json, Vec<(ChatItem, ItemVerdict)>)> {
        self.api.tell_stopped(request, answer, judged)?;
        let next = self.ask(request).await?;
        if let Some(usage) = next.get("usage") {
            add(used, usage);
        }
        let judged = self.judge(&next).await;
        Some((next, judged))
    }

    /// Asks the model for a whole answer.
    async fn ask(&self, request: &Json) -> Option<Json> {
        let (route, received) = (&self.judge.route, &self.received);
        let upstream = route.upstream.as_ref()?;
        let query = received.query.only_identifiers().write();
        let forward = Forward {
            method: Method::POST,
            rest: &received.rest,
            query: query.as_deref(),
            headers: &[&received.transport.plain, &received.transport.judged],
            body: Some(json_body(&received.headers, request.write())),
            credentials: ShownCredentials::Gateway,
        };
        let mut response = upstream.send(forward).await.ok()?;
        if !response.status().is_success() || is_event_stream(response.headers()) {
            return None;
        }
        let body = upstream.read(&mut response, &route.room()).await.ok()?;
        route.parse(&body).ok().filter(|answer| self.api.is_answer(answer))
    }

    /// Returns the result for each piece of an answer.
    async fn judge(&self, answer: &Json) -> Vec<(ChatItem, ItemVerdict)> {
        let messages = chat::read_answer(answer).messages;
        let mut judged = Vec::new();
        for said in messages.into_iter().flat_map(|message| message.said) {
            let verdict = match judged.len() < MAX_PIECES {
                true => self.judge.verdict(&said, Stage::Response).await,
                false => ItemVerdict::Denied(Denial::undecided(Stage::Response, "oversized", TOO_MANY)),
            };
            // A call that ran where the model is has happened.
            let has_run = match &said {
                ChatItem::Words { .. } => false,
                ChatItem::Call(call) => call.run_by == RunBy::Provider,
                ChatItem::Result(_) => true,
            };
            judged.push((said, if has_run { ItemVerdict::Same } else { verdict }));
        }
        judged
    }

    /// Remembers an answer as the agent got it: it comes back with the next request. `before` is the answer that it was made of.
    fn remember(&self, before: &Json, judged: &[(ChatItem, ItemVerdict)], answer: &Json) {
        // If there are several answers, the agent goes on with one, which is judged with its next request.
        if answer.get("choices").is_some_and(|choices| choices.items().len() != 1) {
            return;
        }
        let conversations = &self.judge.route.conversations;
        let mut end = self.end;
        let messages = chat::read_answer(answer).messages;
        for said in messages.iter().flat_map(|message| &message.said) {
            end = next(end, said);
            conversations.remember(end, &self.judge.conversation, Became::Same);
        }
        if self.api != Api::Responses {
            return;
        }
        let (told, real) = (answer.str_of("id"), before.str_of("id"));
        let stored = Stored {
            conversation: Arc::clone(&self.judge.conversation),
            end,
            results: self.api.results_of_stopped(before, judged).into(),
            known_there_as: real.filter(|_| real != told).map(Arc::from),
        };
        let own = told.map(|id| stored_name(self.caller, id));
        for name in [own, self.stored_as].into_iter().flatten() {
            conversations.store(name, stored.clone());
        }
    }
}

/// Returns `true` if an answer holds calls, and all of them were denied by a verdict, and nothing else was.
fn is_all_stopped(judged: &[(ChatItem, ItemVerdict)]) -> bool {
    let mut calls = 0;
    let all = judged.iter().all(|(said, verdict)| match (said, verdict) {
        (ChatItem::Call(call), ItemVerdict::Denied(denial)) if call.run_by == RunBy::Agent => {
            calls += 1;
            !denial.decision_id.is_empty()
        }
        (ChatItem::Call(call), _) if call.run_by == RunBy::Agent => false,
        (_, verdict) => *verdict == ItemVerdict::Same,
    });
    all && calls > 0
}

/// Adds up usage, number by number.
pub(super) fn add(sum: &mut Json, more: &Json) {
    match (&mut *sum, more) {
        (Json::Null, more) => *sum = more.clone(),
        (Json::Number(digits), Json::Number(further)) => {
            if let (Ok(one), Ok(other)) = (digits.parse::<u64>(), further.parse::<u64>()) {
                *digits = one.saturating_add(other).to_string().into();
            }
        }
        (Json::Object(_), Json::Object(members)) => {
            for (name, value) in members {
                match sum.get_mut(name) {
                    Some(known) => add(known, value),
                    None => sum.set(name, value.clone()),
                }
            }
        }
        (_, _) => {}
    }
}
