//! Assembled: the events of a stream so far, as the whole answer that they make together.

use std::collections::BTreeMap;

use super::Api;
use super::event_effect::{EventEffect, ODD, index_of};
use super::items::Items;
use crate::gateway::json::{Json, object};
use crate::wire::chat::{self, RunBy};

/// An answer in the making.
pub(super) struct Assembled {
    api: Api,
    /// `Null` until it begins.
    pub(super) answer: Json,
    /// The members that every event of Chat Completions repeats.
    pub(super) head: Json,
    /// Arguments of a call of Messages that are not whole.
    partial: String,
    /// True if a block of Messages was begun and not ended.
    open: bool,
    /// Items of Responses.
    items: Items,
    /// The length of the words of each choice of Chat Completions that the agent has been told.
    told: BTreeMap<usize, usize>,
}

/// Calls of a message, or blocks of an answer, at most.
const MAX_PIECES: usize = 1024;
/// Members of a message of Messages that its last event does not say.
const SAID_BEFORE: [&str; 5] = ["id", "type", "role", "model", "content"];

impl Assembled {
    pub(super) fn new(api: Api) -> Self {
        Self {
            api,
            answer: Json::Null,
            head: Json::Null,
            partial: String::new(),
            open: false,
            items: Items::default(),
            told: BTreeMap::new(),
        }
    }

