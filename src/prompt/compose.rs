//! Composes the context of a step's template from the step, its findings and the budget.

use std::collections::HashMap;
use std::ops::Range;

use super::context::{AgentContext, MaskContext, StepContext};
use super::fence::Fence;
use super::layout::{self, Items, Layout};
use super::surroundings::{self, Shelf, Shelves};
use super::{Cut, PromptInput, evidence, history, tokens};
use crate::model::{Content, ContentId, Finding, Place, Treatment};
use crate::policy::MaskStyle;

/// Tokens for contents, however small the budget is.
const LEAST_ROOM: usize = 800;
/// Tokens for contents around the step in which something was found.
const AROUND_ROOM: usize = 900;
/// Contents around the step that are shown at most.
const MAX_AROUND: usize = 12;

/// A context, and what it shows.
pub(super) struct Composed {
    /// What the template is given.
    pub(super) context: StepContext,
    /// The contents that it shows, in document order.
    pub(super) shown: Vec<ContentId>,
    /// What it leaves out, in document order.
    pub(super) cut: Vec<Cut>,
}

/// Composes the context, with so many tokens for everything that depends on the step.
pub(super) fn compose(input: &PromptInput<'_>, fence: &Fence<'_>, room: usize) -> Composed {
    let step = input.step;
    let mut room = room.max(LEAST_ROOM);
    let admitted = evidence::admitted(input);
    let (findings, more_findings) = evidence::listed(&admitted, input, fence, room / 5);
    room -= findings
        .iter()
        .map(|finding| 40 + tokens::estimate(&finding.explanation) + tokens::estimate(&finding.excerpt))
        .sum::<usize>();
    let call = surroundings::call(step, fence, room / 4);
    let tool_names = surroundings::tool_names(step, fence, room / 10);
    room -= call.as_ref().map_or(0, |call| tokens::estimate(&call.fenced)) + tokens::estimate(&tool_names);
    let facts = surroundings::facts(step, fence);
    room -= tokens::estimate(&facts).min(room / 8);
    let data = surroundings::data(step, fence, room / 4);
    room -= data
        .iter()
        .map(|element| tokens::estimate(element))
        .sum::<usize>()
        .min(room / 4);

    // What the user asked for is what a step is judged by: it comes before everything that may be long.
    let (session, spent) = history::session(input.history, fence, room / 5 * 2);
    room -= spent.min(room);

    let shelved = Shelved::of(input, &admitted, fence);
    let around_room = shelved.around.needs().min(AROUND_ROOM).min(room / 5);
    let around = layout::lay_out(&shelved.around, fence, around_room);
    room -= around_room;
    let tool_room = shelved.tool.needs().min(room / 5);
    let tool = layout::lay_out(&shelved.tool, fence, tool_room);
    room -= tool_room;
    let remote_room = shelved.remote.needs().min(room / 10);
    let remote = layout::lay_out(&shelved.remote, fence, remote_room);
    room -= remote_room;
    // The step comes first, but never takes so much that the agent's instructions disappear.
    let body_needs = shelved.body.needs().min(room / 10 * 7);
    let agent_room = shelved.agent.needs().min(room - body_needs);
    let agent = layout::lay_out(&shelved.agent, fence, agent_room);
    let body = layout::lay_out(&shelved.body, fence, room - agent_room);

    let called = step.tool_call.as_ref().and_then(|call| call.content);
    let (shown, cut) = together([&around, &tool, &remote, &agent, &body], called);
    let (cuts, more_cuts) = layout::listed(&cut);
    let context = StepContext {
        method: step.method.as_str(),
        kind: step.kind.as_str(),
        modifiable: step.method.allows_modification(),
        mask: match input.policy.mask {
            MaskStyle::Stars | MaskStyle::LastFour => MaskContext::Stars,
            MaskStyle::Placeholder | MaskStyle::Hash { .. } => MaskContext::Placeholder,
        },
        facts,
        agent: AgentContext {
            known: step.agent.is_some(),
            contents: agent.elements,
            remote: remote.elements,
            tool: tool.elements,
            tool_names,
            user_known: step.user.is_some(),
            session_known: step.session.is_some(),
        },
        session,
        findings,
        more_findings,
        around: around.elements,
        call,
        data,
        contents: body.elements,
        cuts,
        more_cuts,
    };
    Composed { context, shown, cut }
}

/// Contents by where they are shown.
#[derive(Default)]
struct Shelved<'a> {
    body: Items<'a>,
    agent: Items<'a>,
    tool: Items<'a>,
    remote: Items<'a>,
    around: Items<'a>,
}

impl<'a> Shelved<'a> {
    fn of(input: &PromptInput<'a>, admitted: &[(&Finding, Treatment)], fence: &Fence<'_>) -> Self {
        let mut focus: HashMap<ContentId, Vec<Range<usize>>> = HashMap::new();
        for (finding, _) in admitted {
            if let Some(content) = finding.content.and_then(|id| input.step.content(id)) {
                focus
                    .entry(content.id)
                    .or_default()
                    .push(evidence::span(finding, content));
            }
        }
        let shelves = Shelves::of(input.step, input.reasoning);
        let mut shelved = Self::default();
        for content in &input.step.contents {
            let focus = focus.remove(&content.id).unwrap_or_default();
            if let Some(items) = shelved.items_of(content, shelves.shelf(content), &focus) {
                items.push(content, focus, fence);
            }
        }
        shelved
    }

    fn items_of(&mut self, content: &Content, shelf: Shelf, focus: &[Range<usize>]) -> Option<&mut Items<'a>> {
        match shelf {
            Shelf::Step => Some(&mut self.body),
            Shelf::Agent => Some(&mut self.agent),
            Shelf::Tool => Some(&mut self.tool),
            Shelf::Remote => Some(&mut self.remote),
            Shelf::Around if focus.is_empty() => None,
            Shelf::Around => match content.place {
                Place::Body => Some(&mut self.body),
                Place::Surroundings => (self.around.len() < MAX_AROUND).then_some(&mut self.around),
            },
            Shelf::Nowhere => None,
        }
    }
}

fn together(layouts: [&Layout; 5], called: Option<ContentId>) -> (Vec<ContentId>, Vec<Cut>) {
    let mut shown: Vec<ContentId> = layouts
        .iter()
        .flat_map(|layout| layout.shown.iter().copied())
        .chain(called)
        .collect();
    shown.sort_unstable();
    shown.dedup();
    let mut cut: Vec<Cut> = layouts.iter().flat_map(|layout| layout.cut.iter().copied()).collect();
    cut.sort_by_key(|cut| cut.content);
    (shown, cut)
}
