//! Records in PostgreSQL: the connection and the statements.
//!
//! One connection for each store, driven by a runtime of its own, so that it can be used from plain threads. It is made when it is
//! first needed, and again after a failure: what was under way then is given up, and the server is told to give it up too.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::future::Future;
use std::time::Duration;

use tokio::time::Instant;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Config, Statement};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::address::Address;
use super::chain::{Head, Row, as_hash};
use super::facts::{Facts, searched};
use super::store::{DatabaseError, Erasing, Store, Value};

/// Tables, version by version. They are made in one transaction under one lock, so several nodes may start at once.
const MIGRATIONS: [&str; 2] = [include_str!("postgres.sql"), include_str!("postgres_policies.sql")];
/// The lock under which tables are made: any number that nothing else takes.
const LOCK: i64 = 0x6775_6172_6469_616e;
/// The longest time that making tables may take.
const MIGRATING: Duration = Duration::from_secs(60);
/// The columns of a record, in the order in which [`row`] reads them.
const COLUMNS: &str = "organisation, time, decision_id, session, user_id, caller, tool, decision, rules, number, line, \
                       salt, content, hash";

const COLUMN_TYPES: [Type; 14] = [
    Type::TEXT,
    Type::INT8,
    Type::TEXT,
    Type::TEXT,
    Type::TEXT,
    Type::TEXT,
    Type::TEXT,
    Type::TEXT,
    Type::TEXT,
    Type::INT8,
    Type::TEXT,
    Type::BYTEA,
    Type::BYTEA,
    Type::BYTEA,
];

/// A runtime that may be dropped anywhere.
struct Driver(Option<tokio::runtime::Runtime>);

impl Drop for Driver {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

struct Connected {
    client: Client,
    prepared: HashMap<String, Statement>,
}

impl Connected {
    /// Prepares a statement, once for each connection.
    async fn prepare(&mut self, text: &str) -> Result<Statement, tokio_postgres::Error> {
        if let Some(statement) = self.prepared.get(text) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(text).await?;
        self.prepared.insert(text.to_owned(), statement.clone());
        Ok(statement)
    }
}

pub(super) struct PostgresStore {
    driver: Driver,
    config: Config,
    tls: MakeRustlsConnect,
    patience: Duration,
    /// The time at which the transaction under way is given up.
    until: Option<Instant>,
    connected: Option<Connected>,
}

fn failed(error: &tokio_postgres::Error) -> DatabaseError {
    // Of the server's words only its code and its message: details hold values.
    DatabaseError::Postgres(match error.as_db_error() {
        Some(said) => format!("{} ({})", said.message(), said.code().code()),
        None => {
            let why = std::error::Error::source(error).map(|why| format!(": {why}"));
            format!("{error}{}", why.unwrap_or_default())
        }
    })
}

impl PostgresStore {
    /// Makes a store that connects when it is used. A transaction may take no longer than `patience`.
    pub(super) fn new(address: &Address, patience: Duration) -> Result<Self, DatabaseError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("audit-db")
            .enable_all()
            .build()
            .map_err(|error| DatabaseError::Postgres(error.to_string()))?;
        Ok(Self {
            driver: Driver(Some(runtime)),
            config: address.config().map_err(DatabaseError::Postgres)?,
            tls: address.tls()?,
            patience,
            until: None,
            connected: None,
        })
    }

