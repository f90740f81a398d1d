//! A hand-written sample of every shape that is understood, with who speaks where.

use serde_json::{Value, json};

use super::{aos_request, request};
use crate::model::Origin::{self, *};

/// A request, and the origin of every string in it: the longest pointer that begins a string's pointer decides.
pub(super) struct Sample {
    pub(super) name: &'static str,
    pub(super) request: Value,
    pub(super) origins: Vec<(&'static str, Origin)>,
}

fn sample(name: &'static str, request: Value, origins: &[(&'static str, Origin)]) -> Sample {
    Sample {
        name,
        request,
        origins: origins.to_vec(),
    }
}

/// A context with everything that AOS defines.
pub(super) fn full_context() -> Value {
    json!({
        "agent": {
            "name": "Clerk", "id": "clerk-7", "description": "Files things", "instructions": "Help the registry.",
            "version": "2.1", "provider": { "name": "Mill & Sons", "url": "https://mill.example", "metadata": { "tier": "gold" } },
            "model": { "name": "Big", "id": "big-1", "provider": { "name": "LLM House", "metadata": { "region": "eu" } },
                "maxTokens": 100, "contextWindow": 8000, "stopSequences": ["END"], "defaultParams": { "style": "terse" },
                "metadata": { "quant": "8bit" } },
            "tools": [{ "name": "find", "id": "t-find", "description": "Finds files", "type": "function_call",
                "arguments": [{ "name": "pattern", "id": "a1", "description": "What to find", "type": "string",
                    "mimeType": "text/plain", "required": true }],
                "outputs": [{ "name": "hits", "description": "Found files", "type": "array" }],
                "metadata": { "owner": ["ops", { "team": "blue" }] } }],
            "mcpServers": [{ "name": "disk", "version": "1" }],
            "resources": [{ "name": "Handbook", "id": "r1", "description": "House rules", "content": "Be kind.",
                "mimeType": "text/plain", "metadata": { "shelf": "B" } }],
            "organization": { "id": "org-1", "name": "Registry", "metadata": { "country": "NL" } },
            "metadata": { "build": "x1" }
        },
        "session": { "id": "s-1", "metadata": { "channel": "web" } },
        "turnId": "turn-1", "stepId": "step-1", "timestamp": "2026-01-05T10:00:00Z",
        "user": { "id": "u-1", "name": "Ada", "email": "ada@example.org",
            "organization": { "id": "org-2", "name": "Lovelace" }, "metadata": { "lang": "en" } }
    })
}

const CONTEXT: &[(&str, Origin)] = &[
    ("/params/context", Unknown),
    ("/params/context/agent/name", Instructions),
    ("/params/context/agent/description", Instructions),
    ("/params/context/agent/instructions", Instructions),
    ("/params/context/agent/tools", ToolDescription),
    ("/params/context/agent/resources", Knowledge),
];

fn with_context(name: &'static str, method: &str, mut params: Value, origins: &[(&'static str, Origin)]) -> Sample {
    params["context"] = full_context();
    params["reasoning"] = json!("because it was asked");
    let mut all = CONTEXT.to_vec();
    all.push(("/params/reasoning", Reasoning));
    all.extend(origins);
    sample(name, request(method, params), &all)
}

/// Parts of every kind and spelling.
fn parts() -> Value {
    json!([
        { "kind": "text", "text": "hello", "metadata": { "note": "n" } },
        { "type": "text", "content": "hello again" },
        { "kind": "data", "data": { "patient": { "name": "Joe", "tags": ["a", ["b"]] }, "text": "free", "kind": "free" } },
        { "kind": "file", "file": { "name": "a.txt", "mimeType": "text/plain", "bytes": "aGVsbG8gd29ybGQ=" } },
        { "kind": "file", "file": { "name": "b.png", "mimeType": "image/png", "data": "iVBORw0KGgoAAAANSUhEUg==" } },
        { "kind": "file", "file": { "name": "c.pdf", "uri": "https://files.example/c.pdf" } },
        { "raw": "aGVsbG8=", "mediaType": "text/plain", "filename": "d.txt" },
        "a bare string"
    ])
}

