//! The `steps/*` methods: the fields that must be there, and the kind of step of each method.

use crate::model::{FactKind, Kind, Method, Origin, Place};
use crate::wire::draft::{Checked, Draft};
use crate::wire::json::{self, NodeId, Table};
use crate::wire::jsonrpc::{Envelope, RpcError};
use crate::wire::leniency::Leniency;
use crate::wire::zone::{Anchors, Shape, Zone};

use super::parties::{End, Likely, Side};
use super::{AosShape, call, context};

/// Only messages between agents have an agent on either side.
const LIKELY: Likely = Likely {
    side: Side::Client,
    end: End::From,
};

/// Members that a step can do without, by the object that they belong into: a misspelt one is told.
const OF_PARAMS: &[(&str, Leniency)] = &[("reasoning", Leniency::MisspeltMember)];
const OF_CALL: &[(&str, Leniency)] = &[("executionId", Leniency::MisspeltMember)];
const OF_KNOWLEDGE: &[(&str, Leniency)] = &[
    ("query", Leniency::MisspeltMember),
    ("keywords", Leniency::MisspeltMember),
    ("results", Leniency::MisspeltMember),
];
const OF_TRIGGER: &[(&str, Leniency)] = &[("type", Leniency::MisspeltMember), ("event", Leniency::MisspeltMember)];
const OF_RESULT: &[(&str, Leniency)] = &[
    ("outputs", Leniency::MisspeltMember),
    ("isError", Leniency::MisspeltMember),
];

/// Reads a `steps/*` request.
///
/// # Errors
///
/// `-32602` when a field that the method cannot do without is missing or of another type.
pub(in crate::wire) fn read(table: &Table<'_>, envelope: &Envelope<'_>, method: Method) -> Result<Draft, RpcError> {
    let request = Checked {
        table,
        root: envelope.root,
    };
    let params = envelope
        .params
        .ok_or_else(|| request.missing(envelope.root, "params", "an object"))?;
    let mut anchors = Anchors::default();
    let shape = Shape::Aos(AosShape::Params(method));
    anchors.set(params, Zone::new(shape, Origin::Unknown, Place::Body));
    let node = request.required_object(params, "context", "an object (StepContext)")?;
    let context = context::read(table, envelope.root, node, LIKELY, &mut anchors)?;
    let mut draft = Draft::new(Kind::UserMessage, context, anchors);
    if draft.agent.is_none() {
        draft.lenient(request.pointer(node), Leniency::ContextWithoutAgent);
    }
    request.note_misspelt(params, OF_PARAMS, &mut draft.remarks);
    draft.kind = match method {
        Method::AgentTrigger => read_trigger(request, params, &mut draft)?,
        Method::KnowledgeRetrieval => read_knowledge(request, params, &mut draft)?,
        Method::MemoryStore => read_memory(request, params, Kind::MemoryStore, &mut draft)?,
        Method::MemoryContextRetrieval => read_memory(request, params, Kind::MemoryRetrieval, &mut draft)?,
        Method::Message => read_message(request, params, &mut draft)?,
        Method::ToolCallRequest => {
            draft.tool_call = Some(call::read(request, params, &mut draft.remarks)?);
            if let Some(call) = table.given(params, "toolCallRequest") {
                request.note_misspelt(call, OF_CALL, &mut draft.remarks);
            }
            draft.ties.call = execution_id(table, [Some(params), table.given(params, "toolCallRequest")]);
            Kind::ToolCall
        }
        Method::ToolCallResult => read_outcome(request, params, &mut draft)?,
        other => return Err(RpcError::method_not_found(other.as_str())),
    };
    Ok(draft)
}

fn read_trigger(request: Checked<'_, '_>, params: NodeId, draft: &mut Draft) -> Result<Kind, RpcError> {
    let trigger = request.required_object(params, "trigger", "an object (AgentTrigger)")?;
    let event = request.object(trigger, "event", "an object (AgentTriggerEvent)")?;
    request.note_misspelt(trigger, OF_TRIGGER, &mut draft.remarks);
    let table = request.table;
    draft.fact_of(table, trigger, "type", FactKind::TriggerType);
    let metadata = table.given(trigger, "metadata");
    if let Some(event) = event {
        draft.fact_of(table, event, "type", FactKind::TriggerEvent);
    }
    for holder in [Some(trigger), event, metadata].into_iter().flatten() {
        for name in ["schedule", "cron", "interval", "recurrence"] {
            draft.fact_of(table, holder, name, FactKind::Schedule);
        }
    }
    if let Some(content) = request.table.given(trigger, "content") {
        check_parts(request, content, draft)?;
    }
    Ok(Kind::Trigger)
}

fn read_knowledge(request: Checked<'_, '_>, params: NodeId, draft: &mut Draft) -> Result<Kind, RpcError> {
    let expected = "an object (KnowledgeRetrievalStepParams)";
    let knowledge = request.required_object(params, "knowledgeStep", expected)?;
    request.note_misspelt(knowledge, OF_KNOWLEDGE, &mut draft.remarks);
    if let Some(results) = request.table.given(knowledge, "results") {
        let expected = "an array of KnowledgeRetrievalResult";
        for result in request.items(results, expected, &mut draft.remarks)? {
            draft.fact_of(request.table, result, "id", FactKind::KnowledgeId);
        }
    }
    Ok(Kind::Knowledge)
}

