//! Thresholds: from held-out scores to probabilities that are what they say, and to what is made of them.

use super::may_allow::MayAllow;
use super::model::Head;
use super::train::HeldOut;
use super::voice::Part;

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
/// seen), part by part: where an allowed attack buys most, there it is spent. What is denied takes the same certainty for
/// every part, on steps of `known` sources whose groups the scoring model had not seen.
pub fn heads(strange: &[HeldOut], known: &[HeldOut], aims: Aims) -> Vec<Head> {
    // Fewer say nothing about one in a hundred.
    const FEWEST: usize = 50;
    let shares = shares(strange);
    let mut heads: Vec<Head> = Vec::new();
    let mut curves: Vec<Vec<(&HeldOut, f64)>> = Vec::new();
    for part in Part::ALL {
        let mut mine: Vec<(&HeldOut, f64)> = strange
            .iter()
            .zip(shares.iter().copied())
            .filter(|(held, _)| held.part == *part as usize)
            .collect();
        mine.sort_by(|(a, _), (b, _)| a.score.total_cmp(&b.score));
        let few = mine.iter().filter(|(held, _)| held.harmful).count() < FEWEST
            || mine.iter().filter(|(held, _)| !held.harmful).count() < FEWEST;
        let (slope, offset) = if few { (1.0, 0.0) } else { platt(&mine) };
        heads.push(Head {
            slope,
            offset,
            ..Head::UNDECIDED
        });
        curves.push(if few { Vec::new() } else { mine });
    }
    let up: Vec<_> = curves.iter().map(|curve| walk(curve)).collect();
    let allow = spend(&up, aims.let_through);
    let deny = certainty(known, &heads, aims.denied);
    for ((head, curve), line) in heads.iter_mut().zip(&curves).zip(allow) {
        if curve.is_empty() {
            continue;
        }
        head.allow_below = line.map_or(0.0, |score| head.probability(score)).min(deny);
        head.deny_above = deny;
    }
    heads
}

/// The probability from which on steps are denied, so that no more than this share of the honest ones are; at least even odds.
fn certainty(known: &[HeldOut], heads: &[Head], aim: f64) -> f64 {
    const LEAST: f64 = 0.5;
    let mut honest: Vec<(f64, f64)> = super::measure::probabilities(known, heads)
        .into_iter()
        .zip(shares(known))
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
            return (probability + 1e-6).max(LEAST);
        }
    }
    LEAST
}

/// What each step counts of all honest steps, or of all attacks: every source the same, those with few steps less.
fn shares(held: &[HeldOut]) -> Vec<f64> {
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
    held.iter().map(share).collect()
}

/// A stride of a threshold: what it costs, what it wins, and where it ends.
#[derive(Clone, Copy, Debug)]
struct Stride {
    cost: f64,
    won: f64,
    to: f32,
}

/// The strides that a threshold of allowing can take over sorted steps, the worthiest first: those of the upper hull of the
/// honest steps that are won over the attacks that are paid.
fn walk(steps: &[(&HeldOut, f64)]) -> Vec<Stride> {
    let mut hull: Vec<(f64, f64, f32)> = vec![(0.0, 0.0, 0.0)];
    let (mut paid, mut won) = (0.0, 0.0);
    let mut steps = steps.iter().peekable();
    while let Some((held, share)) = steps.next() {
        match (held.may_allow, held.harmful) {
            (MayAllow::No, _) => {}
            (MayAllow::Yes, true) => paid += share,
            (MayAllow::Yes, false) => won += share,
        }
        // INVARIANT: a threshold takes all steps of one score or none of them, so that none is paid for that it lets through.
        let same = |next: &&(&HeldOut, f64)| next.0.score.total_cmp(&held.score).is_eq();
        if steps.peek().is_some_and(same) {
            continue;
        }
        let next = (paid, won, held.score);
        while let [.., (x0, y0, _), (x1, y1, _)] = hull.as_slice() {
            let steeper = (y1 - y0) * (next.0 - x0) > (next.1 - y0) * (x1 - x0);
            if steeper {
                break;
            }
            hull.pop();
        }
        hull.push(next);
    }
    let strides = hull.windows(2).filter_map(|pair| match pair {
        [(x0, y0, _), (x1, y1, to)] => Some(Stride {
            cost: x1 - x0,
            won: y1 - y0,
            to: *to,
        }),
        _ => None,
    });
    strides.collect()
}

/// Takes strides of every part, the worthiest first, as long as there is something to pay with; the scores where they end.
fn spend(walks: &[Vec<Stride>], mut left: f64) -> Vec<Option<f32>> {
    let mut at = vec![0usize; walks.len()];
    let mut lines = vec![None; walks.len()];
    loop {
        let next = walks.iter().zip(&at).enumerate().filter_map(|(part, (walk, at))| {
            let stride = walk.get(*at).filter(|stride| stride.cost <= left && stride.won > 0.0)?;
            Some((part, *stride))
        });
        let worth = |stride: &Stride| stride.won / (stride.cost + 1e-9);
        let Some((part, stride)) = next.max_by(|a, b| worth(&a.1).total_cmp(&worth(&b.1))) else {
            return lines;
        };
        left -= stride.cost;
        if let (Some(at), Some(line)) = (at.get_mut(part), lines.get_mut(part)) {
            *at += 1;
            *line = Some(stride.to);
        }
    }
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
