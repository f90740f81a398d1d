//! The stores of sessions: a small trait, and the store in this process.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use moka::notification::RemovalCause;
use moka::policy::EvictionPolicy;

use super::evicted_sessions::EvictedSessions;
use super::{AgentKey, AgentPast, Keys, OrganisationHash, SessionKey, SessionSnapshot, StepRecord};
use crate::model::Gap;
use crate::organisation_share::Shares;
use crate::shared::Link;

/// The bounds of what is remembered.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Sessions over all organisations.
    pub sessions: u64,
    /// Bytes over all sessions.
    pub bytes: u64,
    /// The part of sessions and bytes that one organisation may hold, over 0 and up to 1.
    pub organisation_share: f64,
    /// Steps of one session.
    pub steps_per_session: usize,
    /// Bytes of one session, with all that is known of it.
    pub bytes_per_session: usize,
    /// The time that a session is remembered after its last step.
    pub time_to_live: Duration,
    /// The treatment of steps that name no session.
    pub nameless: super::Nameless,
    /// The place of sessions over a restart; `None`: in this process alone.
    pub kept: Option<Kept>,
}

/// The folder in which sessions are kept over a restart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The folder; it belongs to one guardian.
    pub directory: PathBuf,
    /// Bytes that it may take.
    pub bytes: u64,
    /// The time that is waited for another guardian that uses the folder.
    pub wait: Duration,
}

impl Settings {
    /// Returns the same settings, in this process alone: for commands that are no server.
    pub fn in_process(self) -> Self {
        Self { kept: None, ..self }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            sessions: 100_000,
            bytes: 256 * 1024 * 1024,
            organisation_share: 0.5,
            steps_per_session: 200,
            bytes_per_session: 1024 * 1024,
            time_to_live: Duration::from_secs(3_600),
            nameless: super::Nameless::ByCredential,
            kept: None,
        }
    }
}

/// The reason why a session could not be recalled or remembered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the store of sessions did not answer: {0}")]
pub struct StoreFailure(pub String);

/// Says, as long as it lives, that the update of a session is under way.
pub struct Marker {
    link: Link,
    end: Option<BoxFuture<'static, ()>>,
}

impl Marker {
    /// Makes a marker that ends so.
    pub(super) fn new(link: Link, end: impl Future<Output = ()> + Send + 'static) -> Self {
        Self {
            link,
            end: Some(end.boxed()),
        }
    }

    /// Ends it, and waits until all nodes can know.
    pub(super) async fn end(mut self) {
        if let Some(end) = self.end.take() {
            end.await;
        }
    }
}

impl Drop for Marker {
    fn drop(&mut self) {
        if let Some(end) = self.end.take() {
            self.link.spawn(end);
        }
    }
}

/// A place where sessions are kept.
pub trait SessionStore: Send + Sync {
    /// Returns the past of a session, and the knowledge about the agent. An unknown session has an empty past.
    fn recall(
        &self,
        session: SessionKey,
        agent: Option<AgentKey>,
    ) -> BoxFuture<'_, Result<Arc<SessionSnapshot>, StoreFailure>>;

    /// Appends a step record to a session. Appending to one session by several at a time loses nothing.
    fn remember(
        &self,
        session: SessionKey,
        agent: Option<AgentKey>,
        record: StepRecord,
    ) -> BoxFuture<'_, Result<(), StoreFailure>>;

    /// Tells other nodes, where there are any, that an update has begun; their steps wait until it has ended.
    fn begin(&self, _: Keys) -> BoxFuture<'_, Option<Marker>> {
        ready(None).boxed()
    }

    /// Returns the time for which a store that nodes share has held sessions; `None` if each process has its own.
    fn shared_for(&self) -> Option<Duration> {
        None
    }

    /// Returns the number of sessions that are remembered, roughly.
    fn sessions(&self) -> u64;

    /// Returns the number of sessions that had to make room for others, since the start.
    fn evicted(&self) -> u64;

    /// Waits until what was remembered is where it is kept, but not for ever.
    fn flush(&self) {}
}

/// Tells the time; tests bring their own.
pub type Clock = Arc<dyn Fn() -> Instant + Send + Sync>;

/// Sessions in this process.
pub struct LocalSessions {
    sessions: moka::future::Cache<SessionKey, Arc<Entry<SessionSnapshot>>>,
    agents: moka::future::Cache<AgentKey, Arc<AgentPast>>,
    session_shares: Arc<Shares<OrganisationHash, SessionKey>>,
    agent_shares: Arc<Shares<OrganisationHash, AgentKey>>,
    forgotten: Arc<EvictedSessions>,
    /// The least weight of a session.
    least: u64,
    settings: Settings,
    evicted: Arc<AtomicU64>,
    clock: Clock,
}

/// A value, and when it was last written.
struct Entry<T> {
    value: Arc<T>,
    at: Instant,
}

/// The state after a step record.
pub(super) struct Learned {
    pub(super) past: Arc<SessionSnapshot>,
    /// The knowledge about the agent, if it is more than before.
    pub(super) agent: Option<Arc<AgentPast>>,
}