    /// Runs a future in time. One that fails or takes too long ends the connection.
    fn wait<T>(
        driver: &Driver,
        until: Instant,
        work: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, DatabaseError> {
        let gone = || DatabaseError::Postgres("the connection is closed".to_owned());
        let runtime = driver.0.as_ref().ok_or_else(gone)?;
        match runtime.block_on(async { tokio::time::timeout_at(until, work).await }) {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(failed(&error)),
            Err(_) => Err(DatabaseError::Postgres("no answer in time".to_owned())),
        }
    }

    fn until(&self) -> Instant {
        self.until.unwrap_or_else(|| Instant::now() + self.patience)
    }

    fn connect(&mut self) -> Result<(), DatabaseError> {
        if self
            .connected
            .as_ref()
            .is_some_and(|connected| !connected.client.is_closed())
        {
            return Ok(());
        }
        self.connected = None;
        let (config, tls) = (self.config.clone(), self.tls.clone());
        let client = Self::wait(&self.driver, self.until(), async move {
            let (client, connection) = config.connect(tls).await?;
            // It ends with the client, whose calls then fail with the reason.
            tokio::spawn(connection);
            client
                .batch_execute(
                    "SET idle_in_transaction_session_timeout = '10s';
                     SELECT set_config('synchronous_commit', 'on', false)
                     WHERE current_setting('synchronous_commit') = 'off'",
                )
                .await?;
            Ok(client)
        })?;
        let there = "SELECT CASE WHEN to_regclass('guardian_migrations') IS NULL THEN 0 ELSE 1 END";
        let made: i32 = Self::wait(&self.driver, self.until(), async {
            match client.query_one(there, &[]).await?.try_get(0)? {
                0 => Ok(0),
                _ => version(&client).await,
            }
        })?;
        let expected = i32::try_from(MIGRATIONS.len()).unwrap_or(i32::MAX);
        if made > expected {
            return Err(DatabaseError::Version { found: made, expected });
        }
        if made < expected {
            Self::wait(&self.driver, Instant::now() + MIGRATING, migrate(&client))?;
        }
        self.connected = Some(Connected {
            client,
            prepared: HashMap::new(),
        });
        Ok(())
    }

    pub(super) fn query(
        &mut self,
        text: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<tokio_postgres::Row>, DatabaseError> {
        self.work(async |connected| {
            let statement = connected.prepare(text).await?;
            connected.client.query(&statement, values).await
        })
    }

    /// Runs calls of the connection, which is made where no transaction is under way. One that fails ends the connection.
    fn work<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut Connected) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, DatabaseError> {
        let until = self.until();
        if self.until.is_none() {
            self.connect()?;
        }
        let done = match &mut self.connected {
            None => return Err(DatabaseError::Postgres("the connection is closed".to_owned())),
            Some(connected) => Self::wait(&self.driver, until, work(connected)),
        };
        if done.is_err() {
            self.connected = None;
        }
        done
    }

    fn batch(&mut self, text: &str) -> Result<(), DatabaseError> {
        let until = self.until();
        let connected = self.connected.as_ref();
        let connected = connected.ok_or_else(|| DatabaseError::Postgres("the connection is closed".to_owned()))?;
        let done = Self::wait(&self.driver, until, connected.client.batch_execute(text));
        if done.is_err() {
            self.connected = None;
        }
        done
    }

    /// Begins a transaction. A connection that was closed since the last one is made again.
    fn begin_as(&mut self, text: &str) -> Result<(), DatabaseError> {
        self.until = None;
        self.connect()?;
        if self.batch(text).is_err() {
            self.connect()?;
            self.batch(text)?;
        }
        self.until = Some(Instant::now() + self.patience);
        Ok(())
    }
}

async fn version(client: &Client) -> Result<i32, tokio_postgres::Error> {
    let found = "SELECT coalesce(max(version), 0) FROM guardian_migrations";
    client.query_one(found, &[]).await?.try_get(0)
}

async fn migrate(client: &Client) -> Result<(), tokio_postgres::Error> {
    let table = "CREATE TABLE IF NOT EXISTS guardian_migrations (version int PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())";
    client
        .batch_execute(&format!("BEGIN; SELECT pg_advisory_xact_lock({LOCK}); {table};"))
        .await?;
    let made = version(client).await?;
    for (statements, version) in MIGRATIONS.iter().zip(1..).filter(|(_, version)| *version > made) {
        let noted = format!("{statements}; INSERT INTO guardian_migrations (version) VALUES ({version});");
        client.batch_execute(&noted).await?;
    }
    client.batch_execute("COMMIT").await
}

fn row(row: &tokio_postgres::Row) -> Result<Row, tokio_postgres::Error> {
    let hash = |index: usize| row.try_get::<_, &[u8]>(index).map(as_hash);
    Ok(Row {
        facts: Facts {
            organisation: row.try_get(0)?,
            time: row.try_get(1)?,
            decision_id: row.try_get(2)?,
            session: row.try_get(3)?,
            user: row.try_get(4)?,
            caller: row.try_get(5)?,
            tool: row.try_get(6)?,
            decision: row.try_get(7)?,
            rules: row.try_get(8)?,
        },
        number: row.try_get(9)?,
        line: row.try_get(10)?,
        salt: row.try_get(11)?,
        content: hash(12)?,
        hash: hash(13)?,
    })
}

fn head(row: &tokio_postgres::Row) -> Result<(String, Head), tokio_postgres::Error> {
    let hash = |index: usize| row.try_get::<_, &[u8]>(index).map(as_hash);
    let head = Head {
        number: row.try_get(1)?,
        hash: hash(2)?,
        floor: row.try_get(3)?,
        floor_hash: hash(4)?,
        signed: row.try_get(5)?,
        signed_at: row.try_get(6)?,
    };
    Ok((row.try_get(0)?, head))
}

pub(super) fn all<T, C: FromIterator<T>>(
    rows: &[tokio_postgres::Row],
    read: impl Fn(&tokio_postgres::Row) -> Result<T, tokio_postgres::Error>,
) -> Result<C, DatabaseError> {
    rows.iter()
        .map(read)
        .collect::<Result<C, _>>()
        .map_err(|error| failed(&error))
}

impl Store for PostgresStore {
    fn begin(&mut self) -> Result<(), DatabaseError> {
        // After the lock on a chain's end, each statement has to see what was written before it.
        self.begin_as("BEGIN ISOLATION LEVEL READ COMMITTED")
    }

