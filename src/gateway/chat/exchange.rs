//! A call of an agent on its way to the model, and the answer on its way back.

use std::sync::Arc;

use http::header::AUTHORIZATION;
use http::{HeaderMap, StatusCode};

use super::events::Events;
use super::forms::ToldSoFar;
use super::judging::{ConversationJudge, ItemVerdict};
use super::turn::{SentRequest, Settled, Turn, stored_name};
use super::{Api, Op};
use crate::gateway::answer::Answer;
use crate::gateway::conversations::{Became, Conversation, JudgedBefore, Named, beginning, next};
use crate::gateway::denial::{Denial, Stage};
use crate::gateway::exchange::{Exchange, Head, Outgoing, Protocol};
use crate::gateway::json::Json;
use crate::gateway::judged_units::Digest;
use crate::gateway::receive::Received;
use crate::gateway::route::Route;
use crate::gateway::settings::OnDeny;
use crate::gateway::slow_answer::{Awaited, Opened};
use crate::gateway::upstream::json_body;
use crate::wire::chat::{self, ChatItem, RunBy, Speaker};
use crate::wire::is_identifier;

/// The header with which agents name a session.
const SESSION: &str = "x-guardian-session";

/// Pieces of one request that were not judged before, and are now.
const MAX_NEW: usize = 4_096;
const TOO_LONG: &str = "The conversation holds too much that was not judged before, so it was stopped.";

/// An agent's request.
pub(super) struct Call {
    api: Api,
    op: Op,
    /// `Null` if there is none.
    body: Json,
    /// The caller, as a hash of its key and of the session that it names.
    caller: Digest,
    session: Option<String>,
    /// The turn that the answer goes on from; `None` until the request is admitted.
    opened: Option<Turn>,
}

impl Call {
    pub(super) fn new(api: Api, op: Op, body: Json, received: &Received) -> Self {
        let header = |name: &str| {
            received
                .headers
                .get(name)
                .map(http::HeaderValue::as_bytes)
                .unwrap_or_default()
        };
        let named = received.headers.get(SESSION).and_then(|value| value.to_str().ok());
        let session = named.filter(|name| is_identifier(name)).map(str::to_owned);
        let shown = received.caller.unwrap_or_default();
        let own = session.as_deref().unwrap_or_default().as_bytes();
        let caller = beginning(&[
            &shown,
            header(AUTHORIZATION.as_str()),
            header("x-api-key"),
            header("api-key"),
            own,
        ]);
        // The name is the caller's: another caller's session of the same name is another one.
        let of_caller = |name: &str| {
            format!(
                "{name}-{}",
                u64::from_le_bytes(caller.first_chunk().copied().unwrap_or_default())
            )
        };
        let session = session.as_deref().map(of_caller);
        Self {
            api,
            op,
            body,
            caller,
            session,
            opened: None,
        }
    }

    /// Returns the name under which the conversation that is stored where the model is, if any, is remembered here.
    fn stored_before(&self) -> Option<Digest> {
        let conversation = self.body.get("conversation");
        let id = conversation.and_then(|named| named.as_str().or_else(|| named.str_of("id")));
        let id = id.or_else(|| self.body.str_of("previous_response_id"))?;
        Some(stored_name(self.caller, id))
    }

    /// Returns the name under which the conversation goes on, if it keeps one name.
    fn stored_as(&self) -> Option<Digest> {
        self.body.get("conversation").and_then(|_| self.stored_before())
    }

    /// Judges what is new in the request, and puts what was judged before into the form that it got.
    async fn admit_words(&mut self, exchange: &Exchange) -> Result<(), Denial> {
        let route = &exchange.route;
        let log = chat::read(&self.body);
        let stored = self.stored_before().and_then(|id| route.conversations.stored(id));
        let start = stored.as_ref().map_or(self.caller, |stored| stored.end);
        let all: Vec<&ChatItem> = log.messages.iter().flat_map(|message| &message.said).collect();
        let mut chain = Vec::with_capacity(all.len());
        for said in &all {
            chain.push(next(chain.last().copied().unwrap_or(start), said));
        }
        let named = if self.session.is_some() { Named::Yes } else { Named::No };
        let JudgedBefore { conversation, became } = route.conversations.known(&chain, named);
        let conversation = conversation.or_else(|| stored.as_ref().map(|stored| Arc::clone(&stored.conversation)));
        let own = || self.session.clone().unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
        let judge = ConversationJudge {
            route: Arc::clone(route),
            conversation: conversation.unwrap_or_else(|| Conversation::new(own())),
            instructions: log.instructions.as_str().into(),
            tools: log.tools.clone().into(),
        };
        if all.len().saturating_sub(became.len()) > MAX_NEW {
            return Err(Denial::undecided(Stage::Request, "oversized", TOO_LONG));
        }
        judge.admit_hosted(&log).await?;
        let mut became = became.into_iter();
        for (said, end) in all.into_iter().zip(&chain) {
            let became = match became.next() {
                Some(became) => became,
                None => {
                    let became = admit_one(&judge, said).await?;
                    route.conversations.remember(*end, &judge.conversation, became.clone());
                    became
                }
            };
            self.put(said, &became)?;
        }
        if let Some(stored) = &stored {
            self.api.answer_stopped_calls(&mut self.body, &stored.results);
            if let (Some(before), Some(id)) = (self.body.get_mut("previous_response_id"), &stored.known_there_as) {
                *before = id.as_ref().into();
            }
        }
        let asked = match route.settings.on_deny {
            OnDeny::Replace => None,
            OnDeny::Continue => Some(self.to_ask_again(route).await?),
        };
        self.opened = Some(Turn {
            api: self.api,
            judge,
            received: Arc::clone(&exchange.received),
            asked,
            end: chain.last().copied().unwrap_or(start),
            stored_as: self.stored_as(),
            caller: self.caller,
            structured: self.api.wants_structure(&self.body),
        });
        Ok(())
    }

