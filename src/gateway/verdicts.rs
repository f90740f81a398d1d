//! Asking for verdicts: the guardian in this process, or an AOS server somewhere else. Every error is a refusal.

use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use tokio::sync::oneshot;
use tracing::Instrument;
use url::Url;

use super::concatenated;
use super::denial::{Denial, Stage};
use super::json::Json;
use super::modification::differs_in_strings_only;
use crate::asking;
use crate::model::{Caller, Decision, Enforcement, Step};
use crate::outgoing;
use crate::pipeline::{Admitted, Decided, Guardian, Recorded, Refused};
use crate::telemetry::names;
use crate::telemetry::spans;
use crate::wire;
use crate::work::Size;

/// A step to be judged: an AOS request without its envelope.
#[derive(Clone, Debug)]
pub(super) struct Question {
    /// The AOS method.
    pub(super) method: &'static str,
    /// Its parameters.
    pub(super) params: Json,
    /// The stage of the message.
    pub(super) stage: Stage,
}

/// The depth to which a message is examined. An AOS server somewhere else is asked as ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// By rules, and by a judge: it holds words.
    Whole,
    /// The same, and its session stays as it is: it has been there before.
    Again,
    /// By rules alone: it holds identifiers, numbers and words of the protocol.
    Rules,
}

/// The client of the source of verdicts.
#[derive(Clone)]
pub(super) struct VerdictClient {
    source: Source,
    /// The enforcement of its verdicts, if the gateway has a mode of its own.
    mode: Option<Enforcement>,
    /// The longest that a verdict is waited for.
    deadline: Duration,
    limits: wire::Limits,
}

/// The source of verdicts.
#[derive(Clone)]
pub(super) enum Source {
    /// The guardian of this process.
    Here { guardian: Arc<Guardian>, caller: Caller },
    /// An AOS server.
    There {
        http: reqwest::Client,
        url: Url,
        key: Option<SecretString>,
    },
}

/// What a verdict says: the parameters of the step if it was modified, or the refusal.
type Ruling = Result<Option<Json>, Denial>;

const NO_VERDICT: &str = "No verdict could be reached about this message, so it was stopped.";
const NO_ANSWER: &str = "The guardian server that decides about messages gave no verdict (is it running, at this address, with this key?), so this one was stopped.";

impl VerdictClient {
    pub(super) fn new(source: Source, mode: Option<Enforcement>, deadline: Duration, limits: wire::Limits) -> Self {
        Self {
            source,
            mode,
            deadline,
            limits,
        }
    }

    /// Records a message that was let through before and goes on again. Where the organisation has conditions it is asked about anew:
    /// they look at the time and the session as well.
    ///
    /// # Errors
    ///
    /// As [`ask`](Self::ask); also where it cannot be recorded and nothing goes on without a record.
    pub(super) async fn repeat(&self, question: &Question) -> Result<Option<Json>, Denial> {
        let Source::Here { guardian, caller } = &self.source else {
            return Ok(None);
        };
        if self.change_with_time() {
            return self.ask(question, Depth::Again).await;
        }
        let unrecorded = || Denial::undecided(question.stage, "judge_unavailable", NO_VERDICT);
        let step = self
            .decoded(question)
            .await
            .ok_or_else(unrecorded)?
            .map_err(|_| unrecorded())?;
        let admitted = guardian
            .admit(caller)
            .await
            .map_err(|refused| not_admitted(refused, question.stage))?;
        match guardian.record_repeated(&admitted, &step).await {
            Recorded::Yes => Ok(None),
            Recorded::No => Err(unrecorded()),
        }
    }

    /// Whether what was let through before may be refused now. What a server elsewhere would say is not known.
    pub(super) fn change_with_time(&self) -> bool {
        match &self.source {
            Source::Here { guardian, caller } => guardian.has_conditions(&caller.organisation),
            Source::There { .. } => false,
        }
    }