fn steps() -> Vec<Sample> {
    vec![
        with_context(
            "trigger",
            "steps/agentTrigger",
            json!({ "trigger": { "type": "autonomous", "event": { "type": "email", "id": "e-1" }, "content": parts(),
                "metadata": { "mailbox": "in" } } }),
            &[("/params/trigger", Trigger)],
        ),
        with_context(
            "knowledge",
            "steps/knowledgeRetrieval",
            json!({ "knowledgeStep": { "query": "opening hours", "keywords": ["open", "hours"],
                "results": [{ "id": "k1", "content": "Nine to five.", "mimeType": "text/plain",
                    "metadata": { "author": { "name": "Bo" } } }] } }),
            &[
                ("/params/knowledgeStep", Knowledge),
                ("/params/knowledgeStep/query", Agent),
                ("/params/knowledgeStep/keywords", Agent),
            ],
        ),
        with_context(
            "memory of strings",
            "steps/memoryStore",
            json!({ "memory": ["likes tea", "{\"role\":\"user\"}"] }),
            &[("/params/memory", Memory)],
        ),
        with_context(
            "memory of objects",
            "steps/memoryContextRetrieval",
            json!({ "memory": [{ "fact": "likes tea", "when": ["monday"] }, "plain"] }),
            &[("/params/memory", Memory)],
        ),
        with_context(
            "one memory",
            "steps/memoryStore",
            json!({ "memory": "likes tea" }),
            &[("/params/memory", Memory)],
        ),
        message("user message", "user", User, Unknown),
        message("agent message", "agent", Agent, Unknown),
        message("system message", "system", Unknown, Unknown),
        with_context(
            "tool call",
            "steps/toolCallRequest",
            json!({ "toolCallRequest": { "executionId": "x-1", "toolId": "t-find", "inputs": [
                { "name": "pattern", "id": "a1", "value": "*.txt" },
                { "name": "options", "value": { "depth": 2, "roots": ["/srv", { "path": "/home" }], "value": "v" } },
                { "name": "flag", "value": true }, { "name": "nothing", "value": null }] } }),
            &[("/params/toolCallRequest", ToolArguments)],
        ),
        with_context(
            "tool result",
            "steps/toolCallResult",
            json!({ "executionId": "x-1", "result": { "outputs": parts(), "isError": false } }),
            &[("/params/executionId", ToolOutput), ("/params/result", ToolOutput)],
        ),
        with_context(
            "nested tool result",
            "steps/toolCallResult",
            json!({ "toolCallResult": { "executionId": "x-1", "result": { "outputs": parts(), "isError": true } } }),
            &[("/params/toolCallResult", ToolOutput)],
        ),
    ]
}

fn message(name: &'static str, role: &str, origin: Origin, decoration: Origin) -> Sample {
    let params = json!({
        "message": { "id": "m-1", "role": role, "content": parts(), "metadata": { "client": { "os": "plan9" } } },
        "citation": [{ "kind": "file", "id": "f1", "name": "report.pdf", "url": "https://x.example/report.pdf" }],
        "citations": [{ "kind": "site", "url": "https://x.example" }]
    });
    let mut sample = with_context(
        name,
        "steps/message",
        params,
        &[
            ("/params/message", origin),
            ("/params/citation", Agent),
            ("/params/citations", Agent),
        ],
    );
    sample.origins.push(("/params/message/metadata", decoration));
    sample.origins.push(("/params/message/content/0/metadata", decoration));
    sample
}

/// The parameters of an A2A message.
fn a2a_params() -> Value {
    json!({
        "message": { "role": "user", "kind": "message", "messageId": "mm-1", "contextId": "c-9", "taskId": "t-9",
            "parts": parts(), "metadata": { "trace": "t" }, "referenceTaskIds": ["t-8"], "extensions": ["https://e.example"] },
        "configuration": { "acceptedOutputModes": ["text/plain"], "blocking": true, "historyLength": 2,
            "pushNotificationConfig": { "id": "p1", "url": "https://hook.example/1", "token": "tok",
                "authentication": { "schemes": ["Bearer"], "credentials": "cred" } } },
        "metadata": { "purpose": "test" }
    })
}

fn a2a_request(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": "inner-1", "method": method, "params": params })
}

const A2A_OUT: &[(&str, Origin)] = &[
    ("/params/reasoning", Reasoning),
    ("/params/payload", Agent),
    ("/params/payload/params/metadata", Unknown),
    ("/params/payload/params/message/metadata", Unknown),
    ("/params/payload/params/message/parts/0/metadata", Unknown),
];

const A2A_IN: &[(&str, Origin)] = &[("/params/payload", RemoteAgent)];