fn read_memory(request: Checked<'_, '_>, params: NodeId, kind: Kind, draft: &mut Draft) -> Result<Kind, RpcError> {
    const EXPECTED: &str = "a string, or an array of strings or objects";
    let memory = request.required(params, "memory", EXPECTED)?;
    if request.table.kind(memory) == json::Kind::String {
        return Ok(kind);
    }
    let is_memory = |node: &NodeId| {
        matches!(
            request.table.kind(*node),
            json::Kind::String | json::Kind::Object | json::Kind::Array | json::Kind::Null
        )
    };
    let items = request.items(memory, EXPECTED, &mut draft.remarks)?;
    for item in &items {
        draft.fact_of(request.table, *item, "id", FactKind::MemoryId);
    }
    match items.into_iter().find(|node| !is_memory(node)) {
        Some(odd) => Err(request.wrong(odd, "a string or an object")),
        None => Ok(kind),
    }
}

fn read_message(request: Checked<'_, '_>, params: NodeId, draft: &mut Draft) -> Result<Kind, RpcError> {
    const ROLES: &str = "`user`, `agent` or `system`";
    const PARTS: &str = "an array of parts";
    let message = request.required_object(params, "message", "an object (Message)")?;
    let role = request.required(message, "role", ROLES)?;
    let content = request.table.member(message, "content");
    check_parts(
        request,
        content.ok_or_else(|| request.missing(message, "content", PARTS))?,
        draft,
    )?;
    match request.table.text(role).as_deref() {
        Some("user") => Ok(Kind::UserMessage),
        Some("agent") => Ok(Kind::AgentMessage),
        Some("assistant") => {
            draft.lenient(request.pointer(role), Leniency::RoleAssistant);
            Ok(Kind::AgentMessage)
        }
        Some("system") => Ok(Kind::SystemMessage),
        Some(_) => Err(RpcError::invalid_params(request.pointer(role), ROLES, "another role")),
        None => Err(request.wrong(role, ROLES)),
    }
}

/// Checks parts: an array of objects or strings; one string or one part alone is understood.
fn check_parts(request: Checked<'_, '_>, content: NodeId, draft: &mut Draft) -> Result<(), RpcError> {
    let table = request.table;
    match table.kind(content) {
        json::Kind::String => Ok(()),
        json::Kind::Object => {
            draft.lenient(request.pointer(content), Leniency::SingleForList);
            Ok(())
        }
        json::Kind::Null => {
            draft.lenient(request.pointer(content), Leniency::NullContent);
            Ok(())
        }
        json::Kind::Array => {
            let is_part = |node: &NodeId| matches!(table.kind(*node), json::Kind::Object | json::Kind::String);
            match table.children(content).find(|node| !is_part(node)) {
                Some(odd) => Err(request.wrong(odd, "a part")),
                None => Ok(()),
            }
        }
        _ => Err(request.wrong(content, "an array of parts")),
    }
}

/// Reads `result` beside `executionId`, or both nested in `toolCallResult`. A result may be its outputs alone.
fn read_outcome(request: Checked<'_, '_>, params: NodeId, draft: &mut Draft) -> Result<Kind, RpcError> {
    let nested = request.object(params, "toolCallResult", "an object (ToolCallResult)")?;
    let direct = request.table.given(params, "result");
    if let (Some(nested), Some(_)) = (nested, direct) {
        draft.remark(request.pointer(nested), "the step carries two results");
    }
    let inner = nested.and_then(|nested| request.table.given(nested, "result"));
    if direct.or(nested).is_none() {
        return Err(request.missing(params, "result", "an object (ToolCallResult)"));
    }
    draft.ties.call = execution_id(request.table, [Some(params), nested]);
    for result in [direct, nested, inner].into_iter().flatten() {
        check_result(request, result, draft)?;
    }
    Ok(Kind::ToolResult)
}

fn check_result(request: Checked<'_, '_>, result: NodeId, draft: &mut Draft) -> Result<(), RpcError> {
    match request.table.kind(result) {
        json::Kind::Object => match request.table.given(result, "outputs") {
            Some(outputs) => check_outputs(request, outputs, draft),
            None => {
                request.note_misspelt(result, OF_RESULT, &mut draft.remarks);
                Ok(())
            }
        },
        json::Kind::String | json::Kind::Array => {
            draft.lenient(request.pointer(result), Leniency::BareResult);
            Ok(())
        }
        _ => Err(request.wrong(result, "an object (ToolCallResult)")),
    }
}

/// Returns the id that a call shares with its answer.
fn execution_id(table: &Table<'_>, holders: [Option<NodeId>; 2]) -> Option<String> {
    let mut holders = holders.into_iter().flatten();
    holders.find_map(|holder| {
        let id = table.given(holder, "executionId")?;
        match table.kind(id) {
            json::Kind::Number => Some(table.raw(id).to_owned()),
            _ => table.text(id).map(|id| id.into_owned()),
        }
    })
}

fn check_outputs(request: Checked<'_, '_>, outputs: NodeId, draft: &mut Draft) -> Result<(), RpcError> {
    match request.table.kind(outputs) {
        json::Kind::String | json::Kind::Array => Ok(()),
        json::Kind::Object => {
            draft.lenient(request.pointer(outputs), Leniency::SingleForList);
            Ok(())
        }
        _ => Err(request.wrong(outputs, "an array of parts or strings")),
    }
}
