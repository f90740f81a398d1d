use std::sync::Arc;

use proptest::prelude::*;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::*;
use crate::eval::Recording;
use crate::llm::{Request, Schema};

/// Puts one question about a case to a recorder.
fn ask(recorder: &dyn Recorder, case: &str, text: &str) -> Result<Option<String>, &'static str> {
    let marks = Marks::fresh();
    let json: Box<RawValue> = serde_json::from_str("{}").unwrap();
    let question = Question {
        asker: case,
        model: "m",
        request: Request {
            system: &format!("canary: {}", marks.canary),
            user: text,
            schema: Schema { name: "s", json: &json },
        },
        marks: &marks,
    };
    let replayed = recorder.replay(&question);
    let text = |reply: Reply| {
        reply
            .text
            .replace(&marks.canary, "CANARY")
            .replace(&marks.fence, "FENCE")
    };
    replayed.map(|reply| reply.map(text)).map_err(|failure| failure.code)
}

/// Returns the `custom_id` under which the question is written out.
fn written(case: &str, text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("out.jsonl");
    let out = std::fs::File::create(&file).unwrap();
    let batch = BatchQuestions::new(llm::Settings::new("http://localhost/v1", "m"), Box::new(out));
    assert_eq!(ask(&batch, case, text), Err(BATCHED));
    assert_eq!(batch.finish().unwrap().questions, 1);
    let line: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    line["custom_id"].as_str().unwrap().to_owned()
}

fn read(lines: &[Value]) -> Result<Recording, String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("out.jsonl");
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    std::fs::write(&file, text.join("\n")).unwrap();
    Recording::of_batch(&[file], "m").map_err(|error| error.to_string())
}

#[test]
fn an_answer_reaches_the_question_that_it_was_given_to() {
    let (first, by_hand) = (written("a", "q1"), written("b#c", "q2"));
    let (_, marks) = digest_and_marks(&first).unwrap();
    let content = format!("first, {} in {}", marks.canary, marks.fence);
    let completion = json!({"model": "batched", "choices": [{"message": {"content": content}}]});
    let answers = read(&[
        json!({"id": "x", "custom_id": first, "error": null,
               "response": {"status_code": 200, "request_id": "r", "body": completion}}),
        json!({"custom_id": by_hand, "answer": {"n": 2}}),
        json!({"custom_id": written("d", "q3"), "response": null, "error": {"code": "batch_expired"}}),
        json!({"custom_id": written("e", "q4"), "response": {"status_code": 500, "body": {}}}),
    ]);
    let answers = answers.unwrap();
    assert_eq!((answers.model(), answers.len()), (Some("batched"), 2));
    assert_eq!(ask(&answers, "a", "q1"), Ok(Some("first, CANARY in FENCE".to_owned())));
    assert_eq!(ask(&answers, "b#c", "q2"), Ok(Some(r#"{"n":2}"#.to_owned())));
    for unanswered in ["another question", "q3", "q4"] {
        assert_eq!(ask(&answers, "a", unanswered), Err("replay_miss"));
    }
}

#[test]
fn a_completion_that_is_no_answer_fails_as_it_would_live() {
    let body = json!({"choices": [{"message": {"content": "{"}, "finish_reason": "length"}]});
    let line = json!({"custom_id": written("a", "q"), "response": {"status_code": 200, "body": body}, "error": null});
    let answers = Arc::new(read(&[line]).unwrap());
    assert_eq!(ask(&*answers, "a", "q"), Err("truncated"));
}

#[test]
fn lines_that_are_no_answers_are_named() {
    let error = |line: Value| {
        read(&[json!({"custom_id": written("a", "q"), "answer": {}}), line])
            .err()
            .unwrap()
    };
    let unnamed = error(json!({"custom_id": "a"}));
    assert!(
        unnamed.contains("out.jsonl:2: ") && unnamed.contains("expected `CASE#DIGEST-FENCE-CANARY`"),
        "{unnamed}"
    );
    let empty = error(json!({"custom_id": written("a", "q")}));
    assert!(empty.contains("expected a `response` with a `body`"), "{empty}");
    let other = error(json!(["no", "line"]));
    assert!(other.contains("expected a line of a batch's output"), "{other}");
}

proptest! {
    #[test]
    fn digest_and_marks_read_back(case in "\\PC{1,20}") {
        let marks = Marks::fresh();
        let digest = "0123456789abcdef0123456789abcdef";
        let read = digest_and_marks(&custom_id(&case, digest, &marks));
        prop_assert!(read == Some((digest.to_owned(), marks)));
    }

    #[test]
    fn no_text_makes_reading_a_name_panic(text in "\\PC{0,100}") {
        let _ = digest_and_marks(&text);
    }
}
