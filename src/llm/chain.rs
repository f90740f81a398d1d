//! Endpoints in order, with failover from one to the next before a deadline.
//!
//! - **Order.** The first endpoint whose breaker is closed is asked. On a fault of the endpoint (no connection, its share of the time gone, 5xx, 429
//!   for longer than a moment, 401, 404, …) the next one is. A refusal, a content filter or an unusable reply ends the call: the author of a content
//!   could bring these about, and so choose the judge.
//! - **Time.** The deadline is the call's, whatever happens. While others could be asked, an endpoint gets at most two parts of what is left, each
//!   other one a part: of two, the first gets two thirds. An endpoint's own timeout holds as well.
//! - **Hedging.** When an endpoint has not answered after [`Settings::hedge_after`], the next one is asked beside it (the same one, if there is no
//!   other). The first answer counts; the slower call is given up, and its usage until then
//!   is an estimate ([`GivenUp`]). At most one call is added.
//! - **Breakers.** Each endpoint has one (`breaker.rs`). When all are open, the call fails at once.
//! - **Pace.** An endpoint that has reached its configured pace is passed over; the last one is waited for.
//!
//! Nothing here looks into a reply.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::time::Instant;

use super::breaker::{self, Breaker, BreakerState, Permit, Signal};
use super::failure::Blame;
use super::model::ChatModel;
use super::pace::Pace;
use super::retry::RetryBudget;
use super::settings::{self, SettingsError};
use super::{Cost, Failure, Reply, Request, Usage};

/// The endpoints and their order.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The endpoints, the first one first.
    pub endpoints: Vec<settings::Settings>,
    /// The time after which a second call is made beside one that has not answered; `None`: never.
    pub hedge_after: Option<Duration>,
    /// The conditions under which an endpoint is left alone.
    pub breaker: breaker::Settings,
}

/// Makes a chain of one endpoint.
impl From<settings::Settings> for Settings {
    fn from(endpoint: settings::Settings) -> Self {
        Self {
            endpoints: vec![endpoint],
            hedge_after: None,
            breaker: breaker::Settings::default(),
        }
    }
}

impl Settings {
    /// Returns the name of the first model; empty if there is none.
    pub fn model(&self) -> &str {
        self.endpoints.first().map_or("", |endpoint| endpoint.model.as_str())
    }

    /// Returns everything that changes a chain's answers: its endpoints, their models and parameters.
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

/// Endpoints in order, each with a breaker. Cheap to clone; clones share the state of the endpoints.
#[derive(Clone)]
pub struct Chain {
    shared: Arc<Shared>,
}

struct Shared {
    links: Vec<Link>,
    hedge_after: Option<Duration>,
}

/// The state of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointState {
    /// Its name.
    pub endpoint: Arc<str>,
    /// Its model.
    pub model: String,
    /// The state of its breaker.
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
                pace: Pace::new(model.settings().rates),
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
            shared: Arc::new(Shared {
                links,
                hedge_after: settings.hedge_after,
            }),
        })
    }

    /// Returns the configured name of the first model.
    pub fn model(&self) -> &str {
        self.shared.links.first().map_or("", |link| link.model.model())
    }

    /// Returns the state of each endpoint, in order.
    pub fn states(&self) -> Vec<EndpointState> {
        let state = |link: &Link| EndpointState {
            endpoint: Arc::clone(link.model.endpoint()),
            model: link.model.model().to_owned(),
            breaker: link.breaker.state(),
        };
        self.shared.links.iter().map(state).collect()
    }

    /// Takes the hint that the endpoint of this name fails on another node: here one call probes it before others follow.
    pub fn doubt(&self, endpoint: &str) {
        let named = |link: &&Link| **link.model.endpoint() == *endpoint;
        self.shared
            .links
            .iter()
            .filter(named)
            .for_each(|link| link.breaker.doubt());
    }

    /// Asks the endpoints in order, and waits no longer than until the deadline.
    ///
    /// # Errors
    ///
    /// The [`Failure`] of the last endpoint that was asked; [`Failure::BreakerOpen`] when none was.
    pub async fn chat(&self, request: Request<'_>, deadline: Instant) -> Result<Reply, Failure> {
        self.ask(request, deadline).await.answer
    }

    /// Does the same as [`Self::chat`]; also returns the calls that were given up because another one had ended the matter.
    pub async fn ask(&self, request: Request<'_>, deadline: Instant) -> ChatOutcome {
        let call = Call {
            chain: &self.shared,
            request,
            deadline,
            next: 0,
            asked: None,
            waiting: Vec::new(),
            failure: None,
        };
        call.run().await
    }
}

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatOutcome {
    /// The result of [`Chain::chat`].
    pub answer: Result<Reply, Failure>,
    /// The calls that were given up.
    pub given_up: Vec<GivenUp>,
}

