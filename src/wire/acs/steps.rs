//! The payload of a hook: the fields that must be there, and the origin of their words.

use crate::model::{Agent, AgentId, FactKind, Kind, Method, Origin, Place, SessionId, UserId};
use crate::wire::aos::{AosShape, Context, Elsewhere, arguments_of};
use crate::wire::draft::{CallDraft, Checked, Draft};
use crate::wire::json::{self, NodeId, Table};
use crate::wire::jsonrpc::{Envelope, RpcError};
use crate::wire::mcp;
use crate::wire::zone::{Anchors, Shape, Zone};

use super::{AcsShape, Hook};

/// Members of a tool call's payload that are no arguments.
const OF_CALL: &[&str] = &[
    "tool",
    "operation",
    "capability",
    "arguments",
    "raw_command",
    "intent",
    "reasoning",
    "agent_reasoning",
    "execution_id",
    "provenance",
];

/// Members of a tool that identify it.
const OF_TOOL: &[&str] = &["name", "version", "provider", "provenance"];

/// Reads a hook.
pub(super) fn draft(table: &Table<'_>, envelope: &Envelope<'_>, hook: Hook) -> Result<(Method, Draft), RpcError> {
    let around = Around::read(table, envelope)?;
    let (request, payload) = (around.request, around.payload);
    let (method, kind, origin) = hook.judged_as();
    let mut anchors = Anchors::default();
    around.anchor(&mut anchors);
    anchors.set(
        payload,
        Zone::new(Shape::Acs(AcsShape::Payload(hook)), origin, Place::Body),
    );
    let mut draft = Draft::new(kind, Context::default(), anchors);
    around.fill(&mut draft)?;
    match hook {
        Hook::ToolCallRequest => read_call(request, payload, &mut draft)?,
        Hook::ToolCallResult => {
            let named = |name| table.text_of(payload, name).map(|id| id.into_owned());
            draft.ties.call = named("request_id_ref").or_else(|| named("execution_id"));
            list_or_text(request, payload, "outputs")?;
        }
        Hook::UserMessage | Hook::AgentResponse => {
            request.required(payload, "content", PARTS)?;
            list_or_text(request, payload, "content")?;
        }
        Hook::AgentTrigger => draft.fact_of(table, payload, "trigger_type", FactKind::TriggerType),
        Hook::KnowledgeRetrieval | Hook::MemoryContextRetrieval => {
            request.required(payload, "results", "an array")?;
            list_or_text(request, payload, "results")?;
        }
        Hook::MemoryStore => {
            request.required(payload, "content", "an object with a `value`")?;
        }
        _ => {}
    }
    Ok((method, draft))
}

const PARTS: &str = "an array of `{type, value}`";

/// Expects a list, one item of it, or a text; nothing else can be read.
fn list_or_text(request: Checked<'_, '_>, payload: NodeId, name: &str) -> Result<(), RpcError> {
    match request.table.given(payload, name) {
        Some(node) if matches!(request.table.kind(node), json::Kind::Number | json::Kind::Bool) => {
            Err(request.wrong(node, PARTS))
        }
        Some(_) | None => Ok(()),
    }
}

/// Reads the tool and its arguments: `arguments` by their names, each in a `value` or as it is, and all other members.
fn read_call(request: Checked<'_, '_>, payload: NodeId, draft: &mut Draft) -> Result<(), RpcError> {
    let table = request.table;
    let tool = request.required(payload, "tool", "an object with the tool's `name`")?;
    let tool_node = match table.kind(tool) {
        json::Kind::Object => request.required(tool, "name", "a string")?,
        _ => tool,
    };
    request.expect(tool_node, json::Kind::String, "a string")?;
    let mut arguments = Vec::new();
    if let Some(given) = table.given(payload, "arguments") {
        match table.kind(given) {
            json::Kind::Object => {
                for member in table.children(given) {
                    let value = table.member(member, "value").unwrap_or(member);
                    if let Some(provenance) = table.given(member, "provenance").filter(|_| value != member) {
                        draft.anchors.set(provenance, aside());
                    }
                    let name = table.key(member).unwrap_or_default().into_owned();
                    arguments.push(request.argument(name, request.pointer(value), Some(value)));
                }
            }
            json::Kind::String | json::Kind::Array => arguments.extend(arguments_of(request, given)),
            _ => return Err(request.wrong(given, "an object of `{value}` by the names of arguments")),
        }
    }
    if let Some(command) = table.given(payload, "raw_command") {
        arguments.push(request.argument("raw_command".to_owned(), request.pointer(command), Some(command)));
    }
    let remarks = &mut draft.remarks;
    Elsewhere { request, remarks }.read(payload, OF_CALL, &mut arguments);
    if table.kind(tool) == json::Kind::Object {
        let remarks = &mut draft.remarks;
        Elsewhere { request, remarks }.read(tool, OF_TOOL, &mut arguments);
    }
    draft.tool_call = Some(CallDraft {
        tool: table.text(tool_node).unwrap_or_default().into_owned(),
        tool_node,
        arguments,
    });
    Ok(())
}

