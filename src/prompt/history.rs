//! What happened before, as the judge gets to see it: the user's requests first of all, then earlier steps.
//!
//! Requests are served before anything else of a session, so that no step crowds them out. Of the steps the most
//! relevant ones get their share first; they are shown oldest first. Every text keeps its fence and its origin.

use super::context::SessionContext;
use super::fence::{self, Fence};
use super::share::{self, Need, Rank};
use super::shown::Lines;
use super::{tokens, window};
use crate::model::{Earlier, Excerpt, Gap, History, Kind, Noted, Request, Said, Voice};

/// Tokens of an element's own text.
const ELEMENT: usize = 48;
/// Tokens of the line that tells of a finding.
const NOTED: usize = 40;
/// The least of a text that is worth showing.
const LEAST: usize = 24;
/// Steps that are served first.
const FIRST: usize = 6;

/// What is shown of a session within so many tokens, and what that costs.
pub(super) fn session(history: &History, fence: &Fence<'_>, room: usize) -> (SessionContext, usize) {
    let (requests, unasked) = requests(history, fence, room / 3 * 2);
    let spent = costs(&requests);
    let (steps, untold) = steps(history, fence, room.saturating_sub(spent));
    let spent = spent + costs(&steps);
    let context = SessionContext {
        requests,
        more_requests: history.more_requests + unasked,
        steps,
        more_steps: history.more_steps + untold,
        refused: history.voice == Voice::Refused,
        gap: history.gap.map_or("", Gap::describe),
    };
    (context, spent)
}

fn costs(elements: &[String]) -> usize {
    elements.iter().map(|element| tokens::estimate(element) + 1).sum()
}

/// Every request, whole where there is room; the first and the last one before the others.
fn requests(history: &History, fence: &Fence<'_>, room: usize) -> (Vec<String>, usize) {
    let last = history.requests.len().saturating_sub(1);
    let need = |(at, request): (usize, &std::sync::Arc<Request>)| Need {
        whole: ELEMENT + needs(&request.text, fence),
        least: ELEMENT + LEAST,
        rank: if at == 0 || at == last {
            Rank::Found
        } else {
            Rank::Plain
        },
    };
    let needs: Vec<Need> = history.requests.iter().enumerate().map(need).collect();
    let shares = share::out(room, &needs);
    let shown: Vec<String> = history
        .requests
        .iter()
        .zip(shares)
        .filter_map(|(request, share)| share.map(|share| self::request(request, fence, share)))
        .collect();
    let left_out = history.requests.len() - shown.len();
    (shown, left_out)
}

fn request(request: &Request, fence: &Fence<'_>, share: usize) -> String {
    let answers = request
        .answers
        .map(|step| format!(" answers=\"step {step}\""))
        .unwrap_or_default();
    let attributes = format!(
        " id=\"r{}\" step=\"{}\" origin=\"user\" authority=\"full\"{answers}",
        request.number, request.step
    );
    fence.element(
        "request",
        &attributes,
        &text(&request.text, fence, share.saturating_sub(ELEMENT)),
    )
}

/// Earlier steps, oldest first. The history has the most relevant ones first.
fn steps(history: &History, fence: &Fence<'_>, room: usize) -> (Vec<String>, usize) {
    let need = |(at, step): (usize, &std::sync::Arc<Earlier>)| Need {
        whole: frame(step)
            + step
                .said
                .iter()
                .map(|said| ELEMENT + needs(&said.text, fence))
                .sum::<usize>(),
        least: frame(step),
        rank: if at < FIRST { Rank::Found } else { Rank::Plain },
    };
    let needs: Vec<Need> = history.steps.iter().enumerate().map(need).collect();
    let shares = share::out(room, &needs);
    let mut shown: Vec<(u32, String)> = history
        .steps
        .iter()
        .zip(shares)
        .filter_map(|(step, share)| {
            share.map(|share| (step.number, self::step(step, asked(history, step), fence, share)))
        })
        .collect();
    shown.sort_by_key(|(number, _)| *number);
    let left_out = history.steps.len() - shown.len();
    (shown.into_iter().map(|(_, element)| element).collect(), left_out)
}

/// The number of the request that a step is: its words are shown there, with the authority that they have.
fn asked(history: &History, step: &Earlier) -> Option<u32> {
    let spoke = step.kind == Kind::UserMessage && step.outcome.happened();
    let request = history.requests.iter().find(|request| request.step == step.number);
    request.filter(|_| spoke).map(|request| request.number)
}

