//! Streams: words go on as they come, or are held; calls are held until all of the answer is judged.

use std::sync::Arc;

use http::StatusCode;

use super::Api;
use super::assembled::Assembled;
use super::event_effect::{EventEffect, ODD};
use super::forms::ToldSoFar;
use super::retold::Retold;
use super::turn::{Settled, Turn};
use crate::gateway::follow::Follow;
use crate::gateway::json::Json;
use crate::gateway::route::Route;
use crate::gateway::settings::StreamMode;
use crate::gateway::sse::Event;
use crate::gateway::upstream::Room;
use crate::wire::is_identifier;
use crate::work::unfolded_as_tree;

/// The stream that answers a request.
pub(super) struct Events {
    route: Arc<Route>,
    turn: Turn,
    assembled: Assembled,
    held: Vec<Event>,
    held_bytes: usize,
    /// The number of blocks that had been told when events began to be held; `None` while they go on.
    held_since: Option<usize>,
    /// True if the held events are no more than thoughts.
    frees: bool,
    /// The number of the last event that went on, if events have one.
    told_number: usize,
    /// Bytes of all events so far: the answer that they make together is no larger.
    taken: usize,
    room: Room,
    ended: bool,
}

impl Events {
    pub(super) fn new(route: Arc<Route>, turn: Turn) -> Self {
        let holds = route.settings.stream_mode == StreamMode::Hold;
        Self {
            assembled: Assembled::new(turn.api),
            held: Vec::new(),
            held_bytes: 0,
            held_since: holds.then_some(0),
            frees: false,
            told_number: 0,
            taken: 0,
            room: route.room(),
            ended: false,
            route,
            turn,
        }
    }
}

const DONE: &str = "[DONE]";
const TOO_LARGE: &str = "the model behind the gateway said more than may be held";
const BROKE_OFF: &str = "the answer of the model behind the gateway broke off";

impl Events {
    fn holds_all(&self) -> bool {
        self.route.settings.stream_mode == StreamMode::Hold
    }

    fn hold(&mut self, event: Event) {
        self.held_bytes += event.data.len() + event.name.len();
        self.held.push(event);
    }

    /// Leaves out words on the lines beside the data, which are not judged.
    fn keep_identifiers(&self, event: &mut Event) {
        event.id = event.id.take().filter(|id| is_identifier(id));
        if self.turn.api == Api::Completions && !is_identifier(&event.name) {
            event.name.clear();
        }
    }

    /// The event that tells of an error.
    fn error(&self, body: &Json) -> Event {
        match self.turn.api {
            Api::Completions => Event::of(body.write()),
            Api::Messages => Event::named("error", body.write()),
            Api::Responses => Event::named("error", super::retold::error_event(body, self.told_number + 1).write()),
        }
    }

    /// Judges the answer, and lets the held events go; or tells the rest of it anew, if it is another one now.
    async fn finish(&mut self) -> Result<Vec<Event>, Vec<Event>> {
        if !self.turn.api.is_answer(&self.assembled.answer) {
            return Err(self.broken(ODD));
        }
        self.ended = true;
        let held = std::mem::take(&mut self.held);
        let before = &self.assembled.answer;
        let told = match self.held_since {
            Some(blocks) if !self.holds_all() => ToldSoFar::Blocks(blocks),
            Some(_) | None => ToldSoFar::Nothing,
        };
        let Settled { answer, used } = self.turn.settle(before, told).await;
        if answer == *before {
            return Ok(held);
        }
        let retold = Retold {
            assembled: &self.assembled,
            answer: &answer,
            used: &used,
            held: &held,
            told: self.held_since.unwrap_or_default(),
            number: self.told_number,
        };
        Ok(retold.events(self.turn.api))
    }
}

/// Bytes of the events of one answer, in largest messages: events repeat what was said before.
const MAX_MESSAGES: usize = 4;

