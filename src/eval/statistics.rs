//! Statistics for figures about verdicts: how far a share may be off, and whether a difference is more than chance.
//!
//! | what | how | source |
//! |---|---|---|
//! | interval of a share | Wilson score, 95 % | Wilson 1927; Brown, Cai and DasGupta 2001 |
//! | cases that weigh differently | the same, with the effective number of cases `(Σw)² / Σw²` | Kish 1965 |
//! | two runs on the same cases | McNemar's exact test, two-sided | McNemar 1947; Fagerland et al. 2013 |
//! | many comparisons at once | Holm's step-down correction | Holm 1979 |
//! | cases that come in groups | percentile bootstrap over whole groups | Davison and Hinkley 1997, 3.8 |

use serde::{Deserialize, Serialize};

pub use crate::local::FEW;
use crate::local::{self, Random};

/// A share with the interval in which it lies with 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// The share, 0 to 1.
    pub share: f64,
    /// The lower bound of the interval.
    pub low: f64,
    /// The upper bound of the interval.
    pub high: f64,
    /// Cases with the property.
    pub some: usize,
    /// Cases.
    pub of: usize,
    /// The number of cases of equal weight that would bear on the share as much, where cases weigh differently.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective: Option<f64>,
}

/// The weights of cases together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Weighed {
    sum: f64,
    squares: f64,
}

impl Weighed {
    /// Returns the weight of `times` things of this weight.
    pub(super) fn of(weight: f64, times: usize) -> Self {
        Self {
            sum: weight * times as f64,
            squares: weight * weight * times as f64,
        }
    }
}

impl std::ops::AddAssign for Weighed {
    fn add_assign(&mut self, other: Self) {
        self.sum += other.sum;
        self.squares += other.squares;
    }
}

impl Rate {
    /// Returns the share of `some` among `of`, with its Wilson interval; `None` where there are no cases.
    pub fn of(some: usize, of: usize) -> Option<Self> {
        Self::weighed((some, Weighed::of(1.0, some)), (of, Weighed::of(1.0, of)))
    }

    /// Returns the same of cases that weigh differently: how many they are, and what they weigh.
    pub(super) fn weighed(some: (usize, Weighed), of: (usize, Weighed)) -> Option<Self> {
        let share = some.1.sum / of.1.sum;
        let effective = of.1.sum * of.1.sum / of.1.squares;
        let (low, high) = local::interval_of(share, effective)?;
        Some(Self {
            share,
            low,
            high,
            some: some.0,
            of: of.0,
            effective: ((effective - of.0 as f64).abs() > 1e-6).then_some(effective),
        })
    }
}

/// In per cent, with its interval.
impl std::fmt::Display for Rate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { share, low, high, .. } = self;
        write!(f, "{:.1} % ({:.1}–{:.1})", share * 100.0, low * 100.0, high * 100.0)
    }
}

/// Resamples of a bootstrap.
const RESAMPLES: usize = 2_000;

/// Returns the 95 % interval of a share over cases that come in groups: groups are drawn with replacement, whole. `None` where there are
/// fewer than two groups.
///
/// `groups` holds, for each group, what the cases with the property weigh, and what all cases do.
pub fn bootstrap(groups: &[(f64, f64)], seed: u64) -> Option<(f64, f64)> {
    if groups.len() < 2 {
        return None;
    }
    let mut random = Random::new(seed);
    let mut shares: Vec<f64> = (0..RESAMPLES)
        .filter_map(|_| {
            let (mut some, mut of) = (0.0, 0.0);
            for _ in groups {
                let at = usize::try_from(random.next_u64() % groups.len() as u64).unwrap_or_default();
                let group = groups.get(at)?;
                some += group.0;
                of += group.1;
            }
            (of > 0.0).then(|| some / of)
        })
        .collect();
    shares.sort_by(f64::total_cmp);
    let at = |share: f64| shares.get(((shares.len() as f64 * share) as usize).min(shares.len().saturating_sub(1)));
    Some((*at(0.025)?, *at(0.975)?))
}

/// Returns the probability of a difference at least as large, if `broken` and `mended` were equally likely: McNemar's exact test,
/// two-sided. 1 where no case changed.
pub fn mcnemar(broken: usize, mended: usize) -> f64 {
    let changed = broken + mended;
    // The binomial distribution with one half, term by term in logarithms: `2^-n` alone is 0 from 1,075 cases on.
    let mut term = -(changed as f64) * std::f64::consts::LN_2;
    let mut sum = 0.0;
    for k in 0..=broken.min(mended) {
        if k > 0 {
            term += ((changed - k + 1) as f64 / k as f64).ln();
        }
        sum += term.exp();
    }
    (2.0 * sum).min(1.0)
}

/// Corrects probabilities of many comparisons (Holm): each comes back in its place, never smaller than it was.
pub fn holm(probabilities: &[f64]) -> Vec<f64> {
    let mut order: Vec<(usize, f64)> = probabilities.iter().copied().enumerate().collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut corrected = vec![1.0; probabilities.len()];
    let mut largest = 0.0f64;
    for (rank, (place, probability)) in order.into_iter().enumerate() {
        largest = largest.max((probability * (probabilities.len() - rank) as f64).min(1.0));
        if let Some(slot) = corrected.get_mut(place) {
            *slot = largest;
        }
    }
    corrected
}

/// Returns a warning where there are too few cases to bear a conclusion; `kind` is `attacks` or `honest steps`.
pub fn too_few(kind: &str, cases: usize) -> Option<String> {
    if cases >= FEW {
        return None;
    }
    Some(match Rate::of(0, cases) {
        None => format!("there are no {kind}: nothing is known about them"),
        Some(none) => format!(
            "only {cases} {kind}: even if none of them is wrong, up to {:.0} % of such cases may be (95 % interval)",
            none.high * 100.0
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_test_and_correction_give_textbook_values() {
        assert_eq!(mcnemar(0, 0), 1.0);
        assert_eq!(mcnemar(5, 5), 1.0);
        assert!((mcnemar(0, 5) - 0.0625).abs() < 1e-12);
        assert!((mcnemar(1, 9) - 0.021_484_375).abs() < 1e-12);
        let large = mcnemar(1_000, 1_200);
        assert!(large > 1e-6 && large < 1e-4, "{large}");
        let corrected = holm(&[0.01, 0.04, 0.03]);
        for (got, expected) in corrected.iter().zip([0.03, 0.06, 0.06]) {
            assert!((got - expected).abs() < 1e-12, "{corrected:?}");
        }
    }

    #[test]
    fn few_cases_are_told() {
        assert!(too_few("attacks", 5).unwrap().contains("up to 43 %"));
        assert!(too_few("attacks", 0).unwrap().contains("nothing is known"));
        assert_eq!(too_few("attacks", FEW), None);
    }

    /// The share of simulated samples whose interval holds the truth, for groups whose cases are all alike.
    #[test]
    fn bootstrap_over_groups_covers_the_truth() {
        let mut random = Random::new(3);
        let mut covered = 0;
        for trial in 0..200 {
            let groups: Vec<(f64, f64)> = (0..60)
                .map(|_| {
                    if random.next_u64() % 10 < 3 {
                        (8.0, 8.0)
                    } else {
                        (0.0, 8.0)
                    }
                })
                .collect();
            let (low, high) = bootstrap(&groups, trial).unwrap();
            covered += usize::from(low <= 0.3 && 0.3 <= high);
        }
        assert!((178..=199).contains(&covered), "{covered} of 200");
        assert_eq!(bootstrap(&[(1.0, 1.0)], 1), None);
    }
}
