//! A gateway at work: its settings and everything that its exchanges share.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderName;
use http::header::{AUTHORIZATION, COOKIE};
use tokio::sync::Semaphore;
use url::Url;

use super::conversations::Conversations;
use super::denial::{Denial, Stage};
use super::error::GatewayError;
use super::json::{Json, object};
use super::judged_units::{Digest, JudgedUnits, Novelty, STOPPED, beginning};
use super::kept::Kept;
use super::push::{WEBHOOKS, Webhooks};
use super::settings::{ClientAuth, Direction, Listen, Settings};
use super::tokens::Tokens;
use super::transport::Transport;
use super::upstream::{Room, Upstream};
use super::verdicts::{Depth, Question, Source, VerdictClient};
use crate::access::LiveKeyring;
use crate::model::Caller;
use crate::outgoing::client;
use crate::pipeline::Guardian;
use crate::shared::{self, Link, LocalValues, SharedValues, Values};
use crate::telemetry::names;
use crate::wire;
use crate::work::Memory;

/// A gateway at work.
pub(super) struct Route {
    pub(super) settings: Settings,
    /// The URL at which callers reach it; without a slash at its end.
    pub(super) base: Url,
    pub(super) upstream: Option<Upstream>,
    pub(super) verdicts: VerdictClient,
    pub(super) judged: JudgedUnits,
    /// The judged pieces of conversations with a model; under other settings they are judged again.
    pub(super) conversations: Conversations,
    pub(super) webhooks: Webhooks,
    pub(super) tokens: Tokens,
    pub(super) kept: Kept,
    pub(super) in_flight: Arc<Semaphore>,
    pub(super) memory: Arc<Memory>,
    pub(super) keyring: LiveKeyring,
    aside: Arc<Semaphore>,
}

/// Pieces of work beside an exchange, such as cancelling what was stopped.
const ASIDE: usize = 64;
const ASIDE_TIMEOUT: Duration = Duration::from_secs(5);

impl Route {
    /// Makes a route; `before` is the same gateway under its settings until now, whose memory is kept.
    pub(super) fn new(
        settings: Settings,
        served_at: &str,
        guardian: Arc<Guardian>,
        (memory, keyring): (Arc<Memory>, LiveKeyring),
        before: Option<&Self>,
    ) -> Result<Self, GatewayError> {
        let failed = |why: String| GatewayError::of(&settings.name, why);
        let base = match (&settings.public_url, &settings.listen) {
            (Some(url), _) => url.as_str().trim_end_matches('/').to_owned(),
            (None, Listen::Path(path)) => format!("{served_at}{path}"),
            (None, Listen::Address(_)) => served_at.to_owned(),
        };
        let base = Url::parse(&base).map_err(|error| failed(format!("`{base}` is no address: {error}")))?;
        let upstream = settings
            .upstream
            .clone()
            .map(|url| Upstream::new(&settings, url))
            .transpose()
            .map_err(|error| failed(error.to_string()))?;
        let limits = wire::Limits {
            max_body_bytes: settings.max_message_bytes.saturating_mul(4).saturating_add(64 * 1024),
            max_depth: settings.max_depth + 8,
            a2a_side: match settings.direction {
                Direction::Egress => wire::Side::Client,
                Direction::Ingress => wire::Side::Server,
            },
            ..wire::Limits::default()
        };
        let owner = format!("gateway {} of {}", settings.name, settings.organisation.as_str());
        let link = guardian.link().cloned();
        let values = |kind, kept| values(link.as_ref(), kind, &owner, kept);
        let source = match &settings.guardian {
            Some(remote) => {
                let http = client().build().map_err(|error| failed(error.to_string()))?;
                let (url, key) = (remote.url.clone(), remote.key.clone());
                Source::There { http, url, key }
            }
            None => Source::Here {
                guardian,
                caller: Caller {
                    organisation: settings.organisation.clone(),
                    name: format!("gateway:{}", settings.name),
                },
            },
        };
        let verdicts = VerdictClient::new(source, settings.mode, settings.decision_timeout, limits);
        let webhooks = match before {
            Some(before) => before.webhooks.renewed(&settings.callable),
            None => Webhooks::new(&settings.callable, values("webhook", WEBHOOKS)),
        };
        let webhooks = webhooks.map_err(|error| failed(error.to_string()))?;
        Ok(Self {
            base,
            upstream,
            verdicts,
            conversations: Conversations::default(),
            judged: match before {
                Some(before) => before.judged.renewed(),
                None => JudgedUnits::new(values("stopped-task", STOPPED)),
            },
            webhooks,
            tokens: match before {
                Some(before) => before.tokens.clone(),
                None => Tokens::with(
                    link.as_ref()
                        .and_then(|link| link.secret(&format!("tokens of {owner}"))),
                ),
            },
            kept: before.map(|before| before.kept.clone()).unwrap_or_default(),
            in_flight: Arc::new(Semaphore::new(settings.max_in_flight)),
            memory,
            keyring,
            aside: Arc::new(Semaphore::new(ASIDE)),
            settings,
        })
    }

