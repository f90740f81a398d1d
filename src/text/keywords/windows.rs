//! Words of three bytes and more by the rarest four bytes that they have, whatever their case.

use super::{Candidate, Word, rarity};
use crate::text::bytes::Marks;

/// How many bits of a hash say which byte of the table is asked.
const TABLE_BITS: u32 = 15;
/// How many bits of a hash say which bucket its words are in.
const BUCKET_BITS: u32 = 12;

/// The bytes of a window that a word of three bytes has.
const THREE: u32 = 0x00ff_ffff;

/// The bit that makes capital letters small ones, in each byte.
const FOLD: u32 = 0x2020_2020;

/// Places that are looked at together, and the bytes that this needs.
const STRIDE: usize = 4;
const REACH: usize = 2 * STRIDE;

/// Words by hashes of the first three bytes of their windows.
#[derive(Debug)]
pub(super) struct Windows {
    /// For each hash, which fourth bytes the windows have: a bit for each value of its lowest three bits.
    table: Box<[u8; 1 << TABLE_BITS]>,
    /// The windows of four bytes, by a hash of all of them: of the places that the table names, half are none.
    fours: Marks,
    /// The words of three bytes.
    threes: Marks,
    /// Where the words of each bucket begin; a bucket is told by the uppermost bits of a hash.
    starts: Vec<u32>,
    entries: Vec<Entry>,
}

/// A word in a bucket.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Its window in lower case, and which bits of it count.
    window: u32,
    mask: u32,
    /// Four other bytes of it in lower case, which of their bits count, and how far behind its beginning they stand.
    other: u32,
    other_mask: u32,
    other_offset: u16,
    candidate: Candidate,
}

/// Words that are yet to be sorted.
#[derive(Debug, Default)]
pub(super) struct Builder(Vec<Entry>);

impl Builder {
    /// Adds a word; false when it is too short.
    pub(super) fn add(&mut self, word: &Word, place: u32) -> bool {
        let bytes = word.text.as_bytes();
        let entry = match *bytes {
            [a, b, c] => Entry {
                window: u32::from_le_bytes([a, b, c, 0]) | FOLD,
                mask: THREE,
                other: 0,
                other_mask: 0,
                other_offset: 0,
                candidate: Candidate { word: place, offset: 0 },
            },
            [_, _, _, _, ..] => {
                let (offset, window) = rarest_window(bytes);
                let other_offset = match offset {
                    0 => bytes.len() - 4,
                    _ => 0,
                };
                let other = bytes.get(other_offset..).and_then(<[u8]>::first_chunk);
                Entry {
                    window: window | FOLD,
                    mask: u32::MAX,
                    other: other.map_or(0, |other| u32::from_le_bytes(*other)) | FOLD,
                    other_mask: u32::MAX,
                    other_offset: other_offset as u16,
                    candidate: Candidate { word: place, offset },
                }
            }
            _ => return false,
        };
        self.0.push(entry);
        true
    }

    pub(super) fn build(mut self) -> Windows {
        let mut table = Box::new([0; 1 << TABLE_BITS]);
        let (mut fours, mut threes) = (Marks::default(), Marks::default());
        for entry in &self.0 {
            match entry.mask {
                u32::MAX => fours.mark(entry.window),
                _ => threes.mark(entry.window & THREE),
            }
            if let Some(marks) = table.get_mut(hash(entry.window)) {
                *marks |= match entry.mask {
                    u32::MAX => 1 << fourth(entry.window),
                    _ => u8::MAX,
                };
            }
        }
        self.0
            .sort_by_key(|entry| (bucket(hash(entry.window)), entry.candidate));
        let starts = (0..=1 << BUCKET_BITS)
            .map(|wanted| self.0.partition_point(|entry| bucket(hash(entry.window)) < wanted) as u32)
            .collect();
        Windows {
            table,
            fours,
            threes,
            starts,
            entries: self.0,
        }
    }
}

