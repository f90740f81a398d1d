//! The hooks: the step of AOS that each is judged as, and the decisions that are possible at it.

use crate::model::{Kind, Method, Origin};

macro_rules! hooks {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $method:ident, $kind:ident, $origin:ident;)+) => {
        /// A hook of an agent's life (5).
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Hook { $($(#[$doc])* $variant),+ }

        impl Hook {
            fn from_name(name: &str) -> Option<Self> {
                match name { $($name => Some(Hook::$variant),)+ _ => None }
            }

            /// Returns the step that it is judged as, and the origin of its words.
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

/// The decisions that are possible at a hook.
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
    /// Returns the decisions that are possible at it.
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

    /// Returns `true` if it marks a point in an agent's life, and carries words only if a client adds some.
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

/// The meaning of a method's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    /// `handshake/hello`.
    Hello,
    /// `system/ping`.
    Ping,
    /// `steps/…`.
    Hook(Hook),
    /// A message of MCP: the number of bytes of the name before its own method.
    Mcp(usize),
}

/// Returns the meaning of a method's name; `None` if there is no such method.
pub(in crate::wire) fn named(name: &str) -> Option<Named> {
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
