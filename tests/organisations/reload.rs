//! Edits of what is configured, while the server works.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use aos_guardian::audit;
use aos_guardian::policy::PolicyFile;
use serde_json::{Value, json};

use crate::hash;
use crate::live::{Live, allowing};
use crate::support::{tool_call, user_message};

const KEY: &str = "acme-key-0123456789";
const SETTINGS: &str = "listen = \"127.0.0.1:0\"\naudit.to = \"audit.jsonl\"\nlocal_judge.mode = \"off\"\n";

/// A `guardian serve` over a file of its own, which is watched; its log is a file beside it.
struct Watched {
    program: Child,
    url: String,
    http: reqwest::Client,
    folder: tempfile::TempDir,
}

impl Drop for Watched {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
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
        std::fs::write(folder.path().join("guardian.toml"), format!("{SETTINGS}{text}")).unwrap();
        let log = folder.path().join("log");
        let program = Command::new(env!("CARGO_BIN_EXE_guardian"))
            .args(["serve", "--config"])
            .arg(folder.path().join("guardian.toml"))
            .current_dir(folder.path())
            .stderr(std::fs::File::create(&log).unwrap())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut server = Self {
            program,
            url: String::new(),
            // The server closes what waits for longer.
            http: reqwest::Client::builder()
                .no_proxy()
                .pool_idle_timeout(Duration::from_secs(5))
                .build()
                .unwrap(),
            folder,
        };
        while server.url.is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
            assert!(server.program.try_wait().unwrap().is_none(), "{}", server.log());
            let address = server.log().split_once("listening on ").and_then(|(_, rest)| {
                let (address, _) = rest.split_once('\n')?;
                Some(format!("{}/", address.trim()))
            });
            server.url = address.unwrap_or_default();
        }
        server
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.path("log")).unwrap()
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

    async fn metrics(&self) -> String {
        let reply = self.http.get(format!("{}metrics", self.url)).send().await.unwrap();
        reply.text().await.unwrap()
    }

    fn hang_up(&self) {
        let id = self.program.id().to_string();
        assert!(Command::new("kill").args(["-HUP", &id]).status().unwrap().success());
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

    fn records(&self) -> Vec<Value> {
        let records = self.audit();
        records
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    fn changes(&self) -> Vec<Value> {
        let mut records = self.records();
        records.retain(|record| record["kind"] == "change");
        records
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

/// Files of which each says the same number: the configuration (a key, and whether it observes), the policy (what it denies, and what the judge is
/// told), the prompts.
struct Numbered {
    configuration: String,
    policy: String,
    prompt: String,
}

impl Numbered {
    fn of(number: usize, judge: &str) -> Self {
        let mode = if number.is_multiple_of(7) { "observe" } else { "enforce" };
        let organisation = organisation(&format!(
            "mode = \"{mode}\"\npolicy = \"{number}/policy.toml\"\nprompts = \"{number}/prompts\""
        ));
        // As keys are rotated: the one of before goes on for a while.
        let keys = (number.saturating_sub(1)..=number).map(|number| {
            let hash = hash(&key_of(number));
            format!("[[organisations.keys]]\nname = \"k{number}\"\nkey = \"sha256:{hash}\"\n")
        });
        Self {
            configuration: format!("{SETTINGS}{judge}{organisation}{}", keys.collect::<String>()),
            policy: format!("guidance = \"We are at {number}.\"\n{}", numbered(number)),
            prompt: format!(
                "{{% extends \"builtin/system.md.j2\" %}}\n{{% block task %}}\nRevision {number}.\n\n{{{{ super() }}}}\n{{% endblock %}}\n"
            ),
        }
    }

    /// Breaks one of the files; gives back what is to be told of it.
    fn broken(mut self, how: usize) -> (Self, [&'static str; 2]) {
        let told = match how % 5 {
            0 => {
                self.policy += "dany = [\"alpha.*\"]\n";
                ["policy.toml", "dany"]
            }
            1 => {
                self.prompt += "{% block readers_differ %}{{ oh";
                ["system.md.j2", "block"]
            }
            2 => {
                self.configuration += "expires = \"hunter2\"\n";
                ["organisations[0].keys[1].expires", "guardian.toml"]
            }
            3 => {
                self.policy += "[conditions]\ntext = '''\nforbid(principal, acton, resource);'''\n";
                ["policy.toml:7", "acton"]
            }
            _ => {
                self.configuration.truncate(self.configuration.len() / 2);
                ["guardian.toml", "line"]
            }
        };
        (self, told)
    }

    /// Writes them; the configuration last, which names the others and puts all of them in force together.
    fn write(&self, number: usize, server: &Watched, put: impl FnOnce(&Path, &str)) {
        let prompts = server.path(&format!("{number}/prompts"));
        std::fs::create_dir_all(&prompts).unwrap();
        rename_over(&prompts.join("system.md.j2"), &self.prompt);
        rename_over(&prompts.with_file_name("policy.toml"), &self.policy);
        put(&server.path("guardian.toml"), &self.configuration);
    }
}

fn key_of(number: usize) -> String {
    format!("key-of-number-{number:04}")
}

/// Allows, and says which guidance and which revision of the prompt it was shown.
fn quoting(body: &str) -> String {
    let after = |words: &str| {
        let (_, rest) = body.split_once(words).unwrap_or_default();
        rest.split('.').next().unwrap_or_default().to_owned()
    };
    let quoted = format!("Revision {}, guidance {}.", after("Revision "), after("We are at "));
    allowing(body).replace("As scripted.", &quoted)
}

/// A verdict, and the number of the key that asked for it.
struct Told {
    key: usize,
    request: usize,
    result: Value,
}

/// How many requests are answered while the files are edited; `RELOAD_REQUESTS` sets another number.
fn requests() -> usize {
    let number = std::env::var("RELOAD_REQUESTS").ok();
    number.map_or(10_000, |number| number.parse().unwrap())
}

/// Every fifth edit is a broken one.
const EDITS: usize = 100;
const SENDERS: usize = 32;

/// What senders and editor share.
#[derive(Default)]
struct Progress {
    /// The number that is known to be in force.
    known: AtomicUsize,
    /// The number that may be in force.
    written: AtomicUsize,
    sent: AtomicUsize,
    answered: AtomicUsize,
    over: AtomicBool,
}

/// Sends one step after the other until edits and requests are done; gives back what was told, and how many keys were out of date.
async fn send(server: &Watched, progress: &Progress) -> (Vec<Told>, usize) {
    let (mut told, mut outdated) = (Vec::new(), 0);
    while !progress.over.load(Ordering::SeqCst) {
        let key = progress.known.load(Ordering::SeqCst);
        let request = progress.sent.fetch_add(1, Ordering::SeqCst);
        let mut step = match request % 4 {
            0 => tool_call("alpha.run", "text", &json!(format!("See you at {}.", request % 5))),
            1 => tool_call("beta.run", "text", &json!(format!("See you at {}.", request % 5))),
            2 => user_message(&format!("What do {request} hammers cost?")),
            _ => user_message(&format!("What do {} nails cost?", request % 3)),
        };
        step["params"]["context"]["session"]["id"] = json!(format!("session-{request}"));
        let (status, answer) = server.post(&key_of(key), &step).await;
        if status == 401 {
            assert!(key + 1 < progress.written.load(Ordering::SeqCst), "{key}: {answer}");
            outdated += 1;
        } else {
            assert_eq!(status, 200, "{answer}");
            let result = answer["result"].clone();
            told.push(Told { key, request, result });
        }
        progress.answered.fetch_add(1, Ordering::SeqCst);
    }
    (told, outdated)
}

/// Makes every edit, each after its part of the requests, and waits until it is in force, or told to be broken.
async fn edit(server: &Watched, progress: &Progress, judge: &str) -> usize {
    let requests = requests();
    let mut number = 0;
    for edit in 1..=EDITS {
        let begun = || async { progress.answered.load(Ordering::SeqCst) >= edit * requests / EDITS };
        server.until("answered: its part", begun).await;
        let next = number + 1;
        if edit.is_multiple_of(5) {
            let (broken, told) = Numbered::of(next, judge).broken(edit / 5);
            broken.write(next, server, rename_over);
            let is_told = || async {
                let ready = server.readyz().await;
                ready.contains("not reloaded at") && told.iter().all(|word| ready.contains(word))
            };
            server.until(&format!("told: {told:?}"), is_told).await;
            assert!(server.metrics().await.contains("guardian_reload_broken 1"));
            let log = server.log();
            let of_it = |line: &&str| line.contains("not reloaded") && told.iter().all(|word| line.contains(word));
            assert!(log.lines().any(|line| of_it(&line)), "{told:?}");
            let (status, answer) = server.post(&key_of(number), &user_message("hello")).await;
            assert_eq!(status, 200, "the key of before is known: {answer}");
            assert_eq!(number_of(&answer["result"]), number, "the version of before stays");
            continue;
        }
        progress.written.store(next, Ordering::SeqCst);
        let files = Numbered::of(next, judge);
        match edit % 4 {
            0 => files.write(next, server, |file, text| {
                rename_over(file, text);
                server.hang_up();
            }),
            1 => tokio::task::block_in_place(|| files.write(next, server, write_in_place)),
            _ => files.write(next, server, rename_over),
        }
        let known = || async { server.post(&key_of(next), &user_message("hello")).await.0 == 200 };
        server.until(&format!("in force: {next}"), known).await;
        if let Some(over) = number.checked_sub(1) {
            assert_eq!(server.post(&key_of(over), &user_message("hello")).await.0, 401);
        }
        assert!(server.metrics().await.contains("guardian_reload_broken 0"));
        number = next;
        progress.known.store(number, Ordering::SeqCst);
    }
    progress.over.store(true, Ordering::SeqCst);
    number
}

/// The number of each policy, by its version.
fn versions() -> &'static HashMap<String, usize> {
    static VERSIONS: OnceLock<HashMap<String, usize>> = OnceLock::new();
    let of = |number: usize| (version(&Numbered::of(number, "").policy), number);
    VERSIONS.get_or_init(|| (0..=EDITS).map(of).collect())
}

/// The number that the policy of a verdict is of.
fn number_of(result: &Value) -> usize {
    versions()[result["data"]["policyVersion"].as_str().unwrap()]
}

#[tokio::test(flavor = "multi_thread")]
#[allow(clippy::too_many_lines, reason = "one scenario, step by step")]
async fn every_verdict_under_a_hundred_edits_is_of_exactly_one_version_and_none_is_lost() {
    let live = Live::start(Duration::from_millis(20), quoting).await;
    let judge = format!(
        "[judge]\nbase_url = \"{}\"\nmodel = \"quoting\"\nproxy = \"none\"\ntimeout_ms = 60000\n",
        live.url()
    );
    let start = Numbered::of(0, &judge);
    let server = Watched::with(
        start.configuration.strip_prefix(SETTINGS).unwrap(),
        &[
            ("0/policy.toml", &start.policy),
            ("0/prompts/system.md.j2", &start.prompt),
        ],
    )
    .await;
    // It compiles as many policies: senders would stand still so long, and the server close what they hold.
    assert_eq!(versions().len(), EDITS + 1);
    let (progress, begun) = (Progress::default(), Instant::now());
    let senders = futures_util::future::join_all((0..SENDERS).map(|_| send(&server, &progress)));
    let (sent, last) = tokio::join!(senders, edit(&server, &progress, &judge));
    let outdated: usize = sent.iter().map(|(_, outdated)| outdated).sum();
    let told: Vec<Told> = sent.into_iter().flat_map(|(told, _)| told).collect();
    assert_eq!(
        told.len() + outdated,
        progress.sent.load(Ordering::SeqCst),
        "none is lost"
    );
    let mut prompts: BTreeMap<usize, &str> = BTreeMap::new();
    let mut sources: BTreeMap<&str, usize> = BTreeMap::new();
    for Told { key, request, result } in &told {
        let data = &result["data"];
        let number = number_of(result);
        assert!(
            *key <= number + 1,
            "the key of {key} came with a later version: {result}"
        );
        let prompt = data["promptVersion"].as_str().unwrap();
        assert_eq!(*prompts.entry(number).or_insert(prompt), prompt, "{result}");
        let source = data["source"].as_str().unwrap();
        *sources.entry(source).or_default() += 1;
        let is_denied = request % 4 == number % 2;
        assert_eq!(source == "rules", is_denied, "{request} under {number}: {result}");
        let is_observed = number.is_multiple_of(7);
        let said = if is_observed { &data["observed"] } else { result };
        let decision = if is_denied { "deny" } else { "allow" };
        assert_eq!(said["decision"], decision, "{request} under {number}: {result}");
        assert_eq!(data["observed"].is_object(), is_observed, "{number}: {result}");
        assert!(!is_observed || result["decision"] == "allow", "{result}");
        if !is_denied {
            let quoted = format!("Revision {number}, guidance {number}.");
            assert_eq!(said["reasoning"], quoted, "{result}");
        }
    }
    eprintln!(
        "{} verdicts in {:?}, by source: {sources:?}; {outdated} keys out of date",
        told.len(),
        begun.elapsed()
    );
    let distinct: BTreeSet<&&str> = prompts.values().collect();
    assert_eq!(
        (prompts.len(), distinct.len()),
        (last + 1, last + 1),
        "each version was asked"
    );
    assert!(sources["cache"] > EDITS, "{sources:?}");

    let records = server.records();
    let of_step = |record: &Value| Some((record["decision_id"].as_str()?.to_owned(), record.clone()));
    let mut by_id: HashMap<String, Value> = records.iter().filter_map(of_step).collect();
    for Told { result, .. } in &told {
        let data = &result["data"];
        let record = by_id.remove(data["decisionId"].as_str().unwrap()).unwrap();
        assert_eq!(record["policy_version"], data["policyVersion"], "{record}");
        assert_eq!(record["prompt_version"], data["promptVersion"], "{record}");
    }
    let changes = server.changes();
    assert_eq!(
        changes.len(),
        last,
        "each edit that can be used is recorded once: {changes:?}"
    );
    for (index, change) in changes.iter().enumerate() {
        assert_eq!(change["organisation"], "acme");
        let of = |number: usize| version(&Numbered::of(number, "").policy);
        assert_eq!(
            change["policy"],
            json!({"from": of(index), "to": of(index + 1)}),
            "{change}"
        );
        assert_eq!(
            change["prompts"],
            json!({"from": prompts[&index], "to": prompts[&(index + 1)]})
        );
        assert_eq!(change["keys_added"], json!([format!("k{}", index + 1)]), "{change}");
        let removed = index.checked_sub(1).map(|old| json!([format!("k{old}")]));
        assert_eq!(change.get("keys_removed"), removed.as_ref(), "{change}");
        assert!(
            ["file watch", "SIGHUP"].contains(&change["caller"].as_str().unwrap()),
            "{change}"
        );
        assert!(change["files"].to_string().contains("guardian.toml"), "{change}");
    }
    let mut history = audit::Archive::folder(server.path("audit.jsonl.policies"));
    assert_eq!(history.history().unwrap().len(), last + 1);
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

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_taken_away_is_refused_also_while_the_policy_of_another_organisation_is_broken() {
    let key = |name: &str| {
        let hash = hash(&format!("{name}-key-0123456789"));
        format!("[[organisations.keys]]\nname = \"{name}\"\nkey = \"sha256:{hash}\"\n")
    };
    let globex = format!("[[organisations]]\nid = \"globex\"\n{}", key("stays"));
    let acme = organisation("policy = \"policy.toml\"");
    let server = Watched::with(
        &format!("{acme}{globex}{}", key("lost")),
        &[("policy.toml", "extends = \"default\"\n")],
    )
    .await;
    let status = async |key: &str| server.post(key, &user_message("hello")).await.0;
    assert_eq!(status("lost-key-0123456789").await, 200);
    rename_over(&server.path("policy.toml"), "dany = 1\n");
    let broken = || async { server.readyz().await.contains("dany") };
    server.until("told: where it is broken", broken).await;

    let text = std::fs::read_to_string(server.path("guardian.toml")).unwrap();
    rename_over(&server.path("guardian.toml"), &text.replace(&key("lost"), &key("new")));
    let refused = || async { status("lost-key-0123456789").await == 401 };
    server.until("refused: the key that was taken away", &refused).await;
    assert_eq!(status("stays-key-0123456789").await, 200);
    assert_eq!(status(KEY).await, 200);
    assert_eq!(status("new-key-0123456789").await, 401, "nothing new comes into force");
    rename_over(&server.path("guardian.toml"), &text);
    let back = || async { status("lost-key-0123456789").await == 200 };
    server.until("good again: the key that was put back", back).await;
    rename_over(&server.path("guardian.toml"), &text.replace(&key("lost"), &key("new")));
    server.until("refused again", &refused).await;
    rename_over(&server.path("policy.toml"), "extends = \"default\"\n");
    let known = || async { status("new-key-0123456789").await == 200 };
    server.until("known: the new key", known).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_keys_of_a_new_issuer_are_fetched_before_a_token_comes() {
    let issuer = crate::issuer::Issuer::start().await;
    let server = Watched::with(&organisation(""), &[]).await;
    let text = std::fs::read_to_string(server.path("guardian.toml")).unwrap();
    let trusted = format!(
        "[oidc]\nissuer = \"{}\"\naudience = \"guardian\"\norganisation = \"acme\"\n",
        issuer.url()
    );
    rename_over(&server.path("guardian.toml"), &format!("{text}{trusted}"));
    server.until("asked: the issuer", || async { issuer.asked() > 0 }).await;
}
