//! A `tools/call`: the tool and its arguments.

use crate::model::{Argument, Remark};
use crate::wire::aos::{Elsewhere, arguments_of};
use crate::wire::draft::{CallDraft, Checked};
use crate::wire::json::{self, NodeId};
use crate::wire::jsonrpc::RpcError;
use crate::wire::wrapping::Wrapping;

/// Members of a message that are no arguments.
const OF_MESSAGE: &[&str] = &["jsonrpc", "id", "method", "params", "result", "error"];
/// Members of the parameters of `tools/call` that are no arguments.
const OF_PARAMS: &[&str] = &["name", "arguments", "_meta", "task"];
/// The same, for a request of AOS that carries the parameters itself.
const OF_ENVELOPE: &[&str] = &["name", "arguments", "_meta", "task", "context", "reasoning"];

/// Reads the call. Members that MCP does not define are arguments too.
pub(super) fn read(
    request: Checked<'_, '_>,
    message: NodeId,
    params: Option<NodeId>,
    wrapping: Wrapping,
    remarks: &mut Vec<Remark>,
) -> Result<CallDraft, RpcError> {
    let table = request.table;
    let Some(params) = params else {
        return Err(request.missing(message, "params", "an object (MCP params)"));
    };
    let tool_node = request.required(params, "name", "a string")?;
    request.expect(tool_node, json::Kind::String, "a string")?;
    let mut arguments: Vec<Argument> = Vec::new();
    if let Some(given) = request.object(params, "arguments", "an object")? {
        arguments.extend(arguments_of(request, given));
    }
    let known = match wrapping {
        Wrapping::Message => OF_PARAMS,
        Wrapping::BareParams => OF_ENVELOPE,
    };
    Elsewhere { request, remarks }.read(params, known, &mut arguments);
    if wrapping == Wrapping::Message {
        Elsewhere { request, remarks }.read(message, OF_MESSAGE, &mut arguments);
    }
    Ok(CallDraft {
        tool: table.text(tool_node).unwrap_or_default().into_owned(),
        tool_node,
        arguments,
    })
}
