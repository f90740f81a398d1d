//! Composes the context of a step's template from the step, its findings and the budget.

use std::collections::HashMap;
use std::ops::Range;

use super::context::{AgentContext, MaskContext, PartContext, SessionContext, StepContext, SuspicionContext};
use super::evidence::{self, Admitted, Evidence};
use super::fence::Fence;
use super::layout::{self, Items, Layout, RenderOptions};
use super::rank::Cues;
use super::surroundings::{self, Called, Placement, Placements};
use super::{Cut, PromptInput, history, tokens};
use crate::model::{Content, ContentId, Leeway, Place};
use crate::policy::MaskStyle;

/// Tokens for contents, however small the budget is.
const MIN_ROOM: usize = 800;
/// Tokens for contents around the step in which something was found.
const AROUND_ROOM: usize = 400;
/// Contents around the step that are shown at most.
const MAX_AROUND: usize = 6;

/// A context, with the record of what it shows.
pub(super) struct Composed {
    /// The context for the template.
    pub(super) context: StepContext,
    /// The contents that it shows, in document order.
    pub(super) shown: Vec<ContentId>,
    /// The cuts of the contents that it leaves out, in document order.
    pub(super) cut: Vec<Cut>,
    /// The number of parts that the texts of the step fit into.
    pub(super) parts: usize,
}

/// Composes the context, with so many tokens for everything that depends on the step.
pub(super) fn compose(input: &PromptInput<'_>, fence: &Fence<'_>, room: usize) -> Composed {
    let step = input.step;
    let admitted = evidence::admitted(input);
    let (frame, room) = Frame::of(input, &admitted, fence, room.max(MIN_ROOM));
    let layouts = Layouts::of(input, &admitted, &frame, fence, room);
    let (shown, cut) = layouts.together(&frame);
    let (cuts, more_cuts) = layout::listed(&cut);
    let Layouts {
        body,
        agent,
        tool,
        remote,
        around,
        parts,
    } = layouts;
    let context = StepContext {
        method: step.method.as_str(),
        kind: step.kind.as_str(),
        modifiable: step.most_leeway() > Leeway::Nothing,
        edits: step.most_leeway().as_str(),
        mask: match input.policy.mask {
            MaskStyle::Stars | MaskStyle::LastFour => MaskContext::Stars,
            MaskStyle::Placeholder | MaskStyle::Hash { .. } => MaskContext::Placeholder,
        },
        agent: AgentContext {
            known: step.agent.is_some(),
            contents: agent.elements,
            remote: remote.elements,
            tool: tool.elements,
            tool_names: frame.tool_names,
            user_known: step.user.is_some(),
            session_known: step.session.is_some(),
        },
        session: frame.session,
        findings: frame.evidence.fenced,
        more_findings: frame.evidence.more,
        suspicion: input.suspicion.map(|suspicion| SuspicionContext {
            rule: fence.inline(&suspicion.rule),
            why: fence.inline(&suspicion.why),
        }),
        around: around.elements,
        facts: frame.facts,
        call: frame.call.map(|call| call.context),
        data: frame.data,
        contents: body.elements,
        part: input.part.map(|part| PartContext {
            number: part.index + 1,
            of: part.of,
        }),
        cuts,
        more_cuts,
    };
    Composed {
        context,
        shown,
        cut,
        parts,
    }
}

/// The parts of a step beside its contents that are shown.
struct Frame {
    evidence: Evidence,
    call: Option<Called>,
    tool_names: String,
    facts: String,
    data: Vec<String>,
    session: SessionContext,
}

impl Frame {
    /// Returns the frame, and the room that it leaves.
    fn of(input: &PromptInput<'_>, admitted: &[Admitted<'_>], fence: &Fence<'_>, room: usize) -> (Self, usize) {
        let step = input.step;
        let mut room = room;
        let evidence = evidence::listed(admitted, input, fence, room / 5);
        room -= tokens::estimate(&evidence.fenced);
        let call = surroundings::call(step, fence, room / 4);
        let tool_names = surroundings::tool_names(step, fence, room / 10);
        let facts = surroundings::facts(step, fence);
        let called = call.as_ref().map_or(0, |call| tokens::estimate(&call.context.fenced));
        room -= called + tokens::estimate(&tool_names) + tokens::estimate(&facts);
        let data = surroundings::data(step, fence, room / 4);
        let costs: usize = data.iter().map(|element| tokens::estimate(element)).sum();
        room -= costs.min(room / 4);
        // A step is judged by the user's requests: they come before everything that may be long.
        let (session, spent) = history::session(input.history, fence, room / 5 * 2);
        room -= spent.min(room);
        let frame = Self {
            evidence,
            call,
            tool_names,
            facts,
            data,
            session,
        };
        (frame, room)
    }
}

/// The laid out contents, by the place where they are shown.
struct Layouts {
    body: Layout,
    agent: Layout,
    tool: Layout,
    remote: Layout,
    around: Layout,
    /// The number of parts that the body fits into.
    parts: usize,
}

