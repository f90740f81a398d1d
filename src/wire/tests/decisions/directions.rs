//! The author of a message's words: who serves and who asks, and where that cannot be told.

use proptest::prelude::*;

use super::*;
use crate::model::{Kind, Method, RemarkKind};

/// The observed agent, as it describes itself; `more` is what a card does not say.
fn observed(more: &str) -> Value {
    let mut agent = json!({ "url": "https://bakery.example/a2a", "name": "Baker", "version": "1.0.0" });
    match more {
        "instructions" => agent["instructions"] = json!("Help with cakes."),
        "instruction" => agent["instruction"] = json!("Help with cakes."),
        "tools" => agent["tools"] = json!([{ "id": "oven" }]),
        "provider" => agent["provider"] = json!({ "name": "Oven House" }),
        _ => {}
    }
    agent
}

/// Another agent, as its card describes it.
fn stranger() -> Value {
    json!({ "url": "https://cook.example/a2a", "name": "Cook", "version": "2.0.0",
        "identity": { "signatures": [{ "header": { "alg": "ES256" }, "protected": "eyJ9", "signature": "MEUC" }] } })
}

fn party(agent: Value, role: Option<&str>) -> Value {
    match role {
        Some(role) => json!({ "agent": agent, "role": role }),
        None => json!({ "agent": agent }),
    }
}

fn between(from: Value, to: Value) -> Value {
    json!({ "from": from, "to": to })
}

fn posted(payload: Value, context: Value) -> Value {
    request("message/send", json!({ "payload": payload, "context": context }))
}

fn answer(text: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": 7, "result": { "kind": "message", "role": "agent", "messageId": "m",
        "parts": [{ "kind": "text", "text": text }] } })
}

fn leniencies(step: &Step) -> Vec<&'static str> {
    step.leniencies().into_iter().map(|(code, _)| code).collect()
}

const ASKED: &str = "/params/payload/params/message/parts/0/text";
const ANSWERED: &str = "/params/payload/result/parts/0/text";

#[test]
fn row_33_what_comes_to_a_serving_agent_is_anothers_and_its_answer_its_own() {
    for more in ["instructions", "instruction", "tools", "provider"] {
        for roles in [
            [Some("client"), Some("server")],
            [None, None],
            [None, Some("server")],
            [Some("client"), None],
        ] {
            let request = posted(
                inner("message/send", say("hi")),
                between(party(stranger(), roles[0]), party(observed(more), roles[1])),
            );
            let asked = step(&request);
            assert_eq!(asked.kind, Kind::A2aResponse, "{more} {roles:?}");
            assert_eq!(origin(&asked, ASKED), Origin::RemoteAgent);
            assert_eq!(
                asked.agent.as_ref().and_then(|agent| agent.name.as_deref()),
                Some("Baker")
            );
            assert_eq!(origin(&asked, "/params/context/from/agent/name"), Origin::RemoteAgent);
        }
        let request = posted(
            answer("a cake"),
            between(party(observed(more), Some("server")), party(stranger(), Some("client"))),
        );
        let answered = step(&request);
        assert_eq!(answered.kind, Kind::A2aRequest, "{more}");
        assert_eq!(origin(&answered, ANSWERED), Origin::Agent);
    }
}

#[test]
fn row_33_the_instruction_of_the_serving_agent_is_its_own() {
    let context = between(
        party(
            json!({ "name": "Cook", "url": "https://cook.example", "version": "1", "instruction": "" }),
            Some("client"),
        ),
        party(observed("instruction"), Some("server")),
    );
    let step = step(&posted(inner("message/send", say("hi")), context));
    assert_eq!(
        origin(&step, "/params/context/to/agent/instruction"),
        Origin::Instructions
    );
}

#[test]
fn row_33_an_agent_beside_the_parties_does_not_hide_them() {
    let mut context = between(
        party(stranger(), Some("client")),
        party(observed("tools"), Some("server")),
    );
    context["agent"] = json!({ "id": "a-1", "instructions": "Help with cakes." });
    let step = step(&posted(inner("message/send", say("hi")), context));
    assert_eq!(
        (step.kind, origin(&step, ASKED)),
        (Kind::A2aResponse, Origin::RemoteAgent)
    );
    let agent = step.agent.as_ref().and_then(|agent| agent.id.as_ref());
    assert_eq!(agent.map(|id| id.as_str()), Some("a-1"));
}

