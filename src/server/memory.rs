//! Memory: how many bytes the bodies under way may take, before they are examined and while they are.
//!
//! A body that is arriving counts with the bytes that have arrived, not with those that its header promises. Once it is whole
//! it counts with what it unfolds to: of many small values a request becomes a hundred times its size. One organisation may
//! take half of all, where there is more than one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::model::OrganisationId;

/// Bytes that a request takes for each of its own: itself, the texts in it, and what is read in place of them.
const PER_BYTE: usize = 6;
/// Bytes that any value takes: its place in the table of values.
const PER_VALUE: usize = 64;
/// Bytes that a string takes besides: a content, its pointer, what was seen in it.
const PER_STRING: usize = 448;

/// The bytes that a request takes while it is worked on, from above.
pub(super) fn unfolded(body: &[u8]) -> usize {
    let (mut values, mut quotes) = (1_usize, 0_usize);
    // In pieces whose counts fit into bytes: many bytes are counted at a time so.
    for piece in body.chunks(usize::from(u8::MAX)) {
        values += usize::from(count(piece, |byte| matches!(byte, b',' | b':' | b'[' | b'{')));
        quotes += usize::from(count(piece, |byte| byte == b'"'));
    }
    body.len()
        .saturating_mul(PER_BYTE)
        .saturating_add(values.saturating_mul(PER_VALUE))
        .saturating_add(quotes.div_ceil(2).saturating_mul(PER_STRING))
}

/// How many of at most 255 bytes are of this kind.
fn count(bytes: &[u8], is_one: impl Fn(u8) -> bool) -> u8 {
    bytes.iter().fold(0, |sum, byte| sum + u8::from(is_one(*byte)))
}

/// Bytes that may be taken at the same time.
#[derive(Debug)]
pub(super) struct Budget {
    /// One permit for each KiB.
    all: Arc<Semaphore>,
    kib: usize,
    /// What one organisation may take.
    share: usize,
    shares: Mutex<HashMap<OrganisationId, Arc<Semaphore>>>,
}

/// How much of a budget one organisation may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Share {
    /// All of it: there is no other.
    Whole,
    /// Half of it.
    Half,
}

/// Bytes that are taken. Dropped, they are free again.
#[derive(Debug)]
pub(super) struct Taken {
    kib: usize,
    share: Arc<Semaphore>,
    permits: Option<[OwnedSemaphorePermit; 2]>,
}

/// There was no room in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoRoom;

impl Budget {
    pub(super) fn new(bytes: usize, share: Share) -> Self {
        let kib = bytes.div_ceil(1024).clamp(1, u32::MAX as usize);
        Self {
            all: Arc::new(Semaphore::new(kib)),
            kib,
            share: match share {
                Share::Whole => kib,
                Share::Half => kib.div_ceil(2),
            },
            shares: Mutex::default(),
        }
    }

    /// Nothing yet, for a request of this organisation.
    pub(super) fn open(&self, organisation: &OrganisationId) -> Taken {
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        // As many entries as there are organisations with a key.
        let share = shares
            .entry(organisation.clone())
            .or_insert_with(|| Arc::new(Semaphore::new(self.share)));
        Taken {
            kib: 0,
            share: Arc::clone(share),
            permits: None,
        }
    }

    /// Takes as much more as makes it so many bytes; at most the whole share, so that what is larger goes alone.
    ///
    /// # Errors
    ///
    /// When there is no room in time.
    pub(super) async fn grow(&self, taken: &mut Taken, bytes: usize, longest: Duration) -> Result<(), NoRoom> {
        let kib = bytes.div_ceil(1024).min(self.share).min(self.kib);
        let more = kib.saturating_sub(taken.kib);
        if more == 0 {
            return Ok(());
        }
        let count = u32::try_from(more).map_err(|_| NoRoom)?;
        let (share, all) = (Arc::clone(&taken.share), Arc::clone(&self.all));
        let permits = async move {
            let share = share.acquire_many_owned(count).await;
            let all = all.acquire_many_owned(count).await;
            [share, all]
        };
        let Ok([Ok(share), Ok(all)]) = tokio::time::timeout(longest, permits).await else {
            return Err(NoRoom);
        };
        taken.kib = kib;
        match &mut taken.permits {
            Some([held_share, held_all]) => {
                held_share.merge(share);
                held_all.merge(all);
            }
            None => taken.permits = Some([share, all]),
        }
        Ok(())
    }

    /// Whether nothing is left.
    pub(super) fn is_spent(&self) -> bool {
        self.all.available_permits() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(10);

    #[tokio::test]
    async fn one_organisation_takes_no_more_than_its_share() {
        let budget = Budget::new(64 * 1024, Share::Half);
        let (eve, ann) = (OrganisationId::new("eve"), OrganisationId::new("ann"));
        let mut first = budget.open(&eve);
        budget.grow(&mut first, 16 * 1024, SOON).await.unwrap();
        budget.grow(&mut first, 32 * 1024, SOON).await.unwrap();
        let mut second = budget.open(&eve);
        assert_eq!(budget.grow(&mut second, 1, SOON).await, Err(NoRoom));
        let mut other = budget.open(&ann);
        // More than there is counts as all that one may take.
        budget.grow(&mut other, usize::MAX, SOON).await.unwrap();
        assert!(budget.is_spent());
        drop(first);
        budget.grow(&mut second, 1, SOON).await.unwrap();
    }

    #[test]
    fn what_unfolds_counts_with_what_it_becomes() {
        let many = format!("[{}\"\"]", "\"\",".repeat(100_000));
        assert!(unfolded(many.as_bytes()) > 40 << 20);
        let numbers = format!("[{}0]", "0,".repeat(100_000));
        assert!(unfolded(numbers.as_bytes()) > 6 << 20);
        let prose = "word ".repeat(200_000);
        assert!(unfolded(prose.as_bytes()) < 8 << 20);
    }
}
