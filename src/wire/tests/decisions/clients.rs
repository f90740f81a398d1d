//! What real clients send beside the texts: understood, with a diagnostic, and forwarded as it was sent.

use super::*;
use crate::model::{Edit, Kind, ReasonCode};

fn codes(step: &Step) -> Vec<&'static str> {
    step.leniencies().into_iter().map(|(code, _)| code).collect()
}

/// Decodes, and checks that an edit of the marker changes nothing else.
fn accepted(request: &Value) -> Arc<Step> {
    let step = step(request);
    let marked = step
        .contents
        .iter()
        .find(|content| content.text == "MARK" && content.is_editable());
    if let Some(content) = marked {
        let edit = Edit {
            content: content.id,
            span: 0..4,
            replacement: "other".into(),
            reason: ReasonCode::PersonalData,
        };
        let edited = step.original.edited(&[edit]).unwrap();
        let expected = request.to_string().replacen("\"MARK\"", "\"other\"", 1);
        assert_eq!(edited.original.json(), expected);
        assert_eq!(codes(&edited), codes(&step));
    }
    step
}

#[test]
fn row_38_the_role_assistant_is_the_agents() {
    let request = aos_request(
        "steps/message",
        json!({ "message": { "role": "assistant", "content": "MARK" } }),
    );
    let step = accepted(&request);
    assert_eq!((step.kind, codes(&step)), (Kind::AgentMessage, vec!["role_assistant"]));
    assert_eq!(origin(&step, "/params/message/content"), Origin::Agent);
}

#[test]
fn row_38_a_context_without_agent() {
    for context in [
        json!({}),
        json!({ "session": { "id": "s" } }),
        json!({ "agent": null, "session": { "id": "s" } }),
    ] {
        let mut request = user_message(json!("MARK"));
        request["params"]["context"] = context;
        let step = accepted(&request);
        assert!(step.agent.is_none());
        assert_eq!(codes(&step), ["context_without_agent"]);
    }
    let mut none = user_message(json!("MARK"));
    none["params"].as_object_mut().unwrap().remove("context");
    assert_eq!(refusal(&none).data.unwrap()["pointer"], "/params/context");
}

#[test]
fn row_38_numeric_ids_are_their_text() {
    for id in ["42", "1234567890123456789012345", "-7"] {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"steps/message","params":{{"context":{{"agent":{{"id":"a"}},
            "session":{{"id":{id}}},"user":{{"id":{id}}}}},"message":{{"role":"user","content":"hi"}}}}}}"#
        );
        let (_, step) = decode_step(&body, &Limits::default()).unwrap();
        assert_eq!(step.session.as_ref().map(|id| id.as_str()), Some(id));
        assert_eq!(step.user.as_ref().map(|id| id.as_str()), Some(id));
        assert_eq!(codes(&step), ["numeric_id"]);
        assert_eq!(step.original.json(), body);
    }
    let result = aos_request(
        "steps/toolCallResult",
        json!({ "executionId": 7, "result": { "outputs": [] } }),
    );
    assert_eq!(step(&result).ties.call.as_deref(), Some("7"));
}

#[test]
fn row_38_content_that_is_null_is_empty() {
    let step = accepted(&user_message(Value::Null));
    assert_eq!((step.kind, codes(&step)), (Kind::UserMessage, vec!["null_content"]));
    let null_in_mcp = json!({ "message": { "jsonrpc": "2.0", "id": 1, "result": { "content": null } } });
    accepted(&request("protocols/MCP", null_in_mcp));
}

