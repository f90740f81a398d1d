//! Memory: recalls the session in whose light a step is to be seen, and remembers the step with its verdict.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::pending_updates::{EarlierUpdates, PendingUpdate, PendingUpdates};
use super::step_record::Identity;
use super::{
    Effects, Keys, Nameless, SessionSnapshot, SessionStore, Settings, Settled, StepRecord, StoreFailure, TaintedMemory,
    taint,
};
use crate::model::{Caller, Gap, History, Kind, Step};
use crate::policy::Policy;
use crate::telemetry::names;

/// The memory that a guardian has of sessions. Cheap to clone.
#[derive(Clone)]
pub struct Memory {
    store: Arc<dyn SessionStore>,
    nameless: Nameless,
    pending: Arc<PendingUpdates>,
    began: Instant,
    time_to_live: Duration,
}

/// A session as a store recalled it. The default is that of a step that is judged by itself.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    keys: Keys,
    past: Arc<SessionSnapshot>,
    /// True if a session that is not known may have begun before the store.
    young: bool,
}

impl Snapshot {
    /// Returns the session and the agent that it belongs to.
    pub fn keys(&self) -> Keys {
        self.keys
    }

    /// Returns the session as it is to be seen by a step: another posting of an earlier one sees what that one saw.
    pub fn seen_by(self, step: &Step) -> Recalled {
        let identity = Identity::of(step);
        let unknown = self.young && self.past.is_empty() && self.past.gap().is_none();
        let past = if unknown && step.session.is_some() && cannot_be_first(step.kind) {
            Arc::new(self.past.after(Gap::BeganBefore))
        } else {
            self.past
        };
        Recalled {
            keys: self.keys,
            past: past.as_seen_by(&identity),
            identity,
        }
    }
}

/// Returns `true` if something has to happen in a session before a step of this kind: a request to the agent, or its call of a tool.
fn cannot_be_first(kind: Kind) -> bool {
    kind.is_tool_answer()
        || matches!(
            kind,
            Kind::AgentMessage | Kind::ToolCall | Kind::MemoryStore | Kind::A2aResponse
        )
}

/// A step in the light of its session.
#[derive(Clone, Debug)]
pub struct Recalled {
    keys: Keys,
    identity: Identity,
    past: Arc<SessionSnapshot>,
}

impl Recalled {
    /// Returns the session before the step.
    pub fn past(&self) -> &Arc<SessionSnapshot> {
        &self.past
    }

    /// Returns the record of the step that is to be remembered. `happened` is the step as it happened: the modified one if it was modified; the
    /// findings are those of the step as it was received.
    pub fn step_record(&self, happened: &Step, received: &Step, settled: Settled<'_>, policy: &Policy) -> StepRecord {
        let stores = happened.kind == Kind::MemoryStore && settled.outcome.happened();
        StepRecord {
            seen: self.past.next_number(),
            gap: self.past.gap(),
            effects: Effects::of(received, settled.findings, settled.withheld, policy),
            tainted_memories: if stores {
                self.tainted_memories(happened)
            } else {
                Vec::new()
            },
            ..StepRecord::new(happened, &self.identity, settled)
        }
    }

    /// Returns the memories that a step stores out of texts that were read before from places without authority.
    fn tainted_memories(&self, step: &Step) -> Vec<TaintedMemory> {
        let hits = self.past.facts().taint().look(step);
        let foreign = hits.iter().filter(|hit| hit.relation == taint::UserRelation::Stranger);
        let mut memories = Vec::new();
        let mut told = None;
        for hit in foreign {
            let Some(id) = hit.content.filter(|id| told != Some(*id)) else {
                continue;
            };
            told = Some(id);
            if let Some(content) = step.content(id) {
                memories.push(TaintedMemory::of(
                    &content.text,
                    hit.first.origin,
                    hit.first.tool.clone(),
                ));
            }
        }
        memories
    }

