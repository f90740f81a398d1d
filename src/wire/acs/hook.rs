//! The hooks: which step of AOS each is judged as, and the fields that must be there.

use crate::model::{Agent, AgentId, FactKind, Kind, Method, Origin, Place, SessionId, UserId};
use crate::wire::aos::{AosShape, Context, Elsewhere, arguments_of};
use crate::wire::draft::{CallDraft, Checked, Draft};
use crate::wire::json::{self, NodeId, Table};
use crate::wire::jsonrpc::{Envelope, RpcError};
use crate::wire::mcp;
use crate::wire::zone::{Anchors, Shape, Zone};

use super::AcsShape;

macro_rules! hooks {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $method:ident, $kind:ident, $origin:ident;)+) => {
        /// A hook of an agent's life (5).
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Hook { $($(#[$doc])* $variant),+ }

        impl Hook {
            fn from_name(name: &str) -> Option<Self> {
                match name { $($name => Some(Hook::$variant),)+ _ => None }
            }

            /// What it is judged as, and whose words it carries.
            pub(super) const fn judged_as(self) -> (Method, Kind, Origin) {
                match self { $(Hook::$variant => (Method::$method, Kind::$kind, Origin::$origin)),+ }
            }
        }
    };
}

hooks! {
    /// A session begins.
    SessionStart = "sessionStart", AgentTrigger, Trigger, Trigger;
    /// Something activates the agent.
    AgentTrigger = "agentTrigger", AgentTrigger, Trigger, Trigger;
    /// A turn begins.
    TurnStart = "turnStart", AgentTrigger, Trigger, Trigger;
    /// The user said something.
    UserMessage = "userMessage", Message, UserMessage, User;
    /// The agent is about to say something.
    AgentResponse = "agentResponse", Message, AgentMessage, Agent;
    /// Documents were retrieved.
    KnowledgeRetrieval = "knowledgeRetrieval", KnowledgeRetrieval, Knowledge, Knowledge;
    /// Something was remembered.
    MemoryContextRetrieval = "memoryContextRetrieval", MemoryContextRetrieval, MemoryRetrieval, Memory;
    /// Something is about to be remembered.
    MemoryStore = "memoryStore", MemoryStore, MemoryStore, Memory;
    /// A tool is about to be called.
    ToolCallRequest = "toolCallRequest", ToolCallRequest, ToolCall, ToolArguments;
    /// A tool has answered.
    ToolCallResult = "toolCallResult", ToolCallResult, ToolResult, ToolOutput;
    /// The context is about to be summed up.
    PreCompact = "preCompact", AgentTrigger, Trigger, Trigger;
    /// The context was summed up.
    PostCompact = "postCompact", MemoryContextRetrieval, MemoryRetrieval, Memory;
    /// An agent inside the agent is about to begin.
    SubagentStart = "subagentStart", AgentTrigger, Trigger, Trigger;
    /// An agent inside the agent has ended.
    SubagentStop = "subagentStop", MemoryContextRetrieval, MemoryRetrieval, Memory;
    /// A skill is about to be made available.
    SkillRegister = "skillRegister", KnowledgeRetrieval, Knowledge, ToolDescription;
    /// A skill is about to be loaded.
    SkillLoad = "skillLoad", KnowledgeRetrieval, Knowledge, ToolDescription;
    /// A skill was taken away.
    SkillUnload = "skillUnload", AgentTrigger, Trigger, Trigger;
    /// A turn has ended.
    TurnEnd = "turnEnd", AgentTrigger, Trigger, Trigger;
    /// A session has ended.
    SessionEnd = "sessionEnd", AgentTrigger, Trigger, Trigger;
}

/// What may be decided at a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decides {
    /// Everything.
    Everything,
    /// It has happened already: nothing can be denied, but what it says can be changed.
    Changes,
    /// It has happened already: it is only recorded.
    Nothing,
}

impl Hook {
    /// What may be decided at it.
    pub(crate) const fn decides(self) -> Decides {
        match self {
            Hook::PostCompact => Decides::Changes,
            Hook::SubagentStop | Hook::SkillUnload | Hook::TurnEnd | Hook::SessionEnd => Decides::Nothing,
            Hook::SessionStart
            | Hook::AgentTrigger
            | Hook::TurnStart
            | Hook::UserMessage
            | Hook::AgentResponse
            | Hook::KnowledgeRetrieval
            | Hook::MemoryContextRetrieval
            | Hook::MemoryStore
            | Hook::ToolCallRequest
            | Hook::ToolCallResult
            | Hook::PreCompact
            | Hook::SubagentStart
            | Hook::SkillRegister
            | Hook::SkillLoad => Decides::Everything,
        }
    }

    /// Whether it marks a point in an agent's life, and carries nobody's words but where somebody adds some.
    pub(crate) const fn is_mark(self) -> bool {
        matches!(
            self,
            Hook::SessionStart
                | Hook::TurnStart
                | Hook::PreCompact
                | Hook::SubagentStart
                | Hook::SkillLoad
                | Hook::SkillUnload
                | Hook::TurnEnd
                | Hook::SessionEnd
        )
    }
}

/// What a method's name means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    /// `handshake/hello`.
    Hello,
    /// `system/ping`.
    Ping,
    /// `steps/…`.
    Hook(Hook),
    /// A message of MCP: how many bytes of the name stand before its own method.
    Mcp(usize),
}

/// The meaning of a method's name; `None` where there is no such method.
pub(super) fn named(name: &str) -> Option<Named> {
    let mcp = |inner: &str| (!inner.is_empty()).then(|| Named::Mcp(name.len() - inner.len()));
    if let Some(inner) = name.strip_prefix("protocols/MCP/") {
        return mcp(inner);
    }
    if let Some((_, inner)) = name.strip_prefix("wrapped:mcp-").and_then(|rest| rest.split_once('/')) {
        return mcp(inner);
    }
    match name {
        "handshake/hello" => Some(Named::Hello),
        "system/ping" => Some(Named::Ping),
        name => Some(Named::Hook(Hook::from_name(name.strip_prefix("steps/")?)?)),
    }
}

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

/// A list, one thing of it, or a text; nothing else can be read.
fn list_or_text(request: Checked<'_, '_>, payload: NodeId, name: &str) -> Result<(), RpcError> {
    match request.table.given(payload, name) {
        Some(node) if matches!(request.table.kind(node), json::Kind::Number | json::Kind::Bool) => {
            Err(request.wrong(node, PARTS))
        }
        Some(_) | None => Ok(()),
    }
}

/// The tool and its arguments: `arguments` by their names, each in a `value` or as it is, and whatever else stands there.
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

/// What stands around a payload.
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

    /// Says whose words stand around the payload: nobody's that could instruct anyone.
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