/// Reads a wrapped MCP message: whole in `payload`, its parameters there, or a tool call as ACS spells it.
pub(super) fn draft_mcp(
    table: &Table<'_>,
    envelope: &Envelope<'_>,
    before: usize,
) -> Result<(Method, Draft), RpcError> {
    let around = Around::read(table, envelope)?;
    let inner = envelope.method.get(before..);
    if inner == Some("tools/call") && table.given(around.payload, "tool").is_some() {
        return draft(table, envelope, Hook::ToolCallRequest);
    }
    let mut draft = mcp::read(table, envelope, inner)?;
    around.anchor(&mut draft.anchors);
    around.fill(&mut draft)?;
    Ok((Method::ProtocolsMcp, draft))
}

const fn aside() -> Zone {
    Zone::new(Shape::Free, Origin::Unknown, Place::Surroundings)
}

/// The members around a payload.
struct Around<'t, 'j> {
    request: Checked<'t, 'j>,
    params: NodeId,
    metadata: NodeId,
    payload: NodeId,
}

impl<'t, 'j> Around<'t, 'j> {
    fn read(table: &'t Table<'j>, envelope: &Envelope<'_>) -> Result<Self, RpcError> {
        let request = Checked {
            table,
            root: envelope.root,
        };
        let params = request.required_object(envelope.root, "params", "an object")?;
        Ok(Self {
            request,
            params,
            metadata: request.required_object(params, "metadata", "an object")?,
            payload: request.required_object(params, "payload", "an object")?,
        })
    }

    /// Sets the origin of the words around the payload: an unknown one, so that they cannot instruct the agent.
    fn anchor(&self, anchors: &mut Anchors) {
        let table = self.request.table;
        let unknown = |shape, place| Zone::new(shape, Origin::Unknown, place);
        anchors.set(self.params, unknown(Shape::Aos(AosShape::Wrapper), Place::Body));
        for member in table.children(self.params) {
            let shape = match table.key(member).as_deref() {
                // Checked with the envelope: short texts that say nothing.
                Some("acs_version" | "request_id" | "timestamp" | "nonce") => Shape::Nothing,
                Some("tenant_id") => Shape::Free,
                Some("metadata") => Shape::Acs(AcsShape::Metadata),
                Some("signature") => Shape::Acs(AcsShape::Signature),
                _ => continue,
            };
            anchors.set(member, unknown(shape, Place::Surroundings));
        }
    }

    /// Notes agent, session, user and ids.
    fn fill(&self, draft: &mut Draft) -> Result<(), RpcError> {
        let (table, metadata) = (self.request.table, self.metadata);
        let text = |object, name| table.text_of(object, name).map(|text| text.into_owned());
        let id = self.request.required(metadata, "agent_id", "a string")?;
        draft.agent = Some(Agent {
            id: table.text(id).map(|id| AgentId::new(id.into_owned())),
            name: text(metadata, "agent_name"),
            tools: Vec::new(),
        });
        draft.session = text(metadata, "session_id").map(SessionId::new);
        if let Some(user) = table.given(metadata, "user_context") {
            let names = ["user_id", "id", "subject"];
            draft.user = names.iter().find_map(|name| text(user, name)).map(UserId::new);
        }
        draft.ties.step = text(self.params, "request_id");
        draft.ties.turn = text(metadata, "turn_id");
        if draft.kind == Kind::ToolCall {
            draft.ties.call = draft.ties.step.clone();
        }
        Ok(())
    }
}