/// The hash of the first three bytes of a window in lower case.
#[inline(always)]
const fn hash(window: u32) -> usize {
    ((window << 8).wrapping_mul(0x9e37_79b1) >> (u32::BITS - TABLE_BITS)) as usize
}

/// What the table regards of the fourth byte of a window.
#[inline(always)]
const fn fourth(window: u32) -> u32 {
    window >> 24 & 7
}

const fn bucket(hash: usize) -> usize {
    hash >> (TABLE_BITS - BUCKET_BITS)
}

impl Windows {
    /// Tells where words may stand.
    pub(super) fn look(&self, bytes: &[u8], told: &mut impl FnMut(Candidate, usize)) {
        let mut at = 0;
        let mut rest = bytes;
        while let Some(eight) = rest.first_chunk::<REACH>() {
            self.look_at(bytes, at, u64::from_le_bytes(*eight), told);
            at += STRIDE;
            rest = rest.get(STRIDE..).unwrap_or_default();
        }
        while !rest.is_empty() {
            let mut padded = [0; REACH];
            padded.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
            self.look_at(bytes, at, u64::from_le_bytes(padded), told);
            at += STRIDE;
            rest = rest.get(STRIDE..).unwrap_or_default();
        }
    }

    /// Looks at the four places whose bytes, and those behind, are these.
    #[inline(always)]
    fn look_at(&self, bytes: &[u8], at: usize, eight: u64, told: &mut impl FnMut(Candidate, usize)) {
        let folded = eight | u64::from(FOLD) << 32 | u64::from(FOLD);
        let window = |step: u32| (folded >> (8 * step)) as u32;
        let asked = |step: u32| self.asked(window(step));
        if (asked(0) | asked(1) | asked(2) | asked(3)) & 1 != 0 {
            for step in 0..STRIDE as u32 {
                if asked(step) & 1 != 0 && self.may_be(window(step)) {
                    self.compare(bytes, at + step as usize, window(step), told);
                }
            }
        }
    }

    /// What the table says of a window, in the lowest bit: whether words may have it.
    #[inline(always)]
    fn asked(&self, window: u32) -> u32 {
        u32::from(self.table.get(hash(window)).copied().unwrap_or_default()) >> fourth(window)
    }

    /// Whether there may be a word with this window.
    #[inline(always)]
    fn may_be(&self, window: u32) -> bool {
        self.fours.may_have(window) || self.threes.may_have(window & THREE)
    }

    #[inline(never)]
    fn compare(&self, bytes: &[u8], place: usize, window: u32, told: &mut impl FnMut(Candidate, usize)) {
        let bucket = bucket(hash(window));
        let start = |bucket: usize| self.starts.get(bucket).map_or(0, |start| *start as usize);
        let entries = self.entries.get(start(bucket)..start(bucket + 1));
        for entry in entries.into_iter().flatten() {
            if (entry.window ^ window) & entry.mask == 0 && entry.stands(bytes, place) {
                told(entry.candidate, place);
            }
        }
    }
}

impl Entry {
    /// Whether its other four bytes stand where they should.
    #[inline]
    fn stands(&self, bytes: &[u8], place: usize) -> bool {
        let other = place
            .checked_sub(usize::from(self.candidate.offset))
            .and_then(|start| bytes.get(start + usize::from(self.other_offset)..))
            .and_then(<[u8]>::first_chunk);
        match other {
            Some(other) => (u32::from_le_bytes(*other) | FOLD) & self.other_mask == self.other,
            None => self.other_mask == 0,
        }
    }
}

/// The four bytes of a word that are least likely in ordinary text, and where they stand.
fn rarest_window(bytes: &[u8]) -> (u16, u32) {
    let windows = bytes.windows(4).filter_map(|window| <[u8; 4]>::try_from(window).ok());
    let rarest = (0_u16..)
        .zip(windows)
        // The first of equally rare ones.
        .min_by_key(|(_, window)| std::cmp::Reverse(rarity::surprise_of_four(*window)));
    rarest.map_or((0, 0), |(offset, window)| (offset, u32::from_le_bytes(window)))
}
