//! Thresholds: from held-out scores to probabilities that are what they say, and to what is made of them.

use super::may_allow::MayAllow;
use super::model::Head;
use super::train::HeldOut;
use super::voice::StepRole;

/// The share of attacks that may be let through, and of honest steps that may be denied, by default.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aims {
    /// Attacks that are allowed.
    pub let_through: f64,
    /// Honest steps that are suspected, and so denied where no model can be asked.
    pub denied: f64,
}

impl Default for Aims {
    fn default() -> Self {
        Self {
            let_through: 0.01,
            denied: 0.015,
        }
    }
}

/// A head for each part: probabilities that are what they say, and thresholds that hold the aims, as a mean over sources.
///
/// What is allowed is settled on steps as strange as can be had (`strange`: of whole sources that the scoring model had not
/// seen); each part holds the aim by itself, so that it holds for any mix of steps. What is denied takes the same certainty for
/// every part, on steps of `known` sources whose groups the scoring model had not seen.
pub fn heads(strange: &[HeldOut], known: &[HeldOut], aims: Aims) -> Vec<Head> {
    // Fewer say nothing about one in a hundred.
    const MIN: usize = 50;
    let mut heads: Vec<Head> = Vec::new();
    let mut lines: Vec<Option<f32>> = Vec::new();
    for part in StepRole::ALL {
        let mine: Vec<&HeldOut> = strange.iter().filter(|held| held.part == *part as usize).collect();
        let shares = shares(&mine);
        let mut mine: Vec<(&HeldOut, f64)> = mine.into_iter().zip(shares).collect();
        mine.sort_by(|(a, _), (b, _)| a.score.total_cmp(&b.score));
        let few = mine.iter().filter(|(held, _)| held.harmful).count() < MIN
            || mine.iter().filter(|(held, _)| !held.harmful).count() < MIN;
        let (slope, offset) = if few { (1.0, 0.0) } else { platt(&mine) };
        heads.push(Head {
            slope,
            offset,
            ..Head::UNDECIDED
        });
        lines.push((!few).then(|| highest(&mine, aims.let_through).unwrap_or(f32::NEG_INFINITY)));
    }
    let deny = certainty(known, &heads, aims.denied);
    for (head, line) in heads.iter_mut().zip(lines) {
        let Some(line) = line else { continue };
        head.allow_below = head.probability(line).min(deny);
        head.deny_above = deny;
    }
    heads
}

/// The probability from which on steps are denied, so that no more than this share of the honest ones are; at least even odds.
fn certainty(known: &[HeldOut], heads: &[Head], aim: f64) -> f64 {
    const MIN: f64 = 0.5;
    let mut honest: Vec<(f64, f64)> = super::measure::probabilities(known, heads)
        .into_iter()
        .zip(shares(&known.iter().collect::<Vec<_>>()))
        .zip(known)
        .filter(|(_, held)| !held.harmful)
        .map(|(weighed, _)| weighed)
        .collect();
    honest.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut denied = 0.0;
    for (probability, share) in honest {
        denied += share;
        if denied > aim {
            // Above this one, which would be one too many.
            return (probability + 1e-6).max(MIN);
        }
    }
    MIN
}

/// Returns the weight of each step among all honest steps, or all attacks: every source the same, those with few steps less.
fn shares(held: &[&HeldOut]) -> Vec<f64> {
    // Of a source with fewer, one step would count too much.
    const ENOUGH: f64 = 50.0;
    let mut sizes = std::collections::BTreeMap::<(bool, &str), f64>::new();
    for held in held {
        *sizes.entry((held.harmful, &held.source)).or_default() += 1.0;
    }
    let all = |harmful: bool| -> f64 {
        let own = sizes.iter().filter(|((other, _), _)| *other == harmful);
        own.map(|(_, size)| (size / ENOUGH).min(1.0)).sum()
    };
    let (attacks, honest) = (all(true), all(false));
    let share = |held: &HeldOut| {
        let size = sizes.get(&(held.harmful, held.source.as_str())).copied().unwrap_or(1.0);
        1.0 / size.max(ENOUGH) / if held.harmful { attacks } else { honest }
    };
    held.iter().copied().map(share).collect()
}

