//! Both databases behind the same tests. PostgreSQL is asked where it is on its standard port; each test has a schema of its own.

use std::io::Write;
use std::time::Instant;

use super::super::keeping::{DatabaseOutput, Keeping};
use super::super::output::Output;
use super::super::spool::SpoolSettings;
use super::super::{Address, Settings};
use super::*;

const SERVER: &str = "postgres://postgres@127.0.0.1:5432/postgres";

/// A database of one test, which is gone with it.
struct Place {
    settings: Settings,
    folder: tempfile::TempDir,
    schema: Option<String>,
}

impl Place {
    fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self {
            settings: Settings::Sqlite(folder.path().join("a.db")),
            folder,
            schema: None,
        }
    }

    /// `None`, and a line that says so, where there is no server.
    fn postgres() -> Option<Self> {
        if std::net::TcpStream::connect(("127.0.0.1", 5432)).is_err() {
            eprintln!("no PostgreSQL on its standard port: its tests are left out");
            return None;
        }
        let schema = format!("guardian_test_{}", uuid::Uuid::new_v4().simple());
        statement(&format!("CREATE SCHEMA {schema}"));
        let url = format!("{SERVER}?options=-csearch_path%3D{schema}%20-csynchronous_commit%3Dlocal");
        Some(Self {
            settings: Settings::Postgres(Address {
                url: url.into(),
                ca: None,
            }),
            folder: tempfile::tempdir().unwrap(),
            schema: Some(schema),
        })
    }

    fn both() -> Vec<Self> {
        std::iter::once(Self::sqlite()).chain(Self::postgres()).collect()
    }

    fn open(&self, signer: Option<Signer>) -> AuditDatabase {
        AuditDatabase::open(&self.settings, signer, Duration::from_secs(20)).unwrap()
    }

    fn filled(&self, signer: Option<Signer>) -> AuditDatabase {
        let mut database = self.open(signer);
        for n in 0..50 {
            let lines = [line("acme", n), line("other", n)];
            database.append(lines.iter().map(String::as_str)).unwrap();
        }
        database
    }

    /// Bytes as a literal of this database.
    fn bytes(&self, bytes: &[u8]) -> String {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        match self.schema {
            None => format!("x'{hex}'"),
            Some(_) => format!("'\\x{hex}'::bytea"),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(schema) = &self.schema {
            statement(&format!("DROP SCHEMA IF EXISTS {schema} CASCADE"));
            statement(&format!("DROP SCHEMA IF EXISTS {schema}_away CASCADE"));
        }
    }
}

