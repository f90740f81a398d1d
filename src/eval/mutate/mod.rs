//! Mutation: cases written otherwise under the same label, and how many verdicts survive that.
//!
//! An operator changes the texts of the step that is judged: what users, agents, tools, documents and memories say. Arguments of calls,
//! ids and what happened before stay as they are; a case of which nothing changes has no mutant, and neither has one that is
//! only to be masked.

mod operators;

use serde_json::{Value, json};

use super::{Case, Span};
use crate::model::{Content, Decision, Origin, Place};
use crate::wire;

pub use operators::{Of, Operator, Operators};

/// Between the id of a case and the name of an operator, in the id of a mutant.
pub(super) const MARK: char = '~';
/// Characters of the original text in a mutant's note.
const SHOWN: usize = 160;

impl Operators {
    /// Writes a case and its mutants as lines of a suite. The case is its own group and theirs, so that both can be compared.
    pub fn lines(&self, case: &Case) -> Vec<String> {
        let mutants: Vec<Value> = self
            .iter()
            .filter(|operator| fits(operator.of, case))
            .filter_map(|operator| mutant(case, operator))
            .collect();
        if mutants.is_empty() {
            return Vec::new();
        }
        let original = record(
            case,
            case.request.get().parse().unwrap_or_default(),
            None,
            String::new(),
        );
        std::iter::once(original)
            .chain(mutants)
            .map(|line| line.to_string())
            .collect()
    }
}

fn fits(of: Of, case: &Case) -> bool {
    match (of, case.expected.decision) {
        (_, Decision::Modify) | (Of::Attacks, Decision::Allow) | (Of::Honest, Decision::Deny) => false,
        (Of::All, _) | (Of::Attacks, Decision::Deny) | (Of::Honest, Decision::Allow) => true,
    }
}

fn mutant(case: &Case, operator: &Operator) -> Option<Value> {
    let limits = wire::Limits::default().of_any_size();
    let (_, step) = wire::decode_step(case.request.get().as_bytes(), &limits).ok()?;
    let mut request: Value = serde_json::from_str(case.request.get()).ok()?;
    let mut changed = Vec::new();
    for content in step.contents.iter().filter(|content| is_prose(content)) {
        let place = request.pointer_mut(content.pointer.as_str());
        // A content that was decoded out of a string is not that string.
        if let Some(Value::String(text)) = place.filter(|value| value.as_str() == Some(&*content.text)) {
            let written = operator.apply(text);
            if written != *text {
                changed.push(std::mem::replace(text, written));
            }
        }
    }
    let first = changed.first()?;
    let first = first.split_whitespace().collect::<Vec<_>>().join(" ");
    let note = format!("{} of `{}`", operator.name, super::shown::cut(&first, SHOWN));
    Some(record(case, request, Some(&operator.name), note))
}

/// Returns `true` if a content is prose of a party: not an id, a name, a command or a number.
fn is_prose(content: &Content) -> bool {
    let said = match content.origin {
        Origin::User
        | Origin::Agent
        | Origin::ToolOutput
        | Origin::Knowledge
        | Origin::Memory
        | Origin::RemoteAgent
        | Origin::Trigger => content.place == Place::Body,
        Origin::Instructions
        | Origin::Reasoning
        | Origin::ToolArguments
        | Origin::ToolDescription
        | Origin::Unknown => false,
    };
    let words = content.text.split_whitespace().count();
    said && (words >= 3 || content.text.chars().filter(|c| !c.is_ascii()).count() >= 8)
}

fn record(case: &Case, request: Value, operator: Option<&str>, note: String) -> Value {
    let expected = &case.expected;
    let names = |decisions: &[Decision]| decisions.iter().map(|decision| decision.as_str()).collect::<Vec<_>>();
    let codes: Vec<&str> = expected.reason_codes.iter().map(|code| code.as_str()).collect();
    // A span that is written otherwise now cannot be looked for.
    let stands = |span: &&Span| {
        let text = request.pointer(&span.pointer).and_then(Value::as_str);
        text.is_some_and(|text| text.contains(&span.text))
    };
    let spans = expected.spans.iter().filter(stands);
    let spans = spans.map(|span| json!({"pointer": span.pointer, "text": span.text, "required": span.required}));
    let spans: Vec<Value> = spans.collect();
    let history = case.history.iter().map(|earlier| shortened(earlier, &request));
    let history: Vec<Value> = history.collect();
    let notes = [note.as_str(), &expected.note];
    let notes: Vec<&str> = notes.into_iter().filter(|note| !note.is_empty()).collect();
    let mut line = json!({
        "id": operator.map_or_else(|| case.id.clone(), |operator| format!("{}{MARK}{operator}", case.id)),
        "source": case.source, "split_group": case.id, "weight": case.weight,
        "expected": {
            "decision": expected.decision.as_str(), "acceptable": names(&expected.acceptable), "reason_codes": codes,
            "note": notes.join(": "), "policy": expected.policy, "spans": spans,
        },
        "meta": {"tags": case.tags.iter().map(String::as_str).chain(operator).collect::<Vec<_>>()},
        "history": history, "request": request,
    });
    for (pointer, key, value) in [
        ("", "license", case.license.as_deref()),
        ("/expected", "organisation", expected.organisation.as_deref()),
        ("/expected", "severity", expected.low_severity.then_some("low")),
    ] {
        if let (Some(value), Some(Value::Object(members))) = (value, line.pointer_mut(pointer)) {
            members.insert(key.to_owned(), json!(value));
        }
    }
    line
}

/// Returns an earlier request, with a reference to the agent of the step where it is the same.
fn shortened(earlier: &str, request: &Value) -> Value {
    const AGENT: &str = "/params/context/agent";
    let mut earlier: Value = serde_json::from_str(earlier).unwrap_or_default();
    if let (Some(agent), Some(same)) = (earlier.pointer_mut(AGENT), request.pointer(AGENT))
        && agent == same
    {
        *agent = json!({"$ref": format!("#/request{AGENT}")});
    }
    earlier
}
