//! One model that can be asked about a case: its endpoints, and one call from the prompt to the weighed answer.

use std::time::Duration;

use tokio::time::Instant;

use super::answer::AnswerError;
use super::schema::OwnedSchema;
use super::weigh::{AnswerChecks, PromptCoverage};
use super::{Case, Charge, JudgeFailure, Judged, Question, Recorder, UnusableAnswers, answer};
use crate::llm::{self, Chain, Counted, GivenUp, Price, Reply, Request, SettingsError, Usage, estimate_tokens};
use crate::model::Stage;
use crate::prompt::{Length, Marks, Part, PromptInput, Reasoning};
use crate::telemetry::names::JUDGE_CALLS;
use crate::work::{Size, in_place};

/// The tokens of a call besides the two texts: the schema, and the wrapping of messages by an endpoint.
const EXTRA_TOKENS: u64 = 700;

/// The options of a call.
#[derive(Clone, Copy)]
pub(super) struct CallOptions<'a> {
    /// The recorder, and the name under which it stands before the judge.
    pub(super) recorder: Option<(&'a dyn Recorder, &'a str)>,
    pub(super) reasoning: Reasoning,
    /// The part of the step's long texts that is shown, if they are judged in parts.
    pub(super) part: Option<Part>,
}

/// The reason why one call gave no assessment.
enum Unjudged {
    /// There was a reply, but no answer in it.
    Unusable(AnswerError, Box<Reply>),
    /// Anything else.
    Failed(JudgeFailure),
}

impl Unjudged {
    fn code(&self) -> &'static str {
        match self {
            Unjudged::Unusable(error, _) => error.code(),
            Unjudged::Failed(failure) => failure.code,
        }
    }
}

impl From<JudgeFailure> for Unjudged {
    fn from(failure: JudgeFailure) -> Self {
        Unjudged::Failed(failure)
    }
}

impl From<Unjudged> for JudgeFailure {
    fn from(unjudged: Unjudged) -> Self {
        match unjudged {
            Unjudged::Unusable(error, _) => error.into(),
            Unjudged::Failed(failure) => failure,
        }
    }
}

/// The reason why there is no reply.
enum NoReply {
    Failed(llm::Failure),
    NotRecorded(JudgeFailure),
}

/// The result of an exchange, and the calls that were given up on the way.
struct Exchanged {
    reply: Result<Reply, NoReply>,
    given_up: Vec<GivenUp>,
}

impl Exchanged {
    /// Returns the charge of the calls that were given up.
    fn lost(&self) -> Charge {
        Charge {
            tokens: self.given_up.iter().map(|call| call.usage.tokens()).sum(),
            cost: self.given_up.iter().map(|call| call.cost).sum(),
        }
    }
}

/// A model that can be asked.
pub(super) struct AskedModel {
    pub(super) chain: Chain,
    pub(super) stage: Stage,
    /// The longest that it may take, beyond what the endpoints' own settings say.
    pub(super) longest: Option<Duration>,
    pub(super) budget_tokens: usize,
    pub(super) unusable: UnusableAnswers,
    /// The price of the dearest of its endpoints, and the longest reply of any.
    price: Price,
    reply_tokens: u64,
}

impl AskedModel {
    pub(super) fn new(
        settings: llm::ChainSettings,
        stage: Stage,
        longest: Option<Duration>,
        budget_tokens: usize,
        unusable: UnusableAnswers,
    ) -> Result<Self, SettingsError> {
        let mut price = Price::default();
        let mut reply_tokens = 0;
        for endpoint in &settings.endpoints {
            price.per_million_in = price.per_million_in.max(endpoint.price.per_million_in);
            price.per_million_out = price.per_million_out.max(endpoint.price.per_million_out);
            reply_tokens = reply_tokens.max(u64::from(endpoint.max_output_tokens));
        }
        Ok(Self {
            chain: Chain::new(settings)?,
            stage,
            longest,
            budget_tokens,
            unusable,
            price,
            reply_tokens,
        })
    }

