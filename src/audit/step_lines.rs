//! The part of an audit record about the step itself: its ids, two hashes by which it is found again, and its texts where the organisation's
//! policy asks for them. Everything that came with the step went through [`Withheld`].

use serde::{Serialize, Serializer};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::chain::hex;
use crate::model::{Clean, Content, Finding, Form, Origin, Place, Step, WITHHELD, Withheld};

/// Bytes of all texts in one record.
const MAX_BYTES: usize = 16 * 1024;
/// Bytes of one text.
const MAX_OF_ONE: usize = 4 * 1024;
/// Texts in one record.
const MAX_TEXTS: usize = 64;
/// Bytes of the words of one finding.
const MAX_SEEN: usize = 160;
/// Bytes of the name of an agent.
const MAX_NAME: usize = 200;
/// Fewer bytes are shown with as many around them.
const FEW: usize = 24;

/// The choice to tell the texts of a step in its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Texts {
    /// It does, as far as they may be repeated.
    Told,
    /// It does not.
    LeftOut,
}

/// The facts of a step in its record. Empty until it is known what must not be repeated.
#[derive(Clone, Debug, Default, Serialize)]
pub struct StepLines {
    /// The agent, where known.
    #[serde(serialize_with = "told")]
    pub agent: Option<Clean<String>>,
    /// The agent's name, where it is another: the program of a hook, the client of an MCP server.
    #[serde(serialize_with = "told", skip_serializing_if = "Option::is_none")]
    pub agent_name: Option<Clean<String>>,
    /// The session, where known.
    #[serde(serialize_with = "told")]
    pub session: Option<Clean<String>>,
    /// The user, where known.
    #[serde(serialize_with = "told")]
    pub user: Option<Clean<String>>,
    /// The turn, where known.
    #[serde(serialize_with = "told")]
    pub turn: Option<Clean<String>>,
    /// The step's own id, where known.
    #[serde(serialize_with = "told")]
    pub step: Option<Clean<String>>,
    /// The id that a call shares with its answer, where known.
    #[serde(serialize_with = "told")]
    pub execution: Option<Clean<String>>,
    /// The id of the JSON-RPC request.
    #[serde(serialize_with = "told")]
    pub request: Option<Clean<String>>,
    /// SHA-256 of the request as it was received, in hexadecimal digits.
    pub request_sha256: Option<String>,
    /// The hash of what the step says, the same whatever its ids and times: 32 hexadecimal digits.
    pub content_hash: Option<String>,
    /// The tool, where one is called.
    #[serde(serialize_with = "told")]
    pub tool: Option<Clean<String>>,
    /// The texts of the step, where they are told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contents: Option<Vec<ContentLine>>,
    /// The words on which each finding fired, where they are told; they stand with the findings.
    #[serde(skip)]
    pub(super) seen: Vec<Option<Clean<String>>>,
}

/// One text of a step.
#[derive(Clone, Debug, Serialize)]
pub struct ContentLine {
    /// The place in the request.
    #[serde(serialize_with = "told_text")]
    pub pointer: Clean<String>,
    /// The author.
    pub origin: &'static str,
    /// The argument of a call that it is, and the place in it, as a JSON Pointer: `/to`, `/filter/max`.
    #[serde(serialize_with = "told", skip_serializing_if = "Option::is_none")]
    pub argument: Option<Clean<String>>,
    /// The type of a value that is no text: `number`, `boolean`, `null`.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_name: Option<&'static str>,
    /// The text, or its beginning.
    #[serde(serialize_with = "told_text")]
    pub text: Clean<String>,
    /// Bytes that are left out.
    #[serde(skip_serializing_if = "is_zero")]
    pub cut: usize,
}

pub(super) fn told<S: Serializer>(text: &Option<Clean<String>>, serializer: S) -> Result<S::Ok, S::Error> {
    text.as_ref().map(|text| text.as_str()).serialize(serializer)
}

fn told_text<S: Serializer>(text: &Clean<String>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text)
}

fn is_zero(bytes: &usize) -> bool {
    *bytes == 0
}

impl StepLines {
    /// Returns what may be told of a step; `happened` is the step as it happened: the modified one where it was modified.
    pub fn of(received: &Step, happened: &Step, withheld: &Withheld, texts: Texts) -> Self {
        let told = |text: Option<&str>| text.map(|text| withheld.clean_text(text));
        let agent = received.agent.as_ref().and_then(|agent| agent.id.as_ref());
        let name = received.agent.as_ref().and_then(|agent| agent.name.as_deref());
        let name = name.filter(|name| agent.is_none_or(|id| id.as_str() != *name));
        let ties = &received.ties;
        Self {
            agent: told(agent.map(|id| id.as_str())),
            agent_name: name.map(|name| withheld.clean_head(name, MAX_NAME).0),
            session: told(received.session.as_ref().map(|id| id.as_str())),
            user: told(received.user.as_ref().map(|id| id.as_str())),
            turn: told(ties.turn.as_deref()),
            step: told(ties.step.as_deref()),
            execution: told(ties.call.as_deref()),
            request: told(ties.request.as_deref()),
            request_sha256: Some(hex(&Sha256::digest(received.original.json()).into())),
            content_hash: Some(content_hash(received)),
            tool: told(received.tool_call.as_ref().map(|call| call.tool.as_str())),
            contents: match texts {
                Texts::Told => Some(contents(happened, withheld)),
                Texts::LeftOut => None,
            },
            seen: Vec::new(),
        }
    }

