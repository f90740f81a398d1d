//! The sessions that were evicted, with the reason: a step of one of them says so, instead of looking like the first of a new one.
//!
//! Two generations of keys, so that the oldest ones leave without a list of ages; of a key eight bytes are kept.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::model::Gap;

/// Keys of one generation. Both take five megabytes at most.
const MAX: usize = 100_000;

/// Sessions that are not remembered any more.
#[derive(Debug, Default)]
pub(super) struct EvictedSessions {
    generations: Mutex<Generations>,
}

#[derive(Debug, Default)]
struct Generations {
    young: HashMap<u64, Gap>,
    old: HashMap<u64, Gap>,
}

impl EvictedSessions {
    /// Notes that a session is not remembered any more.
    pub(super) fn note(&self, key: &[u8; 32], why: Gap) {
        let mut generations = self.lock();
        if generations.young.len() >= MAX {
            generations.old = std::mem::take(&mut generations.young);
        }
        generations.young.insert(short(key), why);
    }

    /// Returns the reason why a session is not remembered any more, if it was once.
    pub(super) fn why(&self, key: &[u8; 32]) -> Option<Gap> {
        let generations = self.lock();
        let short = short(key);
        generations
            .young
            .get(&short)
            .or_else(|| generations.old.get(&short))
            .copied()
    }

    fn lock(&self) -> MutexGuard<'_, Generations> {
        self.generations.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn short(key: &[u8; 32]) -> u64 {
    let mut short = [0; 8];
    short.iter_mut().zip(key).for_each(|(to, from)| *to = *from);
    u64::from_le_bytes(short)
}
