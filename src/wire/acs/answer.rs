//! Answers: the decisions, in the form of the standard.

use serde_json::{Map, Value, json};

use crate::model::{Clean, Decision, Disclosure, Pointer, ReasonCode, RequestId, Step, Verdict};
use crate::wire::encode::{self, Facts};
use crate::wire::jsonrpc::RpcError;

use super::hook::{self, Decides, Named};
use super::{Hook, VERSION, code};

/// The first message of a client, in which it describes itself.
pub(crate) struct Hello {
    /// The versions it speaks.
    pub(crate) versions: Vec<String>,
    /// The methods it has.
    pub(crate) methods: Vec<String>,
    /// The transports it has.
    pub(crate) transports: Vec<String>,
    /// The profiles it keeps to.
    pub(crate) profiles: Vec<String>,
}

impl Hello {
    /// Returns `true` if one of its versions is spoken here: one of the same major version.
    pub(crate) fn speaks_ours(&self) -> bool {
        self.versions.iter().any(|version| is_ours(version))
    }

    /// Returns the methods of the client that are judged here.
    pub(crate) fn judged(&self) -> Vec<String> {
        let known = self.methods.iter().filter(|name| hook::named(name).is_some());
        known.cloned().collect()
    }
}

/// Returns `true` if a version, `X.Y.Z`, is of the major version that is spoken.
pub(crate) fn is_ours(version: &str) -> bool {
    let mut numbers = version.split('.');
    let major = numbers
        .next()
        .is_some_and(|major| VERSION.split('.').next() == Some(major));
    let rest: Vec<&str> = numbers.collect();
    major
        && rest.len() == 2
        && rest
            .iter()
            .all(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// Returns the error that none of the client's versions is spoken.
pub(crate) fn unsupported_version() -> RpcError {
    RpcError {
        code: code::UNSUPPORTED_VERSION,
        message: format!("unsupported protocol version: spoken here is ACS {VERSION}"),
        data: Some(Box::new(
            json!({ "reason": "unsupported_version", "supported_versions": [VERSION] }),
        )),
    }
}

/// Builds an error of the standard: its code, a name for programs, and the fault in words.
pub(crate) fn refused(code: i64, reason: &str, message: impl Into<String>, more: &[(&str, Value)]) -> RpcError {
    let mut data = Map::from_iter([("reason".to_owned(), json!(reason))]);
    data.extend(more.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    RpcError {
        code,
        message: message.into(),
        data: Some(Box::new(Value::Object(data))),
    }
}

/// Makes the answer to a `handshake/hello`; it stands in `result` by itself, and once more in `payload`, where early clients look.
pub(crate) fn server_hello(
    methods: &[String],
    timeout_ms: u64,
    skew_ms: u64,
    on_failure: &str,
    signed: bool,
    hello: &Hello,
) -> Value {
    let algorithms: &[&str] = if signed { &["HMAC-SHA256"] } else { &[] };
    let kept = |profile: &&String| signed && profile.as_str() == "acs-core";
    let transport = if hello.transports.iter().any(|transport| transport == "https")
        && !hello.transports.iter().any(|transport| transport == "http")
    {
        "https"
    } else {
        "http"
    };
    let mut hello = json!({
        "negotiated_version": VERSION,
        "methods_evaluated": methods,
        "selected_transport": transport,
        "timeout_config": { "default_ms": timeout_ms },
        "on_decision_failure": on_failure,
        "skew_window_ms": skew_ms,
        "signature_algorithms_supported": algorithms,
        "approver_types_supported": [],
        "policy_requires_provenance": false,
        "agbom_serializations_supported": [],
        "trace_emission": { "otel_enabled": false, "ocsf_enabled": false },
        "profiles_accepted": hello.profiles.iter().filter(kept).collect::<Vec<_>>(),
    });
    let again = hello.clone();
    if let Some(members) = hello.as_object_mut() {
        members.insert("payload".to_owned(), again);
    }
    hello
}

/// Makes the answer to a `system/ping`.
pub(crate) fn ping(request_id: &str, echo: Option<&str>, now: &str) -> Value {
    let mut payload = json!({ "status": "ok", "server_timestamp": now });
    if let (Some(echo), Some(members)) = (echo, payload.as_object_mut()) {
        members.insert("echo".to_owned(), json!(echo));
    }
    let mut result = allowed(request_id);
    result.insert("payload".to_owned(), payload);
    Value::Object(result)
}

/// Returns the answer to a mark in an agent's life without words: there is nothing to judge.
pub(crate) fn noted(request_id: &str) -> Value {
    let mut result = allowed(request_id);
    result.insert(
        "metadata".to_owned(),
        json!({ "evaluator": "deterministic", "evaluator_version": env!("CARGO_PKG_VERSION") }),
    );
    Value::Object(result)
}

fn allowed(request_id: &str) -> Map<String, Value> {
    let members = json!({ "type": "final", "acs_version": VERSION, "request_id": request_id, "decision": "allow" });
    match members {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

/// An entry of a session's chain: a request and the decision on it.
pub(crate) struct Entry<'e> {
    /// Its id: that of the decision.
    pub(crate) id: &'e str,
    /// The id of the request.
    pub(crate) request_id: &'e str,
    /// The method.
    pub(crate) method: &'e str,
    /// The time at which it was written.
    pub(crate) time: &'e str,
    /// The hash of the request's parameters, in hex.
    pub(crate) request_hash: &'e str,
    /// The decision.
    pub(crate) decision: &'e str,
}

impl Entry<'_> {
    /// Writes the entry without the hashes that chain it (8.1).
    pub(crate) fn json(&self) -> Value {
        json!({
            "entry_id": self.id,
            "step_id": self.request_id,
            "step_type": self.method.strip_prefix("steps/").unwrap_or(self.method),
            "timestamp": self.time,
            "request_hash": self.request_hash,
            "decision": self.decision,
        })
    }
}

/// Makes the answer to a step, without chain and signature.
///
/// # Errors
///
/// `-32012` where no decision could be made and the posture is to say so.
pub(crate) fn decided(
    request_id: &str,
    named: Option<Named>,
    step: &Step,
    verdict: &Clean<Verdict>,
    facts: &Facts,
    shown: &Disclosure,
) -> Result<Value, RpcError> {
    if verdict.undecided {
        return Err(RpcError::undecided(&facts.decision_id));
    }
    let mut codes: Vec<&str> = verdict.reason_codes.iter().map(ReasonCode::as_str).collect();
    let decides = match named {
        Some(Named::Hook(hook)) => hook.decides(),
        _ => Decides::Everything,
    };
    let (decision, modifications) = match (verdict.decision, decides) {
        (Decision::Allow, _) => ("allow", None),
        (Decision::Deny, Decides::Everything) => ("deny", None),
        (Decision::Deny, Decides::Changes) => match withheld(step) {
            Some(edits) => ("modify", Some(edits)),
            None => ("allow", None),
        },
        (Decision::Modify, Decides::Everything | Decides::Changes) => match modifications(step, verdict) {
            Some(edits) => ("modify", Some(edits)),
            None => {
                codes.push("modification_refused");
                ("deny", None)
            }
        },
        (Decision::Deny | Decision::Modify, Decides::Nothing) => ("allow", None),
    };
    // Approvals are not supported: a request that would need one is told that it is denied for the lack of one.
    if verdict.reason_codes.contains(&ReasonCode::ApprovalRequired) {
        codes.push("approver_unavailable");
    }
    let mut result = allowed(request_id);
    let mut put = |name: &str, value: Value| drop(result.insert(name.to_owned(), value));
    put("decision", json!(decision));
    put("reason_codes", json!(codes));
    if verdict.decision != Decision::Allow {
        put("reasoning", json!(reasoning(verdict, decision, shown)));
    }
    if let Some(modifications) = modifications {
        put("modifications", modifications);
    }
    put(
        "policy_references",
        json!([{ "policy_id": "guardian", "policy_version": verdict.policy_version }]),
    );
    let data = serde_json::to_value(encode::data(verdict, facts, shown)).unwrap_or_default();
    put("policy_data", json!({ "guardian": data }));
    put("metadata", metadata(verdict, facts));
    Ok(Value::Object(result))
}

fn reasoning(verdict: &Verdict, decision: &str, shown: &Disclosure) -> String {
    let mut text = verdict.message.clone();
    if decision == "allow" {
        text.insert_str(
            0,
            "This hook only records; the step would have been stopped or changed: ",
        );
    }
    if shown.reasoning && !verdict.reasoning.is_empty() {
        text.push_str("\n\n");
        text.push_str(&verdict.reasoning);
    }
    text
}

fn metadata(verdict: &Verdict, facts: &Facts) -> Value {
    let mut metadata = json!({
        "evaluator": if verdict.model.is_some() { "composite" } else { "deterministic" },
        "evaluator_version": env!("CARGO_PKG_VERSION"),
        "evaluation_duration_ms": facts.duration_ms.round() as u64,
        "confidence": verdict.confidence,
    });
    if let (Some(model), Some(members)) = (&verdict.model, metadata.as_object_mut()) {
        members.insert("model_id".to_owned(), json!(model));
    }
    metadata
}

const PAYLOAD: &str = "/params/payload";
const ARGUMENTS: &str = "/arguments/";

/// Returns the edits of a verdict: arguments of a call as `parameter_overrides`, all else as `redactions` by pointers into the payload. `None` if one
/// cannot be expressed so.
fn modifications(step: &Step, verdict: &Verdict) -> Option<Value> {
    let modified: Value = serde_json::from_str(verdict.modified.as_ref()?.original.json()).ok()?;
    let mut overrides = Map::new();
    let mut redactions: Vec<(String, Value)> = Vec::new();
    for edit in &verdict.edits {
        let pointer = step.content(edit.content)?.pointer.as_str();
        let path = pointer.strip_prefix(PAYLOAD)?;
        match path.strip_prefix(ARGUMENTS).filter(|_| step.tool_call.is_some()) {
            Some(rest) => {
                let token = rest.split('/').next()?;
                let argument = modified.pointer(&format!("{PAYLOAD}{ARGUMENTS}{token}"))?;
                let value = argument.get("value").unwrap_or(argument).clone();
                overrides.insert(token.replace("~1", "/").replace("~0", "~"), value);
            }
            None if redactions.iter().all(|(known, _)| known != path) => {
                redactions.push((path.to_owned(), modified.pointer(pointer)?.clone()));
            }
            None => {}
        }
    }
    edits(overrides, redactions)
}

/// Withholds every text of a payload: nothing else can be done about what has happened already.
fn withheld(step: &Step) -> Option<Value> {
    let texts = step.contents.iter().filter(|content| content.is_editable());
    let paths = texts.filter_map(|content| Pointer::as_str(&content.pointer).strip_prefix(PAYLOAD));
    let redactions = paths.map(|path| (path.to_owned(), json!("[withheld by the guardian]")));
    edits(Map::new(), redactions.collect())
}

fn edits(overrides: Map<String, Value>, redactions: Vec<(String, Value)>) -> Option<Value> {
    let mut edits = Map::new();
    if !overrides.is_empty() {
        edits.insert("parameter_overrides".to_owned(), Value::Object(overrides));
    }
    if !redactions.is_empty() {
        let redactions = redactions
            .into_iter()
            .map(|(path, value)| json!({ "path": path, "replacement": value }));
        edits.insert("redactions".to_owned(), redactions.collect());
    }
    (!edits.is_empty()).then_some(Value::Object(edits))
}

/// Makes a whole answer around a result or an error.
pub(crate) fn response(id: Option<&RequestId>, outcome: Result<Value, &RpcError>) -> Value {
    let id = match id {
        Some(RequestId::Text(text)) => json!(text),
        Some(RequestId::Integer(digits)) => serde_json::from_str(digits).unwrap_or(Value::Null),
        None => Value::Null,
    };
    match outcome {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(error) => {
            let mut body = json!({ "code": error.code, "message": error.message });
            if let (Some(data), Some(members)) = (&error.data, body.as_object_mut()) {
                members.insert("data".to_owned(), Value::clone(data));
            }
            json!({ "jsonrpc": "2.0", "id": id, "error": body })
        }
    }
}

/// Returns `true` if a step is a mark without words and data, which is not judged.
pub(crate) fn is_empty_mark(named: Option<Named>, step: &Step) -> bool {
    let marks = matches!(named, Some(Named::Hook(hook)) if Hook::is_mark(hook));
    let has_words = step
        .contents
        .iter()
        .any(|content| content.place == crate::model::Place::Body);
    marks && !has_words && step.data.is_empty()
}
