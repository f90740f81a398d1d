//! What a gateway is configured to do.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use secrecy::SecretString;
use url::Url;

use super::addresses::Callable;
use super::credentials::ClientCredentials;
use crate::model::{Enforcement, OrganisationId};

/// A protocol that gateways speak.
#[derive(Debug)]
pub struct Protocol {
    /// The name in configuration and metrics.
    pub name: &'static str,
    /// Whether callers can be given tokens.
    pub gives_tokens: bool,
    /// Whether agents send notifications to webhooks.
    pub(super) notifies: bool,
    /// How the paths end under which agents show their cards, to everybody.
    pub(super) cards: &'static [&'static str],
    /// Where an agent is asked whether it is there.
    pub(super) probes: &'static [&'static str],
    /// Whether it goes between an agent and its tools: the agent calls, and whole messages are all there is.
    pub only_calls: bool,
    /// Whether it is the interface of a model: what callers show as their credentials is meant for that.
    pub is_model: bool,
    /// Headers of callers that go on unread.
    pub(super) passed: &'static [&'static str],
    /// Headers of answers that callers are given, where these are identifiers.
    pub(super) answered: &'static [&'static str],
}

/// Whom a gateway guards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The agent that calls: requests are its words, answers are another's.
    Egress,
    /// The agent that is called: requests are another's words, answers are its own.
    Ingress,
}

impl Direction {
    /// The name in configuration and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Direction::Egress => "egress",
            Direction::Ingress => "ingress",
        }
    }
}

/// Where a gateway is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// Under a path of the guardian's own address.
    Path(String),
    /// At an address of its own.
    Address(SocketAddr),
}

/// When the events of a stream are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamMode {
    /// Words are held until the answer is whole, or as much as may be held is there.
    Hold,
    /// Words of a model go on at once and are judged at the end of the answer; its calls are held until then.
    Flow,
}

/// What becomes of calls of a model that are denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDeny {
    /// Words stand in their place.
    Replace,
    /// Where all of an answer's were denied, the model is told and asked again, a few times.
    Continue,
}

/// How callers show who they are, where keys are needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientAuth {
    /// With a key.
    Key,
    /// With a token that they get for a key. Keys are taken as well.
    OAuth2,
}

/// An AOS server that is asked in place of this process.
#[derive(Clone, Debug)]
pub struct RemoteGuardian {
    /// Where steps are posted.
    pub url: Url,
    /// The key it asks for.
    pub key: Option<SecretString>,
}

/// A gateway, as configured.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Its name in logs, metrics and audit records.
    pub name: String,
    /// What it speaks.
    pub protocol: &'static Protocol,
    /// Where it is reached.
    pub listen: Listen,
    /// The agent behind it; `None`: the guardian itself answers as an agent.
    pub upstream: Option<Url>,
    /// Whom it guards.
    pub direction: Direction,
    /// Whether its verdicts are enforced; `None`: as for the organisation.
    pub mode: Option<Enforcement>,
    /// When events are judged.
    pub stream_mode: StreamMode,
    /// Bytes of events that one stream may hold.
    pub hold_bytes: usize,
    /// What becomes of calls of a model that are denied.
    pub on_deny: OnDeny,
    /// The address under which others reach it, where that is not the one it listens on.
    pub public_url: Option<Url>,
    /// The scheme of the address that it listens at.
    pub scheme: &'static str,
    /// Whose policy applies.
    pub organisation: OrganisationId,
    /// Hashes of the keys that callers need; empty: none is asked for.
    pub client_keys: Vec<[u8; 32]>,
    /// Whether callers may show a token of an issuer of `[oidc]` instead of a key; `None`: where keys are asked for.
    pub client_tokens: Option<bool>,
    /// What cards ask callers for.
    pub client_auth: ClientAuth,
    /// Anybody who can reach its address may call, without a key.
    pub allow_unauthenticated: bool,
    /// Headers that it sends to the agent behind it: its own credentials.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// What it shows to get tokens for that agent.
    pub oauth2: Option<ClientCredentials>,
    /// Credentials of callers go on to the agent behind it.
    pub pass_auth: bool,
    /// Further headers of callers that go on.
    pub pass_headers: Vec<HeaderName>,
    /// Where verdicts come from; `None`: from this process.
    pub guardian: Option<RemoteGuardian>,
    /// How long a verdict may take.
    pub decision_timeout: Duration,
    /// How long the agent behind it may take to begin its answer, and be silent in the middle of a stream.
    pub upstream_timeout: Duration,
    /// The largest message.
    pub max_message_bytes: usize,
    /// Levels of arrays and objects in a message.
    pub max_depth: usize,
    /// Exchanges under way at the same time.
    pub max_in_flight: usize,
    /// Where the definitions of an MCP server's tools are noted.
    pub tools_file: Option<PathBuf>,
    /// Which webhooks may be called.
    pub callable: Callable,
}

impl Settings {
    /// Whether callers have to show a key or a token.
    pub fn asks_for_credentials(&self) -> bool {
        !self.client_keys.is_empty() || self.takes_tokens()
    }

    /// Whether tokens of issuers are taken.
    pub fn takes_tokens(&self) -> bool {
        self.client_tokens.unwrap_or(!self.client_keys.is_empty())
    }

    /// Whether callers without a key are let in from everywhere, which nobody asked for.
    pub fn is_unprotected(&self, served_at: SocketAddr) -> bool {
        let address = match self.listen {
            Listen::Address(address) => address,
            Listen::Path(_) => served_at,
        };
        !self.asks_for_credentials() && !self.allow_unauthenticated && !address.ip().is_loopback()
    }
}
