//! Hints between nodes: the endpoints that one node leaves alone, and a judge that it no longer trusts.
//!
//! A hint decides nothing. The other nodes ask such an endpoint by one call before the rest follow (`llm/breaker.rs`), and ask
//! their own judge about known steps at once (`selftest/canaries.rs`).

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use super::trust::{JudgeTrust, Trust};
use crate::judge::Judge;
use crate::llm::{BreakerState, Chain};
use crate::shared::{Link, Topic};

/// Tells the other nodes which endpoints of a judge this one leaves alone and whether it trusts the judge, and takes their hints.
pub(super) fn share(judge: &Judge, trust: &Arc<JudgeTrust>, link: &Link) {
    let chains = judge.first_chain().into_iter().chain([judge.chain()]);
    let resting = Resting {
        chains: chains.cloned().collect(),
        heard: Mutex::default(),
    };
    link.join("resting", Arc::new(resting));
    link.join("trust", Arc::clone(trust) as Arc<dyn Topic>);
}

struct Resting {
    chains: Vec<Chain>,
    /// The endpoints that rest elsewhere. Each is doubted once: one that answers here is none of another's business.
    heard: Mutex<BTreeSet<String>>,
}

impl Topic for Resting {
    fn tell(&self) -> String {
        let states = self.chains.iter().flat_map(Chain::states);
        // What another node said is not passed on.
        let resting = states.filter(|state| matches!(state.breaker, BreakerState::HalfOpen | BreakerState::Open));
        resting.map(|state| format!("{}\n", state.endpoint)).collect()
    }

    fn hear(&self, others: Vec<String>) {
        let resting: BTreeSet<String> = others.iter().flat_map(|told| told.lines()).map(str::to_owned).collect();
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        for endpoint in resting.difference(&heard) {
            self.chains.iter().for_each(|chain| chain.doubt(endpoint));
        }
        *heard = resting;
    }
}

/// What a node tells whose judge answers wrongly too often.
const DISTRUSTS: &str = "distrusts";

impl Topic for JudgeTrust {
    fn tell(&self) -> String {
        match self.check().map_or(Trust::Full, |check| check.trust) {
            Trust::Full => String::new(),
            Trust::Doubted | Trust::Withdrawn => DISTRUSTS.to_owned(),
        }
    }

    fn hear(&self, others: Vec<String>) {
        self.note_others(others.iter().any(|told| told == DISTRUSTS));
    }
}
