//! The published wire: its table holds to the decoder, its examples are answered as they say, and answers fit its schemas.

use aos_guardian::model::Method;
use serde_json::{Value, json};

use crate::support::{Reply, TestGuardian, context};

fn document() -> Value {
    aos_guardian::server::api_document()
}

fn schema<'d>(document: &'d Value, name: &str) -> &'d Value {
    let found = &document["components"]["schemas"][name];
    assert!(found.is_object(), "there is no schema `{name}`");
    found
}

/// The forms of a request, by the names of their schemas.
fn forms(document: &Value) -> Vec<&str> {
    let forms = schema(document, "Request")["oneOf"].as_array().unwrap();
    forms
        .iter()
        .map(|form| form["$ref"].as_str().unwrap().rsplit('/').next().unwrap())
        .collect()
}

/// Where a value does not fit a schema. Members that the schema does not name are told, too: the table has to have them all.
fn misfits(document: &Value, schema: &Value, value: &Value, at: &str) -> Vec<String> {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap();
        return misfits(document, &document["components"]["schemas"][name], value, at);
    }
    for choice in ["oneOf", "anyOf"] {
        let forms = schema[choice].as_array().filter(|forms| {
            forms
                .iter()
                .all(|form| form.get("required").is_none() || form.get("type").is_some())
        });
        if let Some(forms) = forms {
            let all: Vec<Vec<String>> = forms.iter().map(|form| misfits(document, form, value, at)).collect();
            return all.into_iter().min_by_key(Vec::len).unwrap();
        }
    }
    let mut found = Vec::new();
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let expected = schema["type"].as_str().unwrap_or(kind);
    if expected != kind && (expected, kind) != ("number", "integer") {
        found.push(format!("{at}: expected {expected}, found {kind}"));
    }
    if let Some(names) = schema["enum"].as_array()
        && !names.contains(value)
    {
        found.push(format!("{at}: {value} is none of {names:?}"));
    }
    if let Some(only) = schema.get("const")
        && only != value
    {
        found.push(format!("{at}: {value} is not {only}"));
    }
    for name in schema["required"].as_array().into_iter().flatten() {
        if value.get(name.as_str().unwrap()).is_none() {
            found.push(format!("{at}: there is no {name}"));
        }
    }
    if let (Some(known), Some(members)) = (schema["properties"].as_object(), value.as_object()) {
        for (name, member) in members {
            match known.get(name) {
                Some(entry) => found.extend(misfits(document, entry, member, &format!("{at}/{name}"))),
                None => found.push(format!("{at}: the table does not tell of `{name}`")),
            }
        }
    }
    if let (Some(entry), Some(items)) = (schema.get("items"), value.as_array()) {
        found.extend(
            items
                .iter()
                .flat_map(|item| misfits(document, entry, item, &format!("{at}[]"))),
        );
    }
    found
}

#[tokio::test]
async fn every_example_is_answered_as_the_table_says() {
    let (guardian, document) = (TestGuardian::unconfigured().await, document());
    for name in forms(&document) {
        let form = schema(&document, name);
        let example = &form["examples"][0];
        assert_eq!(misfits(&document, form, example, name), [""; 0]);
        let reply = guardian.post(example).await;
        let said = reply.result()["decision"]
            .as_str()
            .or(reply.result()["status"].as_str());
        assert_eq!(said, form["x-decision"].as_str(), "{name}: {reply:?}");
        assert_eq!(
            misfits(&document, schema(&document, "Answer"), &reply.json, name),
            [""; 0]
        );
    }
    for (path, request, answer) in [("v1/judge", "Log", "LogVerdict"), ("acs", "AcsRequest", "AcsAnswer")] {
        let form = schema(&document, request);
        let example = form["examples"][0].to_string();
        let posted = guardian
            .request_to(path)
            .header("content-type", "application/json")
            .body(example);
        let reply = guardian.send(posted).await;
        let said = reply.json["decision"]
            .as_str()
            .or(reply.json["result"]["decision"].as_str());
        assert_eq!(said, form["x-decision"].as_str(), "{reply:?}");
        assert_eq!(
            misfits(&document, schema(&document, answer), &reply.json, path),
            [""; 0]
        );
    }
    for (name, answer) in [("Verdict", "Verdict"), ("Error", "Error")] {
        let example = &schema(&document, name)["examples"][0];
        assert!(example.is_object(), "{name} has no example");
        assert_eq!(misfits(&document, schema(&document, answer), example, name), [""; 0]);
    }
}

