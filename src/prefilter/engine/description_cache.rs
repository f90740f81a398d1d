//! What is known to hold nothing: the description that an agent gives of itself.
//!
//! Its instructions and the tools that it may call stand in every step that it sends, mostly longer than what the step is
//! about, and hardly ever change. What was examined once, letter for letter, and held nothing under a policy holds nothing
//! under it now: rules are pure. So the steps of one agent pay for its description once. What is not the same in every letter,
//! what holds anything to tell, and what stands in a step that is anything but ordinary is examined anew.
//!
//! Without it a step of some 7,000 labelled ones costs 15 % more processor time from its document to its verdict (20.1 s against
//! 16.8 to 17.7 s in all), and more where tools are many.
//!
//! Of the step around it, what an agent says of itself is examined by its method alone; a test holds that a step is told the
//! same whether its agent is known or not.

use std::hash::{BuildHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use foldhash::quality::RandomState;
use moka::sync::Cache;

use super::cost_meter::CostMeter;
use super::scan_context::ScanContext;
use super::scan_outcome::ScanOutcome;
use crate::model::{Content, Form, Method, Origin, Place, Pointer, Step};
use crate::policy::Policy;
use crate::text::views::DecodeBudget;

/// Bytes of descriptions that are kept.
const MAX_BYTES: u64 = 16 << 20;
/// A description that is longer, or has a longer content, is examined every time.
const MAX_LEN: usize = 256 << 10;
const MAX_CONTENT: usize = 32 << 10;

/// Descriptions that held nothing.
#[derive(Debug)]
pub(in crate::prefilter) struct DescriptionCache {
    clean: Cache<u64, Arc<Clean>>,
    hashes: RandomState,
}

/// A description that held nothing.
#[derive(Debug)]
struct Clean {
    policy: String,
    method: Method,
    parts: Vec<Part>,
    /// What examining it cost.
    cost: Cost,
}

/// What an examination costs.
#[derive(Debug, Default)]
struct Cost {
    /// What each family spends.
    spent: Vec<usize>,
    /// The work of all.
    work: usize,
}

impl Cost {
    /// Of what was examined so far.
    fn so_far(notes: &[ScanContext], effort: &CostMeter) -> Self {
        Self {
            spent: notes.iter().map(ScanContext::spent).collect(),
            work: effort.spent(),
        }
    }

    /// Of what was examined since.
    fn since(&self, notes: &[ScanContext], effort: &CostMeter) -> Self {
        let spent = notes.iter().zip(&self.spent);
        Self {
            spent: spent.map(|(notes, before)| notes.spent() - before).collect(),
            work: effort.spent() - self.work,
        }
    }

    /// Counts it as if the examination had been made.
    fn count(&self, notes: &[ScanContext], effort: &CostMeter) {
        for (notes, spent) in notes.iter().zip(&self.spent) {
            notes.spend(*spent, usize::MAX);
        }
        effort.count(self.work);
    }
}

/// One content of it.
#[derive(Debug)]
struct Part {
    origin: Origin,
    pointer: Pointer,
    label: Option<String>,
    form: Form,
    text: String,
    outcome: ScanOutcome,
}

impl Part {
    fn is(&self, content: &Content) -> bool {
        self.text == content.text
            && self.origin == content.origin
            && self.pointer == content.pointer
            && self.label == content.label
            && self.form == content.form
    }
}

impl Clean {
    fn is(&self, description: &[Content], method: Method, policy: &Policy) -> bool {
        self.method == method
            && self.policy == policy.version
            && self.parts.len() == description.len()
            && self
                .parts
                .iter()
                .zip(description)
                .all(|(part, content)| part.is(content))
    }

    /// What examining a content of the description outcome, by its place in it.
    fn outcome(&self, place: usize) -> Option<ScanOutcome> {
        self.parts.get(place).map(|part| part.outcome)
    }

    fn bytes(&self) -> u32 {
        let of_label = |part: &Part| part.label.as_ref().map_or(0, String::len);
        let of_part = |part: &Part| size_of::<Part>() + part.text.len() + of_label(part) + part.pointer.as_str().len();
        let bytes: usize = self.parts.iter().map(of_part).sum();
        bytes.try_into().unwrap_or(u32::MAX)
    }
}

impl Default for DescriptionCache {
    fn default() -> Self {
        let cache = Cache::builder()
            .max_capacity(MAX_BYTES)
            .weigher(|_, clean: &Arc<Clean>| clean.bytes());
        Self {
            clean: cache.build(),
            hashes: RandomState::default(),
        }
    }
}

impl DescriptionCache {
    /// Meets the agent of a step.
    pub(in crate::prefilter) fn meet<'m>(&'m self, step: &'m Step, policy: &'m Policy) -> DescriptionLookup<'m> {
        let place = place_of_description(step);
        let description = step.contents.get(place.clone()).unwrap_or_default();
        let bytes: usize = description.iter().map(|content| content.text.len()).sum();
        let is_short = bytes <= MAX_LEN && description.iter().all(|content| content.text.len() <= MAX_CONTENT);
        let description = if is_short { description } else { &[] };
        DescriptionLookup {
            known: self,
            method: step.method,
            policy,
            start: place.start,
            description,
            clean: self.look_up(description, step.method, policy),
            learned: None,
            before: Cost::default(),
        }
    }

    /// The description, if it is known to hold nothing.
    fn look_up(&self, description: &[Content], method: Method, policy: &Policy) -> Option<Arc<Clean>> {
        if description.is_empty() {
            return None;
        }
        let clean = self.clean.get(&self.hash(description, method, policy))?;
        clean.is(description, method, policy).then_some(clean)
    }

    /// Keeps a description in mind that held nothing, with what examining its contents gave and what the families spent on it.
    fn keep(&self, description: &[Content], method: Method, policy: &Policy, outcome: &[ScanOutcome], cost: Cost) {
        let part = |(content, outcome): (&Content, &ScanOutcome)| Part {
            origin: content.origin,
            pointer: content.pointer.clone(),
            label: content.label.clone(),
            form: content.form.clone(),
            text: content.text.clone(),
            outcome: *outcome,
        };
        let clean = Clean {
            policy: policy.version.clone(),
            method,
            parts: description.iter().zip(outcome).map(part).collect(),
            cost,
        };
        self.clean
            .insert(self.hash(description, method, policy), Arc::new(clean));
    }

    fn hash(&self, description: &[Content], method: Method, policy: &Policy) -> u64 {
        let mut hasher = self.hashes.build_hasher();
        (method, &policy.version).hash(&mut hasher);
        for content in description {
            content.text.hash(&mut hasher);
        }
        hasher.finish()
    }
}

