//! The fields that MCP defines (revisions 2024-11-05 to 2026-07-28), and the origin of the words in them.

use crate::model::Origin;
use crate::wire::part::PartShape;
use crate::wire::zone::{Member, Shape, Zone};

/// The meaning of the fields of an MCP object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::wire) enum McpShape {
    /// A JSON-RPC message that the client sends.
    FromClient,
    /// The same, of `tools/call`.
    ToolCall,
    /// A JSON-RPC message that the server sends.
    FromServer,
    /// Parameters of `tools/call`.
    CallParams,
    /// A result.
    Result,
    /// Anything inside.
    Object,
}

const fn mcp(shape: McpShape) -> Shape {
    Shape::Mcp(shape)
}

impl McpShape {
    pub(in crate::wire) fn member(self, zone: Zone, member: Member<'_, '_>) -> Option<Zone> {
        match self {
            McpShape::FromClient | McpShape::FromServer => message_member(zone, member, McpShape::Object),
            McpShape::ToolCall => message_member(zone, member, McpShape::CallParams),
            McpShape::CallParams => match member.key {
                "name" => Some(zone.by(Origin::ToolArguments).aside()),
                "arguments" => Some(zone.by(Origin::ToolArguments).free()),
                "inputResponses" | "requestState" => Some(zone.by(Origin::ToolArguments).free()),
                "_meta" | "task" => object_member(zone, member),
                _ => None,
            },
            McpShape::Result => result_member(zone, member),
            McpShape::Object => object_member(zone, member),
        }
    }

    /// Returns the zone of a member that MCP does not define here. In a call it is an argument.
    pub(in crate::wire) const fn undefined_member(self, zone: Zone) -> Zone {
        match self {
            McpShape::ToolCall | McpShape::CallParams => {
                Zone::new(Shape::ArgumentValue, Origin::ToolArguments, zone.place)
            }
            McpShape::FromClient | McpShape::FromServer | McpShape::Result | McpShape::Object => zone.decoration(),
        }
    }
}

fn message_member(zone: Zone, member: Member<'_, '_>, params: McpShape) -> Option<Zone> {
    Some(match member.key {
        "jsonrpc" | "id" => zone.tie(member),
        "method" => zone.aside(),
        "params" => zone.shaped(mcp(params)),
        // An answer to a client comes from the server.
        "result" => zone.by(Origin::ToolOutput).shaped(mcp(McpShape::Result)),
        "error" => zone.by(Origin::ToolOutput).shaped(mcp(McpShape::Object)),
        _ => return None,
    })
}

fn result_member(zone: Zone, member: Member<'_, '_>) -> Option<Zone> {
    let object = zone.shaped(mcp(McpShape::Object));
    Some(match member.key {
        "tools" | "serverInfo" => object.by(Origin::ToolDescription),
        "instructions" => zone.by(Origin::ToolDescription).free(),
        "contents" => PartShape::parts(zone.by(Origin::Knowledge)),
        "messages" | "prompts" | "resources" | "resourceTemplates" => object.by(Origin::Knowledge),
        _ => return object_member(zone, member),
    })
}

fn object_member(zone: Zone, member: Member<'_, '_>) -> Option<Zone> {
    let object = zone.shaped(mcp(McpShape::Object));
    Some(match member.key {
        "content" | "contents" => PartShape::parts(zone),
        "tools" => object.by(tool_origin(zone.origin)),
        "messages" | "prompts" | "resources" | "resourceTemplates" | "roots" | "clientInfo" | "serverInfo"
        | "context" | "argument" | "ref" | "hints" | "modelPreferences" | "task" | "tasks" | "completion"
        | "annotations" | "icons" | "execution" | "notifications" | "toolChoice" => object,
        "id" | "cursor" | "nextCursor" | "role" | "type" | "mode" | "model" | "stopReason" | "protocolVersion"
        | "supportedVersions" | "progressToken" | "requestId" | "taskId" | "elicitationId" | "level" | "logger"
        | "mimeType" | "cacheScope" | "resultType" | "status" | "createdAt" | "lastUpdatedAt" | "lastModified"
        | "toolUseId" | "audience" | "version" | "taskSupport" | "action" | "includeContext" | "theme" | "sizes" => {
            zone.tie(member)
        }
        "uri" | "uriTemplate" | "name" | "title" | "description" | "text" | "message" | "instructions" | "reason"
        | "statusMessage" | "systemPrompt" | "websiteUrl" | "value" | "values" | "url" | "src" | "stopSequences"
        | "requestState" => zone.free(),
        "arguments" | "data" | "requestedSchema" | "structuredContent" | "capabilities" | "experimental"
        | "inputSchema" | "outputSchema" | "inputRequests" | "inputResponses" | "input" => zone.free(),
        // Flags and counts: no strings, but names that are MCP's own.
        "isError"
        | "code"
        | "total"
        | "hasMore"
        | "progress"
        | "priority"
        | "size"
        | "maxTokens"
        | "temperature"
        | "ttl"
        | "ttlMs"
        | "pollInterval"
        | "required"
        | "readOnlyHint"
        | "destructiveHint"
        | "idempotentHint"
        | "openWorldHint"
        | "costPriority"
        | "speedPriority"
        | "intelligencePriority" => zone.free(),
        "metadata" | "_meta" => zone.decoration(),
        _ => return None,
    })
}

/// Returns the origin of a tool's description, which is by the party that offers the tool; an agent that offers some to a model describes them too.
const fn tool_origin(origin: Origin) -> Origin {
    if origin.is_external() {
        Origin::ToolDescription
    } else {
        origin
    }
}