#[test]
fn row_33_a_client_as_before() {
    let sent = posted(
        inner("message/send", say("hi")),
        between(
            party(observed("instructions"), Some("client")),
            party(stranger(), Some("server")),
        ),
    );
    let sent = step(&sent);
    assert_eq!((sent.kind, origin(&sent, ASKED)), (Kind::A2aRequest, Origin::Agent));
    let received = posted(
        answer("a cake"),
        between(
            party(stranger(), Some("server")),
            party(observed("instructions"), Some("client")),
        ),
    );
    let received = step(&received);
    assert_eq!(
        (received.kind, origin(&received, ANSWERED)),
        (Kind::A2aResponse, Origin::RemoteAgent)
    );
}

#[test]
fn row_33_without_details_the_roles_tell_and_then_the_setting() {
    let serving = Limits {
        a2a_side: Side::Server,
        ..Limits::default()
    };
    let read = |request: &Value, limits: &Limits| decode_step(request.to_string(), limits).unwrap().1;
    let bare = request("message/send", json!({ "payload": inner("message/send", say("hi")) }));
    assert_eq!(origin(&read(&bare, &Limits::default()), ASKED), Origin::Agent);
    assert_eq!(origin(&read(&bare, &serving), ASKED), Origin::RemoteAgent);
    assert_eq!(read(&bare, &serving).kind, Kind::A2aResponse);
    let answered = request("message/send", json!({ "payload": answer("a cake") }));
    assert_eq!(
        origin(&read(&answered, &Limits::default()), ANSWERED),
        Origin::RemoteAgent
    );
    assert_eq!(origin(&read(&answered, &serving), ANSWERED), Origin::Agent);
    // Both parties are told of alike: the one in the role of the setting is observed.
    let alike = between(party(stranger(), Some("client")), party(stranger(), Some("server")));
    let alike = posted(inner("message/send", say("hi")), alike);
    assert_eq!(origin(&read(&alike, &Limits::default()), ASKED), Origin::Agent);
    assert_eq!(origin(&read(&alike, &serving), ASKED), Origin::RemoteAgent);
}

#[test]
fn row_33_what_a_serving_agent_repeats_of_the_other_stays_the_others() {
    let task = json!({ "jsonrpc": "2.0", "id": 7, "result": { "kind": "task", "id": "t", "status": { "state": "completed",
            "message": { "role": "agent", "parts": [{ "text": "done" }] } },
        "history": [{ "role": "user", "parts": [{ "text": "please" }] }, { "role": "ROLE_AGENT", "parts": [{ "text": "sure" }] },
            { "role": "system", "parts": [{ "text": "rule" }] }],
        "artifacts": [{ "parts": [{ "text": "the cake" }] }] } });
    let context = between(
        party(observed("instructions"), Some("server")),
        party(stranger(), Some("client")),
    );
    let step = step(&posted(task, context));
    let at = |pointer: &str| origin(&step, &format!("/params/payload/result/{pointer}"));
    assert_eq!(at("history/0/parts/0/text"), Origin::RemoteAgent);
    assert_eq!(at("history/1/parts/0/text"), Origin::Agent);
    assert_eq!(at("history/2/parts/0/text"), Origin::RemoteAgent);
    assert_eq!(at("status/message/parts/0/text"), Origin::Agent);
    assert_eq!(at("artifacts/0/parts/0/text"), Origin::Agent);
}

#[test]
fn row_34_what_contradicts_itself_may_go_out_and_has_no_authority() {
    // The agent stands first whatever it received.
    let careless = posted(
        answer("a cake"),
        between(
            party(observed("instructions"), Some("client")),
            party(stranger(), Some("server")),
        ),
    );
    let careless = step(&careless);
    assert_eq!(
        (careless.kind, origin(&careless, ANSWERED)),
        (Kind::A2aRequest, Origin::RemoteAgent)
    );
    assert_eq!(leniencies(&careless), ["unknown_direction"]);
}

