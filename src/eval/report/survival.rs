//! How many verdicts survive: mutants whose original was decided rightly, and which of them are as well.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Report;
use crate::eval::Outcome;
use crate::eval::mutate::MARK;
use crate::eval::statistics::Rate;

/// What became of the mutants in a report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Survival {
    /// Over all of them.
    pub all: Kept,
    /// By the operator that made them.
    pub operators: BTreeMap<String, Kept>,
    /// By their source.
    pub sources: BTreeMap<String, Kept>,
    /// Mutants that are wrong where their original is right, in the order of the report.
    pub broken: Vec<Pair>,
}

/// Of mutants whose original is right, those that are right as well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// Of attacks: how many stay stopped, of how many.
    pub attacks: (usize, usize),
    /// Of honest steps: how many still pass, of how many.
    pub honest: (usize, usize),
}

/// A case and a mutant of it whose verdict did not survive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// The id of the case.
    pub original: String,
    /// What was decided about it.
    pub decision: String,
    /// The operator.
    pub operator: String,
    /// What was decided about the mutant.
    pub mutant: String,
    /// The mutant's note: the original text, how it begins, and what decides the case.
    pub note: String,
}

impl Kept {
    fn add(&mut self, outcome: &Outcome) {
        let part = if outcome.is_attack() {
            &mut self.attacks
        } else {
            &mut self.honest
        };
        part.0 += usize::from(outcome.right);
        part.1 += 1;
    }

    /// The shares of attacks and of honest steps, with their intervals.
    pub fn rates(&self) -> [Option<Rate>; 2] {
        [self.attacks, self.honest].map(|(kept, of)| Rate::of(kept, of))
    }
}

impl Report {
    /// What became of mutants; `None` where the report has none whose original is there and right.
    pub fn survival(&self) -> Option<Survival> {
        let by_id: BTreeMap<&str, &Outcome> = self
            .outcomes
            .iter()
            .map(|outcome| (outcome.id.as_str(), outcome))
            .collect();
        let mut survival = Survival::default();
        for mutant in &self.outcomes {
            let operator = mutant
                .id
                .strip_prefix(mutant.group.as_str())
                .and_then(|rest| rest.strip_prefix(MARK));
            let Some((operator, original)) = operator.and_then(|name| Some((name, *by_id.get(mutant.group.as_str())?)))
            else {
                continue;
            };
            if !original.right {
                continue;
            }
            survival.all.add(mutant);
            survival.operators.entry(operator.to_owned()).or_default().add(mutant);
            survival.sources.entry(mutant.source.clone()).or_default().add(mutant);
            if !mutant.right {
                survival.broken.push(Pair {
                    original: original.id.clone(),
                    decision: original.decision.clone(),
                    operator: operator.to_owned(),
                    mutant: mutant.decision.clone(),
                    note: mutant.note.clone(),
                });
            }
        }
        (survival.all != Kept::default()).then_some(survival)
    }
}
