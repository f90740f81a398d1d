//! Judges long texts in parts: several calls about one step, each with another part; the strictest answer counts.

use futures_util::future::join_all;

use super::model::{AskedModel, Manner};
use super::{Case, JudgeFailure, Judged};
use crate::model::{Decision, Diagnostic, Stage};
use crate::policy::LongTexts;
use crate::prompt::Part;

/// Calls about one step at most. Texts that do not fit into so many parts are cut within each.
const MAX_PARTS: usize = 8;

/// Asks one model about a case: in one call, or in one for each part of its long texts if the policy wants that.
pub(super) async fn ask(model: &AskedModel, case: Case<'_>, manner: Manner<'_>) -> Result<Judged, JudgeFailure> {
    let parts = match case.policy.judge.long_texts {
        // What does not fit into one prompt of the first model is not for it to settle.
        LongTexts::Chunks if model.stage != Stage::First => model.parts(case, manner)?.min(MAX_PARTS),
        LongTexts::Chunks | LongTexts::Chosen => 1,
    };
    if parts <= 1 {
        return model.ask(case, manner).await;
    }
    let call = |index| {
        let part = Some(Part { index, of: parts });
        model.ask(case, Manner { part, ..manner })
    };
    let (first, others) = tokio::join!(call(0), join_all((1..parts).map(call)));
    let mut judged = others.into_iter().fold(first, strictest)?;
    judged.note(Diagnostic {
        code: "judge_parts",
        detail: format!("the step's long texts were judged in {parts} parts; the strictest answer counts"),
    });
    Ok(judged)
}

/// Returns the stricter of two answers. If a part was not judged, the others count only if they deny.
fn strictest(one: Result<Judged, JudgeFailure>, other: Result<Judged, JudgeFailure>) -> Result<Judged, JudgeFailure> {
    match (one, other) {
        (Ok(one), Ok(other)) => Ok(stricter(one, other)),
        (Ok(judged), Err(failure)) | (Err(failure), Ok(judged)) => match judged.assessment.decision {
            Decision::Deny => Ok(judged),
            Decision::Allow | Decision::Modify => Err(failure),
        },
        (Err(failure), Err(_)) => Err(failure),
    }
}

/// Returns the stricter of two answers about parts of one step; of two modifications the edits of both.
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
