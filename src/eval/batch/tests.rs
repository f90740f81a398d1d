use std::path::PathBuf;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::*;
use crate::judge::{Question, Recorder};
use crate::llm::{self, Request, Schema};

const SEED: &str = "0123456789abcdef0123456789abcdef";
const OTHER_SEED: &str = "fedcba9876543210fedcba9876543210";

fn id(case: &str, seed: &str, digest: &str) -> String {
    format!("{case}#{seed}-{digest}")
}

fn read(lines: &[Value]) -> Result<BatchAnswers, String> {
    let dir = tempfile::tempdir().unwrap();
    let file: PathBuf = dir.path().join("out.jsonl");
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    std::fs::write(&file, text.join("\n")).unwrap();
    BatchAnswers::read(&[file], Stale::Refused).map_err(|error| error.to_string())
}

fn by_hand(id: &str) -> Value {
    json!({"custom_id": id, "answer": {"decision": "allow"}})
}

/// Puts one question to a recorder, and gives its digest along.
fn ask(recorder: &dyn Recorder, text: &str) -> (String, Result<Option<String>, &'static str>) {
    let marks = recorder.marks();
    let json: Box<RawValue> = serde_json::from_str("{}").unwrap();
    let question = Question {
        model: "m",
        request: Request {
            system: &format!("canary: {}", marks.canary),
            user: text,
            schema: Schema { name: "s", json: &json },
        },
        marks: &marks,
    };
    let replayed = recorder.replay(&question);
    let replayed = replayed.map(|reply| reply.map(|reply| reply.text)).map_err(|f| f.code);
    (question.digest(), replayed)
}

fn digest(text: &str) -> String {
    ask(&*questions().of_case("any"), text).0
}

fn questions() -> Arc<BatchQuestions> {
    Arc::new(BatchQuestions::new(
        llm::Settings::new("http://localhost/v1", "m"),
        Box::new(std::io::sink()),
    ))
}

#[test]
fn marks_follow_from_the_seed_and_differ_for_each_question() {
    assert_eq!(marks(SEED, 1), marks(SEED, 1));
    assert_ne!(marks(SEED, 1).canary, marks(SEED, 2).canary);
    assert_ne!(marks(SEED, 1).canary, marks(OTHER_SEED, 1).canary);
    assert_ne!(marks(SEED, 1).canary, marks(SEED, 1).fence);
    assert_eq!(marks(SEED, 1).fence.len(), crate::prompt::FENCE_DIGITS);
    assert_ne!(fresh_seed(), fresh_seed());
}

#[test]
fn the_marks_of_two_batches_of_one_suite_have_nothing_in_common() {
    let batch = questions();
    let (one, two) = (batch.of_case("a").marks(), batch.of_case("a").marks());
    assert_ne!(one.canary, two.canary);
    assert_ne!(one.fence, two.fence);
}

#[test]
fn an_answer_reaches_the_question_that_it_was_given_to() {
    let completion = json!({"choices": [{"message": {"content": "first"}}]});
    let answers = read(&[
        json!({"id": "x", "custom_id": id("a", SEED, &digest("q1")), "error": null,
               "response": {"status_code": 200, "request_id": "r", "body": completion}}),
        json!({"custom_id": format!("{}-2", id("a", SEED, &digest("q2"))), "answer": {"n": 2}}),
        json!({"custom_id": id("b#c", SEED, &digest("q1")), "response": null, "error": {"code": "batch_expired"}}),
        json!({"custom_id": id("d", SEED, &digest("q1")), "response": {"status_code": 500, "body": {}}}),
    ]);
    let answers = Arc::new(answers.unwrap());
    assert_eq!(answers.cases(), 3);
    let recorder = answers.of_case("a");
    assert_eq!(ask(&*recorder, "q1").1, Ok(Some("first".to_owned())));
    assert_eq!(ask(&*recorder, "q2").1, Ok(Some(r#"{"n":2}"#.to_owned())));
    assert_eq!(ask(&*recorder, "q3").1, Err(MISSING));
    assert_eq!(ask(&*answers.of_case("a"), "another question").1, Err(STALE));
    assert_eq!(ask(&*answers.of_case("b#c"), "q1").1, Err(FAILED));
    assert_eq!(ask(&*answers.of_case("d"), "q1").1, Err(FAILED));
    assert_eq!(ask(&*answers.of_case("unknown"), "q1").1, Err(MISSING));
}

#[test]
fn a_completion_that_is_no_answer_fails_as_it_would_live() {
    let body = json!({"choices": [{"message": {"content": "{"}, "finish_reason": "length"}]});
    let line = json!({"custom_id": id("a", SEED, &digest("q")), "response": {"status_code": 200, "body": body}, "error": null});
    let answers = Arc::new(read(&[line]).unwrap());
    assert_eq!(ask(&*answers.of_case("a"), "q").1, Err("truncated"));
}

#[test]
fn lines_that_are_no_answers_are_named() {
    let digest = digest("q");
    let one = by_hand(&id("a", SEED, &digest));
    let error = read(&[one.clone(), one.clone()]).unwrap_err();
    assert!(
        error.contains("out.jsonl:2: ") && error.contains("was answered already"),
        "{error}"
    );
    let error = read(&[one.clone(), by_hand(&id("a", OTHER_SEED, &digest))]).unwrap_err();
    assert!(error.contains("in another batch"), "{error}");
    let error = read(&[json!({"custom_id": "a"})]).unwrap_err();
    assert!(error.contains("expected `CASE#SEED-DIGEST`"), "{error}");
    let error = read(&[json!({"custom_id": id("a", SEED, &digest)})]).unwrap_err();
    assert!(error.contains("expected a `response` with a `body`"), "{error}");
    let error = read(&[json!(["no", "line"])]).unwrap_err();
    assert!(
        error.contains("out.jsonl:1: expected a line of a batch's output"),
        "{error}"
    );
}

#[test]
fn an_answer_to_a_case_of_another_run_is_foreign() {
    let answers = read(&[by_hand(&id("a", SEED, SEED)), by_hand(&id("b", SEED, SEED))]).unwrap();
    assert!(answers.check_cases(["a", "b", "c"].into_iter()).is_ok());
    let error = answers.check_cases(["b"].into_iter()).unwrap_err().to_string();
    assert!(error.contains("out.jsonl:1: the answer `a#"), "{error}");
}

proptest! {
    #[test]
    fn names_of_questions_read_back(case in "\\PC{1,20}", number in 1..=MAX_QUESTIONS) {
        let id = QuestionId { case, seed: fresh_seed(), digest: fresh_seed(), number };
        prop_assert_eq!(QuestionId::parse(&id.to_string()), Some(id));
    }

    #[test]
    fn no_text_makes_reading_a_name_panic(text in "\\PC{0,100}") {
        let _ = QuestionId::parse(&text);
    }
}