#[tokio::test]
async fn what_the_table_calls_needed_is_needed() {
    let (guardian, document) = (TestGuardian::unconfigured().await, document());
    for name in forms(&document) {
        let form = schema(&document, name);
        let params = &form["properties"]["params"];
        for (holder, place, needed) in [("", "", &form["required"]), ("/params", "/params", &params["required"])] {
            for member in needed.as_array().into_iter().flatten() {
                let member = member.as_str().unwrap();
                let mut request = form["examples"][0].clone();
                request
                    .pointer_mut(holder)
                    .unwrap()
                    .as_object_mut()
                    .unwrap()
                    .remove(member);
                let reply = guardian.post(&request).await;
                let said = reply.json["error"]["message"].as_str().unwrap_or_default();
                assert!(said.contains(place), "{name} without {member}: {reply:?}");
            }
        }
        for (object, entry) in params["properties"].as_object().into_iter().flatten() {
            for member in entry["required"].as_array().into_iter().flatten() {
                let member = member.as_str().unwrap();
                let mut request = form["examples"][0].clone();
                request["params"][object].as_object_mut().unwrap().remove(member);
                let reply = guardian.post(&request).await;
                let pointer = format!("/params/{object}/{member}");
                assert_eq!(reply.json["error"]["data"]["pointer"], pointer, "{name}: {reply:?}");
            }
        }
    }
}

#[tokio::test]
async fn every_method_and_every_error_is_in_the_table() {
    let (guardian, document) = (TestGuardian::unconfigured().await, document());
    let mut told: Vec<&str> = Vec::new();
    for name in forms(&document) {
        let method = &schema(&document, name)["properties"]["method"];
        told.extend(method["const"].as_str());
        told.extend(
            method["enum"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|name| name.as_str().unwrap()),
        );
    }
    for method in Method::ALL {
        assert!(told.contains(&method.as_str()), "the table does not tell of `{method}`");
    }
    for method in told {
        let reply = guardian
            .post(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {}}))
            .await;
        assert_ne!(reply.json["error"]["code"], -32601, "`{method}` is no method");
    }
    let source = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/src/wire/jsonrpc/error.rs")).unwrap();
    let code = regex::Regex::new(r"pub const \w+: i64 = (-\d+);").unwrap();
    let codes = schema(&document, "Error")["properties"]["code"]["enum"]
        .as_array()
        .unwrap();
    for found in code.captures_iter(&source) {
        let found: i64 = found[1].parse().unwrap();
        assert!(codes.contains(&json!(found)), "the table does not tell of {found}");
    }
}

#[tokio::test]
async fn the_document_is_served() {
    let guardian = TestGuardian::unconfigured().await;
    let (status, text) = guardian.get("openapi.json").await;
    assert_eq!(status, 200);
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), document());
    for path in document()["paths"].as_object().unwrap().keys() {
        let reply = guardian
            .request_to(path.trim_start_matches('/'))
            .header("content-type", "application/json")
            .body("[]");
        assert_ne!(reply.send().await.unwrap().status(), 404, "{path}");
    }
}

/// The answer to a call of a tool, changed so.
async fn ask(guardian: &TestGuardian, change: fn(&mut Value)) -> Reply {
    let mut request = json!({"jsonrpc": "2.0", "id": 1, "method": "steps/toolCallRequest", "params": {"context": context(),
        "toolCallRequest": {"toolId": "bash", "inputs": [{"name": "command", "value": "ls"}]}}});
    change(&mut request);
    guardian.post(&request).await
}

