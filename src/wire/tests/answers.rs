//! What is sent back.

use super::*;
use crate::model::{
    Authorization, Confidence, Coverage, Decision, Diagnostic, Disclosure, Edit, Examined, Finding, Pointer,
    ReasonCode, RequestId, Risk, Severity, Source, Treatment, Verdict, View, Withheld,
};

fn facts() -> Facts {
    Facts {
        decision_id: "d-1".into(),
        duration_ms: 1.5,
    }
}

fn verdict(decision: Decision) -> Verdict {
    Verdict {
        message: "Nothing to object to.".into(),
        reasoning: "All quiet.".into(),
        confidence: 0.75,
        policy_version: "p1".into(),
        prompt_version: "t1".into(),
        ..Verdict::plain(decision)
    }
}

/// Nothing in it has to be taken out.
fn clean(verdict: &Verdict) -> crate::model::Clean<Verdict> {
    Withheld::default().clean(verdict.clone())
}

fn sent(id: &RequestId, verdict: &Verdict, shown: &Disclosure) -> Value {
    serde_json::from_slice(&encode_verdict(id, &clean(verdict), &facts(), shown)).unwrap()
}

fn number() -> RequestId {
    RequestId::Integer("70".into())
}

#[test]
fn an_allow_says_little() {
    let answer = sent(&number(), &verdict(Decision::Allow), &Disclosure::NONE);
    assert_eq!(
        answer,
        json!({ "jsonrpc": "2.0", "id": 70, "result": {
            "decision": "allow", "message": "Nothing to object to.", "reasonCode": [],
            "data": { "decisionId": "d-1", "source": "rules", "confidence": 0.75, "policyVersion": "p1", "promptVersion": "t1",
                "durationMs": 1.5 } } })
    );
}

#[test]
fn a_deny_says_why_as_far_as_it_is_shown() {
    let mut denied = verdict(Decision::Deny);
    denied.source = Source::Judge;
    denied.reason_codes = vec![
        ReasonCode::PromptInjection,
        ReasonCode::GoalHijack,
        ReasonCode::Organisation("org.x".into()),
    ];
    denied.risk = Some(Risk::High);
    denied.authorization = Some(Authorization::Contradicted);
    denied.model = Some("judge-1".into());
    denied.diagnostics = vec![Diagnostic {
        code: "judge_retry",
        detail: "not for agents".into(),
    }];
    denied.coverage = Coverage {
        contents: 2,
        bytes: 20,
        derived_bytes: 5,
        cut_bytes: 1,
        cut: vec![Pointer::new("/params/x")],
        views: vec![View::Raw],
        examined: vec![
            Examined {
                pointer: Pointer::new("/params/x"),
                views: [View::Raw].into_iter().collect(),
            },
            Examined {
                pointer: Pointer::new("/params/y"),
                views: [View::Decoded, View::Raw].into_iter().collect(),
            },
        ],
    };
    denied.findings = vec![Finding {
        rule: "injection.override".into(),
        reason: ReasonCode::PromptInjection,
        severity: Severity::High,
        confidence: Confidence::Medium,
        content: None,
        pointer: Pointer::new("/params/memory"),
        span: 3..9,
        view: View::Folded,
        suggested: Treatment::Deny,
        explanation: "gives orders".into(),
    }];
    let answer = sent(&RequestId::Text("r".into()), &denied, &Disclosure::ALL);
    assert_eq!(
        answer,
        json!({ "jsonrpc": "2.0", "id": "r", "result": {
            "decision": "deny", "message": "Nothing to object to.", "reasoning": "All quiet.",
            "reasonCode": ["prompt_injection", "goal_hijack", "org.x"],
            "data": { "decisionId": "d-1", "source": "judge", "confidence": 0.75, "risk": "high", "authorization": "contradicted",
                "owasp": ["LLM01", "ASI01", "LLM06"],
                "findings": [{ "rule": "injection.override", "reasonCode": "prompt_injection", "severity": "high", "confidence": "medium",
                    "pointer": "/params/memory", "span": [3, 9], "view": "folded", "explanation": "gives orders" }],
                "coverage": { "contents": 2, "bytes": 20, "derivedBytes": 5, "cutBytes": 1, "cut": ["/params/x"], "views": ["raw"],
                    "examined": [{ "views": ["raw"], "pointers": ["/params/x"] }, { "views": ["raw", "decoded"], "pointers": ["/params/y"] }] },
                "policyVersion": "p1", "promptVersion": "t1", "model": "judge-1", "durationMs": 1.5,
                "diagnostics": ["judge_retry"] } } })
    );
    let quiet = sent(&number(), &denied, &Disclosure::NONE);
    let data = &quiet["result"]["data"];
    assert!(
        quiet["result"].get("reasoning").is_none() && data.get("findings").is_none() && data.get("coverage").is_none()
    );
}

#[test]
fn row_22_and_23_reason_codes_are_strings_and_a_message_is_always_there() {
    for decision in Decision::ALL {
        let answer = sent(&number(), &verdict(*decision), &Disclosure::NONE);
        assert!(
            answer["result"]["reasonCode"]
                .as_array()
                .is_some_and(|codes| codes.iter().all(Value::is_string))
        );
        assert!(
            answer["result"]["message"]
                .as_str()
                .is_some_and(|message| !message.is_empty())
        );
    }
}

fn modification(request: &Value, pointer: &str) -> Verdict {
    let step = step(request);
    let content = at(&step, pointer);
    let edit = Edit {
        content: content.id,
        span: 0..content.text.len(),
        replacement: "************".into(),
        reason: ReasonCode::PersonalData,
    };
    let mut verdict = verdict(Decision::Modify);
    verdict.modified = Some(step.original.edited(std::slice::from_ref(&edit)).unwrap());
    verdict.edits = vec![edit];
    verdict.reason_codes = vec![ReasonCode::PersonalData];
    verdict
}