#[test]
fn row_34_bare_events_and_messages_that_nobody_can_place_are_foreign() {
    let parts = json!([{ "kind": "text", "text": "do it" }]);
    let message = json!({ "role": "agent", "messageId": "m", "parts": parts });
    let events = [
        json!({ "kind": "status-update", "taskId": "t", "status": { "state": "working", "message": message } }),
        json!({ "kind": "artifact-update", "taskId": "t", "artifact": { "parts": parts } }),
        json!({ "kind": "message", "role": "agent", "parts": parts }),
        json!({ "kind": "message", "role": "user", "parts": parts }),
        json!({ "kind": "task", "id": "t", "history": [message] }),
        json!({ "statusUpdate": { "taskId": "t", "status": { "state": "TASK_STATE_WORKING", "message": message } } }),
        json!({ "artifactUpdate": { "taskId": "t", "artifact": { "parts": [{ "text": "do it" }] } } }),
        json!({ "task": { "id": "t", "status": { "message": message } } }),
        json!({ "message": { "role": "ROLE_AGENT", "parts": [{ "text": "do it" }] } }),
        json!({ "message": { "role": "ROLE_USER", "parts": [{ "text": "do it" }] } }),
        json!({ "message": { "role": "agent", "parts": parts } }),
        json!({ "message": { "parts": parts } }),
        json!({ "id": "t", "status": { "state": "completed" }, "artifacts": [{ "parts": parts }] }),
        json!({ "taskId": "t", "state": "WORKING", "message": "do it" }),
    ];
    for event in events {
        for method in [
            "message/send",
            "message/stream",
            "SendMessage",
            "SendStreamingMessage",
            "tasks/sendSubscribe",
            "protocols/A2A",
            "protocols/A2A/message/stream",
            "tasks/resubscribe",
            "SubscribeToTask",
        ] {
            for params in [event.clone(), json!({ "payload": event }), json!({ "message": event })] {
                let Ok((_, step)) = decode_step(request(method, params.clone()).to_string(), &Limits::default()) else {
                    continue;
                };
                if params["message"]["role"] == "user" {
                    // The parameters of a client's `message/send`, as A2A 0.x has them.
                    continue;
                }
                let said = step.contents.iter().find(|content| content.text == "do it").unwrap();
                assert_eq!(said.origin, Origin::RemoteAgent, "{method} {params}");
            }
        }
    }
}

#[test]
fn row_34_a_server_in_the_role_of_a2a_1_is_foreign_even_in_a_request() {
    let sends = |role: &str| {
        let message = json!({ "message": { "role": role, "messageId": "m", "parts": [{ "text": "hi" }] } });
        let step = step(&request(
            "SendMessage",
            json!({ "payload": inner("SendMessage", message) }),
        ));
        (step.method, step.kind, origin(&step, ASKED))
    };
    assert_eq!(
        sends("ROLE_USER"),
        (Method::MessageSend, Kind::A2aRequest, Origin::Agent)
    );
    assert_eq!(
        sends("ROLE_AGENT"),
        (Method::MessageSend, Kind::A2aRequest, Origin::RemoteAgent)
    );
    // The examples of AOS give the observed agent's own messages this role.
    assert_eq!(sends("agent").2, Origin::Agent);
}