#[tokio::test]
async fn names_that_were_not_read_are_told_with_their_place_and_the_expected_name() {
    let guardian = TestGuardian::unconfigured().await;
    for (change, code, note) in [
        (
            (|request| {
                let session = request["params"]["context"]
                    .as_object_mut()
                    .unwrap()
                    .remove("session")
                    .unwrap();
                request["params"]["context"]["sesion"] = session;
            }) as fn(&mut Value),
            "misspelt_session",
            "expected `session` in `/params/context`, found `sesion` in `/params/context`",
        ),
        (
            |request| {
                let session = request["params"]["context"]
                    .as_object_mut()
                    .unwrap()
                    .remove("session")
                    .unwrap();
                request["params"]["session"] = session;
            },
            "misplaced_member",
            "expected `session` in `/params/context`, found `session` in `/params`",
        ),
        (
            |request| request["params"]["resoning"] = json!("They asked for it."),
            "misspelt_member",
            "expected `reasoning` in `/params`, found `resoning` in `/params`",
        ),
        (
            |request| {
                let agent = request["params"]["context"]["agent"].as_object_mut().unwrap();
                let instructions = agent.remove("instructions").unwrap();
                agent.insert("instrutions".to_owned(), instructions);
            },
            "misspelt_member",
            "expected `instructions` in `/params/context/agent`, found `instrutions` in `/params/context/agent`",
        ),
    ] {
        let reply = ask(&guardian, change).await;
        let data = &reply.result()["data"];
        assert!(
            data["diagnostics"].as_array().unwrap().contains(&json!(code)),
            "{reply:?}"
        );
        assert!(data["notes"][0].as_str().unwrap().starts_with(note), "{reply:?}");
    }
}

#[tokio::test]
async fn errors_name_the_place_and_what_stands_nearby() {
    let guardian = TestGuardian::unconfigured().await;
    let reply = ask(&guardian, |request| {
        let call = request["params"]["toolCallRequest"].as_object_mut().unwrap();
        let tool = call.remove("toolId").unwrap();
        call.insert("toolID".to_owned(), tool);
    })
    .await;
    assert_eq!(reply.json["error"]["data"]["pointer"], "/params/toolCallRequest/toolId");
    assert!(
        reply.json["error"]["message"].as_str().unwrap().contains("`toolID`"),
        "{reply:?}"
    );
    let reply = ask(&guardian, |request| {
        let call = request["params"]
            .as_object_mut()
            .unwrap()
            .remove("toolCallRequest")
            .unwrap();
        request["toolCallRequest"] = call;
    })
    .await;
    assert!(
        reply.json["error"]["message"]
            .as_str()
            .unwrap()
            .contains("but one at `/toolCallRequest`"),
        "{reply:?}"
    );
}

#[tokio::test]
async fn arguments_are_understood_as_interfaces_of_models_spell_them() {
    let guardian = TestGuardian::unconfigured().await;
    for (name, value) in [
        ("arguments", json!("{\"command\": \"rm -rf /\"}")),
        ("arguments", json!({"command": "rm -rf /"})),
        ("input", json!({"command": "rm -rf /"})),
        ("inputs", json!({"command": "rm -rf /"})),
    ] {
        let mut request = json!({"jsonrpc": "2.0", "id": 1, "method": "steps/toolCallRequest", "params": {"context": context(),
            "toolCallRequest": {"toolId": "bash"}}});
        request["params"]["toolCallRequest"][name] = value;
        let reply = guardian.post(&request).await;
        assert_eq!(reply.decision(), "deny", "{name}: {reply:?}");
        assert!(
            reply.result()["data"]["diagnostics"]
                .as_array()
                .unwrap()
                .contains(&json!("arguments_elsewhere"))
        );
    }
}
