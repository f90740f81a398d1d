//! A sequential test: whether a judge disagrees with a live model more often than it may, looked at after every answer.
//!
//! An e-detector (Shin, Ramdas, Rinaldo: E-detectors, a nonparametric framework for sequential change detection, 2024) over bets on each
//! answer (Waudby-Smith, Ramdas: Estimating means of bounded random variables by betting, 2024). With `x` 1 where the judge disagrees and
//! `p` the share of disagreement that is accepted, the evidence is `e = max(e, 1) * (1 + bet * (x - p))`. As long as the judge disagrees in
//! at most a share `p` of the steps, the evidence reaches [`ALARM`] on average not before as many steps, however often it is looked at.
//!
//! The other way round, a model in shadow goes live once the bets against a judge that disagrees in a share `p` + [`WORSE_BY`] of the steps
//! or more have won [`PASSED`] times the stake: a model that is as bad as that goes live in one of as many trials, whenever they are looked at.

use serde::{Deserialize, Serialize};

/// The evidence from which on the model is taken back.
pub const ALARM: f64 = 200.0;
/// The difference between the share of disagreement that the bets are made for and the accepted share.
const WORSE_BY: f64 = 0.08;
/// The multiple of the stake that bets on a model in shadow have to win before it goes live.
const PASSED: f64 = 20.0;

/// The evidence from a judge's answers about steps that a model settled, or would settle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Evidence {
    /// Steps that the judge was asked about.
    pub steps: u64,
    /// Of them, those that it denied.
    pub disagreed: u64,
    /// The logarithm of the evidence that it disagrees too often; 0 at the least.
    pub log_evidence: f64,
}

/// The alarm that the evidence raises, or does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alarm {
    /// The judge disagrees too often.
    Raised,
    /// Nothing speaks for that.
    Silent,
}

impl Evidence {
    /// Adds an answer; `accepted` is the share of disagreement that is accepted, over 0 and under 0.5.
    pub fn add(&mut self, disagrees: bool, accepted: f64) -> Alarm {
        let accepted = accepted.clamp(0.001, 0.5);
        // The bet that grows fastest where the share is that much larger.
        let bet = WORSE_BY / (accepted * (1.0 - accepted));
        let outcome = f64::from(u8::from(disagrees)) - accepted;
        self.steps += 1;
        self.disagreed += u64::from(disagrees);
        self.log_evidence = self.log_evidence.max(0.0) + (1.0 + bet * outcome).max(1e-6).ln();
        match self.log_evidence >= ALARM.ln() {
            true => Alarm::Raised,
            false => Alarm::Silent,
        }
    }
}

impl Evidence {
    /// Returns `true` if the bets say that the judge disagrees in less than a share of `accepted` + `WORSE_BY` of the steps. They are the same
    /// for every step, so their product follows from the numbers of steps.
    pub fn speaks_for(&self, accepted: f64) -> bool {
        let bad = accepted.clamp(0.001, 0.5) + WORSE_BY;
        let bet = WORSE_BY / (bad * (1.0 - bad));
        let agreed = self.steps.saturating_sub(self.disagreed) as f64;
        let won = agreed * (1.0 + bet * bad).ln() + self.disagreed as f64 * (1.0 - bet * (1.0 - bad)).max(1e-6).ln();
        won >= PASSED.ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::Random;

    /// Returns the number of answers after which the alarm is raised, where the judge disagrees in this share of them.
    fn raised_after(share: f64, seed: u64, most: u64) -> Option<u64> {
        let mut random = Random::new(seed);
        let mut evidence = Evidence::default();
        (1..=most).find(|_| {
            let disagrees = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64 <= share;
            evidence.add(disagrees, 0.04) == Alarm::Raised
        })
    }

    #[test]
    fn a_judge_that_is_wrong_in_three_of_a_hundred_raises_no_alarm_and_a_new_attack_does() {
        let late = (0..40)
            .filter(|seed| raised_after(0.03, *seed, 2_000).is_none())
            .count();
        assert!(late >= 38, "{late} of 40");
        let soon = (0..40).filter(|seed| raised_after(0.15, *seed, 200).is_some()).count();
        assert!(soon >= 38, "{soon} of 40");
    }

    /// Returns the number of answers after which a model goes live, where the judge disagrees in this share of them.
    fn passed_after(share: f64, seed: u64, most: u64) -> Option<u64> {
        let mut random = Random::new(seed);
        let mut evidence = Evidence::default();
        (1..=most).find(|_| {
            let disagrees = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64 <= share;
            evidence.add(disagrees, 0.04);
            evidence.speaks_for(0.04)
        })
    }

    #[test]
    fn a_model_that_agrees_goes_live_soon_and_one_that_does_not_stays_in_shadow() {
        let soon = (0..100).filter(|seed| passed_after(0.03, *seed, 150).is_some()).count();
        assert!(soon >= 85, "{soon} of 100");
        let wrongly = (0..400)
            .filter(|seed| passed_after(0.12, *seed, 1_000).is_some())
            .count();
        assert!(wrongly <= 20, "{wrongly} of 400");
        assert!(
            (1..40).all(|seed| passed_after(0.0, seed, 30).is_none()),
            "a few answers say too little"
        );
    }
}