#[test]
fn row_38_one_object_where_a_list_is_expected() {
    let part = json!({ "kind": "text", "text": "MARK" });
    let with_tool = {
        let mut request = user_message(json!("hi"));
        request["params"]["context"]["agent"]["tools"] = json!({ "id": "t", "description": "Finds." });
        request
    };
    let a2a = json!({ "message": { "role": "user", "parts": part } });
    for (request, origin) in [
        (user_message(part.clone()), Origin::User),
        (
            aos_request("steps/toolCallResult", json!({ "result": { "outputs": part } })),
            Origin::ToolOutput,
        ),
        (
            aos_request("steps/memoryStore", json!({ "memory": { "fact": "MARK" } })),
            Origin::Memory,
        ),
        (
            aos_request(
                "steps/knowledgeRetrieval",
                json!({ "knowledgeStep": { "results": { "id": "k", "content": "MARK" } } }),
            ),
            Origin::Knowledge,
        ),
        (
            aos_request(
                "steps/agentTrigger",
                json!({ "trigger": { "type": "cron", "content": part } }),
            ),
            Origin::Trigger,
        ),
        (
            aos_request(
                "steps/toolCallRequest",
                json!({ "toolCallRequest": { "toolId": "t",
            "inputs": { "name": "a", "value": "MARK" } } }),
            ),
            Origin::ToolArguments,
        ),
        (
            super::request("message/send", json!({ "payload": inner("message/send", a2a) })),
            Origin::Agent,
        ),
    ] {
        let step = accepted(&request);
        assert_eq!(codes(&step), ["single_for_list"], "{request}");
        let marked = step.contents.iter().find(|content| content.text == "MARK").unwrap();
        assert_eq!(marked.origin, origin, "{request}");
    }
    let step = accepted(&with_tool);
    assert_eq!(step.agent.as_ref().unwrap().tools.len(), 1);
    assert_eq!(codes(&step), ["single_for_list"]);
}

#[test]
fn row_38_a_result_that_is_its_output_alone() {
    for (params, pointer) in [
        (json!({ "executionId": "x", "result": "MARK" }), "/params/result"),
        (json!({ "executionId": "x", "result": ["MARK"] }), "/params/result/0"),
        (
            json!({ "executionId": "x", "result": [{ "kind": "text", "text": "MARK" }] }),
            "/params/result/0/text",
        ),
        (
            json!({ "toolCallResult": { "executionId": "x", "result": "MARK" } }),
            "/params/toolCallResult/result",
        ),
        (
            json!({ "toolCallResult": { "result": [{ "type": "text", "text": "MARK" }] } }),
            "/params/toolCallResult/result/0/text",
        ),
    ] {
        let step = accepted(&aos_request("steps/toolCallResult", params));
        assert_eq!(codes(&step), ["bare_result"], "{pointer}");
        assert_eq!(origin(&step, pointer), Origin::ToolOutput);
        assert!(
            step.contents.iter().all(|content| content.form != Form::Key),
            "{pointer}"
        );
    }
    let odd = refusal(&aos_request("steps/toolCallResult", json!({ "result": 7 })));
    assert_eq!(odd.data.unwrap()["pointer"], "/params/result");
}

#[test]
fn row_38_tools_in_the_shape_of_openais_interface() {
    let mut request = user_message(json!("MARK"));
    request["params"]["context"]["agent"]["tools"] = json!([
        { "type": "function", "function": { "name": "find", "description": "Finds.", "strict": true, "parameters": {
            "type": "object", "properties": { "q": { "type": "string" } }, "required": ["q"] } } },
        { "type": "function", "name": "flat", "parameters": { "properties": { "n": { "type": "integer" } } } },
        { "name": "other", "input_schema": { "properties": { "p": {} } } }]);
    let step = accepted(&request);
    assert_eq!(codes(&step), ["function_tool"]);
    let tools: Vec<_> = step
        .agent
        .as_ref()
        .unwrap()
        .tools
        .iter()
        .map(|tool| {
            let arguments = tool.arguments.iter().flatten().map(|argument| argument.name.as_str());
            (
                tool.id.as_str(),
                tool.description.as_deref(),
                arguments.collect::<Vec<_>>(),
            )
        })
        .collect();
    assert_eq!(
        tools,
        [
            ("find", Some("Finds."), vec!["q"]),
            ("flat", None, vec!["n"]),
            ("other", None, vec!["p"])
        ]
    );
    let description = "/params/context/agent/tools/0/function/description";
    assert_eq!(origin(&step, description), Origin::ToolDescription);
}