/// Runs a statement outside of every guardian.
fn statement(text: &str) {
    let run = async {
        let (client, connection) = tokio_postgres::connect(SERVER, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute(text).await.unwrap();
    };
    tokio::runtime::Runtime::new().unwrap().block_on(run);
}

fn signer(n: u8) -> Signer {
    Signer::parse(&base64::Engine::encode(
        &base64::engine::general_purpose::STANDARD,
        [n; 32],
    ))
    .unwrap()
}

fn line(organisation: &str, n: usize) -> String {
    let decision = if n.is_multiple_of(3) { "deny" } else { "allow" };
    format!(
        "{{\"time\":\"2026-11-23T19:00:{:02}.5Z\",\"decision_id\":\"{organisation}-{n}\",\"organisation\":\"{organisation}\",\
         \"caller\":\"k\",\"session\":\"s{}\",\"user\":\"u{}\",\"decision\":\"{decision}\",\"findings\":[{{\"rule\":\"a.b_c\"}}]}}",
        n % 60,
        n % 5,
        n % 7
    )
}

#[test]
fn records_are_found_by_what_they_say_and_come_out_as_they_went_in() {
    for place in Place::both() {
        let mut database = place.filled(None);
        let query = Query {
            organisation: Some("acme".to_owned()),
            session: Some("s0".to_owned()),
            rule: Some("a.b_c".to_owned()),
            decision: Some("deny".to_owned()),
            limit: 100,
            ..Query::default()
        };
        let found = database.search(&query).unwrap();
        assert_eq!(found, [45, 30, 15, 0].map(|n| line("acme", n)));
        for (rule, count) in [("a.b", 0), ("b_c a.b_c", 0), ("a%", 0), ("a.b_c", 100)] {
            let of_rule = Query {
                rule: Some(rule.to_owned()),
                limit: 1_000,
                ..Query::default()
            };
            assert_eq!(database.search(&of_rule).unwrap().len(), count, "{rule}");
        }
        let by_id = Query {
            decision_id: Some("acme-7".to_owned()),
            user: Some("u0".to_owned()),
            limit: 1,
            ..Query::default()
        };
        assert_eq!(database.search(&by_id).unwrap().len(), 1);
        let mut lines = Vec::new();
        database
            .export(Some("other"), |line| lines.push(line.to_owned()))
            .unwrap();
        assert_eq!(lines, (0..50).map(|n| line("other", n)).collect::<Vec<_>>());
        let verified = database.verify(&[]).unwrap();
        assert_eq!((verified.records, verified.breaks), (100, Vec::new()));
    }
}

#[test]
fn what_a_caller_sends_is_stored_whatever_it_is() {
    for place in Place::both() {
        let mut database = place.open(None);
        let long = "x".repeat(5_000);
        let odd = format!(
            "{{\"time\":\"never\",\"decision_id\":\"odd\",\"organisation\":\"a\",\"caller\":\"k\",\"session\":\"a\\u0000b{long}\",\
             \"user\":\"\\ud800\",\"tool\":\"'; DROP TABLE guardian_records; --\",\"findings\":[{{\"rule\":\"\\u0000\"}}]}}"
        );
        database.append([odd.as_str(), "no JSON at all"]).unwrap();
        let query = Query {
            session: Some(format!("a\0b{long}")),
            limit: 10,
            ..Query::default()
        };
        // Half a pair of surrogates is no JSON for us: then only the line is kept.
        let found = database.search(&query).unwrap().len();
        assert!(found <= 1);
        assert_eq!(database.verify(&[]).unwrap().breaks, Vec::new());
        assert_eq!(database.verify(&[]).unwrap().records, 2);
    }
}

/// A number from a row of numbers that is always the same.
fn next(state: &mut u64) -> usize {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as usize
}

/// Makes a change that an attacker with access to the tables could make to the chain of `acme`.
fn tampering(place: &Place, rows: &[Row], kind: usize, state: &mut u64) -> String {
    let row = &rows[next(state) % rows.len()];
    let other = &rows[next(state) % (rows.len() - 1)];
    let other = if other.number == row.number {
        rows.last().unwrap()
    } else {
        other
    };
    let one = |number: i64| format!("organisation = 'acme' AND number = {number}");
    let here = one(row.number);
    match kind {
        0 => {
            let mut text = row.line.clone().unwrap().into_bytes();
            let at = next(state) % text.len();
            text[at] ^= 1 << (next(state) % 5);
            let text = String::from_utf8(text).unwrap().replace('\'', "''");
            format!("UPDATE guardian_records SET line = '{text}' WHERE {here}")
        }
        1 => {
            let (column, bytes) = [("salt", row.salt.clone()), ("content", row.content.to_vec()), ("hash", row.hash.to_vec())]
                [next(state) % 3]
                .clone();
            let mut bytes = bytes;
            let at = next(state) % bytes.len();
            bytes[at] ^= 1 << (next(state) % 8);
            format!("UPDATE guardian_records SET {column} = {} WHERE {here}", place.bytes(&bytes))
        }
        2 => format!("DELETE FROM guardian_records WHERE {here}"),
        3 => format!(
            "UPDATE guardian_records SET number = -1 WHERE {here};
             UPDATE guardian_records SET number = {} WHERE {};
             UPDATE guardian_records SET number = {} WHERE {}",
            row.number,
            one(other.number),
            other.number,
            one(-1)
        ),
        4 => format!(
            "INSERT INTO guardian_records SELECT organisation, {last}, time, decision_id || '+', session, user_id, caller, tool,
                 decision, rules, line, salt, content, hash FROM guardian_records WHERE {here};
             UPDATE guardian_heads SET number = {last} WHERE organisation = 'acme'",
            last = rows.len() + 1
        ),
        5 => {
            let columns = ["session", "user_id", "caller", "tool", "decision", "rules", "decision_id"];
            let column = columns[next(state) % columns.len()];
            format!("UPDATE guardian_records SET {column} = coalesce({column}, '') || '+' WHERE {here}")
        }
        6 => format!("UPDATE guardian_records SET time = time + 1 WHERE {here}"),
        7 => format!(
            "UPDATE guardian_records SET line = NULL, salt = {}, session = NULL, user_id = NULL, caller = '', tool = NULL,
                 decision = NULL, rules = '' WHERE {here}",
            place.bytes(&[])
        ),
        8 => format!(
            "DELETE FROM guardian_records WHERE organisation = 'acme' AND number <= {n};
             UPDATE guardian_heads SET floor = {n}, floor_hash = {hash} WHERE organisation = 'acme'",
            n = row.number,
            hash = place.bytes(&row.hash)
        ),
        9 => format!("UPDATE guardian_records SET organisation = 'third' WHERE {here}"),
        10 => "DELETE FROM guardian_records WHERE organisation = 'acme'".to_owned(),
        _ => "DELETE FROM guardian_heads WHERE organisation = 'acme'".to_owned(),
    }
}

#[test]
fn a_thousand_tampering_tries_are_all_found() {
    for place in Place::both() {
        let mut database = place.filled(Some(signer(1)));
        database.erase(Some("other"), &Erasing::User("u3".to_owned())).unwrap();
        let keys = [signer(1).public_key().to_vec()];
        assert_eq!(database.verify(&keys).unwrap().breaks, Vec::new());
        let save = "CREATE TABLE saved AS SELECT * FROM guardian_records; CREATE TABLE saved_heads AS SELECT * FROM guardian_heads";
        database.store.run(save).unwrap();
        // Two thousand transactions need not wait for the disk.
        let fast = match place.schema {
            None => "PRAGMA synchronous = off",
            Some(_) => "SET synchronous_commit = off",
        };
        database.store.run(fast).unwrap();
        let rows = database.store.page("acme", 0, 1_000).unwrap();
        let mut state = 7;
        for tried in 0..1_000 {
            let change = tampering(&place, &rows, tried % 12, &mut state);
            // What the tables themselves refuse is found as well.
            let Ok(()) = database.store.run(&change) else { continue };
            let found = database.verify(&keys);
            assert!(found.is_err() || !found.unwrap().breaks.is_empty(), "{change}");
            let restore = "BEGIN; DELETE FROM guardian_records; DELETE FROM guardian_heads;
                           INSERT INTO guardian_records SELECT * FROM saved; INSERT INTO guardian_heads SELECT * FROM saved_heads;
                           COMMIT";
            database.store.run(restore).unwrap();
        }
        assert_eq!(database.verify(&keys).unwrap().breaks, Vec::new());
    }
}

#[test]
fn a_chain_computed_again_by_an_attacker_lacks_the_signature() {
    for place in Place::both() {
        let mut database = place.filled(Some(signer(1)));
        let mut lines = Vec::new();
        database
            .export(None, |line| lines.push(line.replace("\"deny\"", "\"allow\"")))
            .unwrap();
        let empty = "DELETE FROM guardian_records; DELETE FROM guardian_heads";
        let steps = lines
            .iter()
            .map(String::as_str)
            .filter(|line| !line.contains("audit/checkpoint"));
        let steps: Vec<&str> = steps.collect();
        let keys = [signer(1).public_key().to_vec()];
        // With the checkpoints as they were, with those of another key, and with none.
        database.store.run(empty).unwrap();
        let mut forged = place.open(None);
        forged.append(lines.iter().map(String::as_str)).unwrap();
        assert!(!forged.verify(&keys).unwrap().breaks.is_empty());
        forged.store.run(empty).unwrap();
        let mut forged = place.open(Some(signer(2)));
        forged.append(steps.iter().copied()).unwrap();
        let what = forged.verify(&keys).unwrap().breaks;
        assert!(what[0].what.contains("a key that is not among"), "{what:?}");
        forged.store.run(empty).unwrap();
        let mut forged = place.open(None);
        forged.append(steps).unwrap();
        let verified = forged.verify(&keys).unwrap();
        // A few records without a checkpoint may be new ones; how many there are is said.
        assert!(verified.breaks.is_empty() && verified.chains.iter().all(|chain| chain.checkpoints == 0));
    }
}

#[test]
fn several_writers_make_one_chain_for_each_organisation_and_write_nothing_twice() {
    for place in Place::both() {
        drop(place.open(None));
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let place = &place;
                scope.spawn(move || {
                    let mut database = place.open(None);
                    for batch in 0..20 {
                        // Two writers have the same records each.
                        let name = writer / 2;
                        let lines = (0..4)
                            .map(|n| line(if n < 2 { "acme" } else { "other" }, 1_000 * name + 2 * batch + n % 2));
                        let lines: Vec<String> = lines.collect();
                        while database.append(lines.iter().map(String::as_str)).is_err() {}
                    }
                });
            }
        });
        let verified = place.open(None).verify(&[]).unwrap();
        assert_eq!((verified.records, verified.breaks), (160, Vec::new()));
    }
}

