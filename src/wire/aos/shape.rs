//! The fields that AOS defines, and the origin of the words in them.

use crate::model::{Method, Origin, Place};
use crate::wire::json::{Kind, Table};
use crate::wire::part::PartShape;
use crate::wire::zone::{Member, Shape, Zone};

/// The meaning of the fields of an AOS object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::wire) enum AosShape {
    /// The parameters of the `steps/*` request of this method.
    Params(Method),
    /// The parameters of a request that wraps a message of another protocol.
    Wrapper,
    /// `StepContext` (3.8), or the later revision's `{from, to}`.
    Context,
    /// One side of `{from, to}`.
    Party,
    /// An identity of the later revision: a user's, a machine's or an agent's (3.17, 3.18).
    Identity,
    /// `Agent` (3.1) whose instructions are those of the observed agent.
    Agent,
    /// Things with an id, a name and a URL: organisations, providers, models, users, sessions, servers.
    Entity,
    /// `ToolDefinition` (3.2).
    Tool,
    /// `ToolArgumentDefinition`, `ToolOutputDefinition` (3.2.1, 3.2.2).
    ToolField,
    /// `Resource` (3.1.5).
    Resource,
    /// `Message` (3.3).
    Message,
    /// `AgentTrigger` (3.6).
    Trigger,
    /// `AgentTriggerEvent` (3.6.1).
    TriggerEvent,
    /// `KnowledgeRetrievalStepParams` (3.14).
    Knowledge,
    /// `KnowledgeRetrievalResult` (3.14.1).
    KnowledgeResult,
    /// `ToolCallRequest` (3.15).
    Call,
    /// `ToolArgumentValue` (3.15.1).
    Input,
    /// Values by the names of their arguments, in the place of a list of `ToolArgumentValue`.
    Inputs,
    /// `ToolCallResult` (4.6.1.1), also when it is nested with its execution id.
    Outcome,
    /// `Source` (3.7).
    Citation,
}

const fn aos(shape: AosShape) -> Shape {
    Shape::Aos(shape)
}

/// Returns the origin of the content of a message, by the message's role. A system message is the guardrails' and the orchestrator's, not the agent's
/// and not the user's: it carries no authority.
pub(super) fn origin_of_role(role: Option<&str>) -> Origin {
    match role {
        Some("user") => Origin::User,
        Some("agent" | "assistant") => Origin::Agent,
        _ => Origin::Unknown,
    }
}

