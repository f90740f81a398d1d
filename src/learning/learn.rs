//! Learning: from kept verdicts of one organisation to a model of its own, or to the reasons why there is none.
//!
//! Whole sessions are held back: each step is scored by a model that has seen nothing of its session. The thresholds up to which a step
//! is settled as allowed, one for each part that a step plays, have to hold three bounds at once:
//!
//! - of the attacks of the floor (labelled steps that are compiled in), scored by models that have not seen them, at most 1 % are
//!   allowed (the upper end of the Wilson interval at 95 %). Those few are given to the parts where they let most steps be settled;
//! - the finished model allows at most 1 % of the attacks of each suite of the floor, or one of a small suite;
//! - of the organisation's own steps under it, the judge denied no more than it denies among the steps that look most harmless, where
//!   what it denies is its own error, and 1 % of all that it denied. A single verdict of a judge that is wrong in some steps of a hundred
//!   says too little; a denial by a person counts as it is, and none lies under the threshold.

use std::collections::{BTreeMap, BTreeSet};

use super::figures::Figures;
use super::floor::Floor;
use super::learned::{self, Header, Learned, MAX_SHAPES, MAX_WORDS, UNKNOWN};
use crate::local::{Adaptation, Head, Lesson, MayAllow, Model, Slots, StepRole, interval_of};

/// Steps that there have to be, denied ones among them, and sessions.
pub(super) const MIN_STEPS: usize = 100;
/// See [`MIN_STEPS`].
pub(super) const MIN_DENIED: usize = 8;
/// See [`MIN_STEPS`].
pub(super) const MIN_SESSIONS: usize = 12;
/// Sessions in which a shape has to be seen in steps that the judge allowed, before it is known.
pub const MIN_SESSIONS_OF_SHAPE: usize = 3;

/// Parts in which sessions are held back.
const FOLDS: usize = 4;
/// The share of the floor's attacks that may be allowed, and of all denied steps that may lie under the thresholds.
const LET_THROUGH: f64 = 0.01;
/// The share of honest steps that may be suspected, over all.
const DENIED: f64 = 0.005;
/// The share of honest steps of a suite that may be suspected.
const SUSPECTED: f64 = 0.02;
/// The share of wrong denials that a judge is thought capable of.
const MAX_JUDGE_ERROR: f64 = 0.04;
/// The highest probability of harm with which a step is ever settled as allowed.
const MAX_ALLOW_BELOW: f64 = 0.5;
/// The share of the kept steps that a model has to settle, or it is not worth its risk.
const MIN_GAIN: f64 = 0.1;
/// The weight of a step that a person labelled; a step that only the judge decided weighs 1.
const PERSON: f64 = 5.0;
/// The largest share of all weight that one session, one tool, one day and one caller have, as long as there are enough of them.
const SHARES: [f64; 4] = [0.05, 0.4, 0.5, 0.6];
/// The number of times that a word has to be allowed for each time that it is denied, before its denials count as errors of the judge.
const OFTEN: u64 = 25;
/// Steps, one of them wrongly denied, that are added to those by which a judge's error is measured.
const FEW: usize = 50;
const SEED: u64 = 1;

/// A kept step with its verdict.
#[derive(Clone, Debug)]
pub struct Kept {
    /// The step as the scorer sees it.
    pub slots: Slots,
    /// True if it must not pass.
    pub harmful: bool,
    /// The verdicts on it: allowed, and denied.
    pub allowed: u32,
    /// See `allowed`.
    pub denied: u32,
    /// True if a person said so.
    pub by_person: bool,
    /// Session, tool, day and caller, as text: each weighs at most a bounded share.
    pub groups: [String; 4],
    /// Its shape.
    pub shape: u64,
    /// Hashes of its words that the base does not know.
    pub unknown: Vec<u32>,
}

/// The result of learning.
#[derive(Debug)]
pub enum Outcome {
    /// A model: the bytes of its file, and its figures.
    Learned(Vec<u8>, Figures),
    /// No model: the figures so far, and the reasons.
    NotTaken(Figures, Vec<String>),
}

/// The input of learning for one organisation.
#[derive(Clone, Copy, Debug)]
pub struct LearnInput<'a> {
    /// The organisation.
    pub organisation: &'a str,
    /// Days over which kept steps have to be spread, and on which a shape has to be seen before it is known.
    pub min_days: usize,
}

