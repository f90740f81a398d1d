//! Verdicts of the judge, used again for equal steps.
//!
//! ```text
//! fingerprint ──▶ stored? ──yes──▶ hit
//!                    │no
//!                    ▼
//!            another caller asking already? ──yes──▶ wait for that answer (coalesced)
//!                    │no
//!                    ▼
//!            ask (miss) ──▶ answer: store, hand to all who wait
//!                      └──▶ failure: hand to all who wait, store nothing
//! ```
//!
//! - The [`Fingerprint`] covers everything that the judge would see, and nothing else.
//! - Only answers of a judge are stored; failures and fallbacks never are. A caller that waited for a failed call of another one is told so, and may
//!   ask again within its own deadline.
//! - Each look-up runs as a task of its own, so that a caller that hangs up cancels no other caller's answer, and the answer that was paid for is
//!   stored all the same.
//! - Entries are weighed in bytes; the least used leave when the bound is reached, and all leave after their time, which
//!   may be another one for denials. An entry past its time is not served, even if it is still there.
//! - An organisation that has filled its share ([`Shares`]) drives out its own oldest entries, never those of others.
//!
//! In process (moka), and behind it, if nodes share state, on their server (`shared.rs`): the miss above asks there first, and one node asks for all.

mod fingerprint;
mod shared;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use moka::notification::RemovalCause;

pub use fingerprint::{Fingerprint, Scope};

use shared::SharedAnswers;

use crate::model::{Decision, OrganisationId};
use crate::organisation_share::Shares;
use crate::shared::Link;
use crate::telemetry::names;

/// The bounds of the cache in bytes and time.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Bytes over all entries; 0 keeps nothing, but equal steps still share one call while it runs.
    pub max_bytes: u64,
    /// The time for which an allow or a modification is used again.
    pub time_to_live: Duration,
    /// The time for which a denial is. Not shorter than the other, as a rule: an attacker that tries again until a judge slips is to wait.
    pub deny_time_to_live: Duration,
    /// The part of all bytes that one organisation may hold, over 0 and up to 1.
    pub organisation_share: f64,
}

impl Settings {
    fn time_to_live_of(&self, decision: Decision) -> Duration {
        match decision {
            Decision::Allow | Decision::Modify => self.time_to_live,
            Decision::Deny => self.deny_time_to_live,
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_bytes: 64 * 1024 * 1024,
            time_to_live: Duration::from_secs(600),
            deny_time_to_live: Duration::from_secs(600),
            organisation_share: 0.25,
        }
    }
}

/// The way in which an answer was obtained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// It was asked for.
    Fresh,
    /// Another caller was asking already.
    Coalesced,
    /// It was stored.
    Stored {
        /// The time since then.
        age: Duration,
    },
}

/// An answer that can be kept.
pub trait Keep {
    /// Returns the bytes that it takes, those on the heap included.
    fn weight(&self) -> u32;

    /// Returns its decision.
    fn decision(&self) -> Decision;

    /// Returns its written form, for other nodes; `None` if it has none.
    fn to_bytes(&self) -> Option<Vec<u8>>;

    /// Reads an answer in its written form; returns `None` if it is not of this version.
    fn from_bytes(bytes: &[u8]) -> Option<Self>
    where
        Self: Sized;
}

/// The reason why there is no answer.
#[derive(Clone, Debug)]
pub enum Unanswered<E> {
    /// Asking failed here.
    Failed(Arc<E>),
    /// Another caller asked, and failed. Its deadline was another one: if there is time left, asking again may succeed.
    OthersFailed(Arc<E>),
    /// The task that asked died.
    Died,
}

/// A stored answer.
struct Entry<V> {
    answer: Arc<V>,
    stored: Instant,
    lives: Duration,
    weight: u32,
    /// Its organisation, and its number.
    organisation: OrganisationId,
    number: u64,
}

/// A cache of answers `V` with single-flight look-up.
pub struct AnswerCache<V> {
    shared: Arc<Shared<V>>,
}

struct Shared<V> {
    entries: moka::future::Cache<Fingerprint, Arc<Entry<V>>>,
    shares: Arc<Shares<OrganisationId, (u64, Fingerprint)>>,
    /// The number of the next entry: what replaces an entry is not taken for it.
    next: AtomicU64,
    /// The answers on the server that nodes share, if they share state.
    elsewhere: Option<SharedAnswers>,
    settings: Settings,
    clock: Clock,
}

/// The clock by which answers age.
type Clock = Arc<dyn Fn() -> Instant + Send + Sync>;

impl<V> Clone for AnswerCache<V> {
    /// Returns another handle of the same cache.
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

/// Each entry has a time of its own.
struct ByEntry;

impl<V> moka::Expiry<Fingerprint, Arc<Entry<V>>> for ByEntry {
    fn expire_after_create(&self, _: &Fingerprint, entry: &Arc<Entry<V>>, _: Instant) -> Option<Duration> {
        Some(entry.lives)
    }
}

impl<V: Keep + Send + Sync + 'static> AnswerCache<V> {
    /// Makes an empty cache.
    pub fn new(settings: &Settings) -> Self {
        Self::with(settings, None, Arc::new(Instant::now))
    }

