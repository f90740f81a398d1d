//! The capacity of an index, for the bytes that it is given.

use serde::{Deserialize, Serialize};

/// Bytes that an entry takes, a key, a place with its names.
pub(super) const ENTRY_BYTES: usize = 20;
pub(super) const KEY_BYTES: usize = 10;
pub(super) const PLACE_BYTES: usize = 240;

/// Values, and shingles, that an index holds at most, however much room there is.
const MAX_ENTRIES: usize = 4096;

/// Values of instructions, which have a room of their own.
const MAX_INSTRUCTED: usize = 512;

/// Entries of each kind that the user's words may take.
const MAX_OF_USER: usize = 4096;

/// Places that are remembered.
const MAX_PLACES: usize = 256;

/// Bytes that an index takes which holds the most of everything.
const FULL_BYTES: usize =
    (2 * MAX_ENTRIES + MAX_INSTRUCTED) * ENTRY_BYTES + 7 * MAX_OF_USER * KEY_BYTES + MAX_PLACES * PLACE_BYTES;

/// The number of entries of each kind that an index may hold.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Capacity {
    pub(super) entries: usize,
    pub(super) instructed: usize,
    pub(super) of_user: usize,
    pub(super) places: usize,
}

impl Capacity {
    /// Returns the capacity that fits into so many bytes.
    pub(super) const fn of(bytes: usize) -> Self {
        let bytes = if bytes < FULL_BYTES { bytes } else { FULL_BYTES };
        Self {
            entries: MAX_ENTRIES * bytes / FULL_BYTES,
            instructed: MAX_INSTRUCTED * bytes / FULL_BYTES,
            of_user: MAX_OF_USER * bytes / FULL_BYTES,
            places: MAX_PLACES * bytes / FULL_BYTES,
        }
    }
}

impl Default for Capacity {
    fn default() -> Self {
        Self::of(FULL_BYTES)
    }
}