/// A call that was given up before it was answered. Its endpoint has read the prompt and may have begun to answer; it is not known how far it got, so
/// its usage is estimated from above.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenUp {
    /// The endpoint.
    pub endpoint: Arc<str>,
    /// Its prompt, and as long a reply as the one that came instead; as long as any may be, if none came.
    pub usage: Usage,
    /// The cost of these tokens there.
    pub cost: Cost,
}

/// One endpoint of a chain.
struct Link {
    model: ChatModel,
    breaker: Breaker,
    pace: Pace,
}

impl Link {
    /// Asks this endpoint, and takes note of what that shows of it.
    async fn ask(
        &self,
        request: Request<'_>,
        permit: Permit<'_>,
        until: Instant,
        budget: RetryBudget,
    ) -> Result<Reply, Failure> {
        // A hint of another node costs no call more than a part of its time.
        let left = until.saturating_duration_since(Instant::now());
        if !permit.wait(left / 4).await {
            permit.record(Signal::Nothing);
            return Err(Failure::BreakerOpen);
        }
        let longest_wait = match budget {
            RetryBudget::ToTheEnd => until.saturating_duration_since(Instant::now()),
            RetryBudget::OthersWait => Duration::ZERO,
        };
        let Some(room) = self.pace.reserve(|| self.model.estimate(&request), longest_wait) else {
            permit.record(Signal::Nothing);
            return Err(Failure::EndpointLimit);
        };
        if !room.wait.is_zero() {
            tokio::time::sleep(room.wait).await;
        }
        let given = until.saturating_duration_since(Instant::now());
        let answer = self.model.insist(request, until, budget).await;
        if let Ok(reply) = &answer {
            self.pace.settle(room, reply.usage.tokens());
        }
        permit.record(self.signal(&answer, given));
        answer
    }

    /// Counts a call of this endpoint that was given up for another's answer.
    fn give_up(&self, request: &Request<'_>, instead: Option<&Reply>) -> GivenUp {
        let (usage, cost) = self
            .model
            .give_up(request, instead.map(|reply| reply.usage.completion_tokens));
        GivenUp {
            endpoint: Arc::clone(self.model.endpoint()),
            usage,
            cost,
        }
    }

    fn signal(&self, answer: &Result<Reply, Failure>, given: Duration) -> Signal {
        let Err(failure) = answer else {
            return Signal::Works;
        };
        match (failure.blame(), failure) {
            // No endpoint answers within next to no time.
            (Blame::Endpoint, Failure::Timeout) if given < self.model.settings().timeout / 10 => Signal::Nothing,
            (Blame::Endpoint, failure) => Signal::Fault(failure.code()),
            (Blame::Traffic, _) => Signal::Nothing,
            (Blame::Conversation, _) => Signal::Works,
        }
    }
}

/// One call of a chain, on its way along the endpoints.
struct Call<'a> {
    chain: &'a Shared,
    request: Request<'a>,
    deadline: Instant,
    /// The place of the endpoint that comes next.
    next: usize,
    /// The endpoint that was asked last.
    asked: Option<&'a Link>,
    /// The endpoints of the calls that are not answered yet.
    waiting: Vec<&'a Link>,
    failure: Option<Failure>,
}