#[test]
fn an_identity_of_the_later_revision_stands_for_the_user() {
    let mut request = user_message(json!("MARK"));
    request["params"]["context"]["identity"] = json!({ "id": "u-7", "name": "Ada", "organization": { "id": "o" } });
    let step = accepted(&request);
    assert_eq!(step.user.as_ref().map(|id| id.as_str()), Some("u-7"));
    assert!(step.remarks.is_empty());
}

#[test]
fn row_39_a_byte_order_mark_is_left_out_with_a_diagnostic() {
    let request = user_message(json!("hi")).to_string();
    let (_, marked) = decode_step(format!("\u{feff}{request}"), &Limits::default()).unwrap();
    assert_eq!(codes(&marked), ["byte_order_mark"]);
    assert_eq!(marked.original.json(), request);
    let batch = format!("\u{feff}[{request},{request}]");
    let Ok(Incoming::Batch(items)) = decode(batch.as_bytes(), &Limits::default()) else {
        panic!("a batch")
    };
    for item in items {
        let Ok(Call::Step(step)) = item.call else {
            panic!("a step")
        };
        assert_eq!(codes(&step), ["byte_order_mark"]);
    }
}

#[test]
fn every_leniency_has_a_code_and_a_sentence_of_its_own() {
    for (index, leniency) in Leniency::ALL.iter().enumerate() {
        let others = &Leniency::ALL[..index];
        assert!(
            others
                .iter()
                .all(|other| other.code() != leniency.code() && other.what() != leniency.what())
        );
        assert!(
            leniency
                .code()
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
        );
    }
}

#[test]
fn row_32_numbers_are_kept_as_they_are_written() {
    let long = "7".repeat(5_000);
    for number in [
        "1e400",
        "9007199254740993",
        "-0.10",
        "1E5",
        "4111111111111111.0",
        long.as_str(),
    ] {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":18446744073709551616,"method":"steps/toolCallRequest","params":{{"context":{{"agent":{{"id":"a"}}}},
            "toolCallRequest":{{"toolId":"t","inputs":[{{"name":"n","value":{number}}},{{"name":"o","value":"MARK"}}]}}}}}}"#
        );
        let (id, step) = decode_step(&body, &Limits::default()).unwrap();
        assert_eq!(id, crate::model::RequestId::Integer("18446744073709551616".into()));
        assert_eq!(step.tool_call.as_ref().unwrap().arguments[0].json, number);
        let marked = step.contents.iter().find(|content| content.text == "MARK").unwrap();
        let edit = Edit {
            content: marked.id,
            span: 0..4,
            replacement: "x".into(),
            reason: ReasonCode::PersonalData,
        };
        let edited = step.original.edited(&[edit]).unwrap();
        assert_eq!(edited.original.json(), body.replace("MARK", "x"));
    }
}

#[test]
fn row_32_a_number_is_found_in_both_readings() {
    for number in [
        "4111111111111111",
        "4111111111111111.0",
        "4.111111111111111e15",
        "4111111111111111e0",
    ] {
        let body = aos_request(
            "steps/toolCallResult",
            json!({ "result": { "outputs": [{ "kind": "data", "data": { "n": "N" } }] } }),
        )
        .to_string()
        .replace("\"N\"", number);
        let (_, step) = decode_step(&body, &Limits::default()).unwrap();
        let card = step
            .contents
            .iter()
            .find(|content| content.form == Form::Number)
            .unwrap();
        assert_eq!(card.text, "4111111111111111", "{number}");
        let edit = Edit {
            content: card.id,
            span: 0..12,
            replacement: "************".into(),
            reason: ReasonCode::PersonalData,
        };
        let edited = step.original.edited(&[edit]).unwrap();
        assert_eq!(edited.original.json(), body.replace(number, "\"************1111\""));
    }
}
