//! Health: the answers that the server is alive, and that it is ready.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;

use super::{Authentication, Shared};
use crate::pipeline::{LinkState, Trust};

/// `GET /healthz`: the process answers.
pub(super) async fn alive() -> &'static str {
    "ok\n"
}

/// `GET /readyz`: steps can be decided. Not ready once the server was told to stop, while as many are under way as may be, or while no step is
/// taken because audit records cannot be written. Where steps are taken all the same, a line says that records are lost, and why.
///
/// Endpoints that are left alone are named, one a line; the posture decides meanwhile, so that is no reason not to be ready. So are postures that let
/// steps happen about which no judge could decide.
pub(super) async fn ready(State(shared): State<Arc<Shared>>) -> Response {
    if shared.stopping.load(Ordering::Relaxed) {
        return (StatusCode::SERVICE_UNAVAILABLE, "stopping\n").into_response();
    }
    if shared.in_flight.is_spent() || shared.memory.is_spent() || shared.guardian.pool().is_full() {
        return (StatusCode::SERVICE_UNAVAILABLE, "overloaded\n").into_response();
    }
    let trouble = shared.guardian.audit_trouble();
    let unwritten = trouble.map_or_else(String::new, |why| format!("audit records cannot be written: {why}\n"));
    if shared.guardian.is_unrecorded() {
        return (StatusCode::SERVICE_UNAVAILABLE, unwritten).into_response();
    }
    let state = unwritten + &shared_state(&shared);
    if !shared.guardian.has_judge() {
        let lines = [
            state,
            broken(&shared),
            observing(&shared),
            open_to_everybody(&shared).to_owned(),
        ]
        .concat();
        return format!("ready, judge: local rules\n{lines}").into_response();
    }
    // A judge that got worse is no reason to take the node away: it would answer no better elsewhere.
    let canaries = shared.guardian.judge_check().map_or_else(String::new, |check| {
        let trust = match check.trust {
            Trust::Full => "",
            Trust::Doubted => ", alarm",
            Trust::Withdrawn => ", alarm: what the judge lets through is not trusted",
        };
        format!(", canaries: {} of {} right{trust}", check.right, check.asked)
    });
    let mut page = format!("ready, judge: endpoint{canaries}\n{state}");
    for endpoint in shared.guardian.resting_endpoints() {
        page.push_str("resting endpoint ");
        page.push_str(&endpoint);
        page.push('\n');
    }
    for posture in shared.guardian.open_postures().iter() {
        page.push_str("open posture: ");
        page.push_str(posture);
        page.push('\n');
    }
    page.push_str(&broken(&shared));
    page.push_str(&observing(&shared));
    page.push_str(open_to_everybody(&shared));
    page.into_response()
}

/// Returns a line if what is configured cannot be used. The node is ready: it goes on with the version of before.
fn broken(shared: &Shared) -> String {
    shared.broken.load().as_deref().cloned().unwrap_or_default()
}

/// Returns a line for each organisation whose verdicts stop nothing.
fn observing(shared: &Shared) -> String {
    let lines = shared.guardian.observing();
    lines.iter().map(|line| format!("observing: {line}\n")).collect()
}

/// Returns lines if nodes share state. A node that goes on by itself is ready: it lets through no more than all together would.
fn shared_state(shared: &Shared) -> String {
    match shared.guardian.shared_state() {
        None => String::new(),
        Some(LinkState::Answers) => {
            let differing = shared.differing.load();
            format!(
                "shared state: answers\n{}",
                differing.as_deref().map_or("", String::as_str)
            )
        }
        Some(LinkState::Away { why }) => format!("shared state: away, this node goes on by itself: {why}\n"),
    }
}

/// Returns a line if no caller needs a key.
fn open_to_everybody(shared: &Shared) -> &'static str {
    match shared.settings.authentication {
        Authentication::Open => "open to every caller: no key is asked for\n",
        Authentication::Keys | Authentication::LoopbackOnly => "",
    }
}
