//! Memory: how many bytes the bodies under way may take, before they are examined and while they are.
//!
//! A body that is arriving counts with the bytes that have arrived, not with those that its header promises. Once it is whole
//! it counts with what it unfolds to: of many small values a request becomes a hundred times its size. Organisations share by their
//! weights ([`Places`]).

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::fair::{Place, Places, Reserve, Weights};
use crate::model::OrganisationId;

/// Bytes that a request takes for each of its own: itself, the texts in it, and what is read in place of them.
const PER_BYTE: usize = 6;
/// Bytes that any value takes: its place in the table of values.
const PER_VALUE: usize = 64;
/// Bytes that a string takes besides: a content, its pointer, what was seen in it.
const PER_STRING: usize = 448;

/// Bytes that any value takes besides in a gateway, which keeps messages as trees and copies them for questions and answers.
const PER_TREE_VALUE: usize = 256;

/// Returns the bytes that a request takes while it is worked on, from above.
pub fn unfolded(body: &[u8]) -> usize {
    let (values, quotes) = values_and_quotes(body);
    body.len()
        .saturating_mul(PER_BYTE)
        .saturating_add(values.saturating_mul(PER_VALUE))
        .saturating_add(quotes.div_ceil(2).saturating_mul(PER_STRING))
}

/// Returns the bytes that a message takes that a gateway reads, has judged and writes again, from above.
pub fn unfolded_as_tree(body: &[u8]) -> usize {
    let (values, _) = values_and_quotes(body);
    unfolded(body).saturating_add(values.saturating_mul(PER_TREE_VALUE))
}

fn values_and_quotes(body: &[u8]) -> (usize, usize) {
    let (mut values, mut quotes) = (1_usize, 0_usize);
    // In pieces whose counts fit into bytes: many bytes are counted at a time so.
    for piece in body.chunks(usize::from(u8::MAX)) {
        values += usize::from(count(piece, |byte| matches!(byte, b',' | b':' | b'[' | b'{')));
        quotes += usize::from(count(piece, |byte| byte == b'"'));
    }
    (values, quotes)
}

/// Counts how many of at most 255 bytes are of this kind.
fn count(bytes: &[u8], is_one: impl Fn(u8) -> bool) -> u8 {
    bytes.iter().fold(0, |sum, byte| sum + u8::from(is_one(*byte)))
}

/// Bytes that are taken. Dropped, they are free again.
#[derive(Debug)]
pub struct Taken {
    places: Places,
    organisation: OrganisationId,
    /// The longest time that it may wait for more.
    longest_wait: Duration,
    /// One place for each KiB.
    place: Mutex<Option<Place>>,
}

impl Taken {
    fn kib(&self) -> usize {
        let place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        place.as_ref().map_or(0, Place::many)
    }

    /// Gives back what goes beyond so many bytes.
    pub fn shrink(&self, bytes: usize) {
        let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = place.as_mut() {
            place.give_back(place.many().saturating_sub(bytes.div_ceil(1024)));
        }
    }

    /// Takes as much more as makes it so many bytes; at most the whole share, so that what is larger goes alone.
    ///
    /// # Errors
    ///
    /// When there is no room in time.
    pub async fn grow(&self, bytes: usize) -> Result<(), NoRoom> {
        let kib = bytes.div_ceil(1024).min(self.places.share(&self.organisation));
        let more = kib.saturating_sub(self.kib());
        if more == 0 {
            return Ok(());
        }
        let more = self.places.wait_for(&self.organisation, more);
        let more = tokio::time::timeout(self.longest_wait, more)
            .await
            .map_err(|_| NoRoom)?;
        let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        match place.as_mut() {
            Some(held) => held.join(more),
            None => *place = Some(more),
        }
        Ok(())
    }
}

/// There was no room in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom;

/// The memory of bodies, at all front doors together: while they arrive, and while they are worked on.
#[derive(Debug)]
pub struct Memory {
    arriving: Places,
    worked_on: Places,
    /// The longest time that a body may wait for room.
    longest_wait: Duration,
}

impl Memory {
    /// Makes a memory of so many bytes for what is worked on; bodies that are arriving may take a quarter as much beside it.
    pub fn new(bytes: usize, weights: &Weights, longest_wait: Duration) -> Self {
        let places = |bytes: usize| Places::new(bytes.div_ceil(1024), Reserve::ByWeight, weights);
        Self {
            arriving: places(bytes / 4),
            worked_on: places(bytes),
            longest_wait,
        }
    }

    /// Returns room for a body that is arriving; none is taken yet.
    pub fn arriving(&self, organisation: &OrganisationId) -> Taken {
        self.open(&self.arriving, organisation)
    }

    /// Returns room for a body that is worked on; none is taken yet.
    pub fn worked_on(&self, organisation: &OrganisationId) -> Taken {
        self.open(&self.worked_on, organisation)
    }

    fn open(&self, places: &Places, organisation: &OrganisationId) -> Taken {
        Taken {
            places: places.clone(),
            organisation: organisation.clone(),
            longest_wait: self.longest_wait,
            place: Mutex::default(),
        }
    }

    /// Returns `true` if nothing is left for what is worked on.
    pub fn is_spent(&self) -> bool {
        self.worked_on.is_spent()
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    const SOON: Duration = Duration::from_millis(10);

    #[tokio::test]
    async fn one_organisation_takes_no_more_than_its_share() {
        let weights = Weights::default();
        weights.replace(
            ["eve", "ann"]
                .map(|name| (OrganisationId::new(name), NonZeroU32::MIN))
                .into_iter(),
        );
        let memory = Memory::new(64 * 1024, &weights, SOON);
        let (eve, ann) = (OrganisationId::new("eve"), OrganisationId::new("ann"));
        let first = memory.worked_on(&eve);
        first.grow(16 * 1024).await.unwrap();
        first.grow(32 * 1024).await.unwrap();
        let second = memory.worked_on(&eve);
        assert_eq!(second.grow(1).await, Err(NoRoom));
        let other = memory.worked_on(&ann);
        // More than there is counts as all that one may take.
        other.grow(usize::MAX).await.unwrap();
        assert!(memory.is_spent());
        first.shrink(31 * 1024);
        second.grow(1).await.unwrap();
        drop(first);
        second.grow(2048).await.unwrap();
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
