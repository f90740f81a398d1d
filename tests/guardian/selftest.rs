//! The self-test: `guardian doctor`, and the canaries of a server.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use aos_guardian::config::ConfigFile;
use aos_guardian::model::{Decision, Verdict};
use aos_guardian::pipeline::{Guardian, Trust};
use aos_guardian::selftest::Canaries;
use aos_guardian::{app, audit, wire};
use assert_cmd::Command;
use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use crate::shared;
use crate::support::{Asked, ScriptedJudge, completion, user_message};

/// What only the prompts of known steps that have to be stopped say.
const HARMFUL: &[&str] = &[
    "savings bank",
    "Orso",
    "guest exchange",
    "latest mail",
    "whole customer list",
    "breathing slows",
    "price list is released",
];

/// The answer that is right for a known step.
fn knowing(asked: &Asked) -> Value {
    if HARMFUL.iter().any(|words| asked.user.contains(words)) {
        asked.answer("deny", &["harmful_request"], json!([]))
    } else {
        asked.answer("allow", &[], json!([]))
    }
}

/// The probe of an endpoint carries no canary.
fn is_probe(body: &Value) -> bool {
    body["response_format"]["json_schema"]["name"] == "guardian_probe"
}

async fn doctor(folder: &Path, arguments: &[&str]) -> (i32, String) {
    let mut command = Command::cargo_bin("guardian").unwrap();
    command
        .current_dir(folder)
        .env_remove("GUARDIAN_CONFIG")
        .arg("doctor")
        .args(arguments);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap())
        .await
        .unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
}

fn configured(judge: Option<&ScriptedJudge>, more: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let judge = judge.map_or_else(String::new, |judge| {
        format!("[judge]\nbase_url = \"{}/v1\"\nmodel = \"scripted\"\n", judge.url())
    });
    // Some free port of this machine.
    let toml = format!("listen = \"localhost:0\"\n{more}\n{judge}");
    std::fs::write(folder.path().join("guardian.toml"), toml).unwrap();
    folder
}

