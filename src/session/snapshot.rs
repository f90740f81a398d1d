//! The past of a session: an immutable snapshot, from which a step record makes the next one.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::agent::{AgentPast, ToolTable};
use super::facts::SessionFacts;
use super::intent::Intent;
use super::rules::retry_after_denial;
use super::step_record::Identity;
use super::{Authority, Digest, Settings, StepRecord, ToolSeen, approval, first_read, relevance};
use crate::model::{Earlier, Gap, History, Kind, Origin, Outcome, Step};

/// Steps before this one that are told where only a credential joins them.
const RECENT: u32 = 3;

/// The bytes that the user's requests and the tools that were seen take at most: they have this room of a session for themselves.
const SET_ASIDE: usize = 104 * 1024;

/// Ids under which one step was posted that are remembered.
const MAX_POSTINGS: usize = 8;

/// One remembered step.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Event {
    /// The step as it is told to a judge.
    pub step: Arc<Earlier>,
    /// The id that a call shares with its answer.
    pub call: Option<String>,
    /// The intent of a step that was denied for its intent.
    pub(super) intent: Option<Arc<Intent>>,
    content: Digest,
    postings: Vec<Digest>,
    /// The part of the session that was known when it was last decided.
    seen: u32,
    bytes: usize,
}

/// The steps of a session so far. Cheap to clone.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SessionSnapshot {
    events: Arc<VecDeque<Arc<Event>>>,
    authority: Authority,
    tools: Arc<ToolTable>,
    #[serde(rename = "trail")]
    facts: Arc<SessionFacts>,
    /// The knowledge about the agent, which is kept by itself.
    #[serde(skip)]
    agent: Arc<AgentPast>,
    next: u32,
    forgotten: u32,
    bytes: usize,
    gap: Option<Gap>,
}

impl Default for SessionSnapshot {
    fn default() -> Self {
        Self {
            events: Arc::default(),
            authority: Authority::default(),
            tools: Arc::default(),
            facts: Arc::default(),
            agent: Arc::default(),
            next: 1,
            forgotten: 0,
            bytes: 0,
            gap: None,
        }
    }
}

impl SessionSnapshot {
    /// Returns the earlier steps that are still remembered, oldest first.
    pub fn events(&self) -> impl DoubleEndedIterator<Item = &Event> {
        self.events.iter().map(AsRef::as_ref)
    }

    /// Returns the number of earlier steps that were remembered and had to make room.
    pub fn forgotten(&self) -> u32 {
        self.forgotten
    }

    /// Returns the reason why the beginning of the session is not known, if it is not.
    pub fn gap(&self) -> Option<Gap> {
        self.gap
    }

    /// Returns the same past, of a session whose beginning is not known.
    pub(super) fn after(&self, gap: Gap) -> Self {
        Self {
            gap: Some(gap),
            ..self.clone()
        }
    }

    /// Returns `true` if nothing has happened yet.
    pub fn is_empty(&self) -> bool {
        self.next == 1
    }

    /// Returns the number that the next step will have.
    pub fn next_number(&self) -> u32 {
        self.next
    }

    /// Returns the step of this number, also by the number of its latest repetition.
    pub fn event(&self, number: u32) -> Option<&Event> {
        self.events()
            .find(|event| event.step.number == number || event.step.last == number)
    }

    /// Returns the user's requests.
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// Returns a tool as it was first seen in this session.
    pub fn tool(&self, id: &str) -> Option<&ToolSeen> {
        self.tools.get(id)
    }

    /// Returns the facts that the rules over a session need.
    pub fn facts(&self) -> &SessionFacts {
        &self.facts
    }

    /// Returns the knowledge about the agent over all its sessions.
    pub fn agent(&self) -> &AgentPast {
        &self.agent
    }

    /// Returns the bytes that it takes in memory, roughly.
    pub fn bytes(&self) -> usize {
        const OWN: usize = 512;
        OWN + self.bytes + self.authority.bytes() + self.tools.bytes() + self.facts.bytes()
    }

    /// Returns the same past, with the knowledge about the agent.
    pub(super) fn of_agent(&self, agent: Arc<AgentPast>) -> Self {
        Self { agent, ..self.clone() }
    }