    /// Returns the same with the words on which findings fired: how they begin, and of a secret or of personal data nothing.
    #[must_use]
    pub fn with_seen(mut self, received: &Step, findings: &[Finding], withheld: &Withheld) -> Self {
        let told = findings.iter().take(MAX_TEXTS);
        self.seen = told
            .map(|finding| seen(finding, received, findings, withheld))
            .collect();
        self
    }
}

fn seen(finding: &Finding, received: &Step, findings: &[Finding], withheld: &Withheld) -> Option<Clean<String>> {
    let of_data = || {
        let same = |other: &&Finding| other.reason.is_data() && other.content == finding.content;
        findings.iter().filter(same)
    };
    let is_free = |around: usize| {
        let overlaps = |other: &Finding| {
            other.span.start < finding.span.end.saturating_add(around)
                && finding.span.start < other.span.end.saturating_add(around)
        };
        !of_data().any(overlaps)
    };
    // A word or two say little without those beside them.
    let around = if finding.span.len() < FEW { FEW } else { 0 };
    Some(match [around, 0].into_iter().find(|around| is_free(*around)) {
        Some(around) => withheld.clean_head(finding.words(received, around)?, MAX_SEEN).0,
        None => withheld.clean_text(WITHHELD),
    })
}

/// Returns a hash of what a step says, and of nothing that another posting of it would say otherwise: no ids, no times, no turns.
fn content_hash(step: &Step) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut part = |text: &str| {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    };
    part(step.method.as_str());
    part(step.kind.as_str());
    for data in &step.data {
        part(data.pointer.as_str());
        part(&data.json);
    }
    let says = |content: &&Content| content.place == Place::Body && content.origin != Origin::Unknown;
    for content in step.contents.iter().filter(says) {
        part(content.pointer.as_str());
        part(&content.text);
    }
    if let Some(call) = &step.tool_call {
        part(&call.tool);
        for argument in &call.arguments {
            part(&argument.name);
            part(&argument.json);
        }
    }
    hasher.finalize().to_hex().chars().take(32).collect()
}

/// Returns the texts of a step, and behind them the other values of a call's arguments; each is cleaned before it is cut: half a secret is a
/// secret.
fn contents(step: &Step, withheld: &Withheld) -> Vec<ContentLine> {
    let mut told = Contents {
        lines: Vec::new(),
        left: MAX_BYTES,
        withheld,
    };
    let arguments = || step.tool_call.iter().flat_map(|call| &call.arguments);
    let texts = step.contents.iter().filter(|content| {
        let readable = match content.form {
            Form::Text | Form::Number | Form::TextFile { .. } => true,
            Form::Key | Form::OpaqueFile { .. } => false,
        };
        readable && content.place == Place::Body && !content.text.is_empty()
    });
    for content in texts.take(MAX_TEXTS) {
        let pointer = content.pointer.as_str();
        let argument = arguments().find_map(|argument| {
            let rest = pointer.strip_prefix(argument.pointer.as_str())?;
            (rest.is_empty() || rest.starts_with('/')).then(|| format!("{}{rest}", token(&argument.name)))
        });
        let type_name = matches!(content.form, Form::Number).then_some("number");
        told.add(pointer, content.origin, argument.as_deref(), type_name, &content.text);
    }
    for argument in arguments() {
        if let Ok(value) = serde_json::from_str(&argument.json) {
            told.values(argument.pointer.as_str(), &token(&argument.name), &value);
        }
    }
    told.lines
}

/// Writes a name as a part of a JSON Pointer.
fn token(name: &str) -> String {
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// Lines of a record, and the bytes that are left for more.
struct Contents<'a> {
    lines: Vec<ContentLine>,
    left: usize,
    withheld: &'a Withheld,
}

impl Contents<'_> {
    fn is_full(&self) -> bool {
        self.left == 0 || self.lines.len() >= MAX_TEXTS
    }

    fn add(
        &mut self,
        pointer: &str,
        origin: Origin,
        argument: Option<&str>,
        type_name: Option<&'static str>,
        text: &str,
    ) {
        if self.is_full() {
            return;
        }
        let (text, cut) = self.withheld.clean_head(text, MAX_OF_ONE.min(self.left));
        self.left -= text.len();
        self.lines.push(ContentLine {
            pointer: self.withheld.clean_text(pointer),
            origin: origin.as_str(),
            argument: argument.map(|argument| self.withheld.clean_text(argument)),
            type_name,
            text,
            cut,
        });
    }

    /// Adds the values in an argument that are no contents of the step: most numbers, flags, empty texts.
    fn values(&mut self, pointer: &str, argument: &str, value: &Value) {
        if self.is_full() {
            return;
        }
        let (type_name, text) = match value {
            Value::Object(members) => {
                for (name, member) in members {
                    let token = token(name);
                    self.values(&format!("{pointer}{token}"), &format!("{argument}{token}"), member);
                }
                return;
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.values(&format!("{pointer}/{index}"), &format!("{argument}/{index}"), item);
                }
                return;
            }
            Value::String(text) if text.is_empty() => (None, String::new()),
            Value::String(_) => return,
            Value::Number(number) => (Some("number"), number.to_string()),
            Value::Bool(flag) => (Some("boolean"), flag.to_string()),
            Value::Null => (Some("null"), "null".to_owned()),
        };
        if !self.lines.iter().any(|line| line.pointer.as_str() == pointer) {
            self.add(pointer, Origin::ToolArguments, Some(argument), type_name, &text);
        }
    }
}
