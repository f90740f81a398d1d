//! The methods an agent can call, and the kinds of step that they carry.

use super::named_enum;

named_enum! {
    /// A method of the protocol, under the one name by which policies, metrics and audit records know it.
    ///
    /// Synonyms (`task/get`, `SendMessage`, `protocols/MCP/tools/call`) are resolved by the wire module. The names are those of
    /// AOS 0.1.0 section 4.
    Method {
        /// An event activates the agent (4.1).
        AgentTrigger = "steps/agentTrigger",
        /// Documents were retrieved (4.2).
        KnowledgeRetrieval = "steps/knowledgeRetrieval",
        /// Something is about to be remembered (4.3).
        MemoryStore = "steps/memoryStore",
        /// Something was remembered (4.4).
        MemoryContextRetrieval = "steps/memoryContextRetrieval",
        /// A message of the user, the agent or the system (4.5).
        Message = "steps/message",
        /// A tool is about to be called (4.6).
        ToolCallRequest = "steps/toolCallRequest",
        /// A tool has answered (4.6).
        ToolCallResult = "steps/toolCallResult",
        /// A2A: a message to a remote agent, or its answer.
        MessageSend = "message/send",
        /// A2A: a message with a stream of answers.
        MessageStream = "message/stream",
        /// A2A: the state of a task.
        TasksGet = "tasks/get",
        /// A2A: the tasks there are.
        TasksList = "tasks/list",
        /// A2A: cancel a task.
        TasksCancel = "tasks/cancel",
        /// A2A: take up a broken stream again.
        TasksResubscribe = "tasks/resubscribe",
        /// A2A: where a remote agent reports progress to.
        PushConfigSet = "tasks/pushNotificationConfig/set",
        /// A2A: read one push configuration.
        PushConfigGet = "tasks/pushNotificationConfig/get",
        /// A2A: read all push configurations.
        PushConfigList = "tasks/pushNotificationConfig/list",
        /// A2A: remove a push configuration.
        PushConfigDelete = "tasks/pushNotificationConfig/delete",
        /// A2A: a remote agent's card.
        AgentCard = "agent/getAuthenticatedExtendedCard",
        /// AgentVault: a message to a remote agent.
        TasksSend = "tasks/send",
        /// AgentVault: subscribe to a task.
        TasksSendSubscribe = "tasks/sendSubscribe",
        /// Any A2A message, wrapped (earlier revision, 4.7).
        ProtocolsA2a = "protocols/A2A",
        /// Any MCP message, wrapped (4.10).
        ProtocolsMcp = "protocols/MCP",
    }
}

impl Method {
    /// Returns `true` if the protocol lets a guardian answer `modify`; what would be a modification of the others is denied.
    ///
    /// Source: the decision tables of the A2A hooks (cancel, get push configuration, resubscribe).
    pub const fn allows_modification(self) -> bool {
        !matches!(
            self,
            Method::TasksCancel | Method::PushConfigGet | Method::TasksResubscribe
        )
    }
}

named_enum! {
    /// The kind of a step: one prompt template each.
    Kind {
        /// A message of the user, before it reaches the agent.
        UserMessage = "user_message",
        /// An answer of the agent, before it reaches the user.
        AgentMessage = "agent_message",
        /// A message of the system, before it reaches the user.
        SystemMessage = "system_message",
        /// An event that activates the agent.
        Trigger = "trigger",
        /// Retrieved documents, before they reach the agent.
        Knowledge = "knowledge",
        /// A memory, before it is stored.
        MemoryStore = "memory_store",
        /// A memory, before it reaches the agent.
        MemoryRetrieval = "memory_retrieval",
        /// A tool call, before it is made.
        ToolCall = "tool_call",
        /// A tool's answer, before it reaches the agent.
        ToolResult = "tool_result",
        /// An A2A message, before it is sent to a remote agent.
        A2aRequest = "a2a_request",
        /// A remote agent's answer or event, before it reaches the agent.
        A2aResponse = "a2a_response",
        /// An MCP request or notification, before it is sent.
        McpRequest = "mcp_request",
        /// An MCP answer, before it reaches the agent.
        McpResponse = "mcp_response",
    }
}

impl Kind {
    /// Returns `true` if the step acts on the world or hands something out, rather than bringing something in.
    pub const fn acts(self) -> bool {
        match self {
            Kind::ToolCall | Kind::A2aRequest | Kind::McpRequest | Kind::MemoryStore => true,
            Kind::UserMessage
            | Kind::AgentMessage
            | Kind::SystemMessage
            | Kind::Trigger
            | Kind::Knowledge
            | Kind::MemoryRetrieval
            | Kind::ToolResult
            | Kind::A2aResponse
            | Kind::McpResponse => false,
        }
    }

    /// Returns `true` if the step calls a tool.
    pub const fn calls_tool(self) -> bool {
        matches!(self, Kind::ToolCall | Kind::McpRequest)
    }

    /// Returns `true` if the step calls a tool or a remote agent.
    pub const fn calls(self) -> bool {
        self.calls_tool() || matches!(self, Kind::A2aRequest)
    }

    /// Returns `true` if the step is a tool's answer.
    pub const fn is_tool_answer(self) -> bool {
        matches!(self, Kind::ToolResult | Kind::McpResponse)
    }
}

named_enum! {
    /// The treatment of a step without a decision: the judge is down, its budget is gone, the deadline has passed.
    Posture {
        /// Deny the step. The default.
        Deny = "deny",
        /// Allow the step, unless a finding denies it.
        Allow = "allow",
        /// Answer with a JSON-RPC error (-32012), so that the agent decides.
        Error = "error",
    }
}
