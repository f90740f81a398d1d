//! Relevance: the choice of the earlier steps that a judge is told of, if there are too many.

use std::sync::Arc;

use super::Event;
use super::snapshot::{SessionSnapshot, reads_untrusted};
use crate::model::{Earlier, History, Outcome, Severity};

/// Steps that a judge is told of.
const MAX_STEPS: usize = 24;
/// Bytes of earlier steps that a judge is told of.
const MAX_BYTES: usize = 24 * 1024;
/// The latest steps are always worth telling.
const LATEST: usize = 4;

/// Returns what a judge may be told: every request; of the steps the most relevant ones, those first.
pub(super) fn history(past: &SessionSnapshot, pointed_at: &[u32]) -> History {
    let events: Vec<&Event> = past.events().collect();
    let mut ranked: Vec<(u8, u32, &Event)> = events
        .iter()
        .enumerate()
        .map(|(at, event)| {
            let latest = at + LATEST >= events.len();
            (rank(&event.step, pointed_at, latest), event.step.last, *event)
        })
        .collect();
    ranked.sort_by_key(|(rank, last, _)| (*rank, std::cmp::Reverse(*last)));
    let mut left = MAX_BYTES;
    let mut steps: Vec<Arc<Earlier>> = Vec::new();
    for (_, _, event) in ranked {
        let bytes: usize = event.step.said.iter().map(|said| said.text.len() + 64).sum::<usize>() + 128;
        if steps.len() >= MAX_STEPS {
            break;
        }
        if bytes <= left {
            left -= bytes;
            steps.push(Arc::clone(&event.step));
        }
    }
    let authority = past.authority();
    History {
        requests: authority.requests().to_vec(),
        more_requests: authority.forgotten(),
        first_read: Vec::new(),
        more_steps: events.len() - steps.len() + past.forgotten() as usize,
        steps,
        voice: authority.voice(),
        gap: past.gap(),
    }
}

/// Returns the rank of a step, the lowest for those that matter most.
fn rank(step: &Earlier, pointed_at: &[u32], latest: bool) -> u8 {
    let grave = step.noted.iter().any(|noted| noted.severity >= Severity::Medium);
    if pointed_at.contains(&step.number) || pointed_at.contains(&step.last) {
        0
    } else if step.outcome == Outcome::Denied {
        1
    } else if latest {
        2
    } else if grave {
        3
    } else if reads_untrusted(step) {
        4
    } else {
        5
    }
}
