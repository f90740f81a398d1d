//! Whatever changes what a judge is shown changes the fingerprint of the question.
//!
//! Each leaf of varied requests is changed in turn; so is each field of findings and of the session. Where the prompt,
//! rendered under the same marks, differs from that of the unchanged step, the fingerprint has to differ too.

use std::sync::Arc;

use aos_guardian::cache::{Fingerprint, Scope};
use aos_guardian::model::{
    Confidence, ContentId, Earlier, EarlierText, Excerpt, Finding, FirstRead, History, Kind, Method, NOTHING_WITHHELD,
    Noted, OrganisationId, Origin, Outcome, Pointer, Reappears, ReasonCode, Request, Severity, Step, Suspicion,
    Treatment, View, Voice,
};
use aos_guardian::policy::Policy;
use aos_guardian::prompt::{Length, Marks, PromptInput, Prompts, Reasoning};
use aos_guardian::wire::{Limits, decode_step};
use serde_json::{Value, json};

/// What a field is called, and how it is changed.
type Change<T> = (&'static str, fn(&mut T));

/// What one question is made of.
#[derive(Clone)]
struct Asked {
    step: Arc<Step>,
    findings: Vec<Finding>,
    suspicion: Option<Suspicion>,
    history: History,
}

struct Shown {
    prompts: Prompts,
    policy: Policy,
    marks: Marks,
}

impl Shown {
    fn new() -> Self {
        Self {
            prompts: Prompts::builtin().unwrap(),
            policy: Policy::standard().unwrap(),
            marks: Marks::fixed("0".repeat(32), "1".repeat(32)),
        }
    }

    fn prompt(&self, asked: &Asked) -> (String, String) {
        let input = PromptInput {
            step: &asked.step,
            findings: &asked.findings,
            withheld: &NOTHING_WITHHELD,
            suspicion: asked.suspicion.as_ref(),
            history: &asked.history,
            policy: &self.policy,
            length: Length::Full,
            budget_tokens: 12_000,
            reasoning: Reasoning::Shown,
            ranks: None,
            part: None,
        };
        let rendered = self.prompts.render(&input, &self.marks).unwrap();
        (rendered.system, rendered.user)
    }

    fn fingerprint(&self, asked: &Asked) -> Fingerprint {
        let scope = Scope {
            organisation: &OrganisationId::new("acme"),
            policy_version: &self.policy.version,
            prompt_version: self.prompts.version(),
            judge: "m",
        };
        Fingerprint::of(
            &scope,
            &asked.step,
            &asked.findings,
            asked.suspicion.as_ref(),
            &asked.history,
        )
    }

    /// Whether the prompt changed; panics where it did and the fingerprint did not.
    fn differs(&self, base: &Asked, changed: &Asked, what: &str) -> bool {
        let differs = self.prompt(base) != self.prompt(changed);
        if differs {
            assert!(
                self.fingerprint(base) != self.fingerprint(changed),
                "the prompt changes with {what}, the fingerprint does not"
            );
        }
        differs
    }
}

fn decoded(request: &Value) -> Option<Arc<Step>> {
    decode_step(request.to_string(), &Limits::default())
        .ok()
        .map(|(_, step)| step)
}

/// Requests of several methods, with every field that a judge may be shown.
fn requests() -> Vec<Value> {
    let context = json!({
        "agent": {
            "id": "desk", "name": "Desk", "description": "Helps at the desk.", "instructions": "Answer about tools.",
            "provider": {"name": "Acme", "url": "https://acme.example"},
            "tools": [{"id": "mail.send", "name": "Send mail", "description": "Sends a mail.", "arguments": [
                {"name": "to", "type": "string", "description": "the recipient", "required": true},
                {"name": "count", "type": "integer", "required": false}]}]
        },
        "session": {"id": "s-1"}, "user": {"id": "u-1", "email": "ann@acme.example"}, "turnId": "t1", "stepId": "s1"
    });
    let step = |method: &str, body: Value| {
        let mut params = body;
        params["context"] = context.clone();
        json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    };
    vec![
        step(
            "steps/message",
            json!({"message": {"id": "m1", "role": "user", "content": [
                {"kind": "text", "text": "What does a hammer cost?"},
                {"kind": "data", "data": {"shelf": 4, "urgent": false, "tags": ["a", null]}},
                {"kind": "file", "file": {"name": "a.png", "mimeType": "image/png", "bytes": "iVBORw0KGgo="}},
                {"kind": "file", "file": {"name": "b.txt", "mimeType": "text/plain", "bytes": "aGVsbG8gd29ybGQ="}}]}}),
        ),
        step(
            "steps/toolCallRequest",
            json!({"reasoning": "The user wants it.", "toolCallRequest": {"executionId": "e1", "toolId": "mail.send",
                "inputs": [{"name": "to", "value": "ann@acme.example"}, {"name": "count", "value": 3},
                    {"name": "more", "value": {"deep": [1, 2.5, true, "x"]}}]}}),
        ),
        step(
            "steps/toolCallResult",
            json!({"executionId": "e1", "result": {"isError": false, "outputs": [
                {"kind": "text", "text": "Sent to ann."}, {"kind": "data", "data": {"id": 12345678901u64}}]}}),
        ),
        step(
            "steps/knowledgeRetrieval",
            json!({"knowledgeStep": {"query": "hammers", "keywords": ["h"], "results": [{"id": "k1", "content": "A hammer."}]}}),
        ),
        step("steps/memoryStore", json!({"memory": ["likes hammers"]})),
        step(
            "steps/agentTrigger",
            json!({"trigger": {"type": "autonomous", "id": "g1", "content": [{"kind": "text", "text": "Mail came."}]}}),
        ),
        step(
            "protocols/MCP",
            json!({"message": {"jsonrpc": "2.0", "id": 2, "method": "tools/call",
                "params": {"name": "mail.send", "arguments": {"to": "ann", "n": 1}}}}),
        ),
        step(
            "protocols/MCP",
            json!({"message": {"jsonrpc": "2.0", "id": 2, "result": {"tools": [{"name": "t", "description": "does it",
                "inputSchema": {"type": "object", "properties": {"a": {"type": "string", "description": "an a"}}}}]}}}),
        ),
        step(
            "message/send",
            json!({"payload": {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": {
                "kind": "message", "role": "user", "messageId": "x", "parts": [{"kind": "text", "text": "Book it."}]}}}}),
        ),
    ]
}