/// How the examination of a step gets on with the description of its agent.
#[derive(Debug)]
pub(in crate::prefilter) struct DescriptionLookup<'m> {
    known: &'m DescriptionCache,
    method: Method,
    policy: &'m Policy,
    /// The place of the first content of the description among those of the step.
    start: usize,
    description: &'m [Content],
    /// The description, as long as it can be taken for known.
    clean: Option<Arc<Clean>>,
    /// What examining its contents outcome, as long as they hold nothing.
    learned: Option<Vec<ScanOutcome>>,
    /// What the step had cost before.
    before: Cost,
}

impl DescriptionLookup<'_> {
    /// What is known of the content at this place of the step; each place is asked for, in their order.
    pub(in crate::prefilter) fn outcome(
        &mut self,
        place: usize,
        room: &DecodeBudget,
        notes: &[ScanContext],
        effort: &CostMeter,
    ) -> Option<ScanOutcome> {
        if place == self.start && !self.description.is_empty() {
            self.begin(room, notes, effort);
        }
        let clean = self.clean.as_ref()?;
        clean.outcome(place.checked_sub(self.start)?)
    }

    /// Decides whether the step has been ordinary so far: what it may take of anything is far from used up, so that examining
    /// the description gives what it gives in any other step.
    fn begin(&mut self, room: &DecodeBudget, notes: &[ScanContext], effort: &CostMeter) {
        /// Half of the least that a family may spend.
        const LITTLE: usize = 1 << 20;
        let is_cheap = effort.spent() <= effort.most() / 2 && notes.iter().all(|notes| notes.spent() <= LITTLE);
        let is_ordinary = is_cheap && room.is_ample();
        match &self.clean {
            Some(clean) if is_ordinary => clean.cost.count(notes, effort),
            Some(_) => self.clean = None,
            None if is_ordinary => {
                self.learned = Some(Vec::with_capacity(self.description.len()));
                self.before = Cost::so_far(notes, effort);
            }
            None => {}
        }
    }

    /// Learns what examining the next content gave; none when it held anything to tell.
    pub(in crate::prefilter) fn learn(
        &mut self,
        place: usize,
        outcome: Option<ScanOutcome>,
        notes: &[ScanContext],
        effort: &CostMeter,
    ) {
        let is_of_agent = place
            .checked_sub(self.start)
            .is_some_and(|place| place < self.description.len());
        let Some(learned) = self.learned.as_mut().filter(|_| is_of_agent) else {
            return;
        };
        let Some(outcome) = outcome else {
            self.learned = None;
            return;
        };
        learned.push(outcome);
        if learned.len() == self.description.len() {
            let cost = self.before.since(notes, effort);
            self.known
                .keep(self.description, self.method, self.policy, learned, cost);
        }
    }
}

/// Where the contents stand that describe the agent of a step: from the first to the last that speak of it or of its tools
/// around the step, with what stands between them.
fn place_of_description(step: &Step) -> Range<usize> {
    let is_of_agent = |content: &Content| {
        content.place == Place::Surroundings && matches!(content.origin, Origin::Instructions | Origin::ToolDescription)
    };
    let start = step.contents.iter().position(is_of_agent).unwrap_or_default();
    let around = step.contents.get(start..).unwrap_or_default();
    let around = around.iter().take_while(|content| content.place == Place::Surroundings);
    let last = around.enumerate().filter(|(_, content)| is_of_agent(content)).last();
    start..last.map_or(start, |(place, _)| start + place + 1)
}

#[cfg(test)]
mod tests;
