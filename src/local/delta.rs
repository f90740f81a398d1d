//! A delta: the amounts by which the weights of an organisation's model differ from those of the model that it was adapted from.
//!
//! The weights of the base are shared; a delta holds two bytes for each weight that moved, and a table of 16 KiB to find it. At most
//! [`MAX_MOVED`] weights move, each by at most [`MAX_MOVE`]: so 1,000 organisations take under 200 MiB.

/// Weights that move at most: of more, those that move least stay where they are.
pub(super) const MAX_MOVED: usize = 65_536;
/// The most by which a weight moves.
pub const MAX_MOVE: f32 = 1.0;

/// The size of one step of a move.
const SCALE: f32 = MAX_MOVE / 127.0;
/// Places of a page: what the low byte of a place tells apart.
const PAGE_BITS: u32 = 8;

/// Moves of weights, by their places.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Delta {
    /// The beginnings of the pages.
    starts: Vec<u32>,
    /// The low bytes of the places, in order.
    low: Vec<u8>,
    moves: Vec<i8>,
}

impl Delta {
    /// Moves of weights, by place; those that are less than half a step are left out.
    pub(super) fn of(moved: &[f32]) -> Self {
        let quantised = |by: &f32| (by.clamp(-MAX_MOVE, MAX_MOVE) / SCALE).round() as i8;
        let mut sizes: Vec<u8> = moved.iter().map(|by| quantised(by).unsigned_abs()).collect();
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        let least = sizes.get(MAX_MOVED).map_or(1, |size| size.saturating_add(1));
        let mut delta = Self::default();
        for (place, by) in moved.iter().enumerate() {
            if place.is_multiple_of(1 << PAGE_BITS) {
                delta.starts.push(delta.low.len() as u32);
            }
            let by = quantised(by);
            if by.unsigned_abs() >= least {
                delta.low.push((place & 0xff) as u8);
                delta.moves.push(by);
            }
        }
        delta.starts.push(delta.low.len() as u32);
        delta
    }

    /// Returns the amount by which the weight at this place moved.
    #[inline]
    pub(super) fn at(&self, place: usize) -> f32 {
        let page = place >> PAGE_BITS;
        let (Some(start), Some(end)) = (self.starts.get(page), self.starts.get(page + 1)) else {
            return 0.0;
        };
        let range = *start as usize..*end as usize;
        let low = self.low.get(range.clone()).unwrap_or_default();
        let found = low.iter().position(|low| usize::from(*low) == place & 0xff);
        let by = found.and_then(|at| self.moves.get(range.start + at));
        by.map_or(0.0, |by| f32::from(*by) * SCALE)
    }

    /// Returns the number of weights that moved.
    pub fn len(&self) -> usize {
        self.moves.len()
    }

    /// Returns `true` if no weight moved.
    pub fn is_empty(&self) -> bool {
        self.moves.is_empty()
    }

    /// Its bytes: how many weights of each page moved (four bytes each), the low bytes of their places, the moves.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.starts.len() * 4 + self.moves.len() * 2);
        bytes.extend(self.starts.iter().flat_map(|start| start.to_le_bytes()));
        bytes.extend(&self.low);
        bytes.extend(self.moves.iter().flat_map(|by| by.to_le_bytes()));
        bytes
    }

    /// Reads the output of [`to_bytes`](Self::to_bytes), for a table of so many weights. `None` where it is something else.
    pub fn parse(bytes: &[u8], weights: usize) -> Option<Self> {
        let (starts, rest) = bytes.split_at_checked(((weights >> PAGE_BITS) + 1) * 4)?;
        let (starts, _) = starts.as_chunks::<4>();
        let starts: Vec<u32> = starts.iter().map(|four| u32::from_le_bytes(*four)).collect();
        let moved = *starts.last()? as usize;
        let in_order = starts.is_sorted() && starts.first() == Some(&0);
        if !in_order || moved > MAX_MOVED || rest.len() != moved * 2 {
            return None;
        }
        let (low, moves) = rest.split_at_checked(moved)?;
        Some(Self {
            starts,
            low: low.to_vec(),
            moves: moves.iter().map(|byte| i8::from_le_bytes([*byte])).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_are_found_are_bounded_and_come_back() {
        let mut moved = vec![0.0; 1 << 12];
        moved[5] = 0.5;
        moved[255] = -7.0;
        moved[256] = 0.001;
        moved[4095] = 1.0;
        let delta = Delta::of(&moved);
        assert_eq!(delta.len(), 3);
        assert!((delta.at(5) - 0.5).abs() < 0.01 && delta.at(255) == -MAX_MOVE && delta.at(4095) == MAX_MOVE);
        assert!(delta.at(256) == 0.0 && delta.at(6) == 0.0 && delta.at(1 << 20) == 0.0);
        let bytes = delta.to_bytes();
        assert_eq!(Delta::parse(&bytes, 1 << 12), Some(delta));
        assert_eq!(Delta::parse(&bytes, 1 << 13), None);
        assert_eq!(Delta::parse(&bytes[1..], 1 << 12), None);
    }

    #[test]
    fn of_too_many_moves_the_least_are_left_out() {
        let moved: Vec<f32> = (0..1 << 18).map(|at| if at % 2 == 0 { 0.1 } else { 0.2 }).collect();
        let delta = Delta::of(&moved);
        assert!(delta.len() <= MAX_MOVED);
    }
}
