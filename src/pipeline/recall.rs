//! Recall: a step is seen in the light of its session.

use super::room::Room;
use super::{Admitted, Guardian};
use crate::model::{Caller, Diagnostic, Step};
use crate::session::{Keys, SessionKey, Snapshot, Standing, StoreFailure};

/// Steps of one line are decided one after the other, each in the light of those before it: they belong to one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Line(SessionKey);

impl Guardian {
    /// The line of a step; `None` for one that is judged by itself.
    pub fn line(&self, caller: &Caller, step: &Step) -> Option<Line> {
        self.keys(caller, step)?.session().map(Line)
    }

    fn keys(&self, caller: &Caller, step: &Step) -> Option<Keys> {
        let standing = if *caller == Self::local_caller() {
            Standing::Anybody
        } else {
            Standing::Known
        };
        Some(self.sessions.as_ref()?.keys(caller, standing, step))
    }

    /// What happened before a step, once all that was decided before is learned. Where nobody can tell in time, the step is
    /// judged by itself, and the verdict says so.
    pub(super) async fn recall(
        &self,
        admitted: &Admitted,
        step: &Step,
        room: &mut Room<'_>,
    ) -> (Snapshot, Vec<Diagnostic>) {
        let (Some(sessions), Some(keys)) = (&self.sessions, self.keys(&admitted.caller, step)) else {
            return (Snapshot::default(), Vec::new());
        };
        let deadline = room.deadline;
        let recall = async {
            if let Some(unlearned) = sessions.unlearned(&keys) {
                room.leave();
                unlearned.wait().await;
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
