//! Status: the questions of operators to a guardian at work, and the writing that they wait for.

use std::sync::Arc;
use std::time::Duration;

use super::{Guardian, LinkState};
use crate::audit::{Change, Watcher};
use crate::judge::Judge;
use crate::llm::BreakerState;
use crate::model::OrganisationId;

impl Guardian {
    /// Records a change of what is in force.
    pub fn record_change(&self, change: &Change) {
        self.audit.note(change);
    }

    /// Returns `true` if steps of this organisation are taken.
    pub fn serves(&self, organisation: &OrganisationId) -> bool {
        self.organisations.load().get(organisation).is_some()
    }

    /// Returns the judge, if a model judges.
    pub fn model_judge(&self) -> Option<&Arc<Judge>> {
        self.judge.as_ref()
    }

    /// Returns `true` if a model judges, rather than rules alone.
    pub fn has_judge(&self) -> bool {
        self.judge.is_some()
    }

    /// Returns the endpoints that are left alone at the moment, with the state of their breakers: `spare: open`.
    pub fn resting_endpoints(&self) -> Vec<String> {
        let chains = self
            .judge
            .iter()
            .flat_map(|judge| judge.first_chain().into_iter().chain([judge.chain()]));
        let states = chains.flat_map(|chain| chain.states());
        states
            .filter(|state| state.breaker != BreakerState::Closed)
            .map(|state| format!("{}: {}", state.endpoint, state.breaker.as_str()))
            .collect()
    }

    /// Returns the link to the server of shared state; `None` if there is none.
    pub fn link(&self) -> Option<&crate::shared::Link> {
        self.shared.as_ref()
    }

    /// Returns the state of the link to shared state; `None` if none is configured.
    pub fn shared_state(&self) -> Option<LinkState> {
        self.shared.as_ref().map(|link| link.state().borrow().clone())
    }

    /// Waits until the server of shared state answers, but no longer than this. Without one there is nothing to wait for.
    pub async fn shared_state_within(&self, time: Duration) -> bool {
        match &self.shared {
            Some(link) => link.answers_within(time).await,
            None => true,
        }
    }

    /// Returns the same guardian, whose audit records are shown to this watcher as well.
    #[must_use]
    pub fn watched_by(mut self, watcher: Arc<Watcher>) -> Self {
        self.audit = self.audit.watched_by(watcher);
        self
    }

    /// Opens the file of audit records again.
    pub fn reopen_audit(&self) {
        self.audit.reopen();
    }

    /// Returns `true` if no step is admitted because audit records cannot be written.
    pub fn is_unrecorded(&self) -> bool {
        self.audit.refuses()
    }

    /// Returns why audit records cannot be written at the moment, if they cannot.
    pub fn audit_trouble(&self) -> Option<String> {
        self.audit.trouble()
    }

    /// Waits until all audit records have reached their destination.
    pub fn flush_audit(&self) {
        self.audit.flush();
    }

    /// Waits until all sessions are where they are kept.
    pub fn flush_sessions(&self) {
        if let Some(sessions) = &self.sessions {
            sessions.flush();
        }
    }
}
