//! Logged runs of AgentDojo (Debenedetti et al. 2024, `runs/**/*.json`): `messages`, `injections`, `injection_task_id`.
//!
//! A tool's answer that carries one of the injections is an attack; answers are written as YAML or as Python does, so that quotes and ends of
//! lines of an injection are escaped in them, and only its letters and digits are compared. What came before it is honest; what the agent did after it may
//! follow the injection or not, which the log does not say of single steps: it has no label. Runs with empty `injections` are honest; where a log
//! has no such member (other benchmarks in this form), it is not known what was injected, and nothing is labelled.

use serde_json::Value;

use super::messages::text_of;
use super::session::{Label, Session, items, parsed};

pub(super) fn read(documents: &[Value], name: &str) -> Vec<Session> {
    documents.iter().filter_map(|run| session(run, name)).collect()
}

fn session(run: &Value, name: &str) -> Option<Session> {
    let text = |key: &str| run.get(key).and_then(Value::as_str);
    let parts = [
        "suite_name",
        "pipeline_name",
        "user_task_id",
        "injection_task_id",
        "attack_type",
    ];
    let id: Vec<&str> = parts.iter().filter_map(|key| text(key)).chain([name]).collect();
    let mut session = Session::new(id.join("-"));
    let known = run.get("injections").and_then(Value::as_object);
    let injections: Vec<String> = known
        .into_iter()
        .flatten()
        .filter_map(|(_, text)| text.as_str())
        .map(letters)
        .filter(|text| !text.is_empty())
        .collect();
    let mut injected = known.is_none();
    for message in run.get("messages")?.as_array()? {
        let said = message.get("content").map(text_of).unwrap_or_default();
        let before = || if injected { Label::unknown() } else { Label::honest() };
        match message.get("role").and_then(Value::as_str).unwrap_or_default() {
            "system" => session.instructions = said,
            "user" => session.says("user", &said, before()),
            "assistant" => {
                session.says("agent", &said, before());
                for call in items(message, "tool_calls") {
                    let function = call.get("function");
                    let name =
                        function.and_then(|function| function.as_str().or_else(|| function.get("name")?.as_str()));
                    let arguments = call.get("args").or_else(|| call.pointer("/function/arguments"));
                    session.calls(
                        name.unwrap_or("unknown"),
                        arguments.map(parsed).unwrap_or_default(),
                        None,
                        before(),
                    );
                }
            }
            "tool" => {
                let written = letters(&said);
                let carries = injections.iter().any(|injection| written.contains(injection));
                let label = match carries {
                    true => Label::attack("prompt_injection", "the answer carries the injection of the benchmark"),
                    false => before(),
                };
                injected |= carries;
                let failed = message.get("error").is_some_and(|error| !error.is_null());
                session.results(Value::String(said), failed, label);
            }
            _ => {}
        }
    }
    (!session.is_empty()).then_some(session)
}

/// Returns the letters and digits of a text, without what escapes stand for.
fn letters(text: &str) -> String {
    let unescaped = text.replace("\\n", " ").replace("\\t", " ");
    unescaped.chars().filter(|c| c.is_alphanumeric()).collect()
}
