//! Bytes to steps.

use std::sync::Arc;

use crate::model::{ContentId, Form, Method, Origin, Place, Remark, RequestId, Step, Ties, ToolCall};

use super::draft::{CallDraft, Draft};
use super::json::{self, Bounds, NodeId, Table};
use super::jsonrpc::{self, Envelope, RpcError};
use super::leniency::Leniency;
use super::method_names::{self, Named, Protocol};
use super::original::Document;
use super::walk::{Walked, walk};
use super::zone::{Shape, Zone};
use super::{Call, Dialect, Incoming, Item, Limits, Ping, a2a, acs, aos, mcp};

/// The bytes that some clients write before UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Decodes a body: one request, or a batch.
///
/// # Errors
///
/// `-32700` when the body is no JSON, and `-32600` when it has no single meaning (duplicate keys), leaves its limits, or is an empty or too long
/// batch. The fault of one request of a batch is in its [`Item`].
pub fn decode(body: &[u8], limits: &Limits) -> Result<Incoming, RpcError> {
    decode_received(body, limits, &[])
}

/// Decodes a body that was received with these leniencies.
///
/// # Errors
///
/// As [`decode`].
pub fn decode_received(body: &[u8], limits: &Limits, received: &[Leniency]) -> Result<Incoming, RpcError> {
    let (table, roots, received) = requests(body, limits, received)?;
    let remarks: Vec<Remark> = received.iter().map(|leniency| leniency.remark("")).collect();
    if table.kind(Table::ROOT) != json::Kind::Array {
        return Ok(Incoming::One(decode_item(&table, Table::ROOT, limits, &remarks)));
    }
    let items = roots
        .into_iter()
        .map(|request| decode_item(&table, request, limits, &remarks));
    Ok(Incoming::Batch(items.collect()))
}

/// Parses a body: its values, the requests among them, and the leniencies with which it was received.
pub(super) fn requests<'j>(
    body: &'j [u8],
    limits: &Limits,
    received: &[Leniency],
) -> Result<(Table<'j>, Vec<NodeId>, Vec<Leniency>), RpcError> {
    let (body, marked) = match body.strip_prefix(BYTE_ORDER_MARK) {
        Some(body) => (body, Some(Leniency::ByteOrderMark)),
        None => (body, None),
    };
    let received = received.iter().copied().chain(marked).collect();
    let table = parse(body, limits)?;
    if table.kind(Table::ROOT) != json::Kind::Array {
        return Ok((table, vec![Table::ROOT], received));
    }
    let count = table.children(Table::ROOT).count();
    if count == 0 {
        return Err(RpcError::invalid_request("invalid request: the batch is empty"));
    }
    if count > limits.max_batch {
        let message = format!(
            "invalid request: the batch has {count} requests, at most {} are allowed",
            limits.max_batch
        );
        return Err(RpcError::invalid_request(message));
    }
    let roots = table.children(Table::ROOT).collect();
    Ok((table, roots, received))
}

/// Decodes one request that carries a step.
///
/// # Errors
///
/// As [`decode`]; and `-32600` for a batch or a `ping`.
pub fn decode_step(json: impl AsRef<[u8]>, limits: &Limits) -> Result<(RequestId, Arc<Step>), RpcError> {
    match decode(json.as_ref(), limits)? {
        Incoming::Batch(_) => Err(RpcError::invalid_request(
            "invalid request: expected one step, found a batch",
        )),
        Incoming::One(item) => match (item.id, item.call?) {
            (Some(id), Call::Step(step)) => Ok((id, step)),
            (_, Call::Ping(_)) => Err(RpcError::invalid_request(
                "invalid request: expected a step, found a ping",
            )),
            (None, Call::Step(_)) => Err(RpcError::internal()),
        },
    }
}

fn parse<'j>(body: &'j [u8], limits: &Limits) -> Result<Table<'j>, RpcError> {
    let bounds = Bounds {
        depth: limits.max_depth,
        values: limits.max_nodes,
        bytes: limits.max_body_bytes,
    };
    Ok(json::parse(body, bounds)?)
}

