//! Reads a message log.

use super::tools;
use super::{Call, ChatItem, Log, Message, Outcome, Part, RunBy, Speaker};
use crate::wire::{Json, Place, file};

/// Members under which a log holds another one, before and after its own messages.
const BEFORE: [&str; 2] = ["request", "body"];
const AFTER: &str = "response";
/// Members that hold the arguments of a function, and those of an item or block that calls: one of them is there.
pub(super) const FUNCTION_ARGUMENTS: [&str; 3] = ["arguments", "input", "args"];
pub(super) const CALL_ARGUMENTS: [&str; 7] = [
    "arguments",
    "input",
    "action",
    "actions",
    "operation",
    "code",
    "queries",
];
/// Levels and values of arguments that are written as a text.
const ARGUMENT_BOUNDS: (usize, usize) = (64, 20_000);

/// Reads a request, an answer, `{"request", "response"}`, one message, or a list of messages.
pub(crate) fn read(log: &Json) -> Log {
    let mut reader = Reader::default();
    reader.log(log, &Place::default(), 0);
    reader.log
}

/// Reads an answer of a model: all of it is the agent's, whatever roles it names.
pub(crate) fn read_answer(answer: &Json) -> Log {
    let mut reader = Reader {
        speaker: Assumed::Agent,
        ..Reader::default()
    };
    reader.log(answer, &Place::default(), 0);
    reader.log
}

/// The speaker that the words of a log are attributed to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Assumed {
    /// The one that the roles name.
    #[default]
    Named,
    /// The agent.
    Agent,
}

#[derive(Default)]
struct Reader {
    log: Log,
    speaker: Assumed,
    /// The reasoning of the model since its last call.
    reasoning: String,
}

impl Reader {
    fn log(&mut self, log: &Json, at: &Place, depth: usize) {
        if let Json::Array(messages) = log {
            self.messages(messages, at);
            return;
        }
        let nested = |name| log.get(name).filter(|inner| inner.is_object() && depth < 2);
        if let Some((name, request)) = BEFORE.iter().find_map(|name| Some((*name, nested(name)?))) {
            self.log(request, &at.name(name), depth + 1);
        }
        for name in ["system", "instructions"] {
            self.instruct(log.get(name));
        }
        self.log.tools.extend(tools::run_by_agent(log));
        self.log.hosted.extend(tools::hosted(log));
        if let Some(variables) = log.at(&["prompt", "variables"]).filter(|given| given.is_object()) {
            let at = at.name("prompt").name("variables");
            self.push(at.clone(), vec![attachment(variables, &at, Speaker::User)]);
        }
        for (name, who) in [
            ("messages", Speaker::User),
            ("input", Speaker::User),
            ("output", Speaker::Agent),
        ] {
            match log.get(name) {
                Some(Json::Array(messages)) => self.messages(messages, &at.name(name)),
                Some(text @ Json::Text(_)) => {
                    let part = Part {
                        place: at.name(name),
                        value: text.clone(),
                    };
                    self.push(at.name(name), vec![ChatItem::Words { who, parts: vec![part] }]);
                }
                Some(_) | None => {}
            }
        }
        for (index, choice) in log.get("choices").map_or(&[][..], Json::items).iter().enumerate() {
            if let Some(message) = choice.get("message") {
                let speaker = std::mem::replace(&mut self.speaker, Assumed::Agent);
                self.message(message, &at.name("choices").index(index).name("message"));
                self.speaker = speaker;
            }
        }
        if log.str_of("role").is_some() || (self.speaker == Assumed::Agent && log.get("content").is_some()) {
            self.message(log, at);
        }
        if let Some(response) = nested(AFTER) {
            self.log(response, &at.name(AFTER), depth + 1);
        }
    }

    fn messages(&mut self, messages: &[Json], at: &Place) {
        for (index, message) in messages.iter().enumerate() {
            self.message(message, &at.index(index));
        }
    }

    fn instruct(&mut self, said: Option<&Json>) {
        let said = said.map(text_of).unwrap_or_default();
        let instructions = &mut self.log.instructions;
        if !said.is_empty() {
            if !instructions.is_empty() {
                instructions.push('\n');
            }
            instructions.push_str(said.trim());
        }
    }

    /// Adds a message, also one without content: its place counts.
    fn push(&mut self, place: Place, said: Vec<ChatItem>) {
        self.log.messages.push(Message { place, said });
    }

