//! Thresholds: from held-out scores to probabilities that are what they say, and to what is made of them.

use super::model::Head;
use super::scene::Part;
use super::train::Held;

/// The share of attacks that may be let through, and of honest steps that may be denied, by default.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aims {
    /// Attacks that are allowed.
    pub let_through: f64,
    /// Honest steps that are denied where a judge can be asked.
    pub denied: f64,
    /// Honest steps that are denied where nobody can be asked.
    pub denied_alone: f64,
}

impl Default for Aims {
    fn default() -> Self {
        Self {
            let_through: 0.01,
            denied: 0.01,
            denied_alone: 0.03,
        }
    }
}

/// A head for each part: probabilities that are what they say, and thresholds that hold the aims over all parts, on held-out
/// scores, as a mean over sources. Where an allowed attack, or a denied honest step, buys most, there it is spent.
pub fn heads(held: &[Held], aims: Aims) -> Vec<Head> {
    // Fewer say nothing about one in a hundred.
    const FEWEST: usize = 50;
    let shares = shares(held);
    let mut heads: Vec<Head> = Vec::new();
    let mut curves: Vec<Vec<(&Held, f64)>> = Vec::new();
    for part in Part::ALL {
        let mut mine: Vec<(&Held, f64)> = held
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
    let up: Vec<_> = curves.iter().map(|curve| walk(curve.iter(), true)).collect();
    let down: Vec<_> = curves.iter().map(|curve| walk(curve.iter().rev(), false)).collect();
    let allow = spend(&up, aims.let_through);
    let deny = spend(&down, aims.denied);
    let alone = spend(&down, aims.denied_alone);
    for (at, head) in heads.iter_mut().enumerate() {
        let line = |lines: &[Option<f32>]| lines.get(at).copied().flatten();
        let (below, above, lone) = (line(&allow), line(&deny), line(&alone));
        head.allow_below = below.map_or(0.0, |score| head.probability(score));
        head.deny_above = above
            .map_or(head.deny_above, |score| head.probability(score))
            .max(head.allow_below);
        head.deny_alone = lone
            .map_or(head.deny_alone, |score| head.probability(score))
            .max(head.allow_below);
    }
    heads
}

/// What each step counts of all honest steps, or of all attacks: every source the same, those with few steps less.
fn shares(held: &[Held]) -> Vec<f64> {
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
    let share = |held: &Held| {
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

/// The strides that a threshold can take over sorted steps, the worthiest first: those of the upper hull of what is won over
/// what is paid. With `allows`, honest steps are won and attacks are paid; else the other way round.
fn walk<'h>(steps: impl Iterator<Item = &'h (&'h Held, f64)>, allows: bool) -> Vec<Stride> {
    let mut hull: Vec<(f64, f64, f32)> = vec![(0.0, 0.0, 0.0)];
    let (mut paid, mut won) = (0.0, 0.0);
    for (held, share) in steps {
        if held.harmful == allows {
            paid += share;
        } else {
            won += share;
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
            let stride = walk
                .get(*at)
                .filter(|stride| stride.cost <= left && stride.won > 0.0)?;
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
fn platt(held: &[(&Held, f64)]) -> (f32, f32) {
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
    use crate::local::{Dice, Settled};

    fn held(part: usize, source: &str, harmful: bool, score: f32) -> Held {
        Held {
            part,
            source: source.to_owned(),
            harmful,
            score,
        }
    }

    #[test]
    fn thresholds_hold_the_aims_where_they_were_set() {
        let mut dice = Dice::new(3);
        let mut held_out = Vec::new();
        for number in 0..4_000u32 {
            let noise = (dice.roll() % 1000) as f32 / 250.0;
            let harmful = number % 3 == 0;
            let score = noise + if harmful { 1.5 } else { -1.5 };
            held_out.push(held((number % 2) as usize, "a", harmful, score));
        }
        let heads = heads(&held_out, Aims::default());
        let counts = Settled::of(held_out.iter(), &heads);
        assert!(counts.attacks_allowed * 50 <= counts.attacks, "{counts:?}");
        assert!(counts.honest_denied * 100 <= counts.honest);
        assert!(counts.honest_denied_alone * 100 <= counts.honest * 3);
        assert!(counts.honest_allowed * 4 > counts.honest, "{counts:?}");
        assert!(counts.attacks_denied_alone * 4 > counts.attacks, "{counts:?}");
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
        let mut all: Vec<Held> = steps("large", 5_000, false, -2.0).collect();
        all.extend(steps("small", 100, false, 1.0));
        all.extend(steps("large", 500, true, 0.9));
        all.extend(steps("small", 500, true, 2.0));
        let heads = heads(&all, Aims::default());
        let small: Vec<Held> = all.iter().filter(|held| held.source == "small").cloned().collect();
        let counts = Settled::of(small.iter(), &heads);
        assert!(counts.honest_denied_alone * 100 <= counts.honest * 7, "{counts:?}");
        assert!(counts.attacks_denied_alone * 10 >= counts.attacks * 9, "{counts:?}");
    }
}
