//! A2A, in all its revisions, and AgentVault: finding the message in a request, and telling requests from answers.

mod direction;
mod shape;

use crate::model::{FactKind, Method, Origin, Place, SessionId};
use crate::wire::aos::{self, Context, Side};
use crate::wire::draft::{Checked, Draft};
use crate::wire::json::{NodeId, Table};
use crate::wire::jsonrpc::{Envelope, RpcError};
use crate::wire::leniency::Leniency;
use crate::wire::method_names;
use crate::wire::wrapping::{self, Found, Wrapping};
use crate::wire::zone::{Anchors, Shape, Zone};

use direction::{Direction, Nature};
pub(super) use shape::A2aShape;

/// Reads a request that carries an A2A message. `side` is the observed agent's, where the request does not tell.
///
/// # Errors
///
/// `-32602` when there is no message, or a field that we rely on has another type than A2A gives it.
pub(super) fn read(
    table: &Table<'_>,
    envelope: &Envelope<'_>,
    method: Method,
    inner: Option<&str>,
    side: Side,
) -> Result<Draft, RpcError> {
    let request = Checked {
        table,
        root: envelope.root,
    };
    let found = find(request, envelope, method, inner)?;
    let nature = Nature::of(table, &found, method);
    let mut anchors = Anchors::default();
    found.anchor_surroundings(&mut anchors);
    let context = match found.context {
        Some(context) => aos::read_context(table, envelope.root, context, nature.likely(side), &mut anchors)?,
        None => Context::default(),
    };
    let direction = direction::of(nature, context.parties.as_ref(), side);
    if let Some(message) = found.message {
        anchors.set(message, zone(direction, nature, found.wrapping));
    }
    let mut draft = Draft::new(direction.kind(), context, anchors);
    found.remark(request, &mut draft);
    if let Some(message) = found.message {
        check(request, message, found.wrapping, &mut draft)?;
        remark_method(request, message, method, inner, &mut draft);
        let serves = match nature {
            Nature::Request => direction == Direction::In,
            Nature::Answer => direction == Direction::Out,
            Nature::Unclear => false,
        };
        if serves {
            draft.fact(FactKind::Side, Side::Server.as_str());
        }
        if direction == Direction::Unclear {
            draft.lenient(request.pointer(message), Leniency::UnknownDirection);
        }
        draft.ties.call = wrapping::message_id(table, message, found.wrapping);
        if draft.session.is_none() {
            draft.session = session_of(table, message, found.wrapping);
        }
    }
    Ok(draft)
}

/// Returns the zone of a message: the observed agent's words are its own, whatever role A2A gives it; those that it receives are another's. So are
/// words whose sender cannot be told.
const fn zone(direction: Direction, nature: Nature, wrapping: Wrapping) -> Zone {
    let origin = match direction {
        Direction::Out => Origin::Agent,
        Direction::In | Direction::Unclear => Origin::RemoteAgent,
    };
    let shape = match (direction, nature, wrapping) {
        // An answer of the agent repeats what it was asked.
        (Direction::Out, Nature::Answer, Wrapping::Message) => A2aShape::OwnMessage,
        (Direction::Out, Nature::Answer, Wrapping::BareParams) => A2aShape::OwnObject,
        (_, _, Wrapping::Message) => A2aShape::Message,
        (_, _, Wrapping::BareParams) => A2aShape::Object,
    };
    Zone::new(Shape::A2a(shape), origin, Place::Body)
}

fn find(
    request: Checked<'_, '_>,
    envelope: &Envelope<'_>,
    method: Method,
    inner: Option<&str>,
) -> Result<Found, RpcError> {
    // `params.message` is the wrapped message where the method only says "A2A"; for `message/send` and the like it is
    // usually the A2A message of raw A2A parameters.
    let only_wraps = method == Method::ProtocolsA2a && inner.is_none();
    let is_wrapped = |node| only_wraps || wrapping::is_rpc(request, node);
    let found = wrapping::find(request, envelope, is_wrapped)?;
    let bare_is_meant = match found.wrapping {
        Wrapping::Message => true,
        Wrapping::BareParams => found.message.is_some_and(|params| {
            has_a2a_params(request.table, params, method) || direction::is_event(request.table, params)
        }),
    };
    let needs_nothing = matches!(method, Method::AgentCard | Method::TasksList);
    if bare_is_meant || needs_nothing {
        return Ok(found);
    }
    let pointer = if only_wraps {
        "/params/message"
    } else {
        "/params/payload"
    };
    Err(RpcError::invalid_params(
        pointer,
        "an object (the A2A message)",
        "nothing",
    ))
}

