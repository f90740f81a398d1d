//! The forms of each interface: errors, refusals, and the replacements of what was denied.

use http::{HeaderValue, StatusCode};
use serde_json::json;

use super::Api;
use super::judging::ItemVerdict;
use crate::gateway::answer::Answer;
use crate::gateway::denial::{Denial, Stage};
use crate::gateway::json::{Json, object};
use crate::wire::chat::{self, ChatItem, Outcome, RunBy};
use crate::wire::{Place, is_identifier};

/// The part of an answer that the agent has been told already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ToldSoFar {
    /// Nothing.
    Nothing,
    /// Its first blocks, of Chat Completions words: they can only be added to.
    Blocks(usize),
}

/// Stands in the place of what a model says of its errors.
const MODEL_FAILED: &str = "[guardian] the model behind the gateway answered with an error; its words are left out";

/// The longest words of an endpoint's error that go on, in bytes.
const MAX_ERROR_WORDS: usize = 512;

/// Stands in an answer for a call that was taken out, until words do. No interface has such a value there.
const STOPPED: Json = Json::Bool(false);

impl ToldSoFar {
    /// Returns `true` if the element at this place has been told.
    fn includes(self, api: Api, place: &Place) -> bool {
        match (self, api) {
            (ToldSoFar::Nothing, _) => false,
            (ToldSoFar::Blocks(_), Api::Completions) => true,
            (ToldSoFar::Blocks(told), Api::Messages | Api::Responses) => {
                place.first_index().is_some_and(|at| at < told)
            }
        }
    }
}

impl Api {
    /// Makes an error that is none of the model's. Clients do not send the request again.
    pub(super) fn error(self, status: StatusCode, message: &str) -> Answer {
        self.failed(status, &format!("[guardian] {message}"), None)
    }

    /// Refuses a request.
    pub(super) fn denied(self, denial: &Denial) -> Answer {
        self.failed(StatusCode::FORBIDDEN, &denial.text(), Some(denial))
    }

