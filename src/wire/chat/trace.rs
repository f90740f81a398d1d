//! Input that callers hand in to be judged: AOS requests, message logs, or plain text; as a list of steps.

use std::sync::Arc;

use super::{Agent, ChatItem, Log, read};
use crate::wire::{Json, Place, object};

/// Steps of one trace that are judged; more are refused.
pub(crate) const MAX_STEPS: usize = 256;

/// The reason why something cannot be judged, in words for its sender.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoTrace {
    /// There is nothing in it.
    #[error(
        "expected an AOS request, `{{\"aos\": [requests]}}`, `{{\"messages\": [...]}}`, `{{\"input\": [...]}}`, or text; found \
         nothing to judge"
    )]
    Empty,
    /// There is too much in it.
    #[error("expected at most {MAX_STEPS} steps, found {0}")]
    TooMany(usize),
}

/// The session and the instructions of everything that is handed in together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Under {
    /// The session of those steps that name none.
    pub(crate) session: String,
    /// The instructions of the agent that is judged, where what is handed in has none.
    pub(crate) instructions: String,
}

/// A step of what was handed in.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Traced {
    /// The place in its log; `None` if it is a request, or a text.
    pub(crate) place: Option<Place>,
    source: Source,
}

#[derive(Clone, Debug, PartialEq)]
enum Source {
    Request(Json),
    /// An item of a log. The context that its steps share may be large: requests are made one at a time.
    ChatItem(Arc<Head>, ChatItem),
}

/// The context that the steps of a log share.
#[derive(Debug, PartialEq)]
struct Head {
    session: String,
    instructions: String,
    tools: Vec<Json>,
}

impl Traced {
    /// Returns the AOS request; without `id` if what was handed in has none.
    pub(crate) fn request(&self) -> Json {
        let (head, said) = match &self.source {
            Source::Request(request) => return request.clone(),
            Source::ChatItem(head, said) => (head, said),
        };
        let agent = Agent {
            name: "submitted",
            session: &head.session,
            instructions: &head.instructions,
            tools: &head.tools,
        };
        let (method, params) = agent.step(said);
        object([("jsonrpc", "2.0".into()), ("method", method.into()), ("params", params)])
    }
}

/// Returns the steps of what was handed in.
///
/// # Errors
///
/// When there are none, or too many.
pub(crate) fn steps(handed_in: &[Json], under: &Under) -> Result<Vec<Traced>, NoTrace> {
    let mut steps = Vec::new();
    for one in handed_in {
        read_one(one, under, &mut steps);
    }
    match steps.len() {
        0 => Err(NoTrace::Empty),
        count if count > MAX_STEPS => Err(NoTrace::TooMany(count)),
        _ => Ok(steps),
    }
}

/// Returns the decision of an AOS answer: `error` where it has none.
pub(crate) fn decision_of(answer: &Json) -> &str {
    let result = answer.get("result");
    result.and_then(|result| result.str_of("decision")).unwrap_or("error")
}

/// Returns the step with the strictest decision; the first of several, for later steps may only follow from it.
pub(crate) fn strictest<'a, T>(steps: &'a [T], decision: impl Fn(&'a T) -> Option<&'a str>) -> Option<&'a T> {
    steps.iter().rev().max_by_key(|step| match decision(step) {
        Some("allow") => 0,
        Some("modify") => 1,
        Some("deny") => 3,
        Some(_) | None => 2,
    })
}

/// Returns `true` for a message log, as opposed to requests of a protocol.
pub(crate) fn is_log(value: &Json) -> bool {
    let first = match value {
        Json::Array(items) => return items.first().is_some_and(is_message),
        other => other,
    };
    let is_list = |name| first.get(name).is_some_and(|member| matches!(member, Json::Array(_)));
    let nested = |name| first.get(name).is_some_and(is_log);
    let is_request = first.get("jsonrpc").is_some() || first.get("method").is_some();
    let has_items = ["messages", "choices", "output"].into_iter().any(is_list);
    let has_input = first.get("input").is_some() && first.get("role").is_none();
    !is_request
        && (has_items || has_input || is_message(first) || nested("response") || nested("request") || nested("body"))
}

/// Returns `true` for input that [`steps`] knows, rather than an object whose words are taken for a text.
pub(crate) fn is_trace(value: &Json) -> bool {
    let known = |one: &Json| {
        is_log(one) || one.as_str().is_some() || one.str_of("method").is_some() || one.get("aos").is_some()
    };
    match value {
        Json::Array(items) => is_log(value) || items.iter().all(known),
        value => known(value),
    }
}

fn is_message(value: &Json) -> bool {
    let is_item = |kind: &str| kind.ends_with("_call") || kind.ends_with("_output");
    value.str_of("role").is_some() || value.str_of("type").is_some_and(is_item)
}

fn read_one(one: &Json, under: &Under, steps: &mut Vec<Traced>) {
    match one {
        Json::Text(text) if text.trim().is_empty() => {}
        Json::Text(_) => read_log(&object([("input", one.clone())]), under, steps, Places::Unknown),
        one if is_log(one) => read_log(one, under, steps, Places::Known),
        Json::Array(items) => items.iter().for_each(|item| read_one(item, under, steps)),
        Json::Object(_) if one.str_of("method").is_some() => {
            let source = Source::Request(one.clone());
            steps.push(Traced { place: None, source });
        }
        Json::Object(_) => {
            if let Some(requests) = one.get("aos") {
                read_one(requests, under, steps);
            } else {
                let text = one.str_of("text").map_or_else(|| one.write(), str::to_owned);
                read_one(&Json::text(text), under, steps);
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

/// The relation of places in a log to the input that was handed in.
#[derive(Clone, Copy)]
enum Places {
    Known,
    Unknown,
}

fn read_log(log: &Json, under: &Under, steps: &mut Vec<Traced>, places: Places) {
    let Log {
        mut instructions,
        tools,
        messages,
        ..
    } = read(log);
    if instructions.is_empty() {
        instructions.clone_from(&under.instructions);
    }
    let session = under.session.clone();
    let head = Arc::new(Head {
        session,
        instructions,
        tools,
    });
    for said in messages.into_iter().flat_map(|message| message.said) {
        let place = match places {
            Places::Known => said.place().cloned(),
            Places::Unknown => None,
        };
        let source = Source::ChatItem(Arc::clone(&head), said);
        steps.push(Traced { place, source });
    }
}
