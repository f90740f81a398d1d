//! The trial of a model: what the judge says of steps that it would settle, or settles, takes it live or takes it back.

use std::collections::HashMap;

use super::learned::Learned;
use super::sequential::Alarm;
use super::state::Standing;
use super::{Verdicted, today};
use crate::local::Model;

/// The disagreement that is accepted beyond the judge's own error, and the bounds of what is accepted in all.
const OVER_ERROR: f64 = 0.01;
const ACCEPTED: (f64, f64) = (0.04, 0.05);

/// Steps of one session that count in a trial, allowed or denied.
const MAX_OF_SESSION: u32 = 3;
/// Sessions that count in a trial: their ids come from agents.
const MAX_SESSIONS: usize = 2_000;

/// The steps of each session that counted in a trial. A restart counts anew.
#[derive(Debug, Default)]
pub struct Sessions(HashMap<String, u32>);

impl Sessions {
    /// Counts a step of a session. Returns `true` if it may speak for or against the model.
    fn count(&mut self, session: &str) -> bool {
        if let Some(steps) = self.0.get_mut(session) {
            *steps += 1;
            return *steps <= MAX_OF_SESSION;
        }
        let has_room = self.0.len() < MAX_SESSIONS;
        if has_room {
            self.0.insert(session.to_owned(), 1);
        }
        has_room
    }
}

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

/// Counts a verdict for the live model. Returns the reason why it is taken back, where it is.
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

/// Counts a verdict for the model in shadow. Returns the end of its trial, where it ends: a model goes live on the last of `min_days` days at
/// the earliest, and few steps of one session count.
pub fn shadow(
    standing: &mut Standing,
    sessions: &mut Sessions,
    learned: &Learned,
    base: &Model,
    verdict: &Verdicted,
    min_days: usize,
) -> Option<Trial> {
    standing.judged += 1;
    standing.denied += u64::from(verdict.harmful);
    let would_allow = learned.would_allow(base, &verdict.slots, verdict.shape, &verdict.unknown);
    if !would_allow || !sessions.count(&verdict.session) {
        return None;
    }
    let first_day = *standing.first_day.get_or_insert_with(today);
    let alarm = standing.evidence.add(verdict.harmful, accepted(learned));
    let (steps, disagreed) = (standing.evidence.steps, standing.evidence.disagreed);
    let told = || format!("the judge denied {disagreed} of {steps} steps that it would settle as allowed");
    match alarm {
        Alarm::Raised => Some(Trial::Failed(told())),
        Alarm::Silent => {
            let days = usize::try_from(today() - first_day).unwrap_or(0) + 1;
            let passes = days >= min_days && standing.evidence.speaks_for(accepted(learned));
            passes.then(|| Trial::Passed(told()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learning::learned::{header, version_of};
    use crate::local::{Adaptation, Head, MayAllow, Slots};

    /// A model that settles everything of one shape.
    fn willing(base: &Model) -> Learned {
        let heads = base.header().heads.iter().map(|head| Head {
            allow_below: 1.0,
            deny_above: 1.0,
            ..*head
        });
        let mut header = header(base, "acme", heads.collect(), Default::default());
        header.shapes = vec![1];
        header.denied_words = vec![5];
        let bytes = Learned::to_bytes(&header, &Adaptation::of(base, &[], 1).finish());
        assert_eq!(version_of(&bytes).len(), 12);
        Learned::parse(&bytes, "acme", base).unwrap()
    }

    fn verdict(session: usize) -> Verdicted {
        let mut slots = Slots::default();
        slots.may_allow = MayAllow::Yes;
        Verdicted {
            session: session.to_string(),
            shape: 1,
            slots,
            ..Verdicted::default()
        }
    }

    /// Returns the number of agreeing verdicts, of so many, after which the model goes live.
    fn passed(base: &Model, standing: &mut Standing, min_days: usize, sessions: usize, most: usize) -> Option<usize> {
        let (learned, mut seen) = (willing(base), Sessions::default());
        (1..=most).find(|at| {
            let verdict = verdict(at % sessions);
            matches!(
                shadow(standing, &mut seen, &learned, base, &verdict, min_days),
                Some(Trial::Passed(_))
            )
        })
    }

    #[test]
    fn a_model_goes_live_by_many_sessions_and_not_before_its_days_are_over() {
        let base = Model::built_in().unwrap();
        assert_eq!(passed(&base, &mut Standing::default(), 1, 1, 500), None, "one session");
        assert!(passed(&base, &mut Standing::default(), 1, 40, 500).is_some_and(|at| at >= 35));
        assert_eq!(passed(&base, &mut Standing::default(), 2, 400, 1_000), None, "one day");
        let mut standing = Standing {
            first_day: Some(today() - 1),
            ..Standing::default()
        };
        assert!(passed(&base, &mut standing, 2, 40, 500).is_some());
    }

    #[test]
    fn a_step_with_a_word_of_denied_ones_is_not_settled() {
        let base = Model::built_in().unwrap();
        let learned = willing(&base);
        let slots = verdict(0).slots;
        assert!(learned.would_allow(&base, &slots, 1, &[]) && learned.would_allow(&base, &slots, 1, &[4, 6]));
        assert!(!learned.would_allow(&base, &slots, 1, &[5]));
        assert!(
            !learned.would_allow(&base, &slots, 1, &[4, 6, 7]),
            "three unknown words"
        );
    }
}
