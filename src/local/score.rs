//! Scoring: how harmful a step looks to a model, and what moved it most.

use std::ops::Range;

use super::deobfuscate::Deobfuscator;
use super::features::{self, FIGURES, Features, Name};
use super::model::Model;
use super::read_whole::Unread;
use super::shares;
use super::step_context::{Labels, Passage, StepContext, Surroundings, Token, tokens};
use super::voice::{StepRole, Voice};
use super::windows::{WINDOW, spans, spans_of};
use super::words::{self, ReadTo};
use crate::model::{ContentId, Finding, Step};
use crate::policy::Policy;
use crate::session::SessionSnapshot;

/// Passages that are told of a step.
const MAX_PASSAGES: usize = 3;
/// Words that are told of a passage.
const MAX_WORDS: usize = 4;
/// Findings and relations that are told of a step.
const MAX_TERMS: usize = 5;

/// The least weight at which a window of names of members, ids and short texts together speaks for harm.
const GRAVE_AROUND: f32 = 1.5;
/// The same of descriptions and definitions of tools, which an agent brings with every step. They speak of instructions, access and
/// data in honest steps, too: at 1.5, half of the honest steps of agents with many tools would be questions.
const GRAVE_DESCRIPTION: f32 = 2.5;

/// Harmless words that an attacker may put into a window of an attack: a step that would be allowed only because of so many is not.
const INSERTED: usize = 8;

/// The subject of scoring: a step, with what is known of it.
#[derive(Clone, Copy, Debug)]
pub struct Scored<'a> {
    /// The step.
    pub step: &'a Step,
    /// Its session.
    pub past: &'a SessionSnapshot,
    /// Its findings.
    pub findings: &'a [Finding],
    /// The organisation's policy.
    pub policy: &'a Policy,
}

/// The score of a step by a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// The role of the step.
    pub part: StepRole,
    /// The probability of harm, 0 to 1.
    pub probability: f64,
    /// The reason why the step may not be allowed for so low a probability; looked for only where it is low enough to be allowed.
    pub unread: Option<Unread>,
    /// The passages that speak most for harm, the gravest first.
    pub passages: Vec<PassageEvidence>,
    /// Findings and relations to the session that moved the score most, each with the amount; below zero: towards harmless.
    pub terms: Vec<ScoreTerm>,
}

/// A passage that speaks for harm.
#[derive(Clone, Debug, PartialEq)]
pub struct PassageEvidence {
    /// The content.
    pub content: ContentId,
    /// Bytes of its text.
    pub span: Range<usize>,
    /// The weight that it adds to the score.
    pub weight: f32,
    /// Bytes of the words that add most.
    pub words: Vec<Range<usize>>,
}

/// A finding, or a relation of the step to its session.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoreTerm {
    /// Its kind.
    pub what: TermKind,
    /// The weight that it adds to the score.
    pub weight: f32,
}

/// The kind of a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TermKind {
    /// A finding, by its place among those of the step.
    Finding(usize),
    /// A figure about the step and its session, in words.
    Relation(&'static str),
}

