//! Judges one step twice, with the agent's reasoning and without; the stricter assessment counts.
//!
//! An agent's arguments for its own step can only persuade. If the two readings differ, the judge was persuaded, and the verdict says so.

use std::cmp::Ordering;

use super::{JudgeFailure, Judged};
use crate::model::{Decision, Diagnostic};

/// The name of the note on a disagreement.
pub(super) const DISAGREEMENT: &str = "judge_disagreement";

/// Returns the stricter of two readings. When one failed, the other one counts only if it denies: half an allow is none.
pub(super) fn stricter(
    shown: Result<Judged, JudgeFailure>,
    withheld: Result<Judged, JudgeFailure>,
) -> Result<Judged, JudgeFailure> {
    let (shown, withheld) = match (shown, withheld) {
        (Ok(shown), Ok(withheld)) => (shown, withheld),
        (Ok(one), Err(failure)) | (Err(failure), Ok(one)) => {
            return if one.assessment.decision == Decision::Deny {
                Ok(one)
            } else {
                Err(failure)
            };
        }
        (Err(failure), Err(_)) => return Err(failure),
    };
    let (with, without) = (shown.assessment.decision, withheld.assessment.decision);
    let note = (with != without).then(|| Diagnostic {
        code: DISAGREEMENT,
        detail: format!("with the agent's reasoning the judge said `{with}`, without it `{without}`"),
    });
    let (mut counts, other) = match with.cmp(&without) {
        Ordering::Greater => (shown, withheld),
        Ordering::Less => (withheld, shown),
        // Of two allows the less sure one, of two denials the surer one; of two modifications that of the unpersuaded.
        Ordering::Equal => {
            let surer = shown.assessment.confidence > withheld.assessment.confidence;
            match (with, surer) {
                (Decision::Allow, false) | (Decision::Deny, true) => (shown, withheld),
                (Decision::Allow, true) | (Decision::Deny, false) | (Decision::Modify, _) => (withheld, shown),
            }
        }
    };
    counts.add(&other);
    if let Some(note) = note {
        counts.note(note);
    }
    Ok(counts)
}
