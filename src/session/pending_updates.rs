//! The session updates that have been started and have not ended, and the wait of the next step for them.
//!
//! A session is updated after the answer to a step was sent. A step waits only for the updates that started before it
//! arrived, so no step waits for ever. Steps of the same agent in other sessions wait as well, because they read the
//! agent's record, which the update also changes.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use super::{AgentKey, Keys, Marker, SessionKey};

/// The updates that have been started, by session and by agent.
#[derive(Debug, Default)]
pub(super) struct PendingUpdates {
    tables: Mutex<Tables>,
}

#[derive(Debug, Default)]
struct Tables {
    next: u64,
    sessions: Waited<SessionKey>,
    agents: Waited<AgentKey>,
}

/// The updates of each key, oldest first.
type Waited<K> = HashMap<K, Vec<(u64, watch::Receiver<()>)>>;

/// One started update. Dropping it ends the wait of every step that waits for it.
pub struct PendingUpdate {
    pending: Arc<PendingUpdates>,
    keys: Keys,
    number: u64,
    marker: Option<Marker>,
    _done: watch::Sender<()>,
}

impl PendingUpdate {
    /// Returns the same, marked for other nodes.
    pub(super) fn marked(mut self, marker: Option<Marker>) -> Self {
        self.marker = marker;
        self
    }

    /// Ends it, for other nodes as well.
    pub async fn end(mut self) {
        if let Some(marker) = self.marker.take() {
            marker.end().await;
        }
    }
}

/// The updates that a step has to wait for.
#[derive(Debug)]
pub struct EarlierUpdates(Vec<watch::Receiver<()>>);

impl EarlierUpdates {
    /// Waits until all of them have ended.
    pub async fn wait(self) {
        for mut update in self.0 {
            // Nothing is ever sent: an error says that the update is over.
            while update.changed().await.is_ok() {}
        }
    }
}

impl PendingUpdates {
    /// Registers an update as started.
    pub(super) fn begin(self: &Arc<Self>, keys: Keys) -> PendingUpdate {
        let (done, over) = watch::channel(());
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        tables.next += 1;
        let number = tables.next;
        if let Some(session) = keys.session {
            tables.sessions.entry(session).or_default().push((number, over.clone()));
        }
        if let Some(agent) = keys.agent {
            tables.agents.entry(agent).or_default().push((number, over));
        }
        drop(tables);
        PendingUpdate {
            pending: Arc::clone(self),
            keys,
            number,
            marker: None,
            _done: done,
        }
    }

    /// Returns the updates that a step with these keys has to wait for.
    pub(super) fn of(&self, keys: Keys) -> Option<EarlierUpdates> {
        let tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let of_session = keys.session.and_then(|key| tables.sessions.get(&key));
        let of_agent = keys.agent.and_then(|key| tables.agents.get(&key));
        let updates: Vec<_> = of_session
            .into_iter()
            .chain(of_agent)
            .flatten()
            .map(|(_, over)| over.clone())
            .collect();
        (!updates.is_empty()).then_some(EarlierUpdates(updates))
    }

    /// Returns every started update.
    pub(super) fn all(&self) -> EarlierUpdates {
        let tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let updates = tables.sessions.values().chain(tables.agents.values()).flatten();
        EarlierUpdates(updates.map(|(_, over)| over.clone()).collect())
    }

    fn end(&self, keys: Keys, number: u64) {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = keys.session {
            leave(&mut tables.sessions, &key, number);
        }
        if let Some(key) = keys.agent {
            leave(&mut tables.agents, &key, number);
        }
    }
}

fn leave<K: Eq + Hash>(waited: &mut Waited<K>, key: &K, number: u64) {
    if let Some(updates) = waited.get_mut(key) {
        updates.retain(|(other, _)| *other != number);
        if updates.is_empty() {
            waited.remove(key);
        }
    }
}

impl Drop for PendingUpdate {
    fn drop(&mut self) {
        self.pending.end(self.keys, self.number);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::model::testing::step_with;
    use crate::model::{AgentId, Caller, OrganisationId, Origin, SessionId};
    use crate::session::Nameless;

    fn keys(session: &str) -> Keys {
        let caller = Caller {
            organisation: OrganisationId::new("acme"),
            name: "key-1".to_owned(),
        };
        let mut step = step_with(Origin::User, &["x"]);
        step.session = Some(SessionId::new(session));
        step.agent.get_or_insert_default().id = Some(AgentId::new("a"));
        Keys::of(&caller, &step, Nameless::Alone)
    }

    #[test]
    fn a_step_waits_for_what_was_decided_before_it_and_for_nothing_later() {
        let pending = Arc::new(PendingUpdates::default());
        assert!(pending.of(keys("s")).is_none());
        let first = pending.begin(keys("s"));
        let waits = pending.of(keys("s")).unwrap();
        let second = pending.begin(keys("s"));
        let of_agent = pending.of(keys("another")).unwrap();
        let mut waits = Box::pin(waits.wait());
        assert!(waits.as_mut().now_or_never().is_none());
        drop(first);
        assert!(waits.as_mut().now_or_never().is_some());
        let mut of_agent = Box::pin(of_agent.wait());
        assert!(of_agent.as_mut().now_or_never().is_none());
        drop(second);
        assert!(of_agent.now_or_never().is_some());
        assert!(pending.of(keys("s")).is_none());
        let tables = pending.tables.lock().unwrap();
        assert!(tables.sessions.is_empty() && tables.agents.is_empty());
    }
}
