//! Records in a database, SQLite or PostgreSQL: what is done with them is said once here; a [`Store`] knows the statements.
//!
//! A change of a chain is made in one transaction that holds the chain's end: writers of several processes and nodes wait for
//! each other there, so a chain has no gap and no fork. A record whose decision is there already is not written again, so a writer
//! that does not know whether its records arrived may hand them over once more.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::Settings;
use super::chain::{Event, Head, Row, hex};
use super::facts::{Facts, Query, searched};
use super::postgres::PostgresStore;
use super::signing::Signer;
use super::sqlite::SqliteStore;
use super::store::{DatabaseError, Erasing, Store, Value};
use super::verify::{Verified, Verifier};

/// Records that a search answers at most.
const MAX_FOUND: usize = 10_000;
/// Records that are read or removed at a time.
const PAGE: usize = 1_000;
/// Between rounds of removing.
const REST: std::time::Duration = std::time::Duration::from_millis(10);

/// A database of records.
pub struct AuditDatabase {
    pub(super) store: Box<dyn Store>,
    signer: Option<Signer>,
}

impl AuditDatabase {
    /// Opens the configured database. Nothing is written before records are; PostgreSQL is not asked yet either.
    ///
    /// `patience` is how long PostgreSQL may take for one transaction.
    ///
    /// # Errors
    ///
    /// When there is none, or SQLite cannot open or make it.
    pub fn open(settings: &Settings, signer: Option<Signer>, patience: Duration) -> Result<Self, DatabaseError> {
        let store: Box<dyn Store> = match settings {
            Settings::Sqlite(path) => Box::new(SqliteStore::open(path)?),
            Settings::Postgres(address) => Box::new(PostgresStore::new(address, patience)?),
            Settings::Off | Settings::Stderr | Settings::File(_) => return Err(DatabaseError::None),
        };
        Ok(Self { store, signer })
    }

    /// Runs statements as one transaction: all or none.
    fn transaction<T>(
        &mut self,
        work: impl FnOnce(&mut dyn Store) -> Result<T, DatabaseError>,
    ) -> Result<T, DatabaseError> {
        self.store.begin()?;
        let done = work(&mut *self.store).and_then(|done| self.store.commit().map(|()| done));
        if done.is_err() {
            self.store.rollback();
        }
        done
    }

