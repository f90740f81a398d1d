//! The state that a protocol keeps from one exchange to the next, beyond what all of them share.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use moka::sync::Cache;

use super::judged_units::Digest;

/// Values of a protocol's own, by their keys; bounded in number and in time.
#[derive(Clone)]
pub(super) struct Kept(Cache<Digest, Arc<dyn Any + Send + Sync>>);

const MAX: u64 = 4_096;
const KEPT_FOR: Duration = Duration::from_secs(6 * 60 * 60);

impl Default for Kept {
    fn default() -> Self {
        Self(Cache::builder().max_capacity(MAX).time_to_idle(KEPT_FOR).build())
    }
}

impl Kept {
    /// Returns the value of this key, if there is one of this type.
    pub(super) fn get<V: Send + Sync + 'static>(&self, key: Digest) -> Option<Arc<V>> {
        self.0.get(&key)?.downcast().ok()
    }

    /// Keeps a value.
    pub(super) fn put<V: Send + Sync + 'static>(&self, key: Digest, value: &Arc<V>) {
        let value: Arc<V> = Arc::clone(value);
        self.0.insert(key, value);
    }

    /// Returns the only value of this type that the protocol keeps, if it keeps no other.
    pub(super) fn only<V: Default + Send + Sync + 'static>(&self) -> Arc<V> {
        let made = || -> Arc<dyn Any + Send + Sync> { Arc::<V>::default() };
        self.0.get_with(Digest::default(), made).downcast().unwrap_or_default()
    }

    /// Forgets a value.
    pub(super) fn forget(&self, key: Digest) {
        self.0.invalidate(&key);
    }
}
