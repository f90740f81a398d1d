//! Learning: which sessions have steps that were decided but not learned from yet, and how the next step waits for that.
//!
//! A step waits only for those that were decided before it came, so nobody waits for ever. An agent's steps in other sessions
//! wait as well: what is known of the agent is theirs.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use super::{AgentKey, Keys, SessionKey};

/// What is being learned.
#[derive(Debug, Default)]
pub(super) struct Underway {
    tables: Mutex<Tables>,
}

#[derive(Debug, Default)]
struct Tables {
    next: u64,
    sessions: Waited<SessionKey>,
    agents: Waited<AgentKey>,
}

/// For each key what is under way, oldest first.
type Waited<K> = HashMap<K, Vec<(u64, watch::Receiver<()>)>>;

/// A lesson that is under way. Who waits for it goes on when it is dropped.
#[derive(Debug)]
pub struct Learning {
    underway: Arc<Underway>,
    keys: Keys,
    number: u64,
    _done: watch::Sender<()>,
}

/// Lessons that a step has to wait for.
#[derive(Debug)]
pub struct Unlearned(Vec<watch::Receiver<()>>);

impl Unlearned {
    /// Waits until all of them are learned.
    pub async fn wait(self) {
        for mut lesson in self.0 {
            // Nothing is ever sent: an error says that the lesson is over.
            while lesson.changed().await.is_ok() {}
        }
    }
}

impl Underway {
    /// Begins a lesson.
    pub(super) fn begin(self: &Arc<Self>, keys: Keys) -> Learning {
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
        Learning {
            underway: Arc::clone(self),
            keys,
            number,
            _done: done,
        }
    }

    /// What a step with these keys has to wait for.
    pub(super) fn of(&self, keys: Keys) -> Option<Unlearned> {
        let tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let of_session = keys.session.and_then(|key| tables.sessions.get(&key));
        let of_agent = keys.agent.and_then(|key| tables.agents.get(&key));
        let lessons: Vec<_> = of_session
            .into_iter()
            .chain(of_agent)
            .flatten()
            .map(|(_, over)| over.clone())
            .collect();
        (!lessons.is_empty()).then_some(Unlearned(lessons))
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
    if let Some(lessons) = waited.get_mut(key) {
        lessons.retain(|(other, _)| *other != number);
        if lessons.is_empty() {
            waited.remove(key);
        }
    }
}

impl Drop for Learning {
    fn drop(&mut self) {
        self.underway.end(self.keys, self.number);
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
        let underway = Arc::new(Underway::default());
        assert!(underway.of(keys("s")).is_none());
        let first = underway.begin(keys("s"));
        let waits = underway.of(keys("s")).unwrap();
        let second = underway.begin(keys("s"));
        let of_agent = underway.of(keys("another")).unwrap();
        let mut waits = Box::pin(waits.wait());
        assert!(waits.as_mut().now_or_never().is_none());
        drop(first);
        assert!(waits.as_mut().now_or_never().is_some());
        let mut of_agent = Box::pin(of_agent.wait());
        assert!(of_agent.as_mut().now_or_never().is_none());
        drop(second);
        assert!(of_agent.now_or_never().is_some());
        assert!(underway.of(keys("s")).is_none());
        let tables = underway.tables.lock().unwrap();
        assert!(tables.sessions.is_empty() && tables.agents.is_empty());
    }
}
