//! Memory: recalls what a step has to be seen in the light of, and remembers what became of it.

use std::sync::Arc;

use super::happening::Identity;
use super::learning::{Learning, Underway, Unlearned};
use super::{Deed, Happening, Keys, Nameless, Past, SessionStore, Settled, StoreFailure, TaintedMemory, taint};
use crate::model::{Caller, History, Kind, Step};
use crate::policy::Policy;
use crate::telemetry::names;

/// What a guardian remembers of sessions. Cheap to clone.
#[derive(Clone)]
pub struct Memory {
    store: Arc<dyn SessionStore>,
    nameless: Nameless,
    underway: Arc<Underway>,
}

/// A session as a store recalled it. The default is that of a step that is judged by itself.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    keys: Keys,
    past: Arc<Past>,
}

impl Snapshot {
    /// Whose it is.
    pub fn keys(&self) -> Keys {
        self.keys
    }

    /// The session as it is to be seen by a step: another posting of an earlier one sees what that one saw.
    pub fn seen_by(self, step: &Step) -> Recalled {
        let identity = Identity::of(step);
        Recalled {
            keys: self.keys,
            past: self.past.as_seen_by(&identity),
            identity,
        }
    }
}

/// A step in the light of its session.
#[derive(Clone, Debug)]
pub struct Recalled {
    keys: Keys,
    identity: Identity,
    past: Arc<Past>,
}

impl Recalled {
    /// What happened before.
    pub fn past(&self) -> &Arc<Past> {
        &self.past
    }

    /// What is to be remembered of the step. `happened` is the step as it happened: the modified one where it was modified;
    /// the findings are those of the step as it was received.
    pub fn happening(&self, happened: &Step, received: &Step, settled: Settled<'_>, policy: &Policy) -> Happening {
        let mut happening = Happening::new(happened, &self.identity, settled);
        happening.deed = Deed::of(received, settled.findings, policy);
        if happened.kind == Kind::MemoryStore && settled.outcome.happened() {
            happening.tainted_memories = self.tainted_memories(happened);
        }
        happening
    }

    /// The memories that a step stores out of texts that were read before from places without authority.
    fn tainted_memories(&self, step: &Step) -> Vec<TaintedMemory> {
        let echoes = self.past.trail().taint().look(step);
        let foreign = echoes.iter().filter(|echo| echo.standing == taint::Standing::Stranger);
        let mut memories = Vec::new();
        let mut told = None;
        for echo in foreign {
            let Some(id) = echo.content.filter(|id| told != Some(*id)) else {
                continue;
            };
            told = Some(id);
            if let Some(content) = step.content(id) {
                memories.push(TaintedMemory::of(
                    &content.text,
                    echo.first.origin,
                    echo.first.tool.clone(),
                ));
            }
        }
        memories
    }

    /// What a judge may be told about a step.
    pub fn history(&self, step: &Step) -> History {
        self.past.history(step)
    }
}

impl Memory {
    /// Over any store.
    pub fn new(store: Arc<dyn SessionStore>, nameless: Nameless) -> Self {
        Self {
            store,
            nameless,
            underway: Arc::default(),
        }
    }

    /// The session and the agent of a step. Whoever stands for nobody in particular has no session but those that steps name.
    pub fn keys(&self, caller: &Caller, standing: Standing, step: &Step) -> Keys {
        let nameless = match standing {
            Standing::Known => self.nameless,
            Standing::Anybody => Nameless::Alone,
        };
        Keys::of(caller, step, nameless)
    }

    /// What has to be learned before a step with these keys sees its session.
    pub fn unlearned(&self, keys: &Keys) -> Option<Unlearned> {
        self.underway.of(*keys)
    }

    /// Makes later steps wait until what comes back is dropped.
    pub fn begin(&self, keys: Keys) -> Learning {
        self.underway.begin(keys)
    }

    /// What happened before a step with these keys.
    ///
    /// # Errors
    ///
    /// When the store does not answer.
    pub async fn recall(&self, keys: Keys) -> Result<Snapshot, StoreFailure> {
        let past = match keys.session {
            Some(session) => self.store.recall(session, keys.agent).await?,
            None => Arc::default(),
        };
        Ok(Snapshot { keys, past })
    }

    /// A step in the light of its session, once all that was decided before is learned.
    ///
    /// # Errors
    ///
    /// When the store does not answer.
    pub async fn see(&self, caller: &Caller, standing: Standing, step: &Step) -> Result<Recalled, StoreFailure> {
        let keys = self.keys(caller, standing, step);
        if let Some(unlearned) = self.unlearned(&keys) {
            unlearned.wait().await;
        }
        Ok(self.recall(keys).await?.seen_by(step))
    }

    /// Remembers what became of a step.
    ///
    /// # Errors
    ///
    /// When the store does not answer.
    pub async fn remember(&self, recalled: &Recalled, mut happening: Happening) -> Result<(), StoreFailure> {
        let Some(session) = recalled.keys.session else {
            return Ok(());
        };
        happening.seen = recalled.past.next_number();
        self.store.remember(session, recalled.keys.agent, happening).await?;
        metrics::gauge!(names::SESSIONS).set(self.store.sessions() as f64);
        metrics::counter!(names::SESSION_EVICTIONS).absolute(self.store.evicted());
        Ok(())
    }
}

/// Whether a credential says who is calling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It does.
    Known,
    /// There are no credentials: anybody may be calling.
    Anybody,
}
