//! The `steps/*` methods: the fields that must be there, and what a step of each method is.

use crate::model::{Argument, Kind, Method, Origin, Place};
use crate::wire::draft::{CallDraft, Checked, Draft};
use crate::wire::json::{self, NodeId, Table};
use crate::wire::jsonrpc::{Envelope, RpcError};
use crate::wire::zone::{Anchors, Shape, Zone};

use super::AosShape;
use super::context;

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
    let shape = Shape::Aos(AosShape::Params);
    anchors.set(params, Zone::new(shape, Origin::Unknown, Place::Body));
    let context = request.required_object(params, "context", "an object (StepContext)")?;
    request.required_object(context, "agent", "an object (Agent)")?;
    let context = context::read(table, envelope.root, context, &mut anchors)?;
    let mut draft = Draft::new(Kind::UserMessage, context, anchors);
    draft.kind = match method {
        Method::AgentTrigger => read_trigger(request, params)?,
        Method::KnowledgeRetrieval => read_knowledge(request, params)?,
        Method::MemoryStore => read_memory(request, params, Kind::MemoryStore)?,
        Method::MemoryContextRetrieval => read_memory(request, params, Kind::MemoryRetrieval)?,
        Method::Message => read_message(request, params)?,
        Method::ToolCallRequest => {
            draft.tool_call = Some(read_call(request, params)?);
            draft.ties.call = execution_id(table, [Some(params), table.given(params, "toolCallRequest")]);
            Kind::ToolCall
        }
        Method::ToolCallResult => read_outcome(request, params, &mut draft)?,
        other => return Err(RpcError::method_not_found(other.as_str())),
    };
    Ok(draft)
}

fn read_trigger(request: Checked<'_, '_>, params: NodeId) -> Result<Kind, RpcError> {
    let trigger = request.required_object(params, "trigger", "an object (AgentTrigger)")?;
    request.object(trigger, "event", "an object (AgentTriggerEvent)")?;
    if let Some(content) = request.table.given(trigger, "content") {
        check_parts(request, content)?;
    }
    Ok(Kind::Trigger)
}

fn read_knowledge(request: Checked<'_, '_>, params: NodeId) -> Result<Kind, RpcError> {
    let expected = "an object (KnowledgeRetrievalStepParams)";
    let knowledge = request.required_object(params, "knowledgeStep", expected)?;
    if let Some(results) = request.table.given(knowledge, "results") {
        request.expect(results, json::Kind::Array, "an array of KnowledgeRetrievalResult")?;
    }
    Ok(Kind::Knowledge)
}

fn read_memory(request: Checked<'_, '_>, params: NodeId, kind: Kind) -> Result<Kind, RpcError> {
    const EXPECTED: &str = "a string, or an array of strings or objects";
    let memory = request.required(params, "memory", EXPECTED)?;
    match request.table.kind(memory) {
        json::Kind::String => Ok(kind),
        json::Kind::Array => {
            let is_memory = |node: &NodeId| {
                matches!(
                    request.table.kind(*node),
                    json::Kind::String | json::Kind::Object | json::Kind::Array | json::Kind::Null
                )
            };
            match request.table.children(memory).find(|node| !is_memory(node)) {
                Some(odd) => Err(request.wrong(odd, "a string or an object")),
                None => Ok(kind),
            }
        }
        _ => Err(request.wrong(memory, EXPECTED)),
    }
}

fn read_message(request: Checked<'_, '_>, params: NodeId) -> Result<Kind, RpcError> {
    const ROLES: &str = "`user`, `agent` or `system`";
    let message = request.required_object(params, "message", "an object (Message)")?;
    let role = request.required(message, "role", ROLES)?;
    let content = request.required(message, "content", "an array of parts")?;
    check_parts(request, content)?;
    match request.table.text(role).as_deref() {
        Some("user") => Ok(Kind::UserMessage),
        Some("agent") => Ok(Kind::AgentMessage),
        Some("system") => Ok(Kind::SystemMessage),
        Some(_) => Err(RpcError::invalid_params(request.pointer(role), ROLES, "another role")),
        None => Err(request.wrong(role, ROLES)),
    }
}

/// Parts are an array of objects or strings; one string or one part alone is understood.
fn check_parts(request: Checked<'_, '_>, content: NodeId) -> Result<(), RpcError> {
    let table = request.table;
    match table.kind(content) {
        json::Kind::String | json::Kind::Object => Ok(()),
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

fn read_call(request: Checked<'_, '_>, params: NodeId) -> Result<CallDraft, RpcError> {
    let call = request.required_object(params, "toolCallRequest", "an object (ToolCallRequest)")?;
    let tool_node = request.required(call, "toolId", "a string")?;
    request.expect(tool_node, json::Kind::String, "a string")?;
    let arguments = match request.table.given(call, "inputs") {
        Some(inputs) => read_inputs(request, inputs)?,
        None => Vec::new(),
    };
    Ok(CallDraft {
        tool: request.table.text(tool_node).unwrap_or_default().into_owned(),
        tool_node,
        arguments,
    })
}

fn read_inputs(request: Checked<'_, '_>, inputs: NodeId) -> Result<Vec<Argument>, RpcError> {
    request.expect(inputs, json::Kind::Array, "an array of ToolArgumentValue")?;
    let here = request.pointer(inputs);
    let mut arguments = Vec::new();
    for (index, input) in request.table.children(inputs).enumerate() {
        request.expect(input, json::Kind::Object, "an object (ToolArgumentValue)")?;
        let name = match request.string(input, "name")? {
            Some(name) => name,
            None => request.string(input, "id")?.unwrap_or_default(),
        };
        let mut pointer = here.clone();
        json::push_index(&mut pointer, index);
        json::push_key(&mut pointer, "value");
        arguments.push(request.argument(name, pointer, request.table.member(input, "value")));
    }
    Ok(arguments)
}

/// `result` beside `executionId`, or both nested in `toolCallResult`.
fn read_outcome(request: Checked<'_, '_>, params: NodeId, draft: &mut Draft) -> Result<Kind, RpcError> {
    let nested = request.object(params, "toolCallResult", "an object (ToolCallResult)")?;
    let direct = request.object(params, "result", "an object (ToolCallResult)")?;
    if let (Some(nested), Some(_)) = (nested, direct) {
        draft.remark(request.pointer(nested), "the step carries two results");
    }
    let inner = match nested {
        Some(nested) => request.object(nested, "result", "an object (ToolCallResult)")?,
        None => None,
    };
    if direct.or(nested).is_none() {
        return Err(request.missing(params, "result", "an object (ToolCallResult)"));
    }
    draft.ties.call = execution_id(request.table, [Some(params), nested]);
    for result in [direct, nested, inner].into_iter().flatten() {
        if let Some(outputs) = request.table.given(result, "outputs") {
            check_outputs(request, outputs)?;
        }
    }
    Ok(Kind::ToolResult)
}

/// What a call shares with its answer.
fn execution_id(table: &Table<'_>, holders: [Option<NodeId>; 2]) -> Option<String> {
    let mut holders = holders.into_iter().flatten();
    holders.find_map(|holder| table.text_of(holder, "executionId").map(|id| id.into_owned()))
}

fn check_outputs(request: Checked<'_, '_>, outputs: NodeId) -> Result<(), RpcError> {
    match request.table.kind(outputs) {
        json::Kind::String | json::Kind::Object | json::Kind::Array => Ok(()),
        _ => Err(request.wrong(outputs, "an array of parts or strings")),
    }
}
