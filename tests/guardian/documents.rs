//! What the documents say is what the program does.

use std::fmt::Write;
use std::path::Path;

use aos_guardian::model::ReasonCode;
use aos_guardian::prompt::Prompts;
use serde_json::Value;

use crate::support::TestGuardian;

pub(crate) fn read(file: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap()
}

#[test]
fn the_reason_codes_are_listed_with_their_owasp_ids() {
    let mut table = String::from("| code | meaning | OWASP |\n|---|---|---|\n");
    for code in ReasonCode::all() {
        writeln!(table, "| `{code}` | {} | {} |", code.meaning(), code.owasp().join(", ")).unwrap();
    }
    assert!(
        read("docs/tuning.md").contains(&table),
        "docs/tuning.md should hold this table:\n\n{table}"
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
fn the_generated_references_are_what_the_program_prints() {
    for (file, arguments) in [
        ("docs/configuration.md", &["config", "print", "--markdown"][..]),
        ("docs/policy.md", &["config", "print", "--policy", "--markdown"]),
        ("docs/rules.md", &["rules", "list", "--markdown"]),
        ("docs/schemas/guardian.schema.json", &["config", "schema"]),
        ("docs/schemas/policy.schema.json", &["policy", "schema"]),
        (
            "docs/schemas/conditions.cedarschema",
            &["policy", "schema", "--conditions"],
        ),
        ("docs/schemas/case.schema.json", &["eval", "schema"]),
        ("docs/schemas/openapi.json", &["api"]),
        ("docs/api.md", &["api", "--markdown"]),
    ] {
        let command = arguments.join(" ");
        assert_eq!(
            read(file),
            printed_by(arguments),
            "run: cargo run -q -- {command} > {file}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_field_of_an_audit_record_is_documented() {
    let policy = tempfile::tempdir().unwrap();
    let file = policy.path().join("p.toml");
    std::fs::write(&file, "[audit]\ncontents = true\n").unwrap();
    let guardian = TestGuardian::with(&format!("policy = '{}'", file.display())).await;
    let step: Value = serde_json::from_str(&read("evals/samples/step.json")).unwrap();
    guardian.post(&step).await;
    let record = guardian.records(1).await.remove(0);
    let documented = read("docs/operating.md");
    for field in record.as_object().unwrap().keys() {
        assert!(
            documented.contains(&format!("`{field}`")),
            "docs/operating.md does not tell of `{field}`"
        );
    }
}

#[test]
fn the_readme_is_short_and_its_links_lead_somewhere() {
    let readme = read("README.md");
    assert!(readme.lines().count() <= 200, "{} lines", readme.lines().count());
    let link = regex::Regex::new(r"\]\(([^)#]+)(#[^)]*)?\)").unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for file in [
        "README.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "docs/architecture.md",
        "docs/operating.md",
        "docs/tuning.md",
        "docs/evaluation.md",
    ] {
        let text = read(file);
        for found in link.captures_iter(&text).map(|found| found[1].to_owned()) {
            let there = found.starts_with("http") || root.join(file).parent().unwrap().join(&found).exists();
            assert!(there, "{file}: {found}");
        }
    }
}

#[test]
fn what_a_judged_step_costs_is_what_the_readme_says() {
    let output = assert_cmd::Command::cargo_bin("guardian")
        .unwrap()
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env_clear()
        .args(["prompts", "render", "evals/samples/step.json"])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let number = |text: &str, pattern: &str| -> f64 {
        let found = regex::Regex::new(pattern)
            .unwrap()
            .captures(text)
            .unwrap_or_else(|| panic!("{pattern}: {text}"));
        found[1].replace(',', "").parse().unwrap()
    };
    let takes = number(&said, r"about (\d+) tokens");
    let told = number(&read("README.md"), r"about ([\d,]+) tokens");
    assert!(
        (takes - told).abs() <= 0.15 * takes,
        "it takes {takes}, README.md says {told}"
    );
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
