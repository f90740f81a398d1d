//! The guardian as an agent: others ask it for a judgement in the protocol that they already speak.
//!
//! What they hand in is only judged: nothing is sent anywhere, and a refusal is the answer that they asked for, not an error.

mod a2a;
mod agent_protocol;
mod agentvault;
mod tasks;
mod trace;
mod verdict;

use axum::response::Response;

use super::json::{Bounds, Json};
use super::receive::Received;
use super::settings::Protocol;

pub(super) use tasks::Desk;

const NAME: &str = "Guardian";
const DESCRIPTION: &str = "Judges what agents are about to do, or have received: allow, modify or deny, with reasons.";
const JUDGE_STEP: &str = "Judges one step: an AOS request, or a message as text.";
const JUDGE_TRACE: &str =
    "Judges a trace: {\"aos\": [AOS requests]}, or {\"messages\": [messages as OpenAI or Anthropic write them]}.";

/// Answers a caller.
pub(super) async fn serve(route: Desk, received: Received) -> Response {
    match route.settings.protocol {
        Protocol::A2a => a2a::serve(route, received).await,
        Protocol::AgentVault => agentvault::serve(route, received).await,
        Protocol::AgentProtocol => agent_protocol::serve(route, received).await,
    }
}

/// JSON in a text is what it says; everything else is a message.
fn read_text(text: &str) -> Json {
    let bounds = Bounds {
        depth: 64,
        values: 50_000,
    };
    match Json::parse(text.as_bytes(), &bounds) {
        Ok(value @ (Json::Object(_) | Json::Array(_))) => value,
        Ok(_) | Err(_) => Json::text(text),
    }
}
