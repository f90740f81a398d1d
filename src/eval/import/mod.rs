//! Suites made of what others wrote down: message logs, traces, audit records, benchmarks.
//!
//! Every adapter is a file: it reads one document and answers with sessions, in the form that suites have (`session_line.rs`). A
//! step is labelled where the document says what it is, and not otherwise: then it is only history of the steps after it.

mod a2a;
mod agent_safetybench;
mod agentdojo;
mod audit;
mod bipia;
mod injecagent;
mod mcp;
mod messages;
mod otel;
mod session;
mod tau_bench;

use serde_json::Value;

pub(super) use audit::DECIDED;
pub(super) use messages::is_log;
use session::Session;

use super::EvalError;

/// A kind of document that can be read.
#[derive(Debug)]
pub struct Importer {
    /// Its name on the command line.
    pub name: &'static str,
    /// The documents that it reads.
    pub about: &'static str,
    /// True if all documents of a file are one session, rather than one each.
    whole: bool,
    read: fn(&[Value], &str) -> Vec<Session>,
}

/// Every importer.
pub const IMPORTERS: &[Importer] = &[
    Importer {
        name: "openai",
        about: "Chat Completions and Responses: requests, responses, or `messages`",
        whole: false,
        read: messages::read,
    },
    Importer {
        name: "anthropic",
        about: "the Messages API: requests, responses, or `messages`",
        whole: false,
        read: messages::read,
    },
    Importer {
        name: "otel",
        about: "OpenTelemetry spans with GenAI attributes or events (OTLP JSON, or a span a line), OpenLLMetry, OpenInference",
        whole: true,
        read: otel::read,
    },
    Importer {
        name: "mcp",
        about: "messages of the Model Context Protocol (JSON-RPC), as a client or server logged them",
        whole: true,
        read: mcp::read,
    },
    Importer {
        name: "a2a",
        about: "messages of Agent2Agent (JSON-RPC), requests and answers",
        whole: true,
        read: a2a::read,
    },
    Importer {
        name: "audit",
        about: "audit records of a guardian whose policy has `contents = true`; labelled with the decisions that were made",
        whole: true,
        read: audit::read,
    },
    Importer {
        name: "agentdojo",
        about: "logged runs of AgentDojo; results that carry the injection are attacks",
        whole: false,
        read: agentdojo::read,
    },
    Importer {
        name: "injecagent",
        about: "test cases of InjecAgent with the attack filled in",
        whole: false,
        read: injecagent::read,
    },
    Importer {
        name: "bipia",
        about: "samples of BIPIA: a context, a question, and the attack that was put in",
        whole: false,
        read: bipia::read,
    },
    Importer {
        name: "agent-safetybench",
        about: "released data of Agent-SafetyBench; requests that cannot be fulfilled safely are attacks of low confidence",
        whole: false,
        read: agent_safetybench::read,
    },
    Importer {
        name: "tau-bench",
        about: "trajectories of tau-bench; those that reached their goal are honest work",
        whole: false,
        read: tau_bench::read,
    },
];

/// The result of an import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Sessions.
    pub sessions: usize,
    /// Their steps.
    pub steps: usize,
    /// Those that have a label.
    pub labelled: usize,
    /// Documents in which nothing was found.
    pub empty: usize,
}

impl Importer {
    /// Returns the importer of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        IMPORTERS.iter().find(|importer| importer.name == name)
    }

    /// Reads a file: one JSON document, a list of them, or one after another. `source` names the suite. The lines of the suite come
    /// back with what was found.
    ///
    /// # Errors
    ///
    /// The first line that is no JSON, or that there is no step in it.
    pub fn import(&self, text: &str, source: &str) -> Result<(Vec<String>, Imported), EvalError> {
        let documents = documents(text)?;
        let (mut imported, mut lines) = (Imported::default(), Vec::new());
        let parts: Vec<&[Value]> = match self.whole {
            true => vec![&documents],
            false => documents.chunks(1).collect(),
        };
        for (index, part) in parts.into_iter().enumerate() {
            let before = lines.len();
            for session in (self.read)(part, &format!("{}", index + 1)) {
                for line in session.lines(source) {
                    imported.sessions += 1;
                    imported.steps += line.steps;
                    imported.labelled += line.labelled;
                    lines.push(line.text);
                }
            }
            imported.empty += usize::from(lines.len() == before);
        }
        match lines.is_empty() {
            true => Err(EvalError(format!(
                "found no steps; `{}` reads {}",
                self.name, self.about
            ))),
            false => Ok((lines, imported)),
        }
    }
}

/// Writes a message log as the line of a suite; `name` is its id where it has none.
pub(super) fn log_as_session(log: &Value, name: &str) -> Option<String> {
    let session = messages::read(std::slice::from_ref(log), name).into_iter().next()?;
    session.lines("").into_iter().next().map(|line| line.text)
}

/// Reads the documents of a file: one, a list, or one after another, on one line each or over several. A list of messages is one document.
fn documents(text: &str) -> Result<Vec<Value>, EvalError> {
    let read: Result<Vec<Value>, _> = serde_json::Deserializer::from_str(text).into_iter().collect();
    let mut documents = read.map_err(|why| EvalError(format!("line {}: expected JSON: {why}", why.line())))?;
    match documents.as_mut_slice() {
        [Value::Array(list)] if !list.iter().any(is_message) => Ok(std::mem::take(list)),
        _ => Ok(documents),
    }
}

/// Returns `true` for a message that is no whole answer of the Messages API, which has a role as well.
fn is_message(value: &Value) -> bool {
    value.get("role").is_some() && value.get("content").is_some() && value.get("model").is_none()
}
