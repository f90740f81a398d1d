//! SQL that destroys, reaches out of the database, or is not what it seems.
//!
//! Arguments that are SQL are parsed; what no parser takes is searched by word after comments and literals are taken
//! out, with less confidence. Text inside literals is never SQL: a column may say `DROP TABLE`.

mod dynamic;
mod reading;
mod trade;

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use regex::Regex;

use super::catalogue::{Catalogue, Entry};
use super::expression::expression;
use super::{Plain, Prefilter, Rule, Subject};
use crate::model::{Confidence, Finding, Origin, ReasonCode, Severity, Treatment, View};
use reading::{Reading, Trait};
use trade::{Beginning, Trade, behind, loss_elsewhere, trade};

const RULES: &[Entry<Trait>] = &[
    Entry {
        key: Trait::Drops,
        id: "sql.drop",
        title: "Drops or truncates tables, schemas or databases.",
        reason: ReasonCode::DestructiveAction,
        severity: Severity::High,
        confidence: Confidence::High,
        suggests: Treatment::Evidence,
        fires_on: &[
            "DROP TABLE users",
            "select 1; drop table users",
            "TRUNCATE TABLE orders",
            "DR/**/OP TABLE users",
            "drop database prod",
            "DROP SCHEMA public CASCADE",
            "drop view if exists v; drop table a, b",
            "DROP TABLE tmp_import, orders",
            "DROP TABLE users; --",
            "/*!50000DROP*/ TABLE users",
            "; DROP TABLE users",
            "EXEC('DR' + 'OP TABLE users')",
            "EXECUTE IMMEDIATE 'DROP TABLE users'",
            "SET @q = 'DROP TABLE users'; PREPARE s FROM @q; EXECUTE s",
        ],
        silent_on: &[
            "EXECUTE log_note('DROP TABLE users was tried')",
            "SELECT * FROM notes WHERE body = 'DROP TABLE users'",
            "INSERT INTO log(text) VALUES ('drop table x')",
            "SELECT drop_date FROM deliveries",
            "-- DROP TABLE users\nSELECT 1",
            "DROP TABLE tmp_import",
        ],
    },
    Entry {
        key: Trait::DropsMinor,
        id: "sql.drop_minor",
        title: "Drops what can be made anew, or what its name calls temporary or a trial.",
        reason: ReasonCode::DestructiveAction,
        severity: Severity::Medium,
        confidence: Confidence::High,
        suggests: Treatment::Evidence,
        fires_on: &[
            "DROP INDEX IF EXISTS orders_created_idx",
            "DROP VIEW monthly_totals",
            "DROP TABLE IF EXISTS tmp_import_20260504",
            "TRUNCATE TABLE staging_import",
            "DROP DATABASE shop_test",
        ],
        silent_on: &[
            "DROP TABLE orders",
            "DROP TABLE latest, templates",
            "DROP TABLE tmp_import, orders",
            "DROP DATABASE prod_test",
            "SELECT 'DROP INDEX a'",
        ],
    },
    Entry {
        key: Trait::DropsColumn,
        id: "sql.alter_drop",
        title: "Removes columns or constraints.",
        reason: ReasonCode::DestructiveAction,
        severity: Severity::Medium,
        confidence: Confidence::High,
        suggests: Treatment::Evidence,
        fires_on: &["ALTER TABLE users DROP COLUMN email"],
        silent_on: &["ALTER TABLE users ADD COLUMN email text"],
    },
    Entry {
        key: Trait::WritesEverywhere,
        id: "sql.unbounded_write",
        title: "Deletes or updates every row.",
        reason: ReasonCode::DestructiveAction,
        severity: Severity::High,
        confidence: Confidence::High,
        suggests: Treatment::Evidence,
        fires_on: &[
            "DELETE FROM users",
            "UPDATE users SET admin = true",
            "delete from users where 1=1",
            "DELETE FROM users WHERE true",
            "UPDATE t SET a = 1 WHERE 'a' = 'a'",
            "DELETE FROM users WHERE id = 1 OR 1=1",
            "delete\nfrom users",
            "DELETE FROM users WHERE id > 0",
            "DELETE FROM users WHERE name LIKE '%'",
            "DELETE FROM users WHERE id IS NOT NULL",
        ],
        silent_on: &[
            "DELETE FROM users WHERE id = 7",
            "DELETE FROM orders WHERE cancelled_at IS NOT NULL",
            "DELETE FROM orders WHERE total > 0",
            "DELETE FROM users WHERE name LIKE 'test%'",
            "UPDATE users SET name = 'x' WHERE id = 7",
            "SELECT 'DELETE FROM users'",
            "DELETE FROM logs WHERE day < now() - interval '30 days'",
        ],
    },
    Entry {
        key: Trait::SeveralWithWrite,
        id: "sql.several_statements",
        title: "Adds a statement that writes behind one that reads.",
        reason: ReasonCode::MaliciousCode,
        severity: Severity::Medium,
        confidence: Confidence::Medium,
        suggests: Treatment::Evidence,
        fires_on: &[
            "SELECT * FROM a WHERE id = 1; DELETE FROM a WHERE id = 2",
            "select 1; drop table users",
        ],
        silent_on: &[
            "SELECT 1; SELECT 2",
            "SELECT ';DELETE FROM a'",
            "BEGIN; UPDATE a SET x = 1 WHERE id = 1; COMMIT",
        ],
    },
    Entry {
        key: Trait::HiddenWrite,
        id: "sql.hidden_write",
        title: "Writes inside what looks like a query.",
        reason: ReasonCode::Obfuscation,
        severity: Severity::High,
        confidence: Confidence::Medium,
        suggests: Treatment::Evidence,
        fires_on: &[
            "WITH gone AS (DELETE FROM users RETURNING *) SELECT count(*) FROM gone",
            "with u as (update t set a = 1 returning 1) select * from u",
        ],
        silent_on: &["WITH x AS (SELECT * FROM users) SELECT count(*) FROM x"],
    },
    Entry {
        key: Trait::Grants,
        id: "sql.grant",
        title: "Grants rights or makes privileged users.",
        reason: ReasonCode::PrivilegeEscalation,
        severity: Severity::High,
        confidence: Confidence::Medium,
        suggests: Treatment::Evidence,
        fires_on: &[
            "GRANT ALL PRIVILEGES ON *.* TO 'x'@'%'",
            "ALTER USER postgres WITH SUPERUSER",
            "CREATE USER x WITH SUPERUSER PASSWORD 'p'",
        ],
        silent_on: &["SELECT grantee FROM grants_table", "SHOW GRANTS"],
    },
    Entry {
        key: Trait::RunsCommand,
        id: "sql.server_command",
        title: "Runs commands on the machine of the database.",
        reason: ReasonCode::MaliciousCode,
        severity: Severity::Critical,
        confidence: Confidence::High,
        suggests: Treatment::Evidence,
        fires_on: &[
            "COPY t FROM PROGRAM 'curl x | sh'",
            "EXEC xp_cmdshell 'whoami'",
            "SELECT sys_exec('id')",
            "CREATE EXTENSION plpython3u",
        ],
        silent_on: &["COPY t FROM STDIN", "SELECT 'xp_cmdshell'", "EXEC get_orders 5"],
    },
    Entry {
        key: Trait::TouchesFiles,
        id: "sql.server_file",
        title: "Reads or writes files of the machine of the database.",
        reason: ReasonCode::DataExfiltration,
        severity: Severity::High,
        confidence: Confidence::High,
        suggests: Treatment::Evidence,
        fires_on: &[
            "SELECT * FROM users INTO OUTFILE '/var/www/x.php'",
            "SELECT LOAD_FILE('/etc/passwd')",
            "SELECT pg_read_file('/etc/passwd')",
            "COPY t TO '/tmp/x'",
            "ATTACH DATABASE '/var/www/x.php' AS x",
        ],
        silent_on: &["SELECT file FROM uploads", "SELECT 'into outfile'"],
    },
    Entry {
        key: Trait::Injected,
        id: "sql.injection",
        title: "Has the shape of an injected condition or query.",
        reason: ReasonCode::MaliciousCode,
        severity: Severity::Medium,
        confidence: Confidence::Medium,
        suggests: Treatment::Evidence,
        fires_on: &[
            "SELECT name FROM p WHERE id = 1 UNION SELECT table_name FROM information_schema.tables",
            "SELECT * FROM users WHERE name = '' OR '1'='1'",
            "SELECT * FROM u WHERE id = 1 AND SLEEP(9)",
            "' OR 1=1 --",
            "1; DROP TABLE users --",
        ],
        silent_on: &[
            "SELECT a FROM t UNION SELECT b FROM u",
            "SELECT * FROM users WHERE name = 'O''Brien'",
            "SELECT column_name FROM information_schema.columns",
        ],
    },
    Entry {
        key: Trait::SplitKeyword,
        id: "sql.split_keyword",
        title: "Hides a keyword by comments inside it.",
        reason: ReasonCode::Obfuscation,
        severity: Severity::High,
        confidence: Confidence::High,
        suggests: Treatment::Evidence,
        fires_on: &[
            "DR/**/OP TABLE users",
            "SELECT 1 UN/*x*/ION SEL/**/ECT 2",
            "/*!50000DROP*/ TABLE users",
        ],
        silent_on: &[
            "SELECT /* all */ a FROM t",
            "SELECT a/* first */,b FROM t",
            "SELECT /*+ INDEX(t) */ a FROM t",
        ],
    },
];

