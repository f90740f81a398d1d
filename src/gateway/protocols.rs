//! The protocols that gateways speak: one line each.

use std::sync::Arc;

use axum::response::Response;
use futures_util::future::BoxFuture;

use super::own;
use super::receive::Received;
use super::route::Route;
use super::settings::Protocol;
use super::transport::SESSION_ID;
use super::{a2a, agent_protocol, agentvault, chat, mcp};

type Serve = fn(Arc<Route>, Received) -> BoxFuture<'static, Response>;

/// A line of the table.
pub struct Entry {
    /// The properties of the protocol.
    pub protocol: Protocol,
    /// Answers a caller of the agent behind the gateway.
    pub(super) serve: Serve,
    /// Answers a caller of the guardian itself, where it is an agent of this protocol.
    pub(super) serve_own: Option<Serve>,
}

/// The properties of a protocol if its line says nothing else.
const PLAIN: Protocol = Protocol {
    name: "",
    gives_tokens: false,
    notifies: false,
    cards: &[],
    probes: &[],
    only_calls: false,
    is_model: false,
    session: None,
    passed: &[],
    answered: &[],
};

/// Every protocol.
pub static PROTOCOLS: [Entry; 6] = [
    Entry {
        protocol: Protocol {
            name: "a2a",
            notifies: true,
            cards: &["/.well-known/agent-card.json", "/.well-known/agent.json"],
            probes: &["/.well-known/agent-card.json", "/.well-known/agent.json"],
            ..PLAIN
        },
        serve: |route, received| Box::pin(a2a::serve(route, received)),
        serve_own: Some(|route, received| Box::pin(own::a2a::serve(route, received))),
    },
    Entry {
        protocol: Protocol {
            name: "agentvault",
            gives_tokens: true,
            cards: &["/agent-card.json"],
            probes: &["/agent-card.json", ""],
            ..PLAIN
        },
        serve: |route, received| Box::pin(agentvault::serve(route, received)),
        serve_own: Some(|route, received| Box::pin(own::agentvault::serve(route, received))),
    },
    Entry {
        protocol: Protocol {
            name: "agent-protocol",
            probes: &["/", "/_discovery", "/describe"],
            ..PLAIN
        },
        serve: |route, received| Box::pin(agent_protocol::serve(route, received)),
        serve_own: Some(|route, received| Box::pin(own::agent_protocol::serve(route, received))),
    },
    Entry {
        protocol: Protocol {
            name: "mcp",
            probes: &[""],
            only_calls: true,
            session: Some(SESSION_ID),
            ..PLAIN
        },
        serve: |route, received| Box::pin(mcp::serve(route, received)),
        serve_own: None,
    },
    Entry {
        protocol: Protocol {
            name: "openai",
            probes: &["/v1/models"],
            is_model: true,
            passed: &[
                "openai-organization",
                "openai-project",
                "openai-beta",
                "idempotency-key",
            ],
            answered: &["x-request-id", "openai-version", "retry-after-ms", "x-should-retry"],
            ..PLAIN
        },
        serve: |route, received| Box::pin(chat::serve_openai(route, received)),
        serve_own: None,
    },
    Entry {
        protocol: Protocol {
            name: "anthropic",
            probes: &["/v1/models"],
            is_model: true,
            passed: &["anthropic-version", "anthropic-beta", "idempotency-key"],
            answered: &[
                "request-id",
                "anthropic-organization-id",
                "retry-after-ms",
                "x-should-retry",
            ],
            ..PLAIN
        },
        serve: |route, received| Box::pin(chat::serve_anthropic(route, received)),
        serve_own: None,
    },
];
