//! Policies and prompts in PostgreSQL: one table with their texts, and with which version came into force when.

use super::change::InForce;
use super::postgres::{PostgresStore, all};
use super::store::{DatabaseError, Store};

/// The name of a line of the history of policies; a text has the name of its sort.
const IN_FORCE: &str = "in force";
/// Lines of the history that are read.
const MAX_HISTORY: i64 = 20_000;

impl PostgresStore {
    /// Writes down texts where they are not there yet. Of each sort the oldest leave.
    pub(super) fn keep_texts(&mut self, sort: &str, texts: &[(&str, &str)], max: i64) -> Result<(), DatabaseError> {
        let (versions, texts): (Vec<&str>, Vec<&str>) = texts.iter().copied().unzip();
        self.query(
            "INSERT INTO guardian_policies (sort, version, text) SELECT $1, * FROM unnest($2::text[], $3::text[]) ON CONFLICT DO NOTHING",
            &[&sort, &versions, &texts],
        )?;
        self.query(
            "DELETE FROM guardian_policies WHERE sort = $1 AND id <=
                 (SELECT id FROM guardian_policies WHERE sort = $1 ORDER BY id DESC OFFSET $2 LIMIT 1)",
            &[&sort, &max],
        )
        .map(drop)
    }

    pub(super) fn kept_texts(&mut self, sort: &str) -> Result<Vec<(String, String)>, DatabaseError> {
        let found = self.query(
            "SELECT version, text FROM guardian_policies WHERE sort = $1 AND text IS NOT NULL ORDER BY version",
            &[&sort],
        )?;
        all(&found, |row| Ok((row.try_get(0)?, row.try_get(1)?)))
    }

    /// Notes a version, or gives back who noted it last. Nodes that read one edit at once note it once.
    pub(super) fn note_in_force(&mut self, line: &InForce) -> Result<Option<String>, DatabaseError> {
        self.begin()?;
        let noted = self.note_in_transaction(line);
        match noted.is_ok() {
            true => self.commit()?,
            false => self.rollback(),
        }
        noted
    }

    fn note_in_transaction(&mut self, line: &InForce) -> Result<Option<String>, DatabaseError> {
        self.query("LOCK TABLE guardian_policies IN SHARE ROW EXCLUSIVE MODE", &[])?;
        let last = self.query(
            "SELECT version, by FROM guardian_policies WHERE sort = $1 AND organisation = $2 ORDER BY id DESC LIMIT 1",
            &[&IN_FORCE, &line.organisation],
        )?;
        let last: Vec<(String, String)> = all(&last, |row| Ok((row.try_get(0)?, row.try_get(1)?)))?;
        if let Some((_, by)) = last.into_iter().find(|(version, _)| *version == line.version) {
            return Ok(Some(by));
        }
        self.query(
            "INSERT INTO guardian_policies (sort, version, organisation, time, by) VALUES ($1, $2, $3, $4, $5)",
            &[&IN_FORCE, &line.version, &line.organisation, &line.time, &line.by],
        )?;
        Ok(None)
    }

    pub(super) fn policy_history(&mut self) -> Result<Vec<InForce>, DatabaseError> {
        let found = self.query(
            "SELECT * FROM (SELECT id, time, organisation, version, by FROM guardian_policies WHERE sort = $1
                 ORDER BY id DESC LIMIT $2) AS latest ORDER BY id",
            &[&IN_FORCE, &MAX_HISTORY],
        )?;
        all(&found, |row| {
            Ok(InForce {
                time: row.try_get(1)?,
                organisation: row.try_get(2)?,
                version: row.try_get(3)?,
                by: row.try_get(4)?,
            })
        })
    }
}