/// The family.
pub(super) struct Sql {
    catalogue: Catalogue<Trait>,
}

impl Sql {
    /// Makes the family.
    pub(super) fn new() -> Self {
        Self {
            catalogue: Catalogue::new(RULES),
        }
    }
}

impl Prefilter for Sql {
    fn family(&self) -> &'static str {
        "sql"
    }

    fn rules(&self) -> &[Rule] {
        self.catalogue.rules()
    }

    fn heeds_plain(&self, plain: Plain<'_>) -> bool {
        plain.may_act()
    }

    fn screen_content(&self, subject: &Subject<'_>, found: &mut Vec<Finding>) {
        if subject.content.origin != Origin::ToolArguments {
            return;
        }
        let label = subject.content.label.as_deref().unwrap_or_default();
        let tool = subject.step.tool_call.as_ref();
        let trade = tool.map_or(Trade::Other, |call| trade(&call.tool));
        let mut seen: Vec<Trait> = Vec::new();
        for view in subject
            .views
            .of_kind(&[View::Raw, View::Normalized, View::Json, View::Decoded])
        {
            let text = view.text();
            let reading = if is_sql(label, text, trade) {
                let mut reading = reading::read(text);
                if !reading.certain {
                    reading.take(hidden_behind(label, text, trade, Beginning::OfLine));
                }
                reading
            } else if let Some(mut reading) = hidden_behind(label, text, trade, Beginning::Anywhere) {
                let injected = injected(text).map(|span| (Trait::Injected, span));
                reading.traits.extend(injected);
                reading
            } else if let Some(span) = injected(text) {
                Reading {
                    traits: vec![(Trait::Injected, span)],
                    certain: false,
                }
            } else {
                continue;
            };
            for (seen_trait, span) in reading.traits {
                if seen.contains(&seen_trait) {
                    continue;
                }
                seen.push(seen_trait);
                let Some(rule) = self.catalogue.rule(seen_trait) else {
                    continue;
                };
                let mut finding = rule.at(subject, view, span, seen_trait.explain());
                // What is written to a file runs later or never, and where it runs it is looked at again.
                let told = reading.certain || seen_trait.is_a_word() && names_machine(text);
                if !told || FILE_LABELS.contains(&label.to_ascii_lowercase().as_str()) {
                    finding.confidence = finding.confidence.min(Confidence::Medium);
                }
                found.push(finding);
            }
        }
    }
}

