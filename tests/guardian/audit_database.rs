//! Records in both databases, as an operator meets them: written by a server, read by `guardian audit`, also after a forced end.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::program::Program;
use crate::support::{tool_call, user_message};

const SERVER: &str = "postgres://postgres@127.0.0.1:5432/postgres";
const KEY: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

/// A schema of one test, which is gone with it.
struct Schema(String);

impl Schema {
    /// `None`, and a line that says so, where there is no server.
    fn new() -> Option<Self> {
        if std::net::TcpStream::connect(("127.0.0.1", 5432)).is_err() {
            eprintln!("no PostgreSQL on its standard port: its tests are left out");
            return None;
        }
        let schema = Self(format!("guardian_test_{}", uuid::Uuid::new_v4().simple()));
        schema.run(&format!("CREATE SCHEMA {}", schema.0));
        Some(schema)
    }

    fn url(&self) -> String {
        format!("{SERVER}?options=-csearch_path%3D{}", self.0)
    }

    fn run(&self, statements: &str) {
        let run = async {
            let (client, connection) = tokio_postgres::connect(SERVER, tokio_postgres::NoTls).await.unwrap();
            tokio::spawn(connection);
            client.batch_execute(statements).await.unwrap();
        };
        tokio::runtime::Runtime::new().unwrap().block_on(run);
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        self.run(&format!("DROP SCHEMA {} CASCADE", self.0));
    }
}

/// The exit code of a command, and what it printed.
fn run(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_guardian"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    (output.status.code(), text)
}

#[test]
#[allow(clippy::too_many_lines, reason = "the life of one database, in its order")]
fn records_in_a_database_are_searched_shown_exported_verified_replayed_and_erased() {
    let schema = Schema::new();
    let places = std::iter::once("sqlite:audit.db".to_owned()).chain(schema.as_ref().map(Schema::url));
    for to in places {
        let home = tempfile::tempdir().unwrap();
        let policy = home.path().join("policy.toml");
        std::fs::write(&policy, "[audit]\ncontents = true\n").unwrap();
        std::fs::write(home.path().join("key"), KEY).unwrap();
        let config = format!(
            "policy = {policy:?}\n[local_judge]\nmode = \"off\"\n[audit]\nto = \"{to}\"\non_failure = \"refuse\"\nkeep = \"90 days\"\n\
             sign_key_file = {:?}\n",
            home.path().join("key")
        );
        let mut program = Program::start(&config);
        let (_, reply) = program.post(&user_message("What does a hammer cost?"));
        let mut call = tool_call("search", "query", &json!("price of a hammer"));
        call["params"]["context"]["session"]["id"] = json!("session-2");
        program.post(&call);
        let id = reply["result"]["data"]["decisionId"].as_str().unwrap().to_owned();
        program.signal("-TERM");
        assert!(program.ends_within(Duration::from_secs(20)));
        let folder = program.folder.path();
        let audit = |arguments: &[&str]| run(folder, &[&["audit"], arguments].concat());

        let (code, found) = audit(&["search", "--session", "session-1"]);
        assert_eq!(
            (code, found.lines().count(), found.contains(&id)),
            (Some(0), 1, true),
            "{found}"
        );
        let (_, found) = audit(&["search", "--decision", "deny", "--since", "2026-01-01T00:00:00Z"]);
        assert_eq!(found.trim(), "no record fits");
        let (_, found) = audit(&["search", "--session", "session-1"]);
        assert!(
            found.contains("  session-1  ") && found.contains("  steps/message  "),
            "{found}"
        );
        let (_, found) = audit(&["search", "--session", "session-2"]);
        assert!(found.contains("  steps/toolCallRequest  search  "), "{found}");
        let call = found.split("  ").nth(1).unwrap_or_default().to_owned();
        let (code, why) = run(folder, &["why", &id[..30], "--config", "guardian.toml"]);
        assert!(code == Some(0) && why.contains("steps/message"), "{why}");
        let (_, shown) = audit(&["show", &id]);
        assert!(
            shown.contains("steps/message") && shown.contains("session-1"),
            "{shown}"
        );
        let (_, lines) = audit(&["export", "--organisation", "default"]);
        let exported: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(exported[0]["decision_id"], id.as_str());
        assert!(lines.contains("audit/checkpoint"), "{lines}");

        let (code, found) = audit(&["verify"]);
        assert!(
            code == Some(0) && found.contains(", 0 breaks") && found.contains("signed checkpoints"),
            "{found}"
        );
        let (_, key) = audit(&["key"]);
        assert_eq!(audit(&["verify", "--public-key", key.trim()]).0, Some(0));

        assert_eq!(audit(&["replay", "--offline"]).0, Some(0));
        std::fs::write(&policy, "[tools]\ndeny = [\"search\"]\n[audit]\ncontents = true\n").unwrap();
        let (code, found) = audit(&["replay", "--offline"]);
        assert!(
            code == Some(3) && found.contains("allow -> deny") && found.contains("1 of 2 verdicts change"),
            "{found}"
        );

        let (code, found) = audit(&["erase", "--session", "session-2"]);
        assert_eq!((code, found.as_str()), (Some(0), "1 records erased\n"));
        let (code, found) = audit(&["verify"]);
        assert!(
            code == Some(0) && found.contains("1 of them erased, 0 breaks"),
            "{found}"
        );
        let (_, found) = audit(&["search"]);
        assert!(found.lines().count() == 1 && !found.contains("session-2"), "{found}");
        for command in [["audit", "show"], ["why", "--config=guardian.toml"]] {
            let (code, found) = run(folder, &[&command[..], &[&call]].concat());
            assert!(code == Some(1) && found.contains("was erased"), "{found}");
        }
        let file = policy.to_str().unwrap();
        let (code, found) = run(folder, &["policy", "diff", "default", file, "--offline", "--on", &to]);
        assert!(code == Some(0) && found.contains("0 of 1 verdicts change"), "{found}");

        let change = "UPDATE guardian_records SET line = replace(line, 'allow', 'allou') WHERE number = 1";
        match &schema {
            Some(schema) if to.starts_with("postgres") => {
                schema.run(&format!("SET search_path = {}; {change}", schema.0))
            }
            Some(_) | None => {
                let connection = rusqlite::Connection::open(folder.join("audit.db")).unwrap();
                assert_eq!(connection.execute(change, []).unwrap(), 1);
            }
        }
        let (code, found) = audit(&["verify"]);
        assert_eq!(code, Some(3), "{found}");
        assert!(found.starts_with("default 1: "), "{found}");
        let (code, found) = audit(&["show", "nothing"]);
        assert_eq!(code, Some(1), "{found}");
    }
}

