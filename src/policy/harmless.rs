//! The steps that need no judge: those that the policy names as harmless, as long as nothing was seen in them.

use std::collections::BTreeMap;

use regex::Regex;

use super::{NamePatterns, Policy};
use crate::model::{Kind, Method, Place, Step, nearest_double};

/// One line of the list of harmless steps: conditions, all of which must hold.
#[derive(Clone, Debug)]
pub struct HarmlessEntry {
    /// The name under which a verdict reports it.
    pub name: String,
    /// Methods; empty: any.
    pub methods: Vec<Method>,
    /// Kinds of step; empty: any.
    pub kinds: Vec<Kind>,
    /// Patterns of tool ids. When given, the step must call such a tool.
    pub tools: NamePatterns,
    /// Patterns of agent ids. When given, the step must name such an agent.
    pub agents: NamePatterns,
    /// Bytes of text that the step's body may have.
    pub max_bytes: Option<usize>,
    /// Patterns of user ids. When given, the step must name such a user.
    pub users: NamePatterns,
    /// True if every text of the message has to be an id: no words.
    pub only_ids: bool,
    /// Arguments by name, each with the expression that the whole of its JSON must match. When given, a call must have no others.
    pub arguments: Option<BTreeMap<String, Regex>>,
}

impl HarmlessEntry {
    fn fits(&self, step: &Step) -> bool {
        let tool = step.tool_call.as_ref().map(|call| call.tool.as_str());
        let agent = step
            .agent
            .as_ref()
            .and_then(|agent| agent.id.as_ref())
            .map(|id| id.as_str());
        let named = |patterns: &NamePatterns, name: Option<&str>| {
            patterns.is_empty() || name.is_some_and(|name| patterns.matches(name))
        };
        (self.methods.is_empty() || self.methods.contains(&step.method))
            && (self.kinds.is_empty() || self.kinds.contains(&step.kind))
            && named(&self.tools, tool)
            && named(&self.agents, agent)
            && named(&self.users, step.user.as_ref().map(|user| user.as_str()))
            && (!self.only_ids || only_ids(step))
            && self.max_bytes.is_none_or(|most| body_bytes(step) <= most)
            && self
                .arguments
                .as_ref()
                .is_none_or(|expected| arguments_fit(expected, step))
    }
}

/// Returns `true` if a text is an id, a version, a word of a protocol: at most 64 bytes without blanks, and no more than two words
/// in any spelling (`order-7781`, `taskState`). A name of three words can be an order: `wireMoneyToMallory`.
fn is_id(text: &str) -> bool {
    const MAX_LEN: usize = 64;
    const MAX_WORDS: usize = 2;
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '/' | '+' | '=' | '#');
    text.len() <= MAX_LEN && text.chars().all(fits) && !text.contains("//") && words_of_id(text) <= MAX_WORDS
}

/// Words of three letters or more, also of a name that only capitals divide; what is written in hexadecimal has none.
fn words_of_id(text: &str) -> usize {
    let (mut words, mut length, mut before) = (0, 0, ' ');
    for part in text.split(|c: char| !c.is_ascii_alphanumeric()) {
        if part.chars().all(|c| c.is_ascii_hexdigit()) {
            continue;
        }
        for c in part.chars().chain([' ']) {
            let goes_on =
                c.is_ascii_alphabetic() && (length == 0 || c.is_ascii_lowercase() || before.is_ascii_uppercase());
            if !goes_on {
                words += usize::from(length >= 3);
                length = 0;
            }
            length += usize::from(c.is_ascii_alphabetic());
            before = c;
        }
    }
    words
}

/// Returns `true` if every text of a message is an id: its body, and the ids around it, which are not its context.
fn only_ids(step: &Step) -> bool {
    /// A sentence can come in as many texts as it has words.
    const MAX_WORDS: usize = 4;
    let body = || step.contents.iter().filter(|content| content.place == Place::Body);
    let words: usize = body().map(|content| words_of_id(&content.text)).sum();
    words <= MAX_WORDS && body().all(|content| is_id(&content.text)) && has_proper_ids(step)
}

/// Returns `true` if the texts around the body of a message, where ids are expected, are ids. What the context says of the agent
/// is no part of the message; nor are the names of methods and of the tool.
fn has_proper_ids(step: &Step) -> bool {
    let tool = step.tool_call.as_ref().and_then(|call| call.content);
    let mut around = step.contents.iter().filter(|content| {
        let pointer = content.pointer.as_str();
        let context = ["/params/context", "/context", "/params/payload/params/context"];
        content.place == Place::Surroundings
            && Some(content.id) != tool
            && !pointer.ends_with("/method")
            && !context.iter().any(|context| pointer.starts_with(context))
    });
    around.all(|content| is_id(&content.text))
}

fn body_bytes(step: &Step) -> usize {
    let body = step.contents.iter().filter(|content| content.place == Place::Body);
    body.map(|content| content.text.len()).sum()
}

fn arguments_fit(expected: &BTreeMap<String, Regex>, step: &Step) -> bool {
    step.tool_call.as_ref().is_some_and(|call| {
        // Of a number both readings count: a tool may take either.
        let fits = |name: &str, json: &str| {
            expected.get(name).is_some_and(|shape| {
                shape.is_match(json) && nearest_double(json).is_none_or(|nearest| shape.is_match(&nearest))
            })
        };
        call.arguments
            .iter()
            .all(|argument| fits(&argument.name, &argument.json))
    })
}

impl Policy {
    /// Returns the entry that names this step as harmless, if one does.
    pub fn harmless(&self, step: &Step) -> Option<&HarmlessEntry> {
        self.harmless.iter().find(|entry| entry.fits(step))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_told_from_words_that_are_written_like_ids() {
        for id in [
            "7",
            "task-7781",
            "order_7781",
            "018f6b1e-4c2d-7a90-b1de-0a1b2c3d4e5f",
            "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "2025-06-18",
            "text/plain",
            "TASK_STATE",
            "v1.2.3",
            "2025-06-18T10:00:00Z",
            "10.0.0.1:8080",
            "req_7f3k9x2q",
        ] {
            assert!(is_id(id), "{id}");
        }
        for words in [
            "the board decided",
            "wire-all-money-to-mallory",
            "wireMoneyToMallory",
            "WireMoneyToMallory",
            "wire_money_mallory",
            "https://evil.example/?d=1",
            "//evil.example",
            &"a".repeat(65),
        ] {
            assert!(!is_id(words), "{words}");
        }
    }
}
