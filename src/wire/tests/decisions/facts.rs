//! What is said about a step beside its body, for a judge to know.

use super::*;
use crate::model::FactKind::{self, *};

fn facts(request: &Value) -> Vec<(FactKind, String)> {
    let step = step(request);
    step.facts.iter().map(|fact| (fact.kind, fact.text.clone())).collect()
}

fn expect(request: &Value, expected: &[(FactKind, &str)]) {
    let expected: Vec<_> = expected
        .iter()
        .map(|(kind, text)| (*kind, (*text).to_owned()))
        .collect();
    assert_eq!(facts(request), expected, "{request}");
}

#[test]
fn who_stands_behind_a_step() {
    for name in ["user", "identity"] {
        let mut request = user_message(json!("hi"));
        request["params"]["context"][name] = json!({ "id": "u", "name": "Ada", "email": "ada@mill.example", "organization": { "id": "o", "name": "Mill" } });
        expect(&request, &[(UserName, "Ada"), (UserOrganisation, "Mill")]);
        request["params"]["context"][name] = json!({ "id": "u", "organization": { "id": "o-1" } });
        expect(&request, &[(UserOrganisation, "o-1")]);
    }
    expect(&user_message(json!("hi")), &[]);
}

#[test]
fn what_triggers_a_step_and_when() {
    let trigger = json!({ "type": "autonomous", "event": { "type": "timer", "id": "e", "schedule": "0 6 * * 1" }, "content": [],
        "metadata": { "interval": 3600 } });
    expect(
        &aos_request("steps/agentTrigger", json!({ "trigger": trigger })),
        &[
            (TriggerType, "autonomous"),
            (TriggerEvent, "timer"),
            (Schedule, "0 6 * * 1"),
            (Schedule, "3600"),
        ],
    );
}

#[test]
fn where_documents_and_memories_come_from() {
    let results = json!([{ "id": "handbook", "content": "x" }, { "content": "y" }, { "id": 7, "content": "z" }]);
    expect(
        &aos_request(
            "steps/knowledgeRetrieval",
            json!({ "knowledgeStep": { "results": results } }),
        ),
        &[(KnowledgeId, "handbook"), (KnowledgeId, "7")],
    );
    expect(
        &aos_request(
            "steps/memoryStore",
            json!({ "memory": [{ "id": "m-1", "text": "tea" }, "plain"] }),
        ),
        &[(MemoryId, "m-1")],
    );
}

#[test]
fn the_method_of_mcp_and_what_a_server_wants_to_see() {
    let sampling = inner(
        "sampling/createMessage",
        json!({ "messages": [], "includeContext": "allServers" }),
    );
    expect(
        &request("protocols/MCP", json!({ "message": sampling })),
        &[(McpMethod, "sampling/createMessage"), (IncludeContext, "allServers")],
    );
    let named = request("protocols/MCP/tools/call", json!({ "name": "t", "arguments": {} }));
    expect(&named, &[(McpMethod, "tools/call")]);
    expect(
        &request(
            "protocols/MCP",
            json!({ "message": { "jsonrpc": "2.0", "id": 1, "result": {} } }),
        ),
        &[],
    );
}

#[test]
fn facts_are_short_and_few() {
    let results: Vec<Value> = (0..500)
        .map(|index| json!({ "id": format!("{index}-{}", "x".repeat(900)) }))
        .collect();
    let facts = facts(&aos_request(
        "steps/knowledgeRetrieval",
        json!({ "knowledgeStep": { "results": results } }),
    ));
    assert_eq!(facts.len(), 24);
    assert!(
        facts
            .iter()
            .all(|(_, text)| text.chars().count() <= 121 && text.ends_with('…'))
    );
}