    /// Takes an event.
    ///
    /// # Errors
    ///
    /// When it does not fit to those before it.
    pub(super) fn add(&mut self, event: &Json) -> Result<EventEffect, &'static str> {
        match self.api {
            Api::Completions => self.add_chunk(event),
            Api::Messages => self.add_block_event(event),
            Api::Responses => self.add_item_event(event),
        }
    }

    /// Blocks or items so far.
    pub(super) fn blocks(&self) -> usize {
        match self.api {
            Api::Completions => 0,
            Api::Messages => self.answer.get("content").map_or(0, |content| content.items().len()),
            Api::Responses => self.items.len(),
        }
    }

    /// Returns `true` if every choice has come to its end.
    pub(super) fn is_whole(&self) -> bool {
        let choices = self.answer.get("choices").map_or(&[][..], Json::items);
        !choices.is_empty() && choices.iter().all(|choice| choice.str_of("finish_reason").is_some())
    }

    /// Notes that the agent was told everything so far.
    pub(super) fn tell(&mut self) {
        let choices = self
            .answer
            .get("choices")
            .map_or(&[][..], Json::items)
            .iter()
            .enumerate();
        self.told = choices.map(|(at, choice)| (at, content(choice).len())).collect();
    }

    /// Returns the words of a choice that the agent has not been told.
    pub(super) fn untold<'c>(&self, at: usize, choice: &'c Json) -> &'c str {
        let told = self.told.get(&at).copied().unwrap_or_default();
        content(choice).get(told..).unwrap_or_default()
    }

    fn add_chunk(&mut self, chunk: &Json) -> Result<EventEffect, &'static str> {
        if chunk.get("error").is_some_and(|error| *error != Json::Null) {
            let says_more = chunk.get("choices").is_some_and(|choices| !choices.items().is_empty());
            return if says_more { Err(ODD) } else { Ok(EventEffect::Fails) };
        }
        if self.answer == Json::Null {
            let Json::Object(members) = chunk else { return Err(ODD) };
            let head = members
                .iter()
                .filter(|(name, _)| !matches!(name.as_str(), "choices" | "usage"));
            self.head = Json::Object(head.cloned().collect());
            self.answer = object([("choices", Json::Array(Vec::new()))]);
        }
        let mut effect = EventEffect::Says;
        for (place, choice) in chunk.get("choices").map_or(&[][..], Json::items).iter().enumerate() {
            let at = index_of(choice, "index")?.unwrap_or(place);
            // Members of whole answers, and of an older interface.
            if ["message", "text"]
                .iter()
                .any(|name| choice.get(name).is_some_and(|said| *said != Json::Null))
            {
                return Err(ODD);
            }
            let Some(Json::Array(choices)) = self.answer.get_mut("choices") else {
                return Err(ODD);
            };
            if at > choices.len() + 16 {
                return Err(ODD);
            }
            while choices.len() <= at {
                let empty = object([("message", Json::Object(Vec::new())), ("finish_reason", Json::Null)]);
                choices.push(empty);
            }
            let Some(whole) = choices.get_mut(at) else {
                return Err(ODD);
            };
            if let (Some(delta @ Json::Object(_)), Some(message)) = (choice.get("delta"), whole.get_mut("message")) {
                if !chat::has_content(delta) {
                    return Err(ODD);
                }
                merge(message, delta)?;
                let acts = |name| {
                    delta
                        .get(name)
                        .is_some_and(|calls| *calls != Json::Null && *calls != Json::Array(Vec::new()))
                };
                if acts("tool_calls") || acts("function_call") {
                    effect = EventEffect::Holds;
                }
            }
            if let Some(reason @ Json::Text(_)) = choice.get("finish_reason") {
                whole.set("finish_reason", reason.clone());
                effect = EventEffect::Holds;
            }
        }
        Ok(effect)
    }

    fn add_block_event(&mut self, event: &Json) -> Result<EventEffect, &'static str> {
        let kind = event.str_of("type").unwrap_or_default();
        if kind == "message_start" {
            let message = event.get("message").filter(|message| message.is_object()).ok_or(ODD)?;
            let is_empty = message.get("content").is_none_or(|content| content.items().is_empty());
            if self.answer != Json::Null || !is_empty {
                return Err(ODD);
            }
            self.answer = message.clone();
            return Ok(EventEffect::Says);
        }
        let at = index_of(event, "index")?;
        let mut blocks = match self.answer.get_mut("content") {
            Some(Json::Array(blocks)) => Some(blocks),
            _ => None,
        };
        match kind {
            "error" => Ok(EventEffect::Fails),
            "content_block_start" => {
                let (blocks, block) = (blocks.ok_or(ODD)?, event.get("content_block").ok_or(ODD)?);
                if at != Some(blocks.len()) || self.open || blocks.len() >= MAX_PIECES {
                    return Err(ODD);
                }
                self.open = true;
                blocks.push(block.clone());
                self.partial.clear();
                let acts = block.str_of("type").and_then(chat::run_by) == Some(RunBy::Agent);
                Ok(if acts { EventEffect::Holds } else { EventEffect::Says })
            }
            "content_block_delta" => {
                let blocks = blocks.take().ok_or(ODD)?;
                let is_last = self.open && at.is_some_and(|at| at + 1 == blocks.len());
                let (block, delta) = (
                    blocks.last_mut().filter(|_| is_last).ok_or(ODD)?,
                    event.get("delta").ok_or(ODD)?,
                );
                let kind = block.str_of("type").unwrap_or_default();
                match (kind, delta.str_of("type").unwrap_or_default()) {
                    ("text", "text_delta") => append(block, delta, "text")?,
                    ("thinking", "thinking_delta") => append(block, delta, "thinking")?,
                    ("thinking", "signature_delta") => append(block, delta, "signature")?,
                    ("compaction", "compaction_delta") => append(block, delta, "content")?,
                    ("text", "citations_delta") => {}
                    // Some clients act on the input with which a call begins, some on its pieces.
                    (kind, "input_json_delta") if chat::run_by(kind).is_some() && begins_empty(block) => {
                        self.partial.push_str(delta.str_of("partial_json").ok_or(ODD)?);
                    }
                    (_, _) => return Err(ODD),
                }
                Ok(EventEffect::Says)
            }
            "content_block_stop" => {
                if !std::mem::take(&mut self.open) {
                    return Err(ODD);
                }
                let partial = std::mem::take(&mut self.partial);
                let block = blocks.and_then(|blocks| blocks.last_mut()).ok_or(ODD)?;
                if !partial.is_empty() {
                    let input = Json::parse(partial.as_bytes(), 128, 100_000);
                    block.set("input", input.unwrap_or(Json::Text(partial)));
                }
                Ok(EventEffect::Says)
            }
            "message_delta" => {
                if self.open {
                    return Err(ODD);
                }
                if let Some(Json::Object(members)) = event.get("delta") {
                    // The members that identify a message, and its content, were said before.
                    let members = members.iter().filter(|(name, _)| !SAID_BEFORE.contains(&name.as_str()));
                    members.for_each(|(name, value)| self.answer.set(name, value.clone()));
                }
                Ok(EventEffect::Holds)
            }
            "message_stop" if self.open => Err(ODD),
            "message_stop" => Ok(EventEffect::Ends),
            "ping" if matches!(event, Json::Object(members) if members.len() == 1) => Ok(EventEffect::Says),
            _ => Ok(EventEffect::Drops),
        }
    }

    fn add_item_event(&mut self, event: &Json) -> Result<EventEffect, &'static str> {
        match event.str_of("type").unwrap_or_default() {
            "error" => Ok(EventEffect::Fails),
            "response.completed" | "response.incomplete" | "response.failed" => {
                let response = event
                    .get("response")
                    .filter(|response| response.is_object())
                    .ok_or(ODD)?;
                let told = response.get("output").map_or(&[][..], Json::items);
                let output = self.items.output(told)?;
                self.answer = response.clone();
                self.answer.set("output", Json::Array(output));
                Ok(EventEffect::Ends)
            }
            _ => self.items.add(event),
        }
    }
}