impl Layouts {
    fn of(
        input: &PromptInput<'_>,
        admitted: &[Admitted<'_>],
        frame: &Frame,
        fence: &Fence<'_>,
        mut room: usize,
    ) -> Self {
        let placed = Placed::of(input, admitted, frame, fence);
        let whole = RenderOptions {
            fence,
            ranks: input.ranks.unwrap_or(&Cues),
            part: None,
        };
        let mut lay_out = |items: &Items<'_>, most: usize, share: usize| {
            let given = items.needs().min(most).min(room / share);
            room -= given;
            layout::lay_out(items, whole, given)
        };
        let around = lay_out(&placed.around, AROUND_ROOM, 5);
        let tool = lay_out(&placed.tool, usize::MAX, 5);
        let remote = lay_out(&placed.remote, usize::MAX, 10);
        // The step comes first, but never takes so much that the agent's instructions disappear.
        let body_needs = placed.body.needs();
        let agent_room = placed.agent.needs().min(room - body_needs.min(room / 10 * 7));
        let agent = layout::lay_out(&placed.agent, whole, agent_room);
        let body_room = room - agent_room;
        let options = RenderOptions {
            part: input.part,
            ..whole
        };
        Self {
            body: layout::lay_out(&placed.body, options, body_room),
            agent,
            tool,
            remote,
            around,
            // Texts that every part repeats, and the marks of those that are not in it, take some room.
            parts: body_needs.div_ceil((body_room / 5 * 4).max(1)),
        }
    }

    /// Returns the contents that are shown and those that are cut, in document order.
    fn together(&self, frame: &Frame) -> (Vec<ContentId>, Vec<Cut>) {
        let layouts = [&self.around, &self.tool, &self.remote, &self.agent, &self.body];
        let in_call = frame.call.iter().flat_map(|call| call.shown.iter().copied());
        let laid_out = layouts.iter().flat_map(|layout| layout.shown.iter().copied());
        let mut shown: Vec<ContentId> = laid_out.chain(in_call).collect();
        shown.sort_unstable();
        shown.dedup();
        let mut cut: Vec<Cut> = layouts.iter().flat_map(|layout| layout.cut.iter().copied()).collect();
        cut.sort_by_key(|cut| cut.content);
        (shown, cut)
    }
}

/// Contents by the place where they are shown.
#[derive(Default)]
struct Placed<'a> {
    body: Items<'a>,
    agent: Items<'a>,
    tool: Items<'a>,
    remote: Items<'a>,
    around: Items<'a>,
}

impl<'a> Placed<'a> {
    fn of(input: &PromptInput<'a>, admitted: &[Admitted<'_>], frame: &Frame, fence: &Fence<'_>) -> Self {
        let mut focus = focus(input, admitted);
        let in_call = frame.call.as_ref().map_or(&[][..], |call| &call.shown);
        let placements = Placements::of(input.step, input.reasoning, in_call);
        let mut placed = Self::default();
        for content in &input.step.contents {
            let focus = focus.remove(&content.id).unwrap_or_default();
            if let Some(items) = placed.items_of(content, placements.placement(content), &focus) {
                items.push(content, focus, fence);
            }
        }
        placed
    }

    fn items_of(&mut self, content: &Content, placement: Placement, focus: &[Range<usize>]) -> Option<&mut Items<'a>> {
        match placement {
            Placement::Step => Some(&mut self.body),
            Placement::Agent => Some(&mut self.agent),
            Placement::Tool => Some(&mut self.tool),
            Placement::Remote => Some(&mut self.remote),
            Placement::Around if focus.is_empty() => None,
            Placement::Around => match content.place {
                Place::Body => Some(&mut self.body),
                Place::Surroundings => (self.around.len() < MAX_AROUND).then_some(&mut self.around),
            },
            Placement::Nowhere => None,
        }
    }
}

/// Returns the spans of contents that are shown before others: of findings, the gravest first, then of what was read before. Findings around the step
/// count only if they say something about this one.
fn focus(input: &PromptInput<'_>, admitted: &[Admitted<'_>]) -> HashMap<ContentId, Vec<Range<usize>>> {
    let mut focus: HashMap<ContentId, Vec<Range<usize>>> = HashMap::new();
    for (finding, _) in admitted {
        if evidence::is_around(finding, input) && !evidence::tells(finding, input) {
            continue;
        }
        if let Some(content) = finding.content.and_then(|id| input.step.content(id)) {
            focus
                .entry(content.id)
                .or_default()
                .push(evidence::span(finding, content));
        }
    }
    for reappears in input.history.first_read.iter().flat_map(|read| &read.of) {
        let content = reappears.content.and_then(|id| input.step.content(id));
        let Some((content, start)) = content.and_then(|content| Some((content, content.text.find(&reappears.text)?)))
        else {
            continue;
        };
        focus
            .entry(content.id)
            .or_default()
            .push(start..start + reappears.text.len());
    }
    focus
}