#[test]
fn records_in_a_file_have_chains_over_restarts_and_rotation() {
    let home = tempfile::tempdir().unwrap();
    let (to, moved) = (home.path().join("audit.jsonl"), home.path().join("audit.jsonl.1"));
    std::fs::write(home.path().join("key"), KEY).unwrap();
    let policy = home.path().join("policy.toml");
    std::fs::write(&policy, "[audit]\ncontents = true\n").unwrap();
    let config = format!(
        "policy = {policy:?}\n[audit]\nto = {to:?}\non_failure = \"refuse\"\nsign_key_file = {:?}\n",
        home.path().join("key")
    );
    let mut ids = Vec::new();
    let mut post = |program: &Program| {
        let (_, reply) = program.post(&user_message("What does a hammer cost?"));
        ids.push(reply["result"]["data"]["decisionId"].as_str().unwrap().to_owned());
    };
    // Two servers write to one file; one is killed, and the file is moved away under the other.
    let (mut one, other) = (Program::start(&config), Program::start(&config));
    for _ in 0..5 {
        post(&one);
        post(&other);
    }
    one.signal("-KILL");
    assert!(one.ends_within(Duration::from_secs(20)));
    std::fs::rename(&to, &moved).unwrap();
    post(&other);
    let again = Program::start(&config);
    post(&again);
    let folder = again.folder.path();
    let (path, old) = (to.to_str().unwrap(), moved.to_str().unwrap());
    for files in [&["verify"][..], &["verify", path], &["verify", old, path]] {
        let (code, found) = run(folder, &[&["audit"], files].concat());
        // The first record was signed; a minute has not gone by since.
        let is_signed = found.contains("signed checkpoints") == files.contains(&old);
        let whole = code == Some(0) && found.contains(", 0 breaks") && is_signed;
        assert!(whole, "{files:?}: {found}");
    }
    let (_, found) = run(folder, &["audit", "search", "--session", "session-1"]);
    assert!(found.lines().count() == 2 && found.contains(&ids[11]), "{found}");
    for command in [&["audit", "show"][..], &["why", "--config=guardian.toml"]] {
        let (code, shown) = run(folder, &[command, &[&ids[10][..]]].concat());
        assert!(code == Some(0) && shown.contains("steps/message"), "{shown}");
    }
    assert_eq!(run(folder, &["audit", "replay", "--offline"]).0, Some(0));
    let (_, lines) = run(folder, &["audit", "export", "--database", old, "--database", path]);
    let steps = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut steps: Vec<Value> = steps
        .filter(|record| record["outcome"] == "decided")
        .map(|record| record["decision_id"].clone())
        .collect();
    steps.sort_by_key(|id| ids.iter().position(|known| known == id));
    assert_eq!(steps, ids, "none is lost, none doubled");
    let text = std::fs::read_to_string(&moved).unwrap();
    std::fs::write(&moved, text.replacen("\"allow\"", "\"allou\"", 1)).unwrap();
    assert_eq!(run(folder, &["audit", "verify", old, path]).0, Some(3));
}