    /// Asks for a verdict. Without one, the message is stopped.
    ///
    /// # Errors
    ///
    /// The refusal; otherwise the parameters of the step if it was modified: nothing but strings differs from those of the question.
    pub(super) async fn ask(&self, question: &Question, depth: Depth) -> Result<Option<Json>, Denial> {
        let mut whole = question.clone();
        concatenated::join(&mut whole.params);
        let asking = async {
            match &self.source {
                Source::Here { guardian, caller } => self.ask_here(guardian, caller, &whole, depth).await,
                Source::There { http, url, key } => self.ask_there(http, url, key.as_ref(), &whole).await,
            }
        };
        let asked = tokio::time::timeout(self.deadline, asking).await;
        // A guardian of this process has observed already; what it refuses all the same was no step.
        if self.mode == Some(Enforcement::Observe) && matches!(self.source, Source::There { .. }) {
            return Ok(None);
        }
        match asked {
            Ok(Some(Ok(Some(params)))) => checked(params, &whole, &question.params).map(Some),
            Ok(Some(ruling)) => ruling,
            Ok(None) | Err(_) => {
                let why = match &self.source {
                    Source::Here { .. } => NO_VERDICT,
                    Source::There { url, .. } => {
                        let host = url.host_str().unwrap_or_default();
                        tracing::warn!(
                            host,
                            port = url.port_or_known_default(),
                            "the guardian server gave no verdict"
                        );
                        NO_ANSWER
                    }
                };
                Err(Denial::undecided(question.stage, "judge_unavailable", why))
            }
        }
    }

    /// Asks about an AOS request that a caller handed in, and returns the AOS answer if there is one in time. It is only judged: nothing is enforced.
    pub(super) async fn judge(&self, mut request: Json) -> Option<Json> {
        request.set("jsonrpc", "2.0");
        if !matches!(request.get("id"), Some(Json::Text(_) | Json::Number(_))) {
            request.set("id", uuid::Uuid::new_v4().to_string());
        }
        let request = request.write();
        let asking = async {
            match &self.source {
                Source::Here { guardian, caller } => {
                    let answer = asking::answer(guardian, caller, request, &self.limits, Admitted::only_asked);
                    self.parse(&answer.await)
                }
                Source::There { http, url, key } => self.post(http, url, key.as_ref(), request).await,
            }
        };
        tokio::time::timeout(self.deadline, asking).await.ok().flatten()
    }

    /// Decodes the step of a question; `None` if reading it panicked.
    async fn decoded(&self, question: &Question) -> Option<Result<Arc<Step>, wire::RpcError>> {
        let text = written(question, &uuid::Uuid::new_v4().to_string());
        let (size, limits) = (Size::of(text.len()), self.limits);
        let decode = move || wire::decode_step(&text, &limits);
        let decoded = match size {
            Size::Tiny | Size::Small => decode(),
            Size::Large => tokio::task::spawn_blocking(decode).await.ok()?,
        };
        Some(decoded.map(|(_, step)| step))
    }

    async fn ask_here(
        &self,
        guardian: &Arc<Guardian>,
        caller: &Caller,
        question: &Question,
        depth: Depth,
    ) -> Option<Ruling> {
        let step = match self.decoded(question).await? {
            Ok(step) => step,
            Err(error) => {
                metrics::counter!(names::REFUSALS, "reason" => error.code.to_string()).increment(1);
                tracing::warn!(
                    method = question.method,
                    "a message could not be read as a step: {}",
                    error.message
                );
                let message = "The message cannot be read without doubt, so it was stopped.";
                return Some(Err(Denial::undecided(question.stage, "malformed_payload", message)));
            }
        };
        let admitted = match guardian.admit(caller).await {
            Ok(admitted) => admitted,
            Err(refused) => return Some(Err(not_admitted(refused, question.stage))),
        };
        let decided = decide(guardian, admitted.by_gateway(self.mode), step, depth).await?;
        self.ruling(&decided, question.stage)
    }

    fn ruling(&self, decided: &Decided, stage: Stage) -> Option<Ruling> {
        let verdict = &decided.verdict;
        if verdict.undecided || decided.recorded == Recorded::No {
            return None;
        }
        let codes = verdict.reason_codes.iter();
        let denial = || Denial {
            message: verdict.message.clone(),
            decision_id: decided.decision_id.clone(),
            reason_codes: codes.map(|code| code.as_str().to_owned()).collect(),
            stage,
        };
        let modified = match (verdict.decision, &verdict.modified) {
            (Decision::Allow, _) => return Some(Ok(None)),
            (Decision::Modify, Some(step)) if step.method.allows_modification() => step,
            (Decision::Modify | Decision::Deny, _) => return Some(Err(denial())),
        };
        let request = self.parse(modified.original.json().as_bytes());
        let params = request.and_then(|mut request| request.remove("params"));
        Some(params.map(Some).ok_or_else(denial))
    }