impl AosShape {
    pub(in crate::wire) fn member(self, zone: Zone, member: Member<'_, '_>) -> Option<Zone> {
        let key = member.key;
        match self {
            AosShape::Params(method) => params_member(zone, member, method),
            AosShape::Wrapper => wrapper_member(zone, key),
            AosShape::Context => context_member(zone, key),
            AosShape::Party => match key {
                "agent" => Some(zone.shaped(aos(AosShape::Agent))),
                "role" => Some(zone.aside()),
                _ => None,
            },
            AosShape::Agent => agent_member(zone, key),
            AosShape::Entity => entity_member(zone, key),
            AosShape::Tool => tool_member(zone, key),
            AosShape::ToolField => match key {
                "name" | "description" | "id" | "type" | "mimeType" => Some(zone.free()),
                "required" => Some(zone.free()),
                _ => None,
            },
            AosShape::Resource => match key {
                "name" | "description" | "content" | "id" | "mimeType" => Some(zone.free()),
                "metadata" => Some(zone.decoration()),
                _ => None,
            },
            AosShape::Message => match key {
                // Providers' ids are random letters, which no count of words tells from words; models are not shown them.
                "id" => Some(zone.aside()),
                "role" => Some(zone.tie(member)),
                "content" => Some(PartShape::parts(zone)),
                "metadata" => Some(zone.decoration()),
                _ => None,
            },
            AosShape::Trigger => match key {
                "type" => Some(zone.tie(member)),
                "event" => Some(zone.shaped(aos(AosShape::TriggerEvent))),
                "content" => Some(PartShape::parts(zone)),
                "metadata" => Some(zone.decoration()),
                _ => None,
            },
            AosShape::TriggerEvent => matches!(key, "type" | "id").then(|| zone.tie(member)),
            AosShape::Knowledge => match key {
                "query" | "keywords" => Some(zone.by(Origin::Agent).free()),
                "results" => Some(zone.shaped(aos(AosShape::KnowledgeResult))),
                _ => None,
            },
            AosShape::KnowledgeResult => match key {
                "id" | "mimeType" => Some(zone.tie(member)),
                "content" => Some(PartShape::parts(zone)),
                "metadata" => Some(zone.decoration()),
                _ => None,
            },
            AosShape::Call => match key {
                "executionId" | "toolId" => Some(zone.aside()),
                "inputs" => Some(zone.shaped(aos(inputs_shape(member)))),
                _ => None,
            },
            AosShape::Inputs => None,
            AosShape::Identity => identity_member(zone, key),
            AosShape::Input => match key {
                "name" => Some(zone.aside()),
                "id" => Some(zone.tie(member)),
                "value" => Some(zone.shaped(Shape::ArgumentValue)),
                _ => None,
            },
            AosShape::Outcome => match key {
                "outputs" => Some(PartShape::parts(zone)),
                "executionId" | "toolId" => Some(zone.aside()),
                "result" => Some(result_zone(member)),
                "isError" => Some(zone.free()),
                "metadata" => Some(zone.decoration()),
                _ => None,
            },
            AosShape::Citation => match key {
                "kind" | "id" => Some(zone.tie(member)),
                "name" | "url" => Some(zone.free()),
                _ => None,
            },
        }
    }

    /// Returns the zone of a member that AOS does not define here. In a call, a member that is not known to be something else is an argument.
    pub(in crate::wire) const fn undefined_member(self, zone: Zone) -> Zone {
        match self {
            AosShape::Call | AosShape::Input | AosShape::Inputs | AosShape::Params(Method::ToolCallRequest) => {
                Zone::new(Shape::ArgumentValue, Origin::ToolArguments, Place::Body)
            }
            _ => zone.decoration(),
        }
    }
}

fn identity_member(zone: Zone, key: &str) -> Option<Zone> {
    match key {
        "id" | "name" | "email" | "signatures" | "header" | "protected" | "signature" => {
            Some(zone.shaped(aos(AosShape::Identity)))
        }
        "organization" => Some(zone.shaped(aos(AosShape::Entity))),
        "metadata" => Some(zone.decoration()),
        _ => None,
    }
}

/// Returns the shape of `inputs`: a list, or one value with its name; any other object names its values itself.
fn inputs_shape(member: Member<'_, '_>) -> AosShape {
    let is_map =
        member.table.kind(member.value) == Kind::Object && !super::call::is_named_value(member.table, member.value);
    if is_map { AosShape::Inputs } else { AosShape::Input }
}

/// Returns the zone of a parameter. Each method has its own members: those of others have no author in it.
fn params_member(zone: Zone, member: Member<'_, '_>, method: Method) -> Option<Zone> {
    let body = |shape, origin| Some(Zone::new(aos(shape), origin, Place::Body));
    match (method, member.key) {
        (Method::AgentTrigger, "trigger") => body(AosShape::Trigger, Origin::Trigger),
        (Method::KnowledgeRetrieval, "knowledgeStep") => body(AosShape::Knowledge, Origin::Knowledge),
        (Method::MemoryStore | Method::MemoryContextRetrieval, "memory") => Some(Zone::body(Origin::Memory)),
        (Method::Message, "message") => body(AosShape::Message, role_of(member.table, member)),
        (Method::Message, "citation" | "citations") => body(AosShape::Citation, Origin::Agent),
        (Method::ToolCallRequest, "toolCallRequest") => body(AosShape::Call, Origin::ToolArguments),
        (Method::ToolCallRequest, "executionId") => Some(Zone::body(Origin::ToolArguments).aside()),
        (Method::ToolCallResult, "result" | "toolCallResult") => Some(result_zone(member)),
        (Method::ToolCallResult, "executionId") => Some(Zone::body(Origin::ToolOutput).aside()),
        (_, key) => wrapper_member(zone, key),
    }
}