type PendingCall<'a> = BoxFuture<'a, (&'a Link, Result<Reply, Failure>)>;

impl<'a> Call<'a> {
    async fn run(mut self) -> ChatOutcome {
        let answer = self.first_answer().await;
        let request = self.request;
        let given_up = |link: &&Link| link.give_up(&request, answer.as_ref().ok());
        let given_up = self.waiting.iter().map(given_up).collect();
        ChatOutcome { answer, given_up }
    }

    async fn first_answer(&mut self) -> Result<Reply, Failure> {
        let mut calls = FuturesUnordered::new();
        let mut hedge_at = None;
        let mut hedges_left = usize::from(self.chain.hedge_after.is_some());
        loop {
            if calls.is_empty() {
                let Some(call) = self.next_call() else {
                    return Err(self.failure.take().unwrap_or(Failure::BreakerOpen));
                };
                calls.push(call);
                hedge_at = self.chain.hedge_after.map(|after| Instant::now() + after);
            }
            let hedge = async {
                match hedge_at {
                    Some(at) if hedges_left > 0 => tokio::time::sleep_until(at).await,
                    _ => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                Some((link, answer)) = calls.next() => {
                    if let Some(place) = self.waiting.iter().position(|one| std::ptr::eq(*one, link)) {
                        self.waiting.swap_remove(place);
                    }
                    match answer {
                        Ok(reply) => return Ok(reply),
                        Err(failure) if failure.blame() == Blame::Conversation => return Err(failure),
                        Err(failure) => self.put_up_with(link, failure),
                    }
                }
                () = hedge => {
                    hedges_left = 0;
                    if let Some(call) = self.next_call().or_else(|| self.same_again()) {
                        tracing::debug!("an endpoint is slow; another call is made beside it");
                        calls.push(call);
                    }
                }
            }
        }
    }

    /// Makes a call of the next endpoint that may be asked.
    fn next_call(&mut self) -> Option<PendingCall<'a>> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            self.failure.get_or_insert(Failure::Timeout);
            return None;
        }
        let links = self.chain.links.as_slice();
        while let Some(link) = links.get(self.next) {
            self.next += 1;
            let Some(permit) = link.breaker.admit() else {
                continue;
            };
            let after = links.get(self.next..).unwrap_or_default();
            let others = after.iter().filter(|link| link.breaker.would_admit()).count();
            let (until, budget) = match u32::try_from(others) {
                Ok(0) | Err(_) => (self.deadline, RetryBudget::ToTheEnd),
                Ok(others) => (Instant::now() + left * 2 / (others + 2), RetryBudget::OthersWait),
            };
            return Some(self.call(link, permit, until, budget));
        }
        None
    }

    /// Makes another call of the endpoint that is being asked.
    fn same_again(&mut self) -> Option<PendingCall<'a>> {
        let link = self.asked?;
        let permit = link.breaker.admit()?;
        Some(self.call(link, permit, self.deadline, RetryBudget::OthersWait))
    }

    fn call(&mut self, link: &'a Link, permit: Permit<'a>, until: Instant, budget: RetryBudget) -> PendingCall<'a> {
        self.asked = Some(link);
        self.waiting.push(link);
        let request = self.request;
        Box::pin(async move { (link, link.ask(request, permit, until, budget).await) })
    }

    /// Notes a fault, and then asks the next endpoint.
    fn put_up_with(&mut self, link: &Link, failure: Failure) {
        let endpoint = link.model.endpoint();
        let code = failure.code();
        if failure.is_misconfiguration() {
            tracing::error!(%endpoint, failure = code, "an endpoint needs an operator: {failure}");
        } else {
            tracing::debug!(%endpoint, failure = code, "an endpoint did not answer");
        }
        self.failure = Some(failure);
    }
}