async fn endpoint(knows: bool) -> ScriptedJudge {
    ScriptedJudge::responding_raw(move |body| {
        if is_probe(body) {
            return completion("{\"ready\": true}");
        }
        let asked = Asked::of_body(body);
        let answer = if knows {
            knowing(&asked)
        } else {
            asked.answer("allow", &[], json!([]))
        };
        completion(&answer.to_string())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn with_nothing_configured_the_doctor_finds_nothing_wrong() {
    let folder = configured(None, "");
    let (code, text) = doctor(folder.path(), &[]).await;
    assert_eq!(code, 0, "{text}");
    let (offline, same) = doctor(folder.path(), &["--offline"]).await;
    assert_eq!(offline, 0, "{same}");
    assert!(
        text.contains("3 of 3 known harmful steps stopped by the rules"),
        "{text}"
    );
    assert!(
        text.contains("10 of 10 known harmless steps let through by the rules"),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_judge_that_knows_its_work_passes_and_one_that_does_not_is_found_out() {
    let judge = endpoint(true).await;
    let (code, text) = doctor(configured(Some(&judge), "").path(), &[]).await;
    assert_eq!(code, 0, "{text}");
    assert!(
        text.contains("10 of 10 known harmful steps stopped by the judge"),
        "{text}"
    );
    let (before, _) = text.split_once(" judged;").unwrap();
    let judged: usize = before.rsplit(' ').next().unwrap().parse().unwrap();
    assert!((14..=20).contains(&judged), "{text}");

    // Without the scorer, which would settle some of them by itself.
    let judge = endpoint(false).await;
    let folder = configured(Some(&judge), "[local_judge]\nmode = \"off\"\n");
    let (code, text) = doctor(folder.path(), &[]).await;
    assert_eq!(code, 1, "{text}");
    assert!(
        text.contains("3 of 10 known harmful steps stopped by the judge; not: bad-phishing"),
        "{text}"
    );
    let asked = judge.asked();
    let (code, text) = doctor(folder.path(), &["--offline"]).await;
    assert_eq!((code, judge.asked()), (0, asked), "{text}");
    assert!(!text.contains("degraded"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_is_named_with_what_to_do_next() {
    let refusing = |status: u16| ScriptedJudge::responding_raw(move |_| ResponseTemplate::new(status));
    for (status, advice) in [
        (401, "the variable that `api_key_env` names"),
        (404, "check `base_url`"),
    ] {
        let judge = refusing(status).await;
        let (code, text) = doctor(configured(Some(&judge), "").path(), &[]).await;
        assert_eq!(code, 1, "{text}");
        assert!(text.contains("failed    endpoint") && text.contains(advice), "{text}");
        // What needs no judge is checked all the same.
        assert!(
            text.contains("3 of 3 known harmful steps stopped by the rules"),
            "{text}"
        );
    }
    for (more, found) in [
        (
            "[log]\nfilter = \"aos_guardian=loud\"",
            "the log filter `aos_guardian=loud` is not understood",
        ),
        (
            "[audit]\nto = \"nowhere/audit.jsonl\"",
            "cannot be opened for appending",
        ),
    ] {
        let folder = configured(None, more);
        let (code, text) = doctor(folder.path(), &[]).await;
        assert_eq!(code, 1, "{text}");
        assert!(text.contains(found) && text.contains(" → "), "{text}");
        let check = Command::cargo_bin("guardian")
            .unwrap()
            .current_dir(folder.path())
            .args(["config", "check", "--config", "guardian.toml"])
            .output()
            .unwrap();
        assert_eq!(check.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&check.stderr).contains(found));
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("guardian.toml"), "lisen = 1").unwrap();
    let (code, text) = doctor(folder.path(), &[]).await;
    assert_eq!(code, 1);
    assert!(text.starts_with("failed    configuration"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn words_for_a_judge_that_is_not_there_are_reported() {
    let folder = configured(None, "policy = \"p.toml\"\n");
    std::fs::write(folder.path().join("p.toml"), "guidance = \"We sell spare parts.\"\n").unwrap();
    let (code, text) = doctor(folder.path(), &["--offline"]).await;
    assert_eq!(code, 3, "{text}");
    let found = "organisation `default`: no judge reads its `guidance`";
    assert!(text.contains(found), "{text}");
    let check = Command::cargo_bin("guardian")
        .unwrap()
        .current_dir(folder.path())
        .args(["config", "check", "--config", "guardian.toml"])
        .output()
        .unwrap();
    assert!(check.status.success(), "{check:?}");
    assert!(String::from_utf8_lossy(&check.stdout).contains(found), "{check:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn checking_leaves_no_audit_file_behind() {
    let folder = configured(None, "[audit]\nto = \"audit.jsonl\"");
    let (code, text) = doctor(folder.path(), &[]).await;
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("audit.jsonl can be written"), "{text}");
    assert!(!folder.path().join("audit.jsonl").exists());
}

/// A guardian whose judge knows its work as long as the switch says so, and its canaries.
async fn watched(on_alarm: &str) -> (Arc<Guardian>, Canaries, Arc<AtomicBool>, ScriptedJudge) {
    let works = Arc::new(AtomicBool::new(true));
    let switch = Arc::clone(&works);
    let judge = ScriptedJudge::answering(move |asked| {
        if switch.load(Ordering::SeqCst) {
            knowing(asked)
        } else {
            asked.answer("allow", &[], json!([]))
        }
    })
    .await;
    let (guardian, canaries) = watch(&judge, on_alarm, "");
    (guardian, canaries, works, judge)
}

fn watch(judge: &ScriptedJudge, on_alarm: &str, more: &str) -> (Arc<Guardian>, Canaries) {
    // The model is what is tried here: the scorer would settle a greeting by itself.
    let toml = format!(
        "[local_judge]\nmode = \"off\"\n[judge]\nbase_url = \"{}/v1\"\nmodel = \"scripted\"\n[judge.canaries]\nevery_minutes = 5\non_alarm = \"{on_alarm}\"\n{more}",
        judge.url()
    );
    let config = ConfigFile::parse(&toml, "test")
        .unwrap()
        .resolve("test", Path::new("."))
        .unwrap();
    let guardian = Arc::new(app::guardian(&config, &audit::Settings::Off).unwrap());
    let canaries = app::canaries(&config).unwrap().unwrap();
    (guardian, canaries)
}

async fn verdict(guardian: &Guardian, text: &str) -> Verdict {
    let request = user_message(text).to_string();
    let (_, step) = wire::decode_step(request.as_bytes(), &wire::Limits::default()).unwrap();
    let admitted = guardian.admit(&Guardian::local_caller()).await.unwrap();
    let decided = guardian.decide(&admitted, step).await;
    Verdict::clone(&decided.verdict)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_judge_that_got_worse_lets_through_does_not_count_until_it_recovers() {
    let (guardian, mut canaries, works, judge) = watched("deny").await;
    assert_eq!(guardian.judge_check(), None);
    canaries.round(&guardian).await;
    let check = guardian.judge_check().unwrap();
    assert_eq!((check.right, check.asked, check.trust), (6, 6, Trust::Full));
    assert_eq!(judge.asked(), 6);
    let allowed = verdict(&guardian, "good morning").await;
    assert_eq!((allowed.decision, allowed.source.as_str()), (Decision::Allow, "judge"));

    works.store(false, Ordering::SeqCst);
    canaries.round(&guardian).await;
    let check = guardian.judge_check().unwrap();
    assert_eq!((check.right, check.asked, check.trust), (9, 12, Trust::Withdrawn));
    // Neither an answer from the cache nor a new one.
    for text in ["good morning", "good evening"] {
        let closed = verdict(&guardian, text).await;
        assert_eq!((closed.decision, closed.source.as_str()), (Decision::Deny, "fallback"));
        assert_eq!(closed.diagnostics[0].code, "judge_distrusted");
    }

    works.store(true, Ordering::SeqCst);
    canaries.round(&guardian).await;
    canaries.round(&guardian).await;
    assert_eq!(guardian.judge_check().unwrap().trust, Trust::Full);
    assert_eq!(verdict(&guardian, "good morning").await.decision, Decision::Allow);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_alarm_that_is_only_logged_changes_no_verdict() {
    let (guardian, mut canaries, works, _judge) = watched("log").await;
    works.store(false, Ordering::SeqCst);
    canaries.round(&guardian).await;
    assert_eq!(guardian.judge_check().unwrap().trust, Trust::Doubted);
    assert_eq!(verdict(&guardian, "good morning").await.decision, Decision::Allow);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_is_down_says_nothing_of_the_model() {
    let asked = AtomicUsize::new(0);
    let judge = ScriptedJudge::responding(move |question| match asked.fetch_add(1, Ordering::SeqCst) {
        0..6 => completion(&knowing(question).to_string()),
        _ => ResponseTemplate::new(401),
    })
    .await;
    let (guardian, mut canaries) = watch(&judge, "deny", "");
    canaries.round(&guardian).await;
    let before = guardian.judge_check().unwrap();
    assert_eq!((before.right, before.asked), (6, 6));
    canaries.round(&guardian).await;
    assert_eq!(guardian.judge_check(), Some(before));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_checks_its_judge_before_its_time_when_another_node_begins_to_distrust_it() {
    let Some(redis) = shared::redis().await else { return };
    let works = Arc::new(AtomicBool::new(true));
    let switch = Arc::clone(&works);
    let judge = ScriptedJudge::answering(move |asked| match switch.load(Ordering::SeqCst) {
        true => knowing(asked),
        false => asked.answer("allow", &[], json!([])),
    })
    .await;
    let section = shared::section(redis);
    let (first, canaries) = watch(&judge, "deny", &section);
    let watching = tokio::spawn(canaries.watch(Arc::clone(&first)));
    trusts(&first, Trust::Full).await;

    works.store(false, Ordering::SeqCst);
    let (second, mut canaries) = watch(&judge, "deny", &section);
    canaries.round(&second).await;
    assert_eq!(second.judge_check().unwrap().trust, Trust::Withdrawn);
    trusts(&first, Trust::Withdrawn).await;
    // One node's word is one check: six questions at each start, and six for the hint.
    assert_eq!((judge.asked(), first.judge_check().unwrap().asked), (18, 12));
    watching.abort();
}

/// Waits until a guardian trusts its judge this far.
async fn trusts(guardian: &Guardian, trust: Trust) {
    for _ in 0..1_000 {
        if guardian.judge_check().is_some_and(|check| check.trust == trust) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("expected {trust:?}, found {:?}", guardian.judge_check());
}
