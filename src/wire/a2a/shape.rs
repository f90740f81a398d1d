//! The fields that A2A 0.x, A2A 1.0 and AgentVault define.
//!
//! They use one name for one thing throughout, so one list of names serves every object of theirs.

use crate::model::Origin;
use crate::wire::method_names;
use crate::wire::part::PartShape;
use crate::wire::zone::{Member, Shape, Zone};

/// The meaning of the fields of an A2A object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::wire) enum A2aShape {
    /// A JSON-RPC message, or a bare stream event.
    Message,
    /// Anything inside.
    Object,
    /// A JSON-RPC message with which the observed agent answers.
    OwnMessage,
    /// Anything inside such an answer. Messages of the other agent that it repeats stay the other's.
    OwnObject,
}

impl A2aShape {
    pub(in crate::wire) fn member(self, zone: Zone, member: Member<'_, '_>) -> Option<Zone> {
        match (self, member.key) {
            (A2aShape::Message | A2aShape::OwnMessage, "method") if is_known_method(member) => Some(zone.aside()),
            (A2aShape::Message | A2aShape::OwnMessage, "method") => Some(zone.free()),
            (A2aShape::Message | A2aShape::OwnMessage, "jsonrpc") => Some(zone.tie(member)),
            (A2aShape::Message, "params") => Some(zone.shaped(Shape::A2a(A2aShape::Object))),
            (A2aShape::Message, "result" | "error") => {
                Some(zone.by(Origin::RemoteAgent).shaped(Shape::A2a(A2aShape::Object)))
            }
            (A2aShape::OwnMessage, "params") => Some(zone.by(Origin::RemoteAgent).shaped(Shape::A2a(A2aShape::Object))),
            (A2aShape::OwnMessage, "result" | "error") => Some(zone.shaped(Shape::A2a(A2aShape::OwnObject))),
            (A2aShape::OwnMessage | A2aShape::OwnObject, _) => {
                let own = Shape::A2a(A2aShape::OwnObject);
                if is_of_other(member) {
                    object_member(zone.by(Origin::RemoteAgent), member, Shape::A2a(A2aShape::Object))
                } else {
                    object_member(zone, member, own)
                }
            }
            (A2aShape::Message | A2aShape::Object, _) => object_member(zone, member, Shape::A2a(A2aShape::Object)),
        }
    }
}

/// Returns `true` if an object of an answer is a message in another role than that of the answering agent.
fn is_of_other(member: Member<'_, '_>) -> bool {
    let role = member.table.text_of(member.object, "role");
    role.is_some_and(|role| !matches!(role.as_ref(), "agent" | "assistant" | "ROLE_AGENT"))
}

/// Members that hold objects of A2A.
const OBJECTS: &[&str] = &[
    "message",
    "messages",
    "history",
    "status",
    "artifact",
    "artifacts",
    "task",
    "tasks",
    "statusUpdate",
    "artifactUpdate",
    "configuration",
    "pushNotificationConfig",
    "taskPushNotificationConfig",
    "config",
    "configs",
    "authentication",
    "capabilities",
    "provider",
    "skills",
    "additionalInterfaces",
    "supportedInterfaces",
    "signatures",
    "authSchemes",
    "extendedAgentCard",
    "list",
    "extensions",
];

/// Members that only tie or qualify.
const ASIDE: &[&str] = &[
    "id",
    "taskId",
    "contextId",
    "messageId",
    "artifactId",
    "sessionId",
    "referenceTaskIds",
    "pushNotificationConfigId",
    "kind",
    "type",
    "role",
    "state",
    "timestamp",
    "createdAt",
    "updatedAt",
    "lastUpdated",
    "statusTimestampAfter",
    "mimeType",
    "mediaType",
    "acceptedOutputModes",
    "defaultInputModes",
    "defaultOutputModes",
    "inputModes",
    "outputModes",
    "protocolVersion",
    "preferredTransport",
    "transport",
    "protocolBinding",
    "pageToken",
    "nextPageToken",
    "tenant",
    "schemaVersion",
    "agentVersion",
    "a2aVersion",
    "mcpVersion",
    "schemes",
    "scheme",
    "version",
];

/// Members with texts, documents, flags and counts, by names that are A2A's own.
const FREE: &[&str] = &[
    "text",
    "content",
    "name",
    "description",
    "url",
    "uri",
    "token",
    "credentials",
    "filename",
    "tags",
    "examples",
    "code",
    "reason",
    "documentationUrl",
    "iconUrl",
    "organization",
    "humanReadableId",
    "webhookUrl",
    "tokenUrl",
    "privacyPolicyUrl",
    "termsOfServiceUrl",
    "support_contact",
    "service_identifier",
    "scopes",
    "protected",
    "signature",
    "data",
    "securitySchemes",
    "security",
    "securityRequirements",
    "header",
    "input_schema",
    "output_schema",
    "teeDetails",
    "historyLength",
    "blocking",
    "returnImmediately",
    "final",
    "append",
    "lastChunk",
    "success",
    "error",
    "streaming",
    "pushNotifications",
    "stateTransitionHistory",
    "supportsAuthenticatedExtendedCard",
    "supportsPushNotifications",
    "pageSize",
    "totalSize",
    "includeArtifacts",
    "required",
    "supportedMessageParts",
];

fn is_known_method(member: Member<'_, '_>) -> bool {
    let name = member.table.text(member.value);
    name.is_some_and(|name| method_names::a2a(&name).is_some())
}

fn object_member(zone: Zone, member: Member<'_, '_>, inside: Shape) -> Option<Zone> {
    Some(match member.key {
        "parts" => PartShape::parts(zone),
        "metadata" => zone.decoration(),
        key if OBJECTS.contains(&key) => zone.shaped(inside),
        key if ASIDE.contains(&key) => zone.tie(member),
        key if FREE.contains(&key) => zone.free(),
        _ => return None,
    })
}
