//! Names of who and what: organisations, callers, agents, sessions, users, requests.

use std::fmt;

macro_rules! identifier {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(String);

        impl $name {
            /// Wraps an identifier as it was received.
            pub fn new(id: impl Into<String>) -> Self {
                Self(id.into())
            }

            /// The identifier's text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

identifier!(
    /// An organisation: the unit of policy, prompts, limits and isolation.
    OrganisationId
);
identifier!(
    /// An agent, by the `id` or, failing that, the `name` that it declares (AOS 3.1).
    AgentId
);
identifier!(
    /// A session (AOS 3.9); for A2A the `contextId` or task id of the message.
    SessionId
);
identifier!(
    /// The user behind a session (AOS 3.10).
    UserId
);

/// A JSON-RPC request id: a string or an integer, sent back as it came (AOS 3.12.1).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RequestId {
    /// A string id.
    Text(String),
    /// An integer id, in the digits it was written with.
    Integer(String),
}

/// The sender of a step: the organisation that the credential belongs to, and a name for the credential.
///
/// The name is for limits and audit records; it is never the credential itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Caller {
    /// The organisation that owns the credential.
    pub organisation: OrganisationId,
    /// A short, non-secret name of the credential (`local`, `key-1a2b3c4d`).
    pub name: String,
}
