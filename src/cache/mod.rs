//! Verdicts of the judge, used again for equal steps.
//!
//! ```text
//! fingerprint ──▶ stored? ──yes──▶ hit
//!                    │no
//!                    ▼
//!            somebody asking already? ──yes──▶ wait for that answer (coalesced)
//!                    │no
//!                    ▼
//!            ask (miss) ──▶ answer: store, hand to all who wait
//!                      └──▶ failure: hand to all who wait, store nothing
//! ```
//!
//! - The [`Fingerprint`] covers everything that the judge would see, and nothing else.
//! - Only answers of a judge are stored; failures and fallbacks never are.
//! - Each look-up runs as a task of its own, so that a caller who hangs up cancels nobody's answer, and the
//!   answer that was paid for is stored all the same.
//! - Entries are weighed in bytes; the least used leave when the bound is reached, and all leave after their time.
//!
//! In process (moka). Several nodes would share a Redis behind the same few methods.

mod fingerprint;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use moka::notification::RemovalCause;

pub use fingerprint::{Fingerprint, Scope};

use crate::telemetry::names;

/// How much is kept, for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Bytes over all entries; 0 keeps nothing, but equal steps still share one call while it runs.
    pub max_bytes: u64,
    /// How long an answer is used again.
    pub time_to_live: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_bytes: 64 * 1024 * 1024,
            time_to_live: Duration::from_secs(600),
        }
    }
}

/// How an answer was come by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// It was asked for.
    Fresh,
    /// Somebody else was asking already.
    Coalesced,
    /// It was stored.
    Stored,
}

/// Something that knows how many bytes it takes.
pub trait Weigh {
    /// Bytes, roughly.
    fn weight(&self) -> u32;
}

/// Why there is no answer.
#[derive(Clone, Debug)]
pub enum Unanswered<E> {
    /// The one who asked failed; all who waited are told the same.
    Failed(Arc<E>),
    /// The task that asked died.
    Died,
}

/// A cache of answers `V` with single-flight look-up.
pub struct AnswerCache<V> {
    entries: moka::future::Cache<Fingerprint, Arc<V>>,
}

impl<V> Clone for AnswerCache<V> {
    /// Another handle of the same cache.
    fn clone(&self) -> Self {
        Self {
            entries: self.entries.clone(),
        }
    }
}

impl<V: Weigh + Send + Sync + 'static> AnswerCache<V> {
    /// An empty cache.
    pub fn new(settings: &Settings) -> Self {
        let entries = moka::future::Cache::builder()
            .max_capacity(settings.max_bytes)
            .time_to_live(settings.time_to_live)
            .weigher(|_: &Fingerprint, value: &Arc<V>| value.weight().saturating_add(ENTRY_OVERHEAD))
            .eviction_listener(|_, _, cause| {
                if cause == RemovalCause::Size {
                    count("evicted");
                }
            })
            .build();
        Self { entries }
    }

    /// The stored answer, or the one that `ask` gives. Equal look-ups at the same time ask once.
    ///
    /// # Errors
    ///
    /// What `ask` failed with, or that it died.
    pub async fn get_or_ask<E, F>(&self, key: Fingerprint, ask: F) -> Result<(Arc<V>, Served), Unanswered<E>>
    where
        E: Send + Sync + 'static,
        F: Future<Output = Result<V, E>> + Send + 'static,
    {
        if let Some(stored) = self.entries.get(&key).await {
            count("hit");
            return Ok((stored, Served::Stored));
        }
        let entries = self.entries.clone();
        let asked_here = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&asked_here);
        let task = tokio::spawn(async move {
            entries
                .try_get_with(key, async move {
                    flag.store(true, Ordering::Relaxed);
                    ask.await.map(Arc::new)
                })
                .await
        });
        let answer = task.await.map_err(|_| Unanswered::Died)?;
        let served = if asked_here.load(Ordering::Relaxed) {
            Served::Fresh
        } else {
            Served::Coalesced
        };
        count(match served {
            Served::Fresh => "miss",
            Served::Coalesced | Served::Stored => "coalesced",
        });
        answer.map(|value| (value, served)).map_err(Unanswered::Failed)
    }
}

/// What an entry takes besides its answer: key, links, counters.
const ENTRY_OVERHEAD: u32 = 256;

fn count(event: &'static str) {
    metrics::counter!(names::CACHE, "event" => event).increment(1);
}

#[cfg(test)]
mod tests;
