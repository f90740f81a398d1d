//! The place where a request of another protocol carries that protocol's message.
//!
//! The published texts disagree: in `params.payload`, in `params.message`, beside `params`, as `params` itself, or as
//! the other protocol's own parameters. All are understood; a request that uses two at once is remarked upon, for the
//! agent may act upon the other one.

use crate::model::{Origin, Place};

use super::aos::AosShape;
use super::draft::{Checked, Draft};
use super::json::{self, NodeId, Table};
use super::jsonrpc::{Envelope, RpcError};
use super::zone::{Anchors, Shape, Zone};

/// The form of the message in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrapping {
    /// The message: JSON-RPC of the other protocol, or a bare event of it.
    Message,
    /// The parameters of the other protocol's request.
    BareParams,
}

/// The message that was found in a request.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) message: Option<NodeId>,
    pub(super) wrapping: Wrapping,
    pub(super) context: Option<NodeId>,
    /// A second message that was passed over.
    decoy: Option<NodeId>,
    /// The nodes around the message, with their zones.
    around: Vec<(NodeId, Zone)>,
}

impl Found {
    /// Sets the zones of the nodes around the message.
    pub(super) fn anchor_surroundings(&self, anchors: &mut Anchors) {
        for (node, zone) in &self.around {
            anchors.set(*node, *zone);
        }
    }

    /// Remarks on a second message.
    pub(super) fn remark(&self, request: Checked<'_, '_>, draft: &mut Draft) {
        if let Some(decoy) = self.decoy {
            draft.remark(
                request.pointer(decoy),
                "the request carries a second message beside the one it wraps",
            );
        }
    }
}

/// Finds the message of a request.
///
/// `is_wrapped` tells whether `params.message` is that message, rather than something of the other protocol's own.
pub(super) fn find(
    request: Checked<'_, '_>,
    envelope: &Envelope<'_>,
    is_wrapped: impl Fn(NodeId) -> bool,
) -> Result<Found, RpcError> {
    let table = request.table;
    let params = envelope.params;
    let payload = match params {
        Some(params) => request.object(params, "payload", "an object (the wrapped message)")?,
        None => None,
    };
    let named = params
        .and_then(|params| table.given(params, "message"))
        .filter(|node| is_wrapped(*node));
    if let Some(named) = named {
        request.expect(named, json::Kind::Object, "an object (the wrapped message)")?;
    }
    let beside = table
        .given(envelope.root, "payload")
        .filter(|node| table.kind(*node) == json::Kind::Object);
    let raw = params.filter(|params| is_rpc(request, *params));
    let bare = params.filter(|params| table.children(*params).next().is_some());

    let candidates = [payload, named, beside, raw];
    let message = candidates.into_iter().flatten().next();
    let decoy = candidates.into_iter().flatten().find(|node| Some(*node) != message);
    let wrapping = if message.is_some() {
        Wrapping::Message
    } else {
        Wrapping::BareParams
    };
    let message = message.or(bare);

    let in_params = |name| params.and_then(|params| table.given(params, name));
    let at_top = |name| table.given(envelope.root, name);
    let context = in_params("context").or_else(|| at_top("context"));
    let mut around = Vec::new();
    if let Some(params) = params.filter(|params| Some(*params) != message) {
        around.push((
            params,
            Zone::new(Shape::Aos(AosShape::Wrapper), Origin::Unknown, Place::Body),
        ));
    }
    around.extend(context.map(|node| (node, aos_context())));
    for node in [in_params("reasoning"), at_top("reasoning")].into_iter().flatten() {
        around.push((node, Zone::body(Origin::Reasoning)));
    }
    Ok(Found {
        message,
        wrapping,
        context,
        decoy,
        around,
    })
}

const fn aos_context() -> Zone {
    Zone::new(Shape::Aos(AosShape::Context), Origin::Unknown, Place::Surroundings)
}

/// Returns `true` if an object is JSON-RPC of its own.
pub(super) fn is_rpc(request: Checked<'_, '_>, node: NodeId) -> bool {
    let has = |name| request.table.member(node, name).is_some();
    has("jsonrpc") || has("method") || has("result") || has("error")
}

/// Returns the id of a wrapped JSON-RPC message, as it is written: a request shares it with its answer.
pub(super) fn message_id(table: &Table<'_>, message: NodeId, wrapping: Wrapping) -> Option<String> {
    let given = (wrapping == Wrapping::Message).then(|| table.given(message, "id"))??;
    matches!(table.kind(given), json::Kind::String | json::Kind::Number).then(|| table.raw(given).to_owned())
}