    /// Returns the past in whose light a step is to be seen. The same step posted again is seen in the light in which it was seen first, unless the
    /// user has spoken since; so a repeated posting gets the same verdict.
    pub fn as_seen_by(self: &Arc<Self>, identity: &Identity) -> Arc<Self> {
        match self.earlier_posting(identity) {
            Some(event) => Arc::new(self.before(event.seen)),
            None => Arc::clone(self),
        }
    }

    /// Returns the event that a step is another posting of: the latest one, with the same content; or one with the same content and the same id,
    /// unless the user has spoken since.
    fn earlier_posting(&self, identity: &Identity) -> Option<&Arc<Event>> {
        let latest = self.next.saturating_sub(1);
        self.events.iter().rev().find(|event| {
            // Almost always it is another step, and nothing more has to be looked at.
            if event.content != identity.content {
                return false;
            }
            let same_id = identity.posting.is_some_and(|id| event.postings.contains(&id));
            let nothing_since = event.step.last == latest;
            let user_spoke = self.authority.spoke_since(event.step.last.saturating_add(1));
            nothing_since || (same_id && !user_spoke)
        })
    }

    /// Returns the past as it was when this number was next.
    fn before(&self, number: u32) -> Self {
        let mut earlier = self.clone();
        Arc::make_mut(&mut earlier.events).retain(|event| event.step.number < number);
        earlier.authority = self.authority.before(number);
        earlier.next = number.min(self.next);
        earlier
    }

    /// Returns what a judge of a step may be told.
    pub fn history(&self, step: &Step) -> History {
        let hits = self.facts.taint().look(step);
        let first_read = first_read::of(&self.facts, step, &hits);
        let sources: Vec<u32> = hits
            .iter()
            .map(|hit| hit.first.number)
            .chain(first_read.iter().map(|read| read.step))
            // The step to which the user last said “yes”.
            .chain(self.authority.requests().last().and_then(|request| request.answers))
            .collect();
        let mut history = relevance::history(self, &sources);
        history.first_read = first_read;
        // If only the credential stands for the session, many earlier steps belong to other work: only those are told that words of this one came
        // from, and those just before.
        if step.session.is_none() {
            let recent = self.next.saturating_sub(RECENT);
            history
                .steps
                .retain(|earlier| sources.contains(&earlier.number) || earlier.last >= recent);
            history.more_steps = 0;
        }
        history.gap = self.gap;
        history
    }

    /// Returns the past after a step record.
    pub(super) fn with(&self, record: StepRecord, bounds: &Settings) -> Self {
        let mut past = self.clone();
        past.take(record, bounds);
        past.shrink(bounds);
        past
    }

    fn take(&mut self, record: StepRecord, bounds: &Settings) {
        // The knowledge of other nodes is merged later.
        self.gap = self.gap.or(record.gap.filter(|gap| *gap != Gap::Apart));
        let identity = Identity {
            content: record.content,
            posting: record.posting,
        };
        let posted_again = self
            .earlier_posting(&identity)
            .filter(|event| event.step.outcome == record.told.outcome)
            .map(|event| event.step.number);
        if let Some(number) = posted_again {
            return self.count_again(number, &record, None);
        }
        let number = self.next;
        self.next = self.next.saturating_add(1);
        self.hear(number, &record);
        // The facts for the rules must not push out the steps themselves.
        let for_facts = bounds.bytes_per_session.saturating_sub(SET_ASIDE) / 4 * 3;
        Arc::make_mut(&mut self.facts).take(number, &record, for_facts);
        let repeated = self
            .events
            .iter()
            .find(|event| event.content == record.content && event.step.outcome == record.told.outcome)
            .map(|event| event.step.number);
        match repeated {
            Some(first) => self.count_again(first, &record, Some(number)),
            None => self.push(number, record),
        }
    }

    /// Turns the user's words into authority; notes the definitions of tools for later comparison.
    fn hear(&mut self, number: u32, record: &StepRecord) {
        match (&record.request, record.told.kind) {
            (Some(text), _) => {
                let answers = approval::is_bare(text).then(|| self.asked_last()).flatten();
                self.authority.grant(number, text, answers);
            }
            (None, Kind::UserMessage) => self.authority.refuse(number),
            (None, _) => {}
        }
        let mut tools = None;
        for (id, seen) in &record.tools {
            if self.tools.get(id).is_none() {
                let tools = tools.get_or_insert_with(|| ToolTable::clone(&self.tools));
                let seen = ToolSeen { step: number, ..*seen };
                tools.add(id, seen);
            }
        }
        if let Some(tools) = tools {
            self.tools = Arc::new(tools);
        }
    }

