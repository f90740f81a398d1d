//! Recall: looks up the session of a step.

use super::step_slot::StepSlot;
use super::{Admitted, Guardian};
use crate::model::{Caller, Diagnostic, Step};
use crate::session::{Authentication, Keys, SessionKey, Snapshot, StoreFailure};

/// The line of a step. Steps of one line are decided one after the other, each in the light of those before it: they belong to one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Line(SessionKey);

impl Guardian {
    /// Returns the line of a step; `None` for one that is judged by itself.
    pub fn line(&self, caller: &Caller, step: &Step) -> Option<Line> {
        self.keys(caller, step)?.session().map(Line)
    }

    fn keys(&self, caller: &Caller, step: &Step) -> Option<Keys> {
        let standing = if *caller == Self::local_caller() {
            Authentication::Anonymous
        } else {
            Authentication::Authenticated
        };
        Some(self.sessions.as_ref()?.keys(caller, standing, step))
    }

    /// Returns the session before a step, once all earlier updates of it have ended. If the store does not answer in time, the step is judged by
    /// itself, and the verdict says so.
    pub(super) async fn recall(
        &self,
        admitted: &Admitted,
        step: &Step,
        step_slot: &mut StepSlot<'_>,
    ) -> (Snapshot, Vec<Diagnostic>) {
        let (Some(sessions), Some(keys)) = (&self.sessions, self.keys(&admitted.caller, step)) else {
            return (Snapshot::default(), Vec::new());
        };
        let deadline = step_slot.deadline;
        let recall = async {
            if let Some(earlier) = sessions.earlier_updates(&keys) {
                step_slot.leave();
                earlier.wait().await;
            }
            if sessions.is_shared() {
                step_slot.leave();
            }
            sessions.recall(keys).await
        };
        let failure = match tokio::time::timeout_at(deadline, recall).await {
            Ok(Ok(snapshot)) => return (snapshot, Vec::new()),
            Ok(Err(failure)) => failure,
            Err(_) => StoreFailure("there was no answer in time".to_owned()),
        };
        tracing::warn!(organisation = %admitted.organisation.id, %failure, "a session could not be recalled");
        let note = Diagnostic {
            code: "session_unavailable",
            detail: format!("the step was judged by itself: {failure}"),
        };
        (Snapshot::default(), vec![note])
    }
}
