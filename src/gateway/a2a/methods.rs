//! The methods of A2A under all their names, in both bindings.

use http::Method;

/// The operation that a caller asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::gateway) enum Op {
    Send,
    Stream,
    Get,
    List,
    Cancel,
    Subscribe,
    PushSet,
    PushGet,
    PushList,
    PushDelete,
    Card,
    /// A method that no revision of A2A defines.
    Unknown,
}

/// The revision whose names and shapes a caller uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::gateway) enum Version {
    /// 0.2 and 0.3.
    V0,
    /// 1.0.
    V1,
}

impl Op {
    /// Returns the operation of a JSON-RPC method.
    pub(in crate::gateway) fn of_rpc(name: &str) -> (Op, Version) {
        let op = match name {
            "message/send" | "SendMessage" => Op::Send,
            "message/stream" | "SendStreamingMessage" => Op::Stream,
            "tasks/get" | "GetTask" => Op::Get,
            "tasks/list" | "ListTasks" => Op::List,
            "tasks/cancel" | "CancelTask" => Op::Cancel,
            "tasks/resubscribe" | "SubscribeToTask" => Op::Subscribe,
            "tasks/pushNotificationConfig/set"
            | "CreateTaskPushNotificationConfig"
            | "SetTaskPushNotificationConfig" => Op::PushSet,
            "tasks/pushNotificationConfig/get" | "GetTaskPushNotificationConfig" => Op::PushGet,
            "tasks/pushNotificationConfig/list"
            | "ListTaskPushNotificationConfig"
            | "ListTaskPushNotificationConfigs" => Op::PushList,
            "tasks/pushNotificationConfig/delete" | "DeleteTaskPushNotificationConfig" => Op::PushDelete,
            "agent/getAuthenticatedExtendedCard" | "GetExtendedAgentCard" => Op::Card,
            _ => Op::Unknown,
        };
        let is_v1 = !name.contains('/') && name.starts_with(|c: char| c.is_ascii_uppercase());
        (op, if is_v1 { Version::V1 } else { Version::V0 })
    }

    /// Returns the operation of an HTTP+JSON request; `None` for paths that A2A does not define.
    pub(in crate::gateway) fn of_rest(method: &Method, path: &str) -> Option<(Op, Version)> {
        let segments: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let version = if segments.first() == Some(&"v1") {
            Version::V0
        } else {
            Version::V1
        };
        let after_tasks = segments
            .iter()
            .position(|segment| *segment == "tasks")
            .and_then(|at| segments.get(at + 1..))
            .filter(|rest| !rest.iter().any(|segment| segment.is_empty()));
        let (get, post) = (method == Method::GET, method == Method::POST);
        let op = match (segments.last().copied().unwrap_or_default(), after_tasks) {
            ("message:send", _) if post => Op::Send,
            ("message:stream", _) if post => Op::Stream,
            ("card" | "extendedAgentCard", None) if get => Op::Card,
            (_, Some([])) if get => Op::List,
            (_, Some([id])) if post && id.ends_with(":cancel") => Op::Cancel,
            (_, Some([id])) if id.ends_with(":subscribe") && (get || post) => Op::Subscribe,
            (_, Some([id])) if get && !id.contains(':') => Op::Get,
            (_, Some([_, "pushNotificationConfigs"])) if post => Op::PushSet,
            (_, Some([_, "pushNotificationConfigs"])) if get => Op::PushList,
            (_, Some([_, "pushNotificationConfigs", _])) if get => Op::PushGet,
            (_, Some([_, "pushNotificationConfigs", _])) if method == Method::DELETE => Op::PushDelete,
            _ => return None,
        };
        Some((op, version))
    }

    /// Returns the task that the path of an HTTP+JSON request names.
    pub(in crate::gateway) fn task_of_path(path: &str) -> Option<&str> {
        let (_, rest) = path.split_once("/tasks/")?;
        let id = rest.split('/').next()?;
        let bare = [":cancel", ":subscribe"].iter().find_map(|end| id.strip_suffix(end));
        let id = bare.unwrap_or(id);
        (!id.is_empty()).then_some(id)
    }

    /// Returns the AOS method of a request.
    pub(super) const fn of_request(self) -> &'static str {
        match self {
            Op::Send => "message/send",
            Op::Stream => "message/stream",
            Op::Get => "tasks/get",
            Op::List => "tasks/list",
            Op::Cancel => "tasks/cancel",
            Op::Subscribe => "tasks/resubscribe",
            Op::PushSet => "tasks/pushNotificationConfig/set",
            Op::PushGet => "tasks/pushNotificationConfig/get",
            Op::PushList => "tasks/pushNotificationConfig/list",
            Op::PushDelete => "tasks/pushNotificationConfig/delete",
            Op::Card => "agent/getAuthenticatedExtendedCard",
            Op::Unknown => "protocols/A2A",
        }
    }

    /// Returns the AOS method of an answer: one that may be modified.
    pub(super) const fn of_answer(self) -> &'static str {
        match self {
            Op::Subscribe => "message/stream",
            Op::Cancel => "tasks/get",
            Op::PushGet => "tasks/pushNotificationConfig/list",
            Op::Send
            | Op::Stream
            | Op::Get
            | Op::List
            | Op::PushSet
            | Op::PushList
            | Op::PushDelete
            | Op::Card
            | Op::Unknown => self.of_request(),
        }
    }

    /// Returns `true` if the answer is a stream.
    pub(in crate::gateway) const fn streams(self) -> bool {
        matches!(self, Op::Stream | Op::Subscribe)
    }

    /// Returns `true` if a request that carries nothing but ids and numbers needs no verdict.
    pub(super) const fn may_be_bare(self) -> bool {
        match self {
            Op::Get
            | Op::List
            | Op::Cancel
            | Op::Subscribe
            | Op::PushGet
            | Op::PushList
            | Op::PushDelete
            | Op::Card => true,
            Op::Send | Op::Stream | Op::PushSet | Op::Unknown => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_both_revisions_are_known() {
        let op = |method: Method, path: &str| Op::of_rest(&method, path);
        assert_eq!(op(Method::POST, "/v1/message:send"), Some((Op::Send, Version::V0)));
        assert_eq!(op(Method::POST, "/message:stream"), Some((Op::Stream, Version::V1)));
        assert_eq!(op(Method::POST, "/acme/message:send"), Some((Op::Send, Version::V1)));
        assert_eq!(op(Method::GET, "/tasks/t1"), Some((Op::Get, Version::V1)));
        assert_eq!(op(Method::POST, "/v1/tasks/t1:cancel"), Some((Op::Cancel, Version::V0)));
        assert_eq!(
            op(Method::GET, "/v1/tasks/t1:subscribe"),
            Some((Op::Subscribe, Version::V0))
        );
        assert_eq!(op(Method::GET, "/tasks"), Some((Op::List, Version::V1)));
        assert_eq!(
            op(Method::DELETE, "/tasks/t1/pushNotificationConfigs/c1"),
            Some((Op::PushDelete, Version::V1))
        );
        assert_eq!(op(Method::GET, "/extendedAgentCard"), Some((Op::Card, Version::V1)));
        for (method, path) in [
            (Method::GET, "/message:send"),
            (Method::POST, "/tasks/t1"),
            (Method::POST, "/"),
            (Method::GET, "/docs"),
            (Method::GET, "/tasks//x"),
        ] {
            assert_eq!(op(method, path), None, "{path}");
        }
        assert_eq!(Op::task_of_path("/v1/tasks/t1:cancel"), Some("t1"));
    }
}