#[test]
fn a_chain_holds_after_an_erasure_and_nothing_of_it_is_left() {
    for place in Place::both() {
        let mut database = place.filled(Some(signer(1)));
        let keys = [signer(1).public_key().to_vec()];
        let what = Erasing::User("u3".to_owned());
        assert_eq!(database.erase(Some("acme"), &what).unwrap(), 7);
        assert_eq!(database.erase(Some("acme"), &what).unwrap(), 0);
        assert_eq!(database.erase(None, &Erasing::Session("s1".to_owned())).unwrap(), 19);
        let verified = database.verify(&keys).unwrap();
        assert_eq!((verified.erased, verified.breaks), (26, Vec::new()));
        let mut left = 0;
        database
            .export(Some("acme"), |line| left += usize::from(line.contains("\"u3\"")))
            .unwrap();
        assert_eq!(left, 0);
        if let Settings::Sqlite(path) = &place.settings {
            drop(database);
            let bytes = std::fs::read(path).unwrap();
            assert!(memchr::memmem::find(&bytes, b"\"acme-3\",\"organisation\"").is_none());
            assert!(memchr::memmem::find(&bytes, b"\"acme-2\",\"organisation\"").is_some());
        }
    }
}

#[test]
fn a_chain_holds_after_old_records_were_removed() {
    for place in Place::both() {
        let mut database = place.filled(None);
        let keys = [];
        let moment = |text: &str| text.parse::<jiff::Timestamp>().unwrap().as_microsecond();
        assert_eq!(database.expire(moment("2026-11-23T19:00:00Z")).unwrap(), 0);
        assert_eq!(database.expire(moment("2026-11-23T19:00:20Z")).unwrap(), 40);
        let verified = database.verify(&keys).unwrap();
        assert_eq!(verified.breaks, Vec::new());
        for _ in 0..3 {
            database.expire(moment("2100-01-01T00:00:00Z")).unwrap();
            database.append([line("acme", 900).as_str()]).unwrap();
            assert_eq!(database.verify(&keys).unwrap().breaks, Vec::new());
        }
        database
            .store
            .run("DELETE FROM guardian_records WHERE number < 60")
            .unwrap();
        assert!(!database.verify(&keys).unwrap().breaks.is_empty());
    }
}

