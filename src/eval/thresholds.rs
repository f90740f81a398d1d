//! Thresholds of the local judge for a wanted bound on mistakes (split conformal risk control; Angelopoulos et al. 2022).
//!
//! Of `n` attacks whose probabilities are exchangeable with that of the next attack, the next one lies at or under the `k`-th
//! smallest with a probability of at most `k / (n + 1)`. So the threshold just under the `k`-th smallest with
//! `k = floor(bound * (n + 1))` lets at most that share of attacks through, over the draw of these cases and the next one.
//! Likewise for honest steps, from above. The guarantee is about the mean over kinds of attacks as they are in the suite: traffic
//! with others is not exchangeable with it.

use super::Report;

/// A threshold, and what it does to the cases that it was made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Threshold {
    /// The probability of harm.
    pub at: f64,
    /// Steps of the kind that is bounded.
    pub bounded: usize,
    /// The number of those on the wrong side.
    pub wrong: usize,
    /// Steps of the other kind.
    pub others: usize,
    /// The number of those that it settles.
    pub settled: usize,
}

/// Returns the highest threshold up to which steps may be allowed without a model, so that at most this share of attacks is; `None` where
/// there are too few attacks for the bound.
pub fn allow_below(report: &Report, misses: f64) -> Option<Threshold> {
    let (attacks, honest) = probabilities(report);
    let at = kth(&attacks, misses)?;
    // Just under it: the step at the threshold itself is allowed as well.
    let at = at.next_down();
    Some(Threshold {
        at,
        bounded: attacks.len(),
        wrong: attacks.iter().filter(|p| **p <= at).count(),
        others: honest.len(),
        settled: honest.iter().filter(|p| **p <= at).count(),
    })
}

/// Returns the lowest threshold from which on steps may be denied, so that at most this share of honest steps is; `None` where there are
/// too few honest steps for the bound.
pub fn deny_above(report: &Report, alarms: f64) -> Option<Threshold> {
    let (attacks, honest) = probabilities(report);
    let turned: Vec<f64> = honest.iter().map(|p| -p).collect();
    let at = (-kth(&turned, alarms)?).next_up();
    Some(Threshold {
        at,
        bounded: honest.len(),
        wrong: honest.iter().filter(|p| **p >= at).count(),
        others: attacks.len(),
        settled: attacks.iter().filter(|p| **p >= at).count(),
    })
}

/// Returns the fewest steps for which there can be a threshold.
pub fn fewest(bound: f64) -> usize {
    // Casts of floats saturate.
    ((1.0 / bound).ceil() as usize).saturating_sub(1)
}

fn kth(values: &[f64], bound: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let k = (bound * (sorted.len() as f64 + 1.0)).floor() as usize;
    // With the k-th itself on the right side, k - 1 of these are wrong.
    sorted.get(k.checked_sub(1)?).copied()
}

/// Returns the probabilities of attacks and of honest steps.
fn probabilities(report: &Report) -> (Vec<f64>, Vec<f64>) {
    let known = report
        .outcomes
        .iter()
        .filter_map(|outcome| Some((outcome.probability?, outcome.is_attack())));
    let (attacks, honest): (Vec<_>, Vec<_>) = known.partition(|(_, attack)| *attack);
    let only = |pairs: Vec<(f64, bool)>| pairs.into_iter().map(|(probability, _)| probability).collect();
    (only(attacks), only(honest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::{Outcome, RunFacts};
    use crate::local::Random;

    fn report(steps: &[(f64, bool)]) -> Report {
        let outcomes = steps.iter().map(|(probability, attack)| Outcome {
            expected: if *attack { "deny" } else { "allow" }.to_owned(),
            probability: Some(*probability),
            ..Outcome::default()
        });
        Report::new(RunFacts::default(), outcomes.collect())
    }

    #[test]
    fn the_next_attack_is_missed_no_more_often_than_promised() {
        let mut random = Random::new(5);
        let mut uniform = move || (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let (trials, bound) = (4_000, 0.1);
        let missed = (0..trials)
            .filter(|_| {
                let steps: Vec<(f64, bool)> = (0..59)
                    .map(|_| (uniform().sqrt(), true))
                    .chain([(0.1, false)])
                    .collect();
                let threshold = allow_below(&report(&steps), bound).unwrap();
                uniform().sqrt() <= threshold.at
            })
            .count();
        let share = missed as f64 / f64::from(trials);
        assert!(share <= bound + 0.015 && share > bound / 2.0, "{share}");
    }

    #[test]
    fn a_bound_for_which_there_are_too_few_cases_has_no_threshold() {
        let steps: Vec<(f64, bool)> = (0..98).map(|n| (f64::from(n) / 100.0, true)).collect();
        assert_eq!(allow_below(&report(&steps), 0.01), None);
        assert_eq!(fewest(0.01), 99);
        let steps: Vec<(f64, bool)> = (0..99)
            .map(|n| (f64::from(n) / 100.0 + 0.005, n % 2 == 0))
            .chain([(0.0, false)])
            .collect();
        let threshold = deny_above(&report(&steps), 0.1).unwrap();
        assert!(threshold.wrong <= 5 && threshold.at > 0.85, "{threshold:?}");
    }
}
