//! Messages of A2A and MCP, in every wrapping.

use super::*;
use crate::model::{Kind, Method};

#[test]
fn row_01_a2a_payload_in_params_or_beside_them() {
    let payload = inner("message/send", say("hi"));
    let inside = step(&request(
        "message/send",
        json!({ "payload": payload, "reasoning": "r" }),
    ));
    assert_eq!(
        origin(&inside, "/params/payload/params/message/parts/0/text"),
        Origin::Agent
    );
    let beside = json!({ "jsonrpc": "2.0", "id": 1, "method": "message/send", "payload": payload, "reasoning": "r",
        "context": { "agent": { "id": "a", "instructions": "i" }, "session": { "id": "s" } } });
    let beside = step(&beside);
    assert_eq!(origin(&beside, "/payload/params/message/parts/0/text"), Origin::Agent);
    assert_eq!(origin(&beside, "/reasoning"), Origin::Reasoning);
    assert_eq!(origin(&beside, "/context/agent/instructions"), Origin::Instructions);
    assert_eq!(
        beside
            .agent
            .as_ref()
            .and_then(|agent| agent.id.as_ref())
            .map(|id| id.as_str()),
        Some("a")
    );
    assert_eq!(beside.session.as_ref().map(|session| session.as_str()), Some("s"));
    // Both at once: the one in `params` counts, the other is screened and remarked upon.
    let mut both = request("message/send", json!({ "payload": payload }));
    both["payload"] = inner("message/send", say("decoy"));
    let both = step(&both);
    assert_eq!(origin(&both, "/payload/params/message/parts/0/text"), Origin::Unknown);
    assert_eq!(both.remarks.len(), 1);
    assert_eq!(both.remarks[0].pointer.as_str(), "/payload");
}

#[test]
fn row_02_a2a_without_context_with_one_and_with_two_sides() {
    let bare = step(&request(
        "message/send",
        json!({ "payload": inner("message/send", say("hi")) }),
    ));
    assert!(bare.agent.is_none() && bare.session.is_none() && bare.user.is_none());

    let payload = inner(
        "message/send",
        json!({ "message": { "parts": [], "contextId": "c-1", "taskId": "t-1" } }),
    );
    let conversation = step(&request("message/send", json!({ "payload": payload })));
    assert_eq!(conversation.session.as_ref().map(|id| id.as_str()), Some("c-1"));
    let task = step(&request(
        "tasks/get",
        json!({ "payload": inner("tasks/get", json!({ "id": "t-2" })) }),
    ));
    assert_eq!(task.session.as_ref().map(|id| id.as_str()), Some("t-2"));

    let context = json!({ "agent": { "id": "a" }, "session": { "id": "s" }, "user": { "id": "u" } });
    let with_context = step(&request(
        "message/send",
        json!({ "payload": payload, "context": context }),
    ));
    assert_eq!(with_context.session.as_ref().map(|id| id.as_str()), Some("s"));
    assert_eq!(with_context.user.as_ref().map(|id| id.as_str()), Some("u"));

    for (from, to, observed) in [("client", "server", "f"), ("server", "client", "t")] {
        let sides = json!({ "from": { "agent": { "id": "f", "instructions": "x" }, "role": from },
            "to": { "agent": { "id": "t", "instructions": "y" }, "role": to } });
        let step = step(&request(
            "message/send",
            json!({ "payload": payload, "context": sides }),
        ));
        assert_eq!(
            step.agent
                .as_ref()
                .and_then(|agent| agent.id.as_ref())
                .map(|id| id.as_str()),
            Some(observed)
        );
        let (own, other) = if observed == "f" {
            ("from", "to")
        } else {
            ("to", "from")
        };
        assert_eq!(
            origin(&step, &format!("/params/context/{own}/agent/instructions")),
            Origin::Instructions
        );
        assert_eq!(
            origin(&step, &format!("/params/context/{other}/agent/instructions")),
            Origin::RemoteAgent
        );
    }
}

