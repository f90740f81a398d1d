//! Sessions on a server that several nodes share.
//!
//! ```text
//! recall ──▶ updates that other nodes have started? wait for them ──▶ changed since? ──no──▶ the copy in this process
//!                                                                        │yes
//!                                                                        ▼
//!                                                                read it, keep a copy
//! begin ───▶ marker: a step was decided, its update is under way (before the answer is sent)
//! remember ▶ past + record, written only over the past that it was made of; else again on top of the newer one
//! ```
//!
//! - Each write has a tag of its own. The server keeps the latest tags of a session, so a record whose answer was lost is not
//!   appended twice.
//! - A marker whose node never ended its update is found by the next step: the session then counts as incomplete.
//! - While the server is away, steps see the copies of this process, and say that other nodes may know more ([`Gap::Apart`]).
//!   Their records wait, bounded, and are appended when it answers again.
//! - A server that lost its state gets the sessions back from the copies, marked as incomplete.

mod scripts;
mod waiting;

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;

use scripts::{BEGIN, RECALL, WRITE};
use waiting::{Unsent, UpdateMark, Waiting};

use super::store::{AGENTS_LIVE, Marker};
use super::{AgentKey, AgentPast, Keys, SessionKey, SessionSnapshot, SessionStore, Settings, StepRecord, StoreFailure};
use crate::model::Gap;
use crate::shared::{Away, Link, LinkState};

/// The time that an update may be under way before its node counts as dead.
const LEASE: Duration = Duration::from_secs(3);
/// The number of attempts to append a record to a newer past before it has to wait.
const MAX_TRIES: usize = 32;
/// Bytes of a value from which reading it is no work for a thread that answers.
const LARGE: usize = 32 * 1024;
/// The bytes that a copy takes besides its value.
const ENTRY: usize = 512;

/// Sessions on a server; this process has copies of them.
#[derive(Clone)]
pub struct SharedSessions {
    shared: Arc<Shared>,
}

struct Shared {
    link: Link,
    settings: Settings,
    sessions: moka::sync::Cache<SessionKey, Copied<SessionSnapshot>>,
    agents: moka::sync::Cache<AgentKey, Copied<AgentPast>>,
    waiting: Mutex<Waiting>,
    merging: tokio::sync::Mutex<()>,
}

/// A value as this process knows it, and the tag under which the server has it; empty where it never had.
struct Copied<T> {
    value: Arc<T>,
    tag: String,
}

impl<T> Clone for Copied<T> {
    fn clone(&self) -> Self {
        Self {
            value: Arc::clone(&self.value),
            tag: self.tag.clone(),
        }
    }
}

/// The answer of [`RECALL`].
type Read = (String, Vec<u8>, bool, bool, String, Vec<u8>, Vec<String>);

/// The names of the keys of a session and its agent.
struct Names {
    session: String,
    markers: String,
    once: String,
    agent: String,
    agent_markers: String,
}

impl SharedSessions {
    /// Keeps sessions on the server behind this link.
    pub fn new(settings: Settings, link: Link) -> Self {
        let weight = |bytes: usize| u32::try_from(bytes + ENTRY).unwrap_or(u32::MAX);
        let shared = Arc::new(Shared {
            sessions: moka::sync::Cache::builder()
                .max_capacity(settings.bytes / 8 * 7)
                .time_to_idle(settings.time_to_live)
                .weigher(move |_, copy: &Copied<SessionSnapshot>| weight(copy.value.bytes()))
                .build(),
            agents: moka::sync::Cache::builder()
                .max_capacity(settings.bytes / 8)
                .time_to_idle(settings.time_to_live)
                .weigher(move |_, copy: &Copied<AgentPast>| weight(copy.value.bytes()))
                .build(),
            settings,
            link: link.clone(),
            waiting: Mutex::default(),
            merging: tokio::sync::Mutex::default(),
        });
        let merging = Arc::downgrade(&shared);
        let mut state = link.state();
        link.spawn(async move {
            while state.wait_for(|state| *state == LinkState::Answers).await.is_ok() {
                let Some(shared) = merging.upgrade() else { return };
                shared.merge_all().await;
                drop(shared);
                if state.changed().await.is_err() {
                    return;
                }
            }
        });
        Self { shared }
    }
}

