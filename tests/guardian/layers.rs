//! Policies in layers: what differs for a team and an agent, from the file to the verdict, and the commands that tell of it.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::eval_decides::guardian as run;
use crate::support::{Reply, TestGuardian, tool_call, user_message};

const DESK: &str = "desk-key-0123456789";
const PAYMENTS: &str = "payments-key-0123456789";

fn digest(key: &str) -> String {
    Sha256::digest(key.as_bytes())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn policy() -> String {
    format!(
        r#"
[tools]
deny = ["shell.*"]

[teams.payments]
callers = ["key-{}"]
tools.deny = ["mail.*"]

[agents.trial-bot]
team = "payments"
[[agents.trial-bot.modes]]
mode = "observe"
callers = ["*"]

[agents.quiet-bot]
callers = ["*"]
disclosure.reasoning = false
"#,
        &digest(PAYMENTS)[..8]
    )
}

/// An organisation of two keys, of which one is a team, and its folder.
async fn acme() -> (TestGuardian, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("acme.toml");
    std::fs::write(&file, policy()).unwrap();
    let keys = [DESK, PAYMENTS]
        .map(|key| format!("\"sha256:{}\"", digest(key)))
        .join(", ");
    let config = format!(
        "[[organisations]]\nid = \"acme\"\napi_keys = [{keys}]\npolicy = \"{}\"\n",
        file.display()
    );
    (TestGuardian::without_scorer(&config).await, folder)
}

fn by(agent: &str, mut request: Value) -> Value {
    request["params"]["context"]["agent"]["id"] = json!(agent);
    request
}

fn version(reply: &Reply) -> String {
    reply.result()["data"]["policyVersion"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_key_chooses_the_team_and_a_believed_id_the_agent() {
    let (guardian, _folder) = acme().await;
    let mail = tool_call("mail.send", "body", &json!("See you at ten."));
    let shell = tool_call("shell.run", "command", &json!("ls"));

    let desk = guardian.post_as(DESK, &mail).await;
    assert_eq!(desk.decision(), "allow");
    let payments = guardian.post_as(PAYMENTS, &mail).await;
    assert_eq!(payments.decision(), "deny");
    assert_ne!(version(&desk), version(&payments));
    assert_eq!(
        guardian.post_as(PAYMENTS, &shell).await.decision(),
        "deny",
        "what is denied to all"
    );

    // The agent's layer belongs to the team: with another key, the name opens nothing.
    let trial = guardian.post_as(PAYMENTS, &by("trial-bot", mail.clone())).await;
    assert_eq!(trial.decision(), "allow");
    assert_eq!(
        trial.result()["data"]["observed"]["decision"],
        "deny",
        "{:?}",
        trial.json
    );
    let posing = guardian.post_as(DESK, &by("trial-bot", shell.clone())).await;
    assert_eq!((posing.decision(), version(&posing)), ("deny", version(&desk)));

    let quiet = guardian.post_as(DESK, &by("quiet-bot", shell.clone())).await;
    assert_eq!(
        (quiet.decision(), &quiet.result()["reasoning"]),
        ("deny", &Value::Null),
        "{:?}",
        quiet.json
    );
    // An answer that is kept for one layer is no answer in another.
    for _ in 0..2 {
        assert_eq!(guardian.post_as(DESK, &mail).await.decision(), "allow");
        assert_eq!(guardian.post_as(PAYMENTS, &mail).await.decision(), "deny");
    }
}

#[test]
fn commands_check_explain_show_and_compare_layers() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("acme.toml", &policy());
    write("guardian.toml", "policy = \"acme.toml\"\n");
    let run = |arguments: &[&str]| run(folder.path(), arguments);

    let (code, checked, _) = run(&["policy", "check", "acme.toml"]);
    assert_eq!((code, checked.lines().count()), (0, 5), "{checked}");
    let of_team = checked
        .lines()
        .find(|line| line.ends_with("  team `payments`"))
        .unwrap();
    let hash = of_team.split_whitespace().next().unwrap();
    let (code, shown, _) = run(&["policy", "show", hash]);
    assert!(
        code == 0 && shown.contains("organisation `default`, team `payments`") && shown.contains("mail.*"),
        "{shown}"
    );

    let (code, told, _) = run(&["policy", "explain", "tools.deny", "--team", "payments"]);
    assert_eq!(code, 0);
    let told: Vec<&str> = told.lines().map(str::trim).collect();
    assert_eq!(
        told[..2],
        ["tools.deny = [\"mail.*\"]", "team `payments`, acme.toml:7"],
        "{told:?}"
    );
    assert!(
        told[3].starts_with("organisation, ") && told[3].ends_with("acme.toml:3"),
        "{told:?}"
    );
    assert_eq!(told.last().unwrap(), &format!("policyVersion {hash}"));
    let (code, _, error) = run(&["policy", "explain", "tools.denny"]);
    assert!(code == 1 && error.contains("did you mean `deny`?"), "{error}");
    let (code, _, error) = run(&["policy", "explain", "tools", "--team", "paymnts"]);
    assert!(code == 1 && error.contains("`paymnts`"), "{error}");

    write(
        "new.toml",
        &policy().replace("\"shell.*\"", "\"shell.*\", \"orders.*\""),
    );
    let (code, differ, _) = run(&["policy", "diff", "acme.toml", "new.toml"]);
    assert!(
        code == 3 && differ.contains("orders.*") && differ.contains("5 effective policies differ"),
        "{differ}"
    );
    let order = tool_call("orders.update", "customer", &json!("Ann"));
    let trace = format!("{}\n{order}\n", user_message("Update the order of Ann."));
    write("trace.jsonl", &trace);
    let (code, differ, error) = run(&["policy", "diff", "acme.toml", "new.toml", "--on", "trace.jsonl"]);
    assert!(
        code == 3
            && differ.contains("trace.jsonl:2  steps/toolCallRequest  allow -> deny")
            && differ.contains("1 of 2 verdicts change"),
        "{differ}{error}"
    );
    let (code, same, _) = run(&["policy", "diff", "acme.toml", "acme.toml", "--on", "trace.jsonl"]);
    assert!(code == 0 && same.contains("0 of 2 verdicts change"), "{same}");
}

#[test]
fn a_new_organisation_starts_from_comments_and_sees_what_it_changed() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| run(folder.path(), arguments);
    let (code, said, _) = run(&["prompts", "new", "acme"]);
    assert!(code == 0 && said.contains("id = \"acme\""), "{said}");
    let (code, ..) = run(&["prompts", "new", "acme"]);
    assert_eq!(code, 1, "what is there is left alone");
    assert_eq!(run(&["prompts", "new", "../acme"]).0, 1);
    let (code, checked, error) = run(&["policy", "check", "acme/policy.toml"]);
    assert_eq!((code, checked.lines().count()), (0, 1), "{error}");
    let (code, same, _) = run(&["prompts", "diff", "acme/prompts"]);
    assert!(code == 0 && same.contains("0 of them differ"), "{same}");

    // Out of the comments, it is the example.
    let example =
        |file: &str| std::fs::read_to_string(format!("{}/prompts/example/{file}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let system = folder.path().join("acme/prompts/system.md.j2");
    std::fs::write(&system, example("prompts/system.md.j2")).unwrap();
    std::fs::write(folder.path().join("acme/policy.toml"), example("policy.toml")).unwrap();
    std::fs::write(
        folder.path().join("acme/prompts/guidance.md"),
        example("prompts/guidance.md"),
    )
    .unwrap();
    std::fs::write(
        folder.path().join("guardian.toml"),
        "prompts_dir = \"acme/prompts\"\npolicy = \"acme/policy.toml\"\n[audit]\nto = \"audit.jsonl\"\n",
    )
    .unwrap();
    let (code, differ, _) = run(&["prompts", "diff"]);
    assert!(
        code == 3
            && differ.contains("block readers_differ")
            && differ.contains("+- *Spare parts*")
            && !differ.contains("-Where readers differ"),
        "{differ}"
    );
    let (code, checked, _) = run(&["prompts", "check"]);
    assert!(
        code == 0 && checked.contains("guidance and 1 examples cost about") && checked.contains("guidance.md: about"),
        "{checked}"
    );
    let version = checked.trim().rsplit(' ').next().unwrap();
    let (code, shown, _) = run(&["prompts", "show", version]);
    assert!(
        code == 0 && shown.contains("Spare parts") && shown.contains("Refunds are booked by"),
        "{shown}"
    );

    // An older built-in template, of which the organisation changed one block.
    let base = folder.path().join("acme/prompts/.built-in/system.md.j2");
    let text = std::fs::read_to_string(&base).unwrap();
    std::fs::write(&base, text.replace("Where readers differ:", "Where opinions differ:")).unwrap();
    let (_, underneath, _) = run(&["prompts", "diff"]);
    assert!(
        underneath.contains("-Where opinions differ:") && underneath.contains("1 changed underneath"),
        "{underneath}"
    );
    run(&["prompts", "diff", "--seen"]);
    let (_, seen, _) = run(&["prompts", "diff"]);
    assert!(seen.contains("0 changed underneath"), "{seen}");
    std::fs::write(&base, text.replace("# Your task", "# What you do")).unwrap();
    let (_, reaches, _) = run(&["prompts", "diff"]);
    assert!(reaches.contains("the changes reach you"), "{reaches}");
}
