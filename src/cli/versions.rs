//! The policies and prompts behind the hashes in a record, each by its version.

use std::path::PathBuf;

use anyhow::Context;

use super::output::{say, write};
use super::{Ended, printable};
use crate::audit::{Archive, Sort};
use crate::config::Config;

/// A policy or prompt that can be shown.
pub(super) struct StoredVersion {
    pub(super) version: String,
    pub(super) whose: String,
    pub(super) text: String,
}

/// Returns the archive that servers have written: in the folder that is named, else beside the configured records.
pub(super) fn archive(seen: Option<PathBuf>, config: &Config) -> anyhow::Result<Option<Archive>> {
    match (seen, &config.audit) {
        (Some(folder), _) => Ok(Some(Archive::folder(folder))),
        (None, Some(settings)) => Archive::of(settings).context("`[audit] to`"),
        (None, None) => Ok(None),
    }
}

/// Returns the texts of a sort in it.
pub(super) fn seen_in(archive: &mut Archive, sort: Sort) -> anyhow::Result<Vec<StoredVersion>> {
    let kept = archive.kept(sort).with_context(|| archive.place())?;
    let known = kept.into_iter().map(|kept| StoredVersion {
        version: kept.version,
        whose: format!("seen, {}", kept.place),
        text: kept.text,
    });
    Ok(known.collect())
}

/// Shows what has this version, or begins so, or is the built-in profile of this name; without one, lists all.
pub(super) fn show(what: &str, known: &[StoredVersion], hash: Option<&str>) -> anyhow::Result<Ended> {
    let Some(hash) = hash else {
        for known in known {
            say!("{}  {}", known.version, printable(&known.whose));
        }
        return Ok(Ended::Done);
    };
    let found = found(what, known, hash)?;
    write(format_args!("# {}: {}\n{}", found.version, found.whose, found.text));
    Ok(Ended::Done)
}

/// Returns the one that has this version, or begins so, or is the built-in profile of this name.
pub(super) fn found<'k>(what: &str, known: &'k [StoredVersion], hash: &str) -> anyhow::Result<&'k StoredVersion> {
    let by_name = format!("built-in profile `{hash}`");
    let fits = |known: &&StoredVersion| known.whose == by_name || (hash.len() >= 4 && known.version.starts_with(hash));
    let mut versions: Vec<&str> = known.iter().filter(fits).map(|known| known.version.as_str()).collect();
    versions.sort_unstable();
    versions.dedup();
    anyhow::ensure!(
        versions.len() <= 1,
        "`{hash}` is how several versions begin: {}",
        versions.join(", ")
    );
    known.iter().find(fits).with_context(|| {
        format!(
            "no {what} `{}` was seen here: expected one of the hashes that `guardian {what} show` lists; a server keeps what it used \
             beside its audit records (`--seen DIR`)",
            printable(hash)
        )
    })
}
