//! Recorded steps as cases: each with what happened before it in its session. What they should have come to is
//! not known; of audit records, what was decided is, and how far a record tells its step.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::import::{DECIDED, Importer};
use super::suite::read_text;
use super::{Case, EvalError, Expected, Needs, Weight, history};
use crate::model::{Decision, WITHHELD};
use crate::wire;

/// Recorded steps.
pub struct Trace {
    /// The steps, in their order.
    pub cases: Vec<Case>,
    /// The record of each step by the id of its case, where `expected` is what was decided then; of AOS requests, none.
    pub records: BTreeMap<String, Recorded>,
    /// Recorded decisions that are no case: no verdict, no texts, or a method that is not told by its texts.
    pub left_out: usize,
}

/// The facts of a recorded step that its texts do not tell.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// The decision.
    pub decision_id: String,
    /// The decision: `allow`, `modify`, `deny`; what it would have been, where it was observed only.
    pub decision: String,
    /// The agent.
    pub agent: Option<String>,
    /// The tool that is called.
    pub tool: Option<String>,
    /// The reason why the step may not be as it was.
    pub doubt: Option<Doubt>,
}

/// The reason why a recorded step may not be as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doubt {
    /// The record holds no texts.
    NoTexts,
    /// The arguments have no names and no numbers, as an earlier version wrote them.
    BareArguments,
    /// Texts were masked.
    Masked,
    /// Texts were cut.
    Cut,
}

impl Doubt {
    /// Returns it in words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Doubt::NoTexts => "the record has no texts: `[audit] contents` was not set in the policy",
            Doubt::BareArguments => "the record has neither names nor numbers of arguments",
            Doubt::Masked => "texts were masked when they were recorded",
            Doubt::Cut => "the record has texts only in part",
        }
    }
}

impl Recorded {
    fn of(record: &Value) -> Self {
        let text = |key: &str| record.get(key).and_then(Value::as_str).map(str::to_owned);
        let contents = record.get("contents").and_then(Value::as_array);
        let list = |key: &str| record.get(key).and_then(Value::as_array).into_iter().flatten();
        let is_masked = |value: Option<&Value>| {
            value
                .and_then(Value::as_str)
                .is_some_and(|text| text.contains(WITHHELD))
        };
        let is_bare = |line: &Value| {
            line.get("argument").is_none() && line.get("origin").is_some_and(|of| of == "tool_arguments")
        };
        let doubt = if contents.is_none() {
            Some(Doubt::NoTexts)
        } else if text("tool").is_some() && list("contents").any(is_bare) {
            Some(Doubt::BareArguments)
        } else if record
            .get("edits")
            .and_then(Value::as_u64)
            .is_some_and(|edits| edits > 0)
            || list("contents").any(|line| is_masked(line.get("text")))
            || list("findings").any(|finding| is_masked(finding.get("seen")))
        {
            Some(Doubt::Masked)
        } else {
            list("contents")
                .any(|line| line.get("cut").is_some())
                .then_some(Doubt::Cut)
        };
        Self {
            decision_id: text("decision_id").unwrap_or_default(),
            decision: record
                .pointer("/observed/decision")
                .and_then(Value::as_str)
                .map(str::to_owned)
                .or_else(|| text("decision"))
                .unwrap_or_default(),
            agent: text("agent").or_else(|| text("agent_name")),
            tool: text("tool"),
            doubt,
        }
    }
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
        return of_records(name, text);
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
        false => Ok(Trace {
            cases,
            records: BTreeMap::new(),
            left_out: 0,
        }),
    }
}

/// Reads audit records. Those of changes, and what a chain says of itself, are no steps.
fn of_records(name: &str, text: &str) -> Result<Trace, String> {
    let importer = Importer::named("audit").ok_or("there is no reader of audit records")?;
    let mut kept = String::new();
    let mut known = HashMap::new();
    for line in text.lines() {
        let Ok(record) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        if record.get("decision_id").is_some() && record.get("outcome").is_none_or(|outcome| outcome != "chain") {
            let recorded = Recorded::of(&record);
            known.insert(recorded.decision_id.clone(), recorded);
            kept.push_str(line);
            kept.push('\n');
        }
    }
    let told = |error: EvalError| {
        format!("{error}; do the records hold texts? The policy has to say `[audit] contents = true`")
    };
    let (lines, _) = importer.import(&kept, "audit").map_err(told)?;
    let cases = read_text(name, &lines.join("\n")).map_err(|error| error.to_string())?;
    let recorded = |case: &Case| {
        let id = case.expected.note.strip_prefix(DECIDED)?;
        Some((case.id.clone(), known.get(id)?.clone()))
    };
    Ok(Trace {
        records: cases.iter().filter_map(recorded).collect(),
        left_out: known.len().saturating_sub(cases.len()),
        cases,
    })
}

/// Returns `true` if a text holds audit records, one a line.
pub fn is_audit(text: &str) -> bool {
    let first = text.lines().find(|line| !line.trim().is_empty());
    let first = first.and_then(|line| serde_json::from_str::<Value>(line).ok());
    first.is_some_and(|record| {
        let is_change = record.get("kind").is_some_and(|kind| kind == "change");
        (record.get("decision_id").is_some() || is_change) && record.get("jsonrpc").is_none()
    })
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
