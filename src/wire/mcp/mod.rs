//! MCP: finding the message in a request, telling requests from answers, and reading tool calls and tool lists.

mod shape;

use std::borrow::Cow;

use crate::model::{Kind, Origin, Place, Tool};
use crate::wire::aos::{self, Context};
use crate::wire::draft::{CallDraft, Checked, Draft};
use crate::wire::json::{self, NodeId, Table, push_key};
use crate::wire::jsonrpc::{Envelope, RpcError};
use crate::wire::wrapping::{self, Wrapping};
use crate::wire::zone::{Anchors, Shape, Zone};

pub(super) use shape::McpShape;

/// Reads a request that carries an MCP message.
///
/// # Errors
///
/// `-32602` when there is no message, or a field that we rely on has another type than MCP gives it.
pub(super) fn read(table: &Table<'_>, envelope: &Envelope<'_>, inner: Option<&str>) -> Result<Draft, RpcError> {
    let request = Checked {
        table,
        root: envelope.root,
    };
    let found = wrapping::find(request, envelope, |node| {
        inner.is_none() || wrapping::is_rpc(request, node)
    })?;
    let message = match (found.message, found.wrapping, inner) {
        (Some(message), Wrapping::Message, _) => Some(message),
        // `protocols/MCP/tools/call` with the parameters of `tools/call`.
        (params, Wrapping::BareParams, Some(_)) => params,
        (_, _, None) | (None, Wrapping::Message, Some(_)) => {
            return Err(RpcError::invalid_params(
                "/params/message",
                "an object (the MCP message)",
                "nothing",
            ));
        }
    };
    let method = match message.filter(|_| found.wrapping == Wrapping::Message) {
        Some(message) => request.string(message, "method")?,
        None => inner.map(str::to_owned),
    };
    let nature = Nature::of(table, message, found.wrapping, method.as_deref());
    let mut anchors = Anchors::default();
    found.anchor_surroundings(&mut anchors);
    let context = match found.context {
        Some(context) => aos::read_context(table, envelope.root, context, &mut anchors)?,
        None => Context::default(),
    };
    if let Some(message) = message {
        anchors.set(message, nature.zone(found.wrapping));
    }
    let mut draft = Draft::new(nature.kind(), context, anchors);
    found.remark(request, &mut draft);
    let Some(message) = message else { return Ok(draft) };
    remark_method(request, message, method.as_deref(), inner, &mut draft);
    draft.ties.call = wrapping::message_id(table, message, found.wrapping);
    let params = match found.wrapping {
        Wrapping::BareParams => Some(message),
        Wrapping::Message => request.object(message, "params", "an object (MCP params)")?,
    };
    match nature {
        Nature::ToolCall => draft.tool_call = Some(read_call(request, message, params)?),
        Nature::Answer => draft.announced_tools = read_announced(table, message),
        Nature::FromClient | Nature::FromServer => {}
    }
    Ok(draft)
}

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Nature {
    /// A `tools/call`.
    ToolCall,
    /// Another request or notification of the client.
    FromClient,
    /// A request or notification of the server: sampling, elicitation, roots, logs, changes.
    FromServer,
    /// An answer. Answers of clients to servers look the same; they are judged as strictly as those of servers.
    Answer,
}

impl Nature {
    fn of(table: &Table<'_>, message: Option<NodeId>, wrapping: Wrapping, method: Option<&str>) -> Self {
        match (method, message) {
            (Some("tools/call"), _) => Nature::ToolCall,
            (Some(method), _) if is_of_server(method) => Nature::FromServer,
            (Some(_), _) => Nature::FromClient,
            (None, Some(message)) if wrapping == Wrapping::Message => {
                let answers = ["result", "error"]
                    .iter()
                    .any(|name| table.member(message, name).is_some());
                if answers || table.member(message, "method").is_none() {
                    Nature::Answer
                } else {
                    Nature::FromClient
                }
            }
            (None, _) => Nature::FromClient,
        }
    }