    /// Returns the request, for a model that is asked for a whole answer after its calls were denied.
    async fn to_ask_again(&self, route: &Route) -> Result<Arc<SentRequest>, Denial> {
        let mut request = self.body.clone();
        request.remove("stream");
        request.remove("stream_options");
        let room = route.room();
        let taken = room.take(request.bytes()).await;
        taken.map_err(|fault| Denial::undecided(Stage::Request, "oversized", fault.to_string()))?;
        Ok(Arc::new(SentRequest { request, _room: room }))
    }

    /// Puts a piece into its place in the form that it got.
    fn put(&mut self, said: &ChatItem, became: &Became) -> Result<(), Denial> {
        let unmodifiable = || Denial::unmodifiable(Stage::Request);
        match (became, said) {
            (Became::Same, _) => Ok(()),
            (Became::Edited(params), _) => chat::write_back(&mut self.body, said, params).ok_or_else(unmodifiable),
            (Became::Denied(words), ChatItem::Result(result)) => self
                .api
                .replace_result(&mut self.body, result, words)
                .ok_or_else(unmodifiable),
            (Became::Denied(_), _) => Err(unmodifiable()),
        }
    }
}

/// Judges one item. One that a request may not have is refused, or replaced if the model expects a result. The agent's own words have happened: they
/// are judged for what comes after them.
async fn admit_one(judge: &ConversationJudge, said: &ChatItem) -> Result<Became, Denial> {
    let verdict = judge.verdict(said, Stage::Request).await;
    match (said, verdict) {
        (_, ItemVerdict::Same) => Ok(Became::Same),
        (ChatItem::Words { who: Speaker::User, .. }, ItemVerdict::Denied(denial)) => Err(denial),
        (ChatItem::Result(result), ItemVerdict::Denied(denial)) if result.run_by == RunBy::Agent => {
            // Without a verdict it may be asked again.
            match denial.decision_id.is_empty() {
                true => Err(denial),
                false => Ok(Became::Denied(denial.text().into())),
            }
        }
        (ChatItem::Words { who: Speaker::User, .. }, ItemVerdict::Edited(params)) => {
            Ok(Became::Edited(Arc::new(params)))
        }
        (ChatItem::Result(result), ItemVerdict::Edited(params)) if result.run_by == RunBy::Agent => {
            Ok(Became::Edited(Arc::new(params)))
        }
        (
            ChatItem::Words { .. } | ChatItem::Call(_) | ChatItem::Result(_),
            ItemVerdict::Edited(_) | ItemVerdict::Denied(_),
        ) => Ok(Became::Same),
    }
}

impl Protocol for Call {
    type Events = Events;

    fn awaited(&self, _: &Arc<Route>) -> Awaited {
        Awaited::Head
    }

    async fn admit(&mut self, exchange: &Exchange) -> Result<(), Denial> {
        match self.op {
            Op::Answer => self.admit_words(exchange).await,
            Op::Pass => Ok(()),
        }
    }

    fn send(&mut self, received: &Received) -> Outgoing {
        let body = std::mem::replace(&mut self.body, Json::Null);
        Outgoing {
            rest: received.rest.clone(),
            query: received.query.only_identifiers().write(),
            body: (body != Json::Null).then(|| json_body(&received.headers, body.write())),
            headers: HeaderMap::new(),
            to: None,
        }
    }

    fn stream(&self, exchange: &Exchange, _: &Head) -> Option<Events> {
        let turn = self.opened.clone()?;
        Some(Events::new(Arc::clone(&exchange.route), turn))
    }

    fn read(&self, answer: Json) -> Result<Json, &'static str> {
        Ok(answer)
    }

    async fn finish(&self, exchange: &Exchange, answer: Option<Json>, head: Head) -> Opened<Events> {
        let route = &exchange.route;
        let whole = |text: String| {
            let mut answer = Answer::json(head.status, text);
            answer.headers.extend(head.headers.clone());
            Opened::Whole(answer)
        };
        let Some(answer) = answer else {
            route.count("relayed");
            return whole(String::new());
        };
        if !head.status.is_success() {
            route.count("relayed");
            return whole(self.api.refusal_of_endpoint(&answer, head.status).write());
        }
        let Some(turn) = self.opened.as_ref() else {
            route.count("relayed");
            return whole(answer.write());
        };
        if !self.api.is_answer(&answer) {
            return self.fault(
                route,
                StatusCode::BAD_GATEWAY,
                "the model behind the gateway gave something that is no answer",
            );
        }
        let Settled { answer, .. } = turn.settle(&answer, ToldSoFar::Nothing).await;
        whole(answer.write())
    }

    fn refused(&self, _: &Route, denial: &Denial) -> Opened<Events> {
        Opened::Whole(self.api.denied(denial))
    }

    fn fault(&self, _: &Route, status: StatusCode, message: &str) -> Opened<Events> {
        Opened::Whole(self.api.error(status, message))
    }
}