fn a2a_task() -> Value {
    json!({ "kind": "task", "id": "t-9", "contextId": "c-9",
        "status": { "state": "completed", "timestamp": "2026-01-05T10:00:00Z",
            "message": { "role": "agent", "messageId": "mm-2", "parts": parts() } },
        "artifacts": [{ "artifactId": "a-1", "name": "Joke", "description": "A joke", "parts": parts(),
            "metadata": { "m": "v" } }],
        "history": [{ "role": "user", "messageId": "mm-1", "parts": [{ "kind": "text", "text": "tell me a joke" }] }],
        "metadata": { "k": "v" } })
}

#[allow(clippy::too_many_lines, reason = "a list of samples")]
fn a2a() -> Vec<Sample> {
    let out = |name, method: &str, params: Value| {
        let payload = a2a_request(method, params);
        sample(
            name,
            request(method, json!({ "payload": payload, "reasoning": "delegate" })),
            A2A_OUT,
        )
    };
    let answer = |result: Value| json!({ "jsonrpc": "2.0", "id": 1, "result": result });
    let answered =
        |name, method: &str, payload: Value| sample(name, request(method, json!({ "payload": payload })), A2A_IN);
    vec![
        out("a2a send", "message/send", a2a_params()),
        out("a2a stream", "message/stream", a2a_params()),
        out(
            "a2a get",
            "tasks/get",
            json!({ "id": "t-9", "historyLength": 4, "metadata": { "why": "w" } }),
        ),
        out(
            "a2a list",
            "tasks/list",
            json!({ "contextId": "c-9", "pageToken": "p" }),
        ),
        out("a2a cancel", "tasks/cancel", json!({ "id": "t-9", "metadata": {} })),
        out("a2a resubscribe", "tasks/resubscribe", json!({ "id": "t-9" })),
        out(
            "push set",
            "tasks/pushNotificationConfig/set",
            json!({ "taskId": "t-9", "pushNotificationConfig": { "url": "https://hook.example/2" } }),
        ),
        out(
            "push get",
            "tasks/pushNotificationConfig/get",
            json!({ "id": "t-9", "pushNotificationConfigId": "p1" }),
        ),
        out("push list", "tasks/pushNotificationConfig/list", json!({ "id": "t-9" })),
        out(
            "push delete",
            "tasks/pushNotificationConfig/delete",
            json!({ "id": "t-9", "pushNotificationConfigId": "p1" }),
        ),
        out("a2a card request", "agent/getAuthenticatedExtendedCard", json!({})),
        out(
            "agentvault send",
            "tasks/send",
            json!({ "id": "t-9", "message": { "role": "user", "parts": [{ "type": "text", "content": "weather?" }],
                "metadata": { "mcp_context": { "items": { "unit": "celsius" } } } }, "webhookUrl": "https://hook.example/3" }),
        ),
        out("agentvault subscribe", "tasks/sendSubscribe", json!({ "id": "t-9" })),
        answered("a2a answer", "message/send", answer(a2a_task())),
        answered(
            "a2a message answer",
            "message/send",
            answer(json!({ "kind": "message", "role": "agent", "messageId": "mm-3", "parts": parts() })),
        ),
        answered(
            "a2a error",
            "tasks/get",
            json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": -32001, "message": "no such task",
                "data": [{ "reason": "R", "metadata": { "k": "v" } }] } }),
        ),
        answered("a2a 1.0 answer", "SendMessage", answer(json!({ "task": a2a_task() }))),
        answered(
            "a2a event",
            "message/stream",
            json!({ "kind": "artifact-update", "taskId": "t-9", "contextId": "c-9", "append": true, "lastChunk": false,
                "artifact": { "artifactId": "a-1", "parts": parts() } }),
        ),
        answered(
            "a2a card",
            "agent/getAuthenticatedExtendedCard",
            answer(
                json!({ "name": "Joker", "description": "Jokes", "url": "https://joker.example", "protocolVersion": "0.3.0",
                "provider": { "organization": "Fun", "url": "https://fun.example" },
                "skills": [{ "id": "sk", "name": "Joke", "description": "Tells jokes", "tags": ["fun"], "examples": ["one please"] }],
                "securitySchemes": { "key": { "type": "apiKey", "name": "X-Key" } } }),
            ),
        ),
        answered(
            "agentvault task",
            "tasks/get",
            answer(
                json!({ "id": "t-9", "state": "COMPLETED", "createdAt": "2026-01-05T10:00:00Z",
                "messages": [{ "role": "assistant", "parts": [{ "type": "text", "content": "Rain." }] }],
                "artifacts": [{ "id": "a", "type": "log", "content": "done", "mediaType": "text/plain" }] }),
            ),
        ),
        answered(
            "agentvault event",
            "tasks/sendSubscribe",
            json!({ "taskId": "t-9", "state": "COMPLETED", "timestamp": "2026-01-05T10:00:00Z", "message": "Finished." }),
        ),
        sample(
            "a2a raw parameters",
            request("message/send", a2a_params()),
            &[
                ("/params", Agent),
                ("/params/metadata", Unknown),
                ("/params/message/metadata", Unknown),
                ("/params/message/parts/0/metadata", Unknown),
            ],
        ),
        sample(
            "a2a beside params",
            json!({ "jsonrpc": "2.0", "id": 1, "method": "message/send", "payload": a2a_request("message/send", a2a_params()),
                "reasoning": "delegate", "context": full_context() }),
            &[
                ("/reasoning", Reasoning),
                ("/payload", Agent),
                ("/payload/params/metadata", Unknown),
                ("/payload/params/message/metadata", Unknown),
                ("/payload/params/message/parts/0/metadata", Unknown),
                ("/context", Unknown),
                ("/context/agent/name", Instructions),
                ("/context/agent/description", Instructions),
                ("/context/agent/instructions", Instructions),
                ("/context/agent/tools", ToolDescription),
                ("/context/agent/resources", Knowledge),
            ],
        ),
        sample(
            "earlier a2a",
            request(
                "protocols/A2A",
                json!({ "message": a2a_request("message/send", a2a_params()), "reasoning": "delegate" }),
            ),
            &[
                ("/params/reasoning", Reasoning),
                ("/params/message", Agent),
                ("/params/message/params/metadata", Unknown),
                ("/params/message/params/message/metadata", Unknown),
                ("/params/message/params/message/parts/0/metadata", Unknown),
            ],
        ),
        sample(
            "earlier a2a, raw",
            request("protocols/A2A", answer(a2a_task())),
            &[("/params", RemoteAgent)],
        ),
        sample(
            "a2a with two sides",
            request(
                "message/send",
                json!({ "payload": a2a_request("message/send", json!({ "message": { "parts": [] } })),
                "context": { "from": { "agent": { "id": "a", "name": "Ours", "instructions": "Ask politely." }, "role": "client" },
                    "to": { "agent": { "id": "b", "name": "Theirs", "instructions": "Answer.", "tools": [{ "id": "x" }] }, "role": "server" } } }),
            ),
            &[
                ("/params/payload", Agent),
                ("/params/context", Unknown),
                ("/params/context/from/agent/name", Instructions),
                ("/params/context/from/agent/instructions", Instructions),
                ("/params/context/to", RemoteAgent),
            ],
        ),
    ]
}