    const fn kind(self) -> Kind {
        match self {
            Nature::ToolCall | Nature::FromClient => Kind::McpRequest,
            Nature::FromServer | Nature::Answer => Kind::McpResponse,
        }
    }

    const fn zone(self, wrapping: Wrapping) -> Zone {
        let (shape, origin) = match (self, wrapping) {
            (Nature::ToolCall, Wrapping::Message) => (McpShape::ToolCall, Origin::Agent),
            (Nature::ToolCall, Wrapping::BareParams) => (McpShape::CallParams, Origin::Agent),
            (Nature::FromClient, Wrapping::Message) => (McpShape::FromClient, Origin::Agent),
            (Nature::FromClient, Wrapping::BareParams) => (McpShape::Object, Origin::Agent),
            (Nature::FromServer | Nature::Answer, Wrapping::Message) => (McpShape::FromServer, Origin::ToolOutput),
            (Nature::FromServer | Nature::Answer, Wrapping::BareParams) => (McpShape::Object, Origin::ToolOutput),
        };
        Zone::new(Shape::Mcp(shape), origin, Place::Body)
    }
}

/// Methods that servers call. Everything else is a client's.
fn is_of_server(method: &str) -> bool {
    matches!(
        method,
        "sampling/createMessage"
            | "elicitation/create"
            | "roots/list"
            | "notifications/message"
            | "notifications/tools/list_changed"
            | "notifications/prompts/list_changed"
            | "notifications/resources/list_changed"
            | "notifications/resources/updated"
            | "notifications/progress"
            | "notifications/elicitation/complete"
            | "notifications/tasks/status"
    )
}

fn remark_method(
    request: Checked<'_, '_>,
    message: NodeId,
    method: Option<&str>,
    inner: Option<&str>,
    draft: &mut Draft,
) {
    let table = request.table;
    let Some(node) = table.member(message, "method") else {
        return;
    };
    if inner.is_some() && inner != method {
        draft.remark(
            request.pointer(node),
            "the method of the wrapped message is not the method of the request",
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

fn read_call(request: Checked<'_, '_>, message: NodeId, params: Option<NodeId>) -> Result<CallDraft, RpcError> {
    let Some(params) = params else {
        return Err(request.missing(message, "params", "an object (MCP params)"));
    };
    let tool_node = request.required(params, "name", "a string")?;
    request.expect(tool_node, json::Kind::String, "a string")?;
    let mut arguments = Vec::new();
    if let Some(given) = request.object(params, "arguments", "an object")? {
        let here = request.pointer(given);
        for value in request.table.children(given) {
            let name = request.table.key(value).unwrap_or_default();
            let mut pointer = here.clone();
            push_key(&mut pointer, &name);
            arguments.push(request.argument(name.into_owned(), pointer, Some(value)));
        }
    }
    Ok(CallDraft {
        tool: request.table.text(tool_node).unwrap_or_default().into_owned(),
        tool_node,
        arguments,
    })
}

/// The tools of a `tools/list` answer. One that has no name cannot be called and is left out.
fn read_announced(table: &Table<'_>, message: NodeId) -> Vec<Tool> {
    let tools = table
        .given(message, "result")
        .and_then(|result| table.given(result, "tools"));
    let Some(tools) = tools.filter(|tools| table.kind(*tools) == json::Kind::Array) else {
        return Vec::new();
    };
    let read = |tool| {
        let id = table.text_of(tool, "name")?.into_owned();
        Some(Tool {
            name: table.text_of(tool, "title").map_or_else(|| id.clone(), Cow::into_owned),
            id,
            description: table.text_of(tool, "description").map(Cow::into_owned),
            arguments: table
                .given(tool, "inputSchema")
                .and_then(|schema| aos::schema_arguments(table, schema)),
        })
    };
    table.children(tools).filter_map(read).collect()
}