impl Follow for Events {
    async fn take(&mut self, mut event: Event, waiting: usize) -> Result<Vec<Event>, Vec<Event>> {
        if self.ended {
            return Ok(Vec::new());
        }
        self.keep_identifiers(&mut event);
        if event.data == DONE && self.turn.api == Api::Completions {
            self.hold(event);
            return self.release().await;
        }
        let bytes = unfolded_as_tree(event.data.as_bytes());
        self.taken += event.data.len();
        let room = self
            .room
            .take(self.held_bytes + self.assembled.answer.bytes() + bytes + waiting)
            .await;
        if let Err(fault) = room {
            return Err(self.broken(&fault.to_string()));
        }
        if self.taken > MAX_MESSAGES * self.route.settings.max_message_bytes {
            return Err(self.broken("the model behind the gateway sends without end"));
        }
        let value = match self.route.parse(event.data.as_bytes()) {
            Ok(value) if value.is_object() => value,
            Ok(_) | Err(_) => {
                return Err(self.broken("the model behind the gateway sent an event that is not a JSON object"));
            }
        };
        // Some clients go by the name of an event, some by the type in it.
        let named = self.turn.api != Api::Completions && !event.name.is_empty();
        if named && value.str_of("type") != Some(&event.name) {
            return Err(self.broken(ODD));
        }
        let blocks = self.assembled.blocks();
        let effect = match self.assembled.add(&value) {
            Ok(effect) => effect,
            Err(why) => return Err(self.broken(why)),
        };
        let is_call = value
            .at(&["item", "type"])
            .is_none_or(|kind| kind.as_str() != Some("reasoning"));
        match effect {
            EventEffect::Holds => {
                if self.held_since.is_none() {
                    (self.held_since, self.frees) = (Some(blocks), true);
                }
                self.frees &= !is_call;
            }
            EventEffect::Frees if self.frees && !self.holds_all() => {
                (self.held_since, self.frees, self.held_bytes) = (None, false, 0);
                let mut freed = std::mem::take(&mut self.held);
                freed.push(event);
                self.told_number = Retold::number_of(&value).unwrap_or(self.told_number);
                return Ok(freed);
            }
            EventEffect::Fails => {
                self.ended = true;
                self.route.count("fault");
                self.held.clear();
                let error = self.turn.api.error_of_model(&value, StatusCode::BAD_GATEWAY);
                return Err(vec![self.error(&error)]);
            }
            EventEffect::Drops => return Ok(Vec::new()),
            EventEffect::Says | EventEffect::Frees | EventEffect::Ends => {}
        }
        if effect == EventEffect::Ends {
            self.held_since = self.held_since.or(Some(blocks));
            self.hold(event);
            return self.finish().await;
        }
        if self.held_since.is_none() {
            self.assembled.tell();
            self.told_number = Retold::number_of(&value).unwrap_or(self.told_number);
            return Ok(vec![event]);
        }
        self.hold(event);
        if self.held_bytes > self.route.settings.max_message_bytes {
            return Err(self.broken(TOO_LARGE));
        }
        Ok(Vec::new())
    }

    async fn wait_for(&mut self, waiting: usize) -> Result<(), Vec<Event>> {
        let bytes = self.held_bytes + self.assembled.answer.bytes() + waiting;
        match self.room.take(bytes).await {
            Ok(()) => Ok(()),
            Err(fault) => Err(self.broken(&fault.to_string())),
        }
    }

    async fn release(&mut self) -> Result<Vec<Event>, Vec<Event>> {
        if self.ended {
            return Ok(Vec::new());
        }
        // Some end their streams without saying so.
        match self.turn.api == Api::Completions && self.assembled.is_whole() {
            true => self.finish().await,
            false => Err(self.broken(BROKE_OFF)),
        }
    }

    fn broken(&mut self, why: &str) -> Vec<Event> {
        self.held.clear();
        if std::mem::replace(&mut self.ended, true) {
            return Vec::new();
        }
        self.route.count("fault");
        let body = self.turn.api.error_data(&format!("[guardian] {why}"));
        vec![self.error(&body)]
    }
}