    /// Returns the latest step to which a bare “yes” can be an answer: what the agent said or wanted to do.
    fn asked_last(&self) -> Option<u32> {
        let asks = |event: &&Event| {
            let kind = event.step.kind;
            kind.calls() || matches!(kind, Kind::AgentMessage | Kind::SystemMessage)
        };
        self.events()
            .filter(asks)
            .max_by_key(|event| event.step.last)
            .map(|event| event.step.last)
    }

    fn count_again(&mut self, first: u32, record: &StepRecord, last: Option<u32>) {
        let Some(slot) = Arc::make_mut(&mut self.events)
            .iter_mut()
            .find(|event| event.step.number == first)
        else {
            return;
        };
        let event = Arc::make_mut(slot);
        event.seen = record.seen.min(self.next);
        if let Some(id) = record.posting.filter(|id| !event.postings.contains(id)) {
            if event.postings.len() >= MAX_POSTINGS {
                event.postings.remove(0);
            }
            event.postings.push(id);
        }
        // A posting that only came again is no other step: what is told of it stays as it is.
        if let Some(last) = last {
            let told = Arc::make_mut(&mut event.step);
            told.last = last;
            told.times = told.times.saturating_add(1);
        }
    }

    fn push(&mut self, number: u32, record: StepRecord) {
        let answered = self.tool_that_answered(&record);
        let mut told = record.told;
        (told.number, told.last) = (number, number);
        told.tool = told.tool.or(answered);
        let said: usize = told
            .said
            .iter()
            .map(|said| said.text.len() + said.pointer.as_str().len() + 96)
            .sum();
        let noted: usize = told
            .noted
            .iter()
            .map(|noted| noted.rule.len() + noted.pointer.as_str().len() + 96)
            .sum();
        let bytes = 320 + said + noted + record.call.as_ref().map_or(0, String::len);
        let intent = retry_after_denial::counts(&told)
            .then(|| Intent::remembered(&told, record.effects.classes))
            .flatten();
        let bytes = bytes + intent.as_ref().map_or(0, Intent::bytes);
        self.bytes += bytes;
        Arc::make_mut(&mut self.events).push_back(Arc::new(Event {
            step: Arc::new(told),
            call: record.call,
            intent: intent.map(Arc::new),
            content: record.content,
            postings: record.posting.into_iter().collect(),
            seen: record.seen.min(number),
            bytes,
        }));
    }

    /// Returns the tool whose answer this is: that of the call with the same id; without an id, that of the call just before.
    fn tool_that_answered(&self, record: &StepRecord) -> Option<String> {
        if !record.told.kind.is_tool_answer() {
            return None;
        }
        let mut calls = self.events().rev().filter(|event| event.step.tool.is_some());
        let call = match &record.call {
            Some(id) => calls.find(|event| event.call.as_ref() == Some(id) && event.step.kind.calls_tool()),
            None => self.events().next_back().filter(|event| event.step.kind.calls_tool()),
        };
        call.and_then(|event| event.step.tool.clone())
    }

    /// Makes room. The oldest plain step of the older half goes first: a step that was denied, or has findings, is worth more than an ordinary one.
    fn shrink(&mut self, bounds: &Settings) {
        while self.events.len() > 1
            && (self.events.len() > bounds.steps_per_session || self.bytes() > bounds.bytes_per_session)
        {
            let plain = |event: &Arc<Event>| event.step.noted.is_empty() && event.step.outcome != Outcome::Denied;
            let older = self.events.len().div_ceil(2);
            let at = self.events.iter().take(older).position(plain).unwrap_or(0);
            if let Some(gone) = Arc::make_mut(&mut self.events).remove(at) {
                self.bytes -= gone.bytes;
                self.forgotten = self.forgotten.saturating_add(1);
            }
        }
    }
}

/// Returns `true` if a step brings in words from outside.
pub(super) fn reads_untrusted(step: &Earlier) -> bool {
    step.said
        .iter()
        .any(|said| said.origin.is_external() && said.origin != Origin::Unknown)
}