/// What a SQL text takes away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Loss {
    /// Nothing but what can be made anew, or what its name calls temporary or a trial.
    Minor,
    /// Data.
    Data,
}

/// The worst that any statement of a SQL text takes away.
pub(super) fn loss(text: &str) -> Option<Loss> {
    let reading = reading::read(text);
    let losses = reading.traits.iter().filter_map(|(seen, _)| match seen {
        Trait::Drops | Trait::DropsColumn | Trait::WritesEverywhere => Some(Loss::Data),
        Trait::DropsMinor => Some(Loss::Minor),
        Trait::SeveralWithWrite
        | Trait::HiddenWrite
        | Trait::Grants
        | Trait::RunsCommand
        | Trait::TouchesFiles
        | Trait::Injected
        | Trait::SplitKeyword => None,
    });
    losses.max()
}

/// Whether a text names a file of the machine that nobody keeps data in: one of the system's, or one that runs.
fn names_machine(text: &str) -> bool {
    const PARTS: &[&str] = &[
        "/etc/",
        "/proc/",
        "/root/",
        ".ssh",
        "/var/www",
        ".php",
        ".jsp",
        ".asp",
        "/cron",
        "\\windows\\",
    ];
    let lower = text.to_ascii_lowercase();
    PARTS.iter().any(|part| lower.contains(part))
}

