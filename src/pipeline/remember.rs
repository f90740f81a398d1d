//! Recall and remember: a step is seen in the light of its session, and becomes part of it once its verdict exists.

use tokio::time::Instant;

use super::{Admitted, Guardian};
use crate::model::{Diagnostic, Gap, Step};
use crate::session::{Happening, Recalled, Standing, StoreFailure};

impl Guardian {
    /// What happened before a step. Where nobody can tell in time, the step is judged by itself, and the verdict says so.
    pub(super) async fn recall(
        &self,
        admitted: &Admitted,
        step: &Step,
        deadline: Instant,
    ) -> (Recalled, Option<Diagnostic>) {
        let Some(sessions) = &self.sessions else {
            return (Recalled::alone(step), None);
        };
        let standing = if admitted.caller == Self::local_caller() {
            Standing::Anybody
        } else {
            Standing::Known
        };
        let recall = sessions.recall(&admitted.caller, standing, step);
        let failure = match tokio::time::timeout_at(deadline, recall).await {
            Ok(Ok(recalled)) => {
                let note = recalled.past().gap().map(gap_note);
                return (recalled, note);
            }
            Ok(Err(failure)) => failure,
            Err(_) => StoreFailure("there was no answer in time".to_owned()),
        };
        tracing::warn!(organisation = %admitted.organisation.id, %failure, "a session could not be recalled");
        let note = Diagnostic {
            code: "session_unavailable",
            detail: format!("the step was judged by itself: {failure}"),
        };
        (Recalled::alone(step), Some(note))
    }

    /// Remembers what became of a step.
    pub(super) async fn remember(&self, recalled: &Recalled, happening: Happening) {
        if let Some(sessions) = &self.sessions
            && let Err(failure) = sessions.remember(recalled, happening).await
        {
            tracing::warn!(%failure, "a step could not be remembered");
        }
    }
}

/// That the beginning of a step's session is not known.
fn gap_note(gap: Gap) -> Diagnostic {
    Diagnostic {
        code: "session_incomplete",
        detail: gap.describe().to_owned(),
    }
}