    /// Gets one answer: of one call, or of a second one if the first answer cannot be used.
    pub(super) async fn ask(&self, case: Case<'_>, options: CallOptions<'_>) -> Result<Judged, JudgeFailure> {
        let begun = Instant::now();
        match self.counted(case, options).await {
            Ok(judged) => Ok(judged),
            Err(Unjudged::Unusable(error, reply)) if self.has_another_go(error, begun, case.deadline) => {
                tracing::debug!(failure = error.code(), "an answer cannot be used; asking once more");
                let judged = self.counted(case, options).await.map_err(JudgeFailure::from)?;
                Ok(Judged {
                    usage: judged.usage + reply.usage,
                    cost: judged.cost + reply.cost,
                    latency: judged.latency.saturating_add(reply.latency),
                    ..judged
                })
            }
            Err(unjudged) => Err(unjudged.into()),
        }
    }

    /// Returns `true` if there is time to ask once more: as long again as the first answer took, and half as long for luck.
    fn has_another_go(&self, error: AnswerError, begun: Instant, deadline: Instant) -> bool {
        let now = Instant::now();
        let in_time = now + now.duration_since(begun).mul_f64(1.5) < deadline;
        self.unusable == UnusableAnswers::AskAgain && error.may_be_chance() && in_time
    }

    async fn counted(&self, case: Case<'_>, options: CallOptions<'_>) -> Result<Judged, Unjudged> {
        let judged = self.call(case, options).await;
        let outcome = judged.as_ref().map_or_else(Unjudged::code, |_| "ok");
        metrics::counter!(JUDGE_CALLS, "outcome" => outcome).increment(1);
        judged
    }

    /// Returns the number of parts in which the long texts of a case would be shown whole; 1 if one prompt shows them.
    pub(super) fn parts(&self, case: Case<'_>, options: CallOptions<'_>) -> Result<usize, JudgeFailure> {
        let input = self.input(case, options);
        let rendered = case.prompts.render(&input, &Marks::fresh())?;
        Ok(rendered.parts)
    }

    fn input<'c>(&self, case: Case<'c>, options: CallOptions<'_>) -> PromptInput<'c> {
        PromptInput {
            step: case.step,
            findings: case.findings,
            withheld: case.withheld,
            suspicion: case.suspicion,
            history: case.history,
            policy: case.policy,
            length: match self.stage {
                Stage::First => Length::Short,
                Stage::Single | Stage::Second => Length::Full,
            },
            budget_tokens: self.budget_tokens,
            reasoning: options.reasoning,
            ranks: case.ranks,
            part: options.part,
        }
    }

