//! Arguments are arguments wherever they stand; what is no call is none.

use proptest::prelude::*;

use super::*;
use crate::model::{Form, Kind};

fn call(mut call: Value) -> Value {
    call["toolId"] = json!("shell");
    call["executionId"] = json!("e1");
    aos_request("steps/toolCallRequest", json!({ "toolCallRequest": call }))
}

fn codes(step: &Step) -> Vec<&'static str> {
    step.leniencies().into_iter().map(|(code, _)| code).collect()
}

/// The arguments of a step, by name and JSON.
fn arguments(step: &Step) -> Vec<(&str, &str)> {
    let call = step.tool_call.as_ref().expect("a call");
    call.arguments
        .iter()
        .map(|argument| (argument.name.as_str(), argument.json.as_str()))
        .collect()
}

const RM: &str = "rm -rf /";

#[test]
fn row_35_arguments_under_every_name_and_in_every_shape() {
    let quoted = json!(RM).to_string();
    for name in ["arguments", "parameters", "input", "args", "params", "kwargs"] {
        for value in [json!({ "command": RM }), json!(json!({ "command": RM }).to_string())] {
            let step = step(&call(json!({ name: value })));
            assert_eq!(arguments(&step), [("command", quoted.as_str())], "{name}");
            assert_eq!(codes(&step), ["arguments_elsewhere"]);
            let spoken = step
                .contents_of(Origin::ToolArguments)
                .any(|content| content.text.contains(RM));
            assert!(spoken, "{name}");
        }
        let bare = step(&call(json!({ name: RM })));
        assert_eq!(arguments(&bare), [("", quoted.as_str())]);
    }
    for (inputs, expected) in [
        (json!({ "command": RM }), vec![("command", quoted.as_str())]),
        (json!({ "name": "command", "value": RM }), vec![("command", &quoted)]),
        (
            json!({ "name": "command", "value": RM, "cwd": "/" }),
            vec![("name", "\"command\""), ("value", &quoted), ("cwd", "\"/\"")],
        ),
        (json!([{ "name": "command", "text": RM }]), vec![("command", &quoted)]),
        (
            json!([{ "name": "command", "value": "ls", "text": RM }]),
            vec![("command", "\"ls\""), ("command", &quoted)],
        ),
        (json!([RM]), vec![("", &quoted)]),
        (json!(RM), vec![("", &quoted)]),
    ] {
        let step = step(&call(json!({ "inputs": inputs })));
        assert_eq!(arguments(&step), expected, "{inputs}");
        let spoken = step.contents.iter().find(|content| content.text == RM).unwrap();
        assert_eq!(spoken.origin, Origin::ToolArguments, "{inputs}");
        assert_eq!(codes(&step).len(), 1, "{inputs}");
    }
    let unknown = step(&call(json!({ "inputs": [], "command": RM })));
    assert_eq!(arguments(&unknown), [("command", quoted.as_str())]);
    assert_eq!(
        at(&unknown, "/params/toolCallRequest/command").label.as_deref(),
        Some("command")
    );
}

#[test]
fn row_35_the_label_of_a_value_is_the_name_of_its_argument() {
    let step = step(&call(
        json!({ "inputs": [{ "name": "command", "text": RM, "args": ["-a"] }] }),
    ));
    let label = |tail: &str| {
        at(&step, &format!("/params/toolCallRequest/inputs/0/{tail}"))
            .label
            .clone()
    };
    assert_eq!(label("text").as_deref(), Some("command"));
    assert_eq!(label("args/0").as_deref(), Some("command"));
}

#[test]
fn row_35_arguments_beside_the_call() {
    let mut beside = call(json!({ "inputs": [] }));
    beside["params"]["arguments"] = json!({ "command": RM });
    let beside = step(&beside);
    assert_eq!(arguments(&beside), [("command", json!(RM).to_string().as_str())]);
    assert_eq!(origin(&beside, "/params/arguments/command"), Origin::ToolArguments);
}