/// Counts what there is to learn from, and lists the reasons why that is too little.
fn counted(base: &Model, floor: &Floor, kept: &[Kept], input: LearnInput<'_>) -> (Figures, Vec<String>) {
    let distinct = |at: usize| {
        kept.iter()
            .filter_map(|kept| kept.groups.get(at))
            .collect::<BTreeSet<_>>()
            .len()
    };
    let figures = Figures {
        steps: kept.len(),
        denied: kept.iter().filter(|kept| kept.harmful).count(),
        by_person: kept.iter().filter(|kept| kept.by_person).count(),
        sessions: distinct(0),
        days: distinct(2),
        floor_attacks: floor.steps.iter().filter(|step| step.harmful).count(),
        ..Figures::default()
    };
    let mut why = Vec::new();
    for (what, there, needed) in [
        ("steps", figures.steps, MIN_STEPS),
        ("denied steps", figures.denied, MIN_DENIED),
        ("sessions", figures.sessions, MIN_SESSIONS),
        ("days", figures.days, input.min_days),
    ] {
        if there < needed {
            why.push(format!("{there} {what} are kept, and at least {needed} are needed"));
        }
    }
    if floor.base != base.version() || floor.steps.is_empty() {
        why.push(format!(
            "there is no floor for model {}: `guardian learn floor` makes one",
            base.version()
        ));
    }
    (figures, why)
}

/// Learns from kept steps.
pub fn learn(base: &Model, floor: &Floor, kept: &[Kept], input: LearnInput<'_>) -> Outcome {
    let (mut figures, mut why) = counted(base, floor, kept, input);
    if !why.is_empty() {
        return Outcome::NotTaken(figures, why);
    }
    let weights = weights(kept);
    let shapes = known_shapes(kept, input.min_days);
    let denied_words = denied_words(kept);

    let held = held_out(base, floor, kept, &weights);
    let candidates = Candidates::of(base, kept, &held, &shapes, &denied_words);
    let mut thresholds = thresholds_of_floor(base, floor, &held, &candidates);
    let share = candidates.share_within(&thresholds, &mut figures);
    lower(&mut thresholds, share);
    if thresholds.iter().all(|threshold| *threshold <= 0.0) {
        why.push("no threshold holds the bounds: what looks harmless is denied too often".to_owned());
        return Outcome::NotTaken(figures, why);
    }
    let lessons = lessons(floor, kept, &weights, None);
    let delta = Adaptation::of(base, &lessons, SEED).finish();
    let finished = base.adapted(base.header().heads.clone(), delta.clone(), "finished");
    let share = share_that_suites_hold(base, floor, &finished, &thresholds);
    lower(&mut thresholds, share);
    candidates.count_within(&thresholds, &mut figures);
    figures.floor_allowed = of_floor(base, floor, &held.floor)
        .filter(|attack| attack.probability <= thresholds.get(attack.part).copied().unwrap_or_default())
        .count();
    figures.allow_below = thresholds.iter().copied().fold(0.0, f64::max);
    figures.deny_above = deny_above(floor, kept, &held);
    figures.moved = delta.len();
    figures.shapes = shapes.len();
    figures.denied_words = denied_words.len();
    let heads = heads(base, thresholds, figures.deny_above);
    let mut header: Header = learned::header(base, input.organisation, heads, figures.clone());
    header.shapes = shapes.into_iter().take(MAX_SHAPES).collect();
    if denied_words.len() > MAX_WORDS {
        why.push(format!(
            "denied steps have more than {MAX_WORDS} words that the base does not know"
        ));
    }
    header.denied_words = denied_words.into_iter().take(MAX_WORDS).collect();
    let bytes = Learned::to_bytes(&header, &delta);
    match Learned::parse(&bytes, input.organisation, base) {
        Ok(model) => hold(base, floor, &model, &mut why),
        Err(error) => why.push(error.to_string()),
    }
    let gain = figures.settled as f64 / figures.steps.max(1) as f64;
    if gain < MIN_GAIN {
        why.push(format!(
            "it would settle {} of {} steps, and {:.0} % are needed for a model to be worth it",
            figures.settled,
            figures.steps,
            MIN_GAIN * 100.0
        ));
    }
    match why.is_empty() {
        true => Outcome::Learned(bytes, figures),
        false => Outcome::NotTaken(figures, why),
    }
}

