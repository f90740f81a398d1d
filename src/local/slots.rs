//! Slots: a step as the places of its weights in a model's table, small enough to keep, without a word of its texts.

use super::may_allow::MayAllow;
use super::model::{Model, slot};
use super::shares;
use super::training_features::TrainingFeatures;
use super::voice::{StepRole, Voice};

/// The windows of each voice that are kept: those that weigh most towards harm.
const MAX_WINDOWS: usize = 3;
/// The longest encoded step, in bytes; a longer one is not kept.
const MAX_BYTES: usize = 64 * 1024;

/// A step as the places of its weights in the table of one model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Slots {
    /// Its role: an index into [`StepRole::ALL`].
    pub part: usize,
    /// The permission for a scorer to allow it at all, once its words are known.
    pub may_allow: MayAllow,
    /// The features of the step as a whole.
    pub(super) step: Vec<u32>,
    /// The features of its words as a whole; they only speak for harm.
    pub(super) harm_only: Vec<u32>,
    /// Windows of its texts: whose words, and their places. They only speak for harm.
    pub(super) windows: Vec<(u8, Vec<u32>)>,
}

impl Slots {
    /// The features of a step in the table of this model; of its windows, those that weigh most in it.
    pub fn of(features: &TrainingFeatures, model: &Model) -> Self {
        let bits = model.header().bits;
        let places = |ids: &[u32]| -> Vec<u32> {
            let mut places: Vec<u32> = ids.iter().map(|id| slot(*id, bits) as u32).collect();
            places.sort_unstable();
            places
        };
        let mut windows = Vec::new();
        for voice in 0..Voice::ALL.len() {
            let own = features.windows.iter().filter(|window| window.voice == voice);
            let mut weighed: Vec<(f32, &Vec<u32>)> = own
                .map(|window| {
                    let harm: f32 = window.ids.iter().map(|id| model.weight(*id).max(0.0)).sum();
                    (harm * shares::in_window(window.ids.len()), &window.ids)
                })
                .collect();
            weighed.sort_by(|a, b| b.0.total_cmp(&a.0));
            let kept = weighed.into_iter().take(MAX_WINDOWS);
            windows.extend(kept.map(|(_, ids)| (voice as u8, places(ids))));
        }
        Self {
            part: features.part,
            may_allow: features.may_allow_if_known,
            step: places(&features.step),
            harm_only: places(&features.harm_only),
            windows,
        }
    }

    /// Its score where a place weighs this much, and which window of each voice counts.
    pub(super) fn score(&self, model: &Model, weight: impl Fn(u32) -> f32) -> (f32, [Option<usize>; Voice::ALL.len()]) {
        let harm = |places: &[u32]| places.iter().map(|place| weight(*place).max(0.0)).sum::<f32>();
        let step: f32 = self.step.iter().map(|place| weight(*place)).sum();
        let mut score = (step + harm(&self.harm_only)) * self.step_share(model);
        let mut gravest: [Option<(f32, usize)>; Voice::ALL.len()] = [None; Voice::ALL.len()];
        for (at, (voice, places)) in self.windows.iter().enumerate() {
            let harm = harm(places) * window_share(model, places);
            if let Some(known) = gravest.get_mut(usize::from(*voice))
                && known.is_none_or(|(most, _)| harm > most)
            {
                *known = Some((harm, at));
            }
        }
        score += gravest.iter().flatten().map(|(harm, _)| harm).sum::<f32>();
        (score, gravest.map(|known| known.map(|(_, at)| at)))
    }

    /// The probability of harm that a model gives it.
    pub fn probability(&self, model: &Model) -> f64 {
        let (score, _) = self.score(model, |place| model.weight_at(place as usize));
        let part = StepRole::ALL.get(self.part).copied().unwrap_or(StepRole::Reads);
        model.head(part).probability(score)
    }

    /// Returns the weight of a feature of the step as a whole.
    pub(super) fn step_share(&self, model: &Model) -> f32 {
        model.header().step_share * shares::in_step(self.step.len() + self.harm_only.len())
    }

    /// Its bytes: places in order, as differences, in a variable number of bytes each. `None` where they are too many.
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        let may_allow = u8::from(self.may_allow == MayAllow::Yes);
        let mut bytes = vec![u8::try_from(self.part).ok()?, may_allow];
        put_places(&self.step, &mut bytes);
        put_places(&self.harm_only, &mut bytes);
        put(u32::try_from(self.windows.len()).ok()?, &mut bytes);
        for (voice, places) in &self.windows {
            bytes.push(*voice);
            put_places(places, &mut bytes);
        }
        (bytes.len() <= MAX_BYTES).then_some(bytes)
    }

    /// Reads the output of [`to_bytes`](Self::to_bytes). `None` where it is something else.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        if bytes.len() > MAX_BYTES {
            return None;
        }
        let rest = &mut bytes.iter();
        let part = usize::from(*rest.next()?);
        let may_allow = match *rest.next()? {
            1 => MayAllow::Yes,
            _ => MayAllow::No,
        };
        let (step, harm_only) = (take_places(rest)?, take_places(rest)?);
        let mut windows = Vec::new();
        for _ in 0..take(rest)? {
            windows.push((*rest.next()?, take_places(rest)?));
        }
        (part < StepRole::ALL.len() && rest.next().is_none()).then_some(Self {
            part,
            may_allow,
            step,
            harm_only,
            windows,
        })
    }
}

/// Returns the weight of a feature of a window of these places.
pub(super) fn window_share(model: &Model, places: &[u32]) -> f32 {
    model.header().window_share * shares::in_window(places.len())
}

fn put(mut number: u32, bytes: &mut Vec<u8>) {
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn put_places(places: &[u32], bytes: &mut Vec<u8>) {
    put(u32::try_from(places.len()).unwrap_or(u32::MAX), bytes);
    let mut before = 0;
    for place in places {
        put(place.wrapping_sub(before), bytes);
        before = *place;
    }
}

fn take(bytes: &mut std::slice::Iter<'_, u8>) -> Option<u32> {
    let mut number = 0;
    for shift in [0, 7, 14, 21, 28] {
        let byte = *bytes.next()?;
        number |= u32::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn take_places(bytes: &mut std::slice::Iter<'_, u8>) -> Option<Vec<u32>> {
    let count = take(bytes)? as usize;
    // Each takes at least a byte: nothing is reserved for what is not there.
    if count > bytes.len() {
        return None;
    }
    let mut before: u32 = 0;
    (0..count)
        .map(|_| {
            before = before.wrapping_add(take(bytes)?);
            Some(before)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_comes_back_as_it_was_kept_and_nothing_else_is_taken_for_one() {
        let slots = Slots {
            part: 2,
            may_allow: MayAllow::Yes,
            step: vec![3, 3, 900, 1 << 19],
            harm_only: vec![],
            windows: vec![(4, vec![1, 2, 1_000_000]), (0, vec![])],
        };
        let bytes = slots.to_bytes().unwrap();
        assert_eq!(Slots::parse(&bytes), Some(slots));
        for cut in 0..bytes.len() {
            assert_eq!(Slots::parse(&bytes[..cut]), None, "{cut}");
        }
        assert_eq!(Slots::parse(&[0, 1, 255, 255, 255, 255, 15]), None);
        assert_eq!(Slots::parse(&[9, 1, 0, 0, 0]), None);
    }
}