#[test]
#[allow(clippy::too_many_lines, reason = "one scenario, step by step")]
fn recorded_calls_are_decided_again_with_their_numbers_and_what_a_record_does_not_tell_is_said() {
    let home = tempfile::tempdir().unwrap();
    let policy = home.path().join("policy.toml");
    std::fs::write(&policy, "[audit]\ncontents = true\n").unwrap();
    let program = Program::start(&format!(
        "policy = {policy:?}\n[audit]\nto = \"audit.jsonl\"\non_failure = \"refuse\"\n"
    ));
    let folder = program.folder.path();
    let amounts = json!({"amount": 900, "lines": [{"sku": "a", "count": 2}, {"sku": "", "count": 7}], "gift": false});
    program.post(&tool_call("orders.refund", "order", &amounts));
    let line = std::fs::read_to_string(folder.join("audit.jsonl")).unwrap();
    let line = line.lines().find(|line| line.contains("orders.refund")).unwrap();
    let record: Value = serde_json::from_str(line).unwrap();
    let limit = |amount: u32| {
        let order = "context.numbers.hasTag(\"order.amount\") && context.numbers.getTag(\"order.amount\")";
        let lists = "context.values.hasTag(\"order.lines.count\") && context.values.getTag(\"order.lines.count\").contains(\"7\")";
        let condition = format!(
            "@id(\"much\") forbid(principal, action, resource == Tool::\"orders.refund\") unless {{ {order} <= {amount} && {lists} }};"
        );
        std::fs::write(
            folder.join(format!("{amount}.toml")),
            format!("[conditions]\ntext = {condition:?}\n"),
        )
        .unwrap();
    };
    limit(5000);
    limit(500);
    let diff = |to: &str, lines: &[&Value]| {
        let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(folder.join("on.jsonl"), lines).unwrap();
        run(
            folder,
            &["policy", "diff", "default", to, "--offline", "--on", "on.jsonl"],
        )
    };

    let change = json!({"time": "2026-11-28T22:00:00Z", "kind": "change", "organisation": "default", "caller": "file watch",
        "policy": {"from": "81c2", "to": "0fd1"}, "keys_removed": ["ci"], "files": ["/etc/p.toml (user 1000)"]});
    let mut of_another = record.clone();
    of_another["organisation"] = json!("beta");
    let (code, found) = diff("5000.toml", &[&change, &record, &of_another]);
    assert!(code == Some(0) && found.contains("0 of 1 verdicts change"), "{found}");
    let (code, found) = diff("500.toml", &[&change, &record, &of_another]);
    let names = format!(
        "{}  agent-1  steps/toolCallRequest orders.refund  allow -> deny",
        record["decision_id"].as_str().unwrap()
    );
    assert!(
        code == Some(3) && found.contains(&names) && found.contains("1 of 1 verdicts change"),
        "{found}"
    );
    assert!(
        diff("500.toml", &[&of_another])
            .1
            .contains("there is no record of organisation `default`")
    );

    let (mut bare, mut masked, mut silent) = (record.clone(), record.clone(), record.clone());
    bare["contents"] =
        json!([{"pointer": "/params/toolCallRequest/inputs/0/value", "origin": "tool_arguments", "text": "17"}]);
    masked["contents"][0]["text"] = json!("[masked]");
    silent.as_object_mut().unwrap().remove("contents");
    for (record, why) in [
        (
            &bare,
            "of 1 steps, the record has neither names nor numbers of arguments",
        ),
        (&masked, "of 1 steps, texts were masked when they were recorded"),
        (&silent, "of 1 steps, the record has no texts"),
    ] {
        let (_, found) = diff("500.toml", &[record]);
        let apart = found.contains("0 of 1 verdicts change")
            && found.contains("1 more may change")
            && found.contains("uncertain: ");
        assert!(apart && found.contains(why), "{found}");
    }

    std::fs::write(folder.join("changed.jsonl"), format!("{change}\n{line}\n")).unwrap();
    let (code, found) = run(folder, &["audit", "replay", "--offline", "--database", "changed.jsonl"]);
    assert!(
        code == Some(0) && found.contains("organisation default\n0 of 1 verdicts change"),
        "{found}"
    );
    let (_, found) = run(folder, &["audit", "search", "--database", "changed.jsonl"]);
    let told = "change  default  policy 81c2 -> 0fd1; keys removed: ci; in /etc/p.toml (user 1000)  by file watch\n";
    assert!(found.contains(told), "{found}");
}