/// Holds the finished model to each suite of the floor: beyond those that the base suspects, it may suspect a share of [`SUSPECTED`] of its
/// honest steps.
fn hold(base: &Model, floor: &Floor, model: &Learned, why: &mut Vec<String>) {
    let mut suites = BTreeMap::<&str, (usize, usize)>::new();
    for step in floor.steps.iter().filter(|step| !step.harmful) {
        let part = role(&step.slots);
        let suspected = step.slots.probability(&model.model) >= model.model.head(part).deny_above
            && step.slots.probability(base) < base.head(part).deny_above;
        let (all, some) = suites.entry(&step.suite).or_default();
        *all += 1;
        *some += usize::from(suspected);
    }
    for (name, (all, some)) in suites {
        if is_too_many(some, all, SUSPECTED) {
            why.push(format!(
                "of {all} in `{name}` of the floor, {some} honest steps would be suspected that the base does not"
            ));
        }
    }
}

/// Returns `true` if so many of a suite are more than this share. One step of a small suite may be chance.
fn is_too_many(some: usize, all: usize, share: f64) -> bool {
    some > 1 && some as f64 > share * all as f64
}

/// The probabilities that models give steps of which they have not seen the session: of the kept steps, and of the floor.
struct Held {
    own: Vec<f64>,
    floor: Vec<f64>,
}

fn held_out(base: &Model, floor: &Floor, kept: &[Kept], weights: &[f32]) -> Held {
    let mut held = Held {
        own: vec![1.0; kept.len()],
        floor: vec![1.0; floor.steps.len()],
    };
    for this in 0..FOLDS {
        let lessons = lessons(floor, kept, weights, Some(this));
        let delta = Adaptation::of(base, &lessons, SEED).finish();
        let model = base.adapted(base.header().heads.clone(), delta, "held out");
        for (kept, probability) in kept.iter().zip(&mut held.own) {
            if fold_of(kept) == this {
                *probability = kept.slots.probability(&model);
            }
        }
        for (step, probability) in floor.steps.iter().zip(&mut held.floor) {
            if fold(&step.group) == this {
                *probability = step.slots.probability(&model);
            }
        }
    }
    held
}

fn fold(group: &str) -> usize {
    let hash = blake3::hash(group.as_bytes());
    usize::from(hash.as_bytes().first().copied().unwrap_or_default()) % FOLDS
}

fn fold_of(kept: &Kept) -> usize {
    fold(kept.groups.first().map_or("", String::as_str))
}

/// Returns what is learned from: kept steps and the floor, which count the same, each with as much weight for harm as against it.
fn lessons<'a>(floor: &'a Floor, kept: &'a [Kept], weights: &[f32], without: Option<usize>) -> Vec<Lesson<'a>> {
    let own = kept
        .iter()
        .zip(weights)
        .filter(|(kept, _)| Some(fold_of(kept)) != without);
    let own: Vec<Lesson<'a>> = own
        .map(|(kept, weight)| Lesson {
            slots: &kept.slots,
            harmful: kept.harmful,
            weight: *weight,
        })
        .collect();
    let held = floor.steps.iter().filter(|step| Some(fold(&step.group)) != without);
    let held: Vec<Lesson<'a>> = held
        .map(|step| Lesson {
            slots: &step.slots,
            harmful: step.harmful,
            weight: 1.0,
        })
        .collect();
    let each = own.len() as f32;
    let mut all = own;
    balance(&mut all, each);
    let mut held = held;
    balance(&mut held, each);
    all.extend(held);
    all
}

