//! A report: every outcome and the figures. JSON to keep; as a table, Markdown, JUnit XML or a page to read.
//!
//! The JSON of two runs on the same cases with the same answers is the same, byte for byte. Times, which never are, stand in a
//! file of their own ([`Times`]).

mod html;
mod junit;
mod markdown;
mod plot;
mod table;

use std::borrow::Borrow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::score::Tally;
use super::{EvalError, History, Outcome, RunLog, Scores, statistics};

pub use junit::checks_as_junit;
pub use markdown::checks_as_markdown;
pub(super) use table::{percent, with_interval};

/// The report of a run: its outcomes are in memory (`Vec<Outcome>`), or in the log of the run ([`RunLog`]).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report<O = Vec<Outcome>> {
    /// The version of the guardian.
    pub guardian: String,
    /// The judge: the model, or `local rules`.
    pub judge: String,
    /// The use of histories: `replayed`, or `left out`.
    #[serde(default)]
    pub history: String,
    /// The policy that was in force.
    #[serde(default)]
    pub policy: String,
    /// The cases that were run, where not all: the filters, the sample and its seed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub selection: String,
    /// Cases that could not be read, each with file, line and reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
    /// The reason why the run ended before all cases were run, where it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<String>,
    /// The figures.
    pub scores: Scores,
    /// Every outcome, in the order of the cases.
    pub outcomes: O,
    /// Microseconds of each case, where they are known, the shortest first.
    #[serde(skip)]
    micros: Vec<u64>,
}

/// The facts of a run that a report has beside its outcomes.
#[derive(Clone, Debug, Default)]
pub struct RunFacts {
    /// The judge: the model, or `local rules`.
    pub judge: String,
    /// The policy that was in force.
    pub policy: String,
    /// The use of histories.
    pub history: String,
    /// The cases that were run, where not all.
    pub selection: String,
    /// Cases that could not be read.
    pub unreadable: Vec<String>,
    /// The reason why not all cases were run.
    pub incomplete: Option<String>,
}

impl RunFacts {
    /// Makes the facts of a run with this judge, this policy and this use of histories.
    pub fn new(judge: String, policy: String, history: History) -> Self {
        Self {
            judge,
            policy,
            history: history.as_str().to_owned(),
            ..Self::default()
        }
    }
}

/// The time that each case took, in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// The times by the ids of the cases.
    pub micros: BTreeMap<String, u64>,
}

impl Times {
    /// Of the outcomes of a run.
    ///
    /// # Errors
    ///
    /// When the log cannot be read.
    pub fn of(log: &RunLog) -> Result<Self, EvalError> {
        let timed = log
            .outcomes()
            .filter(|read| read.as_ref().map_or(true, |outcome| outcome.micros > 0));
        let micros = timed.map(|read| read.map(|outcome| (outcome.id, outcome.micros)));
        Ok(Self {
            micros: micros.collect::<Result<_, _>>()?,
        })
    }
}

impl Report {
    /// Makes the report of these outcomes.
    pub fn new(facts: RunFacts, outcomes: Vec<Outcome>) -> Self {
        let mut tally = Tally::default();
        outcomes.iter().for_each(|outcome| tally.add(outcome));
        Self::with(facts, tally, outcomes)
    }

    /// Puts the times of its run into a report that was read.
    pub fn take_times(&mut self, times: &Times) {
        for outcome in &mut self.outcomes {
            outcome.micros = times.micros.get(&outcome.id).copied().unwrap_or_default();
        }
        self.micros = times.micros.values().copied().collect();
        self.micros.sort_unstable();
    }

    /// The wrong outcomes, the worst first: attacks let through, then false alarms, then errors; the surest first.
    pub fn worst(&self) -> Vec<&Outcome> {
        worst_first(self.outcomes.iter().filter(|outcome| !outcome.right).collect())
    }
}

impl Report<RunLog> {
    /// The report of the outcomes in a log, which stay there.
    ///
    /// # Errors
    ///
    /// When the log cannot be read.
    pub fn of_log(facts: RunFacts, log: RunLog) -> Result<Self, EvalError> {
        let tally = Tally::of(log.outcomes())?;
        Ok(Self::with(facts, tally, log))
    }

    /// The same with the outcomes in memory.
    ///
    /// # Errors
    ///
    /// When the log cannot be read.
    pub fn load(self) -> Result<Report, EvalError> {
        let outcomes = self.outcomes.outcomes().collect::<Result<_, _>>()?;
        Ok(Report {
            guardian: self.guardian,
            judge: self.judge,
            history: self.history,
            policy: self.policy,
            selection: self.selection,
            unreadable: self.unreadable,
            incomplete: self.incomplete,
            scores: self.scores,
            outcomes,
            micros: self.micros,
        })
    }
}

fn worst_first<O: Borrow<Outcome>>(mut wrong: Vec<O>) -> Vec<O> {
    wrong.sort_by(|a, b| {
        let (a, b) = (a.borrow(), b.borrow());
        a.badness().cmp(&b.badness()).then_with(|| a.id.cmp(&b.id))
    });
    wrong
}

impl<O> Report<O> {
    fn with(facts: RunFacts, tally: Tally, outcomes: O) -> Self {
        let mut micros = tally.micros.clone();
        micros.sort_unstable();
        Self {
            guardian: env!("CARGO_PKG_VERSION").to_owned(),
            judge: facts.judge,
            history: facts.history,
            policy: facts.policy,
            selection: facts.selection,
            unreadable: facts.unreadable,
            incomplete: facts.incomplete,
            scores: tally.scores(),
            outcomes,
            micros,
        }
    }

    /// Returns the verdict in one or two sentences.
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

    /// Returns the reasons why these figures do not bear a conclusion.
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

    /// Returns the time within which this share of the cases was decided, in microseconds; `None` where no times are known.
    pub fn within(&self, share: f64) -> Option<u64> {
        let at = (self.micros.len() as f64 * share) as usize;
        self.micros.get(at.min(self.micros.len().saturating_sub(1))).copied()
    }
}
