//! Retold: the rest of an answer that was changed, as the events of its interface.

use serde_json::json;

use super::Api;
use super::assembled::Assembled;
use super::turn::add;
use crate::gateway::json::{Json, object};
use crate::gateway::sse::Event;

/// The sources of the rest.
pub(super) struct Retold<'a> {
    /// The answer as it was, and the part of its words that was told.
    pub(super) assembled: &'a Assembled,
    /// The answer as it is now.
    pub(super) answer: &'a Json,
    /// The usage of answers after the first.
    pub(super) used: &'a Json,
    /// The events that were held.
    pub(super) held: &'a [Event],
    /// Blocks or items that were told.
    pub(super) told: usize,
    /// The number of the last event that was told.
    pub(super) number: usize,
}

impl Retold<'_> {
    pub(super) fn events(&self, api: Api) -> Vec<Event> {
        match api {
            Api::Completions => self.chunks(),
            Api::Messages => self.blocks(),
            Api::Responses => self.items(),
        }
    }

    /// Returns the number of an event of Responses.
    pub(super) fn number_of(event: &Json) -> Option<usize> {
        event.get("sequence_number")?.as_index()
    }

    /// Returns the held events with their content.
    fn held(&self) -> impl DoubleEndedIterator<Item = (&Event, Json)> {
        self.held.iter().map(|event| {
            let value = Json::parse(event.data.as_bytes(), 128, 100_000).unwrap_or(Json::Null);
            (event, value)
        })
    }

    /// Makes a held event with its present content, and all usage.
    fn with_usage(&self, event: &Event, mut value: Json) -> Event {
        if let Some(usage @ Json::Object(_)) = value.get_mut("usage") {
            add(usage, self.used);
        }
        let data = match value {
            Json::Null => event.data.clone(),
            value => value.write(),
        };
        Event { data, ..event.clone() }
    }

    fn chunk(&self, at: usize, delta: Json, finish: Json) -> Event {
        let mut chunk = self.assembled.head.clone();
        let choice = object([("index", count(at)), ("delta", delta), ("finish_reason", finish)]);
        chunk.set("choices", Json::Array(vec![choice]));
        Event::of(chunk.write())
    }

    fn chunks(&self) -> Vec<Event> {
        let mut events = Vec::new();
        for (at, choice) in self
            .answer
            .get("choices")
            .map_or(&[][..], Json::items)
            .iter()
            .enumerate()
        {
            let Some(message @ Json::Object(members)) = choice.get("message") else {
                continue;
            };
            let untold = self.assembled.untold(at, choice);
            let is_untold = content_of(choice) == untold;
            let mut delta = Json::Object(Vec::new());
            for (name, value) in members {
                match name.as_str() {
                    "content" if !untold.is_empty() => delta.set("content", untold),
                    "content" | "tool_calls" => {}
                    // Refusals are the guardian's, or were told with the words.
                    "refusal" => delta.set(name, value.clone()),
                    _ if is_untold => delta.set(name, value.clone()),
                    _ => {}
                }
            }
            if delta != Json::Object(Vec::new()) {
                events.push(self.chunk(at, delta, Json::Null));
            }
            let calls = message.get("tool_calls").map_or(&[][..], Json::items);
            for (number, call) in calls.iter().enumerate() {
                let mut call = call.clone();
                call.set("index", count(number));
                let delta = object([("tool_calls", Json::Array(vec![call]))]);
                events.push(self.chunk(at, delta, Json::Null));
            }
            let finish = choice.get("finish_reason").cloned().unwrap_or(Json::Null);
            events.push(self.chunk(at, Json::Object(Vec::new()), finish));
        }
        // The events about the whole: usage, and the end.
        let last = self.held().filter(|(event, value)| {
            let says_nothing = value.get("choices").is_some_and(|choices| choices.items().is_empty());
            says_nothing || event.data == "[DONE]"
        });
        events.extend(last.map(|(event, value)| self.with_usage(event, value)));
        events
    }

    fn blocks(&self) -> Vec<Event> {
        let begins = self.held().filter(|(event, _)| event.name == "message_start");
        let mut events: Vec<Event> = begins.map(|(event, _)| event.clone()).collect();
        let blocks = self.answer.get("content").map_or(&[][..], Json::items);
        for (at, block) in blocks.iter().enumerate().skip(self.told) {
            let (start, deltas) = taken_apart(block);
            let event = |kind: &str, name: &str, value: Option<Json>| {
                let mut data = object([("type", kind.into()), ("index", count(at))]);
                if let Some(value) = value {
                    data.set(name, value);
                }
                Event::named(kind, data.write())
            };
            events.push(event("content_block_start", "content_block", Some(start)));
            events.extend(
                deltas
                    .into_iter()
                    .map(|delta| event("content_block_delta", "delta", Some(delta))),
            );
            events.push(event("content_block_stop", "", None));
        }
        for (event, mut value) in self.held() {
            match event.name.as_str() {
                "message_delta" => {
                    if let (Some(delta), Some(reason)) = (value.get_mut("delta"), self.answer.get("stop_reason")) {
                        delta.set("stop_reason", reason.clone());
                    }
                    events.push(self.with_usage(event, value));
                }
                "message_stop" => events.push(event.clone()),
                _ => {}
            }
        }
        events
    }

    fn items(&self) -> Vec<Event> {
        let mut numbered = Numbered {
            next: self.number + 1,
            events: Vec::new(),
        };
        for (_, mut value) in self.held() {
            let kind = value.str_of("type").unwrap_or_default();
            if matches!(kind, "response.created" | "response.queued" | "response.in_progress") {
                numbered.next = Self::number_of(&value).unwrap_or(numbered.next);
                if let (Some(begun), Some(id)) = (value.get_mut("response"), self.answer.get("id")) {
                    begun.set("id", id.clone());
                }
                numbered.push(value);
            }
        }
        let items = self.answer.get("output").map_or(&[][..], Json::items);
        for (at, item) in items.iter().enumerate().skip(self.told) {
            numbered.item(at, item);
        }
        if let Some((_, mut last)) = self.held().next_back() {
            last.set("response", self.answer.clone());
            numbered.push(last);
        }
        numbered.events
    }
}