/// Writes a batch as the writer of a guardian does: acknowledged where it succeeds.
fn write(output: &mut DatabaseOutput, lines: std::ops::Range<usize>) -> bool {
    for n in lines {
        writeln!(output, "{}", line("acme", n)).unwrap();
    }
    output.flush().is_ok()
}

fn until(what: impl Fn() -> bool) {
    let begun = Instant::now();
    while !what() {
        assert!(begun.elapsed() < Duration::from_secs(30), "it never came about");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn records_wait_in_the_spool_in_order_while_the_database_is_away() {
    let Some(place) = Place::postgres() else { return };
    let spool = place.folder.path().join("spool");
    let keeping = Keeping {
        spool: Some(SpoolSettings {
            file: spool.clone(),
            max_bytes: 1 << 20,
        }),
        ..Keeping::default()
    };
    let schema = place.schema.clone().unwrap();
    let mut output = DatabaseOutput::open(&place.settings, &keeping).unwrap();
    assert!(output.batch() > 1);
    assert!(write(&mut output, 0..10));
    statement(&format!("ALTER SCHEMA {schema} RENAME TO {schema}_away"));
    for n in 1..5 {
        assert!(write(&mut output, 10 * n..10 * n + 10));
    }
    assert!(std::fs::metadata(&spool).unwrap().len() > 0);
    // A process that ends by force, and the one after it, which has two batches that arrived already.
    drop(output);
    let waiting = std::fs::read(&spool).unwrap();
    let again = [line("acme", 3).into_bytes(), b"\n".to_vec(), waiting].concat();
    std::fs::write(&spool, again).unwrap();
    statement(&format!("ALTER SCHEMA {schema}_away RENAME TO {schema}"));
    let mut output = DatabaseOutput::open(&place.settings, &keeping).unwrap();
    assert!(write(&mut output, 50..60));
    until(|| std::fs::metadata(&spool).unwrap().len() == 0);
    assert!(write(&mut output, 60..70));
    drop(output);
    let mut database = place.open(None);
    let mut lines = Vec::new();
    database.export(None, |line| lines.push(line.to_owned())).unwrap();
    assert_eq!(lines, (0..70).map(|n| line("acme", n)).collect::<Vec<_>>());
    assert_eq!(database.verify(&[]).unwrap().breaks, Vec::new());
}

#[test]
fn a_full_spool_acknowledges_nothing_more() {
    let Some(place) = Place::postgres() else { return };
    statement(&format!("DROP SCHEMA {}", place.schema.as_ref().unwrap()));
    let keeping = Keeping {
        spool: Some(SpoolSettings {
            file: place.folder.path().join("spool"),
            max_bytes: 10_000,
        }),
        ..Keeping::default()
    };
    let mut output = DatabaseOutput::open(&place.settings, &keeping).unwrap();
    assert!(write(&mut output, 0..20));
    assert!(!write(&mut output, 20..100));
    assert!(write(&mut output, 100..105));
}