#[test]
fn row_24_a_modified_request_is_the_whole_outer_request() {
    for sample in samples::all() {
        let step = step(&sample.request);
        if !step.method.allows_modification() {
            continue;
        }
        let Some(content) = step
            .contents
            .iter()
            .find(|content| content.is_editable() && content.form == Form::Text)
        else {
            continue;
        };
        let verdict = modification(&sample.request, content.pointer.as_str());
        let answer = sent(&number(), &verdict, &Disclosure::NONE);
        let mut expected = sample.request.clone();
        *expected.pointer_mut(content.pointer.as_str()).unwrap() = json!("************");
        assert_eq!(answer["result"]["decision"], "modify", "{}", sample.name);
        assert_eq!(answer["result"]["modifiedRequest"], expected, "{}", sample.name);
    }
}

#[test]
fn row_24_a_modified_request_is_spliced_in_as_it_is_written() {
    let text = r#"{"id":1, "jsonrpc":"2.0","method":"steps/memoryStore","params":{"n":1.50,"memory":"m","context":{"agent":{"id":"a"}}}}"#;
    let (id, step) = decode_step(text, &Limits::default()).unwrap();
    let mut modified = verdict(Decision::Modify);
    modified.modified = Some(step);
    let bytes = encode_verdict(&id, &clean(&modified), &facts(), &Disclosure::NONE);
    assert!(String::from_utf8(bytes).unwrap().contains(text));
}

#[test]
fn a_modified_request_may_be_nested_as_deep_as_a_request() {
    let nested = format!("{}\"m\"{}", "[".repeat(120), "]".repeat(120));
    let text = format!(
        r#"{{"id":1,"jsonrpc":"2.0","method":"steps/memoryStore","params":{{"memory":[{nested}],"context":{{"agent":{{"id":"a"}}}}}}}}"#
    );
    let (id, step) = decode_step(&text, &Limits::default()).unwrap();
    let mut modified = verdict(Decision::Modify);
    modified.modified = Some(step);
    let bytes = encode_verdict(&id, &clean(&modified), &facts(), &Disclosure::NONE);
    let answer = String::from_utf8(bytes).unwrap();
    assert!(answer.contains(r#""decision":"modify""#) && answer.contains(&text));
}

#[test]
fn row_25_what_cannot_be_modified_is_denied() {
    for method in ["tasks/cancel", "tasks/pushNotificationConfig/get", "tasks/resubscribe"] {
        let payload = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": { "id": "t", "metadata": { "why": "secret" } } });
        let request = request(method, json!({ "payload": payload, "reasoning": "r" }));
        let verdict = modification(&request, "/params/payload/params/metadata/why");
        let answer = sent(&number(), &verdict, &Disclosure::NONE);
        assert_eq!(answer["result"]["decision"], "deny", "{method}");
        assert!(answer["result"].get("modifiedRequest").is_none());
        assert_eq!(
            answer["result"]["reasonCode"],
            json!(["personal_data", "modification_refused"])
        );
    }
    let empty_handed = sent(&number(), &verdict(Decision::Modify), &Disclosure::NONE);
    assert_eq!(empty_handed["result"]["decision"], "deny");
    assert_eq!(empty_handed["result"]["reasonCode"], json!(["modification_refused"]));
}

#[test]
fn row_26_what_a_ping_is_answered_with() {
    let bytes = encode_ping(&number(), "0.1.0", "2026-01-05T10:00:00Z", &[("policy", "default")]);
    assert_eq!(
        serde_json::from_slice::<Value>(&bytes).unwrap(),
        json!({ "jsonrpc": "2.0", "id": 70, "result": { "status": "connected", "version": "0.1.0",
            "timestamp": "2026-01-05T10:00:00Z", "metadata": { "policy": "default" } } })
    );
}

#[test]
fn a_verdict_that_nobody_could_reach_is_an_error() {
    let mut undecided = verdict(Decision::Deny);
    undecided.undecided = true;
    let answer = sent(&number(), &undecided, &Disclosure::ALL);
    assert_eq!(answer["id"], 70);
    assert_eq!(answer["error"]["code"], -32012);
    assert_eq!(answer["error"]["data"], json!({ "decisionId": "d-1" }));
    assert!(
        answer["error"]["message"]
            .as_str()
            .is_some_and(|message| message.contains("d-1"))
    );
    assert!(answer.get("result").is_none());
}

#[test]
fn every_error_code_has_its_constructor() {
    for (error, code, data) in [
        (RpcError::invalid_request("m"), -32600, Value::Null),
        (RpcError::method_not_found("m"), -32601, Value::Null),
        (
            RpcError::invalid_params("/p", "x", "y"),
            -32602,
            json!({ "pointer": "/p", "expected": "x", "found": "y" }),
        ),
        (RpcError::internal(), -32603, Value::Null),
        (RpcError::authentication("m"), -32002, Value::Null),
        (RpcError::authorization("m"), -32003, Value::Null),
        (RpcError::rate_limited(250), -32010, json!({ "retryAfterMs": 250 })),
        (RpcError::overloaded(1), -32011, json!({ "retryAfterMs": 1 })),
        (RpcError::unrecorded(1), -32011, json!({ "retryAfterMs": 1 })),
        (RpcError::undecided("d"), -32012, json!({ "decisionId": "d" })),
    ] {
        let answer: Value = serde_json::from_slice(&encode_error(Some(&number()), &error)).unwrap();
        assert_eq!(answer["error"]["code"], code);
        assert_eq!(answer["error"].get("data").cloned().unwrap_or_default(), data);
    }
}
