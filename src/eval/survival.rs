//! The survival of verdicts: mutants whose original was decided rightly, and which of them are as well.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use super::Outcome;
use super::mutate::MARK;
use super::statistics::Rate;
use crate::model::Decision;

/// The survival of the mutants in a report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Survival {
    /// Over all of them.
    pub all: Kept,
    /// The figures by the operator that made them.
    pub operators: BTreeMap<String, Kept>,
    /// The figures by their source.
    pub sources: BTreeMap<String, Kept>,
    /// Mutants that are wrong where their original is right, in the order of the report.
    pub broken: Vec<Pair>,
}

/// The number of mutants that are right, of those whose original is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// The number of attacks that stay stopped, and of all.
    pub attacks: (usize, usize),
    /// The number of honest steps that still pass, and of all.
    pub honest: (usize, usize),
}

/// A case and a mutant of it whose verdict did not survive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// The id of the case.
    pub original: String,
    /// The decision about it.
    pub decision: String,
    /// The operator.
    pub operator: String,
    /// The decision about the mutant.
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

    /// Returns the shares of attacks and of honest steps, with their intervals.
    pub fn rates(&self) -> [Option<Rate>; 2] {
        [self.attacks, self.honest].map(|(kept, of)| Rate::of(kept, of))
    }
}

/// What becomes of mutants, case by case.
#[derive(Default)]
pub(super) struct Surviving {
    /// What was decided about cases that are right and no mutants, by the digests of their ids.
    originals: HashMap<[u8; 16], Decision>,
    survival: Survival,
}

impl Surviving {
    /// Adds a case. A mutant counts where its original came before it.
    pub(super) fn add(&mut self, outcome: &Outcome) {
        let digest = |id: &str| {
            let digest = blake3::hash(id.as_bytes());
            digest.as_bytes().first_chunk().copied().unwrap_or_default()
        };
        let rest = outcome.id.strip_prefix(outcome.group.as_str());
        let Some(operator) = rest.and_then(|rest| rest.strip_prefix(MARK)) else {
            if let Some(decision) = Decision::from_name(&outcome.decision).filter(|_| outcome.right) {
                self.originals.insert(digest(&outcome.id), decision);
            }
            return;
        };
        let Some(decision) = self.originals.get(&digest(&outcome.group)) else {
            return;
        };
        let survival = &mut self.survival;
        survival.all.add(outcome);
        survival.operators.entry(operator.to_owned()).or_default().add(outcome);
        survival.sources.entry(outcome.source.clone()).or_default().add(outcome);
        if !outcome.right {
            survival.broken.push(Pair {
                original: outcome.group.clone(),
                decision: decision.as_str().to_owned(),
                operator: operator.to_owned(),
                mutant: outcome.decision.clone(),
                note: outcome.note.clone(),
            });
        }
    }

    /// What became of them; `None` where there is no mutant whose original is right.
    pub(super) fn survival(self) -> Option<Survival> {
        (self.survival.all != Kept::default()).then_some(self.survival)
    }
}
