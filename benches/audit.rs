//! Records in databases: how many a second go in, how long a search takes, how many a second are verified.
//!
//! `cargo bench --bench audit`; `GUARDIAN_AUDIT_RECORDS` is how many (100,000). PostgreSQL is asked on its standard port as `postgres`,
//! in a schema of its own that is dropped again; where it is missing, a line says so.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a benchmark prints, and one that cannot be set up has nothing to measure"
)]

use std::time::{Duration, Instant};

use aos_guardian::audit::{Address, AuditDatabase, Query, Settings, Signer};

const SERVER: &str = "postgres://postgres@127.0.0.1:5432/postgres";
const BATCH: usize = 1_000;

fn main() {
    let records = std::env::var("GUARDIAN_AUDIT_RECORDS").ok();
    let records: usize = records.and_then(|records| records.parse().ok()).unwrap_or(100_000);
    let folder = tempfile::tempdir().unwrap();
    measure("SQLite", &Settings::Sqlite(folder.path().join("audit.db")), records);
    drop(folder);
    if std::net::TcpStream::connect(("127.0.0.1", 5432)).is_err() {
        println!("no PostgreSQL on its standard port: it is left out");
        return;
    }
    let schema = format!("guardian_bench_{}", uuid::Uuid::new_v4().simple());
    statement(&format!("CREATE SCHEMA {schema}"));
    let url = format!("{SERVER}?options=-csearch_path%3D{schema}").into();
    measure("PostgreSQL", &Settings::Postgres(Address { url, ca: None }), records);
    statement(&format!("DROP SCHEMA {schema} CASCADE"));
}

fn statement(text: &str) {
    let run = async {
        let (client, connection) = tokio_postgres::connect(SERVER, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute(text).await.unwrap();
    };
    tokio::runtime::Runtime::new().unwrap().block_on(run);
}

/// A record as a server writes it: ten organisations, sessions of twenty steps, a denial in twenty.
fn line(n: usize, begun: i64) -> String {
    let time = jiff::Timestamp::from_microsecond(begun + n as i64 * 1_000).unwrap();
    let id = uuid::Uuid::now_v7();
    let (decision, findings) = match n % 20 {
        0 => (
            "deny",
            r#"[{"rule":"destructive_command.delete_root","reason_code":"destructive_action","severity":"critical","confidence":"high","pointer":"/params/toolCallRequest/arguments/0","span":[0,8],"view":"raw","seen":"rm -rf /"}]"#,
        ),
        _ => ("allow", "[]"),
    };
    format!(
        r#"{{"time":"{time}","decision_id":"{id}","outcome":"decided","organisation":"organisation-{}","caller":"key-{}","method":"steps/toolCallRequest","kind":"tool_call","agent":"agent-{}","session":"session-{}","user":"user-{}","turn":"turn-1","step":"step-{n}","execution":"e{n}","request":"{n}","request_sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","content_hash":"8f434346648f6b96df89dda901c5176b","tool":"tool-{}","duration_ms":0.412,"decision":"{decision}","undecided":false,"source":"rules","reason_codes":[],"confidence":1.0,"risk":null,"authorization":null,"message":"","reasoning":"nothing in the step that a rule or the local judge minds","findings":{findings},"edits":0,"cut_bytes":0,"policy_version":"8f434346648f6b96","prompt_version":"8f434346648f6b96","model":null,"diagnostics":[]}}"#,
        n % 10,
        n % 30,
        n % 50,
        n / 20,
        n % 1_000,
        n % 40,
    )
}

fn measure(name: &str, settings: &Settings, records: usize) {
    let signer = Signer::parse("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=").unwrap();
    let keys = [signer.public_key().to_vec()];
    let mut database = AuditDatabase::open(settings, Some(signer), Duration::from_secs(60)).unwrap();
    let begun = jiff::Timestamp::now().as_microsecond();
    let mut inserting = Duration::ZERO;
    for first in (0..records).step_by(BATCH) {
        let lines: Vec<String> = (first..records.min(first + BATCH)).map(|n| line(n, begun)).collect();
        let batch = Instant::now();
        database.append(lines.iter().map(String::as_str)).unwrap();
        inserting += batch.elapsed();
    }
    let rate = records as f64 / inserting.as_secs_f64();
    println!(
        "{name}: {records} records of {} bytes, {rate:.0} inserts/s in batches of {BATCH}",
        line(1, begun).len()
    );
    let query = |set: &dyn Fn(&mut Query)| {
        let mut query = Query {
            limit: 50,
            ..Query::default()
        };
        set(&mut query);
        query
    };
    let middle = begun + records as i64 * 500;
    let searches = [
        (
            "session",
            query(&|query| query.session = Some(format!("session-{}", records / 40))),
        ),
        ("user", query(&|query| query.user = Some("user-7".to_owned()))),
        (
            "tool and time",
            query(&|query| {
                query.tool = Some("tool-7".to_owned());
                query.until = Some(middle);
            }),
        ),
        (
            "rule",
            query(&|query| query.rule = Some("destructive_command.delete_root".to_owned())),
        ),
        (
            "rule that never fired",
            query(&|query| query.rule = Some("a.b".to_owned())),
        ),
        (
            "denials of a caller",
            query(&|query| {
                query.caller = Some("key-10".to_owned());
                query.decision = Some("deny".to_owned());
            }),
        ),
        (
            "organisation and time",
            query(&|query| {
                query.organisation = Some("organisation-3".to_owned());
                query.since = Some(middle);
            }),
        ),
    ];
    for (what, query) in searches {
        let mut times: Vec<Duration> = Vec::new();
        let mut found = 0;
        for _ in 0..5 {
            let search = Instant::now();
            found = database.search(&query).unwrap().len();
            times.push(search.elapsed());
        }
        times.sort();
        println!(
            "{name}: search by {what}: {found} found, median {:.2?}, slowest {:.2?}",
            times[2], times[4]
        );
    }
    let verifying = Instant::now();
    let verified = database.verify(&keys).unwrap();
    assert!(verified.breaks.is_empty(), "{:?}", verified.breaks);
    let rate = verified.records as f64 / verifying.elapsed().as_secs_f64();
    println!("{name}: {} records verified, {rate:.0} a second", verified.records);
}