    /// Returns once other nodes are told of what was stopped and registered here, or cannot be.
    pub(super) async fn tell_nodes(&self) {
        self.webhooks.tell_nodes().await;
        self.judged.tell_nodes().await;
    }

    /// Returns `true` if callers can get tokens here.
    pub(super) fn gives_tokens(&self) -> bool {
        let settings = &self.settings;
        settings.client_auth == ClientAuth::OAuth2 && settings.protocol.gives_tokens && !settings.client_keys.is_empty()
    }

    /// Returns the headers of callers that go on unread, because the configuration says so.
    pub(super) fn passed_headers(&self) -> Vec<HeaderName> {
        let mut passed = self.settings.pass_headers.clone();
        passed.extend(
            self.settings
                .protocol
                .passed
                .iter()
                .copied()
                .map(HeaderName::from_static),
        );
        if self.settings.pass_auth {
            passed.extend([
                AUTHORIZATION,
                COOKIE,
                HeaderName::from_static("x-api-key"),
                HeaderName::from_static("api-key"),
            ]);
        }
        passed
    }

    /// Returns room for an answer, or for the held part of a stream.
    pub(super) fn room(&self) -> Room {
        Room::of(&self.memory, &self.settings.organisation)
    }

    /// Reads JSON within the bounds of this gateway.
    pub(super) fn parse(&self, bytes: &[u8]) -> Result<Json, wire::RpcError> {
        Json::parse(bytes, self.settings.max_depth, 100_000)
    }

    /// Returns an address under this gateway.
    pub(super) fn here(&self, rest: &str) -> String {
        format!("{}{rest}", self.base.as_str().trim_end_matches('/'))
    }

    /// Returns the sender and the receiver of a message that was asked for by a request, or of the request itself.
    pub(super) fn context(&self, is_answer: bool) -> Json {
        let observed = object([
            ("id", self.settings.name.as_str().into()),
            ("name", self.settings.name.as_str().into()),
            ("version", "unknown".into()),
            ("instructions", "".into()),
        ]);
        let other = object([("name", "remote agent".into()), ("url", self.remote_url().into())]);
        let (client, server) = match self.settings.direction {
            Direction::Egress => (observed, other),
            Direction::Ingress => (other, observed),
        };
        let party = |agent, role: &str| object([("agent", agent), ("role", role.into())]);
        let (client, server) = (party(client, "client"), party(server, "server"));
        if is_answer {
            object([("from", server), ("to", client)])
        } else {
            object([("from", client), ("to", server)])
        }
    }

    fn remote_url(&self) -> String {
        match (self.settings.direction, &self.settings.upstream) {
            (Direction::Egress, Some(upstream)) => {
                let mut place = upstream.clone();
                // A credential in the address is not told.
                let _ = place.set_username("");
                let _ = place.set_password(None);
                place.set_query(None);
                place.to_string()
            }
            (Direction::Egress | Direction::Ingress, _) => "unknown:".to_owned(),
        }
    }