    /// Reads one message, or one item of the Responses API.
    fn message(&mut self, one: &Json, at: &Place) {
        let kind = one.str_of("type").unwrap_or_default();
        // An object that is an item by its type is one, whatever else it holds.
        let has = |name: &str| one.get(name).is_some();
        let carries_calls = has("tool_calls") || has("function_call");
        let is_item = match run_by(kind) {
            Some(_) => {
                !carries_calls
                    && !one
                        .get("content")
                        .is_some_and(|content| matches!(content, Json::Array(_)))
            }
            None => (kind.ends_with("_output") || kind == "reasoning") && !carries_calls && !has("role"),
        };
        let speaks = ["role", "content", "tool_calls", "function_call"]
            .iter()
            .any(|name| one.get(name).is_some());
        let role = match self.speaker {
            Assumed::Named => one.str_of("role"),
            Assumed::Agent => Some("assistant").filter(|_| speaks),
        };
        let role = role.filter(|_| !is_item);
        let said = match role {
            Some("system" | "developer") => {
                self.instruct(one.get("content"));
                Vec::new()
            }
            Some("tool" | "function") => {
                let id = one.str_of("tool_call_id").or_else(|| one.str_of("name"));
                vec![result(one, at, id, "content", RunBy::Agent)]
            }
            Some("user") => self.blocks(one, at, Speaker::User),
            Some("assistant" | "model" | "agent") => {
                // In the dialects of others.
                self.think(one.str_of("reasoning_content").or_else(|| one.str_of("reasoning")));
                self.blocks(one, at, Speaker::Agent)
            }
            // Roles that no interface defines have no authority.
            Some(role) => vec![result(one, at, Some(role), "content", RunBy::Agent)],
            None if kind == "reasoning" => {
                let summary = one.get("summary").map(text_of).unwrap_or_default();
                self.think(Some(&summary));
                Vec::new()
            }
            None if kind == "item_reference" || kind == "mcp_approval_response" => Vec::new(),
            None => self.item(one, at, Speaker::User),
        };
        self.push(at.clone(), said);
    }

    fn think(&mut self, thought: Option<&str>) {
        if let Some(thought) = thought.filter(|thought| !thought.trim().is_empty()) {
            thought.clone_into(&mut self.reasoning);
        }
    }

    /// Reads the words of the user or the model, with the calls and results that stand in them.
    fn blocks(&mut self, one: &Json, at: &Place, who: Speaker) -> Vec<ChatItem> {
        let mut said = Vec::new();
        let content = at.name("content");
        match one.get("content") {
            Some(Json::Array(blocks)) => {
                for (index, block) in blocks.iter().enumerate() {
                    let place = content.index(index);
                    match text_at(block, &place) {
                        Some(part) => words(&mut said, who, part),
                        None => said.extend(self.item(block, &place, who)),
                    }
                }
            }
            Some(text @ Json::Text(_)) => words(
                &mut said,
                who,
                Part {
                    place: content,
                    value: text.clone(),
                },
            ),
            Some(Json::Null) | None => {}
            Some(other) => said.extend(self.item(other, &content, who)),
        }
        // The words of a sound stand beside it.
        for path in [&["refusal"][..], &["audio", "transcript"]] {
            if let Some(text @ Json::Text(_)) = one.at(path) {
                let place = path.iter().fold(at.clone(), |place, name| place.name(name));
                words(
                    &mut said,
                    who,
                    Part {
                        place,
                        value: text.clone(),
                    },
                );
            }
        }
        for (index, call) in one.get("tool_calls").map_or(&[][..], Json::items).iter().enumerate() {
            said.push(ChatItem::Call(self.function(call, &at.name("tool_calls").index(index))));
        }
        if let Some(call) = one.get("function_call").filter(|call| call.is_object()) {
            said.push(ChatItem::Call(self.function(call, &at.name("function_call"))));
        }
        self.reasoning.clear();
        said
    }

    /// Reads a call of Chat Completions, in its nested form or bare.
    fn function(&mut self, call: &Json, at: &Place) -> Call {
        let nested = ["function", "custom"]
            .into_iter()
            .find(|name| call.get(name).is_some_and(Json::is_object));
        let (function, inside) = match nested {
            Some(name) => (call.get(name).unwrap_or(call), at.name(name)),
            None => (call, at.clone()),
        };
        let name = function.str_of("name").or_else(|| function.str_of("function"));
        let (arguments, arguments_at) = member(function, &inside, &FUNCTION_ARGUMENTS);
        self.call(call.str_of("id"), name, arguments, (at, arguments_at), RunBy::Agent)
    }

