//! Long texts in parts: several calls about one step, each with another part of its texts; the strictest answer counts.

use futures_util::future::join_all;

use super::model::{AskedModel, Manner};
use super::{Case, JudgeFailure, Judged};
use crate::model::{Decision, Diagnostic};
use crate::policy::LongTexts;
use crate::prompt::Part;

/// Calls about one step at most. What does not fit into so many parts is chosen within each.
const MOST_PARTS: usize = 8;

/// What one model makes of a case: in one call, or in one for each part of its long texts where the policy wants that.
pub(super) async fn ask(model: &AskedModel, case: Case<'_>, manner: Manner<'_>) -> Result<Judged, JudgeFailure> {
    let parts = match case.policy.judge.long_texts {
        LongTexts::Chosen => 1,
        LongTexts::Chunks => model.parts(case, manner)?.min(MOST_PARTS),
    };
    if parts <= 1 {
        return model.ask(case, manner).await;
    }
    let calls = (0..parts).map(|index| {
        let part = Some(Part { index, of: parts });
        model.ask(case, Manner { part, ..manner })
    });
    strictest(join_all(calls).await)
}

/// The strictest of the answers. Where a part was not judged, the others count only if they deny.
fn strictest(answers: Vec<Result<Judged, JudgeFailure>>) -> Result<Judged, JudgeFailure> {
    let parts = answers.len();
    let mut failure = None;
    let mut strictest: Option<Judged> = None;
    for answer in answers {
        match (answer, strictest.take()) {
            (Ok(judged), None) => strictest = Some(judged),
            (Ok(judged), Some(other)) => strictest = Some(stricter(other, judged)),
            (Err(error), kept) => {
                failure.get_or_insert(error);
                strictest = kept;
            }
        }
    }
    match (strictest, failure) {
        (Some(judged), Some(failure)) if judged.assessment.decision != Decision::Deny => Err(failure),
        (Some(mut judged), _) => {
            judged.note(Diagnostic {
                code: "judge_parts",
                detail: format!("the step's long texts were judged in {parts} parts; the strictest answer counts"),
            });
            Ok(judged)
        }
        (None, Some(failure)) => Err(failure),
        (None, None) => Err(JudgeFailure {
            code: "parts",
            detail: "the step was to be judged in no part at all".to_owned(),
        }),
    }
}

/// The stricter of two answers about parts of one step; of two modifications the edits of both.
fn stricter(one: Judged, other: Judged) -> Judged {
    let (with, without) = (&one.assessment, &other.assessment);
    let first = match with.decision.cmp(&without.decision) {
        std::cmp::Ordering::Greater => true,
        std::cmp::Ordering::Less => false,
        std::cmp::Ordering::Equal => match with.decision {
            Decision::Deny => with.confidence >= without.confidence,
            Decision::Allow | Decision::Modify => with.confidence <= without.confidence,
        },
    };
    let (mut counts, other) = if first { (one, other) } else { (other, one) };
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
}