/// Scales weights so that they add up to `total`, half of it for harm. None is scaled up by more than four: an organisation has few denials,
/// and some of them are wrong.
fn balance(lessons: &mut [Lesson<'_>], total: f32) {
    const MAX_SCALE: f32 = 4.0;
    for harmful in [true, false] {
        let sum: f32 = lessons
            .iter()
            .filter(|one| one.harmful == harmful)
            .map(|one| one.weight)
            .sum();
        let scale = (total / 2.0 / sum.max(1e-6)).min(MAX_SCALE);
        lessons
            .iter_mut()
            .filter(|one| one.harmful == harmful)
            .for_each(|one| one.weight *= scale);
    }
}

/// Returns the weight of each kept step: no session, tool, day or caller has more than its share.
fn weights(kept: &[Kept]) -> Vec<f32> {
    let mut weights: Vec<f64> = kept
        .iter()
        .map(|kept| if kept.by_person { PERSON } else { 1.0 })
        .collect();
    for (at, share) in SHARES.iter().enumerate() {
        let mut sums = BTreeMap::<&str, f64>::new();
        for (kept, weight) in kept.iter().zip(&weights) {
            let group = kept.groups.get(at).map_or("", String::as_str);
            *sums.entry(group).or_default() += weight;
        }
        // Of two days, one has at least half.
        let most = share.max(1.5 / sums.len().max(1) as f64) * weights.iter().sum::<f64>();
        for (kept, weight) in kept.iter().zip(&mut weights) {
            let group = kept.groups.get(at).map_or("", String::as_str);
            let sum = sums.get(group).copied().unwrap_or(1.0);
            *weight *= (most / sum).min(1.0);
        }
    }
    weights.into_iter().map(|weight| weight as f32).collect()
}

/// Returns the shapes that were seen in allowed steps of several sessions, on several days.
fn known_shapes(kept: &[Kept], min_days: usize) -> BTreeSet<u64> {
    let mut seen = BTreeMap::<u64, (BTreeSet<&str>, BTreeSet<&str>)>::new();
    for kept in kept.iter().filter(|kept| !kept.harmful) {
        let [session, _, day, _] = &kept.groups;
        let (sessions, days) = seen.entry(kept.shape).or_default();
        sessions.insert(session);
        days.insert(day);
    }
    seen.retain(|_, (sessions, days)| sessions.len() >= MIN_SESSIONS_OF_SHAPE && days.len() >= min_days);
    seen.into_keys().collect()
}

/// Returns the words that the base does not know and that stand in denied steps, but for those that stand in more than [`OFTEN`] times as many
/// allowed ones.
fn denied_words(kept: &[Kept]) -> BTreeSet<u32> {
    let mut seen = BTreeMap::<u32, (u64, u64)>::new();
    for kept in kept {
        for word in &kept.unknown {
            let (allowed, denied) = seen.entry(*word).or_default();
            *allowed += u64::from(kept.allowed);
            *denied += u64::from(kept.denied);
        }
    }
    seen.retain(|_, (allowed, denied)| *denied > 0 && *allowed <= OFTEN * *denied);
    seen.into_keys().collect()
}

/// The probability up to which a step of each part is settled.
type Thresholds = [f64; StepRole::ALL.len()];

fn role(slots: &Slots) -> StepRole {
    StepRole::ALL.get(slots.part).copied().unwrap_or(StepRole::Reads)
}

/// Returns `true` if a learned model may settle such a step at all: the base does not suspect it, and its words may be allowed.
fn is_unsure(base: &Model, slots: &Slots) -> bool {
    slots.may_allow == MayAllow::Yes && slots.probability(base) < base.head(role(slots)).deny_above
}

/// An attack of the floor that a learned model answers for: it may settle it, and the base does not allow it already.
struct FloorAttack<'f> {
    suite: &'f str,
    part: usize,
    probability: f64,
}

fn of_floor<'f>(
    base: &'f Model,
    floor: &'f Floor,
    probabilities: &'f [f64],
) -> impl Iterator<Item = FloorAttack<'f>> + 'f {
    let attacks = floor.steps.iter().zip(probabilities).filter(|(step, _)| step.harmful);
    let attacks = attacks.filter(|(step, _)| {
        is_unsure(base, &step.slots) && step.slots.probability(base) > base.head(role(&step.slots)).allow_below
    });
    attacks.map(|(step, probability)| FloorAttack {
        suite: &step.suite,
        part: role(&step.slots) as usize,
        probability: *probability,
    })
}

/// Scales the thresholds down.
fn lower(thresholds: &mut Thresholds, share: f64) {
    thresholds.iter_mut().for_each(|threshold| *threshold *= share);
}

