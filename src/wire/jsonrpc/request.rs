//! The envelope of one request.

use std::borrow::Cow;

use super::RpcError;
use crate::model::RequestId;
use crate::wire::json::{Kind, NodeId, Table};

/// The envelope of one request; its parameters are still unread.
#[derive(Debug)]
pub(in crate::wire) struct Envelope<'j> {
    /// The request.
    pub(in crate::wire) root: NodeId,
    /// Its id.
    pub(in crate::wire) id: RequestId,
    /// Its method, as written.
    pub(in crate::wire) method: Cow<'j, str>,
    /// Its parameters, unless missing or `null`.
    pub(in crate::wire) params: Option<NodeId>,
}

/// Reads an envelope.
///
/// # Errors
///
/// The id, if there is a usable one, and the error.
pub(in crate::wire) fn read<'j>(
    table: &Table<'j>,
    root: NodeId,
) -> Result<Envelope<'j>, (Option<RequestId>, RpcError)> {
    if table.kind(root) != Kind::Object {
        let found = table.describe(root);
        let error = RpcError::invalid_request(format!("invalid request: expected an object, found {found}"));
        return Err((None, error));
    }
    let id = read_id(table, root).map_err(|error| (None, error))?;
    match read_rest(table, root) {
        Ok((method, params)) => Ok(Envelope {
            root,
            id,
            method,
            params,
        }),
        Err(error) => Err((Some(id), error)),
    }
}

fn read_id(table: &Table<'_>, root: NodeId) -> Result<RequestId, RpcError> {
    const EXPECTED: &str = "invalid request: expected a string or an integer at `/id`";
    let Some(node) = table.member(root, "id") else {
        return Err(RpcError::invalid_request(format!("{EXPECTED}, found nothing")));
    };
    if let Some(text) = table.text(node) {
        return Ok(RequestId::Text(text.into_owned()));
    }
    let raw = table.raw(node);
    let digits = raw.strip_prefix('-').unwrap_or(raw);
    if table.kind(node) != Kind::Number {
        let found = table.describe(node);
        return Err(RpcError::invalid_request(format!("{EXPECTED}, found {found}")));
    }
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(RpcError::invalid_request(format!(
            "{EXPECTED}, found a fractional number"
        )));
    }
    Ok(RequestId::Integer(raw.to_owned()))
}

fn read_rest<'j>(table: &Table<'j>, root: NodeId) -> Result<(Cow<'j, str>, Option<NodeId>), RpcError> {
    if table.text_of(root, "jsonrpc").as_deref() != Some("2.0") {
        let found = table.describe_member(root, "jsonrpc");
        return Err(RpcError::invalid_request(format!(
            "invalid request: expected `\"2.0\"` at `/jsonrpc`, found {found}"
        )));
    }
    let Some(method) = table.text_of(root, "method") else {
        let found = table.describe_member(root, "method");
        return Err(RpcError::invalid_request(format!(
            "invalid request: expected a string at `/method`, found {found}"
        )));
    };
    let params = table.given(root, "params");
    if let Some(params) = params.filter(|params| table.kind(*params) != Kind::Object) {
        return Err(RpcError::invalid_params("/params", "an object", table.describe(params)));
    }
    Ok((method, params))
}