    fn failed(self, status: StatusCode, message: &str, denial: Option<&Denial>) -> Answer {
        let mut answer = Answer::json(status, self.error_body(message, denial, status).write());
        // After too many requests, or one that came too slowly, the next one may be taken.
        let may_retry = matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT);
        if status.is_client_error() && !may_retry {
            answer
                .headers
                .insert("x-should-retry", HeaderValue::from_static("false"));
        }
        answer
    }

    /// Returns the data of an event that tells of an error.
    pub(super) fn error_data(self, message: &str) -> Json {
        self.error_body(message, None, StatusCode::BAD_GATEWAY)
    }

    /// Returns the error that an endpoint answers in place of an answer. Programs act on its words (a prompt that is too long), so they go on if
    /// they are short: they are the endpoint's, which the operator chose, and no model's.
    pub(super) fn refusal_of_endpoint(self, told: &Json, status: StatusCode) -> Json {
        let mut body = self.error_of_model(told, status);
        let own = told.get("error").filter(|error| error.is_object()).unwrap_or(told);
        let words = own.str_of("message").filter(|words| words.len() <= MAX_ERROR_WORDS);
        if let (Some(words), Some(error)) = (words, body.get_mut("error")) {
            error.set("message", words);
        }
        body
    }

    /// Returns an error of the model: its kind, without the words that came with it and that no judge saw.
    pub(super) fn error_of_model(self, told: &Json, status: StatusCode) -> Json {
        const IDENTIFIERS: [&str; 3] = ["type", "code", "param"];
        let mut body = self.error_body(MODEL_FAILED, None, status);
        let own = told.get("error").filter(|error| error.is_object()).unwrap_or(told);
        if let Some(error) = body.get_mut("error") {
            for name in IDENTIFIERS {
                match own.get(name) {
                    Some(Json::Text(text)) if is_identifier(text) => error.set(name, text.as_str()),
                    Some(Json::Number(digits)) if digits.len() <= 10 => error.set(name, Json::Number(digits.clone())),
                    Some(Json::Null) => error.set(name, Json::Null),
                    Some(_) | None => {}
                }
            }
        }
        body
    }

    fn error_body(self, message: &str, denial: Option<&Denial>, status: StatusCode) -> Json {
        let is_callers = status.is_client_error();
        let kind = match (self, denial) {
            (Api::Messages, Some(_)) => "permission_error",
            (Api::Messages, None) if is_callers => "invalid_request_error",
            (Api::Messages, None) => "api_error",
            (Api::Completions | Api::Responses, Some(_)) => "policy_violation",
            (Api::Completions | Api::Responses, None) if is_callers => "invalid_request_error",
            (Api::Completions | Api::Responses, None) => "server_error",
        };
        let code = if denial.is_some() {
            "guardian_denied"
        } else {
            "guardian_error"
        };
        let mut body = match self {
            Api::Messages => json!({"type": "error", "error": {"type": kind, "message": message}}),
            Api::Completions | Api::Responses => {
                json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
            }
        };
        if let (Some(denial), Some(body)) = (denial, body.as_object_mut()) {
            body.extend(denial.data().as_object().cloned().unwrap_or_default());
        }
        body.into()
    }

    /// Returns `true` for an answer of the model that all clients read alike.
    pub(super) fn is_answer(self, answer: &Json) -> bool {
        let list = match self {
            Api::Completions => "choices",
            Api::Responses => "output",
            Api::Messages => "content",
        };
        matches!(answer.get(list), Some(Json::Array(_))) && chat::is_plain(answer)
    }

    /// Returns `true` if a request asks for words in a form of the caller's.
    pub(super) fn wants_structure(self, request: &Json) -> bool {
        let format = match self {
            Api::Completions => request.get("response_format"),
            Api::Responses => request.at(&["text", "format"]),
            Api::Messages => request
                .get("output_format")
                .or_else(|| request.at(&["output_config", "format"])),
        };
        let kind = format.and_then(|format| format.str_of("type"));
        kind.is_some_and(|kind| kind != "text")
    }

    /// Replaces the result of a tool by words. A call without a result is an error everywhere.
    pub(super) fn replace_result(self, request: &mut Json, result: &Outcome, words: &str) -> Option<()> {
        if result.content_at == result.place {
            let kind = if self == Api::Responses { "input_text" } else { "text" };
            *request.at_place_mut(&result.place)? = object([("type", kind.into()), ("text", words.into())]);
            return Some(());
        }
        *request.at_place_mut(&result.content_at)? = words.into();
        if self == Api::Messages {
            request.at_place_mut(&result.place)?.set("is_error", Json::Bool(true));
        }
        Some(())
    }

    /// Puts what was judged into an answer; returns `true` if something was stopped. A denied call becomes words.
    pub(super) fn apply(
        self,
        answer: &mut Json,
        judged: &[(ChatItem, ItemVerdict)],
        told: ToldSoFar,
        structured: bool,
    ) -> bool {
        let (mut calls, mut further, mut stopped) = (Vec::new(), Vec::new(), false);
        if judged.iter().any(|(_, verdict)| *verdict != ItemVerdict::Same) {
            remove_tokens(answer);
        }
        for (said, verdict) in judged {
            let is_told =
                matches!(said, ChatItem::Words { .. }) && said.place().is_some_and(|at| told.includes(self, at));
            let denial = match verdict {
                ItemVerdict::Same => continue,
                ItemVerdict::Edited(params) if !is_told && chat::write_back(answer, said, params).is_some() => continue,
                ItemVerdict::Edited(_) => Denial::unmodifiable(Stage::Response),
                ItemVerdict::Denied(denial) => denial.clone(),
            };
            stopped = true;
            match said {
                ChatItem::Call(call) => {
                    if let Some(place) = answer.at_place_mut(&call.place) {
                        *place = STOPPED;
                        calls.push(denial.text());
                    }
                }
                ChatItem::Words { .. } if is_told && self != Api::Completions => further.push(denial.text()),
                ChatItem::Words { parts, .. } => {
                    for (index, part) in parts.iter().enumerate() {
                        let words = match (is_told, index) {
                            (true, _) => format!("{}\n\n{}", part.value.as_str().unwrap_or_default(), denial.text()),
                            (false, 0) => denial.text(),
                            (false, _) => String::new(),
                        };
                        if let Some(place) = answer.at_place_mut(&part.place) {
                            *place = words.into();
                        }
                    }
                }
                ChatItem::Result(_) => {}
            }
        }
        if !calls.is_empty() {
            self.put_words(answer, &calls.join("\n"), structured);
        }
        if let (ToldSoFar::Blocks(at), false) = (told, further.is_empty()) {
            let name = if self == Api::Responses { "output" } else { "content" };
            if let Some(Json::Array(blocks)) = answer.get_mut(name) {
                blocks.insert(at.min(blocks.len()), self.words(&further.join("\n"), structured));
            }
        }
        stopped
    }

    /// Makes a block of these words, or an item.
    fn words(self, words: &str, structured: bool) -> Json {
        let block = match (self, structured) {
            (Api::Messages | Api::Completions, _) => return object([("type", "text".into()), ("text", words.into())]),
            (Api::Responses, true) => json!({"type": "refusal", "refusal": words}),
            (Api::Responses, false) => json!({"type": "output_text", "text": words, "annotations": []}),
        };
        let id = format!("msg_{}", uuid::Uuid::new_v4().simple());
        let message =
            json!({"id": id, "type": "message", "status": "completed", "role": "assistant", "content": [block]});
        message.into()
    }

    /// Puts words in the place of calls that were taken out.
    fn put_words(self, answer: &mut Json, words: &str, structured: bool) {
        match self {
            Api::Completions => {
                let Some(Json::Array(choices)) = answer.get_mut("choices") else {
                    return;
                };
                choices
                    .iter_mut()
                    .for_each(|choice| put_into_choice(choice, words, structured));
            }
            Api::Messages => {
                if let Some(Json::Array(content)) = answer.get_mut("content") {
                    put_before_calls(content, self.words(words, structured));
                }
                let calls = answer.get("content").map_or(&[][..], Json::items);
                let acts = calls.iter().any(|block| block.str_of("type") == Some("tool_use"));
                if !acts && answer.str_of("stop_reason") == Some("tool_use") {
                    answer.set("stop_reason", if structured { "refusal" } else { "end_turn" });
                }
            }
            Api::Responses => {
                if let Some(Json::Array(output)) = answer.get_mut("output") {
                    put_before_calls(output, self.words(words, structured));
                }
            }
        }
    }

    /// Adds an answer and the results of its calls, all of which were denied, to a request. `None` if that cannot be done.
    pub(super) fn tell_stopped(
        self,
        request: &mut Json,
        answer: &Json,
        judged: &[(ChatItem, ItemVerdict)],
    ) -> Option<()> {
        let denied = judged.iter().filter_map(|(said, verdict)| match (said, verdict) {
            (ChatItem::Call(call), ItemVerdict::Denied(denial)) => Some((call, denial.text())),
            _ => None,
        });
        match self {
            Api::Completions => {
                let [choice] = answer.get("choices")?.items() else {
                    return None;
                };
                let Some(Json::Array(messages)) = request.get_mut("messages") else {
                    return None;
                };
                messages.push(choice.get("message")?.clone());
                messages
                    .extend(denied.map(|(call, words)| {
                        json!({"role": "tool", "tool_call_id": call.id, "content": words}).into()
                    }));
            }
            Api::Messages => {
                let Some(Json::Array(messages)) = request.get_mut("messages") else {
                    return None;
                };
                messages.push(object([
                    ("role", "assistant".into()),
                    ("content", answer.get("content")?.clone()),
                ]));
                let results = denied.map(|(call, words)| {
                    json!({"type": "tool_result", "tool_use_id": call.id, "content": words, "is_error": true}).into()
                });
                messages.push(object([
                    ("role", "user".into()),
                    ("content", Json::Array(results.collect())),
                ]));
            }
            Api::Responses => {
                let mut input = match request.remove("input") {
                    Some(Json::Array(items)) => items,
                    Some(text @ Json::Text(_)) => vec![object([("role", "user".into()), ("content", text)])],
                    Some(_) | None => Vec::new(),
                };
                input.extend(answer.get("output")?.items().iter().cloned());
                input.extend(self.results_of_stopped(answer, judged));
                request.set("input", Json::Array(input));
            }
        }
        Some(())
    }

    /// Puts a later answer in the place of the first one, after what was told of that.
    pub(super) fn after_told(self, first: &Json, mut next: Json, told: ToldSoFar) -> Json {
        let ToldSoFar::Blocks(told) = told else { return next };
        let name = match self {
            Api::Messages => "content",
            Api::Responses => "output",
            Api::Completions => {
                let choice = |answer: &Json| {
                    answer
                        .get("choices")
                        .and_then(|choices| choices.items().first().cloned())
                };
                let said =
                    choice(first).and_then(|choice| choice.at(&["message", "content"])?.as_str().map(str::to_owned));
                let message = match next.get_mut("choices") {
                    Some(Json::Array(choices)) => choices.first_mut().and_then(|choice| choice.get_mut("message")),
                    _ => None,
                };
                if let (Some(said), Some(message)) = (said.filter(|said| !said.is_empty()), message) {
                    let more = message.str_of("content").unwrap_or_default();
                    let gap = if more.is_empty() { "" } else { "\n\n" };
                    message.set("content", format!("{said}{gap}{more}"));
                }
                return next;
            }
        };
        let mut blocks: Vec<Json> = first
            .get(name)
            .map_or(&[][..], Json::items)
            .iter()
            .take(told)
            .cloned()
            .collect();
        blocks.extend(next.get(name).map_or(&[][..], Json::items).iter().cloned());
        next.set(name, Json::Array(blocks));
        // The beginning of the stream named the answer, and clients hold its end to that.
        if let Some(id) = first.get("id") {
            next.set("id", id.clone());
        }
        next
    }

    /// Returns the results that the model is told of calls that were taken out of an answer that is stored where it is.
    pub(super) fn results_of_stopped(self, answer: &Json, judged: &[(ChatItem, ItemVerdict)]) -> Vec<Json> {
        let stopped = judged.iter().filter_map(|(said, verdict)| match (said, verdict) {
            (ChatItem::Call(call), ItemVerdict::Denied(denial)) => {
                let kind = answer.at_place(&call.place)?.str_of("type")?;
                if kind == "mcp_approval_request" {
                    return Some(object([
                        ("type", "mcp_approval_response".into()),
                        ("approval_request_id", call.id.as_str().into()),
                        ("approve", Json::Bool(false)),
                        ("reason", denial.text().into()),
                    ]));
                }
                Some(object([
                    ("type", format!("{kind}_output").into()),
                    ("call_id", call.id.as_str().into()),
                    ("output", denial.text().into()),
                ]))
            }
            _ => None,
        });
        stopped.collect()
    }

    /// Tells the model the results of calls that its agent never saw.
    pub(super) fn answer_stopped_calls(self, request: &mut Json, results: &[Json]) {
        if results.is_empty() {
            return;
        }
        let mut input = results.to_vec();
        match request.remove("input") {
            Some(Json::Array(items)) => input.extend(items),
            Some(text @ Json::Text(_)) => input.push(object([("role", "user".into()), ("content", text)])),
            Some(_) | None => {}
        }
        request.set("input", Json::Array(input));
    }
}