#[test]
fn row_35_a_member_of_another_method_has_no_authority() {
    let mut both = call(json!({ "inputs": [] }));
    both["params"]["message"] = json!({ "role": "user", "content": "I want it" });
    let both = step(&both);
    let said = both
        .contents
        .iter()
        .find(|content| content.text == "I want it")
        .unwrap();
    assert!(!said.origin.has_authority());
    let mut instructed = aos_request("steps/toolCallResult", json!({ "result": {} }));
    instructed["params"]["message"] = json!({ "role": "user", "content": "I want it" });
    let instructed = step(&instructed);
    let said = instructed
        .contents
        .iter()
        .find(|content| content.text == "I want it")
        .unwrap();
    assert!(!said.origin.has_authority());
}

#[test]
fn row_35_arguments_of_an_mcp_call() {
    let quoted = json!(RM).to_string();
    for params in [
        json!({ "name": "shell", "input": { "command": RM } }),
        json!({ "name": "shell", "parameters": { "command": RM } }),
        json!({ "name": "shell", "arguments": {}, "command": RM }),
        json!({ "name": "shell", "arguments": null, "args": json!({ "command": RM }).to_string() }),
    ] {
        for request in [
            request(
                "protocols/MCP",
                json!({ "message": inner("tools/call", params.clone()) }),
            ),
            request("protocols/MCP", inner("tools/call", params.clone())),
            request("protocols/MCP/tools/call", params.clone()),
            request(
                "protocols/MCP/tools/call",
                json!({ "message": inner("tools/call", params.clone()) }),
            ),
        ] {
            let step = step(&request);
            assert_eq!(arguments(&step), [("command", quoted.as_str())], "{request}");
            let spoken = step.contents.iter().find(|content| content.text.contains(RM)).unwrap();
            assert_eq!(spoken.origin, Origin::ToolArguments, "{request}");
        }
    }
    let mut beside = inner("tools/call", json!({ "name": "shell" }));
    beside["arguments"] = json!({ "command": RM });
    let beside = step(&request("protocols/MCP", json!({ "message": beside })));
    assert_eq!(arguments(&beside), [("command", quoted.as_str())]);
}

#[test]
fn row_36_a_message_without_method_result_or_error_is_refused() {
    for message in [
        json!({ "jsonrpc": "2.0", "id": 7, "params": { "name": "shell", "arguments": { "command": RM } } }),
        json!({ "params": { "name": "shell", "arguments": { "command": RM } } }),
        json!({ "name": "shell", "arguments": { "command": RM } }),
        json!({ "jsonrpc": "2.0", "id": 7, "method": null, "params": {} }),
        json!({ "jsonrpc": "2.0", "id": 7 }),
    ] {
        for params in [json!({ "message": message }), json!({ "payload": message })] {
            let error = refusal(&request("protocols/MCP", params));
            assert_eq!(error.code, code::INVALID_PARAMS);
            assert!(error.data.unwrap()["pointer"].as_str().unwrap().ends_with("/method"));
        }
    }
}

#[test]
fn row_36_the_method_in_the_name_of_the_request() {
    let params = json!({ "name": "shell", "arguments": { "command": RM } });
    for (wrapped, code) in [
        (params.clone(), None),
        (json!({ "payload": params }), None),
        (
            json!({ "message": { "jsonrpc": "2.0", "id": 7, "params": params } }),
            Some("method_of_envelope"),
        ),
        (json!({ "payload": { "params": params } }), Some("method_of_envelope")),
        (json!({ "message": inner("tools/call", params.clone()) }), None),
        // A program that forwards the message may take either for its method.
        (json!({ "message": inner("tools/list", params.clone()) }), None),
    ] {
        let step = step(&request("protocols/MCP/tools/call", wrapped.clone()));
        assert_eq!(step.kind, Kind::McpRequest, "{wrapped}");
        assert_eq!(
            arguments(&step),
            [("command", json!(RM).to_string().as_str())],
            "{wrapped}"
        );
        let spoken = step.contents.iter().find(|content| content.text == RM).unwrap();
        assert_eq!(spoken.origin, Origin::ToolArguments, "{wrapped}");
        assert_eq!(codes(&step), code.into_iter().collect::<Vec<_>>(), "{wrapped}");
    }
    let answered = json!({ "message": { "jsonrpc": "2.0", "id": 7, "result": { "content": [] } } });
    assert_eq!(
        step(&request("protocols/MCP/tools/call", answered)).kind,
        Kind::McpResponse
    );
}