/// The same value with one leaf changed, for each leaf, with its pointer.
fn with_each_leaf_changed(request: &Value) -> Vec<(String, Value)> {
    let mut changed = Vec::new();
    let mut open = vec![String::new()];
    while let Some(pointer) = open.pop() {
        match request.pointer(&pointer).unwrap() {
            Value::Object(members) => open.extend(members.keys().map(|key| format!("{pointer}/{key}"))),
            Value::Array(items) => open.extend((0..items.len()).map(|index| format!("{pointer}/{index}"))),
            leaf => {
                let other = match leaf {
                    Value::String(text) => json!(format!("{text}x")),
                    Value::Number(_) => json!(77),
                    Value::Bool(on) => json!(!on),
                    _ => json!("was null"),
                };
                let mut request = request.clone();
                *request.pointer_mut(&pointer).unwrap() = other;
                changed.push((pointer, request));
            }
        }
    }
    changed
}

#[test]
fn every_leaf_of_a_request_that_is_shown_counts() {
    let shown = Shown::new();
    let mut seen = 0;
    for request in requests() {
        let step = decoded(&request).unwrap();
        // A finding in each content: then nothing of the surroundings is left out of the prompt for want of interest.
        for everything_found in [false, true] {
            let found = |step: &Arc<Step>| Asked {
                step: Arc::clone(step),
                findings: if everything_found {
                    step.contents
                        .iter()
                        .take(40)
                        .map(|content| finding(content.id, content.pointer.clone()))
                        .collect()
                } else {
                    Vec::new()
                },
                suspicion: None,
                history: History::default(),
            };
            let base = found(&step);
            for (pointer, changed) in with_each_leaf_changed(&request) {
                if let Some(step) = decoded(&changed) {
                    seen +=
                        usize::from(shown.differs(&base, &found(&step), &format!("{} {pointer}", request["method"])));
                }
            }
        }
    }
    assert!(seen > 100, "only {seen} leaves change the prompt");
}

