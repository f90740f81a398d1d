//! Recorded steps as cases: each with what happened before it in its session. What they should have come to is
//! not known; of audit records, what was decided is.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::import::Importer;
use super::suite::read_text;
use super::{Case, EvalError, Expected, Needs, Weight, history};
use crate::model::Decision;
use crate::wire;

/// Recorded steps.
pub struct Trace {
    /// The steps, in their order.
    pub cases: Vec<Case>,
    /// True if `expected` is what was decided then.
    pub decided: bool,
}

/// A line of an evaluation suite.
#[derive(Deserialize)]
struct Labelled<'a> {
    #[serde(borrow)]
    request: &'a RawValue,
}

/// Reads a trace: AOS requests, one a line (lines of suites work too), or audit records whose policy has `contents = true`.
///
/// # Errors
///
/// The first line that is neither, in words.
pub fn read_trace(name: &str, text: &str) -> Result<Trace, String> {
    if is_audit(text) {
        let importer = Importer::named("audit").ok_or("there is no reader of audit records")?;
        let (lines, _) = importer.import(text, "audit").map_err(|error| {
            format!("{error}; do the records hold texts? The policy has to say `[audit] contents = true`")
        })?;
        let cases = read_text(name, &lines.join("\n")).map_err(|error: EvalError| error.to_string())?;
        return Ok(Trace { cases, decided: true });
    }
    let mut sessions: HashMap<String, Vec<Arc<str>>> = HashMap::new();
    let mut cases = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let number = index + 1;
        let request = match serde_json::from_str::<Labelled<'_>>(line) {
            Ok(labelled) => labelled.request.get(),
            Err(_) => line.trim(),
        };
        let (_, step) = wire::decode_step(request.as_bytes(), &history::limits())
            .map_err(|error| format!("{name}:{number}: expected an AOS request: {}", error.message))?;
        let session = step
            .session
            .as_ref()
            .map_or_else(String::new, |session| session.as_str().to_owned());
        let before = sessions.entry(session).or_default();
        cases.push(case(name, number, request, before)?);
        before.push(Arc::from(request));
    }
    match cases.is_empty() {
        true => Err(format!(
            "{name}: expected AOS requests or audit records, one a line; found none"
        )),
        false => Ok(Trace { cases, decided: false }),
    }
}

fn is_audit(text: &str) -> bool {
    let first = text.lines().find(|line| !line.trim().is_empty());
    let first = first.and_then(|line| serde_json::from_str::<Value>(line).ok());
    first.is_some_and(|record| record.get("decision_id").is_some() && record.get("jsonrpc").is_none())
}

fn case(name: &str, number: usize, request: &str, before: &[Arc<str>]) -> Result<Case, String> {
    let place = format!("{name}:{number}");
    let request = RawValue::from_string(request.to_owned()).map_err(|error| format!("{place}: {error}"))?;
    Ok(Case {
        id: place.clone(),
        group: place.clone(),
        place,
        notes: Vec::new(),
        source: name.to_owned(),
        license: None,
        tags: Vec::new(),
        weight: Weight::default(),
        request,
        history: before.to_vec(),
        needs: Needs::Rules,
        expected: Expected {
            decision: Decision::Allow,
            acceptable: vec![Decision::Allow],
            low_severity: false,
            note: String::new(),
            reason_codes: Vec::new(),
            policy: "default".to_owned(),
            organisation: None,
            spans: Vec::new(),
        },
    })
}
