//! Obvious steps: what may pass without any judge, because nobody could gain anything by it.
//!
//! Each kind is named in `obvious.toml`, with its reason, steps that it covers and steps that an attacker would try in its
//! place. None covers a step in a session in which a text without authority told the agent what to do, a step in which
//! anything was seen that weighs, or one that acts. Whether a step was read whole is for the caller to know.

use std::sync::LazyLock;

use serde::Deserialize;

use super::data_file_error::DataFileError;
use super::{OfferedBy, Past, ToolSeen};
use crate::model::{Confidence, Content, Kind, Method, Origin, Outcome, Place, Step, Voice};
use crate::policy::{Policy, has_proper_ids};
use crate::tools::{self, classes_of_call};

/// One kind of obvious step, as documented.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Obvious {
    /// Its name, by which verdicts report it.
    pub id: String,
    /// Why it may pass.
    pub reason: String,
    /// Steps that it covers, in words.
    pub covers: Vec<String>,
    /// Steps that look alike, and that it does not cover.
    pub counter_examples: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    acknowledging_words: Vec<String>,
    kinds: Vec<Obvious>,
}

static READ: LazyLock<Result<File, DataFileError>> = LazyLock::new(|| {
    toml::from_str(include_str!("obvious.toml")).map_err(|error| DataFileError::new("obvious.toml", &error))
});

/// The kinds. INVARIANT: whoever starts the program has called [`check`].
static FILE: LazyLock<&'static File> = LazyLock::new(|| {
    static NONE: LazyLock<File> = LazyLock::new(File::default);
    READ.as_ref().unwrap_or(&NONE)
});

/// Reads the kinds.
pub(super) fn check() -> Result<(), DataFileError> {
    READ.as_ref().map(|_| ()).map_err(Clone::clone)
}

/// Every kind of obvious step.
pub fn kinds() -> &'static [Obvious] {
    &FILE.kinds
}

/// The kind of obvious step that this is, if it is one.
pub fn obvious(past: &Past, step: &Step, policy: &Policy) -> Option<&'static Obvious> {
    let ordered = past
        .trail()
        .instructions()
        .any(|order| order.confidence > Confidence::Low);
    if !has_proper_ids(step) {
        return None;
    }
    let id = match step.kind {
        Kind::McpRequest | Kind::McpResponse if is_plumbing(step) => "plumbing",
        Kind::McpResponse if is_known_list(past, step) => "same_tools",
        _ if ordered || past.is_empty() => return None,
        Kind::AgentMessage if is_acknowledgement(step) => "acknowledgement",
        Kind::ToolCall | Kind::McpRequest => call(past, step, policy)?,
        _ => return None,
    };
    FILE.kinds.iter().find(|kind| kind.id == id)
}

/// A call that only reads: what the user named, or what was allowed before.
fn call(past: &Past, step: &Step, policy: &Policy) -> Option<&'static str> {
    let called = step.tool_call.as_ref()?;
    let classified = classes_of_call(step, called, policy);
    let heard = past.authority().voice() == Voice::Heard;
    if !heard || has_reasoning(step) {
        return None;
    }
    let arguments: Vec<&Content> = step.contents.iter().filter(|content| is_argument(content)).collect();
    if !classified.reads || classified.set.acts() {
        return None;
    }
    let taint = past.trail().taint();
    let is_users = |content: &&Content| content.text.len() <= 200 && taint.user_said_all(&content.text);
    let small = called.arguments.iter().all(|argument| argument.json.len() <= 256);
    if small && !arguments.is_empty() && arguments.iter().all(is_users) {
        return Some("asked_lookup");
    }
    is_repeated(past, step, &called.tool, &arguments).then_some("repeated_call")
}

/// Whether the same tool was called with the same texts before, and that was let through.
fn is_repeated(past: &Past, step: &Step, tool: &str, arguments: &[&Content]) -> bool {
    // Numbers are no texts: with other numbers it is another call.
    let only_texts = step
        .tool_call
        .iter()
        .flat_map(|call| &call.arguments)
        .all(|argument| argument.json.starts_with('"'));
    only_texts
        && !arguments.is_empty()
        && past.events().any(|event| {
            let before = &event.step;
            let said = || before.said.iter().filter(|said| said.origin == Origin::ToolArguments);
            let whole = before.unsaid == 0 && said().all(|said| said.text.cut == 0);
            let same = arguments.iter().all(|content| {
                said().any(|said| {
                    said.pointer == content.pointer && said.label == content.label && said.text.head == content.text
                })
            });
            before.kind == step.kind
                && before.tool.as_deref() == Some(tool)
                && matches!(before.outcome, Outcome::Allowed | Outcome::Done)
                && whole
                && same
        })
}

