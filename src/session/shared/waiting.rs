//! The records that could not be sent to the server while it was away, and their later delivery.

use std::collections::HashMap;
use std::sync::{Arc, MutexGuard, PoisonError};

use super::scripts::END;
use super::{Copied, Places, Shared};
use crate::session::{AgentKey, SessionKey, SessionSnapshot, StepRecord};
use crate::shared::Away;
use crate::telemetry::names;

/// Records that wait for the server, and their bytes.
const MAX_WAITING: usize = 20_000;
const MAX_WAITING_BYTES: usize = 64 * 1024 * 1024;
/// Records that the server was not told of.
#[derive(Default)]
pub(super) struct Waiting {
    pub(super) by_session: HashMap<SessionKey, Vec<Unsent>>,
    pub(super) records: usize,
    bytes: usize,
    /// Updates of which the server was not told that they have ended.
    unended: Vec<UpdateMark>,
}

/// The marker on the server that an update is under way.
pub(super) struct UpdateMark {
    pub(super) places: Vec<String>,
    pub(super) marker: String,
}

#[derive(Clone)]
pub(super) struct Unsent {
    pub(super) tag: String,
    pub(super) agent: Option<AgentKey>,
    pub(super) record: StepRecord,
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says that an update has ended; later, where the server is away.
    pub(super) async fn end(&self, update: UpdateMark) {
        let mut call = END.prepare_invoke();
        for place in &update.places {
            call.key(place);
        }
        if self.link.run_again::<u8>(call.arg(&update.marker)).await.is_err() {
            let mut waiting = self.lock();
            // One that is forgotten ends by itself, and its session counts as incomplete.
            if waiting.unended.len() < MAX_WAITING {
                waiting.unended.push(update);
            }
        }
    }

    /// Says of every update that it has ended, where the server was away when it did.
    pub(super) async fn end_late(&self) {
        let unended = std::mem::take(&mut self.lock().unended);
        for update in unended {
            self.end(update).await;
        }
    }

    /// Lets a record wait for the server, and appends it to the copy of this process.
    pub(super) fn wait(&self, session: SessionKey, unsent: Unsent) {
        let mut waiting = self.lock();
        let copy = self.sessions.get(&session);
        let (past, tag) = copy.map_or_else(Default::default, |copy| (copy.value, copy.tag));
        let value = Arc::new(past.with(unsent.record.clone(), &self.settings));
        self.sessions.insert(session, Copied { value, tag });
        if let Some(key) = unsent.agent {
            let copy = self.agents.get(&key);
            let (agent, tag) = copy.map_or_else(Default::default, |copy| (copy.value, copy.tag));
            let value = Arc::new(agent.with(&unsent.record));
            self.agents.insert(key, Copied { value, tag });
        }
        let bytes = unsent.record.bytes();
        if waiting.records >= MAX_WAITING || waiting.bytes + bytes > MAX_WAITING_BYTES {
            metrics::counter!(names::SHARED_UNMERGED).increment(1);
            return;
        }
        waiting.records += 1;
        waiting.bytes += bytes;
        waiting.by_session.entry(session).or_default().push(unsent);
    }

    /// Appends the records of a session that waited. A step that comes meanwhile waits until they are there.
    pub(super) async fn merge(&self, session: SessionKey) {
        if !self.lock().by_session.contains_key(&session) {
            return;
        }
        let _one_at_a_time = self.merging.lock().await;
        let Some(unsent) = self.lock().by_session.get(&session).cloned() else {
            return;
        };
        // The copy here has them already: they are appended to what the server has.
        let copy = self.sessions.get(&session);
        self.sessions.invalidate(&session);
        if let Some(copy) = &copy
            && self.put_back(session, copy, &unsent).await
        {
            return self.merged(session, unsent.len());
        }
        for (count, one) in unsent.iter().enumerate() {
            match self.append(session, one).await {
                Ok(Ok(())) => {}
                Ok(Err(Away)) => {
                    if let Some(copy) = copy {
                        self.sessions.insert(session, copy);
                    }
                    return self.merged(session, count);
                }
                Err(failure) => {
                    metrics::counter!(names::SHARED_UNMERGED).increment(1);
                    tracing::warn!(%failure, "a step could not be merged into shared state");
                }
            }
        }
        self.merged(session, unsent.len());
    }

    /// Lets go of the first records of a session: the server has them.
    fn merged(&self, session: SessionKey, count: usize) {
        let mut waiting = self.lock();
        let mut left = waiting.by_session.remove(&session).unwrap_or_default();
        let gone: Vec<Unsent> = left.drain(..count.min(left.len())).collect();
        waiting.records -= gone.len();
        waiting.bytes -= gone.iter().map(|one| one.record.bytes()).sum::<usize>();
        if !left.is_empty() {
            waiting.by_session.insert(session, left);
        }
    }

    /// Writes the session as this process knows it to a server that has none; answers whether it had none.
    async fn put_back(&self, session: SessionKey, copy: &Copied<SessionSnapshot>, unsent: &[Unsent]) -> bool {
        let Some(last) = unsent.last() else { return true };
        let names = self.names(session, None);
        let Ok(sealed) = self.encoded(&names.session, copy.value.as_ref()) else {
            return false;
        };
        // A session that the server once had may have grown there since.
        let is_restored = !copy.tag.is_empty();
        let places = Places::of_session(&names, self.settings.time_to_live);
        match self.try_write(places, "", &last.tag, sealed, is_restored).await {
            Ok((outcome, tag, _)) if outcome == "written" => {
                let value = Arc::clone(&copy.value);
                self.sessions.insert(session, Copied { value, tag });
                true
            }
            // The last record is there, and so are those before it.
            Ok((outcome, ..)) => outcome == "done",
            Err(Away) => false,
        }
    }

    pub(super) async fn merge_all(&self) {
        self.end_late().await;
        let sessions: Vec<SessionKey> = self.lock().by_session.keys().copied().collect();
        let count = sessions.len();
        for session in sessions {
            self.merge(session).await;
        }
        if count > 0 {
            tracing::info!(
                sessions = count,
                "what was decided by this node alone was merged into shared state"
            );
        }
    }
}