/// Returns the part of its threshold that a probability reaches.
fn share_of(thresholds: &Thresholds, part: usize, probability: f64) -> f64 {
    match thresholds.get(part) {
        Some(threshold) if *threshold > 0.0 => probability / threshold,
        Some(_) | None => f64::INFINITY,
    }
}

/// Returns the thresholds under which the floor's attacks stay within the bound. The few attacks that may lie under a threshold are given to the parts
/// where they let most steps be settled.
fn thresholds_of_floor(base: &Model, floor: &Floor, held: &Held, candidates: &Candidates<'_>) -> Thresholds {
    let mut lists: [Vec<f64>; StepRole::ALL.len()] = Default::default();
    for attack in of_floor(base, floor, &held.floor) {
        if let Some(list) = lists.get_mut(attack.part) {
            list.push(attack.probability);
        }
    }
    lists.iter_mut().for_each(|list| list.sort_by(f64::total_cmp));
    // Below the first attack that would be one too many.
    let threshold = |part: usize, attacks: usize| {
        let next = lists.get(part).and_then(|list| list.get(attacks));
        next.map_or(MAX_ALLOW_BELOW, |p| (p - 1e-9).clamp(0.0, MAX_ALLOW_BELOW))
    };
    let all = floor.steps.iter().filter(|step| step.harmful).count() as f64;
    let holds = |allowed: usize| interval_of(allowed as f64 / all, all).is_some_and(|(_, high)| high <= LET_THROUGH);
    let Some(mut left) = (0..=floor.steps.len()).take_while(|allowed| holds(*allowed)).last() else {
        return Thresholds::default();
    };
    let mut under = [0; StepRole::ALL.len()];
    while left > 0 {
        let offers = (0..under.len()).flat_map(|part| (1..=left).map(move |more| (part, more)));
        let gains = offers.map(|(part, more)| {
            let there = under.get(part).copied().unwrap_or_default();
            let before = candidates.under(part, threshold(part, there));
            let after = candidates.under(part, threshold(part, there + more));
            (after.saturating_sub(before) as f64 / more as f64, part, more)
        });
        let best = gains.max_by(|a, b| a.0.total_cmp(&b.0).then(b.2.cmp(&a.2)));
        let Some((_, part, more)) = best.filter(|(gain, ..)| *gain > 0.0) else {
            break;
        };
        if let Some(there) = under.get_mut(part) {
            *there += more;
        }
        left -= more;
    }
    std::array::from_fn(|part| threshold(part, under.get(part).copied().unwrap_or_default()))
}

/// Returns the share of these thresholds under which the finished model allows no more attacks of any suite than it may.
fn share_that_suites_hold(base: &Model, floor: &Floor, finished: &Model, thresholds: &Thresholds) -> f64 {
    let mut sizes = BTreeMap::<&str, usize>::new();
    for step in floor.steps.iter().filter(|step| step.harmful) {
        *sizes.entry(&step.suite).or_default() += 1;
    }
    let probabilities: Vec<f64> = floor
        .steps
        .iter()
        .map(|step| step.slots.probability(finished))
        .collect();
    let attacks = of_floor(base, floor, &probabilities);
    let mut lowest: Vec<(f64, &str)> = attacks
        .map(|attack| (share_of(thresholds, attack.part, attack.probability), attack.suite))
        .filter(|(share, _)| *share <= 1.0)
        .collect();
    lowest.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut allowed = BTreeMap::<&str, usize>::new();
    for (share, suite) in lowest {
        let count = allowed.entry(suite).or_default();
        *count += 1;
        if is_too_many(*count, sizes.get(suite).copied().unwrap_or_default(), LET_THROUGH) {
            return share * 0.999;
        }
    }
    1.0
}

/// Kept steps that a learned model may settle, with the probabilities of models that have not seen their sessions.
struct Candidates<'k> {
    steps: Vec<(f64, &'k Kept)>,
}