#[allow(clippy::too_many_lines, reason = "a list of samples")]
fn mcp() -> Vec<Sample> {
    let wrap = |message: Value| request("protocols/MCP", json!({ "message": message, "reasoning": "needed" }));
    let call =
        |method: &str, params: Value| wrap(json!({ "jsonrpc": "2.0", "id": 3, "method": method, "params": params }));
    let answer = |result: Value| wrap(json!({ "jsonrpc": "2.0", "id": 3, "result": result }));
    vec![
        sample(
            "mcp call",
            call(
                "tools/call",
                json!({ "name": "run", "arguments": { "command": "ls", "env": { "A": ["b"] } },
                "_meta": { "progressToken": "p" } }),
            ),
            &[
                ("/params/reasoning", Reasoning),
                ("/params/message", Agent),
                ("/params/message/params/name", ToolArguments),
                ("/params/message/params/arguments", ToolArguments),
                ("/params/message/params/_meta", Unknown),
            ],
        ),
        sample(
            "mcp read",
            call("resources/read", json!({ "uri": "file:///a" })),
            &[("/params/reasoning", Reasoning), ("/params/message", Agent)],
        ),
        sample(
            "mcp initialize",
            call(
                "initialize",
                json!({ "protocolVersion": "2025-11-25", "capabilities": { "roots": { "listChanged": true } },
                "clientInfo": { "name": "c", "version": "1" } }),
            ),
            &[("/params/reasoning", Reasoning), ("/params/message", Agent)],
        ),
        sample(
            "mcp sampling",
            call(
                "sampling/createMessage",
                json!({ "messages": [{ "role": "user", "content": { "type": "text", "text": "say hi" } }],
                "systemPrompt": "You are mine.", "maxTokens": 5 }),
            ),
            &[("/params/reasoning", Reasoning), ("/params/message", ToolOutput)],
        ),
        sample(
            "mcp elicitation",
            call(
                "elicitation/create",
                json!({ "message": "Your password?", "requestedSchema": { "properties": { "pw": { "type": "string" } } } }),
            ),
            &[("/params/reasoning", Reasoning), ("/params/message", ToolOutput)],
        ),
        sample(
            "mcp log",
            wrap(
                json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "level": "info", "data": { "msg": "hey" } } }),
            ),
            &[("/params/reasoning", Reasoning), ("/params/message", ToolOutput)],
        ),
        sample(
            "mcp tool result",
            answer(
                json!({ "content": [{ "type": "text", "text": "out" }, { "type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png" },
                { "type": "resource", "resource": { "uri": "file:///r", "mimeType": "text/plain", "text": "body" } },
                { "type": "resource_link", "uri": "file:///l", "name": "l", "annotations": { "audience": ["user"] } }],
                "structuredContent": { "rows": [{ "cell": "v" }] }, "isError": false, "_meta": { "took": "1s" } }),
            ),
            &[("/params/reasoning", Reasoning), ("/params/message", ToolOutput)],
        ),
        sample(
            "mcp tool list",
            answer(
                json!({ "tools": [{ "name": "run", "title": "Run", "description": "Runs things",
                "inputSchema": { "type": "object", "properties": { "command": { "type": "string", "description": "what" } }, "required": ["command"] },
                "annotations": { "title": "Run it" } }], "nextCursor": "n" }),
            ),
            &[
                ("/params/reasoning", Reasoning),
                ("/params/message", ToolOutput),
                ("/params/message/result/tools", ToolDescription),
            ],
        ),
        sample(
            "mcp resource",
            answer(
                json!({ "contents": [{ "uri": "file:///a", "mimeType": "text/plain", "text": "doc" },
                { "uri": "file:///b", "mimeType": "application/json", "blob": "eyJhIjoiYiJ9" }] }),
            ),
            &[
                ("/params/reasoning", Reasoning),
                ("/params/message", ToolOutput),
                ("/params/message/result/contents", Knowledge),
            ],
        ),
        sample(
            "mcp prompt",
            answer(
                json!({ "description": "A prompt", "messages": [{ "role": "user", "content": { "type": "text", "text": "do" } }] }),
            ),
            &[
                ("/params/reasoning", Reasoning),
                ("/params/message", ToolOutput),
                ("/params/message/result/messages", Knowledge),
            ],
        ),
        sample(
            "mcp greeting",
            answer(
                json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": { "name": "s", "version": "1" }, "instructions": "Use me." }),
            ),
            &[
                ("/params/reasoning", Reasoning),
                ("/params/message", ToolOutput),
                ("/params/message/result/serverInfo", ToolDescription),
                ("/params/message/result/instructions", ToolDescription),
            ],
        ),
        sample(
            "mcp error",
            wrap(
                json!({ "jsonrpc": "2.0", "id": 3, "error": { "code": -32602, "message": "bad", "data": { "hint": "h" } } }),
            ),
            &[("/params/reasoning", Reasoning), ("/params/message", ToolOutput)],
        ),
        sample(
            "mcp raw",
            request(
                "protocols/MCP",
                json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": { "name": "run", "arguments": { "a": "b" } } }),
            ),
            &[
                ("/params", Agent),
                ("/params/params/name", ToolArguments),
                ("/params/params/arguments", ToolArguments),
            ],
        ),
        sample(
            "mcp by method",
            request(
                "protocols/MCP/tools/call",
                json!({ "name": "run", "arguments": { "a": "b" } }),
            ),
            &[
                ("/params", Agent),
                ("/params/name", ToolArguments),
                ("/params/arguments", ToolArguments),
            ],
        ),
    ]
}

/// Every sample.
pub(super) fn all() -> Vec<Sample> {
    let mut all = steps();
    all.extend(a2a());
    all.extend(mcp());
    all.push(sample(
        "odd envelope",
        {
            let mut odd = aos_request(
                "steps/memoryStore",
                json!({ "memory": "m", "extra": { "deep": ["x"] } }),
            );
            odd["trace"] = json!({ "note": "n" });
            odd
        },
        &[("", Unknown), ("/params/memory", Memory)],
    ));
    all
}