impl Shared {
    fn names(&self, session: SessionKey, agent: Option<AgentKey>) -> Names {
        let owner = session.owner();
        let name = |kind: &str, id: &[u8]| self.link.key(kind, owner.as_bytes(), id);
        let agent = agent.as_ref().map_or(&[][..], |agent| agent.as_bytes());
        Names {
            session: name("session", session.as_bytes()),
            markers: name("updates", session.as_bytes()),
            once: name("once", session.as_bytes()),
            agent: name("agent", agent),
            agent_markers: name("agent-updates", agent),
        }
    }

    fn millis(time: Duration) -> u64 {
        u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
    }

    async fn read(&self, names: &Names, session: &SessionKey, agent: Option<&AgentKey>) -> Result<Read, Away> {
        let known = self.sessions.get(session).map(|copy| copy.tag).unwrap_or_default();
        let agent = agent.and_then(|agent| self.agents.get(agent));
        let mut call = RECALL.key(&names.session);
        call.key(&names.markers)
            .key(&names.once)
            .key(&names.agent)
            .key(&names.agent_markers)
            .arg(known)
            .arg(agent.map(|copy| copy.tag).unwrap_or_default())
            .arg(Self::millis(self.settings.time_to_live));
        self.link.run_again(&call).await
    }

    /// Reads, once every update has ended that had begun at the first look.
    async fn settled(&self, names: &Names, session: &SessionKey, agent: Option<&AgentKey>) -> Result<Read, Away> {
        let mut read = self.read(names, session, agent).await?;
        let earlier: HashSet<String> = read.6.drain(..).collect();
        let mut pause = Duration::from_millis(1);
        let mut left: Vec<String> = earlier.iter().cloned().collect();
        while !left.is_empty() {
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(20));
            read = self.read(names, session, agent).await?;
            left = read.6.drain(..).filter(|marker| earlier.contains(marker)).collect();
        }
        Ok(read)
    }

    async fn recalled(&self, session: SessionKey, agent: Option<AgentKey>) -> Arc<SessionSnapshot> {
        let names = self.names(session, agent);
        self.end_late().await;
        self.merge(session).await;
        let past = match self.settled(&names, &session, agent.as_ref()).await {
            Ok((tag, value, lost, once, agent_tag, agent_value, _)) => {
                if let Some(agent) = agent {
                    let value = self.decoded(&names.agent, agent_value).await;
                    keep_copy(&self.agents, agent, agent_tag, value);
                }
                match (tag.is_empty(), once) {
                    // It is over by the server's time.
                    (true, true) => {
                        self.sessions.invalidate(&session);
                        Arc::new(SessionSnapshot::default().after(Gap::TooLongAgo))
                    }
                    // The server lost its state, or never had the session.
                    (true, false) => match self.sessions.get(&session) {
                        Some(copy) if !copy.tag.is_empty() => Arc::new(copy.value.after(Gap::Apart)),
                        Some(_) | None if lost => Arc::new(SessionSnapshot::default().after(Gap::Apart)),
                        Some(copy) => copy.value,
                        None => Arc::default(),
                    },
                    (false, _) => {
                        let is_known = value.is_empty();
                        let value = self.decoded(&names.session, value).await;
                        let unread = value.is_none() && !is_known;
                        match keep_copy(&self.sessions, session, tag, value) {
                            Some(past) if !unread && !lost => past,
                            Some(past) => Arc::new(past.after(Gap::Apart)),
                            None => Arc::new(SessionSnapshot::default().after(Gap::Apart)),
                        }
                    }
                }
            }
            Err(Away) => {
                let known = self.sessions.get(&session).map(|copy| copy.value);
                Arc::new(known.unwrap_or_default().after(Gap::Apart))
            }
        };
        let past = match self.link.is_settling() {
            true => Arc::new(past.after(Gap::Apart)),
            false => past,
        };
        match agent.and_then(|agent| self.agents.get(&agent)) {
            Some(agent) => Arc::new(past.of_agent(agent.value)),
            None => past,
        }
    }

    /// Decodes a value that was read; `None` if it is empty, or not understood.
    async fn decoded<T: DeserializeOwned + Send + 'static>(&self, name: &str, value: Vec<u8>) -> Option<T> {
        if value.is_empty() {
            return None;
        }
        let (link, name) = (self.link.clone(), name.to_owned());
        let is_large = value.len() >= LARGE;
        let decode = move || {
            let value = link.unseal(&name, &value)?;
            rmp_serde::from_slice(&value).ok()
        };
        let decoded = match is_large {
            true => tokio::task::spawn_blocking(decode).await.ok().flatten(),
            false => decode(),
        };
        if decoded.is_none() {
            tracing::warn!("a shared session is not understood: another version wrote it, or its key is another one");
        }
        decoded
    }

    fn encoded<T: Serialize>(&self, name: &str, value: &T) -> Result<Vec<u8>, StoreFailure> {
        let value = rmp_serde::to_vec_named(value).map_err(|error| StoreFailure(error.to_string()))?;
        let sealed = self.link.seal(name, &value);
        sealed.ok_or_else(|| StoreFailure("it cannot be encrypted".to_owned()))
    }

    /// Appends a record to the session and tells of the agent; `Away` where the server was not told.
    async fn append(&self, session: SessionKey, unsent: &Unsent) -> Result<Result<(), Away>, StoreFailure> {
        let names = self.names(session, unsent.agent);
        let live = self.settings.time_to_live;
        let change = |past: &SessionSnapshot| Some(past.with(unsent.record.clone(), &self.settings));
        let places = Places::of_session(&names, live);
        let written = self.write(&self.sessions, session, places, &unsent.tag, change).await?;
        if written.is_err() {
            return Ok(written);
        }
        let Some(agent) = unsent.agent else { return Ok(written) };
        let change = |past: &AgentPast| past.changes_with(&unsent.record).then(|| past.with(&unsent.record));
        let places = Places {
            name: &names.agent,
            once: None,
            live: live.saturating_mul(AGENTS_LIVE),
        };
        self.write(&self.agents, agent, places, &unsent.tag, change).await
    }

    /// Applies a change to the latest value and writes the result; `None` leaves it as it is.
    async fn write<K, T>(
        &self,
        copies: &moka::sync::Cache<K, Copied<T>>,
        key: K,
        places: Places<'_>,
        tag: &str,
        change: impl Fn(&T) -> Option<T>,
    ) -> Result<Result<(), Away>, StoreFailure>
    where
        K: std::hash::Hash + Eq + Copy + Send + Sync + 'static,
        T: Serialize + DeserializeOwned + Default + Send + Sync + 'static,
    {
        let mut restored = false;
        for _ in 0..MAX_TRIES {
            let (value, expected) = match copies.get(&key) {
                Some(copy) if restored => (copy.value, String::new()),
                Some(copy) => (copy.value, copy.tag),
                None => (Arc::default(), String::new()),
            };
            let Some(changed) = change(&value) else {
                return Ok(Ok(()));
            };
            let sealed = self.encoded(places.name, &changed)?;
            let written = self.try_write(places, &expected, tag, sealed, restored).await;
            let Ok((outcome, there, value)) = written else {
                return Ok(Err(Away));
            };
            if outcome == "written" {
                let value = Arc::new(changed);
                copies.insert(key, Copied { value, tag: there });
                return Ok(Ok(()));
            }
            // The server lost what this process still has.
            restored = there.is_empty();
            if !restored {
                let value = self.decoded(places.name, value).await;
                let known = keep_copy(copies, key, there, value);
                if known.is_none() {
                    return Err(StoreFailure("what other nodes wrote is not understood".to_owned()));
                }
            }
            if outcome == "done" {
                return Ok(Ok(()));
            }
        }
        Ok(Err(Away))
    }

    /// Writes a value over the one of the expected tag; returns the answer of [`WRITE`].
    async fn try_write(
        &self,
        places: Places<'_>,
        expected: &str,
        tag: &str,
        sealed: Vec<u8>,
        is_restored: bool,
    ) -> Result<(String, String, Vec<u8>), Away> {
        let mut call = WRITE.key(places.name);
        if let Some(once) = places.once {
            call.key(once);
        }
        call.arg(expected)
            .arg(tag)
            .arg(sealed)
            .arg(Self::millis(places.live))
            .arg(u8::from(is_restored));
        self.link.run_again(&call).await
    }
}