const SQL_LABELS: &[&str] = &[
    "sql",
    "statement",
    "stmt",
    "sql_query",
    "query_sql",
    "sql_statement",
    "sql_code",
    "statements",
    "ddl",
];
/// Names of arguments that hold what a file is to hold.
const FILE_LABELS: &[&str] = &[
    "content",
    "contents",
    "file_text",
    "file_content",
    "new_str",
    "new_string",
    "old_str",
    "old_string",
    "patch",
    "diff",
];
const STARTS: &[&str] = &[
    "select ",
    "insert into",
    "update ",
    "delete from",
    "delete ",
    "drop ",
    "truncate ",
    "alter ",
    "create table",
    "create user",
    "create role",
    "create extension",
    "create or replace",
    "grant ",
    "revoke ",
    "with ",
    "copy ",
    "exec ",
    "execute ",
    "exec(",
    "execute(",
    "prepare ",
    "set @",
    "declare @",
    "do $$",
    "merge into",
    "replace into",
    "begin;",
    "begin transaction",
    "attach ",
    "load data",
    "union select",
    "explain ",
];

/// Whether a text can begin with one of the [`STARTS`], by its first two characters; a comment may stand among them.
fn may_start(text: &str) -> bool {
    let [first, second] = [0, 1].map(|place| text.as_bytes().get(place).copied().unwrap_or_default());
    let comments = |byte: u8| matches!(byte, b'/' | b'-');
    let begins = |start: &&str| {
        let letters = start.as_bytes();
        letters.first() == Some(&first.to_ascii_lowercase()) && letters.get(1) == Some(&second.to_ascii_lowercase())
    };
    comments(first) || comments(second) || STARTS.iter().any(begins)
}

/// What the statements do that stand behind something that is none, where the text goes to a database.
fn hidden_behind(label: &str, text: &str, trade: Trade, beginning: Beginning) -> Option<Reading> {
    let asks = matches!(label.to_ascii_lowercase().as_str(), "query" | "q");
    if trade == Trade::Search || (trade == Trade::Other && !asks) {
        return None;
    }
    if let Some(span) = loss_elsewhere(text).filter(|_| trade == Trade::Database) {
        return Some(Reading {
            traits: vec![(Trait::Drops, span)],
            certain: true,
        });
    }
    let mut all: Option<Reading> = None;
    for range in behind(text, beginning) {
        let reading = reading::read(text.get(range.clone())?);
        if reading.traits.is_empty() || !reading.certain {
            continue;
        }
        let all = all.get_or_insert_with(|| Reading {
            traits: Vec::new(),
            certain: true,
        });
        let traits = reading.traits.into_iter();
        all.traits.extend(traits.map(|(seen, _)| (seen, range.clone())));
    }
    all
}

fn is_sql(label: &str, text: &str, trade: Trade) -> bool {
    if SQL_LABELS.iter().any(|known| known.eq_ignore_ascii_case(label)) {
        return true;
    }
    // What is looked up is not run.
    if trade == Trade::Search {
        return false;
    }
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || c == ';');
    if !may_start(text) {
        return false;
    }
    let label = label.to_ascii_lowercase();
    let head: String = text
        .trim_start()
        .chars()
        .take(200)
        .collect::<String>()
        .to_ascii_lowercase();
    let head = reading::without_comments(&head);
    let head = head.split_whitespace().collect::<Vec<_>>().join(" ");
    let head = format!("{head} ");
    let head = head.as_str();
    let Some(start) = STARTS.iter().find(|start| head.starts_with(**start)) else {
        return false;
    };
    // Prose begins with the same words: `drop me a line`, `select a seat`, `update the address`.
    let rest = head.get(start.len()..).unwrap_or_default();
    match start.trim() {
        "select" => {
            rest.contains(" from ")
                || rest.contains('(')
                || rest.starts_with(|c: char| c.is_ascii_digit() || c == '*' || c == '\'')
        }
        "update" => rest.contains(" set "),
        "drop" => [
            "table", "database", "schema", "view", "index", "user", "role", "column", "function",
        ]
        .iter()
        .any(|kind| rest.trim_start().starts_with(kind)),
        "alter" => ["table", "user", "role", "database", "system", "schema"]
            .iter()
            .any(|kind| rest.trim_start().starts_with(kind)),
        "truncate" => rest.starts_with("table ") || label.contains("query") || trade == Trade::Database,
        "grant" | "revoke" => rest.contains(" on ") || rest.contains(" to "),
        "with" => rest.contains(" as (") || rest.contains(" as("),
        "copy" => {
            rest.contains(" from ") && (rest.contains("program") || rest.contains("stdin") || rest.contains('\''))
                || rest.contains(" to '")
                || rest.contains(" to program")
        }
        "exec" | "execute" => {
            rest.starts_with("immediate '")
                || rest.starts_with("xp_")
                || rest.starts_with("sp_")
                || rest.starts_with("master")
                || label.contains("query")
        }
        "delete" => false,
        "exec(" | "execute(" => rest.trim_start().starts_with(['\'', '@', 'n']),
        "prepare" => rest.contains(" from ") || rest.contains(" as "),
        "set @" | "declare @" => rest.contains(';') && (rest.contains('=') || rest.contains(" as ")),
        "explain" => {
            rest.starts_with("select")
                || rest.starts_with("analyze")
                || rest.starts_with("update")
                || rest.starts_with("delete")
        }
        "attach" => rest.starts_with("database"),
        _ => true,
    }
}

