//! The names under which methods arrive, in all the spellings that the published texts and their revisions use.

use crate::model::Method;

/// The protocol whose message a request carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    /// A step of AOS itself.
    Aos,
    /// An A2A or AgentVault message.
    A2a,
    /// An MCP message.
    Mcp,
}

/// The meaning of a method's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named<'m> {
    /// `ping`.
    Ping,
    /// A step.
    Step {
        /// The method, canonical.
        method: Method,
        /// The protocol of its message.
        protocol: Protocol,
        /// The inner method that the name spells after `protocols/A2A/` or `protocols/MCP/`.
        inner: Option<&'m str>,
    },
}

/// Returns the meaning of a method's name; `None` if there is no such method.
pub(super) fn resolve(name: &str) -> Option<Named<'_>> {
    if name == "ping" {
        return Some(Named::Ping);
    }
    let step = |method, protocol, inner| {
        Some(Named::Step {
            method,
            protocol,
            inner,
        })
    };
    if let Some(inner) = name.strip_prefix("protocols/A2A/").filter(|inner| !inner.is_empty()) {
        return step(a2a(inner).unwrap_or(Method::ProtocolsA2a), Protocol::A2a, Some(inner));
    }
    if let Some(inner) = name.strip_prefix("protocols/MCP/").filter(|inner| !inner.is_empty()) {
        return step(Method::ProtocolsMcp, Protocol::Mcp, Some(inner));
    }
    if name.starts_with("steps/") {
        return step(Method::from_name(name)?, Protocol::Aos, None);
    }
    match name {
        "protocols/A2A" => step(Method::ProtocolsA2a, Protocol::A2a, None),
        "protocols/MCP" => step(Method::ProtocolsMcp, Protocol::Mcp, None),
        _ => step(a2a(name)?, Protocol::A2a, None),
    }
}

/// Returns the A2A or AgentVault method of this name: canonical, singular, of A2A 0.1, or of A2A 1.0.
pub(super) fn a2a(name: &str) -> Option<Method> {
    Some(match name {
        "message/send" | "SendMessage" => Method::MessageSend,
        "message/stream" | "SendStreamingMessage" => Method::MessageStream,
        "tasks/get" | "task/get" | "GetTask" => Method::TasksGet,
        "tasks/list" | "task/list" | "ListTasks" => Method::TasksList,
        "tasks/cancel" | "task/cancel" | "CancelTask" => Method::TasksCancel,
        "tasks/resubscribe" | "task/resubscribe" | "SubscribeToTask" => Method::TasksResubscribe,
        "tasks/pushNotificationConfig/set"
        | "task/pushNotificationConfig/set"
        | "tasks/pushNotification/set"
        | "CreateTaskPushNotificationConfig"
        | "SetTaskPushNotificationConfig" => Method::PushConfigSet,
        "tasks/pushNotificationConfig/get"
        | "task/pushNotificationConfig/get"
        | "tasks/pushNotification/get"
        | "GetTaskPushNotificationConfig" => Method::PushConfigGet,
        "tasks/pushNotificationConfig/list"
        | "task/pushNotificationConfig/list"
        | "ListTaskPushNotificationConfig"
        | "ListTaskPushNotificationConfigs" => Method::PushConfigList,
        "tasks/pushNotificationConfig/delete"
        | "task/pushNotificationConfig/delete"
        | "DeleteTaskPushNotificationConfig" => Method::PushConfigDelete,
        "agent/getAuthenticatedExtendedCard" | "agent/authenticatedExtendedCard" | "GetExtendedAgentCard" => {
            Method::AgentCard
        }
        "tasks/send" | "task/send" => Method::TasksSend,
        "tasks/sendSubscribe" | "task/sendSubscribe" => Method::TasksSendSubscribe,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn method_of(name: &str) -> Option<(Method, Protocol)> {
        match resolve(name)? {
            Named::Ping => None,
            Named::Step { method, protocol, .. } => Some((method, protocol)),
        }
    }

    #[test]
    fn every_canonical_name_resolves_to_itself() {
        for method in Method::ALL {
            assert_eq!(method_of(method.as_str()).map(|(found, _)| found), Some(*method));
        }
        assert_eq!(resolve("ping"), Some(Named::Ping));
    }

    #[test]
    fn names_that_only_look_like_methods_do_not_resolve() {
        for name in [
            "",
            "steps/",
            "steps/Message",
            "STEPS/message",
            "Ping",
            "protocols/A2A/",
            "protocols/",
            "sendmessage",
        ] {
            assert_eq!(resolve(name), None, "{name}");
        }
    }
}
