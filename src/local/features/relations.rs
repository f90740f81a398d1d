//! Features of how a step relates to its session: who said its words and values before, and what happened before.

use super::tokens::pairs;
use super::{Features, Figure, Name, Named, spaced};
use crate::local::step_context::StepContext;
use crate::local::vocabulary::Vocabulary;
use crate::local::voice::{StepRole, Voice};
use crate::local::words::{self, Shape, join};
use crate::model::{Confidence, Kind, Outcome, ReasonCode, Severity, Voice as Heard};

impl Features {
    /// Adds where the words of the step were said before.
    pub(super) fn relations(&mut self, context: &StepContext<'_>) {
        let [mut telling, mut asked, mut instructed, mut read, mut done, mut new] = [0f32; 6];
        let [mut values, mut values_asked, mut values_read, mut values_new] = [0f32; 4];
        for word in context.deciding().flat_map(|passage| &passage.words).take(4_000) {
            if !word.is_telling() {
                continue;
            }
            let user = context.asked.contains(&word.hash);
            let instruction = context.instructed.contains(&word.hash);
            let seen = context.read.contains(&word.hash);
            let used = context.done.contains(&word.hash);
            telling += 1.0;
            asked += f32::from(u8::from(user));
            instructed += f32::from(u8::from(instruction));
            read += f32::from(u8::from(seen && !user && !instruction));
            done += f32::from(u8::from(used));
            new += f32::from(u8::from(!user && !instruction && !seen && !used));
            if word.shape != Shape::Word {
                values += 1.0;
                values_asked += f32::from(u8::from(user));
                values_read += f32::from(u8::from(seen && !user));
                values_new += f32::from(u8::from(!seen && !user && !instruction));
            }
        }
        let share = |some: f32, all: f32| some / (all + 1.0);
        self.set(Figure::Asked, share(asked, telling));
        self.set(Figure::Instructed, share(instructed, telling));
        self.set(Figure::Read, share(read, telling));
        self.set(Figure::Done, share(done, telling));
        self.set(Figure::New, share(new, telling));
        self.set(Figure::ValuesAsked, share(values_asked, values));
        self.set(Figure::ValuesRead, share(values_read, values));
        self.set(Figure::ValuesNew, share(values_new, values));
        let facts = context.past.facts();
        if context.part() == StepRole::Acts || context.part() == StepRole::Says {
            let orders = facts.instructions().map(|order| order.words.as_str());
            let requests = facts.requests().map(|request| request.words.as_str());
            let unasked = unasked(context);
            let obeys = most_shared(&unasked, context.vocabulary, orders);
            let serves = most_shared(&unasked, context.vocabulary, requests);
            self.set(Figure::Obeys, obeys);
            self.set(Figure::Serves, serves);
        }
    }

    /// Concepts of the step that the user spoke of, and those that the user did not; how an answer begins.
    pub(super) fn asked_for(&mut self, context: &StepContext<'_>) {
        let part = self.part as u32;
        let mut here = context
            .deciding()
            .flat_map(|passage| &passage.words)
            .fold(0, |all, word| all | word.concepts);
        let heard = context.past.authority().voice() == Heard::Heard;
        while here != 0 && heard {
            let bit = here.trailing_zeros();
            here &= here - 1;
            let name = Name::Figure(Figure::Asked as usize);
            if context.asked_about & (1 << bit) != 0 {
                let id = join(join(0xa50, part), bit);
                self.step.push(Named { id, name });
            } else {
                let id = join(join(0xa60, part), bit);
                self.harm_only.push(Named { id, name });
            }
        }
        if context.part() == StepRole::Says {
            let opening = context
                .deciding()
                .next()
                .map(|passage| passage.words.iter().take(15).fold(0, |all, word| all | word.concepts));
            pairs(opening.unwrap_or_default(), 1, |bit, _| {
                self.harm_only.push(Named {
                    id: join(0x0e4, bit),
                    name: Name::Shape,
                });
            });
            pairs(context.asked_about, 1, |bit, _| {
                self.step.push(Named {
                    id: join(0x0e5, bit),
                    name: Name::Figure(Figure::Asked as usize),
                });
            });
        }
    }

