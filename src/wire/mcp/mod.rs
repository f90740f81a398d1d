//! MCP: finding the message in a request, telling requests from answers, and reading tool calls and tool lists.

mod call;
mod shape;

use std::borrow::Cow;

use crate::model::{FactKind, Kind, Origin, Place, Tool};
use crate::wire::aos::{self, Context, End, Likely, Side};
use crate::wire::draft::{Checked, Draft};
use crate::wire::json::{self, NodeId, Table};
use crate::wire::jsonrpc::{Envelope, RpcError};
use crate::wire::leniency::Leniency;
use crate::wire::wrapping::{self, Found, Wrapping};
use crate::wire::zone::{Anchors, Shape, Zone};

pub(super) use shape::McpShape;

/// Reads a request that carries an MCP message.
///
/// # Errors
///
/// `-32602` when there is no message, when it is neither a request nor an answer, or when a field that we rely on has another type
/// than MCP gives it.
pub(super) fn read(table: &Table<'_>, envelope: &Envelope<'_>, inner: Option<&str>) -> Result<Draft, RpcError> {
    let request = Checked {
        table,
        root: envelope.root,
    };
    let found = wrapping::find(request, envelope, |node| {
        inner.is_none() || wrapping::is_rpc(request, node)
    })?;
    let (message, wrapping) = message_of(request, &found, inner)?;
    let wrapped = message.filter(|_| wrapping == Wrapping::Message);
    let own_method = match wrapped {
        Some(message) => request.string(message, "method")?,
        None => None,
    };
    let answers = wrapped.is_some_and(|message| has_answer(table, message));
    let method = own_method.as_deref().or(inner.filter(|_| !answers));
    let nature = match (method, inner) {
        (Some(_), _) if calls(own_method.as_deref(), inner, answers) => Nature::ToolCall,
        (Some(method), _) => Nature::of_method(method),
        (None, _) => Nature::Answer,
    };
    let mut anchors = Anchors::default();
    found.anchor_surroundings(&mut anchors);
    let context = match found.context {
        Some(context) => aos::read_context(table, envelope.root, context, LIKELY, &mut anchors)?,
        None => Context::default(),
    };
    if let Some(message) = message {
        anchors.set(message, nature.zone(wrapping));
    }
    let mut draft = Draft::new(nature.kind(), context, anchors);
    found.remark(request, &mut draft);
    let Some(message) = message else { return Ok(draft) };
    remark_method(request, message, own_method.as_deref(), inner, &mut draft);
    if wrapped.is_some() && own_method.is_none() && method.is_some() {
        draft.lenient(request.pointer(message), Leniency::MethodOfEnvelope);
    }
    if let Some(method) = method {
        draft.fact(FactKind::McpMethod, method);
    }
    draft.ties.call = wrapping::message_id(table, message, wrapping);
    let params = match wrapping {
        Wrapping::BareParams => Some(message),
        Wrapping::Message => request.object(message, "params", "an object (MCP params)")?,
    };
    if let Some(params) = params {
        draft.fact_of(table, params, "includeContext", FactKind::IncludeContext);
    }
    match nature {
        Nature::ToolCall => draft.tool_call = Some(call::read(request, message, params, wrapping, &mut draft.remarks)?),
        Nature::Answer => draft.announced_tools = read_announced(table, message),
        Nature::FromClient | Nature::FromServer => {}
        Nature::FromEither => draft.lenient(request.pointer(message), Leniency::UnknownDirection),
    }
    Ok(draft)
}

/// Messages of MCP go between the agent and a server, not between two agents.
const LIKELY: Likely = Likely {
    side: Side::Client,
    end: End::From,
};