#[test]
fn no_acknowledged_record_is_lost_or_doubled_when_the_database_goes_and_the_guardian_is_killed() {
    let Some(schema) = Schema::new() else { return };
    let home = tempfile::tempdir().unwrap();
    let spool = home.path().join("spool");
    let config = format!(
        "[audit]\nto = \"{}\"\non_failure = \"refuse\"\nspool = {spool:?}\n[sessions]\nenabled = false\n",
        schema.url()
    );
    let mut acknowledged = Vec::new();
    let mut post = |program: &Program| {
        let (status, reply) = program.post(&user_message("What does a hammer cost?"));
        assert_eq!(status, 200, "{reply}");
        acknowledged.push(reply["result"]["data"]["decisionId"].as_str().unwrap().to_owned());
    };
    let mut program = Program::start(&config);
    (0..5).for_each(|_| post(&program));
    // For the guardian, its tables are gone.
    schema.run(&format!("ALTER TABLE {0}.guardian_records RENAME TO away", schema.0));
    (0..5).for_each(|_| post(&program));
    program.signal("-KILL");
    assert!(program.ends_within(Duration::from_secs(20)));
    assert!(std::fs::metadata(&spool).unwrap().len() > 0);
    let program = Program::start(&config);
    (0..5).for_each(|_| post(&program));
    schema.run(&format!("ALTER TABLE {0}.away RENAME TO guardian_records", schema.0));
    let begun = std::time::Instant::now();
    while std::fs::metadata(&spool).unwrap().len() > 0 {
        assert!(begun.elapsed() < Duration::from_secs(30), "the spool is never empty");
        std::thread::sleep(Duration::from_millis(50));
    }
    (0..5).for_each(|_| post(&program));
    let (code, lines) = run(program.folder.path(), &["audit", "export"]);
    assert_eq!(code, Some(0), "{lines}");
    let ids = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["decision_id"].clone());
    assert_eq!(ids.collect::<Vec<_>>(), acknowledged);
    assert_eq!(run(program.folder.path(), &["audit", "verify"]).0, Some(0));
    let (_, doctor) = run(program.folder.path(), &["doctor"]);
    assert!(
        doctor.contains("audit database PostgreSQL at 127.0.0.1/postgres has its tables and 20 records"),
        "{doctor}"
    );
}

#[cfg(unix)]
#[test]
fn a_monitor_shows_what_is_written_to_a_database() {
    let schema = Schema::new();
    let places = std::iter::once("sqlite:audit.db".to_owned()).chain(schema.as_ref().map(Schema::url));
    for to in places {
        let program = Program::start(&format!("[audit]\nto = \"{to}\"\n"));
        let id = |program: &Program| {
            let (_, reply) = program.post(&user_message("What does a hammer cost?"));
            reply["result"]["data"]["decisionId"].as_str().unwrap().to_owned()
        };
        let before = id(&program);
        let mut monitor = Command::new(env!("CARGO_BIN_EXE_guardian"))
            .args(["monitor", "--config", "guardian.toml"])
            .current_dir(program.folder.path())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = std::io::BufRead::lines(std::io::BufReader::new(monitor.stdout.take().unwrap()));
        assert!(lines.next().unwrap().unwrap().contains(&before));
        let after = id(&program);
        assert!(lines.next().unwrap().unwrap().contains(&after));
        monitor.kill().unwrap();
        monitor.wait().unwrap();
    }
}

