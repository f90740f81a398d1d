//! The share of each organisation in the cache: none may hold more, so that none evicts the entries of all others.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Fingerprint;
use crate::model::OrganisationId;

/// The entries of each organisation, oldest first.
pub(super) struct Shares {
    most_bytes: u64,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    next: u64,
    by_organisation: HashMap<OrganisationId, Holding>,
}

#[derive(Default)]
struct Holding {
    bytes: u64,
    entries: BTreeMap<u64, (Fingerprint, u32)>,
}

impl Shares {
    pub(super) fn new(most_bytes: u64) -> Self {
        Self {
            most_bytes,
            held: Mutex::default(),
        }
    }

    /// Notes a new entry; answers its number, and the organisation's oldest entries that have to go for it.
    pub(super) fn enter(
        &self,
        organisation: &OrganisationId,
        key: Fingerprint,
        weight: u32,
    ) -> (u64, Vec<Fingerprint>) {
        let mut held = self.lock();
        let number = held.next;
        held.next += 1;
        let holding = held.by_organisation.entry(organisation.clone()).or_default();
        holding.bytes += u64::from(weight);
        holding.entries.insert(number, (key, weight));
        let mut leaving = Vec::new();
        while holding.bytes > self.most_bytes && holding.entries.len() > 1 {
            let Some((_, (oldest, weight))) = holding.entries.pop_first() else {
                break;
            };
            holding.bytes = holding.bytes.saturating_sub(u64::from(weight));
            leaving.push(oldest);
        }
        (number, leaving)
    }

    /// Notes that an entry is gone.
    pub(super) fn leave(&self, organisation: &OrganisationId, number: u64) {
        let mut held = self.lock();
        let Some(holding) = held.by_organisation.get_mut(organisation) else {
            return;
        };
        if let Some((_, weight)) = holding.entries.remove(&number) {
            holding.bytes = holding.bytes.saturating_sub(u64::from(weight));
        }
        if holding.entries.is_empty() {
            held.by_organisation.remove(organisation);
        }
    }

    #[cfg(test)]
    pub(super) fn bytes(&self, organisation: &OrganisationId) -> u64 {
        self.lock()
            .by_organisation
            .get(organisation)
            .map_or(0, |holding| holding.bytes)
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