/// The divisor of the bytes for knowledge about agents, which is kept much longer than a session.
const FOR_AGENTS: u64 = 8;
/// The number of times longer.
pub(super) const AGENTS_LIVE: u32 = 24 * 7;
/// The bytes that an entry takes besides its value, here and where shares are counted.
const ENTRY: usize = 512;

/// Returns the weight of a session: no session weighs so little that more than allowed would fit.
fn weight(past: &SessionSnapshot, least: u64) -> u32 {
    let bytes = (past.bytes() + ENTRY) as u64;
    u32::try_from(bytes.max(least)).unwrap_or(u32::MAX)
}

fn weight_of_agent(agent: &AgentPast) -> u32 {
    u32::try_from(agent.bytes() + ENTRY).unwrap_or(u32::MAX)
}

impl LocalSessions {
    /// Makes a store without any session.
    pub fn new(settings: Settings) -> Self {
        Self::with_clock(settings, Arc::new(Instant::now))
    }

    /// Makes one with another clock.
    pub fn with_clock(settings: Settings, clock: Clock) -> Self {
        let evicted = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&evicted);
        let for_agents = settings.bytes / FOR_AGENTS;
        let for_sessions = settings.bytes - for_agents;
        let least = for_sessions / settings.sessions.max(1);
        // Casts of floats saturate.
        let share = |bytes: u64| (bytes as f64 * settings.organisation_share) as u64;
        let session_shares = Arc::new(Shares::new(share(for_sessions)));
        let agent_shares = Arc::new(Shares::new(share(for_agents)));
        let (of_sessions, of_agents) = (Arc::clone(&session_shares), Arc::clone(&agent_shares));
        let forgotten = Arc::new(EvictedSessions::default());
        let forgets = Arc::clone(&forgotten);
        Self {
            sessions: moka::future::Cache::builder()
                .max_capacity(for_sessions)
                .eviction_policy(EvictionPolicy::lru())
                .time_to_idle(settings.time_to_live)
                .weigher(move |_, kept: &Arc<Entry<SessionSnapshot>>| weight(&kept.value, least))
                .eviction_listener(move |key: Arc<SessionKey>, _, cause| {
                    if cause == RemovalCause::Size {
                        counter.fetch_add(1, Ordering::Relaxed);
                    }
                    match cause {
                        RemovalCause::Replaced => return,
                        RemovalCause::Size | RemovalCause::Explicit => forgets.note(key.as_bytes(), Gap::MadeRoom),
                        RemovalCause::Expired => forgets.note(key.as_bytes(), Gap::TooLongAgo),
                    }
                    of_sessions.gone(&key.owner(), key.as_ref());
                })
                .build(),
            agents: moka::future::Cache::builder()
                .max_capacity(for_agents)
                .eviction_policy(EvictionPolicy::lru())
                .time_to_idle(settings.time_to_live.saturating_mul(AGENTS_LIVE))
                .weigher(|_, agent: &Arc<AgentPast>| weight_of_agent(agent))
                .eviction_listener(move |key: Arc<AgentKey>, _, cause| {
                    if cause != RemovalCause::Replaced {
                        of_agents.gone(&key.owner(), key.as_ref());
                    }
                })
                .build(),
            session_shares,
            agent_shares,
            forgotten,
            least,
            settings,
            evicted,
            clock,
        }
    }

    /// Returns the bytes that are taken, once what is under way is done.
    pub async fn settled_bytes(&self) -> u64 {
        self.sessions.run_pending_tasks().await;
        self.agents.run_pending_tasks().await;
        self.sessions.weighted_size() + self.agents.weighted_size()
    }

    /// Returns the past of a session, or the reason why there is none.
    async fn past(&self, session: &SessionKey) -> Result<Arc<SessionSnapshot>, Option<Gap>> {
        match self.sessions.get(session).await {
            Some(kept) if self.is_fresh(&kept) => Ok(Arc::clone(&kept.value)),
            Some(_) => Err(Some(Gap::TooLongAgo)),
            None => Err(self.forgotten.why(session.as_bytes())),
        }
    }

    /// Returns `true` if a session is remembered.
    pub(super) async fn holds(&self, session: &SessionKey) -> bool {
        self.past(session).await.is_ok()
    }

    /// Returns `true` if anything is known of an agent.
    pub(super) async fn holds_agent(&self, agent: &AgentKey) -> bool {
        self.agents.contains_key(agent)
    }

    /// Puts a session back that was kept elsewhere, unless it is remembered; `age` is the time since its last step.
    pub(super) async fn restore(&self, session: SessionKey, past: Arc<SessionSnapshot>, age: Duration) {
        if age >= self.settings.time_to_live {
            return;
        }
        let now = (self.clock)();
        // The clock may have begun after that step: with the machine.
        let at = now.checked_sub(age).unwrap_or(now);
        let mut leaving = Vec::new();
        let put = |entry: Option<moka::Entry<SessionKey, Arc<Entry<SessionSnapshot>>>>| {
            let known = entry.map(moka::Entry::into_value).filter(|kept| self.is_fresh(kept));
            std::future::ready(known.unwrap_or_else(|| {
                let weight = weight(&past, self.least);
                leaving = self.session_shares.wrote(session.owner(), session, weight);
                Arc::new(Entry {
                    value: Arc::clone(&past),
                    at,
                })
            }))
        };
        self.sessions.entry(session).and_upsert_with(put).await;
        self.let_go(leaving).await;
    }

    /// Puts back the knowledge about an agent, unless there is some.
    pub(super) async fn restore_agent(&self, key: AgentKey, agent: Arc<AgentPast>) {
        let mut leaving = Vec::new();
        let put = |entry: Option<moka::Entry<AgentKey, Arc<AgentPast>>>| {
            std::future::ready(entry.map(moka::Entry::into_value).unwrap_or_else(|| {
                leaving = self.agent_shares.wrote(key.owner(), key, weight_of_agent(&agent));
                Arc::clone(&agent)
            }))
        };
        self.agents.entry(key).and_upsert_with(put).await;
        for oldest in leaving {
            self.agents.invalidate(&oldest).await;
        }
    }

    async fn let_go(&self, leaving: Vec<SessionKey>) {
        for oldest in leaving {
            self.sessions.invalidate(&oldest).await;
            self.evicted.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Remembers a step record; answers what is remembered now.
    pub(super) async fn keep(&self, session: SessionKey, agent: Option<AgentKey>, record: StepRecord) -> Learned {
        let mut learned = Learned {
            past: Arc::default(),
            agent: None,
        };
        if let Some(key) = agent {
            learned.agent = self.keep_of_agent(key, &record).await;
        }
        // One session's step records are appended one after the other: nothing is lost when they come at once.
        let mut leaving = Vec::new();
        let append = |entry: Option<moka::Entry<SessionKey, Arc<Entry<SessionSnapshot>>>>| {
            let kept = entry.map(moka::Entry::into_value).filter(|kept| self.is_fresh(kept));
            let past = kept.map(|kept| Arc::clone(&kept.value)).unwrap_or_default();
            let past = Arc::new(past.with(record, &self.settings));
            // Counted before it is there: whatever removes it comes later.
            leaving = self
                .session_shares
                .wrote(session.owner(), session, weight(&past, self.least));
            learned.past = Arc::clone(&past);
            std::future::ready(Arc::new(Entry {
                value: past,
                at: (self.clock)(),
            }))
        };
        self.sessions.entry(session).and_upsert_with(append).await;
        self.let_go(leaving).await;
        learned
    }

    /// Learns of an agent; answers what is known now, where that is more than before.
    async fn keep_of_agent(&self, key: AgentKey, record: &StepRecord) -> Option<Arc<AgentPast>> {
        let known = self.agents.get(&key).await.unwrap_or_default();
        if !known.changes_with(record) {
            return None;
        }
        let mut leaving = Vec::new();
        let learn = |entry: Option<moka::Entry<AgentKey, Arc<AgentPast>>>| {
            let known = entry.map(moka::Entry::into_value).unwrap_or_default();
            let known = known.with(record);
            leaving = self.agent_shares.wrote(key.owner(), key, weight_of_agent(&known));
            std::future::ready(Arc::new(known))
        };
        let entry = self.agents.entry(key).and_upsert_with(learn).await;
        for oldest in leaving {
            self.agents.invalidate(&oldest).await;
        }
        Some(entry.into_value())
    }

    fn is_fresh(&self, kept: &Entry<SessionSnapshot>) -> bool {
        (self.clock)().saturating_duration_since(kept.at) < self.settings.time_to_live
    }
}

impl SessionStore for LocalSessions {
    fn recall(
        &self,
        session: SessionKey,
        agent: Option<AgentKey>,
    ) -> BoxFuture<'_, Result<Arc<SessionSnapshot>, StoreFailure>> {
        async move {
            let past = match self.past(&session).await {
                Ok(past) => past,
                Err(None) => Arc::default(),
                Err(Some(gap)) => Arc::new(SessionSnapshot::default().after(gap)),
            };
            let agent = match agent {
                Some(key) => self.agents.get(&key).await,
                None => None,
            };
            Ok(match agent {
                Some(agent) => Arc::new(past.of_agent(agent)),
                None => past,
            })
        }
        .boxed()
    }

    fn remember(
        &self,
        session: SessionKey,
        agent: Option<AgentKey>,
        record: StepRecord,
    ) -> BoxFuture<'_, Result<(), StoreFailure>> {
        async move {
            self.keep(session, agent, record).await;
            Ok(())
        }
        .boxed()
    }

    fn sessions(&self) -> u64 {
        self.sessions.entry_count()
    }

    fn evicted(&self) -> u64 {
        self.evicted.load(Ordering::Relaxed)
    }
}
