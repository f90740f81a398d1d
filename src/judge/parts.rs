//! Judges long texts in parts: several calls about one step, each with another part; the strictest answer counts.

use futures_util::future::join_all;

use super::model::{AskedModel, CallOptions};
use super::{Case, JudgeFailure, Judged, stricter};
use crate::model::{Diagnostic, Stage};
use crate::policy::LongTexts;
use crate::prompt::Part;

/// Calls about one step at most. Texts that do not fit into so many parts are cut within each.
const MAX_PARTS: usize = 8;

/// Asks one model about a case: in one call, or in one for each part of its long texts if the policy wants that.
pub(super) async fn ask(model: &AskedModel, case: Case<'_>, options: CallOptions<'_>) -> Result<Judged, JudgeFailure> {
    let parts = match case.policy.judge.long_texts {
        // What does not fit into one prompt of the first model is not for it to settle.
        LongTexts::Chunks if model.stage != Stage::First => model.parts(case, options)?.min(MAX_PARTS),
        LongTexts::Chunks | LongTexts::Chosen => 1,
    };
    if parts <= 1 {
        return model.ask(case, options).await;
    }
    let call = |index| {
        let part = Some(Part { index, of: parts });
        model.ask(case, CallOptions { part, ..options })
    };
    let (first, others) = tokio::join!(call(0), join_all((1..parts).map(call)));
    let mut judged = others.into_iter().fold(first, stricter::of_parts)?;
    judged.note(Diagnostic {
        code: "judge_parts",
        detail: format!("the step's long texts were judged in {parts} parts; the strictest answer counts"),
    });
    Ok(judged)
}