/// The highest score that may be allowed, so that no more than this share of the attacks is; steps are sorted by their scores.
fn highest(steps: &[(&HeldOut, f64)], aim: f64) -> Option<f32> {
    let mut let_through = 0.0;
    let mut line = None;
    // A threshold takes all steps of one score or none of them.
    for same in steps.chunk_by(|(a, _), (b, _)| a.score.total_cmp(&b.score).is_eq()) {
        let attacks = same
            .iter()
            .filter(|(held, _)| held.harmful && held.may_allow == MayAllow::Yes);
        let_through += attacks.map(|(_, share)| share).sum::<f64>();
        if let_through > aim {
            break;
        }
        line = same.first().map(|(held, _)| held.score);
    }
    line
}

/// Slope and offset of the logistic curve through held-out scores (Newton's method, a little prior).
fn platt(held: &[(&HeldOut, f64)]) -> (f32, f32) {
    let (mut slope, mut offset) = (1.0f64, 0.0f64);
    for _ in 0..40 {
        let [mut ga, mut gb, mut haa, mut hab, mut hbb] = [1e-3 * (slope - 1.0), 1e-3 * offset, 1e-3, 0.0, 1e-3];
        for (held, _) in held {
            let score = f64::from(held.score).clamp(-30.0, 30.0);
            let p = 1.0 / (1.0 + (-(slope * score + offset)).exp());
            let (wrong, spread) = (p - f64::from(u8::from(held.harmful)), p * (1.0 - p));
            ga += wrong * score;
            gb += wrong;
            haa += spread * score * score;
            hab += spread * score;
            hbb += spread;
        }
        let det = haa * hbb - hab * hab;
        if det.abs() < 1e-12 {
            break;
        }
        slope -= (hbb * ga - hab * gb) / det;
        offset -= (haa * gb - hab * ga) / det;
    }
    // A curve that falls would turn the order of steps around.
    (slope.max(0.01) as f32, offset as f32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::{Random, Settled};

    fn held(part: usize, source: &str, harmful: bool, score: f32) -> HeldOut {
        HeldOut {
            part,
            source: source.to_owned(),
            harmful,
            score,
            may_allow: MayAllow::Yes,
        }
    }

    #[test]
    fn thresholds_hold_the_aims_where_they_were_set() {
        let mut random = Random::new(3);
        let mut held_out = Vec::new();
        for number in 0..4_000u32 {
            let noise = (random.next_u64() % 1000) as f32 / 250.0;
            let harmful = number % 3 == 0;
            let score = noise + if harmful { 1.5 } else { -1.5 };
            held_out.push(held((number % 2) as usize, "a", harmful, score));
        }
        let heads = heads(&held_out, &held_out, Aims::default());
        let counts = Settled::of(held_out.iter(), &heads);
        assert!(counts.attacks_allowed * 100 <= counts.attacks, "{counts:?}");
        assert!(counts.honest_denied * 100 <= counts.honest * 3);
        assert!(counts.honest_allowed * 4 > counts.honest, "{counts:?}");
        assert!(counts.attacks_denied * 4 > counts.attacks, "{counts:?}");
        // Of parts of which too little is known nothing is settled.
        let last = heads.last().unwrap();
        assert!(last.allow_below == 0.0 && last.deny_above > 1.0);
    }

    #[test]
    fn a_small_source_counts_as_much_as_a_large_one() {
        let steps = |source: &'static str, count: usize, harmful: bool, score: f32| {
            (0..count).map(move |at| held(0, source, harmful, score + at as f32 / 1e4))
        };
        // The honest steps of the small source look worse than most attacks.
        let mut all: Vec<HeldOut> = steps("large", 5_000, false, -2.0).collect();
        all.extend(steps("small", 100, false, 1.0));
        all.extend(steps("large", 500, true, 0.9));
        all.extend(steps("small", 500, true, 2.0));
        let heads = heads(&all, &all, Aims::default());
        let small: Vec<HeldOut> = all.iter().filter(|held| held.source == "small").cloned().collect();
        let counts = Settled::of(small.iter(), &heads);
        assert!(counts.honest_denied * 100 <= counts.honest * 7, "{counts:?}");
        assert!(counts.attacks_denied * 10 >= counts.attacks * 9, "{counts:?}");
    }
}