impl Model {
    /// Scores a step in the light of its session and of what was found in it. Where the probability of harm is at most
    /// `allow_below`, it is also asked whether the step was read whole; of the reasons against it, those that `counts` says.
    pub fn score(
        &self,
        scored: Scored<'_>,
        deobfuscator: &Deobfuscator<'_>,
        allow_below: f64,
        counts: &dyn Fn(&Unread) -> bool,
    ) -> Score {
        let context = StepContext::of(scored.step, scored.past, deobfuscator, &self.vocabulary);
        let features = Features::of(&context, scored.findings, scored.policy);
        let step: f32 = features.step.iter().map(|named| self.weight(named.id)).sum();
        // INVARIANT: what a text says is no evidence against harm: an attacker can add words.
        let harm_only: f32 = features
            .harm_only
            .iter()
            .map(|named| self.weight(named.id).max(0.0))
            .sum();
        let mut score = (step + harm_only) * self.step_share(&features);
        let mut passages = Vec::new();
        for voice in Voice::ALL {
            let best = context
                .of_voice(*voice)
                .filter_map(|passage| self.gravest(passage))
                .max_by(|a, b| a.weight.total_cmp(&b.weight));
            if let Some(best) = best {
                score += best.weight;
                passages.push((best, *voice));
            }
        }
        let part = context.part();
        let probability = self.head(part).probability(score);
        let is_diluted = || {
            let undiluted: f32 = passages
                .iter()
                .map(|(best, voice)| {
                    let texts = context.of_voice(*voice);
                    let most = texts.map(|passage| self.gravest_undiluted(*voice, &passage.words));
                    most.fold(0.0, f32::max) - best.weight
                })
                .sum();
            self.head(part).probability(score + undiluted) > allow_below
        };
        let unread = (probability <= allow_below).then(|| {
            context
                .unread(counts)
                .or_else(|| self.is_grave_around(&context).then_some(Unread::Surroundings))
                .or_else(|| is_diluted().then_some(Unread::Diluted).filter(counts))
        });
        let unread = unread.flatten();
        let mut told: Vec<PassageEvidence> = passages
            .into_iter()
            .filter(|(best, _)| best.weight > 0.0)
            .map(|(best, _)| self.evidence(&best))
            .collect();
        told.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        told.truncate(MAX_PASSAGES);
        Score {
            part,
            probability,
            unread,
            passages: told,
            terms: self.terms(&features),
        }
    }

    /// Returns `true` if the surroundings of a step speak for harm if they are read as words of the one who speaks in it, or
    /// of a stranger; descriptions of tools, as words of a stranger alone.
    fn is_grave_around(&self, context: &StepContext<'_>) -> bool {
        let Surroundings {
            texts,
            short,
            tools,
            labels,
        } = context.surroundings();
        let mut read = Vec::new();
        let mut is_grave = |text: &str, voices: &[Voice], bound: f32| {
            read.clear();
            if words::read(text, &self.vocabulary, &mut read) == ReadTo::Bound {
                return true;
            }
            let words = tokens(text, &read, &|span| span);
            let weigh = |voice: &Voice| self.gravest_window(*voice, &words);
            let mut windows = voices.iter().filter_map(weigh);
            windows.any(|(weight, _)| weight >= bound)
        };
        let own = [context.part().voice(), Voice::Outside];
        let outside = [Voice::Outside];
        let mut described = texts.into_iter().chain([tools.as_str()]);
        labels == Labels::Speak
            || described.any(|text| is_grave(text, &outside, GRAVE_DESCRIPTION))
            || is_grave(&short, &own, GRAVE_AROUND)
    }