#[test]
fn row_03_a2a_answers_and_bare_stream_events() {
    let answer = json!({ "jsonrpc": "2.0", "id": 7, "result": { "kind": "task", "id": "t", "contextId": "c",
        "status": { "state": "completed" }, "history": [{ "role": "user", "parts": [{ "kind": "text", "text": "echo" }] }] } });
    let step_of = |payload: Value| step(&request("message/send", json!({ "payload": payload })));
    let answered = step_of(answer);
    assert_eq!(answered.kind, Kind::A2aResponse);
    assert_eq!(answered.session.as_ref().map(|id| id.as_str()), Some("c"));
    // What a remote agent says that we said is still what a remote agent says.
    assert_eq!(
        origin(&answered, "/params/payload/result/history/0/parts/0/text"),
        Origin::RemoteAgent
    );
    assert_eq!(
        step_of(json!({ "jsonrpc": "2.0", "id": 7, "error": { "code": -32001, "message": "no" } })).kind,
        Kind::A2aResponse
    );
    for kind in ["status-update", "artifact-update", "task", "message"] {
        let event = json!({ "kind": kind, "contextId": "c", "text": "x", "parts": [{ "kind": "text", "text": "y" }] });
        let event = step_of(event);
        assert_eq!(event.kind, Kind::A2aResponse, "{kind}");
        assert_eq!(origin(&event, "/params/payload/parts/0/text"), Origin::RemoteAgent);
    }
    assert_eq!(step_of(inner("message/send", say("hi"))).kind, Kind::A2aRequest);
}

#[test]
fn row_04_raw_a2a_posted_to_us() {
    let raw = step(&request("message/send", say("hi")));
    assert_eq!((raw.method, raw.kind), (Method::MessageSend, Kind::A2aRequest));
    assert_eq!(origin(&raw, "/params/message/parts/0/text"), Origin::Agent);
    assert_eq!(
        step(&request("tasks/cancel", json!({ "id": "t" })))
            .session
            .as_ref()
            .map(|id| id.as_str()),
        Some("t")
    );
    let nothing = refusal(&request("message/send", json!({ "reasoning": "r" })));
    assert_eq!(nothing.code, code::INVALID_PARAMS);
    assert_eq!(nothing.data.unwrap()["pointer"], "/params/payload");
}

#[test]
fn row_05_the_earlier_protocols_a2a() {
    for (method, params, kind, canonical) in [
        (
            "protocols/A2A",
            json!({ "message": inner("message/send", say("hi")) }),
            Kind::A2aRequest,
            Method::MessageSend,
        ),
        (
            "protocols/A2A",
            json!({ "payload": inner("message/send", say("hi")) }),
            Kind::A2aRequest,
            Method::MessageSend,
        ),
        (
            "protocols/A2A",
            inner("message/send", say("hi")),
            Kind::A2aRequest,
            Method::MessageSend,
        ),
        (
            "protocols/A2A",
            json!({ "jsonrpc": "2.0", "id": 7, "result": {} }),
            Kind::A2aResponse,
            Method::ProtocolsA2a,
        ),
        (
            "protocols/A2A/message/send",
            json!({ "message": inner("message/send", say("hi")) }),
            Kind::A2aRequest,
            Method::MessageSend,
        ),
        (
            "protocols/A2A/message/send",
            say("hi"),
            Kind::A2aRequest,
            Method::MessageSend,
        ),
        (
            "protocols/A2A/tasks/cancel",
            json!({ "message": inner("tasks/cancel", json!({ "id": "t" })) }),
            Kind::A2aRequest,
            Method::TasksCancel,
        ),
        (
            "protocols/A2A",
            json!({ "message": inner("tasks/cancel", json!({ "id": "t" })) }),
            Kind::A2aRequest,
            Method::TasksCancel,
        ),
        (
            "protocols/A2A/something/new",
            json!({ "message": inner("something/new", json!({})) }),
            Kind::A2aRequest,
            Method::ProtocolsA2a,
        ),
    ] {
        let step = step(&request(method, params));
        assert_eq!((step.method, step.kind), (canonical, kind), "{method}");
    }
    assert_eq!(refusal(&request("protocols/A2A", json!({}))).code, code::INVALID_PARAMS);
}

