//! The settings of a gateway.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use secrecy::SecretString;
use url::Url;

use super::addresses::Callable;
use super::credentials::ClientCredentials;
use crate::model::{Enforcement, OrganisationId, named_enum};

/// A protocol that gateways speak.
#[derive(Debug)]
pub struct Protocol {
    /// The name in configuration and metrics.
    pub name: &'static str,
    /// True if callers can be given tokens.
    pub gives_tokens: bool,
    /// True if agents send notifications to webhooks.
    pub(super) notifies: bool,
    /// The ends of the paths under which agents show their cards, to everyone.
    pub(super) cards: &'static [&'static str],
    /// The paths at which an agent is asked whether it is there.
    pub(super) probes: &'static [&'static str],
    /// True if it goes between an agent and its tools: the agent calls, and whole messages are all there is.
    pub only_calls: bool,
    /// True if it is the interface of a model: the credentials of callers are meant for that.
    pub is_model: bool,
    /// The header of its sessions, whose ids may be tokens.
    pub(super) session: Option<&'static str>,
    /// Headers of callers that go on unread.
    pub(super) passed: &'static [&'static str],
    /// Headers of answers that callers are given, if these are identifiers.
    pub(super) answered: &'static [&'static str],
}

named_enum! {
    /// The agent that a gateway guards.
    Direction {
        /// The agent that calls: requests are its words, answers are another's.
        Egress = "egress",
        /// The agent that is called: requests are another's words, answers are its own.
        Ingress = "ingress",
    }
}

/// The place where a gateway is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// Under a path of the guardian's own address.
    Path(String),
    /// At an address of its own.
    Address(SocketAddr),
}

named_enum! {
    /// The time at which the events of a stream are judged.
    StreamMode {
        /// Words are held until the answer is whole, or as much as may be held is there.
        Hold = "hold",
        /// Words of a model go on at once and are judged at the end of the answer; its calls are held until then.
        Flow = "flow",
    }
}

named_enum! {
    /// The treatment of calls of a model that are denied.
    OnDeny {
        /// Words stand in their place.
        Replace = "replace",
        /// If all calls of an answer were denied, the model is told and asked again, a few times.
        Continue = "continue",
    }
}

named_enum! {
    /// The way in which callers authenticate, if keys are needed.
    ClientAuth {
        /// With a key.
        Key = "key",
        /// With a token that they get for a key. Keys are taken as well.
        OAuth2 = "oauth2",
    }
}

/// An AOS server that is asked in place of this process.
#[derive(Clone, Debug)]
pub struct RemoteGuardian {
    /// The address to which steps are posted.
    pub url: Url,
    /// Its API key.
    pub key: Option<SecretString>,
}

/// A gateway, as configured.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Its name in logs, metrics and audit records.
    pub name: String,
    /// Its protocol.
    pub protocol: &'static Protocol,
    /// The place where it is reached.
    pub listen: Listen,
    /// The agent behind it; `None`: the guardian itself answers as an agent.
    pub upstream: Option<Url>,
    /// The agent that it guards.
    pub direction: Direction,
    /// The enforcement of its verdicts; `None`: as for the organisation.
    pub mode: Option<Enforcement>,
    /// The time at which events are judged.
    pub stream_mode: StreamMode,
    /// Bytes of events that one stream may hold.
    pub hold_bytes: usize,
    /// The treatment of calls of a model that are denied.
    pub on_deny: OnDeny,
    /// The address under which others reach it, if that is not the one it listens on.
    pub public_url: Option<Url>,
    /// The scheme of the address that it listens at.
    pub scheme: &'static str,
    /// The organisation whose policy applies.
    pub organisation: OrganisationId,
    /// Hashes of the keys that callers need; empty: none is asked for.
    pub client_keys: Vec<[u8; 32]>,
    /// True if callers may show a token of an issuer of `[oidc]` instead of a key; `None`: if keys are asked for.
    pub client_tokens: Option<bool>,
    /// The credentials that cards ask callers for.
    pub client_auth: ClientAuth,
    /// If true, all callers that can reach its address may call, without a key.
    pub allow_unauthenticated: bool,
    /// Headers that it sends to the agent behind it: its own credentials.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The credentials by which it gets tokens for that agent.
    pub oauth2: Option<ClientCredentials>,
    /// If true, credentials of callers go on to the agent behind it.
    pub pass_auth: bool,
    /// Further headers of callers that go on.
    pub pass_headers: Vec<HeaderName>,
    /// The source of verdicts; `None`: this process.
    pub guardian: Option<RemoteGuardian>,
    /// The time that a verdict may take.
    pub decision_timeout: Duration,
    /// The time that the agent behind it may take to begin its answer, and be silent in the middle of a stream.
    pub upstream_timeout: Duration,
    /// The largest message.
    pub max_message_bytes: usize,
    /// Levels of arrays and objects in a message.
    pub max_depth: usize,
    /// Exchanges under way at the same time.
    pub max_in_flight: usize,
    /// The file in which the definitions of an MCP server's tools are noted.
    pub tools_file: Option<PathBuf>,
    /// The webhooks that may be called.
    pub callable: Callable,
}

impl Settings {
    /// Returns `true` if callers have to show a key or a token.
    pub fn asks_for_credentials(&self) -> bool {
        !self.client_keys.is_empty() || self.takes_tokens()
    }

    /// Returns `true` if tokens of issuers are taken.
    pub fn takes_tokens(&self) -> bool {
        self.client_tokens.unwrap_or(!self.client_keys.is_empty())
    }

    /// Returns `true` if callers without a key are let in from everywhere, which was not asked for.
    pub fn is_unprotected(&self, served_at: SocketAddr) -> bool {
        let address = match self.listen {
            Listen::Address(address) => address,
            Listen::Path(_) => served_at,
        };
        !self.asks_for_credentials() && !self.allow_unauthenticated && !address.ip().is_loopback()
    }
}