#[test]
fn policies_are_kept_beside_records_and_each_rollback_goes_one_further_back() {
    let schema = Schema::new();
    let places = std::iter::once("audit.jsonl".to_owned()).chain(schema.as_ref().map(Schema::url));
    for to in places {
        let home = tempfile::tempdir().unwrap();
        let policy = home.path().join("policy.toml");
        let versions = ["a", "b", "c"].map(|tool| format!("[tools]\ndeny = [\"{tool}\"]\n"));
        std::fs::write(&policy, &versions[0]).unwrap();
        let program = Program::start(&format!("policy = {policy:?}\n[audit]\nto = \"{to}\"\n"));
        let folder = program.folder.path();
        let history = |expected: usize| {
            let begun = std::time::Instant::now();
            loop {
                let (code, lines) = run(folder, &["policy", "history"]);
                if code == Some(0) && lines.lines().count() == expected {
                    return lines;
                }
                assert!(
                    begun.elapsed() < Duration::from_secs(60),
                    "expected {expected}: {lines}"
                );
            }
        };
        for (number, version) in versions.iter().enumerate() {
            std::fs::write(&policy, version).unwrap();
            history(number + 1);
        }
        for (number, expected) in [(4, &versions[1]), (5, &versions[0])] {
            let (code, said) = run(folder, &["policy", "rollback"]);
            assert_eq!(code, Some(0), "{said}");
            assert_eq!(std::fs::read_to_string(&policy).unwrap(), *expected);
            let lines = history(number);
            assert!(
                lines.lines().last().unwrap().contains("guardian policy rollback"),
                "{lines}"
            );
        }
        let (code, said) = run(folder, &["policy", "rollback"]);
        assert!(code == Some(1) && said.contains("no earlier policy"), "{said}");
        let newest = history(5)
            .lines()
            .nth(2)
            .unwrap()
            .split("  ")
            .nth(2)
            .unwrap()
            .to_owned();
        let (code, shown) = run(folder, &["policy", "show", &newest]);
        assert!(code == Some(0) && shown.contains("\"c\""), "{shown}");
        assert_eq!(run(folder, &["policy", "rollback", &newest]).0, Some(0));
        assert_eq!(std::fs::read_to_string(&policy).unwrap(), versions[2]);
    }
}

/// The history of a policy, once it has so many lines.
fn history_of(folder: &Path, filter: &[&str], expected: usize) -> String {
    let begun = std::time::Instant::now();
    loop {
        let (_, lines) = run(folder, &[&["policy", "history"], filter].concat());
        // Below those of layers stand the versions of verdicts.
        if lines.lines().filter(|line| !line.starts_with(' ')).count() == expected {
            return lines;
        }
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "expected {expected}: {lines}"
        );
    }
}

