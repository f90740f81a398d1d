//! The trial of a model: what the judge says of steps that it would settle, or settles, takes it live or takes it back.

use super::Verdicted;
use super::learned::Learned;
use super::sequential::Alarm;
use super::state::Standing;
use crate::local::Model;

/// The disagreement that is accepted beyond the judge's own error, and the bounds of what is accepted in all.
const OVER_ERROR: f64 = 0.01;
const ACCEPTED: (f64, f64) = (0.04, 0.05);

/// The end of a trial in shadow, and its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trial {
    /// The model goes live.
    Passed(String),
    /// The model is given up.
    Failed(String),
}

/// Returns the share of disagreement with the judge that is accepted of a model.
fn accepted(learned: &Learned) -> f64 {
    (learned.header.figures.judge_error + OVER_ERROR).clamp(ACCEPTED.0, ACCEPTED.1)
}

/// Counts a verdict for the live model. Returns the reason why it goes back to shadow, where it does.
pub fn live(standing: &mut Standing, learned: &Learned, verdict: &Verdicted) -> Option<String> {
    standing.judged += 1;
    standing.denied += u64::from(verdict.harmful);
    if verdict.audits.as_deref() != Some(learned.version()) {
        return None;
    }
    let alarm = standing.evidence.add(verdict.harmful, accepted(learned));
    (alarm == Alarm::Raised).then(|| {
        format!(
            "the judge denied {} of {} steps that it settled and that the judge was asked about",
            standing.evidence.disagreed, standing.evidence.steps
        )
    })
}

/// Counts a verdict for the model in shadow. Returns the end of its trial, where it ends.
pub fn shadow(standing: &mut Standing, learned: &Learned, base: &Model, verdict: &Verdicted) -> Option<Trial> {
    standing.judged += 1;
    standing.denied += u64::from(verdict.harmful);
    if !learned.would_allow(base, &verdict.slots, verdict.shape, &verdict.unknown) {
        return None;
    }
    let alarm = standing.evidence.add(verdict.harmful, accepted(learned));
    let (steps, disagreed) = (standing.evidence.steps, standing.evidence.disagreed);
    let told = || format!("the judge denied {disagreed} of {steps} steps that it would settle as allowed");
    match alarm {
        Alarm::Raised => Some(Trial::Failed(told())),
        Alarm::Silent => standing
            .evidence
            .speaks_for(accepted(learned))
            .then(|| Trial::Passed(told())),
    }
}
