//! Gateways: agents that do not speak AOS are guarded without being changed.
//!
//! A gateway stands between an agent and its peers. Every message becomes an AOS step, the guardian decides about it, and the
//! gateway relays, edits or refuses it:
//!
//! ```text
//! caller ─▶ receive ─▶ protocol: read ─▶ verdicts: ask ─▶ upstream ─▶ protocol: read ─▶ verdicts: ask ─▶ caller
//!           key, size                    deny ─▶ error in the form that the protocol's clients show
//! ```
//!
//! | file | its part |
//! |---|---|
//! | `exchange.rs` | one exchange, the same for every protocol; the trait `Protocol` is what a protocol adds |
//! | `receive.rs` | the caller and its request; within bounds |
//! | `tokens.rs`, `token_endpoint.rs` | tokens for callers that ask for one with their key (OAuth 2.0 client credentials) |
//! | `query.rs` | reads strictly, as `wire::Json`; what is forwarded is written from the value that was judged |
//! | `verdicts.rs` | asks the guardian, here or elsewhere; without an answer the message is stopped |
//! | `modification.rs` | the differences that a modified message may have |
//! | `concatenated.rs` | texts in several parts are judged also as the whole that they make |
//! | `card.rs` | fetches the card of the agent behind a gateway |
//! | `transport.rs` | paths and headers: the parts of them that go on |
//! | `upstream.rs`, `credentials.rs` | sends on: own credentials, few headers, no redirects |
//! | `slow_answer.rs` | hands answers back, at once or after heartbeats |
//! | `follow.rs`, `hold.rs`, `relay.rs`, `sse.rs` | streams: events are held, judged, released |
//! | `body.rs` | heartbeats while a message is held; the work ends with its reader |
//! | `cancel_upstream.rs` | stops a task, and cancels it at the agent |
//! | `judged_units.rs`, `protocol_words.rs` | later views show what earlier ones showed; the words that protocols define |
//! | `kept.rs` | the state that a protocol keeps from one exchange to the next |
//! | `conversations.rs` | the judged pieces of conversations with a model, and their sessions |
//! | `push.rs`, `addresses.rs` | webhooks, and the addresses that may be called |
//! | `own` | the guardian itself as an agent |
//! | `protocols.rs` | the table of protocols |
//! | one folder a protocol | its methods, shapes and refusals |

mod a2a;
mod addresses;
mod agent_protocol;
mod agentvault;
mod answer;
mod body;
mod cancel_upstream;
mod card;
mod chat;
mod concatenated;
mod conversations;
mod credentials;
mod denial;
mod error;
mod exchange;
mod follow;
mod hold;
mod judged_units;
mod kept;
mod listen;
mod mcp;
mod modification;
mod own;
mod probe;
mod protocol_words;
mod protocols;
mod push;
mod query;
mod receive;
mod relay;
mod route;
mod settings;
mod slow_answer;
mod sse;
mod token_endpoint;
mod tokens;
mod transport;
mod upstream;
mod verdicts;

#[cfg(test)]
mod tests;

use crate::wire::value as json;

pub use addresses::Callable;
pub use credentials::ClientCredentials;
pub use error::GatewayError;
pub use listen::{Gateways, OwnAddress, Reload, Renewed};
pub use mcp::{Bridge, Decider, Known, Line, Lines, MAX_LINE, PinStatus, PinnedTool, Pins, PinsError, Side};
pub use probe::probe;
pub use protocols::PROTOCOLS;
pub use settings::{ClientAuth, Direction, Listen, OnDeny, Protocol, RemoteGuardian, Settings, StreamMode};