    fn begin_reading(&mut self) -> Result<(), DatabaseError> {
        self.begin_as("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
        // Every statement has its own time: a long chain takes many.
        self.until = Some(Instant::now() + Duration::from_secs(24 * 3_600));
        Ok(())
    }

    fn commit(&mut self) -> Result<(), DatabaseError> {
        let done = self.batch("COMMIT");
        self.until = None;
        done
    }

    fn rollback(&mut self) {
        if self.connected.is_some() {
            self.until = None;
            // Where that fails, the connection ends, and with it the transaction.
            let _ = self.batch("ROLLBACK");
        }
        self.until = None;
    }

    fn hold(&mut self, organisations: &[String]) -> Result<BTreeMap<String, Head>, DatabaseError> {
        self.query(
            "INSERT INTO guardian_heads (organisation) SELECT * FROM unnest($1::text[]) AS o ORDER BY o COLLATE \"C\"
             ON CONFLICT DO NOTHING",
            &[&organisations],
        )?;
        // In one order, so that two writers never wait for each other.
        let found = self.query(
            "SELECT * FROM guardian_heads WHERE organisation = ANY($1) ORDER BY organisation FOR UPDATE",
            &[&organisations],
        )?;
        all(&found, head)
    }

    fn heads(&mut self) -> Result<BTreeMap<String, Head>, DatabaseError> {
        all(&self.query("SELECT * FROM guardian_heads", &[])?, head)
    }

    fn strays(&mut self) -> Result<Vec<String>, DatabaseError> {
        let found = self.query(
            "SELECT DISTINCT organisation FROM guardian_records r
             WHERE NOT EXISTS (SELECT 1 FROM guardian_heads h WHERE h.organisation = r.organisation)",
            &[],
        )?;
        all(&found, |row| row.try_get(0))
    }

    fn set_heads(&mut self, heads: &BTreeMap<String, Head>) -> Result<(), DatabaseError> {
        macro_rules! column {
            ($of:expr) => {
                heads.values().map($of).collect::<Vec<_>>()
            };
        }
        self.query(
            "UPDATE guardian_heads SET number = new.number, hash = new.hash, floor = new.floor, floor_hash = new.floor_hash,
                 signed = new.signed, signed_at = new.signed_at
             FROM unnest($1::text[], $2::bigint[], $3::bytea[], $4::bigint[], $5::bytea[], $6::bigint[], $7::bigint[])
                 AS new (organisation, number, hash, floor, floor_hash, signed, signed_at)
             WHERE guardian_heads.organisation = new.organisation",
            &[
                &heads.keys().collect::<Vec<_>>(),
                &column!(|head| head.number),
                &column!(|head| head.hash.as_slice()),
                &column!(|head| head.floor),
                &column!(|head| head.floor_hash.as_slice()),
                &column!(|head| head.signed),
                &column!(|head| head.signed_at),
            ],
        )
        .map(drop)
    }

    fn known(&mut self, ids: &[String]) -> Result<HashSet<String>, DatabaseError> {
        let found = self.query(
            "SELECT decision_id FROM guardian_records WHERE decision_id = ANY($1)",
            &[&ids],
        )?;
        all(&found, |row| row.try_get(0))
    }

    /// Inserts by `COPY`, which takes less of the server's time than an `INSERT` of arrays (`docs/audit.md`).
    fn insert(&mut self, rows: &[Row]) -> Result<(), DatabaseError> {
        self.work(async |connected| {
            let copy = format!("COPY guardian_records ({COLUMNS}) FROM STDIN (FORMAT binary)");
            let copy = connected.prepare(&copy).await?;
            let writer = BinaryCopyInWriter::new(connected.client.copy_in(&copy).await?, &COLUMN_TYPES);
            let mut writer = std::pin::pin!(writer);
            for row in rows {
                let facts = &row.facts;
                let values: [&(dyn ToSql + Sync); COLUMN_TYPES.len()] = [
                    &facts.organisation,
                    &facts.time,
                    &facts.decision_id,
                    &facts.session,
                    &facts.user,
                    &facts.caller,
                    &facts.tool,
                    &facts.decision,
                    &facts.rules,
                    &row.number,
                    &row.line,
                    &row.salt,
                    &row.content.as_slice(),
                    &row.hash.as_slice(),
                ];
                writer.as_mut().write(&values).await?;
            }
            writer.finish().await.map(drop)
        })
    }

    fn rule_condition(&self, place: usize) -> String {
        format!("rules <> '' AND string_to_array(rules, ' ') @> ARRAY[${place}::text]")
    }

    fn find(&mut self, conditions: &str, values: &[Value], limit: usize) -> Result<Vec<String>, DatabaseError> {
        let text = format!("SELECT line FROM guardian_records WHERE {conditions} ORDER BY time DESC LIMIT {limit}");
        let values = values.iter().map(|value| -> &(dyn ToSql + Sync) {
            match value {
                Value::Text(text) => text,
                Value::Moment(time) => time,
            }
        });
        let values: Vec<&(dyn ToSql + Sync)> = values.collect();
        all(&self.query(&text, &values)?, |row| row.try_get(0))
    }

    fn page(&mut self, organisation: &str, after: i64, limit: usize) -> Result<Vec<Row>, DatabaseError> {
        let text = format!(
            "SELECT {COLUMNS} FROM guardian_records WHERE organisation = $1 AND number > $2 ORDER BY number LIMIT $3"
        );
        all(&self.query(&text, &[&organisation, &after, &(limit as i64)])?, row)
    }

    fn numbers(&mut self, organisation: &str, of: &Erasing, limit: usize) -> Result<Vec<i64>, DatabaseError> {
        let (column, value) = match of {
            Erasing::Session(id) => ("session", searched(id)),
            Erasing::User(id) => ("user_id", searched(id)),
        };
        let text = format!(
            "SELECT number FROM guardian_records WHERE organisation = $1 AND {column} = $2 ORDER BY number LIMIT $3"
        );
        all(&self.query(&text, &[&organisation, &value, &(limit as i64)])?, |row| {
            row.try_get(0)
        })
    }

    fn erase(&mut self, organisation: &str, numbers: &[i64]) -> Result<(), DatabaseError> {
        self.query(
            "UPDATE guardian_records SET line = NULL, salt = '', session = NULL, user_id = NULL, caller = '', tool = NULL,
                 decision = NULL, rules = '' WHERE organisation = $1 AND number = ANY($2)",
            &[&organisation, &numbers],
        )
        .map(drop)
    }

    fn first_since(&mut self, organisation: &str, time: i64) -> Result<Option<i64>, DatabaseError> {
        let found = self.query(
            "SELECT number FROM guardian_records WHERE organisation = $1 AND time >= $2 ORDER BY number LIMIT 1",
            &[&organisation, &time],
        )?;
        Ok(all::<_, Vec<i64>>(&found, |row| row.try_get(0))?.pop())
    }

    fn remove_through(&mut self, organisation: &str, number: i64) -> Result<(), DatabaseError> {
        self.query(
            "DELETE FROM guardian_records WHERE organisation = $1 AND number <= $2",
            &[&organisation, &number],
        )
        .map(drop)
    }

    fn tidy(&mut self) -> Result<(), DatabaseError> {
        self.until = Some(Instant::now() + Duration::from_secs(24 * 3_600));
        let done = self.batch("VACUUM guardian_records");
        self.until = None;
        done
    }

    #[cfg(test)]
    fn run(&mut self, statements: &str) -> Result<(), DatabaseError> {
        self.connect()?;
        self.batch(statements)
    }
}
