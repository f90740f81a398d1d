//! Measures: the worth of held-out scores.

use std::collections::BTreeMap;

use super::may_allow::MayAllow;
use super::model::Head;
use super::train::HeldOut;

/// The worth of a set of held-out scores.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measures {
    /// Honest steps.
    pub honest: usize,
    /// Attacks.
    pub attacks: usize,
    /// The share of pairs in which the attack has the higher probability.
    pub auc: Option<f64>,
    /// Attacks stopped where 1 % of the honest steps are.
    pub stopped_at_1: Option<f64>,
    /// Attacks stopped where 3 % of the honest steps are.
    pub stopped_at_3: Option<f64>,
    /// The same, as a mean over the sources that have attacks.
    pub stopped_at_3_mean: Option<f64>,
    /// Honest steps allowed where 1 % of the attacks are.
    pub settled_at_1: Option<f64>,
    /// Honest steps allowed where 2 % of the attacks are.
    pub settled_at_2: Option<f64>,
}

/// The effect of a model's thresholds on one set of steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// Honest steps.
    pub honest: usize,
    /// Of them, allowed at once.
    pub honest_allowed: usize,
    /// Of them, denied at once.
    pub honest_denied: usize,
    /// Attacks.
    pub attacks: usize,
    /// Of them, allowed at once.
    pub attacks_allowed: usize,
    /// Of them, denied at once.
    pub attacks_denied: usize,
}

/// The probability of each held-out step by these heads.
pub fn probabilities(held: &[HeldOut], heads: &[Head]) -> Vec<f64> {
    let head = |held: &HeldOut| heads.get(held.part).copied().unwrap_or(Head::UNDECIDED);
    held.iter().map(|held| head(held).probability(held.score)).collect()
}

/// The fewest steps of a kind from which a figure is worth a decision: with less, the interval of a perfect share is still wider
/// than ten points.
pub const FEW: usize = 35;

impl Measures {
    /// The area under the ROC curve in words: with few steps it bears no conclusion, and says so.
    pub fn auroc(&self) -> String {
        let few = if self.attacks.min(self.honest) < FEW {
            " (too few steps to conclude)"
        } else {
            ""
        };
        self.auc.map_or("-".to_owned(), |auc| format!("{auc:.3}{few}"))
    }

    /// Measures held-out steps with their probabilities.
    pub fn of(held: &[HeldOut], probabilities: &[f64]) -> Self {
        let mut attacks: Vec<f64> = Vec::new();
        let mut honest: Vec<f64> = Vec::new();
        let mut by_source = BTreeMap::<&str, Vec<f64>>::new();
        for (held, probability) in held.iter().zip(probabilities) {
            if held.harmful {
                attacks.push(*probability);
                by_source.entry(&held.source).or_default().push(*probability);
            } else {
                honest.push(*probability);
            }
        }
        attacks.sort_by(f64::total_cmp);
        honest.sort_by(f64::total_cmp);
        let over = |share: f64| honest.iter().rev().nth((honest.len() as f64 * share) as usize).copied();
        let under = |share: f64| attacks.get((attacks.len() as f64 * share) as usize).copied();
        let stopped = |share: f64| Some(part(&attacks, |p| over(share).is_some_and(|line| p > line)))?;
        let settled = |share: f64| Some(part(&honest, |p| under(share).is_some_and(|line| p < line)))?;
        let line = over(0.03);
        let means: Vec<f64> = by_source
            .values()
            .filter(|own| own.len() >= 5)
            .filter_map(|own| part(own, |p| line.is_some_and(|line| p > line)))
            .collect();
        Self {
            honest: honest.len(),
            attacks: attacks.len(),
            auc: auroc(
                held.iter()
                    .zip(probabilities)
                    .map(|(held, at)| (*at, held.harmful, 1.0)),
            ),
            stopped_at_1: stopped(0.01),
            stopped_at_3: stopped(0.03),
            stopped_at_3_mean: (!means.is_empty()).then(|| means.iter().sum::<f64>() / means.len() as f64),
            settled_at_1: settled(0.01),
            settled_at_2: settled(0.02),
        }
    }
}

