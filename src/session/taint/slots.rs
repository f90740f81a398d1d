//! Tables of fingerprints.

/// Hashes fingerprints for tables: they are spread already, and mixed with a number that only this process knows, so that no attacker can choose
/// texts that share a slot.
#[derive(Clone, Debug)]
pub(super) struct Slots(u64);

impl Default for Slots {
    fn default() -> Self {
        static KEY: std::sync::LazyLock<u64> = std::sync::LazyLock::new(|| {
            std::hash::BuildHasher::hash_one(&std::collections::hash_map::RandomState::new(), 0_u64)
        });
        Self(*KEY)
    }
}

impl std::hash::BuildHasher for Slots {
    type Hasher = Slot;

    fn build_hasher(&self) -> Slot {
        Slot(self.0)
    }
}

/// The hasher of [`Slots`].
#[derive(Clone, Debug)]
pub(super) struct Slot(u64);

impl std::hash::Hasher for Slot {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        let product = u128::from(self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        // The upper half has seen every bit of the lower one.
        self.0 = u64::try_from(product >> 64).unwrap_or_default() ^ (product as u64);
    }
}