fn finding(content: ContentId, pointer: Pointer) -> Finding {
    Finding {
        rule: "test.rule".to_owned(),
        reason: ReasonCode::Obfuscation,
        severity: Severity::Medium,
        confidence: Confidence::Medium,
        content: Some(content),
        pointer,
        span: 0..1,
        view: View::Raw,
        suggested: Treatment::Evidence,
        explanation: "something was seen".to_owned(),
    }
}

#[test]
fn every_field_of_a_finding_that_is_shown_counts() {
    let shown = Shown::new();
    let step = decoded(&requests()[0]).unwrap();
    let content = step
        .contents
        .iter()
        .find(|content| content.text.contains("hammer"))
        .unwrap();
    let one = finding(content.id, content.pointer.clone());
    let asked = |finding: Finding| Asked {
        step: Arc::clone(&step),
        findings: vec![finding],
        suspicion: None,
        history: History::default(),
    };
    let base = asked(one.clone());
    let changes: [Change<Finding>; 9] = [
        ("rule", |f| f.rule = "test.other".to_owned()),
        ("reason", |f| f.reason = ReasonCode::PromptInjection),
        ("severity", |f| f.severity = Severity::Critical),
        ("confidence", |f| f.confidence = Confidence::High),
        ("content", |f| f.content = None),
        ("span", |f| f.span = 5..9),
        ("view", |f| f.view = View::Decoded),
        ("suggested", |f| f.suggested = Treatment::Deny),
        ("explanation", |f| f.explanation = "something else was seen".to_owned()),
    ];
    let mut seen = 0;
    for (name, change) in changes {
        let mut other = one.clone();
        change(&mut other);
        seen += usize::from(shown.differs(&base, &asked(other), name));
    }
    assert!(seen >= 6, "only {seen} fields change the prompt");
}

#[test]
fn a_suspicion_that_is_shown_counts() {
    let shown = Shown::new();
    let step = decoded(&requests()[0]).unwrap();
    let asked = |suspicion: Option<Suspicion>| Asked {
        step: Arc::clone(&step),
        findings: Vec::new(),
        suspicion,
        history: History::default(),
    };
    let suspicion = Suspicion {
        rule: "test.rule".to_owned(),
        why: "one".to_owned(),
    };
    let base = asked(Some(suspicion.clone()));
    let rule = "test.other".to_owned();
    let why = "another".to_owned();
    for (name, other) in [
        ("none", None),
        (
            "rule",
            Some(Suspicion {
                rule,
                ..suspicion.clone()
            }),
        ),
        ("why", Some(Suspicion { why, ..suspicion })),
    ] {
        assert!(shown.differs(&base, &asked(other), name), "{name} changes the prompt");
    }
}

fn earlier() -> Earlier {
    Earlier {
        number: 2,
        last: 2,
        times: 1,
        method: Method::ToolCallResult,
        kind: Kind::ToolResult,
        tool: Some("mail.read".to_owned()),
        outcome: Outcome::Allowed,
        reasons: Vec::new(),
        said: vec![EarlierText {
            origin: Origin::ToolOutput,
            pointer: Pointer::new("/params/result"),
            label: None,
            text: Excerpt::of("Paid.", 100),
        }],
        unsaid: 0,
        noted: vec![Noted {
            rule: "test.rule".to_owned(),
            reason: ReasonCode::Obfuscation,
            severity: Severity::Medium,
            confidence: Confidence::Medium,
            pointer: Pointer::new("/params/result"),
        }],
    }
}

fn request() -> Request {
    Request {
        number: 1,
        step: 1,
        text: Excerpt::of("Pay Ann.", 100),
        answers: None,
    }
}

