//! The share of each organisation in a store: none may hold more, so that none evicts the entries of another.
//!
//! It counts and names the entries that have to go; the store removes them. Its count can lag behind the store, never grow beyond the share.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The entries of each organisation, by when they were last written.
#[derive(Debug)]
pub struct Shares<O, K> {
    most_bytes: u64,
    held: Mutex<HashMap<O, Holding<K>>>,
}

#[derive(Debug)]
struct Holding<K> {
    bytes: u64,
    next: u64,
    /// The time of the last write of each entry, and its weight.
    entries: HashMap<K, (u64, u32)>,
    by_age: BTreeMap<u64, K>,
}

impl<K> Default for Holding<K> {
    fn default() -> Self {
        Self {
            bytes: 0,
            next: 0,
            entries: HashMap::new(),
            by_age: BTreeMap::new(),
        }
    }
}

impl<O: Eq + Hash, K: Copy + Eq + Hash> Shares<O, K> {
    /// Makes a count with a share of so many bytes for each organisation.
    pub fn new(most_bytes: u64) -> Self {
        Self {
            most_bytes,
            held: Mutex::default(),
        }
    }

    /// Notes that an entry was written; returns the organisation's oldest ones, which have to go for it.
    pub fn wrote(&self, owner: O, key: K, weight: u32) -> Vec<K> {
        let mut held = self.lock();
        let holding = held.entry(owner).or_default();
        holding.forget(&key);
        let age = holding.next;
        holding.next += 1;
        holding.bytes += u64::from(weight);
        holding.entries.insert(key, (age, weight));
        holding.by_age.insert(age, key);
        let mut leaving = Vec::new();
        while holding.bytes > self.most_bytes && holding.entries.len() > 1 {
            let Some((_, oldest)) = holding.by_age.first_key_value() else {
                break;
            };
            let oldest = *oldest;
            holding.forget(&oldest);
            leaving.push(oldest);
        }
        leaving
    }

    /// Notes that an entry is gone.
    pub fn gone(&self, owner: &O, key: &K) {
        let mut held = self.lock();
        if let Some(holding) = held.get_mut(owner) {
            holding.forget(key);
            if holding.entries.is_empty() {
                held.remove(owner);
            }
        }
    }

    /// Returns the bytes that an organisation holds.
    pub fn bytes(&self, owner: &O) -> u64 {
        self.lock().get(owner).map_or(0, |holding| holding.bytes)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<O, Holding<K>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Eq + Hash> Holding<K> {
    fn forget(&mut self, key: &K) {
        if let Some((age, weight)) = self.entries.remove(key) {
            self.by_age.remove(&age);
            self.bytes = self.bytes.saturating_sub(u64::from(weight));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn who_exceeds_a_share_loses_the_oldest_of_his_own() {
        let shares = Shares::new(100);
        assert_eq!(shares.wrote("a", 1, 60), [0; 0]);
        assert_eq!(shares.wrote("b", 2, 90), [0; 0]);
        assert_eq!(shares.wrote("a", 3, 30), [0; 0]);
        // Written again, it is the latest, and weighs what it weighs now.
        assert_eq!(shares.wrote("a", 1, 65), [0; 0]);
        assert_eq!(shares.wrote("a", 4, 20), [3]);
        assert_eq!(shares.wrote("a", 5, 100), [1, 4]);
        // One entry may be larger than the share: the store has bounds of its own.
        assert_eq!(shares.wrote("b", 6, 500), [2]);
    }

    #[test]
    fn what_is_gone_no_longer_counts() {
        let shares = Shares::new(100);
        shares.wrote("a", 1, 90);
        shares.gone(&"a", &1);
        shares.gone(&"a", &1);
        assert_eq!(shares.wrote("a", 2, 90), [0; 0]);
        shares.gone(&"b", &2);
        assert_eq!(shares.wrote("a", 3, 90), [2]);
    }
}
