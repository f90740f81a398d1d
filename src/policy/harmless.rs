//! What needs no judge: steps that the policy names as harmless, as long as nothing was seen in them.

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
    /// Whether every text of the step's body has to be an id: no words.
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

/// Whether a text is an id, a version, the name of a method: at most 64 bytes without blanks, and nothing that reads like
/// words in a row.
pub fn is_id(text: &str) -> bool {
    const LONGEST: usize = 64;
    const MOST_WORDS: usize = 4;
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '/' | '+' | '=' | '#');
    let words = text
        .split(|c: char| !c.is_ascii_alphabetic())
        .filter(|word| word.len() >= 4 && !word.chars().all(|c| c.is_ascii_hexdigit()));
    text.len() <= LONGEST && text.chars().all(fits) && words.count() <= MOST_WORDS
}

fn only_ids(step: &Step) -> bool {
    let mut body = step.contents.iter().filter(|content| content.place == Place::Body);
    body.all(|content| is_id(&content.text))
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
    /// The entry that names this step as harmless, if one does.
    pub fn harmless(&self, step: &Step) -> Option<&HarmlessEntry> {
        self.harmless.iter().find(|entry| entry.fits(step))
    }
}