/// Tokens of everything of a step but its texts.
fn frame(step: &Earlier) -> usize {
    2 * ELEMENT + NOTED * step.noted.len()
}

fn step(step: &Earlier, asked: Option<u32>, fence: &Fence<'_>, share: usize) -> String {
    let mut attributes = format!(
        " n=\"{}\" method=\"{}\" kind=\"{}\"",
        step.number, step.method, step.kind
    );
    if let Some(tool) = &step.tool {
        attributes.push_str(&format!(" tool={}", fence.quoted(tool)));
    }
    attributes.push_str(&format!(" decision=\"{}\"", step.outcome));
    if !step.reasons.is_empty() {
        let reasons: Vec<&str> = step.reasons.iter().map(|reason| reason.as_str()).collect();
        attributes.push_str(&format!(" reasons={}", fence.quoted(&reasons.join(", "))));
    }
    if step.times > 1 {
        attributes.push_str(&format!(" times=\"{}\" last=\"{}\"", step.times, step.last));
    }
    let mut inner: Vec<String> = step.noted.iter().map(|noted| self::noted(noted, fence)).collect();
    if let Some(number) = asked {
        inner.push(format!("its words are the request r{number}"));
        return fence.element("step", &attributes, &inner.join("\n"));
    }
    let room = share.saturating_sub(frame(step));
    let needs: Vec<Need> = step
        .said
        .iter()
        .map(|said| Need {
            whole: ELEMENT + needs(&said.text, fence),
            least: ELEMENT + LEAST,
            rank: if said.origin.is_external() {
                Rank::Found
            } else {
                Rank::Plain
            },
        })
        .collect();
    let mut unsaid = step.unsaid;
    for (said, share) in step.said.iter().zip(share::out(room, &needs)) {
        match share {
            Some(share) => inner.push(self::said(said, step.kind, fence, share)),
            None => unsaid += 1,
        }
    }
    if unsaid > 0 {
        inner.push(format!("⟦… {} texts not shown …⟧", fence::grouped(unsaid)));
    }
    fence.element("step", &attributes, &inner.join("\n"))
}

fn noted(noted: &Noted, fence: &Fence<'_>) -> String {
    format!(
        "seen then: {} ({}, {}, {} confidence) at {}",
        fence.inline(&noted.rule),
        fence.inline(noted.reason.as_str()),
        noted.severity,
        noted.confidence,
        fence.quoted(noted.pointer.as_str())
    )
}

/// A text of an earlier step. None of them has authority: what the user asked for is shown as a request.
fn said(said: &Said, kind: Kind, fence: &Fence<'_>, share: usize) -> String {
    let named = said.label.as_ref().filter(|_| kind != Kind::UserMessage);
    let label = named
        .map(|label| format!(" label={}", fence.quoted(label)))
        .unwrap_or_default();
    let attributes = format!(" origin=\"{}\" authority=\"none\"{label}", said.origin);
    fence.element(
        "said",
        &attributes,
        &text(&said.text, fence, share.saturating_sub(ELEMENT)),
    )
}

/// Tokens that an excerpt needs to be shown whole.
fn needs(excerpt: &Excerpt, fence: &Fence<'_>) -> usize {
    let tail = if excerpt.cut > 0 {
        16 + fence.eyes().see(&excerpt.tail).tokens()
    } else {
        0
    };
    fence.eyes().see(&excerpt.head).tokens() + tail
}

/// An excerpt within so many tokens, with marks where something is missing.
fn text(excerpt: &Excerpt, fence: &Fence<'_>, room: usize) -> String {
    let eyes = fence.eyes();
    if needs(excerpt, fence) <= room {
        let mut shown = eyes.show(&excerpt.head, Lines::Kept);
        if excerpt.cut > 0 {
            shown.push_str(&fence::cut_mark(excerpt.cut));
            shown.push_str(&eyes.show(&excerpt.tail, Lines::Kept));
        }
        return shown;
    }
    let seen = eyes.see(&excerpt.head);
    let mut shown = String::new();
    let mut end = 0;
    for part in window::parts(&seen, room, &[]) {
        if part.start > end {
            shown.push_str(&fence::cut_mark(part.start - end));
        }
        shown.push_str(&eyes.show_part(&seen, part.clone(), Lines::Kept));
        end = part.end;
    }
    let missing = excerpt.head.len() - end + excerpt.cut + excerpt.tail.len();
    if missing > 0 {
        shown.push_str(&fence::cut_mark(missing));
    }
    shown
}
