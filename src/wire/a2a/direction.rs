//! The direction of a message between agents.
//!
//! Requests and answers are told apart by their shape, and the observed party by the context of the request, or by the setting. A message that fits
//! neither, or says two things at once, is [`Direction::Unclear`]: it may go out, so it is looked at like what the agent sends, and it may come from
//! another, so its words have no authority.

use crate::model::{self, Method};
use crate::wire::aos::{End, Likely, Parties, Side};
use crate::wire::json::{Kind, NodeId, Table};
use crate::wire::method_names;
use crate::wire::wrapping::{Found, Wrapping};

/// The nature of a message, by its shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nature {
    /// A message that a client sends.
    Request,
    /// A message that a server sends: an answer, or an event of a stream.
    Answer,
    /// Neither can be told.
    Unclear,
}

/// The direction of a message, seen from the observed agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// From it to another agent.
    Out,
    /// From another agent to it.
    In,
    /// It cannot be told.
    Unclear,
}

impl Direction {
    pub(super) const fn kind(self) -> model::Kind {
        match self {
            Direction::Out | Direction::Unclear => model::Kind::A2aRequest,
            Direction::In => model::Kind::A2aResponse,
        }
    }

    const fn reversed(self) -> Self {
        match self {
            Direction::Out => Direction::In,
            Direction::In => Direction::Out,
            Direction::Unclear => Direction::Unclear,
        }
    }
}

impl Nature {
    /// Tells the nature of a message: one with a method that A2A knows is a request; one with a result or an error, or an event of a stream, is an
    /// answer.
    pub(super) fn of(table: &Table<'_>, found: &Found, method: Method) -> Self {
        let Some(message) = found.message else {
            return Nature::Request;
        };
        let asks = found.wrapping == Wrapping::Message && table.member(message, "method").is_some();
        // AgentVault's events carry the id of their task, and its subscription does not.
        let of_subscription = method == Method::TasksSendSubscribe && table.given(message, "taskId").is_some();
        match found.wrapping {
            Wrapping::Message if asks => of_request(table, message),
            _ if of_subscription || is_event(table, message) => Nature::Answer,
            Wrapping::Message => of_answer(table, message),
            Wrapping::BareParams => of_bare(table, message, method),
        }
    }

    /// Returns the end at which the observed agent would stand.
    pub(super) const fn likely(self, side: Side) -> Likely {
        let end = match (self, side) {
            (Nature::Request, Side::Client) | (Nature::Answer, Side::Server) => End::From,
            (Nature::Request, Side::Server) | (Nature::Answer, Side::Client) | (Nature::Unclear, _) => End::To,
        };
        Likely { side, end }
    }

    /// Returns the direction if the observed agent is on this side.
    const fn direction(self, side: Side) -> Direction {
        let of_client = match self {
            Nature::Request => Direction::Out,
            Nature::Answer => Direction::In,
            Nature::Unclear => Direction::Unclear,
        };
        match side {
            Side::Client => of_client,
            Side::Server => of_client.reversed(),
        }
    }
}

/// Returns the direction of a message: by the end of the observed agent, and by its role. A contradiction is unclear.
pub(super) fn of(nature: Nature, parties: Option<&Parties>, side: Side) -> Direction {
    let Some(parties) = parties else {
        return nature.direction(side);
    };
    let by_end = match parties.end {
        End::From => Direction::Out,
        End::To => Direction::In,
    };
    match (by_end, parties.role) {
        // Another's words in any case, whatever it is that it sends.
        (Direction::In, _) if nature == Nature::Unclear => Direction::In,
        (Direction::In, None) => Direction::In,
        (Direction::Out, None) if nature == Nature::Request => Direction::Out,
        // Clients that name themselves first whatever they received would pass off answers as their own.
        (_, role) if nature.direction(role.unwrap_or(side)) == by_end => by_end,
        _ => Direction::Unclear,
    }
}

/// Tells the nature of a message with a method: a request, if A2A knows the method.
fn of_request(table: &Table<'_>, message: NodeId) -> Nature {
    let known = table
        .text_of(message, "method")
        .is_some_and(|name| method_names::a2a(&name).is_some());
    if known && !speaks_for_server(table, message) {
        Nature::Request
    } else {
        Nature::Unclear
    }
}

/// Tells the nature of a message without a method: an answer, if a member of it answers.
fn of_answer(table: &Table<'_>, message: NodeId) -> Nature {
    let answers = ["result", "error"]
        .iter()
        .any(|name| table.member(message, name).is_some());
    if answers { Nature::Answer } else { Nature::Unclear }
}

/// Returns `true` if a request carries a message in the role that A2A 1.0 gives to servers.
fn speaks_for_server(table: &Table<'_>, message: NodeId) -> bool {
    table
        .given(message, "params")
        .and_then(|params| table.given(params, "message"))
        .is_some_and(|inner| table.text_of(inner, "role").as_deref() == Some("ROLE_AGENT"))
}

/// Tells the nature of the bare parameters of a request. A message in them is one of a client only in the role that A2A 0.x gives to clients: A2A 1.0
/// has events that look the same.
fn of_bare(table: &Table<'_>, params: NodeId, method: Method) -> Nature {
    let sends = matches!(
        method,
        Method::MessageSend | Method::MessageStream | Method::TasksSend | Method::ProtocolsA2a
    );
    match table.given(params, "message") {
        Some(message) if table.text_of(message, "role").as_deref() == Some("user") => Nature::Request,
        Some(_) => Nature::Unclear,
        None if sends => Nature::Unclear,
        None => Nature::Request,
    }
}

/// Returns `true` if an object is an event of a stream, or the object that an answer carries, without JSON-RPC around it.
pub(super) fn is_event(table: &Table<'_>, node: NodeId) -> bool {
    const OF_SERVERS: &[&str] = &[
        "statusUpdate",
        "artifactUpdate",
        "task",
        "artifact",
        "artifacts",
        "state",
        "history",
        "messages",
        "parts",
    ];
    let of_kind = |name| {
        table.text_of(node, name).is_some_and(|kind| {
            matches!(
                kind.as_ref(),
                "status-update"
                    | "artifact-update"
                    | "task"
                    | "message"
                    | "task_status"
                    | "task_message"
                    | "task_artifact"
            )
        })
    };
    // A list of tasks is asked for by a status, which is a word; a task has one that is an object.
    let has_status = table
        .given(node, "status")
        .is_some_and(|status| table.kind(status) == Kind::Object);
    let has_one = OF_SERVERS.iter().any(|name| table.given(node, name).is_some());
    of_kind("kind") || of_kind("type") || has_status || has_one
}