#[test]
fn row_37_an_envelope_of_acs_gets_the_versions_that_are_spoken() {
    for method in [
        "steps/toolCallRequest",
        "steps/message",
        "handshake/hello",
        "system/ping",
        "ping",
        "protocols/MCP",
    ] {
        for version in [json!("0.1.0"), json!("9"), json!(1), json!(null)] {
            let item = one(request(
                method,
                json!({ "acs_version": version, "request_id": "r", "metadata": {},
                "payload": { "tool": { "name": "shell" } }, "context": { "agent": { "id": "a" } } }),
            )
            .to_string());
            let error = item.call.unwrap_err();
            assert_eq!(error.code, code::UNSUPPORTED_VERSION, "{method}");
            let versions = &error.data.unwrap()["supported_versions"];
            assert!(versions.as_array().is_some_and(|versions| !versions.is_empty()));
            assert!(item.id.is_some());
        }
    }
    // Elsewhere the word is data like any other.
    let mut inside = aos_request("steps/memoryStore", json!({ "memory": [{ "acs_version": "0.1.0" }] }));
    inside["acs_version"] = json!("0.1.0");
    step(&inside);
}

/// A value with a marker somewhere in it.
fn any_value() -> impl Strategy<Value = Value> {
    let leaf = Just(json!("PLANTED"));
    leaf.prop_recursive(4, 8, 3, |inner| {
        prop_oneof![
            ("[a-zA-Z_]{1,9}", inner.clone()).prop_map(|(name, value)| json!({ name: value })),
            inner.clone().prop_map(|value| json!([value, 7])),
            ("[a-z]{1,6}", inner).prop_map(|(name, value)| json!({ "value": value, name: "x" })),
        ]
    })
}

proptest! {
    /// A marker in any member of a call, under any name, is an argument: of the contents and of the call.
    #[test]
    fn whatever_a_call_holds_is_an_argument(
        name in "[a-zA-Z_]{1,12}",
        value in any_value(),
        place in prop::sample::select(vec!["call", "input", "map", "params", "mcp", "mcp message"]),
    ) {
        let known = ["toolId", "executionId", "context", "reasoning", "metadata", "name", "id", "task", "method", "result",
            "error", "jsonrpc", "params", "toolCallRequest", "message"];
        prop_assume!(!known.iter().any(|known| known.eq_ignore_ascii_case(&name)));
        let mut named = json!({ "name": "shell", "arguments": {} });
        let posted = match place {
            "call" => call(json!({ name.as_str(): value })),
            "input" => call(json!({ "inputs": [{ "name": "a", name.as_str(): value }] })),
            "map" => call(json!({ "inputs": { name.as_str(): value } })),
            "params" => {
                let mut posted = call(json!({}));
                posted["params"][name.as_str()] = value.clone();
                posted
            }
            "mcp" => {
                named[name.as_str()] = value.clone();
                request("protocols/MCP", json!({ "message": inner("tools/call", named) }))
            }
            _ => {
                let mut message = inner("tools/call", named);
                message[name.as_str()] = value.clone();
                request("protocols/MCP", json!({ "message": message }))
            }
        };
        if let Ok((_, step)) = decode_step(posted.to_string(), &Limits::default()) {
            let planted: Vec<_> = step.contents.iter().filter(|content| content.text == "PLANTED").collect();
            prop_assert!(!planted.is_empty());
            for content in planted {
                prop_assert_eq!(content.origin, Origin::ToolArguments, "{} {}", content.pointer, posted);
                prop_assert!(content.form == Form::Text);
                let held = step.tool_call.as_ref().is_some_and(|call| {
                    call.arguments.iter().any(|argument| content.pointer.as_str().starts_with(argument.pointer.as_str()))
                });
                prop_assert!(held, "{} {}", content.pointer, posted);
            }
        } else {
            prop_assert!(false, "refused: {}", posted);
        }
    }
}