/// Words by which an agent says that it has heard, or that it is at work.
fn is_acknowledgement(step: &Step) -> bool {
    let says = |word: &str| {
        let word = word.to_lowercase().replace('’', "'");
        FILE.acknowledging_words.contains(&word)
    };
    const MOST_BYTES: usize = 120;
    let said: Vec<&Content> = step
        .contents
        .iter()
        .filter(|content| content.origin == Origin::Agent && content.place == Place::Body)
        .collect();
    let bytes: usize = said.iter().map(|content| content.text.len()).sum();
    let words = |content: &&&Content| {
        content
            .text
            .split(|c: char| c.is_whitespace() || matches!(c, '.' | ',' | '!' | '?' | '。' | '、' | '…' | '"'))
            .filter(|word| !word.is_empty())
            .all(says)
    };
    !said.is_empty()
        && bytes <= MOST_BYTES
        && said.iter().filter(|content| !words(content)).count() == 0
        && only(step, Origin::Agent)
}

/// Whether nobody else has words in the body of a step.
fn only(step: &Step, origin: Origin) -> bool {
    body(step).all(|content| content.origin == origin || is_id(&content.text))
}

/// Messages of MCP that carry nothing but closed fields: capabilities, versions, ids.
fn is_plumbing(step: &Step) -> bool {
    const MOST_BYTES: usize = 1_000;
    let body: Vec<&Content> = body(step).collect();
    let bytes: usize = body.iter().map(|content| content.text.len()).sum();
    step.tool_call.is_none()
        && step.announced_tools.is_empty()
        && step.method == Method::ProtocolsMcp
        && bytes <= MOST_BYTES
        && body
            .iter()
            .all(|content| is_id(&content.text) || is_plumbing_method(&content.text) || is_product(content))
        && body.iter().any(|content| is_plumbing_method(&content.text))
        && body.iter().all(|content| {
            content.origin != Origin::Unknown || is_id(&content.text) || is_plumbing_method(&content.text)
        })
}

fn is_plumbing_method(text: &str) -> bool {
    matches!(
        text,
        "initialize"
            | "notifications/initialized"
            | "ping"
            | "tools/list"
            | "resources/list"
            | "prompts/list"
            | "resources/templates/list"
            | "notifications/tools/list_changed"
            | "notifications/resources/list_changed"
            | "notifications/prompts/list_changed"
    )
}

/// The name of a program: three words at most, none of which says that something is to be done.
fn is_product(content: &Content) -> bool {
    let named = matches!(content.label.as_deref(), Some("name" | "title" | "version"));
    let mut words = content.text.split_whitespace();
    let orders = |word: &str| tools::words_of(word).iter().any(|word| tools::is_verb(word));
    named && content.text.len() <= 40 && words.clone().count() <= 3 && !words.any(orders)
}

/// An id, a version, the name of a method: no blanks, nothing that could be prose.
pub(super) fn is_id(text: &str) -> bool {
    crate::policy::is_id(text)
}

/// A list of tools each of which was seen before, and is the same.
fn is_known_list(past: &Past, step: &Step) -> bool {
    let announced = &step.announced_tools;
    let plain = body(step).all(|content| content.origin == Origin::ToolDescription || is_id(&content.text));
    plain
        && !announced.is_empty()
        && announced.iter().all(|tool| {
            past.tool(&tool.id).is_some_and(|first| {
                first.by == OfferedBy::Server
                    && first.step > 0
                    && first.definition == ToolSeen::of(tool, OfferedBy::Server).definition
            })
        })
        && past.events().any(|event| {
            let before = &event.step;
            before.kind == Kind::McpResponse
                && matches!(before.outcome, Outcome::Allowed | Outcome::Done)
                && repeats(before, step)
        })
}

/// Whether an earlier step said every text of this one, so that nothing of it is new.
fn repeats(before: &crate::model::Earlier, step: &Step) -> bool {
    before.unsaid == 0
        && body(step).all(|content| {
            let known = before
                .said
                .iter()
                .any(|said| said.text.cut == 0 && said.text.head == content.text);
            known || is_id(&content.text)
        })
}

fn body(step: &Step) -> impl Iterator<Item = &Content> {
    step.contents.iter().filter(|content| content.place == Place::Body)
}

fn is_argument(content: &Content) -> bool {
    content.origin == Origin::ToolArguments && content.place == Place::Body && content.form != crate::model::Form::Key
}

/// Words by which the agent explains itself: whoever argues has something to argue about.
fn has_reasoning(step: &Step) -> bool {
    step.contents_of(Origin::Reasoning)
        .any(|content| content.text.len() > 400)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_documented_with_what_an_attacker_would_try() {
        assert_eq!(kinds().len(), 5);
        for kind in kinds() {
            assert!(
                !kind.reason.is_empty() && !kind.covers.is_empty() && !kind.counter_examples.is_empty(),
                "{}",
                kind.id
            );
        }
    }
}
