//! The statements of a database of records. `database.rs` says what they are put together to.

use std::collections::{BTreeMap, HashSet};

use super::chain::{Head, Row};

/// The reason why a database of records cannot be used. The text has no address, password or record in it.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// The system or SQLite refuses.
    #[error("the database of audit records: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// PostgreSQL cannot be reached or refuses.
    #[error("the database of audit records: {0}")]
    Postgres(String),
    /// It was made by another version.
    #[error(
        "the database of audit records has version {found}, expected {expected}: read it with the guardian that wrote it"
    )]
    Version {
        /// The version.
        found: i32,
        /// Ours.
        expected: i32,
    },
    /// Records go to no database.
    #[error("`[audit] to` is no database: set it to `sqlite:FILE` or `postgres://…`, or name one with `--database`")]
    None,
}

/// The scope of an erasure.
#[derive(Clone, Debug)]
pub enum Erasing {
    /// Those of a session.
    Session(String),
    /// Those of a user.
    User(String),
}

/// A condition of a search, and its value.
pub(super) enum Value {
    Text(String),
    Moment(i64),
}

/// The statements of a database. Between `begin` and `commit` they are one transaction.
pub(super) trait Store: Send {
    fn begin(&mut self) -> Result<(), DatabaseError>;
    /// Begins a transaction that reads one state of everything; it ends with `rollback`.
    fn begin_reading(&mut self) -> Result<(), DatabaseError>;
    fn commit(&mut self) -> Result<(), DatabaseError>;
    fn rollback(&mut self);
    /// Returns the ends of these chains, held until the transaction ends; chains that are new are made.
    fn hold(&mut self, organisations: &[String]) -> Result<BTreeMap<String, Head>, DatabaseError>;
    /// Returns the ends of all chains.
    fn heads(&mut self) -> Result<BTreeMap<String, Head>, DatabaseError>;
    /// Organisations that have records and no end of a chain.
    fn strays(&mut self) -> Result<Vec<String>, DatabaseError>;
    fn set_heads(&mut self, heads: &BTreeMap<String, Head>) -> Result<(), DatabaseError>;
    /// Returns the ids of those of the decisions that are there.
    fn known(&mut self, ids: &[String]) -> Result<HashSet<String>, DatabaseError>;
    fn insert(&mut self, rows: &[Row]) -> Result<(), DatabaseError>;
    /// Returns the condition on a rule, with the number of its value.
    fn rule_condition(&self, place: usize) -> String;
    /// Returns the lines that fit conditions on which `$1`, `$2`… are put.
    fn find(&mut self, conditions: &str, values: &[Value], limit: usize) -> Result<Vec<String>, DatabaseError>;
    /// Records behind a number of a chain.
    fn page(&mut self, organisation: &str, after: i64, limit: usize) -> Result<Vec<Row>, DatabaseError>;
    /// Returns the numbers of records that are to be erased, some of them where there are many.
    fn numbers(&mut self, organisation: &str, of: &Erasing, limit: usize) -> Result<Vec<i64>, DatabaseError>;
    fn erase(&mut self, organisation: &str, numbers: &[i64]) -> Result<(), DatabaseError>;
    /// Returns the first record of a chain that is not older than this.
    fn first_since(&mut self, organisation: &str, time: i64) -> Result<Option<i64>, DatabaseError>;
    fn remove_through(&mut self, organisation: &str, number: i64) -> Result<(), DatabaseError>;
    /// Lets go of what erased and removed records still occupy.
    fn tidy(&mut self) -> Result<(), DatabaseError>;
    #[cfg(test)]
    fn run(&mut self, statements: &str) -> Result<(), DatabaseError>;
}