/// Events of Responses, each with its number.
struct Numbered {
    next: usize,
    events: Vec<Event>,
}

impl Numbered {
    fn push(&mut self, mut value: Json) {
        value.set("sequence_number", count(self.next));
        self.next += 1;
        let kind = value.str_of("type").unwrap_or_default().to_owned();
        self.events.push(Event::named(&kind, value.write()));
    }

    fn item(&mut self, at: usize, item: &Json) {
        let id = item.get("id").cloned().unwrap_or(Json::Null);
        let mut begun = item.clone();
        begun.set("status", "in_progress");
        let of_item = |kind: &str| {
            object([
                ("type", kind.into()),
                ("item_id", id.clone()),
                ("output_index", count(at)),
            ])
        };
        let of_whole =
            |kind: &str, item: Json| object([("type", kind.into()), ("output_index", count(at)), ("item", item)]);
        let (name, kind) = match item.str_of("type") {
            Some("function_call") => ("arguments", "function_call_arguments"),
            Some("custom_tool_call") => ("input", "custom_tool_call_input"),
            Some("message") => {
                begun.set("content", Json::Array(Vec::new()));
                self.push(of_whole("response.output_item.added", begun));
                let parts = item.get("content").map_or(&[][..], Json::items);
                for (index, part) in parts.iter().enumerate() {
                    self.part(&of_item, index, part);
                }
                self.push(of_whole("response.output_item.done", item.clone()));
                return;
            }
            Some(_) | None => ("", ""),
        };
        if let Some(text) = item.str_of(name) {
            begun.set(name, "");
            self.push(of_whole("response.output_item.added", begun));
            let mut delta = of_item(&format!("response.{kind}.delta"));
            delta.set("delta", text);
            self.push(delta);
            let mut done = of_item(&format!("response.{kind}.done"));
            done.set(name, text);
            self.push(done);
        } else {
            self.push(of_whole("response.output_item.added", begun));
        }
        self.push(of_whole("response.output_item.done", item.clone()));
    }

    fn part(&mut self, of_item: &impl Fn(&str) -> Json, index: usize, part: &Json) {
        let (name, kind) = match part.str_of("type") {
            Some("refusal") => ("refusal", "refusal"),
            Some(_) | None => ("text", "output_text"),
        };
        let text = part.str_of(name).unwrap_or_default();
        let mut push = |kind: String, name: &str, value: Json| {
            let mut event = of_item(&kind);
            event.set("content_index", count(index));
            event.set(name, value);
            if kind.starts_with("response.output_text") {
                event.set("logprobs", Json::Array(Vec::new()));
            }
            self.push(event);
        };
        let mut begun = part.clone();
        begun.set(name, "");
        push("response.content_part.added".to_owned(), "part", begun);
        push(format!("response.{kind}.delta"), "delta", text.into());
        push(format!("response.{kind}.done"), name, text.into());
        push("response.content_part.done".to_owned(), "part", part.clone());
    }
}

/// Makes an error as an event of Responses.
pub(super) fn error_event(body: &Json, number: usize) -> Json {
    let text = |name| body.at(&["error", name]).cloned().unwrap_or(Json::Null);
    object([
        ("type", "error".into()),
        ("code", text("code")),
        ("message", text("message")),
        ("param", Json::Null),
        ("sequence_number", count(number)),
    ])
}

/// Returns the beginning of a block of Messages, and the pieces that are added to it.
fn taken_apart(block: &Json) -> (Json, Vec<Json>) {
    let mut start = block.clone();
    let text = |name: &str| block.str_of(name).unwrap_or_default().to_owned();
    let deltas = match block.str_of("type") {
        Some("text") => {
            start.set("text", "");
            vec![json!({"type": "text_delta", "text": text("text")})]
        }
        Some("thinking") => {
            start.set("thinking", "");
            start.set("signature", "");
            vec![
                json!({"type": "thinking_delta", "thinking": text("thinking")}),
                json!({"type": "signature_delta", "signature": text("signature")}),
            ]
        }
        Some("tool_use" | "server_tool_use" | "mcp_tool_use") => {
            start.set("input", Json::Object(Vec::new()));
            let input = block.get("input").map(|input| match input {
                // Arguments that were cut are no JSON.
                Json::Text(cut) => cut.clone(),
                input => input.write(),
            });
            vec![json!({"type": "input_json_delta", "partial_json": input.unwrap_or_default()})]
        }
        Some(_) | None => Vec::new(),
    };
    (start, deltas.into_iter().map(Json::from).collect())
}

fn content_of(choice: &Json) -> &str {
    choice
        .at(&["message", "content"])
        .and_then(Json::as_str)
        .unwrap_or_default()
}

fn count(number: usize) -> Json {
    Json::Number(number.to_string().into())
}