/// Returns `true` if the parameters of a raw A2A request are there.
fn has_a2a_params(table: &Table<'_>, params: NodeId, method: Method) -> bool {
    let names: &[&str] = match method {
        Method::MessageSend | Method::MessageStream | Method::TasksSend => &["message"],
        _ => &[
            "id",
            "taskId",
            "name",
            "parent",
            "message",
            "pushNotificationConfig",
            "config",
        ],
    };
    names.iter().any(|name| table.given(params, name).is_some())
}

/// Checks the types of the fields that we rely on.
fn check(request: Checked<'_, '_>, message: NodeId, wrapping: Wrapping, draft: &mut Draft) -> Result<(), RpcError> {
    let params = match wrapping {
        Wrapping::BareParams => message,
        Wrapping::Message => {
            request.string(message, "method")?;
            match request.object(message, "params", "an object (A2A params)")? {
                Some(params) => params,
                None => return Ok(()),
            }
        }
    };
    let Some(inner) = request.object(params, "message", "an object (A2A Message)")? else {
        return Ok(());
    };
    if let Some(parts) = request.table.given(inner, "parts") {
        request.items(parts, "an array of parts", &mut draft.remarks)?;
    }
    Ok(())
}

fn remark_method(request: Checked<'_, '_>, message: NodeId, method: Method, inner: Option<&str>, draft: &mut Draft) {
    let table = request.table;
    let Some(node) = table.member(message, "method") else {
        return;
    };
    let Some(name) = table.text(node) else { return };
    let meant = method_names::a2a(&name);
    let outer_says_nothing = method == Method::ProtocolsA2a && inner.is_none();
    let known_spelling = inner == Some(name.as_ref());
    if outer_says_nothing {
        draft.method = meant;
    }
    if !outer_says_nothing && !known_spelling && meant != Some(method) {
        draft.remark(
            request.pointer(node),
            "the method of the wrapped message is not the method of the request",
        );
    } else if meant.is_none() {
        draft.remark(
            request.pointer(node),
            "the wrapped message has a method that A2A does not know",
        );
    }
    for name in ["result", "error"] {
        if let Some(answer) = table.member(message, name) {
            draft.remark(
                request.pointer(answer),
                "the wrapped message is a request and an answer at once",
            );
        }
    }
}

/// Returns the conversation that a message belongs to: its context, else its task.
fn session_of(table: &Table<'_>, message: NodeId, wrapping: Wrapping) -> Option<SessionId> {
    let inside = |node: Option<NodeId>, name| node.and_then(|node| table.given(node, name));
    let root = Some(message);
    let params = match wrapping {
        Wrapping::BareParams => root,
        Wrapping::Message => inside(root, "params"),
    };
    let result = inside(root, "result");
    let around = [params, result, root];
    let holders = around.into_iter().flat_map(|holder| {
        let named = ["message", "task", "statusUpdate", "artifactUpdate", "status"];
        std::iter::once(holder).chain(named.map(|name| inside(holder, name)))
    });
    let holders: Vec<NodeId> = holders.flatten().collect();
    let text = |name: &str| holders.iter().find_map(|holder| table.text_of(*holder, name));
    let task = || {
        // `id` is a task's only in parameters and results: elsewhere it is the id of a JSON-RPC message.
        let bare_event = root.filter(|message| table.member(*message, "jsonrpc").is_none());
        [params, result, inside(result, "task"), bare_event]
            .into_iter()
            .flatten()
            .find_map(|holder| table.text_of(holder, "id"))
    };
    text("contextId")
        .or_else(|| text("sessionId"))
        .or_else(|| text("taskId"))
        .or_else(task)
        .filter(|id| !id.is_empty())
        .map(|id| SessionId::new(id.into_owned()))
}