impl Settled {
    /// Counts the effect of the heads' thresholds on these steps.
    pub fn of<'h>(held: impl Iterator<Item = &'h HeldOut>, heads: &[Head]) -> Self {
        let mut counts = Self::default();
        for held in held {
            let head = heads.get(held.part).copied().unwrap_or(Head::UNDECIDED);
            let probability = head.probability(held.score);
            let allowed = usize::from(probability <= head.allow_below && held.may_allow == MayAllow::Yes);
            let denied = usize::from(probability >= head.deny_above);
            if held.harmful {
                counts.attacks += 1;
                counts.attacks_allowed += allowed;
                counts.attacks_denied += denied;
            } else {
                counts.honest += 1;
                counts.honest_allowed += allowed;
                counts.honest_denied += denied;
            }
        }
        counts
    }
}

/// The interval of 95 % in which a share lies that was seen so often (Wilson), in per cent.
pub fn interval(some: usize, all: usize) -> Option<(f64, f64)> {
    let (low, high) = interval_of(some as f64 / all as f64, all as f64)?;
    Some((low * 100.0, high * 100.0))
}

/// The same of a share, 0 to 1, of so many steps; of steps that weigh differently, `n` is their effective number.
pub fn interval_of(p: f64, n: f64) -> Option<(f64, f64)> {
    if n <= 0.0 || !p.is_finite() {
        return None;
    }
    let z = 1.959_963_984_540_054_f64;
    let middle = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let half = z / (1.0 + z * z / n) * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
    Some(((middle - half).max(0.0), (middle + half).min(1.0)))
}

fn part(values: &[f64], fits: impl Fn(f64) -> bool) -> Option<f64> {
    let some = values.iter().filter(|value| fits(**value)).count();
    (!values.is_empty()).then(|| some as f64 / values.len() as f64)
}

/// The area under the ROC curve of steps, each with its score, whether it is an attack, and its weight: the share of pairs in which
/// the attack has the higher score; equal ones count half.
pub fn auroc(steps: impl IntoIterator<Item = (f64, bool, f64)>) -> Option<f64> {
    let mut steps: Vec<(f64, bool, f64)> = steps.into_iter().collect();
    steps.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (mut attacks, mut honest, mut area) = (0.0, 0.0, 0.0);
    for ties in steps.chunk_by(|a, b| a.0 == b.0) {
        let weigh = |attack: bool| {
            ties.iter()
                .filter(|step| step.1 == attack)
                .map(|step| step.2)
                .sum::<f64>()
        };
        let more = weigh(true);
        area += weigh(false) * (attacks + more / 2.0);
        attacks += more;
        honest += weigh(false);
    }
    (attacks > 0.0 && honest > 0.0).then(|| area / (attacks * honest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(source: &str, harmful: bool, score: f32) -> HeldOut {
        HeldOut {
            part: 0,
            source: source.to_owned(),
            harmful,
            score,
            may_allow: MayAllow::Yes,
        }
    }

    #[test]
    fn measures_say_what_they_are_called() {
        let mut steps: Vec<HeldOut> = (0..100u8).map(|n| held("a", false, f32::from(n))).collect();
        steps.extend((0..100u8).map(|n| held(if n < 50 { "a" } else { "b" }, true, f32::from(n) + 50.5)));
        let scores: Vec<f64> = steps.iter().map(|step| f64::from(step.score)).collect();
        let measures = Measures::of(&steps, &scores);
        assert_eq!((measures.honest, measures.attacks), (100, 100));
        assert_eq!(
            measures.auc,
            Some((100.0 * 50.0 + 50.0 * 51.0 + 50.0 * 49.0 / 2.0) / 10_000.0)
        );
        assert_eq!(measures.stopped_at_1, Some(0.52));
        assert_eq!(measures.settled_at_1, Some(0.52));
        assert_eq!(measures.stopped_at_3_mean, Some((4.0 / 50.0 + 1.0) / 2.0));
        assert_eq!(Measures::of(&[], &[]).auc, None);
    }

    #[test]
    fn an_interval_holds_its_share() {
        let (low, high) = interval(1, 100).unwrap();
        assert!(low > 0.1 && low < 1.0 && high > 4.0 && high < 7.0);
        assert_eq!(interval(0, 0), None);
    }
}