    async fn ask_there(
        &self,
        http: &reqwest::Client,
        url: &Url,
        key: Option<&SecretString>,
        question: &Question,
    ) -> Option<Ruling> {
        let id = uuid::Uuid::new_v4().to_string();
        let mut answer = self.post(http, url, key, written(question, &id)).await?;
        if answer.str_of("id") != Some(&id) {
            return None;
        }
        let mut result = answer.remove("result")?;
        match result.str_of("decision")? {
            "allow" => Some(Ok(None)),
            "modify" => {
                let mut request = result.remove("modifiedRequest")?;
                let same = request.str_of("method") == Some(question.method) && request.str_of("id") == Some(&id);
                let params = request.remove("params").filter(|_| same)?;
                Some(Ok(Some(params)))
            }
            "deny" => Some(Err(Denial {
                message: result
                    .str_of("message")
                    .unwrap_or("The message was stopped.")
                    .to_owned(),
                decision_id: result
                    .at(&["data", "decisionId"])
                    .and_then(Json::as_str)
                    .unwrap_or_default()
                    .to_owned(),
                reason_codes: result
                    .get("reasonCode")
                    .map_or(&[][..], Json::items)
                    .iter()
                    .filter_map(|code| code.as_str().map(str::to_owned))
                    .collect(),
                stage: question.stage,
            })),
            _ => None,
        }
    }

    async fn post(
        &self,
        http: &reqwest::Client,
        url: &Url,
        key: Option<&SecretString>,
        request: String,
    ) -> Option<Json> {
        let request = outgoing::post(http, url.clone(), key, request);
        let mut trace = http::HeaderMap::new();
        spans::inject(&mut trace);
        let mut response = request.headers(trace).send().await.ok()?.error_for_status().ok()?;
        let body = outgoing::body(&mut response, 2 * self.limits.max_body_bytes)
            .await
            .ok()??;
        self.parse(&body)
    }

    fn parse(&self, bytes: &[u8]) -> Option<Json> {
        Json::parse(bytes, self.limits.max_depth, self.limits.max_nodes).ok()
    }
}

/// Checks a modification: it may change strings, and nothing else. `apart` are the parameters before texts were joined.
fn checked(mut params: Json, question: &Question, apart: &Json) -> Result<Json, Denial> {
    let fits = differs_in_strings_only(&question.params, &params);
    if fits && concatenated::unjoin(apart, &mut params).is_some() {
        return Ok(params);
    }
    let message = "The message could only go on in a form that is not possible here, so it was stopped.";
    Err(Denial::undecided(question.stage, "modification_refused", message))
}

/// Writes a question as the text of a request. Its parameters are not copied first: they may be as large as a message.
fn written(question: &Question, id: &str) -> String {
    let (method, params) = (question.method, question.params.write());
    format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"{method}","params":{params}}}"#)
}

fn not_admitted(refused: Refused, stage: Stage) -> Denial {
    let (code, message) = match refused {
        Refused::LimitReached { .. } => ("judge_unavailable", "Too many messages were sent; try again later."),
        Refused::UnknownOrganisation | Refused::Unrecorded => ("judge_unavailable", NO_VERDICT),
    };
    Denial::undecided(stage, code, message)
}

/// Decides about a step, in a task of its own: it is recorded also when the caller hangs up. The session is updated after the
/// verdict is handed over; the next step of the session waits for that, the message does not.
async fn decide(guardian: &Arc<Guardian>, admitted: Admitted, step: Arc<Step>, depth: Depth) -> Option<Decided> {
    let (answer, answered) = oneshot::channel();
    let guardian = Arc::clone(guardian);
    let deciding = async move {
        if depth == Depth::Rules {
            // The caller may be gone.
            let _ = answer.send(guardian.answer_by_rules(&admitted, step).await);
            return;
        }
        let (decided, update) = guardian.answer(&admitted, step, None).await;
        // The caller may be gone.
        let _ = answer.send(decided);
        if depth == Depth::Again {
            return;
        }
        // The answer is taken before the session is updated, also where both happen on one thread.
        tokio::task::yield_now().await;
        update.apply().await;
    };
    tokio::spawn(deciding.in_current_span());
    let panicked = |_: &_| tracing::error!("deciding about a step panicked");
    answered.await.inspect_err(panicked).ok()
}
