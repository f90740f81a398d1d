//! The guardian as an agent: others ask it for a judgement in the protocol that they already speak.
//!
//! Their input is only judged: nothing is sent anywhere, and a refusal is the answer that they asked for, not an error.

pub(super) mod a2a;
pub(super) mod agent_protocol;
pub(super) mod agentvault;
mod tasks;
mod verdict;

use super::json::Json;

const NAME: &str = "Guardian";
const DESCRIPTION: &str = "Judges what agents are about to do, or have received: allow, modify or deny, with reasons.";
const JUDGE_STEP: &str = "Judges one step: an AOS request, or a message as text.";
const JUDGE_TRACE: &str =
    "Judges a trace: {\"aos\": [AOS requests]}, or {\"messages\": [messages as OpenAI or Anthropic write them]}.";

/// Parses a text that holds JSON; every other text is a message.
fn read_text(text: &str) -> Json {
    match Json::parse(text.as_bytes(), 64, 50_000) {
        Ok(value @ (Json::Object(_) | Json::Array(_))) => value,
        Ok(_) | Err(_) => Json::text(text),
    }
}