/// Returns the message, and whether it is one or the parameters of one.
fn message_of(
    request: Checked<'_, '_>,
    found: &Found,
    inner: Option<&str>,
) -> Result<(Option<NodeId>, Wrapping), RpcError> {
    const EXPECTED: &str = "an object (the MCP message)";
    let message = match (found.message, found.wrapping, inner) {
        (Some(message), Wrapping::Message, _) => message,
        // `protocols/MCP/tools/call` with the parameters of `tools/call`.
        (params, Wrapping::BareParams, Some(_)) => return Ok((params, Wrapping::BareParams)),
        (_, _, None) | (None, Wrapping::Message, Some(_)) => {
            return Err(RpcError::invalid_params("/params/message", EXPECTED, "nothing"));
        }
    };
    if has_answer(request.table, message) || request.table.given(message, "method").is_some() {
        return Ok((Some(message), Wrapping::Message));
    }
    match inner {
        // The same parameters, wrapped; or a message that leaves its method to the name of the request.
        Some(_) if request.table.given(message, "params").is_some() => Ok((Some(message), Wrapping::Message)),
        Some(_) => Ok((Some(message), Wrapping::BareParams)),
        None => {
            let pointer = format!("{}/method", request.pointer(message));
            let expected = "a string, or a `result` or an `error` beside it";
            Err(RpcError::invalid_params(pointer, expected, "none of them"))
        }
    }
}

fn has_answer(table: &Table<'_>, message: NodeId) -> bool {
    ["result", "error"]
        .iter()
        .any(|name| table.member(message, name).is_some())
}

/// Returns `true` if a message is a call of a tool: by its own method, or by the name of the request.
fn calls(own_method: Option<&str>, inner: Option<&str>, answers: bool) -> bool {
    const CALL: Option<&str> = Some("tools/call");
    own_method == CALL || inner == CALL && (own_method.is_some() || !answers)
}

/// The nature of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Nature {
    /// A `tools/call`.
    ToolCall,
    /// Another request or notification of the client.
    FromClient,
    /// A request or notification of the server: sampling, elicitation, roots, logs, changes.
    FromServer,
    /// A request or notification that either may send, or that is in no list. It may go out, and it may be another's words: it is
    /// looked at like what goes out, and has no authority.
    FromEither,
    /// An answer. Answers of clients to servers look the same; they are judged as strictly as those of servers.
    Answer,
}

impl Nature {
    fn of_method(method: &str) -> Self {
        match method {
            "tools/call" => Nature::ToolCall,
            "initialize"
            | "server/discover"
            | "resources/list"
            | "resources/templates/list"
            | "resources/read"
            | "resources/subscribe"
            | "resources/unsubscribe"
            | "subscriptions/listen"
            | "prompts/list"
            | "prompts/get"
            | "tools/list"
            | "logging/setLevel"
            | "completion/complete"
            | "notifications/initialized"
            | "notifications/roots/list_changed" => Nature::FromClient,
            "sampling/createMessage"
            | "elicitation/create"
            | "roots/list"
            | "notifications/message"
            | "notifications/tools/list_changed"
            | "notifications/prompts/list_changed"
            | "notifications/resources/list_changed"
            | "notifications/resources/updated"
            | "notifications/subscriptions/acknowledged"
            | "notifications/progress"
            | "notifications/elicitation/complete"
            | "notifications/tasks/status" => Nature::FromServer,
            _ => Nature::FromEither,
        }
    }

    const fn kind(self) -> Kind {
        match self {
            Nature::ToolCall | Nature::FromClient | Nature::FromEither => Kind::McpRequest,
            Nature::FromServer | Nature::Answer => Kind::McpResponse,
        }
    }

    const fn zone(self, wrapping: Wrapping) -> Zone {
        let (shape, origin) = match (self, wrapping) {
            (Nature::ToolCall, Wrapping::Message) => (McpShape::ToolCall, Origin::Agent),
            (Nature::ToolCall, Wrapping::BareParams) => (McpShape::CallParams, Origin::Agent),
            (Nature::FromClient, Wrapping::Message) => (McpShape::FromClient, Origin::Agent),
            (Nature::FromClient, Wrapping::BareParams) => (McpShape::Object, Origin::Agent),
            (_, Wrapping::Message) => (McpShape::FromServer, Origin::ToolOutput),
            (_, Wrapping::BareParams) => (McpShape::Object, Origin::ToolOutput),
        };
        Zone::new(Shape::Mcp(shape), origin, Place::Body)
    }
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

/// Reads the tools of a `tools/list` answer. One that has no name cannot be called and is left out.
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