    fn call(
        &mut self,
        id: Option<&str>,
        name: Option<&str>,
        arguments: &Json,
        (place, arguments_at): (&Place, Place),
        run_by: RunBy,
    ) -> Call {
        Call {
            place: place.clone(),
            id: id.unwrap_or_default().to_owned(),
            name: name.unwrap_or("unknown").to_owned(),
            arguments: parsed(arguments),
            arguments_at,
            reasoning: self.reasoning.clone(),
            run_by,
        }
    }

    /// Reads a block of a message, or an item beside messages. Its type says what it is: the interfaces name them alike.
    fn item(&mut self, one: &Json, at: &Place, who: Speaker) -> Vec<ChatItem> {
        let kind = one.str_of("type").unwrap_or_default();
        match kind {
            "thinking" => {
                self.think(one.str_of("thinking"));
                Vec::new()
            }
            // Images and sounds pass unread; thoughts that are encrypted cannot be read.
            "image" | "image_url" | "input_image" | "input_audio" | "audio" | "redacted_thinking" => Vec::new(),
            _ if kind.ends_with("tool_result") => {
                let run_by = if kind == "tool_result" {
                    RunBy::Agent
                } else {
                    RunBy::Provider
                };
                vec![result(one, at, one.str_of("tool_use_id"), "content", run_by)]
            }
            _ if kind.ends_with("_output") => vec![result(one, at, one.str_of("call_id"), "output", RunBy::Agent)],
            _ if *one == Json::Null => Vec::new(),
            _ => match run_by(kind) {
                Some(run_by) => self.item_call(one, at, run_by),
                None => vec![attachment(one, at, who)],
            },
        }
    }

    /// Reads a call; with its result, if it has run.
    fn item_call(&mut self, one: &Json, at: &Place, run_by: RunBy) -> Vec<ChatItem> {
        let (arguments, arguments_at) = member(one, at, &CALL_ARGUMENTS);
        let id = one.str_of("call_id").or_else(|| one.str_of("id"));
        let kind = one.str_of("type").unwrap_or_default();
        let name = one.str_of("name").unwrap_or(kind.trim_end_matches("_call"));
        let call = self.call(id, Some(name), arguments, (at, arguments_at), run_by);
        let given = ["output", "outputs", "results"]
            .into_iter()
            .find(|name| one.get(name).is_some_and(|given| *given != Json::Null));
        let given = given
            .filter(|_| run_by == RunBy::Provider)
            .map(|name| result(one, at, id, name, run_by));
        std::iter::once(ChatItem::Call(call)).chain(given).collect()
    }
}

/// Returns the party that runs what an item or block of this type calls; `None` if it is no call.
pub(crate) fn run_by(kind: &str) -> Option<RunBy> {
    match kind {
        "mcp_call"
        | "web_search_call"
        | "file_search_call"
        | "code_interpreter_call"
        | "image_generation_call"
        | "server_tool_use"
        | "mcp_tool_use" => Some(RunBy::Provider),
        "mcp_approval_request" => Some(RunBy::Agent),
        _ if kind.ends_with("_call") || kind.ends_with("tool_use") => Some(RunBy::Agent),
        _ => None,
    }
}

/// Reads a part of a message that is not words.
fn attachment(one: &Json, at: &Place, who: Speaker) -> ChatItem {
    let kind = one.str_of("type").filter(|kind| !kind.is_empty());
    ChatItem::Result(Outcome {
        place: at.clone(),
        id: kind.unwrap_or("attachment").to_owned(),
        content_at: at.clone(),
        parts: vec![Part {
            place: at.clone(),
            value: without_bytes(one),
        }],
        failed: false,
        run_by: if who == Speaker::User {
            RunBy::Agent
        } else {
            RunBy::Provider
        },
    })
}

/// Adds words to those that stand directly before them.
fn words(said: &mut Vec<ChatItem>, who: Speaker, part: Part) {
    if part.value.as_str().is_some_and(|text| text.trim().is_empty()) {
        return;
    }
    match said.last_mut() {
        Some(ChatItem::Words { who: before, parts }) if *before == who => parts.push(part),
        _ => said.push(ChatItem::Words { who, parts: vec![part] }),
    }
}

/// Returns the text of a block that is a text and nothing else.
fn text_at(block: &Json, at: &Place) -> Option<Part> {
    if let Json::Text(_) = block {
        return Some(Part {
            place: at.clone(),
            value: block.clone(),
        });
    }
    let name = match block.str_of("type") {
        Some("text" | "input_text" | "output_text") | None => ["text", "content"]
            .into_iter()
            .find(|name| block.str_of(name).is_some())?,
        Some("refusal") => "refusal",
        Some(_) => return None,
    };
    let value = block.get(name).filter(|value| value.as_str().is_some())?.clone();
    Some(Part {
        place: at.name(name),
        value,
    })
}

