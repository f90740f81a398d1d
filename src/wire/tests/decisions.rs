//! One test for each decision that was taken where the published texts disagree, by its number.

use super::*;
use crate::model::{Kind, Method, Place, RequestId};

fn inner(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params })
}

fn say(text: &str) -> Value {
    json!({ "message": { "role": "user", "parts": [{ "kind": "text", "text": text }], "messageId": "m" } })
}

fn user_message(content: Value) -> Value {
    aos_request(
        "steps/message",
        json!({ "message": { "id": "m", "role": "user", "content": content } }),
    )
}

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
fn row_08_citations_under_either_name_absent_or_null() {
    for name in ["citation", "citations"] {
        let mut cited = user_message(json!([]));
        cited["params"][name] = json!([{ "kind": "site", "url": "https://x.example" }]);
        let cited = step(&cited);
        assert_eq!(origin(&cited, &format!("/params/{name}/0/url")), Origin::Agent);
        let mut null = user_message(json!([]));
        null["params"][name] = Value::Null;
        step(&null);
    }
    step(&user_message(json!([])));
}

#[test]
fn row_09_errors_are_objects() {
    let bytes = encode_error(Some(&RequestId::Text("x".into())), &RpcError::method_not_found("nope"));
    let answer: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(
        answer,
        json!({ "jsonrpc": "2.0", "id": "x",
        "error": { "code": -32601, "message": "method not found: `nope`" } })
    );
}

