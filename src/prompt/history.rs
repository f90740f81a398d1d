//! The history of a session as the judge gets to see it: the user's requests first of all, then earlier steps.
//!
//! Requests are served before anything else of a session, so that no step crowds them out. Of the steps the most
//! relevant ones get their share first; they are shown oldest first. Every text keeps its fence and its origin.

use super::context::SessionContext;
use super::escape::Lines;
use super::fence::{self, Fence};
use super::share::{self, Need, Rank};
use super::{tokens, window};
use crate::model::{
    Earlier, EarlierText, Excerpt, FirstRead, Gap, History, Kind, Noted, ReasonCode, Request, Severity, Voice,
};

/// Tokens of an element's own text.
const ELEMENT: usize = 24;
/// Tokens of a line's own text.
const LINE: usize = 10;
/// Tokens of the words that tell of a finding.
const NOTED: usize = 16;
/// The least of a text that is worth showing.
const MIN: usize = 24;
/// Steps that are served first.
const FIRST: usize = 6;
/// Tokens for earlier steps, however much room there is: more of them say less and less about this one.
const MAX_FOR_STEPS: usize = 2_000;
/// Characters of a text that may stand on a line.
const MAX_LINE: usize = 240;
/// Rules that are told of an earlier step.
const MAX_NOTED: usize = 3;

/// Returns the part of a session that is shown within so many tokens, and its cost.
pub(super) fn session(history: &History, fence: &Fence<'_>, room: usize) -> (SessionContext, usize) {
    let (requests, unasked) = requests(history, fence, room / 2);
    let spent = costs(&requests);
    let sources = sources(history, fence, room.saturating_sub(spent) / 2);
    let spent = spent + costs(&sources);
    let for_steps = room.saturating_sub(spent).min(MAX_FOR_STEPS);
    let (steps, untold) = steps(history, fence, for_steps);
    let spent = spent + costs(&steps);
    let denied = |step: &std::sync::Arc<Earlier>| !step.outcome.happened();
    let context = SessionContext {
        requests,
        more_requests: history.more_requests + unasked,
        sources,
        steps,
        more_steps: history.more_steps + untold,
        denials: history.steps.iter().any(denied),
        refused: history.voice == Voice::Refused,
        gap: history.gap.map_or("", Gap::describe),
    };
    (context, spent)
}

/// Returns the places where words of the step were read first, the most telling ones as far as there is room.
fn sources(history: &History, fence: &Fence<'_>, room: usize) -> Vec<String> {
    let mut left = room;
    let mut shown = Vec::new();
    for read in &history.first_read {
        let element = source(read, fence);
        let costs = tokens::estimate(&element) + 1;
        if costs > left {
            break;
        }
        left -= costs;
        shown.push(element);
    }
    shown
}

fn source(read: &FirstRead, fence: &Fence<'_>) -> String {
    let mut attributes = format!(" step=\"{}\"", read.step);
    if let Some(tool) = &read.tool {
        attributes.push_str(&format!(" tool={}", fence.quoted(tool)));
    }
    attributes.push_str(&Fence::speaker(read.origin));
    for of in &read.of {
        if let Some(content) = of.content {
            attributes.push_str(&format!(" of=\"{content}\""));
        }
        attributes.push_str(&format!(" value={}", fence.quoted(&of.text)));
    }
    let mut text = String::new();
    if read.before > 0 {
        text.push_str(&fence::cut_mark(read.before));
    }
    text.push_str(&fence.escaper().show(&read.text, Lines::Kept));
    if read.after > 0 {
        text.push_str(&fence::cut_mark(read.after));
    }
    fence.element("source", &attributes, &text)
}

fn costs(elements: &[String]) -> usize {
    elements.iter().map(|element| tokens::estimate(element) + 1).sum()
}