fn content(choice: &Json) -> &str {
    choice
        .at(&["message", "content"])
        .and_then(Json::as_str)
        .unwrap_or_default()
}

fn append(block: &mut Json, delta: &Json, name: &str) -> Result<(), &'static str> {
    let more = match delta.get(name) {
        Some(Json::Text(more)) => more.as_str(),
        Some(Json::Null) | None => "",
        Some(_) => return Err(ODD),
    };
    match block.get_mut(name) {
        Some(Json::Text(text)) => text.push_str(more),
        Some(Json::Null) | None => block.set(name, more),
        Some(_) => return Err(ODD),
    }
    Ok(())
}

/// Whether a call has no input yet: its pieces follow.
fn begins_empty(block: &Json) -> bool {
    let input = block.get("input").unwrap_or(&Json::Null);
    *input == Json::Null || *input == Json::Object(Vec::new()) || input.as_str() == Some("")
}

/// Members that are said once; some repeat them.
const ONCE: [&str; 4] = ["id", "type", "role", "name"];

/// Adds a piece of a message of Chat Completions to what is there, as clients do: texts go on, elements of lists have an index.
fn merge(whole: &mut Json, delta: &Json) -> Result<(), &'static str> {
    let Json::Object(members) = delta else { return Err(ODD) };
    for (name, value) in members {
        match (whole.get_mut(name), value) {
            (_, Json::Null) => {}
            (Some(Json::Text(text)), Json::Text(more)) if ONCE.contains(&name.as_str()) => {
                if !more.is_empty() && text != more && !text.is_empty() {
                    return Err(ODD);
                }
                if text.is_empty() {
                    text.clone_from(more);
                }
            }
            (Some(Json::Text(text)), Json::Text(more)) => text.push_str(more),
            (Some(inner @ Json::Object(_)), Json::Object(_)) => merge(inner, value)?,
            (Some(Json::Array(items)), Json::Array(more)) => merge_items(items, more)?,
            (None | Some(Json::Null), Json::Array(more)) => {
                let mut items = Vec::new();
                merge_items(&mut items, more)?;
                whole.set(name, Json::Array(items));
            }
            (Some(Json::Text(_) | Json::Object(_) | Json::Array(_)), _) => return Err(ODD),
            (_, value) => whole.set(name, value.clone()),
        }
    }
    Ok(())
}

fn merge_items(items: &mut Vec<Json>, more: &[Json]) -> Result<(), &'static str> {
    for item in more {
        let begins = item.str_of("id").is_some_and(|id| !id.is_empty());
        if items.len() > MAX_PIECES {
            return Err(ODD);
        }
        let at = index_of(item, "index")?;
        let known = items.iter().position(|known| index_of(known, "index") == Ok(at));
        match (at, known) {
            // Without an index, what has an id begins.
            (Some(_), Some(known)) => merge(items.get_mut(known).ok_or(ODD)?, item)?,
            (None, _) if !begins && !items.is_empty() => merge(items.last_mut().ok_or(ODD)?, item)?,
            (_, _) => items.push(item.clone()),
        }
    }
    Ok(())
}