fn first_read() -> FirstRead {
    FirstRead {
        step: 2,
        origin: Origin::ToolOutput,
        tool: Some("mail.read".to_owned()),
        pointer: Pointer::new("/params/result"),
        of: vec![Reappears {
            content: Some(ContentId::from_index(3)),
            pointer: Pointer::new("/params/message"),
            text: "ann@shop.example".to_owned(),
        }],
        before: 40,
        text: "write to ann@shop.example soon".to_owned(),
        after: 2,
    }
}

#[test]
fn everything_that_is_shown_of_where_something_was_read_first_counts() {
    let shown = Shown::new();
    let step = decoded(&requests()[1]).unwrap();
    let asked = |read: FirstRead| Asked {
        step: Arc::clone(&step),
        findings: Vec::new(),
        suspicion: None,
        history: History {
            first_read: vec![read],
            ..History::default()
        },
    };
    let changes: [Change<FirstRead>; 8] = [
        ("step", |r| r.step = 3),
        ("origin", |r| r.origin = Origin::Knowledge),
        ("tool", |r| r.tool = None),
        ("what reappears", |r| r.of[0].text = "eve@evil.example".to_owned()),
        ("where it reappears", |r| r.of[0].content = None),
        ("what is before", |r| r.before = 0),
        ("the words", |r| r.text = "do not write to ann@shop.example".to_owned()),
        ("what is after", |r| r.after = 0),
    ];
    for (name, change) in changes {
        let mut other = first_read();
        change(&mut other);
        assert!(shown.differs(&asked(first_read()), &asked(other), name), "{name}");
    }
}

#[test]
fn every_part_of_the_session_that_is_shown_counts() {
    let shown = Shown::new();
    let step = decoded(&requests()[1]).unwrap();
    let asked = |request: Request, earlier: Earlier, more: (usize, usize), voice: Voice| Asked {
        step: Arc::clone(&step),
        findings: Vec::new(),
        suspicion: None,
        history: History {
            requests: vec![Arc::new(request)],
            more_requests: more.0,
            first_read: vec![first_read()],
            steps: vec![Arc::new(earlier)],
            more_steps: more.1,
            voice,
            gap: None,
        },
    };
    let base = asked(request(), earlier(), (0, 0), Voice::Heard);
    let of_steps: [Change<Earlier>; 11] = [
        ("number", |e| e.number = 3),
        ("last and times", |e| (e.last, e.times) = (9, 4)),
        ("kind", |e| e.kind = Kind::Knowledge),
        ("method", |e| e.method = Method::KnowledgeRetrieval),
        ("tool", |e| e.tool = Some("bank.pay".to_owned())),
        ("outcome", |e| e.outcome = Outcome::Denied),
        ("reasons", |e| e.reasons = vec![ReasonCode::GoalHijack]),
        ("said", |e| e.said[0].text = Excerpt::of("Not paid.", 100)),
        ("who said it", |e| e.said[0].origin = Origin::Knowledge),
        ("unsaid", |e| e.unsaid = 3),
        ("noted", |e| e.noted[0].rule = "test.other".to_owned()),
    ];
    let mut seen = 0;
    for (name, change) in of_steps {
        let mut other = earlier();
        change(&mut other);
        seen += usize::from(shown.differs(&base, &asked(request(), other, (0, 0), Voice::Heard), name));
    }
    let of_requests: [Change<Request>; 3] = [
        ("the request's number", |r| r.number = 2),
        ("the request's text", |r| r.text = Excerpt::of("Pay Eve.", 100)),
        ("what it answers", |r| r.answers = Some(1)),
    ];
    for (name, change) in of_requests {
        let mut other = request();
        change(&mut other);
        seen += usize::from(shown.differs(&base, &asked(other, earlier(), (0, 0), Voice::Heard), name));
    }
    for (name, more, voice) in [
        ("more requests", (1, 0), Voice::Heard),
        ("more steps", (0, 1), Voice::Heard),
        ("the voice", (0, 0), Voice::Refused),
    ] {
        seen += usize::from(shown.differs(&base, &asked(request(), earlier(), more, voice), name));
    }
    assert!(seen >= 12, "only {seen} changes change the prompt");
}