#[test]
fn row_34_mcp_methods_in_no_list_are_foreign() {
    let text = |method: &str| {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": { "reason": "do it", "x-note": "do it",
            "deep": [{ "deeper": "do it" }] } });
        let wrapped = step(&request("protocols/MCP", json!({ "message": message })));
        let named = step(&request(&format!("protocols/MCP/{method}"), message["params"].clone()));
        for step in [&wrapped, &named] {
            for content in step.contents.iter().filter(|content| content.text == "do it") {
                assert!(content.origin.is_external(), "{method} {}", content.pointer);
                assert!(!content.origin.has_authority());
            }
        }
        origin(&wrapped, "/params/message/params/reason")
    };
    for method in [
        "notifications/cancelled",
        "notifications/x",
        "acme/run",
        "ping",
        "tasks/get",
        "Tools/List",
        "tools/call ",
        "x",
    ] {
        assert_eq!(text(method), Origin::ToolOutput, "{method}");
    }
    let listed = step(&request(
        "protocols/MCP",
        json!({ "message": inner("prompts/get", json!({ "name": "p" })) }),
    ));
    assert_eq!(origin(&listed, "/params/message/params/name"), Origin::Agent);
    assert!(listed.remarks.is_empty());
    let cancelled =
        json!({ "message": { "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 7 } } });
    assert_eq!(
        leniencies(&step(&request("protocols/MCP", cancelled))),
        ["unknown_direction"]
    );
}

/// Any shape that a message between agents can have, with a marker in it.
fn any_message() -> impl Strategy<Value = Value> {
    let role = prop::sample::select(vec![
        "user",
        "agent",
        "assistant",
        "ROLE_USER",
        "ROLE_AGENT",
        "system",
        "Agent",
    ]);
    let names = ["text", "content", "url", "note", "data"];
    let part = (prop::sample::select(names.to_vec()), "[a-z]{0,3}").prop_map(|(name, kind)| {
        let mut part = json!({ name: "PLANTED" });
        if !kind.is_empty() {
            part["kind"] = json!(kind);
        }
        part
    });
    let message = (role, part).prop_map(|(role, part)| json!({ "role": role, "messageId": "m", "parts": [part] }));
    let holder = prop::sample::select(vec![
        "message",
        "result",
        "status",
        "artifact",
        "task",
        "statusUpdate",
        "artifactUpdate",
        "history",
        "extra",
    ]);
    (message, prop::collection::vec(holder, 0..3), any::<bool>()).prop_map(|(message, holders, kind)| {
        let mut value = message;
        for holder in holders {
            value = match holder {
                "history" => json!({ holder: [value] }),
                _ => json!({ holder: value }),
            };
        }
        if kind && value.get("kind").is_none() {
            value["kind"] = json!("status-update");
        }
        value
    })
}

proptest! {
    /// Whatever is posted without JSON-RPC of a request around it: no word of it is the agent's own, unless it is the old
    /// protocol's bare request of a client, and none is the user's.
    #[test]
    fn no_shape_gives_foreign_words_authority(
        message in any_message(),
        method in prop::sample::select(vec!["message/send", "message/stream", "SendStreamingMessage", "tasks/get", "tasks/send",
            "protocols/A2A", "protocols/MCP", "protocols/MCP/acme/x", "protocols/A2A/tasks/get"]),
        place in prop::sample::select(vec!["", "payload", "message"]),
    ) {
        let params = if place.is_empty() { message } else { json!({ place: message }) };
        if let Ok((_, step)) = decode_step(request(method, params.clone()).to_string(), &Limits::default()) {
            let raw_request = |step: &Step| {
                let role = step.contents.iter().find(|content| content.pointer.as_str() == "/params/message/role");
                role.is_some_and(|role| role.text == "user")
            };
            let planted = step.contents.iter().filter(|content| content.text == "PLANTED");
            for content in planted {
                prop_assert!(!content.origin.has_authority(), "{} in {}", content.pointer, params);
                let own = matches!(content.origin, Origin::Agent | Origin::ToolArguments);
                prop_assert!(!own || raw_request(&step), "{} in {} {}", content.pointer, method, params);
            }
        }
    }

    /// The side and the shape decide together, over every method of A2A.
    #[test]
    fn a_serving_agent_never_takes_what_comes_in_for_its_own(
        method in prop::sample::select(vec!["message/send", "message/stream", "SendMessage", "tasks/send", "tasks/get",
            "tasks/pushNotificationConfig/set", "SendStreamingMessage", "GetTask"]),
        more in prop::sample::select(vec!["instructions", "instruction", "tools", "provider"]),
        role in prop::sample::select(vec!["user", "agent", "ROLE_USER", "ROLE_AGENT"]),
        name in "[a-z]{1,8}",
    ) {
        let params = json!({ "id": "t", "message": { "role": role, "parts": [{ "text": "PLANTED" }], name: "PLANTED" },
            "metadata": { "note": "PLANTED" } });
        let context = between(party(stranger(), Some("client")), party(observed(more), Some("server")));
        let posted = request(method, json!({ "payload": inner(method, params), "context": context }));
        let step = step(&posted);
        prop_assert_eq!(step.kind, Kind::A2aResponse);
        for content in step.contents.iter().filter(|content| content.text == "PLANTED") {
            prop_assert_eq!(content.origin, Origin::RemoteAgent, "{}", content.pointer);
        }
        prop_assert!(step.remarks.iter().all(|remark| remark.kind != RemarkKind::Leniency("unknown_direction")));
    }
}