impl<'k> Candidates<'k> {
    /// Denied steps are among them whatever their words: the words of the next ones are not known yet.
    fn of(base: &Model, kept: &'k [Kept], held: &Held, shapes: &BTreeSet<u64>, denied_words: &BTreeSet<u32>) -> Self {
        let own = kept.iter().zip(&held.own);
        let own = own.filter(|(kept, _)| is_unsure(base, &kept.slots) && shapes.contains(&kept.shape));
        let own = own.filter(|(kept, _)| {
            let has_denied = kept.unknown.iter().any(|word| denied_words.contains(word));
            kept.unknown.len() < UNKNOWN && (kept.harmful || !has_denied)
        });
        Self {
            steps: own.map(|(kept, p)| (*p, kept)).collect(),
        }
    }

    /// Counts the steps of a part under a threshold.
    fn under(&self, part: usize, threshold: f64) -> usize {
        let own = self
            .steps
            .iter()
            .filter(|(p, kept)| kept.slots.part == part && *p <= threshold);
        own.count()
    }

    /// Returns the largest share of these thresholds under which the judge denied no more than its own error explains.
    fn share_within(&self, thresholds: &Thresholds, figures: &mut Figures) -> f64 {
        let mut own: Vec<(f64, &Kept)> = self
            .steps
            .iter()
            .map(|(p, kept)| (share_of(thresholds, kept.slots.part, *p), *kept))
            .collect();
        own.sort_by(|a, b| a.0.total_cmp(&b.0));
        let lowest = own.len() / 2;
        let wrong = own.iter().take(lowest).filter(|(_, kept)| kept.harmful).count();
        // As if it had been wrong in one of `FEW` steps before: a few steps say little.
        figures.judge_error = ((wrong + 1) as f64 / (lowest + FEW) as f64).min(MAX_JUDGE_ERROR);
        let spare = LET_THROUGH * figures.denied as f64;
        let (mut denied, mut within) = (0.0, 0.0);
        for (at, (share, kept)) in own.iter().enumerate() {
            if *share > 1.0 || (kept.harmful && kept.by_person) {
                break;
            }
            // Each denial counts, also of steps that look equal: of these, the allowed ones are one step.
            denied += f64::from(kept.denied.max(u32::from(kept.harmful)));
            // A judge that is wrong by chance denies now a little more, now a little less.
            if !kept.harmful && denied <= figures.judge_error * (at + 1) as f64 + spare {
                within = *share;
            }
        }
        within
    }

    /// Counts the steps under these thresholds.
    fn count_within(&self, thresholds: &Thresholds, figures: &mut Figures) {
        let settled = self.steps.iter();
        let settled = settled.filter(|(p, kept)| share_of(thresholds, kept.slots.part, *p) <= 1.0);
        let settled: Vec<bool> = settled.map(|(_, kept)| kept.harmful).collect();
        figures.settled = settled.len();
        figures.settled_denied = settled.iter().filter(|harmful| **harmful).count();
    }
}

/// Returns the probability above which so few honest steps lie that the upper limit of their share holds the bound; over 1 where there are
/// too few honest steps to tell.
fn deny_above(floor: &Floor, kept: &[Kept], held: &Held) -> f64 {
    const MIN: f64 = 0.5;
    const NEVER: f64 = 1.1;
    let own = kept
        .iter()
        .zip(&held.own)
        .filter(|(kept, _)| !kept.harmful)
        .map(|(_, p)| *p);
    let known = floor.steps.iter().zip(&held.floor).filter(|(step, _)| !step.harmful);
    let mut honest: Vec<f64> = own.chain(known.map(|(_, p)| *p)).collect();
    honest.sort_by(|a, b| b.total_cmp(a));
    let all = honest.len() as f64;
    let holds = |denied: usize| interval_of(denied as f64 / all, all).is_some_and(|(_, high)| high <= DENIED);
    let most = (0..=honest.len()).take_while(|denied| holds(*denied)).last();
    most.and_then(|most| honest.get(most))
        .map_or(NEVER, |p| (p + 1e-6).max(MIN))
}

/// Returns the base's curves with these thresholds; of parts about which the base knows nothing, nothing is settled.
fn heads(base: &Model, thresholds: Thresholds, deny_above: f64) -> Vec<Head> {
    let heads = base.header().heads.iter().zip(thresholds);
    let heads = heads.map(|(head, allow_below)| match head.deny_above > 1.0 {
        true => Head::UNDECIDED,
        false => Head {
            allow_below,
            deny_above: deny_above.max(allow_below),
            ..*head
        },
    });
    heads.collect()
}