/// What is typed into a field to change the query around it.
static INJECTED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    expression(
        r#"(?i)['"\)]\s*(?:or|and)\s+(?:\d+\s*=\s*\d+|['"][^'"]{0,20}['"]\s*=\s*['"]|true\b)|\bunion\s+(?:all\s+)?select\b[^\n]{0,200}\bfrom\b|['"\d]\s*;\s*(?:drop|delete|truncate|alter|update|insert|exec)\s+[^\n]{0,80}(?:--|#|/\*)|\bwaitfor\s+delay\b|\b(?:sleep|pg_sleep|benchmark)\s*\(\s*\d"#,
    )
});

/// Words of which one stands in nearly everything that [`INJECTED`] fits.
static INJECTING: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let words = ["union", "--", "sleep", "waitfor", "benchmark"];
    AhoCorasick::builder().ascii_case_insensitive(true).build(words).ok()
});

fn injected(text: &str) -> Option<Range<usize>> {
    const LONGEST: usize = 2_000;
    if text.len() > LONGEST || !text.contains(['\'', '"', ';', '(', ' ']) {
        return None;
    }
    let has_or = || text.as_bytes().windows(2).any(|pair| pair.eq_ignore_ascii_case(b"or"));
    let has_word = || INJECTING.as_ref().is_some_and(|words| words.is_match(text));
    if !(text.contains('=') && has_or() || has_word()) {
        return None;
    }
    INJECTED
        .as_ref()
        .and_then(|regex| regex.find(text))
        .map(|hit| hit.range())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prefilter::testing::{hold_shaped_examples, screen, tool_call};

    #[test]
    fn a_temporary_table_is_dropped_once() {
        let traits =
            |text: &str| -> Vec<Trait> { reading::read(text).traits.into_iter().map(|(seen, _)| seen).collect() };
        assert_eq!(
            traits("CREATE TEMP TABLE sums AS SELECT * FROM sales; DROP TABLE Sums"),
            [Trait::DropsMinor]
        );
        let twice = traits("CREATE TEMP TABLE users AS SELECT 1; DROP TABLE users; DROP TABLE users");
        assert!(twice.contains(&Trait::Drops));
        assert_eq!(traits("CREATE TABLE users (id int); DROP TABLE users"), [Trait::Drops]);
    }

    #[test]
    fn every_rule_holds_its_examples() {
        hold_shaped_examples(&Sql::new(), |_, text| tool_call("query_database", &[("query", text)]));
    }

    #[test]
    fn what_is_written_to_a_file_is_less_certain_than_what_is_run() {
        let confidence = |label: &str| {
            let found = screen(&Sql::new(), &tool_call("tool", &[(label, "DROP TABLE orders")]));
            found.first().map(|finding| finding.confidence)
        };
        assert_eq!(confidence("content"), Some(Confidence::Medium));
        assert_eq!(confidence("query"), Some(Confidence::High));
    }

    #[test]
    fn prose_that_begins_like_sql_is_no_sql() {
        for text in [
            "drop me a line about the table",
            "select a seat by the window",
            "update the address of my order",
            "Delete the last mail",
            "with regards",
            "copy that from the file",
            "grant me a refund",
        ] {
            assert_eq!(
                screen(&Sql::new(), &tool_call("send", &[("query", text)])),
                [],
                "{text}"
            );
        }
    }

    #[test]
    fn hostile_depth_and_length_end_quickly() {
        for text in [
            format!("SELECT {}1{}", "(".repeat(20_000), ")".repeat(20_000)),
            format!("SELECT 1 WHERE {}", "1=1 OR ".repeat(8_000)),
            format!("SELECT {}", "/*".repeat(20_000)),
            "SELECT '".repeat(8_000),
            format!("SELECT 1{}", " UNION SELECT 1".repeat(4_000)),
        ] {
            let thread = std::thread::Builder::new().stack_size(2 * 1024 * 1024);
            let screened = thread.spawn(move || screen(&Sql::new(), &tool_call("q", &[("sql", &text)])).len());
            assert!(screened.unwrap().join().is_ok());
        }
    }
}
