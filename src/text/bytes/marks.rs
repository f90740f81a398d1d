//! A set of numbers that answers "perhaps" or "no": a bit for each hash.

/// How many bits a hash has.
const BITS: u32 = 16;

/// Numbers, by their hashes.
#[derive(Debug)]
pub(crate) struct Marks(Box<[u64; 1 << (BITS - u64::BITS.ilog2())]>);

impl Default for Marks {
    fn default() -> Self {
        Self(Box::new([0; 1 << (BITS - u64::BITS.ilog2())]))
    }
}

impl Marks {
    /// Adds a number.
    pub(crate) fn mark(&mut self, number: u32) {
        let (word, bit) = Self::place(number);
        if let Some(marks) = self.0.get_mut(word) {
            *marks |= 1 << bit;
        }
    }

    /// Whether the number may have been added; never false when it was.
    #[inline(always)]
    pub(crate) fn may_have(&self, number: u32) -> bool {
        let (word, bit) = Self::place(number);
        self.0.get(word).is_some_and(|marks| marks >> bit & 1 == 1)
    }

    #[inline(always)]
    const fn place(number: u32) -> (usize, u32) {
        let hash = number.wrapping_mul(0x85eb_ca6b) >> (u32::BITS - BITS);
        ((hash / u64::BITS) as usize, hash % u64::BITS)
    }
}

#[cfg(test)]
mod tests;