/// Takes out the list of tokens, which repeats the words.
fn remove_tokens(answer: &mut Json) {
    if let Some(Json::Array(choices)) = answer.get_mut("choices") {
        choices.iter_mut().for_each(|choice| drop(choice.remove("logprobs")));
    }
    let Some(Json::Array(items)) = answer.get_mut("output") else {
        return;
    };
    for item in items {
        if let Some(Json::Array(parts)) = item.get_mut("content") {
            parts.iter_mut().for_each(|part| drop(part.remove("logprobs")));
        }
    }
}

fn put_into_choice(choice: &mut Json, words: &str, structured: bool) {
    let Some(message) = choice.get_mut("message") else {
        return;
    };
    let mut lost = false;
    if let Some(Json::Array(calls)) = message.get_mut("tool_calls") {
        let before = calls.len();
        calls.retain(|call| *call != STOPPED);
        lost = calls.len() < before;
        if calls.is_empty() {
            message.remove("tool_calls");
        }
    }
    if message.get("function_call") == Some(&STOPPED) {
        message.remove("function_call");
        lost = true;
    }
    if !lost {
        return;
    }
    if structured {
        message.set("refusal", words);
    } else {
        let said = message.str_of("content").filter(|said| !said.is_empty());
        let said = said.map_or_else(|| words.to_owned(), |said| format!("{said}\n\n{words}"));
        message.set("content", said);
    }
    let acts = message.get("tool_calls").is_some_and(|calls| !calls.items().is_empty());
    let ended = choice.str_of("finish_reason");
    if !acts && matches!(ended, Some("tool_calls" | "function_call")) {
        choice.set("finish_reason", "stop");
    }
}

/// Puts words before the first call of an answer, and takes out those that were stopped. Thoughts are not taken back without a call that they led to:
/// they go if all of these were stopped.
fn put_before_calls(items: &mut Vec<Json>, words: Json) {
    let mut words = Some(words);
    let mut kept: Vec<Json> = Vec::with_capacity(items.len() + 1);
    // Thoughts before what comes next, and whether a call that they led to was stopped.
    let (mut thoughts, mut led_to_stopped) = (Vec::new(), false);
    for item in items.drain(..) {
        let kind = item.str_of("type").unwrap_or_default();
        let is_call = item == STOPPED || chat::run_by(kind) == Some(RunBy::Agent);
        if is_call {
            kept.extend(words.take());
        }
        if item == STOPPED {
            led_to_stopped = true;
            continue;
        }
        if !is_call && std::mem::take(&mut led_to_stopped) {
            thoughts.clear();
        }
        if kind == "reasoning" {
            thoughts.push(item);
            continue;
        }
        led_to_stopped = false;
        kept.append(&mut thoughts);
        kept.push(item);
    }
    if !led_to_stopped {
        kept.append(&mut thoughts);
    }
    *items = kept;
}
