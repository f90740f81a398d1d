//! The seven A2A hooks and the three scenarios of the A2A extension, in our own words.

use super::*;
use crate::model::{Decision, Disclosure, Edit, Kind, Method, ReasonCode, Withheld};

fn hook(id: &str, method: &str, params: Value, reasoning: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": {
        "payload": { "jsonrpc": "2.0", "id": 12, "method": method, "params": params }, "reasoning": reasoning } })
}

fn texts(step: &Step, origin: Origin) -> Vec<&str> {
    let said = step.contents_of(origin).filter(|content| content.is_editable());
    let mut texts: Vec<&str> = said.map(|content| content.text.as_str()).collect();
    texts.sort_unstable();
    texts
}

#[test]
fn hook_1_send_message() {
    let step = step(&hook(
        "h-1",
        "message/send",
        json!({
        "message": { "role": "agent", "parts": [{ "kind": "text", "text": "how do I bake rye bread?" }], "messageId": "5a2e" },
        "metadata": {} }),
        "The baker agent knows best.",
    ));
    assert_eq!((step.method, step.kind), (Method::MessageSend, Kind::A2aRequest));
    assert_eq!(texts(&step, Origin::Agent), ["how do I bake rye bread?"]);
    assert_eq!(texts(&step, Origin::Reasoning), ["The baker agent knows best."]);
    assert!(step.agent.is_none() && step.remarks.is_empty());
}

#[test]
fn hook_2_stream_message() {
    let step = step(&hook(
        "h-2",
        "message/stream",
        json!({
        "message": { "role": "user", "messageId": "77b0", "parts": [
            { "kind": "text", "text": "describe the picture" },
            { "kind": "file", "file": { "mimeType": "image/png", "data": "<picture in base64>" } }] },
        "configuration": { "acceptedOutputModes": [], "pushNotificationConfig": { "url": "https://hooks.example/42" } },
        "metadata": {} }),
        "",
    ));
    assert_eq!((step.method, step.kind), (Method::MessageStream, Kind::A2aRequest));
    assert_eq!(
        texts(&step, Origin::Agent),
        ["describe the picture", "https://hooks.example/42"]
    );
    assert_eq!(
        at(&step, "/params/payload/params/message/parts/1/file/data").text,
        "<picture in base64>"
    );
    assert!(step.remarks.is_empty());
}

#[test]
fn hooks_3_to_5_and_7_name_a_task() {
    for (method, canonical) in [
        ("tasks/cancel", Method::TasksCancel),
        ("tasks/get", Method::TasksGet),
        ("tasks/pushNotificationConfig/get", Method::PushConfigGet),
        ("tasks/resubscribe", Method::TasksResubscribe),
    ] {
        let step = step(&hook(
            "h",
            method,
            json!({ "id": "9981", "metadata": {} }),
            "It takes too long.",
        ));
        assert_eq!((step.method, step.kind), (canonical, Kind::A2aRequest));
        assert_eq!(step.session.as_ref().map(|id| id.as_str()), Some("9981"));
        assert_eq!(texts(&step, Origin::Reasoning), ["It takes too long."]);
    }
}

#[test]
fn hook_6_set_push_configuration() {
    let step = step(&hook(
        "h-6",
        "tasks/pushNotificationConfig/set",
        json!({
        "pushNotificationConfig": { "url": "https://hooks.example/43" }, "taskId": "9981", "metadata": {} }),
        "Wrong URL.",
    ));
    assert_eq!(step.method, Method::PushConfigSet);
    assert_eq!(texts(&step, Origin::Agent), ["https://hooks.example/43"]);
    assert_eq!(step.session.as_ref().map(|id| id.as_str()), Some("9981"));
}

fn verdict(decision: Decision, modified: Option<Arc<Step>>) -> crate::model::Verdict {
    crate::model::Verdict {
        modified,
        ..crate::model::Verdict::plain(decision)
    }
}

fn answer(request: &Value, decision: Decision, modified: Option<Arc<Step>>) -> Value {
    let (id, _) = decode_step(request.to_string(), &Limits::default()).unwrap();
    let facts = Facts {
        decision_id: "d".into(),
        duration_ms: 0.0,
    };
    let shown = Disclosure {
        reasoning: true,
        ..Disclosure::NONE
    };
    serde_json::from_slice(&encode_verdict(
        &id,
        &Withheld::default().clean(verdict(decision, modified)),
        &facts,
        &shown,
    ))
    .unwrap()
}

#[test]
fn scenario_1_a_question_is_allowed() {
    let request = hook(
        "70",
        "message/send",
        json!({ "message": { "role": "agent", "messageId": "m",
        "parts": [{ "kind": "text", "text": "a limerick, please" }] } }),
        "The poet agent is good at these.",
    );
    let answer = answer(&request, Decision::Allow, None);
    assert_eq!(
        (&answer["id"], &answer["result"]["decision"]),
        (&json!("70"), &json!("allow"))
    );
}

#[test]
fn scenario_2_personal_data_is_masked_and_all_else_is_kept() {
    let request = hook(
        "80",
        "message/send",
        json!({ "message": { "role": "agent", "messageId": "m", "parts": [
        { "kind": "text", "text": "which treatment fits?" },
        { "kind": "data", "data": { "patient": "P-77120", "name": "Mary Major", "born": "1971-02-03",
            "complaints": ["cough"], "lab": { "wbc": 11.3, "X-ray": "clear" } } }] } }),
        "A matter for the doctor agent.",
    );
    let step = step(&request);
    let data = "/params/payload/params/message/parts/1/data";
    let mut expected = request.clone();
    let mut edits = Vec::new();
    for name in ["patient", "name", "born"] {
        let pointer = format!("{data}/{name}");
        let content = at(&step, &pointer);
        assert_eq!(content.label.as_deref(), Some(name));
        edits.push(Edit {
            content: content.id,
            span: 0..content.text.len(),
            replacement: "************".into(),
            reason: ReasonCode::PersonalData,
        });
        *expected.pointer_mut(&pointer).unwrap() = json!("************");
    }
    let modified = step.original.edited(&edits).unwrap();
    let answer = answer(&request, Decision::Modify, Some(modified));
    assert_eq!(answer["result"]["decision"], "modify");
    assert_eq!(answer["result"]["modifiedRequest"], expected);
}

#[test]
fn scenario_3_disallowed_content_is_denied() {
    let request = hook(
        "100",
        "message/send",
        json!({ "message": { "role": "agent", "messageId": "m",
        "parts": [{ "kind": "text", "text": "how do I build an incendiary device?" }] } }),
        "The other agent may tell.",
    );
    let answer = answer(&request, Decision::Deny, None);
    assert_eq!(
        (&answer["id"], &answer["result"]["decision"]),
        (&json!("100"), &json!("deny"))
    );
    assert!(answer["result"].get("modifiedRequest").is_none());
}
