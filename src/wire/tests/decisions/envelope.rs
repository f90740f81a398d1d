//! The envelope: methods, ids, errors, batches, and what is no JSON.

use super::*;
use crate::model::{Kind, Method, RequestId};

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
    let deep = format!(r#"{{"params":{}{}}}"#, "[".repeat(200), "]".repeat(200));
    assert_eq!(refused(deep.as_bytes()).code, code::INVALID_REQUEST);
    for body in [
        &b"{\"a\":\"\xff\"}"[..],
        br#"{"a":"\ud800"}"#,
        b"\xff\xfe{\0}\0",
        b"\xef\xbb\xbf\xef\xbb\xbf{}",
        b"{",
        b"",
    ] {
        let error = refused(body);
        assert_eq!(error.code, code::PARSE);
        assert!(error.data.unwrap()["offset"].is_u64());
    }
}
