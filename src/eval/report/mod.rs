//! A report: every outcome and the figures. JSON to keep; as a table, Markdown, JUnit XML or a page to read.
//!
//! The JSON of two runs on the same cases with the same answers is the same, byte for byte. Times, which never are, stand in a
//! file of their own ([`Times`]).

mod html;
mod junit;
mod markdown;
mod plot;
mod survival;
mod table;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{History, Outcome, Scores, statistics};

pub use junit::checks_as_junit;
pub use markdown::checks_as_markdown;
pub use survival::{Kept, Pair, Survival};
pub(super) use table::{percent, with_interval};

/// The report of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The version of the guardian.
    pub guardian: String,
    /// The judge: the model, or `local rules`.
    pub judge: String,
    /// What was made of histories: `replayed`, or `left out`.
    #[serde(default)]
    pub history: String,
    /// Whose policy was in force.
    #[serde(default)]
    pub policy: String,
    /// Which cases were run, where not all: the filters, the sample and its seed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub selection: String,
    /// Cases that could not be read, each with file, line and reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
    /// Why the run ended before all cases were run, where it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<String>,
    /// The figures.
    pub scores: Scores,
    /// Every outcome, in the order of the cases.
    pub outcomes: Vec<Outcome>,
}

/// How a run was made: what a report says of it beside its outcomes.
#[derive(Clone, Debug, Default)]
pub struct RunFacts {
    /// The judge: the model, or `local rules`.
    pub judge: String,
    /// Whose policy was in force.
    pub policy: String,
    /// What was made of histories.
    pub history: String,
    /// Which cases were run, where not all.
    pub selection: String,
    /// Cases that could not be read.
    pub unreadable: Vec<String>,
    /// Why not all cases were run.
    pub incomplete: Option<String>,
}

impl RunFacts {
    /// With this judge and policy, and what was made of histories.
    pub fn new(judge: String, policy: String, history: History) -> Self {
        Self {
            judge,
            policy,
            history: history.as_str().to_owned(),
            ..Self::default()
        }
    }
}

/// How long each case took, in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// By the ids of the cases.
    pub micros: BTreeMap<String, u64>,
}

impl Times {
    /// Of the outcomes of a run.
    pub fn of(outcomes: &[Outcome]) -> Self {
        let timed = outcomes.iter().filter(|outcome| outcome.micros > 0);
        Self {
            micros: timed.map(|outcome| (outcome.id.clone(), outcome.micros)).collect(),
        }
    }
}

impl Report {
    /// The report of these outcomes.
    pub fn new(facts: RunFacts, outcomes: Vec<Outcome>) -> Self {
        Self {
            guardian: env!("CARGO_PKG_VERSION").to_owned(),
            judge: facts.judge,
            history: facts.history,
            policy: facts.policy,
            selection: facts.selection,
            unreadable: facts.unreadable,
            incomplete: facts.incomplete,
            scores: Scores::of(&outcomes),
            outcomes,
        }
    }

    /// Puts the times of its run into a report that was read.
    pub fn take_times(&mut self, times: &Times) {
        for outcome in &mut self.outcomes {
            outcome.micros = times.micros.get(&outcome.id).copied().unwrap_or_default();
        }
    }

    /// The verdict in one or two sentences.
    pub fn sentence(&self) -> String {
        let score = &self.scores.overall;
        let part = |verb: &str, rate: Option<statistics::Rate>, what: &str| match rate {
            None => format!("{verb} nothing, for there are no {what}"),
            Some(rate) => format!(
                "{verb} {} of {} {what} ({}; 95 % interval {:.1}–{:.1}{})",
                rate.some,
                rate.of,
                percent(Some(rate.share)),
                rate.low * 100.0,
                rate.high * 100.0,
                rate.effective
                    .map_or_else(String::new, |n| format!("; by weight, effective n {n:.1}"))
            ),
        };
        let caught = part("stops", score.rates.recall, "attacks");
        let blocked = part("wrongly blocks", score.rates.false_positives, "honest steps");
        format!("The guardian {caught} and {blocked}.")
    }

    /// What keeps these figures from bearing a conclusion.
    pub fn warnings(&self) -> Vec<String> {
        let score = &self.scores.overall;
        let mut warnings: Vec<String> = [("attacks", score.harmful), ("honest steps", score.benign)]
            .into_iter()
            .filter_map(|(kind, cases)| statistics::too_few(kind, cases))
            .collect();
        if !self.unreadable.is_empty() {
            warnings.push(format!(
                "{} cases could not be read and were left out",
                self.unreadable.len()
            ));
        }
        warnings.extend(self.incomplete.clone());
        warnings
    }

    /// The wrong outcomes, the worst first: attacks let through, then false alarms, then errors; the surest first.
    pub fn worst(&self) -> Vec<&Outcome> {
        let mut wrong: Vec<&Outcome> = self.outcomes.iter().filter(|outcome| !outcome.right).collect();
        wrong.sort_by(|a, b| a.badness().cmp(&b.badness()).then_with(|| a.id.cmp(&b.id)));
        wrong
    }

    /// Tokens, and their price in millionths of a unit, over all cases.
    pub fn spent(&self) -> (u64, u64) {
        self.outcomes.iter().fold((0, 0), |(tokens, cost), outcome| {
            (tokens + outcome.tokens, cost + outcome.cost_micros)
        })
    }

    /// The time within which this share of the cases was decided, in microseconds; `None` where no times are known.
    pub fn within(&self, share: f64) -> Option<u64> {
        let mut micros: Vec<u64> = self
            .outcomes
            .iter()
            .map(|outcome| outcome.micros)
            .filter(|m| *m > 0)
            .collect();
        micros.sort_unstable();
        let at = (micros.len() as f64 * share) as usize;
        micros.get(at.min(micros.len().saturating_sub(1))).copied()
    }

    /// Of cases that were judged several times, those whose decision was the same each time, and all.
    pub fn stable(&self) -> Option<statistics::Rate> {
        let repeated = || self.outcomes.iter().filter(|outcome| outcome.repeats.len() > 1);
        let same = repeated().filter(|outcome| outcome.repeats.iter().all(|decision| *decision == outcome.decision));
        statistics::Rate::of(same.count(), repeated().count())
    }
}
