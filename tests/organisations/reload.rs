//! Edits of what is configured, while the server works.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use aos_guardian::gateway::Gateways;
use aos_guardian::policy::PolicyFile;
use aos_guardian::reload::{self, Parts, Reloader};
use aos_guardian::server::Server;
use aos_guardian::{app, audit, config};
use serde_json::{Value, json};

use crate::hash;
use crate::support::{tool_call, user_message};

const KEY: &str = "acme-key-0123456789";

/// A server over a file of its own, which is watched.
struct Watched {
    url: String,
    http: reqwest::Client,
    folder: tempfile::TempDir,
}

impl Watched {
    /// With this configuration, and these files beside it.
    async fn with(text: &str, files: &[(&str, &str)]) -> Self {
        Self::with_links(text, files, |_| ()).await
    }

    /// As [`with`](Self::with), with links in the folder `mounted`.
    async fn with_links(text: &str, files: &[(&str, &str)], link: impl FnOnce(&Path)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::create_dir_all(folder.path().join(name).parent().unwrap()).unwrap();
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        link(&folder.path().join("mounted"));
        let file = folder.path().join("guardian.toml");
        let text = format!("listen = \"127.0.0.1:0\"\naudit.to = \"audit.jsonl\"\nlocal_judge.mode = \"off\"\n{text}");
        std::fs::write(&file, text).unwrap();
        let config = config::load(Some(&file)).unwrap();
        let guardian = Arc::new(app::guardian(&config, &audit::Settings::Off).unwrap());
        let keyring = app::keyring(&config).unwrap();
        let server = Server::bind(config.server.clone(), config.wire, Arc::clone(&guardian), keyring).unwrap();
        let (address, control) = (server.address(), server.control());
        let gateways = Gateways::bind(&config.gateways, address, &guardian, server.memory(), server.keyring()).unwrap();
        let renewal = gateways.reload();
        let (watched, link) = (config.watch_files, guardian.link().cloned());
        let parts = Parts {
            file: Some(file),
            listen: None,
            started_with: config,
            guardian,
            control,
            gateways: renewal,
        };
        let reloader = Arc::new(Reloader::new(parts).unwrap());
        if let Some(link) = link {
            reload::join(&reloader, &link);
        }
        if watched {
            tokio::spawn(reload::watch(reloader));
        } else {
            tokio::spawn(async move {
                let _reloader = reloader;
                std::future::pending::<()>().await;
            });
        }
        tokio::spawn(server.besides(gateways.router()).run());
        Self {
            url: format!("http://{address}/"),
            http: reqwest::Client::builder().no_proxy().build().unwrap(),
            folder,
        }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    async fn post(&self, key: &str, request: &Value) -> (u16, Value) {
        let reply = self
            .http
            .post(&self.url)
            .bearer_auth(key)
            .json(request)
            .send()
            .await
            .unwrap();
        (reply.status().as_u16(), reply.json().await.unwrap())
    }

    async fn readyz(&self) -> String {
        let reply = self.http.get(format!("{}readyz", self.url)).send().await.unwrap();
        assert_eq!(reply.status(), 200, "an old version is no reason to take the node away");
        reply.text().await.unwrap()
    }

    /// Waits until this holds.
    async fn until<F: Future<Output = bool>>(&self, what: &str, holds: impl Fn() -> F) {
        for _ in 0..1_000 {
            if holds().await {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!(
            "never {what}; /readyz: {}; audit: {}",
            self.readyz().await,
            self.audit()
        );
    }

    async fn until_version(&self, version: &str) {
        let asked = || async {
            let (_, answer) = self.post(KEY, &user_message("hello")).await;
            answer["result"]["data"]["policyVersion"] == version
        };
        self.until(&format!("in force: {version}"), asked).await;
    }

    fn audit(&self) -> String {
        std::fs::read_to_string(self.path("audit.jsonl")).unwrap_or_default()
    }

    fn changes(&self) -> Vec<Value> {
        let records = self.audit();
        let records = records.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        records.filter(|record| record["kind"] == "change").collect()
    }
}

fn organisation(more: &str) -> String {
    format!(
        "[[organisations]]\nid = \"acme\"\napi_keys = [\"sha256:{}\"]\n{more}\n",
        hash(KEY)
    )
}

fn version(policy: &str) -> String {
    PolicyFile::parse(policy, "t").unwrap().compile("t").unwrap().version
}

/// Beside it and renamed, as most editors write.
fn rename_over(file: &Path, text: &str) {
    let beside = file.with_extension("swp");
    std::fs::write(&beside, text).unwrap();
    std::fs::rename(beside, file).unwrap();
}

/// In place and in pieces, as the others do.
fn write_in_place(file: &Path, text: &str) {
    use std::io::Write;
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .truncate(true)
        .open(file)
        .unwrap();
    let (one, two) = text.split_at(text.find('\n').unwrap() + 1);
    file.write_all(one.as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(120));
    file.write_all(two.as_bytes()).unwrap();
}

/// What a policy of this number denies: `alpha` where it is even, else `beta`.
fn numbered(number: usize) -> String {
    let denied = if number.is_multiple_of(2) { "alpha.*" } else { "beta.*" };
    format!("name = \"number {number}\"\n[tools]\ndeny = [\"{denied}\"]\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn every_verdict_under_edits_is_of_exactly_one_version_and_none_is_lost() {
    const EDITS: usize = 24;
    let server = Watched::with(
        &organisation("policy = \"policy.toml\""),
        &[("policy.toml", &numbered(0))],
    )
    .await;
    let known: BTreeMap<String, usize> = (0..=EDITS).map(|n| (version(&numbered(n)), n)).collect();
    let over = AtomicBool::new(false);
    let asking = |tool: &'static str, denied_by: usize| {
        let (server, over, known) = (&server, &over, &known);
        async move {
            let mut asked = 0;
            while !over.load(Ordering::Relaxed) {
                let call = tool_call(&format!("{tool}.run"), "text", &json!("See you at ten."));
                let (status, answer) = server.post(KEY, &call).await;
                assert_eq!(status, 200, "{answer}");
                let result = &answer["result"];
                let number = known[result["data"]["policyVersion"].as_str().unwrap()];
                let expected = if number % 2 == denied_by { "deny" } else { "allow" };
                assert_eq!(result["decision"], expected, "{tool} under {number}: {answer}");
                asked += 1;
            }
            asked
        }
    };
    let editing = async {
        let file = server.path("policy.toml");
        for number in 1..=EDITS {
            let text = numbered(number);
            match number % 3 {
                0 => {
                    let file = file.clone();
                    tokio::task::spawn_blocking(move || write_in_place(&file, &text))
                        .await
                        .unwrap();
                }
                1 => rename_over(&file, &text),
                _ => {
                    rename_over(&file, &format!("{text}dany = [\"alpha.*\"]\n"));
                    let broken = || async { server.readyz().await.contains("not reloaded at") };
                    server.until("broken", broken).await;
                    let told = server.readyz().await;
                    assert!(told.contains("policy.toml") && told.contains("dany"), "{told}");
                    let (_, answer) = server.post(KEY, &user_message("hello")).await;
                    let before = &answer["result"]["data"]["policyVersion"];
                    assert_eq!(*before, version(&numbered(number - 1)), "the version of before stays");
                    rename_over(&file, &text);
                }
            }
            server.until_version(&version(&numbered(number))).await;
        }
        assert!(!server.readyz().await.contains("not reloaded"));
        over.store(true, Ordering::Relaxed);
    };
    let (alpha, beta, other, ()) = tokio::join!(asking("alpha", 0), asking("beta", 1), asking("alpha", 0), editing);
    let verdicts = server
        .audit()
        .lines()
        .filter(|line| line.contains("\"decision_id\"") && line.contains(".run"))
        .count();
    assert_eq!(verdicts, alpha + beta + other, "each verdict has one record");
    let changes = server.changes();
    assert_eq!(
        changes.len(),
        EDITS,
        "each edit that can be used is recorded once: {changes:?}"
    );
    for (index, change) in changes.iter().enumerate() {
        assert_eq!(change["organisation"], "acme");
        assert_eq!(change["caller"], "file watch");
        assert_eq!(change["policy"]["from"], version(&numbered(index)), "{change}");
        assert_eq!(change["policy"]["to"], version(&numbered(index + 1)), "{change}");
        assert!(change["files"][0].as_str().unwrap().contains("policy.toml"), "{change}");
    }
    let history = audit::Archive::folder(server.path("audit.jsonl.policies"))
        .history()
        .unwrap();
    assert_eq!(history.len(), EDITS + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_and_prompts_take_effect_at_once_and_a_broken_configuration_keeps_them() {
    let server = Watched::with(&organisation(""), &[]).await;
    let file = server.path("guardian.toml");
    let before = std::fs::read_to_string(&file).unwrap();
    let other = format!(
        "[[organisations.keys]]\nname = \"new\"\nkey = \"sha256:{}\"\n",
        hash("second-key-0123456789")
    );
    rename_over(&file, &format!("{before}{other}"));
    let known = || async { server.post("second-key-0123456789", &user_message("hello")).await.0 == 200 };
    server.until("known: the new key", known).await;
    assert_eq!(server.changes()[0]["keys_added"], json!(["new"]));
    rename_over(&file, &format!("{before}{other}expires = \"hunter2 with no date\"\n"));
    let broken = || async { server.readyz().await.contains("`organisations[0].keys[0].expires`") };
    server.until("told: where it is broken", broken).await;
    assert!(known().await);
    std::fs::remove_file(&file).unwrap();
    let gone = || async { server.readyz().await.contains("cannot be read") };
    server.until("told: the file is gone", gone).await;
    assert!(known().await, "no file is no permission to ask without keys");
    rename_over(&file, &before);
    let revoked = || async { server.post("second-key-0123456789", &user_message("hello")).await.0 == 401 };
    server.until("revoked: the new key", revoked).await;
    assert!(!server.readyz().await.contains("not reloaded"));
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn the_link_that_kubernetes_moves_changes_all_files_together() {
    use std::os::unix::fs::symlink;
    let text = organisation("policy = \"mounted/policy.toml\"\nprompts = \"mounted/prompts\"");
    let revision = |number: usize| {
        let prompt = format!("Revision {number}.\n\n{}", include_str!("../../prompts/system.md.j2"));
        [
            (format!("mounted/..{number}/policy.toml"), numbered(number)),
            (format!("mounted/..{number}/prompts/system.md.j2"), prompt),
        ]
    };
    let [policy, prompt] = revision(0);
    let files = [
        (policy.0.as_str(), policy.1.as_str()),
        (prompt.0.as_str(), prompt.1.as_str()),
    ];
    let server = Watched::with_links(&text, &files, |mounted| {
        symlink("..0", mounted.join("..data")).unwrap();
        symlink("..data/policy.toml", mounted.join("policy.toml")).unwrap();
        symlink("..data/prompts", mounted.join("prompts")).unwrap();
    })
    .await;
    let mounted = server.path("mounted");
    for number in 1..4 {
        for (name, text) in revision(number) {
            std::fs::create_dir_all(server.path(&name).parent().unwrap()).unwrap();
            std::fs::write(server.path(&name), text).unwrap();
        }
        symlink(format!("..{number}"), mounted.join("..data_tmp")).unwrap();
        std::fs::rename(mounted.join("..data_tmp"), mounted.join("..data")).unwrap();
        std::fs::remove_dir_all(mounted.join(format!("..{}", number - 1))).unwrap();
        server.until_version(&version(&numbered(number))).await;
    }
    let recorded = || async { server.changes().len() >= 3 };
    server.until("recorded: three changes", recorded).await;
    let changes = server.changes();
    assert_eq!(changes.len(), 3, "policy and prompts came together: {changes:?}");
    assert!(
        changes
            .iter()
            .all(|change| change["policy"].is_object() && change["prompts"].is_object()),
        "{changes:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn conditions_beside_a_policy_take_effect_at_once_and_a_broken_text_keeps_the_old_ones() {
    let cedar = |tool: &str| format!("@id(\"c\")\nforbid(principal, action, resource == Tool::\"{tool}\");\n");
    let server = Watched::with(
        &organisation("policy = \"policy.toml\""),
        &[
            ("policy.toml", "[conditions]\nfile = \"c.cedar\"\n"),
            ("c.cedar", &cedar("alpha.run")),
        ],
    )
    .await;
    let denies = async |tool: &str| {
        let (_, answer) = server
            .post(KEY, &tool_call(tool, "text", &json!("See you at ten.")))
            .await;
        answer["result"]["decision"] == "deny"
    };
    assert!(denies("alpha.run").await && !denies("beta.run").await);
    rename_over(&server.path("c.cedar"), &cedar("beta.run"));
    server.until("in force", || denies("beta.run")).await;
    assert!(!denies("alpha.run").await);
    let broken = format!("{}\nforbid(principal, acton, resource);", cedar("alpha.run"));
    rename_over(&server.path("c.cedar"), &broken);
    server
        .until("broken", || async { server.readyz().await.contains("not reloaded at") })
        .await;
    let told = server.readyz().await;
    assert!(told.contains("c.cedar:4") && told.contains("acton"), "{told}");
    assert!(
        denies("beta.run").await && !denies("alpha.run").await,
        "the old ones stay"
    );
    rename_over(&server.path("c.cedar"), &cedar("alpha.run"));
    server.until("in force again", || denies("alpha.run")).await;
    assert!(!server.readyz().await.contains("not reloaded"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_reads_its_files_lets_the_others_look_at_theirs_and_one_that_differs_is_reported() {
    if std::net::TcpStream::connect(("127.0.0.1", 6379)).is_err() {
        eprintln!("no Redis on its standard port: the test of several nodes is left out");
        return;
    }
    let (old, new) = (numbered(1), numbered(2));
    let prefix = uuid::Uuid::new_v4().simple().to_string();
    let nodes = format!(
        "{}[shared]\nredis = \"redis://127.0.0.1:6379\"\nprefix = \"guardian-test-{prefix}\"\ntimeout_ms = 200\n",
        organisation("policy = \"policy.toml\"")
    );
    let watching = Watched::with(&nodes, &[("policy.toml", &numbered(0))]).await;
    // This one looks at its files only when it is told to.
    let told = Watched::with(&format!("watch_files = false\n{nodes}"), &[("policy.toml", &old)]).await;
    told.until("reported", || async {
        told.readyz()
            .await
            .contains("configuration: 1 of 1 other nodes have another version")
    })
    .await;

    std::fs::write(told.path("policy.toml"), &new).unwrap();
    rename_over(&watching.path("policy.toml"), &new);
    told.until_version(&version(&new)).await;
    let by_another = |change: &Value| change["caller"] == "another node";
    told.until("recorded", || async { told.changes().iter().any(by_another) })
        .await;
    for node in [&told, &watching] {
        node.until("alike", || async { !node.readyz().await.contains("configuration:") })
            .await;
    }
}