/// The last record of a change, once it says this of the layer of the bots. The history has a rollback from the command; the record
/// comes from the server, once it is in force.
fn change_of_the_bots(folder: &Path, member: &str) -> Value {
    let begun = std::time::Instant::now();
    loop {
        let records = std::fs::read_to_string(folder.join("audit.jsonl")).unwrap_or_default();
        let last = records.lines().rfind(|line| line.contains("\"kind\":\"change\""));
        let record: Value = last.map_or(Value::Null, |last| serde_json::from_str(last).unwrap());
        if record["layers"]["agents.bot*"][member].is_string() {
            return record;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{record}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn one_layer_goes_back_alone_and_the_audit_says_who_took_it_back() {
    let home = tempfile::tempdir().unwrap();
    let policy = home.path().join("policy.toml");
    let text = |organisation: &str, team: &str| {
        format!(
            "# Ours.\n[tools]\ndeny = [\"{organisation}\"]\n\n[teams.desk]  # They pay.\ncallers = [\"local\"]\n{team}\n[agents.\"bot*\"]\nteam = \"desk\"\nguidance = \"Be brief.\"\n"
        )
    };
    let deny = |tool: &str| {
        format!(
            "[teams.desk.tools]\ndeny = [\"{tool}\"]\n[[teams.desk.treatments]]\nrules = [\"secret.*\"]\ntreatment = \"deny\"\n"
        )
    };
    std::fs::write(&policy, text("a", &deny("one"))).unwrap();
    let program = Program::start(&format!("policy = {policy:?}\n[audit]\nto = \"audit.jsonl\"\n"));
    let folder = program.folder.path();
    let history = |filter: &[&str], expected: usize| history_of(folder, filter, expected);
    let changed = |member: &str| change_of_the_bots(folder, member);
    let team = ["--team", "desk"];
    let lines = history(&[], 3);
    let (_, answer) = program.post(&tool_call("search", "q", &json!("hammer")));
    let of_verdict = answer["result"]["data"]["policyVersion"].as_str().unwrap();
    assert!(
        lines.contains(&format!("policyVersion {of_verdict} of team `desk`\n")),
        "{lines}"
    );
    let of_layer = lines.lines().find(|line| line.contains(" teams.desk  ")).unwrap();
    let of_layer = of_layer.split("  ").nth(2).unwrap();
    let (code, shown) = run(folder, &["policy", "show", of_layer]);
    assert!(code == Some(0) && shown.contains("# They pay."), "{shown}");
    std::fs::write(&policy, text("a", &deny("two"))).unwrap();
    history(&team, 2);
    // What the organisation says changes meanwhile, and stays.
    std::fs::write(&policy, text("b", &deny("two"))).unwrap();
    history(&[], 5);
    let (code, said) = run(folder, &["policy", "rollback", "--team", "desk"]);
    assert!(code == Some(0) && said.contains("team `desk`: policy"), "{said}");
    let now = std::fs::read_to_string(&policy).unwrap();
    assert!(
        now.contains("deny = [\"one\"]") && !now.contains("two") && now.contains("deny = [\"b\"]"),
        "{now}"
    );
    assert!(
        now.contains("# Ours.") && now.contains("# They pay.") && now.contains("Be brief."),
        "{now}"
    );
    assert!(
        history(&team, 3)
            .lines()
            .rfind(|line| !line.starts_with(' '))
            .unwrap()
            .contains("guardian policy rollback")
    );
    // And the organisation's goes back without the layer.
    let (code, said) = run(folder, &["policy", "rollback"]);
    assert_eq!(code, Some(0), "{said}");
    let now = std::fs::read_to_string(&policy).unwrap();
    assert!(
        now.contains("deny = [\"a\"]") && now.contains("deny = [\"one\"]"),
        "{now}"
    );
    history(&[], 7);
    std::fs::write(&policy, "[tools]\ndeny = [\"a\"]\n").unwrap();
    history(&team, 4);
    let (code, said) = run(folder, &["policy", "rollback", "--agent", "bot*"]);
    assert!(
        code == Some(1) && said.contains("expected the name of one of `[teams.…]`"),
        "{said}"
    );
    assert_eq!(run(folder, &["policy", "rollback", "--team", "desk"]).0, Some(0));
    assert_eq!(run(folder, &["policy", "rollback", "--agent", "bot*"]).0, Some(0));
    let now = std::fs::read_to_string(&policy).unwrap();
    assert!(now.contains("deny = [\"one\"]") && now.contains("Be brief."), "{now}");
    changed("to");
    let (code, said) = run(folder, &["policy", "rollback", "--agent", "bot*", "none"]);
    assert!(
        code == Some(0) && !std::fs::read_to_string(&policy).unwrap().contains("bot"),
        "{said}"
    );
    let record = changed("from");
    assert!(record["layers"]["agents.bot*"]["to"].is_null(), "{record}");
    let caller = record["caller"].as_str().unwrap();
    assert!(caller.starts_with("guardian policy rollback, "), "{record}");
}

#[test]
fn a_spool_in_a_folder_that_is_not_there_is_found_by_a_check() {
    let home = tempfile::tempdir().unwrap();
    let config = "[audit]\nto = \"postgres://g@127.0.0.1/g\"\nspool = \"missing/spool\"\n";
    std::fs::write(home.path().join("guardian.toml"), config).unwrap();
    let (code, said) = run(home.path(), &["config", "check"]);
    assert!(code == Some(1) && said.contains("missing/spool"), "{said}");
    std::fs::create_dir(home.path().join("missing")).unwrap();
    let (code, said) = run(home.path(), &["config", "check"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(!home.path().join("missing/spool").exists());
}
