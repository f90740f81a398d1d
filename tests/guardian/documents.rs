//! What the documents say is what the program does.

use std::fmt::Write;
use std::path::Path;

use aos_guardian::model::ReasonCode;
use aos_guardian::prompt::Prompts;
use serde_json::Value;

use crate::support::TestGuardian;

fn read(file: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap()
}

#[test]
fn the_readme_lists_every_reason_code_with_its_owasp_ids() {
    let mut table = String::from("| code | meaning | OWASP |\n|---|---|---|\n");
    for code in ReasonCode::all() {
        writeln!(table, "| `{code}` | {} | {} |", code.meaning(), code.owasp().join(", ")).unwrap();
    }
    assert!(
        read("README.md").contains(&table),
        "README.md should hold this table:\n\n{table}"
    );
}

#[test]
fn the_prompts_folder_holds_what_is_compiled_in() {
    for (name, text) in Prompts::sources() {
        assert_eq!(read(&format!("prompts/{name}")), text, "{name}");
    }
}

/// What a command of the README prints there.
fn printed_after(command: &str) -> String {
    let readme = read("README.md");
    let (_, after) = readme
        .split_once(&format!("{command}\n"))
        .unwrap_or_else(|| panic!("README.md has no `{command}`"));
    after.split_once("```").unwrap().0.to_owned()
}

/// What the program prints.
fn printed_by(arguments: &[&str]) -> String {
    let output = assert_cmd::Command::cargo_bin("guardian")
        .unwrap()
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env_clear()
        .args(arguments)
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// A text without how long anything took.
fn timeless(text: &str) -> String {
    let times = regex::Regex::new(r"\d+\.\d+ ms").unwrap();
    times.replace_all(text, "TIME").into_owned()
}

#[test]
fn the_session_in_the_readme_is_judged_as_it_says() {
    let said = printed_after("$ cargo run --locked -q -- judge evals/samples/session.jsonl");
    let printed = printed_by(&["judge", "evals/samples/session.jsonl"]);
    assert_eq!(timeless(&said), timeless(&printed));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_answer_in_the_readme_is_part_of_what_is_answered() {
    let readme = read("README.md");
    let (_, after) = readme.split_once("The answer, shortened:\n\n```json\n").unwrap();
    let said: Value = serde_json::from_str(after.split_once("```").unwrap().0).unwrap();
    let step: Value = serde_json::from_str(&read("evals/samples/step.json")).unwrap();
    let answer = TestGuardian::unconfigured().await.post(&step).await.json;
    assert!(
        holds(&answer, &said),
        "README.md says {said:#}\nwhat is answered is {answer:#}"
    );
}

/// Whether a value has everything that another has.
fn holds(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => part
            .iter()
            .all(|(name, part)| whole.get(name).is_some_and(|whole| holds(whole, part))),
        (Value::Array(whole), Value::Array(part)) => {
            whole.len() == part.len() && whole.iter().zip(part).all(|(whole, part)| holds(whole, part))
        }
        _ => whole == part,
    }
}