fn decode_item(table: &Table<'_>, root: NodeId, limits: &Limits, received: &[Remark]) -> Item {
    let envelope = match jsonrpc::read(table, root) {
        Ok(envelope) => envelope,
        Err((id, error)) => {
            return Item {
                id,
                method_label: None,
                call: Err(error),
            };
        }
    };
    if limits.dialect == Dialect::Acs {
        let step = decode_acs(table, &envelope, limits).map(|step| Call::Step(Arc::new(step)));
        return Item {
            id: Some(envelope.id),
            method_label: None,
            call: step,
        };
    }
    if is_of_successor(table, &envelope) {
        return Item {
            id: Some(envelope.id),
            method_label: None,
            call: Err(RpcError::unsupported_version("ACS")),
        };
    }
    let (method_label, call) = match method_names::resolve(&envelope.method) {
        None => (None, Err(RpcError::method_not_found(&envelope.method))),
        Some(Named::Ping) => (None, read_ping(table, &envelope).map(Call::Ping)),
        Some(Named::Step {
            method,
            protocol,
            inner,
        }) => {
            let step = decode_call(table, &envelope, method, protocol, inner, limits);
            let step = step.map(|mut step| {
                step.remarks.extend_from_slice(received);
                Call::Step(Arc::new(step))
            });
            (Some(method), step)
        }
    };
    Item {
        id: Some(envelope.id),
        method_label,
        call,
    }
}

/// Returns `true` if a request is an envelope of ACS, the successor of AOS: it has the same methods with other parameters, so it must not be read as
/// AOS.
fn is_of_successor(table: &Table<'_>, envelope: &Envelope<'_>) -> bool {
    let params = envelope.params;
    params.is_some_and(|params| table.member(params, "acs_version").is_some())
}

fn read_ping(table: &Table<'_>, envelope: &Envelope<'_>) -> Result<Ping, RpcError> {
    let Some(params) = envelope.params else {
        return Ok(Ping::default());
    };
    Ok(Ping {
        timestamp: table.text_of(params, "timestamp").map(|text| text.into_owned()),
        timeout_ms: table
            .given(params, "timeout")
            .and_then(|node| table.raw(node).parse().ok()),
    })
}

fn decode_call(
    table: &Table<'_>,
    envelope: &Envelope<'_>,
    method: Method,
    protocol: Protocol,
    inner: Option<&str>,
    limits: &Limits,
) -> Result<Step, RpcError> {
    let draft = match protocol {
        Protocol::Aos => aos::read_step(table, envelope, method)?,
        Protocol::A2a => a2a::read(table, envelope, method, inner, limits.a2a_side)?,
        Protocol::Mcp => mcp::read(table, envelope, inner)?,
    };
    walk_and_assemble(table, envelope, method, draft, limits)
}

/// Decodes the step of an envelope of ACS.
pub(super) fn decode_acs(table: &Table<'_>, envelope: &Envelope<'_>, limits: &Limits) -> Result<Step, RpcError> {
    let (method, draft) = acs::draft(table, envelope)?;
    walk_and_assemble(table, envelope, method, draft, limits)
}

fn walk_and_assemble(
    table: &Table<'_>,
    envelope: &Envelope<'_>,
    method: Method,
    mut draft: Draft,
    limits: &Limits,
) -> Result<Step, RpcError> {
    let around = Zone::new(Shape::Envelope, Origin::Unknown, Place::Body);
    let anchors = std::mem::take(&mut draft.anchors);
    let walked = walk(table, envelope.root, around, anchors)?;
    let method = draft.method.unwrap_or(method);
    Ok(assemble(table, envelope, method, draft, walked, limits))
}

fn assemble(
    table: &Table<'_>,
    envelope: &Envelope<'_>,
    method: Method,
    draft: Draft,
    walked: Walked,
    limits: &Limits,
) -> Step {
    let tool_call = draft
        .tool_call
        .map(|call| place_call(table, envelope.root, call, &walked));
    let mut remarks = draft.remarks;
    remarks.extend(walked.remarks);
    let original = Document {
        json: table.raw(envelope.root).to_owned(),
        tokens: walked.tokens,
        limits: *limits,
        id: envelope.id.clone(),
        method,
        kind: draft.kind,
    };
    let request = match &envelope.id {
        RequestId::Text(id) | RequestId::Integer(id) => id.clone(),
    };
    Step {
        method,
        kind: draft.kind,
        agent: draft.agent,
        session: draft.session,
        user: draft.user,
        ties: Ties {
            request: Some(request),
            ..draft.ties
        },
        facts: draft.facts,
        tool_call,
        announced_tools: draft.announced_tools,
        contents: walked.contents,
        data: walked.data,
        remarks,
        original: Arc::new(original),
    }
}

/// Finds the content that names the tool.
fn place_call(table: &Table<'_>, root: NodeId, call: CallDraft, walked: &Walked) -> ToolCall {
    let start = table.span(call.tool_node).start.saturating_sub(table.span(root).start);
    // Contents are in document order, and so are their tokens.
    let from = walked.tokens.partition_point(|token| token.start < start);
    let named = walked.tokens.iter().zip(&walked.contents).enumerate().skip(from);
    let content = named
        .take_while(|(_, (token, _))| token.start == start)
        .find(|(_, (_, content))| content.form != Form::Key)
        .map(|(index, _)| ContentId::from_index(index));
    ToolCall {
        tool: call.tool,
        content,
        arguments: call.arguments,
    }
}