/// Returns the zone of a result, which may be its outputs alone.
fn result_zone(member: Member<'_, '_>) -> Zone {
    let zone = Zone::new(aos(AosShape::Outcome), Origin::ToolOutput, Place::Body);
    if member.table.kind(member.value) == Kind::Array {
        PartShape::parts(zone)
    } else {
        zone
    }
}

fn wrapper_member(zone: Zone, key: &str) -> Option<Zone> {
    match key {
        "context" => Some(context_zone()),
        "reasoning" => Some(Zone::body(Origin::Reasoning)),
        "metadata" => Some(zone.decoration()),
        _ => None,
    }
}

fn role_of(table: &Table<'_>, member: Member<'_, '_>) -> Origin {
    origin_of_role(table.text_of(member.value, "role").as_deref())
}

/// Returns the zone of a context: screened, never edited; its ids and names have no author.
pub(in crate::wire) const fn context_zone() -> Zone {
    Zone::new(aos(AosShape::Context), Origin::Unknown, Place::Surroundings)
}

/// Returns the zone of the side of `{from, to}` that is not the observed agent.
pub(super) const fn remote_party_zone() -> Zone {
    Zone::new(aos(AosShape::Party), Origin::RemoteAgent, Place::Surroundings)
}

fn context_member(zone: Zone, key: &str) -> Option<Zone> {
    Some(match key {
        "agent" => zone.shaped(aos(AosShape::Agent)),
        "from" | "to" => zone.shaped(aos(AosShape::Party)),
        "session" | "user" => zone.shaped(aos(AosShape::Entity)),
        "identity" => zone.shaped(aos(AosShape::Identity)),
        "turnId" | "stepId" | "timestamp" => zone.free(),
        "metadata" => zone.decoration(),
        _ => return None,
    })
}

fn agent_member(zone: Zone, key: &str) -> Option<Zone> {
    // A remote agent's description of itself has no authority.
    let own = |origin| {
        if zone.origin == Origin::RemoteAgent {
            zone
        } else {
            zone.by(origin)
        }
    };
    Some(match key {
        "instructions" | "instruction" | "description" | "name" => own(Origin::Instructions).free(),
        "id" | "version" | "url" => zone.free(),
        "identity" => zone.shaped(aos(AosShape::Identity)),
        "tools" => own(Origin::ToolDescription).shaped(aos(AosShape::Tool)),
        "resources" => own(Origin::Knowledge).shaped(aos(AosShape::Resource)),
        "provider" | "model" | "mcpServers" | "organization" => zone.shaped(aos(AosShape::Entity)),
        "metadata" => zone.decoration(),
        _ => return None,
    })
}

fn entity_member(zone: Zone, key: &str) -> Option<Zone> {
    Some(match key {
        "id" | "name" | "url" | "version" | "email" | "maxTokens" | "contextWindow" | "stopSequences" => zone.free(),
        "provider" | "organization" => zone.shaped(aos(AosShape::Entity)),
        "defaultParams" | "metadata" => zone.decoration(),
        _ => return None,
    })
}

fn tool_member(zone: Zone, key: &str) -> Option<Zone> {
    Some(match key {
        "id" | "name" | "title" | "description" | "type" => zone.free(),
        "arguments" | "outputs" => zone.shaped(aos(AosShape::ToolField)),
        "inputSchema" | "outputSchema" | "parameters" | "input_schema" | "annotations" => zone.free(),
        // OpenAI's interface.
        "function" => zone,
        "strict" => zone.free(),
        "metadata" => zone.decoration(),
        _ => return None,
    })
}