/// The keys where a value is written, and the time for which it is kept.
#[derive(Clone, Copy)]
struct Places<'a> {
    name: &'a str,
    /// The key that records for longer that the value was there.
    once: Option<&'a str>,
    live: Duration,
}

impl<'a> Places<'a> {
    fn of_session(names: &'a Names, live: Duration) -> Self {
        Self {
            name: &names.session,
            once: Some(&names.once),
            live,
        }
    }
}

/// Keeps a value that was read; if only its tag was read, returns the copy that has this tag.
fn keep_copy<K, T>(copies: &moka::sync::Cache<K, Copied<T>>, key: K, tag: String, read: Option<T>) -> Option<Arc<T>>
where
    K: std::hash::Hash + Eq + Send + Sync + 'static,
    T: Send + Sync + 'static,
{
    let Some(value) = read.map(Arc::new) else {
        return copies.get(&key).filter(|copy| copy.tag == tag).map(|copy| copy.value);
    };
    copies.insert(
        key,
        Copied {
            value: Arc::clone(&value),
            tag,
        },
    );
    Some(value)
}

impl SessionStore for SharedSessions {
    fn recall(
        &self,
        session: SessionKey,
        agent: Option<AgentKey>,
    ) -> BoxFuture<'_, Result<Arc<SessionSnapshot>, StoreFailure>> {
        self.shared.recalled(session, agent).map(Ok).boxed()
    }

    fn remember(
        &self,
        session: SessionKey,
        agent: Option<AgentKey>,
        record: StepRecord,
    ) -> BoxFuture<'_, Result<(), StoreFailure>> {
        let tag = uuid::Uuid::new_v4().simple().to_string();
        let unsent = Unsent { tag, agent, record };
        async move {
            self.shared.merge(session).await;
            // Behind those that still wait, in their order.
            let waits = self.shared.lock().by_session.contains_key(&session);
            if waits || self.shared.append(session, &unsent).await?.is_err() {
                self.shared.wait(session, unsent);
            }
            Ok(())
        }
        .boxed()
    }

    fn begin(&self, keys: Keys) -> BoxFuture<'_, Option<Marker>> {
        async move {
            let session = keys.session?;
            let names = self.shared.names(session, keys.agent);
            let mut places = vec![names.markers];
            places.extend(keys.agent.map(|_| names.agent_markers));
            let marker = uuid::Uuid::new_v4().simple().to_string();
            let lease = Shared::millis(LEASE);
            let mut call = BEGIN.prepare_invoke();
            places.iter().for_each(|place| {
                call.key(place);
            });
            call.arg(&marker).arg(lease).arg(lease.saturating_mul(100));
            self.shared.link.run_again::<u8>(&call).await.ok()?;
            let shared = Arc::clone(&self.shared);
            Some(Marker::new(self.shared.link.clone(), async move {
                shared.end(UpdateMark { places, marker }).await;
            }))
        }
        .boxed()
    }

    fn shared_for(&self) -> Option<Duration> {
        Some(self.shared.link.age())
    }

    fn sessions(&self) -> u64 {
        self.shared.sessions.entry_count()
    }

    fn evicted(&self) -> u64 {
        0
    }

    fn flush(&self) {
        let records = self.shared.lock().records;
        if records > 0 {
            tracing::error!(
                records,
                "steps that this node decided alone could not be merged into shared state"
            );
        }
    }
}

#[cfg(test)]
mod tests;
