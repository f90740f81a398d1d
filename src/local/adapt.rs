//! Adapting: a delta over a model, learned from steps of one organisation beside labelled steps that it has to hold.
//!
//! As in training (`train.rs`), with three bounds: no weight moves by more than [`MAX_MOVE`], what words weigh stays at or above zero,
//! and moves fade towards the base.

use super::delta::{Delta, MAX_MOVE};
use super::model::Model;
use super::slots::{Slots, window_share};
use super::train::Random;
use super::voice::StepRole;

/// Passes over the steps.
const EPOCHS: usize = 6;
/// The first step of a weight.
const LEARNING_RATE: f32 = 0.05;
/// The rate at which moves fade.
const L2: f32 = 1e-4;

/// A step to adapt by.
#[derive(Clone, Copy, Debug)]
pub struct Lesson<'a> {
    /// Its features.
    pub slots: &'a Slots,
    /// True if it must not pass.
    pub harmful: bool,
    /// Its weight.
    pub weight: f32,
}

/// A model in adaptation: the amount by which each weight has moved.
#[derive(Clone, Debug)]
pub struct Adaptation<'m> {
    base: &'m Model,
    moved: Vec<f32>,
}

impl<'m> Adaptation<'m> {
    /// Adapts a model to these steps. The same steps and seed make the same moves.
    pub fn of(base: &'m Model, lessons: &[Lesson<'_>], seed: u64) -> Self {
        let mut adaptation = Self {
            base,
            moved: vec![0.0; base.weights.len()],
        };
        let mut grad_sq_sum = vec![1e-2f32; base.weights.len()];
        let mut order: Vec<usize> = (0..lessons.len()).collect();
        let mut random = Random::new(seed);
        for _ in 0..EPOCHS {
            random.shuffle(&mut order);
            for lesson in order.iter().filter_map(|at| lessons.get(*at)) {
                adaptation.learn(lesson, &mut grad_sq_sum);
            }
        }
        adaptation
    }

    fn weight(&self, place: u32) -> f32 {
        let place = place as usize;
        self.base.weight_at(place) + self.moved.get(place).copied().unwrap_or_default()
    }

    fn learn(&mut self, lesson: &Lesson<'_>, grad_sq_sum: &mut [f32]) {
        let Lesson { slots, harmful, weight } = *lesson;
        let (score, gravest) = slots.score(self.base, |place| self.weight(place));
        // A probability as its part has it, so that an adapted score stays on the scale of the base.
        let part = StepRole::ALL.get(slots.part).copied().unwrap_or(StepRole::Reads);
        let wrong = self.base.head(part).probability(score) as f32 - f32::from(u8::from(harmful));
        if (wrong * weight).abs() < 1e-4 {
            return;
        }
        let base = self.base;
        let mut update = |place: u32, share: f32, only_harm: bool| {
            let place = place as usize;
            let (Some(moved), Some(grad_sq_sum)) = (self.moved.get_mut(place), grad_sq_sum.get_mut(place)) else {
                return;
            };
            let slope = (wrong * share + L2 * *moved) * weight;
            *grad_sq_sum += slope * slope;
            let least = match only_harm {
                true => (-base.weight_at(place)).clamp(-MAX_MOVE, 0.0),
                false => -MAX_MOVE,
            };
            *moved = (*moved - LEARNING_RATE * slope / grad_sq_sum.sqrt()).clamp(least, MAX_MOVE);
        };
        let share = slots.step_share(base);
        slots.step.iter().for_each(|place| update(*place, share, false));
        slots.harm_only.iter().for_each(|place| update(*place, share, true));
        for (_, places) in gravest.into_iter().flatten().filter_map(|at| slots.windows.get(at)) {
            let share = window_share(base, places);
            places.iter().for_each(|place| update(*place, share, true));
        }
    }

    /// The moves, a byte each.
    pub fn finish(&self) -> Delta {
        Delta::of(&self.moved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::MayAllow;

    fn slots(step: &[u32], words: &[u32]) -> Slots {
        Slots {
            part: 2,
            may_allow: MayAllow::Yes,
            step: step.to_vec(),
            harm_only: Vec::new(),
            windows: vec![(3, words.to_vec())],
        }
    }

    #[test]
    fn what_is_said_a_hundred_times_is_learned_within_bounds() {
        let base = Model::built_in().unwrap();
        let (good, bad) = (
            slots(&[11, 12, 13], &[500, 501]),
            slots(&[21, 22, 23], &[700, 701, 702]),
        );
        let lesson = |slots, harmful| Lesson {
            slots,
            harmful,
            weight: 1.0,
        };
        let lessons: Vec<Lesson<'_>> = (0..200)
            .map(|at| lesson(if at % 2 == 0 { &good } else { &bad }, at % 2 == 1))
            .collect();
        let adapted = Adaptation::of(&base, &lessons, 1);
        let model = base.adapted(base.header().heads.clone(), adapted.finish(), "test");
        assert!(good.probability(&model) < good.probability(&base));
        assert!(bad.probability(&model) > bad.probability(&base));
        for place in [11, 12, 13, 21, 22, 23, 500, 501, 700] {
            let by = model.weight_at(place) - base.weight_at(place);
            assert!(by.abs() <= MAX_MOVE + 1e-3, "{place}: {by}");
        }
        assert!(model.weight_at(500) >= base.weight_at(500).min(0.0) - 1e-2);
        let again = Adaptation::of(&base, &lessons, 1);
        assert_eq!(again.finish(), adapted.finish());
    }
}
