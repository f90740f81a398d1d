//! Requests that are meant to break a reader: refused quickly, or read in bounded memory.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

fn within(limit: Duration, work: impl FnOnce()) {
    let started = Instant::now();
    work();
    assert!(started.elapsed() < limit, "took {:?}", started.elapsed());
}

const WIDE: Limits = Limits {
    a2a_side: Side::Client,
    dialect: crate::wire::Dialect::Aos,
    max_depth: 128,
    max_nodes: 2_000_000,
    max_batch: 32,
    max_body_bytes: 64 << 20,
};

#[test]
fn a_long_name_around_many_values_does_not_multiply() {
    // 100,000 strings, each of whose pointers would repeat half a megabyte.
    let memory = format!(r#"{{"{}":[{}""]}}"#, "k".repeat(500_000), r#""","#.repeat(100_000));
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"steps/memoryStore","params":{{"context":{{"agent":{{"id":"a"}}}},"memory":[{memory}]}}}}"#
    );
    within(Duration::from_secs(10), || {
        assert_eq!(decode_step(&body, &WIDE).unwrap_err().code, code::INVALID_REQUEST);
    });
    // The same through the label of a tool's argument.
    let inputs = format!(
        r#"[{{"name":"{}","value":[{}""]}}]"#,
        "n".repeat(500_000),
        r#""","#.repeat(100_000)
    );
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"steps/toolCallRequest","params":{{"context":{{"agent":{{"id":"a"}}}},"toolCallRequest":{{"toolId":"t","inputs":{inputs}}}}}}}"#
    );
    within(Duration::from_secs(10), || {
        assert_eq!(decode_step(&body, &WIDE).unwrap_err().code, code::INVALID_REQUEST);
    });
}

#[test]
fn many_inputs_parts_and_tools_are_read_in_linear_time() {
    let many = |item: &str, count: usize| vec![item; count].join(",");
    let inputs = many(r#"{"name":"n","value":"v"}"#, 50_000);
    let tools = many(r#"{"id":"t","arguments":[{"name":"n"}]}"#, 20_000);
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"steps/toolCallRequest","params":{{"context":{{"agent":{{"id":"a","tools":[{tools}]}}}},"toolCallRequest":{{"toolId":"t","inputs":[{inputs}]}}}}}}"#
    );
    within(Duration::from_secs(20), || {
        let (_, step) = decode_step(&call, &WIDE).unwrap();
        let call = step.tool_call.as_ref().unwrap();
        assert_eq!(call.arguments.len(), 50_000);
        assert_eq!(
            call.arguments[49_999].pointer.as_str(),
            "/params/toolCallRequest/inputs/49999/value"
        );
    });
    // A file that is a list of many strings, beside many members that are no media type.
    let members: Vec<String> = (0..30_000).map(|index| format!(r#""m{index}":0"#)).collect();
    let file = format!(r#"{{{},"bytes":[{}]}}"#, members.join(","), many(r#""QUFB""#, 30_000));
    let message = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"steps/message","params":{{"context":{{"agent":{{"id":"a"}}}},"message":{{"role":"user","content":[{{"kind":"file","file":{file}}}]}}}}}}"#
    );
    within(Duration::from_secs(20), || {
        decode_step(&message, &WIDE).unwrap();
    });
}

#[test]
fn bodies_over_the_limit_are_refused() {
    let body = request("steps/message", json!({ "text": "x".repeat(1 << 20) })).to_string();
    let error = decode(body.as_bytes(), &Limits::default()).unwrap_err();
    assert_eq!(error.code, code::INVALID_REQUEST);
    assert!(error.message.contains("1048576"));
}

#[test]
fn nul_and_control_characters_are_kept_as_they_are() {
    let step = step(&aos_request(
        "steps/memoryStore",
        json!({ "memory": "a\u{0}b\u{1b}[2J\u{7f}" }),
    ));
    assert_eq!(at(&step, "/params/memory").text, "a\u{0}b\u{1b}[2J\u{7f}");
}

#[test]
fn a_refusal_repeats_no_more_than_a_little_of_what_was_sent() {
    let item = one(request(&format!("evil\u{1b}[2J\n{}", "x".repeat(10_000)), json!({})).to_string());
    let error = item.call.unwrap_err();
    assert!(error.message.len() < 400);
    assert!(!error.message.contains(['\u{1b}', '\n']));
    let mut odd = aos_request("steps/memoryStore", json!({}));
    odd["params"]["context"]["agent"] = json!({ "k".repeat(10_000): 1 });
    assert!(refusal(&odd).message.len() < 400);
}

fn any_sample() -> impl Strategy<Value = String> {
    let bodies: Vec<String> = samples::all().iter().map(|sample| sample.request.to_string()).collect();
    prop::sample::select(bodies)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_bytes_make_it_panic(body in prop::collection::vec(any::<u8>(), 0..256)) {
        let _ = decode(&body, &Limits::default());
    }

    #[test]
    fn no_mutation_of_a_request_makes_it_panic(
        body in any_sample(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0_u8..3), 1..8),
    ) {
        let mut bytes = body.into_bytes();
        for (place, byte, how) in changes {
            let at = place.index(bytes.len());
            match how {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => { bytes.remove(at); }
            }
        }
        if let Ok(Incoming::One(item)) = decode(&bytes, &Limits::default())
            && let Ok(Call::Step(step)) = item.call
        {
            prop_assert!(step.original.edited(&[]).is_ok());
        }
    }

    #[test]
    fn any_value_in_place_of_any_other_is_read_or_refused(
        body in any_sample(),
        place in any::<prop::sample::Index>(),
        value in prop::sample::select(vec!["null", "7", "true", "\"x\"", "[]", "{}", "[\"y\"]", "{\"k\":\"v\"}", "[[{}]]"]),
    ) {
        let mut request: Value = serde_json::from_str(&body).unwrap();
        let mut pointers = Vec::new();
        every_pointer(&request, String::new(), &mut pointers);
        let pointer = &pointers[place.index(pointers.len())];
        *request.pointer_mut(pointer).unwrap() = serde_json::from_str(value).unwrap();
        let _ = decode(request.to_string().as_bytes(), &Limits::default());
    }
}

fn every_pointer(value: &Value, pointer: String, pointers: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                every_pointer(item, format!("{pointer}/{index}"), pointers);
            }
        }
        Value::Object(members) => {
            for (key, member) in members {
                every_pointer(
                    member,
                    format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1")),
                    pointers,
                );
            }
        }
        _ => {}
    }
    pointers.push(pointer);
}