#[test]
fn row_06_protocols_mcp_in_every_wrapping() {
    let call = inner("tools/call", json!({ "name": "run", "arguments": { "command": "ls" } }));
    for (method, params) in [
        ("protocols/MCP", json!({ "message": call })),
        ("protocols/MCP", json!({ "payload": call })),
        ("protocols/MCP", call.clone()),
        ("protocols/MCP/tools/call", json!({ "message": call })),
        ("protocols/MCP/tools/call", call["params"].clone()),
    ] {
        let step = step(&request(method, params));
        assert_eq!(
            (step.method, step.kind),
            (Method::ProtocolsMcp, Kind::McpRequest),
            "{method}"
        );
        let call = step.tool_call.as_ref().expect("a tool call");
        assert_eq!(call.tool, "run");
        assert_eq!(
            call.content
                .and_then(|id| step.content(id))
                .map(|content| content.text.as_str()),
            Some("run")
        );
        let [argument] = call.arguments.as_slice() else {
            panic!("one argument")
        };
        assert_eq!((argument.name.as_str(), argument.json.as_str()), ("command", r#""ls""#));
        assert_eq!(at(&step, argument.pointer.as_str()).text, "ls");
    }
    let kind = |message: Value| step(&request("protocols/MCP", json!({ "message": message }))).kind;
    assert_eq!(
        kind(json!({ "jsonrpc": "2.0", "id": 7, "result": { "content": [] } })),
        Kind::McpResponse
    );
    assert_eq!(
        kind(json!({ "jsonrpc": "2.0", "id": 7, "error": { "code": 1, "message": "m" } })),
        Kind::McpResponse
    );
    assert_eq!(
        kind(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })),
        Kind::McpRequest
    );
    assert_eq!(
        kind(json!({ "jsonrpc": "2.0", "id": 7, "method": "sampling/createMessage", "params": {} })),
        Kind::McpResponse
    );
    assert_eq!(
        refusal(&request("protocols/MCP", json!({ "reasoning": "r" }))).code,
        code::INVALID_PARAMS
    );
    let unnamed = refusal(&request(
        "protocols/MCP",
        json!({ "message": inner("tools/call", json!({ "arguments": {} })) }),
    ));
    assert_eq!(unnamed.data.unwrap()["pointer"], "/params/message/params/name");
}

#[test]
fn row_06_an_mcp_tool_list_announces_tools() {
    let list = json!({ "jsonrpc": "2.0", "id": 7, "result": { "tools": [
        { "name": "run", "title": "Run", "description": "Runs.", "inputSchema": { "type": "object",
            "properties": { "command": { "type": "string" }, "cwd": {} }, "required": ["command"] } },
        { "name": "bare" }, { "description": "nameless" }] } });
    let step = step(&request("protocols/MCP", json!({ "message": list })));
    let [run, bare] = step.announced_tools.as_slice() else {
        panic!("two tools")
    };
    assert_eq!(
        (run.id.as_str(), run.name.as_str(), run.description.as_deref()),
        ("run", "Run", Some("Runs."))
    );
    let arguments = run.arguments.as_ref().unwrap();
    let found: Vec<_> = arguments
        .iter()
        .map(|a| (a.name.as_str(), a.type_name.as_deref(), a.required))
        .collect();
    assert_eq!(found, [("command", Some("string"), true), ("cwd", None, false)]);
    assert_eq!(
        (bare.id.as_str(), bare.name.as_str(), &bare.arguments),
        ("bare", "bare", &None)
    );
}

#[test]
fn row_07_a_context_on_protocol_messages_is_optional() {
    for method in ["protocols/MCP", "protocols/A2A"] {
        let message = inner("ping", json!({}));
        assert!(step(&request(method, json!({ "message": message }))).agent.is_none());
        assert!(
            step(&request(method, json!({ "message": message, "context": null })))
                .agent
                .is_none()
        );
        let known = json!({ "message": message, "context": { "agent": { "name": "n" }, "session": { "id": "s" } } });
        let known = step(&request(method, known));
        assert_eq!(known.agent.as_ref().and_then(|agent| agent.name.as_deref()), Some("n"));
        assert_eq!(known.session.as_ref().map(|id| id.as_str()), Some("s"));
        let odd = refusal(&request(method, json!({ "message": message, "context": "c" })));
        assert_eq!(odd.data.unwrap()["pointer"], "/params/context");
    }
}

#[test]
fn row_12_an_inner_method_that_differs_is_a_remark() {
    let differing = request(
        "tasks/pushNotificationConfig/get",
        json!({ "payload": inner("tasks/pushNotificationConfig/set", json!({ "taskId": "t" })) }),
    );
    let differing = step(&differing);
    assert_eq!(differing.method, Method::PushConfigGet);
    assert_eq!(differing.remarks.len(), 1);
    assert_eq!(differing.remarks[0].pointer.as_str(), "/params/payload/method");
    for (outer, within) in [
        ("tasks/get", "tasks/get"),
        ("task/get", "GetTask"),
        ("GetTask", "tasks/get"),
    ] {
        let same = step(&request(
            outer,
            json!({ "payload": inner(within, json!({ "id": "t" })) }),
        ));
        assert_eq!(same.remarks, [], "{outer} {within}");
    }
}