    /// Judges a whole answer, which may have been judged before, and returns its new form. `scope` is the task that it belongs to; `carried` finds it
    /// in the parameters of its step.
    pub(super) async fn judge_view(
        &self,
        scope: Option<&str>,
        mut view: Json,
        question: impl FnOnce(Json) -> Question,
        carried: impl FnOnce(Json) -> Option<Json>,
    ) -> Result<Json, Denial> {
        self.judged.renew(scope, &mut view);
        let start = scope.map(beginning);
        let question = question(view.clone());
        let known = self.judged.known(start, &view);
        let asked = match known {
            Novelty::Bare => self.verdicts.ask(&question, Depth::Rules).await?,
            Novelty::Released => self.verdicts.repeat(&question).await?,
            Novelty::New => self.verdicts.ask(&question, Depth::Whole).await?,
        };
        let became = match asked {
            None => view.clone(),
            Some(params) => carried(params).ok_or_else(|| Denial::unmodifiable(question.stage))?,
        };
        if let (Novelty::New, Some(scope), Some(start)) = (known, scope, start) {
            self.judged.remember(scope, start, &view, &became);
        }
        Ok(became)
    }

    /// Whether something that stands for itself was let through, and passes without being asked about.
    pub(super) fn passes_again(&self, digest: Digest) -> bool {
        self.judged.was_let_through(digest) && !self.verdicts.change_with_time()
    }

    /// Judges the parts of a request's path and headers that may hold words. Parts that were let through before go on.
    pub(super) async fn admit_transport(&self, transport: &Transport) -> Result<(), Denial> {
        let Some(unread) = &transport.unread else {
            return Ok(());
        };
        let digest: Digest = blake3::hash(unread.write().as_bytes()).into();
        if self.passes_again(digest) {
            return Ok(());
        }
        let question = self.beside(Stage::Request, "forwarded", unread.clone());
        let depth = match transport.is_identifiers() {
            true => Depth::Rules,
            false => Depth::Whole,
        };
        if self.verdicts.ask(&question, depth).await?.is_some() {
            return Err(Denial::unmodifiable(Stage::Request));
        }
        self.judged.let_through(digest);
        Ok(())
    }

    /// Returns the step that a text beside a message is judged as.
    fn beside(&self, stage: Stage, name: &str, said: Json) -> Question {
        let mut message = object([("jsonrpc", "2.0".into()), ("id", name.into())]);
        if stage == Stage::Request {
            message.set("method", "message/send");
            message.set("params", object([(name, said)]));
        } else {
            message.set("result", object([(name, said)]));
        }
        let context = self.context(stage == Stage::Response);
        Question {
            method: "protocols/A2A",
            params: object([("message", message), ("context", context)]),
            stage,
        }
    }

    /// Does some work beside an exchange, within bounds of number and time.
    pub(super) fn aside(&self, work: impl Future<Output = ()> + Send + 'static) {
        let Ok(permit) = Arc::clone(&self.aside).try_acquire_owned() else {
            return;
        };
        tokio::spawn(async move {
            // Late or not: no caller waits for it.
            let _ = tokio::time::timeout(ASIDE_TIMEOUT, work).await;
            drop(permit);
        });
    }

    /// Counts an exchange.
    pub(super) fn count(&self, outcome: &'static str) {
        metrics::counter!(
            names::GATEWAY_EXCHANGES,
            "gateway" => self.settings.name.clone(),
            "protocol" => self.settings.protocol.name,
            "direction" => self.settings.direction.as_str(),
            "outcome" => outcome
        )
        .increment(1);
    }
}

/// Returns the values of one kind: this process's, or those of all nodes.
fn values(link: Option<&Link>, kind: &'static str, owner: &str, kept: shared::Kept) -> Arc<dyn Values> {
    match link {
        None => Arc::new(LocalValues::new(kept)),
        Some(link) => Arc::new(SharedValues::new(link.clone(), kind, owner.as_bytes(), kept)),
    }
}