    /// Makes one call. Its charge is booked with the case's budget, also when its answer is of no use.
    async fn call(&self, case: Case<'_>, options: CallOptions<'_>) -> Result<Judged, Unjudged> {
        let marks = Marks::fresh();
        let input = self.input(case, options);
        let size = Size::of(case.step.text_bytes());
        let rendered = in_place(size, || case.prompts.render(&input, &marks)).map_err(JudgeFailure::from)?;
        if self.stage == Stage::First && !rendered.cut.is_empty() {
            return Err(Unjudged::Failed(not_whole()));
        }
        let schema = OwnedSchema::with(&case.policy.own_codes).map_err(|_| no_schema())?;
        let request = Request {
            system: &rendered.system,
            user: &rendered.user,
            schema: schema.as_schema(),
        };
        let most = self.most(&request);
        case.budget.reserve(most).await?;
        let exchanged = Box::pin(self.exchange(request, &marks, case.deadline, options.recorder)).await;
        let lost = exchanged.lost();
        let mut reply = match exchanged.reply {
            Ok(reply) => reply,
            Err(NoReply::Failed(failure)) => {
                case.budget.settle(most, self.taken_by(&failure, most) + lost);
                return Err(Unjudged::Failed(failure.into()));
            }
            Err(NoReply::NotRecorded(failure)) => {
                case.budget.settle(most, lost);
                return Err(Unjudged::Failed(failure));
            }
        };
        for call in &exchanged.given_up {
            reply.usage = reply.usage + call.usage;
            reply.cost = reply.cost + call.cost;
        }
        let spent = Charge {
            tokens: reply.usage.tokens(),
            cost: reply.cost,
        };
        case.budget.settle(most, spent);
        let checks = AnswerChecks {
            step: case.step,
            findings: case.findings,
            history: case.history,
            policy: case.policy,
            shown: &rendered.shown,
            coverage: if rendered.cut.is_empty() {
                PromptCoverage::Whole
            } else {
                PromptCoverage::Cut
            },
        };
        let answer = answer::read(&reply.text, &marks.canary).and_then(|answer| answer.answering(case.suspicion));
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => return Err(Unjudged::Unusable(error, Box::new(reply))),
        };
        let (assessment, mut notes) = in_place(size, || checks.weigh(answer));
        notes.extend(exchanged.given_up.iter().map(super::hedged));
        Ok(Judged {
            assessment,
            stage: self.stage,
            model: reply.model,
            endpoint: reply.endpoint,
            usage: reply.usage,
            cost: reply.cost,
            latency: reply.latency,
            cut: checks.coverage == PromptCoverage::Cut,
            decision: None,
            notes,
        })
    }

    /// Returns the reply of the model, or of the recorder in its place.
    async fn exchange(
        &self,
        request: Request<'_>,
        marks: &Marks,
        deadline: Instant,
        recorder: Option<(&dyn Recorder, &str)>,
    ) -> Exchanged {
        let deadline = self.deadline(deadline);
        let Some((recorder, asker)) = recorder else {
            let asked = self.chain.ask(request, deadline).await;
            return Exchanged {
                reply: asked.answer.map_err(NoReply::Failed),
                given_up: asked.given_up,
            };
        };
        let question = Question {
            asker,
            model: self.chain.model(),
            request,
            marks,
        };
        let replayed = |reply| Exchanged {
            reply,
            given_up: Vec::new(),
        };
        match recorder.replay(&question) {
            Ok(Some(reply)) => return replayed(Ok(reply)),
            Ok(None) => {}
            Err(failure) => return replayed(Err(NoReply::NotRecorded(failure))),
        }
        let asked = self.chain.ask(request, deadline).await;
        recorder.record(&question, &asked.answer);
        Exchanged {
            reply: asked.answer.map_err(NoReply::Failed),
            given_up: asked.given_up,
        }
    }

    fn deadline(&self, of_case: Instant) -> Instant {
        self.longest
            .map_or(of_case, |longest| of_case.min(Instant::now() + longest))
    }

    /// Returns the highest charge of a call.
    fn most(&self, request: &Request<'_>) -> Charge {
        let prompt_tokens = estimate_tokens(request.system) + estimate_tokens(request.user) + EXTRA_TOKENS;
        self.charge(prompt_tokens, self.reply_tokens)
    }

    fn charge(&self, prompt_tokens: u64, completion_tokens: u64) -> Charge {
        let usage = Usage {
            prompt_tokens,
            completion_tokens,
            counted: Counted::Estimated,
        };
        Charge {
            tokens: usage.tokens(),
            cost: self.price.of(&usage),
        }
    }

    /// Returns the charge of a call that failed, as far as it can be known: nothing if no model saw the prompt, the prompt if one refused it,
    /// everything if one may have gone on talking. A caller that makes calls fail on purpose pays for them.
    fn taken_by(&self, failure: &llm::Failure, most: Charge) -> Charge {
        use llm::Failure;
        match failure {
            Failure::Connect(_)
            | Failure::Auth
            | Failure::Quota
            | Failure::ModelNotFound
            | Failure::PathNotFound
            | Failure::RateLimited { .. }
            | Failure::BadRequest { .. }
            | Failure::PromptTooLong
            | Failure::Redirect
            | Failure::NotJson
            | Failure::Unsendable
            | Failure::Blocked
            | Failure::BreakerOpen
            | Failure::EndpointLimit => Charge::default(),
            Failure::ServerError { .. } | Failure::Refusal | Failure::ContentFilter | Failure::Empty => {
                self.charge(most.tokens.saturating_sub(self.reply_tokens), 0)
            }
            Failure::Timeout
            | Failure::Reset
            | Failure::TooLarge
            | Failure::Malformed
            | Failure::EventStream
            | Failure::Truncated => most,
        }
    }
}

/// Returns the failure of a first model whose prompt does not hold a step whole: it is not asked, and the second one is.
fn not_whole() -> JudgeFailure {
    JudgeFailure {
        code: "not_whole",
        detail: "the first model was not asked: the step does not fit into its prompt".to_owned(),
    }
}

fn no_schema() -> JudgeFailure {
    JudgeFailure {
        code: "schema",
        detail: "the answer schema could not be made of the organisation's reason codes".to_owned(),
    }
}