    /// The window of a text that speaks most for harm.
    fn gravest<'p>(&self, passage: &'p Passage) -> Option<GravestWindow<'p>> {
        let gravest = self.gravest_window(passage.voice, &passage.words);
        gravest.map(|(weight, range)| GravestWindow { passage, range, weight })
    }

    /// The window of these words that speaks most for harm, with what it adds to the score.
    pub(super) fn gravest_window(&self, voice: Voice, words: &[Token]) -> Option<(f32, Range<usize>)> {
        self.gravest_of(voice, words, spans(words.len()), shares::in_window)
    }

    /// Returns the weight of the gravest window of these words without up to [`INSERTED`] words that an attacker put into it.
    fn gravest_undiluted(&self, voice: Voice, words: &[Token]) -> f32 {
        let spans = spans_of(words.len(), WINDOW + INSERTED);
        // What is left without them counts as it does alone: in a long text, an attack fills its window as well.
        let share = |features: usize| shares::in_window(features * WINDOW / (WINDOW + INSERTED));
        let gravest = self.gravest_of(voice, words, spans, share);
        gravest.map_or(0.0, |(weight, _)| weight)
    }

    fn gravest_of(
        &self,
        voice: Voice,
        words: &[Token],
        spans: impl Iterator<Item = Range<usize>>,
        share: impl Fn(usize) -> f32,
    ) -> Option<(f32, Range<usize>)> {
        // Of all words before each: what they weigh, and how many features they have.
        let mut sums = Vec::with_capacity(words.len() + 1);
        let (mut harm, mut count) = (0.0f32, 0usize);
        sums.push((harm, count));
        let mut before = None;
        for word in words {
            features::of_word(voice, before, word, |id| {
                harm += self.weight(id).max(0.0);
                count += 1;
            });
            sums.push((harm, count));
            before = Some(word);
        }
        spans
            .filter_map(|range| {
                let window = words.get(range.clone())?;
                let (start, end) = (sums.get(range.start)?, sums.get(range.end)?);
                let (mut harm, mut count) = (end.0 - start.0, end.1 - start.1);
                features::of_window(voice, window, |id| {
                    harm += self.weight(id).max(0.0);
                    count += 1;
                });
                // INVARIANT: no word weighs below zero; how many they are moves the share within its bounds, and no further.
                Some((harm * self.header.window_share * share(count), range))
            })
            .max_by(|a, b| a.0.total_cmp(&b.0))
    }

    fn evidence(&self, grave: &GravestWindow<'_>) -> PassageEvidence {
        let words = grave.passage.words.get(grave.range.clone()).unwrap_or_default();
        let before = grave.range.start.checked_sub(1);
        let mut before = before.and_then(|at| grave.passage.words.get(at));
        let mut weighed: Vec<(f32, Range<usize>)> = Vec::new();
        for word in words {
            let mut weight = 0.0;
            features::of_word(grave.passage.voice, before, word, |id| {
                weight += self.weight(id).max(0.0)
            });
            weighed.push((weight, word.start as usize..word.end as usize));
            before = Some(word);
        }
        let start = words.iter().map(|word| word.start).min().unwrap_or_default();
        let end = words.iter().map(|word| word.end).max().unwrap_or_default();
        weighed.sort_by(|a, b| b.0.total_cmp(&a.0));
        PassageEvidence {
            content: grave.passage.content,
            span: start as usize..end as usize,
            weight: grave.weight,
            words: weighed
                .into_iter()
                .filter(|(weight, _)| *weight > 0.0)
                .take(MAX_WORDS)
                .map(|(_, span)| span)
                .collect(),
        }
    }

    /// Returns the weight of a feature of the step as a whole.
    fn step_share(&self, features: &Features) -> f32 {
        self.header.step_share * shares::in_step(features.step.len() + features.harm_only.len())
    }

    fn terms(&self, features: &Features) -> Vec<ScoreTerm> {
        let share = self.step_share(features);
        let mut terms: Vec<ScoreTerm> = Vec::new();
        let harm_only = features
            .harm_only
            .iter()
            .map(|named| (named, self.weight(named.id).max(0.0)));
        let step = features.step.iter().map(|named| (named, self.weight(named.id)));
        for (named, weight) in step.chain(harm_only) {
            let what = match named.name {
                Name::Finding(at) => TermKind::Finding(at),
                Name::Figure(at) => match FIGURES.get(at) {
                    Some(figure) => TermKind::Relation(figure),
                    None => continue,
                },
                Name::Shape => continue,
            };
            let weight = weight * share;
            match terms.iter_mut().find(|term| term.what == what) {
                Some(term) => term.weight += weight,
                None => terms.push(ScoreTerm { what, weight }),
            }
        }
        terms.retain(|term| term.weight.abs() > 0.05);
        terms.sort_by(|a, b| b.weight.abs().total_cmp(&a.weight.abs()));
        terms.truncate(MAX_TERMS);
        terms
    }
}

struct GravestWindow<'p> {
    passage: &'p Passage,
    range: Range<usize>,
    weight: f32,
}