/// Returns every request, whole if there is room; the first and the last one before the others.
fn requests(history: &History, fence: &Fence<'_>, room: usize) -> (Vec<String>, usize) {
    let last = history.requests.len().saturating_sub(1);
    let need = |(at, request): (usize, &std::sync::Arc<Request>)| Need {
        whole: ELEMENT + needs(&request.text, fence),
        least: ELEMENT + MIN,
        rank: if at == 0 || at == last {
            Rank::Found
        } else {
            Rank::Plain
        },
        weight: 0.0,
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

/// Returns earlier steps, oldest first. The history has the most relevant ones first. A message of the user that is shown as a request is not shown
/// again, unless it has findings.
fn steps(history: &History, fence: &Fence<'_>, room: usize) -> (Vec<String>, usize) {
    let steps: Vec<&Earlier> = history
        .steps
        .iter()
        .map(AsRef::as_ref)
        .filter(|step| asked(history, step).is_none() || telling(step).next().is_some())
        .collect();
    let need = |(at, step): (usize, &&Earlier)| Need {
        whole: frame(step) + step.said.iter().map(|said| line_needs(said, fence)).sum::<usize>(),
        least: frame(step),
        rank: if at < FIRST { Rank::Found } else { Rank::Plain },
        weight: 0.0,
    };
    let needs: Vec<Need> = steps.iter().enumerate().map(need).collect();
    let shares = share::out(room, &needs);
    let mut shown: Vec<(u32, String)> = steps
        .iter()
        .zip(shares)
        .filter_map(|(step, share)| {
            share.map(|share| (step.number, self::step(step, asked(history, step), fence, share)))
        })
        .collect();
    shown.sort_by_key(|(number, _)| *number);
    let left_out = steps.len() - shown.len();
    (shown.into_iter().map(|(_, element)| element).collect(), left_out)
}

/// Returns the number of the request that a step is: its words are shown there, with the authority that they have.
fn asked(history: &History, step: &Earlier) -> Option<u32> {
    let spoke = step.kind == Kind::UserMessage && step.outcome.happened();
    let request = history.requests.iter().find(|request| request.step == step.number);
    request.filter(|_| spoke).map(|request| request.number)
}

/// Returns the findings in an earlier step that say something about this one. Personal data is everywhere.
fn telling(step: &Earlier) -> impl Iterator<Item = &Noted> {
    let telling = |noted: &&Noted| noted.severity >= Severity::Medium && noted.reason != ReasonCode::PersonalData;
    step.noted.iter().filter(telling)
}

/// Returns the tokens of everything of a step but its texts.
fn frame(step: &Earlier) -> usize {
    2 * ELEMENT + NOTED * telling(step).count().min(MAX_NOTED)
}

fn line_needs(said: &EarlierText, fence: &Fence<'_>) -> usize {
    let frame = if is_line(said) { LINE } else { 2 * ELEMENT };
    frame + needs(&said.text, fence)
}

/// Returns `true` if a text can stand on a line with its speaker.
fn is_line(said: &EarlierText) -> bool {
    let text = &said.text;
    text.cut == 0 && !text.head.contains(['\n', '\r']) && text.head.chars().nth(MAX_LINE).is_none()
}

fn step(step: &Earlier, asked: Option<u32>, fence: &Fence<'_>, share: usize) -> String {
    let mut attributes = format!(" n=\"{}\" kind=\"{}\"", step.number, step.kind);
    if matches!(step.kind, Kind::A2aRequest | Kind::A2aResponse) {
        attributes.push_str(&format!(" method=\"{}\"", step.method));
    }
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
    let mut rules: Vec<&str> = telling(step).map(|noted| noted.rule.as_str()).collect();
    rules.dedup();
    if !rules.is_empty() {
        rules.truncate(MAX_NOTED);
        attributes.push_str(&format!(" seen={}", fence.quoted(&rules.join(", "))));
    }
    if let Some(number) = asked {
        return fence.element("step", &attributes, &format!("its words are the request r{number}"));
    }
    let inner = texts(step, fence, share.saturating_sub(frame(step)));
    fence.element("step", &attributes, &inner.join("\n"))
}

/// Shows the texts of a step within so many tokens: short ones on a line, long ones in an element of their own.
fn texts(step: &Earlier, fence: &Fence<'_>, room: usize) -> Vec<String> {
    let needs: Vec<Need> = step
        .said
        .iter()
        .map(|said| Need {
            whole: line_needs(said, fence),
            least: if is_line(said) { LINE + MIN } else { 2 * ELEMENT + MIN },
            rank: if said.origin.is_external() {
                Rank::Found
            } else {
                Rank::Plain
            },
            weight: 0.0,
        })
        .collect();
    let mut inner = Vec::new();
    let mut unsaid = step.unsaid;
    for (said, share) in step.said.iter().zip(share::out(room, &needs)) {
        match share {
            Some(share) if is_line(said) && share >= line_needs(said, fence) => {
                inner.push(line(said, step.kind, fence));
            }
            Some(share) => inner.push(self::said(said, step.kind, fence, share)),
            None => unsaid += 1,
        }
    }
    if unsaid > 0 {
        inner.push(format!("⟦… {} texts not shown …⟧", fence::grouped(unsaid)));
    }
    inner
}

/// Shows a short text of an earlier step, with its speaker. Line breaks are shown as escapes: no text can begin a line.
fn line(said: &EarlierText, kind: Kind, fence: &Fence<'_>) -> String {
    let label = label(said, kind, fence);
    format!("{}{label}: {}", said.origin, fence.inline(&said.text.head))
}

fn label(said: &EarlierText, kind: Kind, fence: &Fence<'_>) -> String {
    let named = said.label.as_ref().filter(|_| kind != Kind::UserMessage);
    named
        .map(|label| format!(" {}", fence.quoted(label)))
        .unwrap_or_default()
}

/// Shows a text of an earlier step. None of them has authority: the user's requests are shown as such.
fn said(said: &EarlierText, kind: Kind, fence: &Fence<'_>, share: usize) -> String {
    let named = said.label.as_ref().filter(|_| kind != Kind::UserMessage);
    let label = named
        .map(|label| format!(" label={}", fence.quoted(label)))
        .unwrap_or_default();
    let attributes = format!(" origin=\"{}\" authority=\"none\"{label}", said.origin);
    fence.element(
        "said",
        &attributes,
        &text(&said.text, fence, share.saturating_sub(2 * ELEMENT)),
    )
}

/// Returns the tokens that an excerpt needs to be shown whole.
fn needs(excerpt: &Excerpt, fence: &Fence<'_>) -> usize {
    let tail = if excerpt.cut > 0 {
        16 + fence.escaper().scan(&excerpt.tail).tokens()
    } else {
        0
    };
    fence.escaper().scan(&excerpt.head).tokens() + tail
}

/// Shows an excerpt within so many tokens, with marks where something is missing.
fn text(excerpt: &Excerpt, fence: &Fence<'_>, room: usize) -> String {
    let escaper = fence.escaper();
    if needs(excerpt, fence) <= room {
        let mut shown = escaper.show(&excerpt.head, Lines::Kept);
        if excerpt.cut > 0 {
            shown.push_str(&fence::cut_mark(excerpt.cut));
            shown.push_str(&escaper.show(&excerpt.tail, Lines::Kept));
        }
        return shown;
    }
    let seen = escaper.scan(&excerpt.head);
    let parts = window::parts(&seen, room, &[], None);
    fence.parts(&seen, &parts, excerpt.cut + excerpt.tail.len())
}
