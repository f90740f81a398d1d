//! What a verdict says it looked at: every string of every request, and what disguises hid.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use aos_guardian::config::ConfigFile;
use aos_guardian::model::{Step, Verdict, View};
use aos_guardian::pipeline::Guardian;
use aos_guardian::wire::{self, Limits};
use aos_guardian::{app, audit};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::support::{a2a_message, tool_result};

fn guardian() -> Arc<Guardian> {
    let config = ConfigFile::default().resolve("test", Path::new(".")).unwrap();
    Arc::new(app::guardian(&config, &audit::Settings::Off).unwrap())
}

async fn decided(guardian: &Guardian, request: &Value) -> Verdict {
    let (_, step): (_, Arc<Step>) = wire::decode_step(request.to_string(), &Limits::default()).unwrap();
    let admitted = guardian.admit(&Guardian::local_caller()).await.unwrap();
    let decided = guardian.decide(&admitted, step).await;
    Verdict::clone(&decided.verdict)
}

fn examined(verdict: &Verdict) -> BTreeMap<String, BTreeSet<View>> {
    let mut places: BTreeMap<String, BTreeSet<View>> = BTreeMap::new();
    for content in &verdict.coverage.examined {
        places
            .entry(content.pointer.as_str().to_owned())
            .or_default()
            .extend(content.views.iter());
    }
    places
}

/// The pointers of all strings under a value.
fn strings(value: &Value, pointer: String, found: &mut Vec<String>) {
    match value {
        Value::String(_) => found.push(pointer),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                strings(item, format!("{pointer}/{index}"), found);
            }
        }
        Value::Object(members) => {
            for (key, item) in members {
                strings(
                    item,
                    format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1")),
                    found,
                );
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_string_of_every_labelled_step_was_examined() {
    let guardian = guardian();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("evals");
    let mut methods = BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let file = entry.unwrap().path();
        if file.extension().is_none_or(|extension| extension != "jsonl") {
            continue;
        }
        // Every seventh line: enough of every file, and quick.
        for line in std::fs::read_to_string(&file).unwrap().lines().step_by(7) {
            let case: Value = serde_json::from_str(line).unwrap();
            // A line that holds a whole session has requests only once it is read.
            let Some(request) = case.get("request") else { continue };
            methods.insert(request["method"].as_str().unwrap().to_owned());
            let verdict = decided(&guardian, request).await;
            let places = examined(&verdict);
            let mut expected = Vec::new();
            strings(&request["params"], "/params".to_owned(), &mut expected);
            for pointer in expected {
                assert!(
                    places.get(&pointer).is_some_and(|views| views.contains(&View::Raw)),
                    "{} {pointer}",
                    case["id"]
                );
            }
            assert_eq!(verdict.coverage.contents, verdict.coverage.examined.len());
        }
    }
    assert!(methods.len() >= 12, "{methods:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_encoded_or_hidden_is_examined_decoded() {
    let guardian = guardian();
    let words = "the quarterly report is in the second drawer";
    let once = STANDARD.encode(words);
    let twice = STANDARD.encode(format!("see {once} for it"));
    let tags: String = words
        .chars()
        .map(|c| char::from_u32(0xe0000 + c as u32).unwrap())
        .collect();
    let hex: String = words.bytes().map(|byte| format!("{byte:02x}")).collect();
    for (text, view) in [
        (format!("Note: {once}"), View::Decoded),
        (format!("Note: {twice}"), View::Decoded),
        (format!("Note: {hex}"), View::Decoded),
        (format!("Note:{tags}"), View::Hidden),
        (json!({"note": words, "again": "a\u{e9}\n"}).to_string(), View::Json),
    ] {
        let tool = decided(&guardian, &tool_result(&text)).await;
        let views = &examined(&tool)["/params/result/outputs/0/text"];
        assert!(views.contains(&view), "{text}: {views:?}");
        let deep = decided(
            &guardian,
            &a2a_message(1, json!([{"kind": "data", "data": {"a": [{"b": text}]}}])),
        )
        .await;
        let pointer = "/params/payload/params/message/parts/0/data/a/0/b";
        assert!(examined(&deep)[pointer].contains(&view), "{text}");
    }
}