/// Reads the result that stands in this member of a message, item or block.
fn result(one: &Json, at: &Place, id: Option<&str>, name: &'static str, run_by: RunBy) -> ChatItem {
    let content_at = at.name(name);
    let content = one.get(name).unwrap_or(&Json::Null);
    let part = |value: &Json, place: Place| {
        text_at(value, &place).unwrap_or_else(|| Part {
            place,
            value: without_bytes(value),
        })
    };
    let parts = match content {
        Json::Null => Vec::new(),
        Json::Array(blocks) => {
            let blocks = blocks.iter().enumerate();
            blocks
                .map(|(index, block)| part(block, content_at.index(index)))
                .collect()
        }
        other => vec![part(other, content_at.clone())],
    };
    let status = one.str_of("status");
    ChatItem::Result(Outcome {
        place: at.clone(),
        id: id.unwrap_or("call").to_owned(),
        content_at,
        parts,
        failed: one.get("is_error").is_some_and(Json::is_true) || status == Some("failed"),
        run_by,
    })
}

/// Returns the first of these members that is there, and its place.
fn member<'v>(value: &'v Json, at: &Place, names: &[&'static str]) -> (&'v Json, Place) {
    let given = |name: &&str| value.get(name).filter(|given| **given != Json::Null);
    let found = names.iter().find_map(|name| Some((given(name)?, at.name(name))));
    found.unwrap_or((&Json::Null, at.clone()))
}

/// Parses a text that holds a JSON object; anything else stays as it is.
fn parsed(arguments: &Json) -> Json {
    let (depth, values) = ARGUMENT_BOUNDS;
    match arguments {
        Json::Text(text) if text.trim().is_empty() => Json::Null,
        Json::Text(text) => match Json::parse(text.as_bytes(), depth, values) {
            Ok(found @ (Json::Object(_) | Json::Array(_))) => found,
            // Some models write it twice as a text; some programs read it twice.
            Ok(Json::Text(inner)) => match Json::parse(inner.as_bytes(), depth, values) {
                Ok(found @ Json::Object(_)) => found,
                Ok(_) | Err(_) => arguments.clone(),
            },
            Ok(_) | Err(_) => arguments.clone(),
        },
        other => other.clone(),
    }
}

/// Returns data without the bytes of files that are no text and without encrypted contents.
pub(super) fn without_bytes(value: &Json) -> Json {
    match value {
        Json::Object(members) => {
            let is_text = value.str_of("type") == Some("text");
            let media_type = value.str_of("media_type").or_else(|| value.str_of("mime_type"));
            let is_bytes = |name: &str, member: &Json| {
                let holds_bytes = matches!(name, "data" | "file_data" | "encrypted_content" | "signature");
                let encoded = member.as_str().filter(|_| !is_text).and_then(|text| {
                    let inline = inline_file(text);
                    inline.or_else(|| (holds_bytes && is_base64(text)).then_some((media_type, text)))
                });
                encoded.is_some_and(|(media_type, text)| matches!(file::read(text, media_type), file::Reading::Opaque))
            };
            let kept = members.iter().filter(|(name, member)| !is_bytes(name, member));
            Json::Object(
                kept.map(|(name, member)| (name.clone(), without_bytes(member)))
                    .collect(),
            )
        }
        Json::Array(items) => Json::Array(items.iter().map(without_bytes).collect()),
        other => other.clone(),
    }
}

fn is_base64(text: &str) -> bool {
    let is_digit = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'+' | b'/' | b'-' | b'_' | b'=');
    text.len() > 64 && text.bytes().all(is_digit)
}

/// Returns the media type and the base64 of a `data:` URL.
fn inline_file(text: &str) -> Option<(Option<&str>, &str)> {
    let (kind, bytes) = text.strip_prefix("data:")?.split_once(";base64,")?;
    (kind.len() < 100 && !kind.contains(' ') && is_base64(bytes)).then_some((Some(kind), bytes))
}

/// Returns the texts of a content, in any of the forms that the interfaces have.
pub(crate) fn text_of(content: &Json) -> String {
    match content {
        Json::Text(text) => text.clone(),
        Json::Array(blocks) => {
            let texts: Vec<String> = blocks.iter().map(text_of).filter(|text| !text.is_empty()).collect();
            texts.join("\n")
        }
        Json::Object(_) => {
            let keys = ["text", "content", "refusal", "input_text", "output_text"];
            keys.iter()
                .find_map(|key| content.get(key))
                .map(text_of)
                .unwrap_or_default()
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => String::new(),
    }
}