    /// Returns what a judge may be told about the session of a step.
    pub fn history(&self, step: &Step) -> History {
        self.past.history(step)
    }
}

impl Memory {
    /// Makes a memory over any store; sessions live as long as they do by default.
    pub fn new(store: Arc<dyn SessionStore>, nameless: Nameless) -> Self {
        let settings = Settings {
            nameless,
            ..Settings::default()
        };
        Self::with(store, &settings)
    }

    /// Makes a memory over any store, with the settings for sessions without a name and for the time that they live.
    pub fn with(store: Arc<dyn SessionStore>, settings: &Settings) -> Self {
        Self {
            store,
            nameless: settings.nameless,
            pending: Arc::default(),
            began: Instant::now(),
            time_to_live: settings.time_to_live,
        }
    }

    /// Waits until what was remembered is where it is kept, but not for ever.
    pub fn flush(&self) {
        self.store.flush();
    }

    /// Returns the session and the agent of a step. A caller without a credential has no session but those that steps name.
    pub fn keys(&self, caller: &Caller, standing: Authentication, step: &Step) -> Keys {
        let nameless = match standing {
            Authentication::Authenticated => self.nameless,
            Authentication::Anonymous => Nameless::Alone,
        };
        Keys::of(caller, step, nameless)
    }

    /// Returns the updates that have to end before a step with these keys may read its session.
    pub fn earlier_updates(&self, keys: &Keys) -> Option<EarlierUpdates> {
        self.pending.of(*keys)
    }

    /// Returns every update that has been started and has not ended.
    pub fn pending_updates(&self) -> EarlierUpdates {
        self.pending.all()
    }

    /// Makes later steps wait, on all nodes, until what comes back is dropped.
    pub async fn begin(&self, keys: Keys) -> PendingUpdate {
        let pending = self.pending.begin(keys);
        pending.marked(self.store.begin(keys).await)
    }

    /// Returns `true` if a recall asks a server.
    pub fn is_shared(&self) -> bool {
        self.store.shared_for().is_some()
    }

    /// Returns the session before a step with these keys.
    ///
    /// # Errors
    ///
    /// When the store does not answer.
    pub async fn recall(&self, keys: Keys) -> Result<Snapshot, StoreFailure> {
        let past = match keys.session {
            Some(session) => self.store.recall(session, keys.agent).await?,
            None => Arc::default(),
        };
        // Once the store is older than a session lives, whatever began before it would be forgotten by now.
        let age = self.store.shared_for().unwrap_or_else(|| self.began.elapsed());
        let young = age < self.time_to_live;
        Ok(Snapshot { keys, past, young })
    }

    /// Returns a step together with its session, once all earlier updates of the session have ended.
    ///
    /// # Errors
    ///
    /// When the store does not answer.
    pub async fn see(&self, caller: &Caller, standing: Authentication, step: &Step) -> Result<Recalled, StoreFailure> {
        let keys = self.keys(caller, standing, step);
        if let Some(earlier_updates) = self.earlier_updates(&keys) {
            earlier_updates.wait().await;
        }
        Ok(self.recall(keys).await?.seen_by(step))
    }

    /// Remembers a step by its record.
    ///
    /// # Errors
    ///
    /// When the store does not answer.
    pub async fn remember(&self, recalled: &Recalled, record: StepRecord) -> Result<(), StoreFailure> {
        let Some(session) = recalled.keys.session else {
            return Ok(());
        };
        self.store.remember(session, recalled.keys.agent, record).await?;
        metrics::gauge!(names::SESSIONS).set(self.store.sessions() as f64);
        metrics::counter!(names::SESSION_EVICTIONS).absolute(self.store.evicted());
        Ok(())
    }
}

/// The identification of the caller by its credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authentication {
    /// The credential names the caller.
    Authenticated,
    /// There are no credentials: anyone may be calling.
    Anonymous,
}