    /// Appends lines to the chains of their organisations, all or none, except those that are there already.
    ///
    /// # Errors
    ///
    /// When the database cannot be written. It may be that the lines arrived all the same.
    pub fn append<'l>(&mut self, lines: impl IntoIterator<Item = &'l str>) -> Result<(), DatabaseError> {
        let lines = lines.into_iter().filter(|line| !line.is_empty());
        let new: Vec<(Facts, String)> = lines.map(|line| (Facts::of(line), line.to_owned())).collect();
        if new.is_empty() {
            return Ok(());
        }
        let organisations: BTreeSet<String> = new.iter().map(|(facts, _)| facts.organisation.clone()).collect();
        let organisations: Vec<String> = organisations.into_iter().collect();
        let ids: Vec<String> = new.iter().map(|(facts, _)| facts.decision_id.clone()).collect();
        let signer = self.signer.clone();
        self.transaction(|store| {
            let mut heads = store.hold(&organisations)?;
            let mut known = store.known(&ids)?;
            let mut rows = Vec::with_capacity(new.len());
            for (facts, line) in new {
                if known.insert(facts.decision_id.clone()) {
                    let head = heads.entry(facts.organisation.clone()).or_default();
                    rows.push(head.append(facts, line));
                }
            }
            for (organisation, head) in &mut heads {
                rows.extend(signer.as_ref().and_then(|signer| head.sign(organisation, signer)));
            }
            store.insert(&rows)?;
            store.set_heads(&heads)
        })
    }

    /// Signs checkpoints of chains that have grown and are due.
    ///
    /// # Errors
    ///
    /// When the database cannot be written.
    pub fn sign(&mut self) -> Result<(), DatabaseError> {
        let Some(signer) = self.signer.clone() else {
            return Ok(());
        };
        let grown = self
            .store
            .heads()?
            .into_iter()
            .filter(|(_, head)| head.number > head.signed);
        let grown: Vec<String> = grown.map(|(organisation, _)| organisation).collect();
        if grown.is_empty() {
            return Ok(());
        }
        self.transaction(|store| {
            let mut heads = store.hold(&grown)?;
            let signed = heads
                .iter_mut()
                .filter_map(|(organisation, head)| head.sign(organisation, &signer));
            let rows: Vec<Row> = signed.collect();
            store.insert(&rows)?;
            store.set_heads(&heads)
        })
    }

    /// Returns the records that fit, the latest first, each as a line of JSON. What a chain says of itself is found by its id only.
    ///
    /// # Errors
    ///
    /// When the database cannot be read.
    pub fn search(&mut self, query: &Query) -> Result<Vec<String>, DatabaseError> {
        let mut conditions = vec!["line IS NOT NULL".to_owned()];
        let mut values = Vec::new();
        let texts = [
            ("organisation", &query.organisation),
            ("session", &query.session),
            ("user_id", &query.user),
            ("caller", &query.caller),
            ("tool", &query.tool),
            ("decision", &query.decision),
        ];
        for (column, value) in texts {
            if let Some(value) = value {
                values.push(Value::Text(searched(value)));
                conditions.push(format!("{column} = ${}", values.len()));
            }
        }
        if let Some(beginning) = &query.decision_id {
            for (condition, value) in [
                (">=", searched(beginning)),
                ("<", format!("{}\u{10ffff}", searched(beginning))),
            ] {
                values.push(Value::Text(value));
                conditions.push(format!("decision_id {condition} ${}", values.len()));
            }
        }
        if query.decision.as_ref().is_some_and(|decision| decision != "allow") {
            // The index leaves out what was allowed, and has to be told that this does too.
            conditions.push("decision <> 'allow'".to_owned());
        }
        if let Some(rule) = &query.rule {
            values.push(Value::Text(rule.replace(['\0', ' '], "")));
            conditions.push(self.store.rule_condition(values.len()));
        }
        for (condition, value) in [("time >= $", query.since), ("time < $", query.until)] {
            if let Some(value) = value {
                values.push(Value::Moment(value));
                conditions.push(format!("{condition}{}", values.len()));
            }
        }
        if query.decision_id.is_none() && query.caller.is_none() {
            conditions.push("caller <> ''".to_owned());
        }
        self.store
            .find(&conditions.join(" AND "), &values, query.limit.min(MAX_FOUND))
    }

    /// Returns `true` if there was a record of this decision whose text was erased.
    ///
    /// # Errors
    ///
    /// When the database cannot be read.
    pub fn is_erased(&mut self, decision_id: &str) -> Result<bool, DatabaseError> {
        let id = searched(decision_id);
        let is_there = self.store.known(std::slice::from_ref(&id))?.contains(&id);
        Ok(is_there
            && self
                .store
                .find("decision_id = $1 AND line IS NOT NULL", &[Value::Text(id)], 1)?
                .is_empty())
    }

    /// Hands over the lines about steps behind those of each chain that were reached; where none were, the latest.
    ///
    /// # Errors
    ///
    /// When the database cannot be read. The next time goes on where this one ended.
    pub fn since(
        &mut self,
        reached: &mut Option<BTreeMap<String, i64>>,
        mut take: impl FnMut(&str),
    ) -> Result<(), DatabaseError> {
        let heads = self.store.heads()?;
        let back = |(name, head): (&String, &Head)| (name.clone(), head.number - PAGE as i64);
        let reached = reached.get_or_insert_with(|| heads.iter().map(back).collect());
        for (name, head) in &heads {
            let after = reached.entry(name.clone()).or_default();
            if *after < head.number {
                each_row(&mut *self.store, name, *after, &mut |row| {
                    *after = row.number;
                    // What a chain says of itself has no caller, nor has what was erased.
                    if let Some(line) = row.line.as_ref().filter(|_| !row.facts.caller.is_empty()) {
                        take(line);
                    }
                })?;
            }
        }
        Ok(())
    }

    /// Hands over every line in the order of its chain, of one organisation where one is named. What was erased is left out.
    ///
    /// # Errors
    ///
    /// When the database cannot be read.
    pub fn export(&mut self, organisation: Option<&str>, mut each: impl FnMut(&str)) -> Result<(), DatabaseError> {
        self.reading(|store| {
            for (name, head) in store.heads()? {
                if organisation.is_none_or(|organisation| organisation == name) {
                    each_row(store, &name, head.floor, &mut |row| {
                        if let Some(line) = &row.line {
                            each(line);
                        }
                    })?;
                }
            }
            Ok(())
        })
    }

    /// Computes every chain again. With `keys`, only their signatures count, and each chain needs one near its end.
    ///
    /// # Errors
    ///
    /// When the database cannot be read.
    pub fn verify(&mut self, keys: &[Vec<u8>]) -> Result<Verified, DatabaseError> {
        self.reading(|store| {
            let heads = store.heads()?;
            let mut organisations = heads.keys().cloned().collect::<Vec<_>>();
            organisations.extend(store.strays()?);
            let mut verifier = Verifier::new(keys, heads);
            for organisation in &organisations {
                each_row(store, organisation, i64::MIN, &mut |row| verifier.take(row))?;
            }
            Ok(verifier.end())
        })
    }

    fn reading<T>(
        &mut self,
        work: impl FnOnce(&mut dyn Store) -> Result<T, DatabaseError>,
    ) -> Result<T, DatabaseError> {
        self.store.begin_reading()?;
        let done = work(&mut *self.store);
        self.store.rollback();
        done
    }

    /// Erases the texts of records, and all that they are searched by but time and decision id. The chain says so, and still holds.
    /// Answers how many records it were.
    ///
    /// # Errors
    ///
    /// When the database cannot be written; what was erased before stays erased.
    pub fn erase(&mut self, organisation: Option<&str>, what: &Erasing) -> Result<usize, DatabaseError> {
        let mut erased = 0;
        let heads = self.store.heads()?.into_keys();
        for name in heads.filter(|name| organisation.is_none_or(|organisation| organisation == name)) {
            loop {
                let some = self.transaction(|store| {
                    let numbers = store.numbers(&name, what, PAGE)?;
                    if numbers.is_empty() {
                        return Ok(0);
                    }
                    let mut heads = store.hold(std::slice::from_ref(&name))?;
                    store.erase(&name, &numbers)?;
                    let head = heads.entry(name.clone()).or_default();
                    let event = Event::Erasure { erased: runs(&numbers) };
                    store.insert(&[event.append(&name, head)])?;
                    store.set_heads(&heads)?;
                    Ok(numbers.len())
                })?;
                erased += some;
                if some < PAGE {
                    break;
                }
            }
        }
        if erased > 0 {
            self.store.tidy()?;
        }
        Ok(erased)
    }

    /// Removes the records at the beginning of each chain that are older than this moment, in microseconds since 1970. The chain says
    /// so, and still holds. Answers how many records it were.
    ///
    /// # Errors
    ///
    /// When the database cannot be written.
    pub fn expire(&mut self, before: i64) -> Result<i64, DatabaseError> {
        let mut removed = 0;
        for (name, head) in self.store.heads()? {
            // The last record stays, and what is appended on the way as well: the rounds come to an end.
            let most = head.number - 1;
            loop {
                let some = self.transaction(|store| {
                    let mut heads = store.hold(std::slice::from_ref(&name))?;
                    let head = heads.entry(name.clone()).or_default();
                    let kept = store.first_since(&name, before)?.unwrap_or(head.number + 1);
                    let through = (kept - 1).min(most).min(head.floor + PAGE as i64);
                    if through <= head.floor {
                        return Ok(0);
                    }
                    let some = through - head.floor;
                    let Some(last) = store.page(&name, through - 1, 1)?.pop() else {
                        return Ok(0);
                    };
                    let event = Event::Expiry {
                        number: last.number,
                        hash: hex(&last.hash),
                    };
                    store.insert(&[event.append(&name, head)])?;
                    (head.floor, head.floor_hash) = (last.number, last.hash);
                    store.remove_through(&name, through)?;
                    store.set_heads(&heads)?;
                    Ok(some)
                })?;
                removed += some;
                if some == 0 {
                    break;
                }
                // Who appends has its turn.
                std::thread::sleep(REST);
            }
        }
        Ok(removed)
    }

    /// Checks that it answers, and returns the number of records that its chains count.
    ///
    /// # Errors
    ///
    /// When it cannot be reached, or cannot be used.
    pub fn probe(&mut self) -> Result<i64, DatabaseError> {
        Ok(self.store.heads()?.values().map(|head| head.number - head.floor).sum())
    }
}

/// Reads a chain behind a number.
fn each_row(
    store: &mut dyn Store,
    organisation: &str,
    mut after: i64,
    take: &mut dyn FnMut(&Row),
) -> Result<(), DatabaseError> {
    loop {
        let rows = store.page(organisation, after, PAGE)?;
        rows.iter().for_each(&mut *take);
        match rows.last() {
            Some(last) if rows.len() == PAGE => after = last.number,
            Some(_) | None => return Ok(()),
        }
    }
}

/// Numbers in rising order as runs, each with its first and its last.
fn runs(numbers: &[i64]) -> Vec<[i64; 2]> {
    let mut runs: Vec<[i64; 2]> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some([_, last]) if *last + 1 == *number => *last = *number,
            Some(_) | None => runs.push([*number, *number]),
        }
    }
    runs
}

#[cfg(test)]
mod tests;
