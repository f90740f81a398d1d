//! Endpoints in order: who is asked, who is asked next, and until when.
//!
//! - **Order.** The first endpoint whose breaker is closed is asked. On a fault of the endpoint (no connection, its share of
//!   the time gone, 5xx, 429 for longer than a moment, 401, 404, …) the next one is. A refusal, a content filter or an
//!   unusable reply ends the call: whoever wrote a content could bring these about, and so choose who judges.
//! - **Time.** The deadline is the call's, whatever happens. While others could be asked, an endpoint gets at most two parts
//!   of what is left, each other one a part: of two, the first gets two thirds. An endpoint's own timeout holds as well.
//! - **Breakers.** Each endpoint has one (`breaker.rs`). When all are open, the call fails at once.
//!
//! Nothing here looks into a reply.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::breaker::{self, Breaker, BreakerState, Pass, Sign};
use super::failure::Blame;
use super::model::ChatModel;
use super::retry::Patience;
use super::settings::{self, SettingsError};
use super::{Failure, Reply, Request};

/// Which endpoints, in which order.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The endpoints, the first one first.
    pub endpoints: Vec<settings::Settings>,
    /// When an endpoint is left alone.
    pub breaker: breaker::Settings,
}

/// One endpoint, and nothing else.
impl From<settings::Settings> for Settings {
    fn from(endpoint: settings::Settings) -> Self {
        Self {
            endpoints: vec![endpoint],
            breaker: breaker::Settings::default(),
        }
    }
}

impl Settings {
    /// The name of the first model; empty if there is none.
    pub fn model(&self) -> &str {
        self.endpoints.first().map_or("", |endpoint| endpoint.model.as_str())
    }

    /// What changes a chain's answers: where it asks which models, and how.
    pub fn identity(&self) -> String {
        let one = |endpoint: &settings::Settings| {
            format!(
                "{} {} {:?} {} {} {:?}",
                endpoint.base_url,
                endpoint.model,
                endpoint.api,
                endpoint.max_output_tokens,
                endpoint.temperature,
                endpoint.structured_output
            )
        };
        self.endpoints.iter().map(one).collect::<Vec<_>>().join("\n")
    }
}

/// Endpoints in order, each with a breaker. Cheap to clone; clones share what is known of the endpoints.
#[derive(Clone)]
pub struct Chain {
    shared: Arc<Shared>,
}

struct Shared {
    links: Vec<Link>,
}

/// How an endpoint is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointState {
    /// Its name.
    pub endpoint: Arc<str>,
    /// Its model.
    pub model: String,
    /// Whether it is asked.
    pub breaker: BreakerState,
}

impl Chain {
    /// Checks the settings and sets up the HTTP clients. Nothing is sent yet.
    ///
    /// # Errors
    ///
    /// A [`SettingsError`] that names the endpoint and the setting, what was expected and what was found.
    pub fn new(settings: Settings) -> Result<Self, SettingsError> {
        let mut links: Vec<Link> = Vec::new();
        let several = settings.endpoints.len() > 1;
        for (index, mut endpoint) in settings.endpoints.into_iter().enumerate() {
            let position = index + 1;
            let located = |why| match several {
                true => SettingsError(format!("endpoint {position}: {why}")),
                false => why,
            };
            let named = !endpoint.name.is_empty();
            let mut model = ChatModel::new(endpoint.clone()).map_err(located)?;
            if links.iter().any(|link| link.model.endpoint() == model.endpoint()) {
                if named {
                    let why = format!("`{}` is there twice", model.endpoint());
                    return Err(located(SettingsError::of("name", why)));
                }
                endpoint.name = format!("{}#{position}", model.endpoint());
                model = ChatModel::new(endpoint).map_err(located)?;
            }
            links.push(Link {
                breaker: Breaker::new(model.endpoint(), settings.breaker),
                model,
            });
        }
        if links.is_empty() {
            return Err(SettingsError::of(
                "base_url",
                "expected at least one endpoint, found none",
            ));
        }
        Ok(Self {
            shared: Arc::new(Shared { links }),
        })
    }

    /// The configured name of the first model.
    pub fn model(&self) -> &str {
        self.shared.links.first().map_or("", |link| link.model.model())
    }

    /// How each endpoint is doing, in order.
    pub fn states(&self) -> Vec<EndpointState> {
        let state = |link: &Link| EndpointState {
            endpoint: Arc::clone(link.model.endpoint()),
            model: link.model.model().to_owned(),
            breaker: link.breaker.state(),
        };
        self.shared.links.iter().map(state).collect()
    }

    /// Asks the endpoints in order, and waits no longer than until the deadline.
    ///
    /// # Errors
    ///
    /// The [`Failure`] of the last endpoint that was asked; [`Failure::BreakerOpen`] when none was.
    pub async fn chat(&self, request: Request<'_>, deadline: Instant) -> Result<Reply, Failure> {
        let links = self.shared.links.as_slice();
        let mut failure = None;
        for (index, link) in links.iter().enumerate() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                failure.get_or_insert(Failure::Timeout);
                break;
            }
            let Some(pass) = link.breaker.admit() else {
                continue;
            };
            let after = links.get(index + 1..).unwrap_or_default();
            let others = after.iter().filter(|link| link.breaker.would_admit()).count();
            let (until, patience) = match u32::try_from(others) {
                Ok(0) | Err(_) => (deadline, Patience::ToTheEnd),
                Ok(others) => (Instant::now() + left * 2 / (others + 2), Patience::OthersWait),
            };
            match link.ask(request, pass, until, patience).await {
                Ok(reply) => return Ok(reply),
                Err(failure) if failure.blame() == Blame::Conversation => return Err(failure),
                Err(fault) => {
                    link.note(&fault);
                    failure = Some(fault);
                }
            }
        }
        Err(failure.unwrap_or(Failure::BreakerOpen))
    }
}

/// One endpoint of a chain.
struct Link {
    model: ChatModel,
    breaker: Breaker,
}

impl Link {
    /// Asks this endpoint, and takes note of what that shows of it.
    async fn ask(
        &self,
        request: Request<'_>,
        pass: Pass<'_>,
        until: Instant,
        patience: Patience,
    ) -> Result<Reply, Failure> {
        let given = until.saturating_duration_since(Instant::now());
        let answer = self.model.insist(request, until, patience).await;
        pass.record(self.sign(&answer, given));
        answer
    }

    /// Notes a fault of the endpoint.
    fn note(&self, failure: &Failure) {
        let endpoint = self.model.endpoint();
        let code = failure.code();
        if failure.is_misconfiguration() {
            tracing::error!(%endpoint, failure = code, "an endpoint needs an operator: {failure}");
        } else {
            tracing::debug!(%endpoint, failure = code, "an endpoint did not answer");
        }
    }

    fn sign(&self, answer: &Result<Reply, Failure>, given: Duration) -> Sign {
        let Err(failure) = answer else {
            return Sign::Works;
        };
        match (failure.blame(), failure) {
            // Nobody answers within next to no time.
            (Blame::Endpoint, Failure::Timeout) if given < self.model.settings().timeout / 10 => Sign::Nothing,
            (Blame::Endpoint, failure) => Sign::Fault(failure.code()),
            (Blame::Traffic, _) => Sign::Nothing,
            (Blame::Conversation, _) => Sign::Works,
        }
    }
}
