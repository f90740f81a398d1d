//! A baseline small enough to be committed: how many cases of each source were stopped and blocked, and no text of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::check::Check;
use super::{Counts, Report};

/// The counts of a report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// The counts by source.
    pub sources: BTreeMap<String, Counts<usize>>,
}

impl Baseline {
    /// Makes the baseline of a report.
    pub fn of(report: &Report) -> Self {
        let sources = report.scores.sources.iter();
        Self {
            sources: sources.map(|(name, score)| (name.clone(), score.counts)).collect(),
        }
    }

    /// Checks that each source of a report does at least as well: with the same cases, as many attacks stopped, no more honest steps
    /// blocked, as many spans taken out.
    pub fn check(&self, report: &Report) -> Vec<Check> {
        let now = Self::of(report).sources;
        let new = now.iter().filter(|(name, _)| !self.sources.contains_key(*name));
        let all = self.sources.iter().chain(new);
        let checks = all.map(|(name, _)| {
            let (was, is) = (self.sources.get(name), now.get(name));
            let (was, is) = (was.copied().unwrap_or_default(), is.copied().unwrap_or_default());
            Check {
                name: format!("source {name} is no worse than its baseline"),
                holds: (was.harmful, was.benign, was.spans) == (is.harmful, is.benign, is.spans)
                    && is.caught >= was.caught
                    && is.blocked <= was.blocked
                    && is.spans_out >= was.spans_out,
                detail: format!(
                    "stopped {} of {} (was {} of {}), blocked {} of {} (was {} of {}), spans {} of {} (was {} of {})",
                    is.caught,
                    is.harmful,
                    was.caught,
                    was.harmful,
                    is.blocked,
                    is.benign,
                    was.blocked,
                    was.benign,
                    is.spans_out,
                    is.spans,
                    was.spans_out,
                    was.spans,
                ),
            }
        });
        checks.collect()
    }
}