    /// Makes a cache before the one that nodes share on the server behind this link.
    pub fn shared(settings: &Settings, link: Link) -> Self {
        // A cache that keeps nothing here keeps nothing there.
        let elsewhere = (settings.max_bytes > 0).then(|| SharedAnswers::new(link, settings.clone()));
        Self::with(settings, elsewhere, Arc::new(Instant::now))
    }

    fn with(settings: &Settings, elsewhere: Option<SharedAnswers>, clock: Clock) -> Self {
        // Casts of floats saturate; the share is checked to be a part.
        let share = (settings.max_bytes as f64 * settings.organisation_share) as u64;
        let shares = Arc::new(Shares::new(share));
        let held = Arc::clone(&shares);
        let entries = moka::future::Cache::builder()
            .max_capacity(settings.max_bytes)
            .expire_after(ByEntry)
            .weigher(|_: &Fingerprint, entry: &Arc<Entry<V>>| entry.weight)
            .eviction_listener(move |key, entry, cause| {
                held.gone(&entry.organisation, &(entry.number, *key));
                match cause {
                    RemovalCause::Size => count("evicted"),
                    RemovalCause::Expired => count("expired"),
                    RemovalCause::Explicit | RemovalCause::Replaced => {}
                }
            })
            .build();
        Self {
            shared: Arc::new(Shared {
                entries,
                shares,
                next: AtomicU64::new(0),
                elsewhere,
                settings: settings.clone(),
                clock,
            }),
        }
    }

    /// Returns the stored answer, or the one that `ask` gives. Equal look-ups at the same time ask once. The organisation is the
    /// one that the key is for.
    ///
    /// # Errors
    ///
    /// The error of `ask`, or that it died.
    pub async fn get_or_ask<E, F>(
        &self,
        organisation: &OrganisationId,
        key: Fingerprint,
        ask: F,
    ) -> Result<(Arc<V>, Served), Unanswered<E>>
    where
        E: Send + Sync + 'static,
        F: Future<Output = Result<V, E>> + Send + 'static,
    {
        if let Some(stored) = self.shared.entries.get(&key).await {
            let age = (self.shared.clock)().saturating_duration_since(stored.stored);
            if age < stored.lives {
                count("hit");
                return Ok((Arc::clone(&stored.answer), Served::Stored { age }));
            }
            count("expired");
            self.shared.entries.invalidate(&key).await;
        }
        let (shared, organisation) = (Arc::clone(&self.shared), organisation.clone());
        let looked_here = Arc::new(OnceLock::new());
        let looked = Arc::clone(&looked_here);
        let task = tokio::spawn(async move {
            let init = async {
                // Until there is an answer, whatever fails has failed here.
                let answered = match &shared.elsewhere {
                    None => ask.await.map(|answer| (answer, Served::Fresh)),
                    Some(elsewhere) => elsewhere.get_or_ask(&organisation, key, ask).await,
                };
                let _ = looked.set(answered.as_ref().map_or(Served::Fresh, |(_, served)| *served));
                let (answer, served) = answered?;
                Ok(shared.entry(answer, served, organisation, key).await)
            };
            shared.entries.try_get_with(key, init).await
        });
        let answer = task.await.map_err(|_| Unanswered::Died)?;
        let served = looked_here.get().copied().unwrap_or(Served::Coalesced);
        count(match served {
            Served::Fresh => "miss",
            Served::Coalesced => "coalesced",
            Served::Stored { .. } => "hit",
        });
        answer
            .map(|entry| (Arc::clone(&entry.answer), served))
            .map_err(|failure| match served {
                Served::Coalesced => Unanswered::OthersFailed(failure),
                Served::Fresh | Served::Stored { .. } => Unanswered::Failed(failure),
            })
    }
}

impl<V: Keep + Send + Sync + 'static> Shared<V> {
    /// Makes an entry for an answer; entries of its organisation beyond its share leave for it.
    async fn entry(&self, answer: V, served: Served, organisation: OrganisationId, key: Fingerprint) -> Arc<Entry<V>> {
        let now = (self.clock)();
        let stored = match served {
            // The clock may have begun after it was stored: with the machine.
            Served::Stored { age } => now.checked_sub(age).unwrap_or(now),
            Served::Fresh | Served::Coalesced => now,
        };
        let weight = answer.weight().saturating_add(ENTRY_OVERHEAD);
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        for (_, oldest) in self.shares.wrote(organisation.clone(), (number, key), weight) {
            count("evicted");
            self.entries.invalidate(&oldest).await;
        }
        Arc::new(Entry {
            stored,
            lives: self.settings.time_to_live_of(answer.decision()),
            answer: Arc::new(answer),
            weight,
            organisation,
            number,
        })
    }
}

/// The bytes of an entry besides its answer: keys, links, counters, the organisation's name and its place in the share.
const ENTRY_OVERHEAD: u32 = 512;

fn count(event: &'static str) {
    metrics::counter!(names::CACHE, "event" => event).increment(1);
}

#[cfg(test)]
mod tests;
