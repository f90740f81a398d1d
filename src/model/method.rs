//! The methods an agent can call, and the kinds of step that they carry.

use std::fmt;

macro_rules! methods {
    ($($(#[$doc:meta])* $variant:ident = $name:literal),+ $(,)?) => {
        /// A method of the protocol, under the one name by which policies, metrics and audit records know it.
        ///
        /// Synonyms (`task/get`, `SendMessage`, `protocols/MCP/tools/call`) are resolved by the wire module.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Method { $($(#[$doc])* $variant),+ }

        impl Method {
            /// Every method, in the order of the specification.
            pub const ALL: &'static [Method] = &[$(Method::$variant),+];

            /// The canonical name, as it stands in AOS 0.1.0 section 4.
            pub const fn as_str(self) -> &'static str {
                match self { $(Method::$variant => $name),+ }
            }

            /// The method of this canonical name.
            pub fn from_name(name: &str) -> Option<Method> {
                match name { $($name => Some(Method::$variant),)+ _ => None }
            }
        }
    };
}

methods! {
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

impl Method {
    /// Whether the protocol lets a guardian answer `modify`; what would be a modification of the others is denied.
    ///
    /// Source: the decision tables of the A2A hooks (cancel, get push configuration, resubscribe).
    pub const fn allows_modification(self) -> bool {
        !matches!(
            self,
            Method::TasksCancel | Method::PushConfigGet | Method::TasksResubscribe
        )
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What kind of step it is: one prompt template each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A message of the user, before it reaches the agent.
    UserMessage,
    /// An answer of the agent, before it reaches the user.
    AgentMessage,
    /// A message of the system, before it reaches the user.
    SystemMessage,
    /// An event that activates the agent.
    Trigger,
    /// Retrieved documents, before they reach the agent.
    Knowledge,
    /// A memory, before it is stored.
    MemoryStore,
    /// A memory, before it reaches the agent.
    MemoryRetrieval,
    /// A tool call, before it is made.
    ToolCall,
    /// A tool's answer, before it reaches the agent.
    ToolResult,
    /// An A2A message, before it is sent to a remote agent.
    A2aRequest,
    /// A remote agent's answer or event, before it reaches the agent.
    A2aResponse,
    /// An MCP request or notification, before it is sent.
    McpRequest,
    /// An MCP answer, before it reaches the agent.
    McpResponse,
}

impl Kind {
    /// Every kind.
    pub const ALL: &'static [Kind] = &[
        Kind::UserMessage,
        Kind::AgentMessage,
        Kind::SystemMessage,
        Kind::Trigger,
        Kind::Knowledge,
        Kind::MemoryStore,
        Kind::MemoryRetrieval,
        Kind::ToolCall,
        Kind::ToolResult,
        Kind::A2aRequest,
        Kind::A2aResponse,
        Kind::McpRequest,
        Kind::McpResponse,
    ];

    /// The name, which is also the name of the prompt template.
    pub const fn as_str(self) -> &'static str {
        match self {
            Kind::UserMessage => "user_message",
            Kind::AgentMessage => "agent_message",
            Kind::SystemMessage => "system_message",
            Kind::Trigger => "trigger",
            Kind::Knowledge => "knowledge",
            Kind::MemoryStore => "memory_store",
            Kind::MemoryRetrieval => "memory_retrieval",
            Kind::ToolCall => "tool_call",
            Kind::ToolResult => "tool_result",
            Kind::A2aRequest => "a2a_request",
            Kind::A2aResponse => "a2a_response",
            Kind::McpRequest => "mcp_request",
            Kind::McpResponse => "mcp_response",
        }
    }

    /// Whether the step acts on the world or hands something out, rather than bringing something in.
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
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What happens to a step when nobody could decide: the judge is down, its budget is gone, the deadline has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Posture {
    /// Deny the step. The default.
    Deny,
    /// Allow the step, unless a finding denies it.
    Allow,
    /// Answer with a JSON-RPC error (-32012), so that the agent decides.
    Error,
}
