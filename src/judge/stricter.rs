//! The stricter of two answers about one step: two readings, with the agent's reasoning and without, or two parts of its texts.
//!
//! An agent's arguments for its own step can only persuade. If the two readings differ, the judge was persuaded, and the verdict says so.

use std::cmp::Ordering;

use super::{JudgeFailure, Judged};
use crate::model::{Decision, Diagnostic};

/// The name of the note on a disagreement.
pub(super) const DISAGREEMENT: &str = "judge_disagreement";

type Answer = Result<Judged, JudgeFailure>;

/// Returns the stricter of two readings.
pub(super) fn of_readings(shown: Answer, withheld: Answer) -> Answer {
    of_both(shown, withheld, |shown, withheld| {
        let (with, without) = (shown.assessment.decision, withheld.assessment.decision);
        let shown_counts = match strictness(&shown, &withheld) {
            // Of two modifications that of the unpersuaded.
            _ if with == Decision::Modify && without == Decision::Modify => false,
            Ordering::Equal => with == Decision::Allow,
            order => order.is_gt(),
        };
        let (mut counts, other) = if shown_counts {
            (shown, withheld)
        } else {
            (withheld, shown)
        };
        counts.add(&other);
        if with != without {
            counts.note(Diagnostic {
                code: DISAGREEMENT,
                detail: format!("with the agent's reasoning the judge said `{with}`, without it `{without}`"),
            });
        }
        counts
    })
}

/// Returns the stricter of two answers about parts of one step; of two modifications the edits of both.
pub(super) fn of_parts(one: Answer, other: Answer) -> Answer {
    of_both(one, other, |one, other| {
        let one_counts = strictness(&one, &other).is_ge();
        let (mut counts, other) = if one_counts { (one, other) } else { (other, one) };
        counts.add(&other);
        counts.cut |= other.cut;
        if counts.assessment.decision == Decision::Modify {
            for edit in other.assessment.edits {
                if !counts.assessment.edits.contains(&edit) {
                    counts.assessment.edits.push(edit);
                }
            }
            for code in other.assessment.reason_codes {
                if !counts.assessment.reason_codes.contains(&code) {
                    counts.assessment.reason_codes.push(code);
                }
            }
        }
        counts
    })
}

/// Joins two answers. When one failed, the other one counts only if it denies: half an allow is none.
fn of_both(one: Answer, other: Answer, stricter: impl FnOnce(Judged, Judged) -> Judged) -> Answer {
    match (one, other) {
        (Ok(one), Ok(other)) => Ok(stricter(one, other)),
        (Ok(judged), Err(failure)) | (Err(failure), Ok(judged)) => match judged.assessment.decision {
            Decision::Deny => Ok(judged),
            Decision::Allow | Decision::Modify => Err(failure),
        },
        (Err(failure), Err(_)) => Err(failure),
    }
}

/// Compares two answers by their decisions; of two denials the surer one is stricter, of two others the less sure one.
fn strictness(one: &Judged, other: &Judged) -> Ordering {
    let (one, other) = (&one.assessment, &other.assessment);
    one.decision.cmp(&other.decision).then_with(|| match one.decision {
        Decision::Deny => one.confidence.total_cmp(&other.confidence),
        Decision::Allow | Decision::Modify => other.confidence.total_cmp(&one.confidence),
    })
}
