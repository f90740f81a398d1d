//! Keys: the session, and the agent, that a step belongs to.
//!
//! INVARIANT: a key covers organisation, credential, agent and session id, each with its length before it. A caller that names another caller's
//! session under its own credential, or as another agent, has a session of its own.

use crate::model::{Caller, Kind, OrganisationId, Step};

/// The key of a session: a hash, so that a store learns no ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionKey {
    hash: [u8; 32],
    owner: OrganisationHash,
}

/// The key of an agent over all its sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AgentKey {
    hash: [u8; 32],
    owner: OrganisationHash,
}

/// The organisation that a key belongs to: a hash as well, so that stores can tell how much one organisation holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OrganisationHash([u8; 16]);

impl OrganisationHash {
    /// Returns its bytes, for stores.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Hashes the id of an organisation.
    pub fn of(organisation: &OrganisationId) -> Self {
        let mut short = [0; 16];
        blake3::Hasher::new()
            .update(organisation.as_str().as_bytes())
            .finalize_xof()
            .fill(&mut short);
        Self(short)
    }
}

/// The treatment of steps that name no session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nameless {
    /// No session: the step is judged by itself.
    Alone,
    /// The session of the credential, for messages between agents and to tool servers, which have no context to name a session in.
    ByCredential,
}

impl SessionKey {
    /// Returns the session of a step: the one that it names; else the one by `nameless`.
    pub fn of(caller: &Caller, step: &Step, nameless: Nameless) -> Option<Self> {
        let named = step.session.as_ref().map(|id| id.as_str());
        let mut parts = Parts::new("session", caller, step);
        match (named, nameless) {
            (Some(id), _) => parts.text(id),
            (None, Nameless::ByCredential) if speaks_a_protocol(step) => parts.text_of(None),
            (None, Nameless::Alone | Nameless::ByCredential) => return None,
        }
        Some(Self {
            hash: parts.finish(),
            owner: OrganisationHash::of(&caller.organisation),
        })
    }

    /// Returns the key's bytes, for stores.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.hash
    }

    /// Returns the organisation that it belongs to.
    pub fn owner(&self) -> OrganisationHash {
        self.owner
    }
}

impl AgentKey {
    /// Returns the key of the agent that takes a step, if the step names it.
    pub fn of(caller: &Caller, step: &Step) -> Option<Self> {
        step.agent.as_ref()?.id.as_ref()?;
        Some(Self {
            hash: Parts::new("agent", caller, step).finish(),
            owner: OrganisationHash::of(&caller.organisation),
        })
    }

    /// Returns the key's bytes, for stores.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.hash
    }

    /// Returns the organisation that it belongs to.
    pub fn owner(&self) -> OrganisationHash {
        self.owner
    }
}

/// The session and the agent that a step belongs to, where it belongs to any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keys {
    pub(super) session: Option<SessionKey>,
    pub(super) agent: Option<AgentKey>,
}

impl Keys {
    /// Returns the session.
    pub fn session(&self) -> Option<SessionKey> {
        self.session
    }

    /// Returns the keys of a step. One without a session has no agent either.
    pub(super) fn of(caller: &Caller, step: &Step, nameless: Nameless) -> Self {
        let session = SessionKey::of(caller, step, nameless);
        Self {
            session,
            agent: session.and_then(|_| AgentKey::of(caller, step)),
        }
    }
}

/// Returns `true` if a step is a message of A2A or MCP.
fn speaks_a_protocol(step: &Step) -> bool {
    matches!(
        step.kind,
        Kind::A2aRequest | Kind::A2aResponse | Kind::McpRequest | Kind::McpResponse
    )
}

struct Parts(blake3::Hasher);

impl Parts {
    fn new(what: &str, caller: &Caller, step: &Step) -> Self {
        let mut parts = Self(blake3::Hasher::new());
        parts.text(what);
        parts.text(caller.organisation.as_str());
        parts.text(&caller.name);
        let agent = step.agent.as_ref().and_then(|agent| agent.id.as_ref());
        parts.text_of(agent.map(|id| id.as_str()));
        parts
    }

    fn text(&mut self, text: &str) {
        self.text_of(Some(text));
    }

    fn text_of(&mut self, text: Option<&str>) {
        self.0.update(&[u8::from(text.is_some())]);
        let text = text.unwrap_or_default();
        self.0.update(&(text.len() as u64).to_le_bytes());
        self.0.update(text.as_bytes());
    }

    fn finish(self) -> [u8; 32] {
        *self.0.finalize().as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing::step;
    use crate::model::{Agent, AgentId, Kind, OrganisationId, SessionId};

    fn caller(organisation: &str, name: &str) -> Caller {
        Caller {
            organisation: OrganisationId::new(organisation),
            name: name.to_owned(),
        }
    }

    fn step_of(agent: Option<&str>, session: Option<&str>) -> Step {
        let mut step = step();
        step.agent = agent.map(|id| Agent {
            id: Some(AgentId::new(id)),
            ..Agent::default()
        });
        step.session = session.map(SessionId::new);
        step
    }

    #[test]
    fn a_session_belongs_to_one_organisation_credential_and_agent() {
        let of = |organisation, name, agent, session| {
            SessionKey::of(
                &caller(organisation, name),
                &step_of(Some(agent), Some(session)),
                Nameless::Alone,
            )
        };
        let own = of("acme", "key-1", "desk", "s-1");
        assert!(own.is_some());
        assert_eq!(own, of("acme", "key-1", "desk", "s-1"));
        for other in [
            of("acme", "key-1", "desk", "s-2"),
            of("acme", "key-1", "other", "s-1"),
            of("acme", "key-2", "desk", "s-1"),
            of("evil", "key-1", "desk", "s-1"),
            of("acmek", "ey-1", "desk", "s-1"),
        ] {
            assert_ne!(own, other);
        }
        let no_agent = SessionKey::of(
            &caller("acme", "key-1"),
            &step_of(None, Some("desks-1")),
            Nameless::Alone,
        );
        assert_ne!(no_agent, of("acme", "key-1", "desk", "s-1"));
    }

    #[test]
    fn a_step_without_a_session_stands_alone_unless_a_credential_stands_for_one() {
        let caller = caller("acme", "key-1");
        let mut nameless = step_of(Some("desk"), None);
        assert_eq!(SessionKey::of(&caller, &nameless, Nameless::ByCredential), None);
        nameless.kind = Kind::McpRequest;
        assert_eq!(SessionKey::of(&caller, &nameless, Nameless::Alone), None);
        let by_credential = SessionKey::of(&caller, &nameless, Nameless::ByCredential);
        assert!(by_credential.is_some());
        let mut named = step_of(Some("desk"), Some(""));
        named.kind = Kind::McpRequest;
        assert_ne!(by_credential, SessionKey::of(&caller, &named, Nameless::ByCredential));
    }

    #[test]
    fn an_agent_is_known_by_organisation_credential_and_id() {
        let acme = caller("acme", "key-1");
        assert_eq!(AgentKey::of(&acme, &step_of(None, Some("s"))), None);
        let desk = AgentKey::of(&acme, &step_of(Some("desk"), Some("s-1")));
        assert_eq!(desk, AgentKey::of(&acme, &step_of(Some("desk"), None)));
        assert_ne!(
            desk,
            AgentKey::of(&caller("evil", "key-1"), &step_of(Some("desk"), None))
        );
    }
}