    /// Adds where the value of each argument was said before.
    pub(super) fn arguments(&mut self, context: &StepContext<'_>) {
        for passage in context.of_voice(Voice::Argument).filter(|passage| passage.own).take(24) {
            let mut counts = [0u32; 4];
            for word in passage.words.iter().take(200) {
                if !word.is_telling() {
                    continue;
                }
                let place = if context.asked.contains(&word.hash) {
                    0
                } else if context.instructed.contains(&word.hash) {
                    1
                } else if context.read.contains(&word.hash) {
                    2
                } else {
                    3
                };
                if let Some(count) = counts.get_mut(place) {
                    *count += 1;
                }
            }
            let most = counts
                .iter()
                .enumerate()
                .max_by_key(|(_, count)| **count)
                .map_or(4, |(at, count)| if *count == 0 { 4 } else { at });
            let some = u32::from(counts.get(2).is_some_and(|read| *read > 0));
            let label = context
                .step
                .content(passage.content)
                .and_then(|content| content.label.as_deref())
                .unwrap_or_default();
            let mut words = Vec::new();
            words::read(&spaced(label), context.vocabulary, &mut words);
            let last = words.last().map_or(0, |word| word.hash);
            for id in [
                join(join(0xa46, last), most as u32),
                join(0xa47, most as u32),
                join(join(0xa48, last), some),
            ] {
                self.step.push(Named {
                    id,
                    name: Name::Figure(Figure::Read as usize),
                });
            }
        }
    }

    /// Adds what happened before.
    pub(super) fn before(&mut self, context: &StepContext<'_>) {
        let events = || context.past.events();
        let denied = events().filter(|event| event.step.outcome == Outcome::Denied).count();
        self.set(Figure::Denied, (denied as f32).min(4.0) / 4.0);
        let weigh = |severity: Severity, confidence: Confidence| {
            (severity as u8 as f32) * (1.0 + confidence as u8 as f32) / 12.0
        };
        let seen = events()
            .flat_map(|event| &event.step.noted)
            .filter(|noted| {
                matches!(
                    noted.reason,
                    ReasonCode::PromptInjection | ReasonCode::ToolPoisoning | ReasonCode::MemoryPoisoning
                )
            })
            .map(|noted| weigh(noted.severity, noted.confidence))
            .fold(0.0, f32::max);
        self.set(Figure::SeenBefore, seen);
        let since = events()
            .rev()
            .take_while(|event| event.step.kind != Kind::UserMessage)
            .count();
        self.set(Figure::Since, (since as f32).min(8.0) / 8.0);
        let last = events()
            .next_back()
            .map_or("nothing", |event| StepRole::of(event.step.kind).as_str());
        self.add(&["last", last], Name::Shape);
        let facts = context.past.facts();
        let taint = match (facts.untrusted().is_some(), facts.sensitive().is_some()) {
            (false, _) => "clean",
            (true, false) => "untrusted",
            (true, true) => "both",
        };
        self.add(&["taint", taint], Name::Shape);
        if facts.delegates() {
            self.add(&["delegates"], Name::Shape);
        }
    }
}

/// The telling words of what decides that the user did not say, sorted.
fn unasked(context: &StepContext<'_>) -> Vec<u32> {
    let mut words: Vec<u32> = context
        .deciding()
        .flat_map(|passage| &passage.words)
        .filter(|word| word.is_telling() && !context.asked.contains(&word.hash))
        .map(|word| word.hash)
        .take(400)
        .collect();
    words.sort_unstable();
    words.dedup();
    words
}

/// The largest share of these words that one of the texts holds.
fn most_shared<'t>(own: &[u32], vocabulary: &Vocabulary, texts: impl Iterator<Item = &'t str>) -> f32 {
    if own.is_empty() {
        return 0.0;
    }
    let mut buffer = Vec::new();
    let mut most = 0;
    for text in texts {
        buffer.clear();
        words::read(text, vocabulary, &mut buffer);
        let mut shared: Vec<u32> = buffer
            .iter()
            .map(|word| word.hash)
            .filter(|hash| own.binary_search(hash).is_ok())
            .collect();
        shared.sort_unstable();
        shared.dedup();
        most = most.max(shared.len());
    }
    most as f32 / (own.len() as f32 + 1.0)
}