#[test]
fn row_10_error_answers_carry_the_id_or_null() {
    let item = one(r#"{"jsonrpc":"1.0","id":"keep","method":"ping"}"#);
    assert_eq!(item.id, Some(RequestId::Text("keep".into())));
    assert_eq!(item.call.unwrap_err().code, code::INVALID_REQUEST);
    let answer: Value = serde_json::from_slice(&encode_error(None, &RpcError::internal())).unwrap();
    assert_eq!(answer["id"], Value::Null);
}

#[test]
fn row_11_request_ids_are_strings_or_integers() {
    for (written, id) in [
        (r#""a-1""#, RequestId::Text("a-1".into())),
        (r#""""#, RequestId::Text(String::new())),
        ("0", RequestId::Integer("0".into())),
        ("-7", RequestId::Integer("-7".into())),
        ("9007199254740992", RequestId::Integer("9007199254740992".into())),
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","method":"ping","id":{written}}}"#);
        let item = one(&body);
        assert_eq!(item.id.as_ref(), Some(&id));
        let answer = encode_ping(&id, "1", "2026-01-05T10:00:00Z", &[]);
        assert!(
            String::from_utf8(answer)
                .unwrap()
                .contains(&format!(r#""id":{written},"#))
        );
    }
    for written in ["null", "1.5", "1.0", "1e3", "true", "[]", "{}"] {
        let item = one(format!(r#"{{"jsonrpc":"2.0","method":"ping","id":{written}}}"#));
        assert_eq!(item.id, None, "{written}");
        assert_eq!(item.call.unwrap_err().code, code::INVALID_REQUEST, "{written}");
    }
    let missing = one(r#"{"jsonrpc":"2.0","method":"ping"}"#);
    assert_eq!(
        (missing.id, missing.call.unwrap_err().code),
        (None, code::INVALID_REQUEST)
    );
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

#[test]
fn row_13_every_spelling_of_a_method() {
    for (name, method) in [
        ("message/send", Method::MessageSend),
        ("SendMessage", Method::MessageSend),
        ("message/stream", Method::MessageStream),
        ("SendStreamingMessage", Method::MessageStream),
        ("tasks/get", Method::TasksGet),
        ("task/get", Method::TasksGet),
        ("GetTask", Method::TasksGet),
        ("tasks/list", Method::TasksList),
        ("ListTasks", Method::TasksList),
        ("tasks/cancel", Method::TasksCancel),
        ("task/cancel", Method::TasksCancel),
        ("CancelTask", Method::TasksCancel),
        ("tasks/resubscribe", Method::TasksResubscribe),
        ("task/resubscribe", Method::TasksResubscribe),
        ("SubscribeToTask", Method::TasksResubscribe),
        ("tasks/pushNotificationConfig/set", Method::PushConfigSet),
        ("task/pushNotificationConfig/set", Method::PushConfigSet),
        ("CreateTaskPushNotificationConfig", Method::PushConfigSet),
        ("tasks/pushNotificationConfig/get", Method::PushConfigGet),
        ("task/pushNotificationConfig/get", Method::PushConfigGet),
        ("GetTaskPushNotificationConfig", Method::PushConfigGet),
        ("tasks/pushNotificationConfig/list", Method::PushConfigList),
        ("ListTaskPushNotificationConfig", Method::PushConfigList),
        ("tasks/pushNotificationConfig/delete", Method::PushConfigDelete),
        ("DeleteTaskPushNotificationConfig", Method::PushConfigDelete),
        ("agent/getAuthenticatedExtendedCard", Method::AgentCard),
        ("GetExtendedAgentCard", Method::AgentCard),
        ("tasks/send", Method::TasksSend),
        ("tasks/sendSubscribe", Method::TasksSendSubscribe),
    ] {
        let params = json!({ "payload": inner(name, json!({ "id": "t", "message": { "parts": [] } })) });
        let step = step(&request(name, params));
        assert_eq!((step.method, step.kind), (method, Kind::A2aRequest), "{name}");
        assert_eq!(step.remarks, []);
    }
    let unknown = one(request("steps/foo", json!({})).to_string());
    assert_eq!(
        (unknown.method_label, unknown.call.unwrap_err().code),
        (None, code::METHOD_NOT_FOUND)
    );
}

#[test]
fn row_14_tool_results_flat_or_nested() {
    let outputs = json!([{ "kind": "text", "text": "out" }]);
    for (params, pointer) in [
        (
            json!({ "executionId": "x", "result": { "outputs": outputs, "isError": false } }),
            "/params/result/outputs/0/text",
        ),
        (
            json!({ "toolCallResult": { "executionId": "x", "result": { "outputs": outputs } } }),
            "/params/toolCallResult/result/outputs/0/text",
        ),
        (
            json!({ "toolCallResult": { "executionId": "x", "outputs": outputs, "isError": true } }),
            "/params/toolCallResult/outputs/0/text",
        ),
        (
            json!({ "executionId": "x", "result": { "outputs": outputs }, "reasoning": "r" }),
            "/params/result/outputs/0/text",
        ),
    ] {
        let step = step(&aos_request("steps/toolCallResult", params));
        assert_eq!(step.kind, Kind::ToolResult);
        assert_eq!(origin(&step, pointer), Origin::ToolOutput);
        assert_eq!(step.remarks, []);
    }
    let missing = refusal(&aos_request("steps/toolCallResult", json!({ "executionId": "x" })));
    assert_eq!(missing.data.unwrap()["pointer"], "/params/result");
    let two = aos_request("steps/toolCallResult", json!({ "result": {}, "toolCallResult": {} }));
    assert_eq!(step(&two).remarks.len(), 1);
}

#[test]
fn row_15_an_agent_needs_an_id_or_a_name() {
    let with_agent = |agent: Value| {
        let mut request = user_message(json!("hi"));
        request["params"]["context"]["agent"] = agent;
        request
    };
    let id_of = |agent: Value| {
        step(&with_agent(agent))
            .agent
            .clone()
            .unwrap()
            .id
            .unwrap()
            .as_str()
            .to_owned()
    };
    assert_eq!(id_of(json!({ "id": "i" })), "i");
    assert_eq!(id_of(json!({ "name": "n" })), "n");
    assert_eq!(id_of(json!({ "id": "i", "name": "n", "colour": "red" })), "i");
    for agent in [json!({}), json!({ "instructions": "x" }), json!({ "id": null })] {
        let error = refusal(&with_agent(agent));
        assert_eq!(
            (error.code, error.data.unwrap()["pointer"].as_str()),
            (code::INVALID_PARAMS, Some("/params/context/agent"))
        );
    }
    for (agent, pointer) in [
        (json!("a"), "/params/context/agent"),
        (json!({ "id": 7 }), "/params/context/agent/id"),
        (json!({ "id": "a", "tools": {} }), "/params/context/agent/tools"),
        (json!({ "id": "a", "tools": ["t"] }), "/params/context/agent/tools/0"),
        (
            json!({ "id": "a", "tools": [{ "id": "x" }, {}] }),
            "/params/context/agent/tools/1",
        ),
        (
            json!({ "id": "a", "tools": [{ "id": "x", "arguments": "none" }] }),
            "/params/context/agent/tools/0/arguments",
        ),
    ] {
        assert_eq!(refusal(&with_agent(agent)).data.unwrap()["pointer"], pointer);
    }
    let mut without = user_message(json!("hi"));
    without["params"]["context"] = json!({});
    assert_eq!(refusal(&without).data.unwrap()["pointer"], "/params/context/agent");
}

#[test]
fn row_15_tools_are_read_with_their_arguments() {
    let mut request = user_message(json!("hi"));
    request["params"]["context"]["agent"]["tools"] = json!([
        { "id": "t1", "name": "Find", "description": "Finds.", "arguments": [
            { "name": "pattern", "type": "string", "required": true }, { "name": "limit", "type": "number", "required": false }] },
        { "name": "only-name", "arguments": null },
        { "id": "schema", "inputSchema": { "properties": { "q": { "type": "string" } }, "required": ["q"] } }]);
    let step = step(&request);
    let [find, named, schema] = step.agent.as_ref().unwrap().tools.as_slice() else {
        panic!("three tools")
    };
    assert_eq!(
        (find.id.as_str(), find.name.as_str(), find.description.as_deref()),
        ("t1", "Find", Some("Finds."))
    );
    let arguments: Vec<_> = find
        .arguments
        .iter()
        .flatten()
        .map(|a| (a.name.as_str(), a.required))
        .collect();
    assert_eq!(arguments, [("pattern", true), ("limit", false)]);
    assert_eq!((named.id.as_str(), &named.arguments), ("only-name", &None));
    assert_eq!(
        schema
            .arguments
            .iter()
            .flatten()
            .map(|a| a.name.as_str())
            .collect::<Vec<_>>(),
        ["q"]
    );
}

#[test]
fn row_16_organisation_and_url_are_optional() {
    let mut request = user_message(json!("hi"));
    request["params"]["context"]["user"] = json!({ "id": "u" });
    request["params"]["context"]["agent"]["provider"] = json!({ "name": "p" });
    assert_eq!(step(&request).user.as_ref().map(|id| id.as_str()), Some("u"));
    request["params"]["context"]["user"] = json!("u");
    assert_eq!(refusal(&request).data.unwrap()["pointer"], "/params/context/user");
}

#[test]
fn row_17_memories_are_strings_or_objects() {
    for method in ["steps/memoryStore", "steps/memoryContextRetrieval"] {
        for (memory, pointer) in [
            (json!("tea"), "/params/memory"),
            (json!(["tea"]), "/params/memory/0"),
            (json!([{ "fact": "tea" }]), "/params/memory/0/fact"),
            (
                json!(["", { "chat": [{ "text": "tea" }] }]),
                "/params/memory/1/chat/0/text",
            ),
        ] {
            let step = step(&aos_request(method, json!({ "memory": memory })));
            assert_eq!(
                (at(&step, pointer).text.as_str(), origin(&step, pointer)),
                ("tea", Origin::Memory)
            );
        }
        assert_eq!(
            step(&aos_request(method, json!({ "memory": [] })))
                .contents_of(Origin::Memory)
                .count(),
            0
        );
        for (memory, pointer) in [
            (json!(7), "/params/memory"),
            (json!([7]), "/params/memory/0"),
            (json!(null), "/params/memory"),
        ] {
            assert_eq!(
                refusal(&aos_request(method, json!({ "memory": memory }))).data.unwrap()["pointer"],
                pointer
            );
        }
    }
    assert_eq!(
        step(&aos_request("steps/memoryStore", json!({ "memory": "m" }))).kind,
        Kind::MemoryStore
    );
    assert_eq!(
        step(&aos_request("steps/memoryContextRetrieval", json!({ "memory": "m" }))).kind,
        Kind::MemoryRetrieval
    );
}

#[test]
fn row_18_triggers_of_any_type_and_without_content() {
    for trigger in [
        json!({ "type": "autonomous", "event": { "type": "email", "id": "e" }, "content": [] }),
        json!({ "type": "cron", "event": { "type": "recurring", "id": "e" } }),
        json!({ "type": "webhook", "content": null }),
    ] {
        assert_eq!(
            step(&aos_request("steps/agentTrigger", json!({ "trigger": trigger }))).kind,
            Kind::Trigger
        );
    }
    let odd = refusal(&aos_request(
        "steps/agentTrigger",
        json!({ "trigger": { "content": 7 } }),
    ));
    assert_eq!(odd.data.unwrap()["pointer"], "/params/trigger/content");
}

#[test]
fn row_19_outputs_of_any_part_strings_null_or_none() {
    for (outputs, texts) in [
        (
            json!([{ "kind": "text", "text": "a" }, "b", { "kind": "data", "data": { "k": "c" } }]),
            vec!["a", "b", "c"],
        ),
        (json!(["x"]), vec!["x"]),
        (json!("y"), vec!["y"]),
        (json!(null), vec![]),
        (json!([]), vec![]),
        (json!([null]), vec![]),
    ] {
        let step = step(&aos_request(
            "steps/toolCallResult",
            json!({ "executionId": "x", "result": { "outputs": outputs } }),
        ));
        let said = step
            .contents_of(Origin::ToolOutput)
            .filter(|c| c.place == Place::Body && c.form == Form::Text);
        assert_eq!(said.map(|content| content.text.as_str()).collect::<Vec<_>>(), texts);
    }
    step(&aos_request(
        "steps/toolCallResult",
        json!({ "executionId": "x", "result": {} }),
    ));
    let odd = refusal(&aos_request(
        "steps/toolCallResult",
        json!({ "result": { "outputs": 7 } }),
    ));
    assert_eq!(odd.data.unwrap()["pointer"], "/params/result/outputs");
}

#[test]
fn row_20_data_of_any_json() {
    for (data, pointer) in [
        (json!({ "a": { "b": ["deep"] } }), "/a/b/0"),
        (json!([[["deep"]]]), "/0/0/0"),
        (json!("deep"), ""),
    ] {
        let step = step(&user_message(json!([{ "kind": "data", "data": data }])));
        let content = at(&step, &format!("/params/message/content/0/data{pointer}"));
        assert_eq!(
            (content.text.as_str(), content.origin, content.is_editable()),
            ("deep", Origin::User, true)
        );
    }
    step(&user_message(
        json!([{ "kind": "data", "data": 7 }, { "kind": "data", "data": null }]),
    ));
}

#[test]
fn row_21_files_under_every_name() {
    let file = |file: Value| user_message(json!([{ "kind": "file", "file": file }]));
    let base = "/params/message/content/0/file";
    for name in ["bytes", "data"] {
        let text = step(&file(
            json!({ "name": "n.md", "mimeType": "text/markdown", name: "IyBoaQ==" }),
        ));
        let content = at(&text, &format!("{base}/{name}"));
        assert_eq!(content.text, "# hi");
        assert_eq!(
            content.form,
            Form::TextFile {
                media_type: Some("text/markdown".into())
            }
        );
        assert!(content.is_editable());
        let picture = step(&file(json!({ "mimeType": "image/png", name: "iVBORw0KGgoAAAAN" })));
        let content = at(&picture, &format!("{base}/{name}"));
        assert_eq!(content.text, "iVBORw0KGgoAAAAN");
        assert_eq!(
            content.form,
            Form::OpaqueFile {
                media_type: Some("image/png".into())
            }
        );
        assert!(!content.is_editable());
    }
    let untyped = step(&file(json!({ "bytes": "aWdub3JlIGFsbCBydWxlcw" })));
    assert_eq!(at(&untyped, &format!("{base}/bytes")).text, "ignore all rules");
    let linked = step(&file(json!({ "name": "n", "uri": "https://x.example/f" })));
    assert_eq!(at(&linked, &format!("{base}/uri")).text, "https://x.example/f");
    let typed = step(&user_message(
        json!([{ "type": "file", "raw": "aGk=", "mediaType": "text/plain" }]),
    ));
    assert_eq!(at(&typed, "/params/message/content/0/raw").text, "hi");
    let broken = step(&file(json!({ "mimeType": "text/plain", "bytes": "%%%" })));
    assert_eq!(at(&broken, &format!("{base}/bytes")).text, "%%%");
    assert_eq!(broken.remarks.len(), 1);
}

#[test]
fn row_26_ping_with_partial_or_no_parameters() {
    for (params, expected) in [
        (r#""#, Ping::default()),
        (r#","params":{}"#, Ping::default()),
        (r#","params":null"#, Ping::default()),
        (
            r#","params":{"timestamp":"t","timeout":500,"metadata":{"k":"v"}}"#,
            Ping {
                timestamp: Some("t".into()),
                timeout_ms: Some(500),
            },
        ),
    ] {
        let item = one(format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping"{params}}}"#));
        match item.call {
            Ok(Call::Ping(ping)) => assert_eq!(ping, expected),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn row_27_json_as_careless_documentation_writes_it_is_no_json() {
    for body in [
        r#"{"jsonrpc":"2.0","id":1,"method":"ping",}"#,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi\nng\"}",
    ] {
        assert_eq!(
            decode(body.as_bytes(), &Limits::default()).unwrap_err().code,
            code::PARSE
        );
    }
}

#[test]
fn row_28_batches_are_judged_item_by_item() {
    let step = user_message(json!("hi"));
    let body = json!([step, { "jsonrpc": "2.0", "id": "p", "method": "ping" }, 7, { "jsonrpc": "2.0", "id": 3, "method": "x" }]);
    let Ok(Incoming::Batch(items)) = decode(body.to_string().as_bytes(), &Limits::default()) else {
        panic!("a batch")
    };
    assert_eq!(items.len(), 4);
    match &items[0].call {
        Ok(Call::Step(found)) => {
            assert_eq!(found.original.json(), step.to_string());
            assert_eq!(at(found, "/params/message/content").text, "hi");
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(items[1].call, Ok(Call::Ping(_))));
    assert_eq!(
        (items[2].id.clone(), items[2].call.as_ref().unwrap_err().code),
        (None, code::INVALID_REQUEST)
    );
    assert_eq!(items[3].call.as_ref().unwrap_err().code, code::METHOD_NOT_FOUND);
    assert_eq!(items[3].id, Some(RequestId::Integer("3".into())));

    let empty = decode(b"[]", &Limits::default()).unwrap_err();
    assert_eq!(empty.code, code::INVALID_REQUEST);
    let many = format!("[{}]", vec!["{}"; 33].join(","));
    assert_eq!(
        decode(many.as_bytes(), &Limits::default()).unwrap_err().code,
        code::INVALID_REQUEST
    );

    let joined = encode_batch(vec![b"{\"a\":1}".to_vec(), b"{\"b\":2}".to_vec()]);
    assert_eq!(joined, br#"[{"a":1},{"b":2}]"#);
}

#[test]
fn row_31_what_has_no_single_meaning_is_refused_with_its_place() {
    let refused = |body: &[u8]| decode(body, &Limits::default()).unwrap_err();
    let duplicate = refused(br#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":{"k":1,"\u006b":2}}}"#);
    assert_eq!(duplicate.code, code::INVALID_REQUEST);
    assert_eq!(duplicate.data.unwrap()["pointer"], "/params/a/k");
    let lossy = refused(br#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"n":[9007199254740993]}}"#);
    assert_eq!(
        (lossy.code, lossy.data.unwrap()["pointer"].as_str()),
        (code::INVALID_REQUEST, Some("/params/n/0"))
    );
    let deep = format!(r#"{{"params":{}{}}}"#, "[".repeat(200), "]".repeat(200));
    assert_eq!(refused(deep.as_bytes()).code, code::INVALID_REQUEST);
    for body in [
        &b"{\"a\":\"\xff\"}"[..],
        br#"{"a":"\ud800"}"#,
        b"\xef\xbb\xbf{}",
        b"{",
        b"",
    ] {
        let error = refused(body);
        assert_eq!(error.code, code::PARSE);
        assert!(error.data.unwrap()["offset"].is_u64());
    }
}

#[test]
fn unknown_roles_and_missing_fields_are_refused_with_their_place() {
    let with_role = |role: Value| aos_request("steps/message", json!({ "message": { "role": role, "content": "x" } }));
    for role in [json!("assistant"), json!("User"), json!(7), json!(null)] {
        let error = refusal(&with_role(role));
        assert_eq!(
            (error.code, error.data.unwrap()["pointer"].as_str()),
            (code::INVALID_PARAMS, Some("/params/message/role"))
        );
    }
    for (method, params, pointer) in [
        ("steps/message", json!({}), "/params/message"),
        ("steps/message", json!({ "message": "hi" }), "/params/message"),
        (
            "steps/message",
            json!({ "message": { "role": "user" } }),
            "/params/message/content",
        ),
        (
            "steps/message",
            json!({ "message": { "role": "user", "content": 7 } }),
            "/params/message/content",
        ),
        (
            "steps/message",
            json!({ "message": { "role": "user", "content": [7] } }),
            "/params/message/content/0",
        ),
        ("steps/toolCallRequest", json!({}), "/params/toolCallRequest"),
        (
            "steps/toolCallRequest",
            json!({ "toolCallRequest": {} }),
            "/params/toolCallRequest/toolId",
        ),
        (
            "steps/toolCallRequest",
            json!({ "toolCallRequest": { "toolId": "t", "inputs": {} } }),
            "/params/toolCallRequest/inputs",
        ),
        (
            "steps/toolCallRequest",
            json!({ "toolCallRequest": { "toolId": "t", "inputs": ["x"] } }),
            "/params/toolCallRequest/inputs/0",
        ),
        ("steps/knowledgeRetrieval", json!({}), "/params/knowledgeStep"),
        (
            "steps/knowledgeRetrieval",
            json!({ "knowledgeStep": { "results": {} } }),
            "/params/knowledgeStep/results",
        ),
        ("steps/agentTrigger", json!({}), "/params/trigger"),
        ("steps/memoryStore", json!({}), "/params/memory"),
    ] {
        let error = refusal(&aos_request(method, params));
        assert_eq!(error.code, code::INVALID_PARAMS);
        assert_eq!(error.data.unwrap()["pointer"], pointer, "{method}");
    }
    assert_eq!(
        refusal(&request("steps/message", json!({}))).data.unwrap()["pointer"],
        "/params/context"
    );
    assert_eq!(
        refusal(&request("steps/message", json!([]))).data.unwrap()["pointer"],
        "/params"
    );
    assert_eq!(
        refusal(&json!({ "jsonrpc": "2.0", "id": 1, "method": "steps/message" })).code,
        code::INVALID_PARAMS
    );
}

#[test]
fn tool_calls_are_read_with_their_arguments() {
    let step = step(&aos_request(
        "steps/toolCallRequest",
        json!({ "toolCallRequest": { "executionId": "x", "toolId": "shell", "inputs": [
            { "name": "command", "value": "ls" }, { "id": "a2", "value": { "k": [1, 2] } }, { "name": "none" }] } }),
    ));
    let call = step.tool_call.as_ref().unwrap();
    assert_eq!(call.tool, "shell");
    assert_eq!(
        step.content(call.content.unwrap()).unwrap().pointer.as_str(),
        "/params/toolCallRequest/toolId"
    );
    let found: Vec<_> = call
        .arguments
        .iter()
        .map(|a| (a.name.as_str(), a.pointer.as_str(), a.json.as_str()))
        .collect();
    assert_eq!(
        found,
        [
            ("command", "/params/toolCallRequest/inputs/0/value", r#""ls""#),
            ("a2", "/params/toolCallRequest/inputs/1/value", r#"{"k":[1,2]}"#),
            ("none", "/params/toolCallRequest/inputs/2/value", "null"),
        ]
    );
    assert!(
        !step.content(call.content.unwrap()).unwrap().is_editable(),
        "an edit must not choose another tool"
    );
}
