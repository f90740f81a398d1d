//! Composes the context of a step's template from the step, its findings and the budget.

use super::context::{AgentContext, MaskContext, SessionContext, StepContext};
use super::fence::Fence;
use super::layout::{self, Layout, Wish};
use super::surroundings::{self, Shelf, Shelves};
use super::{Cut, PromptInput, evidence, tokens};
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
    let call = surroundings::call(step, fence);
    let tool_names = surroundings::tool_names(step, fence);
    let fixed = call.as_ref().map_or(0, |call| tokens::estimate(&call.fenced)) + tokens::estimate(&tool_names);
    room = room.saturating_sub(fixed).max(LEAST_ROOM / 2);

    let shelves = Shelves::of(step, input.reasoning);
    let mut shelved = Shelved::default();
    for content in &step.contents {
        shelved.put(content, shelves.shelf(content), &admitted);
    }
    let around_room = layout::needs(&shelved.around, fence).min(AROUND_ROOM).min(room / 5);
    let around = layout::lay_out(&shelved.around, fence, around_room);
    room -= around_room;
    let tool_room = layout::needs(&shelved.tool, fence).min(room / 5);
    let tool = layout::lay_out(&shelved.tool, fence, tool_room);
    room -= tool_room;
    // The step comes first, but never takes so much that the agent's instructions disappear.
    let body_needs = layout::needs(&shelved.body, fence).min(room / 10 * 7);
    let agent_needs = layout::needs(&shelved.agent, fence).min(room - body_needs);
    let agent = layout::lay_out(&shelved.agent, fence, agent_needs);
    let body = layout::lay_out(&shelved.body, fence, room - agent_needs);

    let called = step.tool_call.as_ref().and_then(|call| call.content);
    let (shown, cut) = together([&around, &tool, &agent, &body], called);
    let (cuts, more_cuts) = layout::listed(&cut);
    let context = StepContext {
        method: step.method.as_str(),
        kind: step.kind.as_str(),
        modifiable: step.method.allows_modification(),
        mask: match input.policy.mask {
            MaskStyle::Stars => MaskContext::Stars,
            MaskStyle::Placeholder => MaskContext::Placeholder,
        },
        agent: AgentContext {
            known: step.agent.is_some(),
            contents: agent.elements,
            tool: tool.elements,
            tool_names,
            user_known: step.user.is_some(),
            session_known: step.session.is_some(),
        },
        session: SessionContext::default(),
        findings,
        more_findings,
        around: around.elements,
        call,
        contents: body.elements,
        cuts,
        more_cuts,
    };
    Composed { context, shown, cut }
}

/// Contents by where they are shown.
#[derive(Default)]
struct Shelved<'a> {
    body: Vec<Wish<'a>>,
    agent: Vec<Wish<'a>>,
    tool: Vec<Wish<'a>>,
    around: Vec<Wish<'a>>,
}

impl<'a> Shelved<'a> {
    fn put(&mut self, content: &'a Content, shelf: Shelf, admitted: &[(&Finding, Treatment)]) {
        let focus: Vec<_> = admitted
            .iter()
            .filter(|(finding, _)| finding.content == Some(content.id))
            .map(|(finding, _)| evidence::span(finding, content))
            .collect();
        let found = !focus.is_empty();
        let wish = Wish { content, focus };
        match shelf {
            Shelf::Step => self.body.push(wish),
            Shelf::Agent => self.agent.push(wish),
            Shelf::Tool => self.tool.push(wish),
            Shelf::Around if found && content.place == Place::Body => self.body.push(wish),
            Shelf::Around if found && self.around.len() < MAX_AROUND => self.around.push(wish),
            Shelf::Around | Shelf::Nowhere => {}
        }
    }
}

fn together(layouts: [&Layout; 4], called: Option<ContentId>) -> (Vec<ContentId>, Vec<Cut>) {
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
