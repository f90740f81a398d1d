//! The judge: a prompt, a model and an answer schema make an assessment.
//!
//! One call: fresh marks, the prompt rendered under them, the model asked before the deadline, its reply read strictly
//! ([`answer`]), the answer weighed (stricter where it must be, edits checked, words cleaned). Whatever goes wrong on
//! the way is a [`JudgeFailure`] with a name of its own, never an allow. Without a model, [`local`] decides from
//! findings alone.
//!
//! This module knows no cache and no posture: what follows from a failure is decided by whoever asked.

pub mod answer;
mod assessment;
mod edits;
mod failure;
pub mod local;
mod schema;
mod speech;
pub mod table;
mod weigh;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::llm::{self, Chain, Cost, Reply, Request, Schema, Usage};
use crate::model::{Diagnostic, Finding, Step};
use crate::policy::Policy;
use crate::prompt::{Marks, PromptInput, Prompts, Reasoning};
use crate::telemetry::names::JUDGE_CALLS;

use answer::AnswerError;
use weigh::{Scales, Sight};

pub use assessment::Assessment;
pub use failure::JudgeFailure;
pub use llm::SettingsError;
pub use schema::ANSWER_SCHEMA;
pub use weigh::CUT_CONFIDENCE;

/// How to judge with a model.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The models and how to reach them.
    pub llm: llm::ChainSettings,
    /// Estimated tokens that a prompt may cost.
    pub budget_tokens: usize,
    /// Whether the model is shown the agent's reasoning.
    pub reasoning: Reasoning,
    /// What follows an answer that cannot be used.
    pub unusable: UnusableAnswers,
}

/// What follows an answer that cannot be used: prose, broken JSON, a wrong schema.
///
/// A refusal, a content filter or an answer without its canary is never asked again: content can bring these about, and
/// would get as many attempts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnusableAnswers {
    /// The model is asked once more, under fresh marks, if there is time for another answer like the first.
    #[default]
    AskAgain,
    /// It is a failure at once.
    Fail,
}

/// A judge that asks a model. Cheap to clone.
#[derive(Clone)]
pub struct Judge {
    chain: Chain,
    schema: Schema<'static>,
    budget_tokens: usize,
    reasoning: Reasoning,
    unusable: UnusableAnswers,
    identity: String,
}

/// What is to be judged, and until when.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// The step.
    pub step: &'a Step,
    /// What prefilters saw in it.
    pub findings: &'a [Finding],
    /// The organisation's policy.
    pub policy: &'a Policy,
    /// The organisation's prompts.
    pub prompts: &'a Prompts,
    /// When the assessment has to be there.
    pub deadline: Instant,
}

/// A judged case.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// What the judge makes of the step.
    pub assessment: Assessment,
    /// The model that answered.
    pub model: String,
    /// The endpoint that answered.
    pub endpoint: Arc<str>,
    /// How many tokens it took, counted or estimated.
    pub usage: Usage,
    /// What these tokens cost.
    pub cost: Cost,
    /// How long the endpoint took.
    pub latency: Duration,
    /// Whether the prompt left something out for want of room.
    pub cut: bool,
    /// What of the answer was not taken as it was: `judge_raised`, `edit_…`.
    pub notes: Vec<Diagnostic>,
}

impl Judge {
    /// Checks the settings. Nothing is sent yet.
    ///
    /// # Errors
    ///
    /// A [`SettingsError`] that names the setting, what was expected and what was found.
    pub fn new(settings: Settings) -> Result<Self, SettingsError> {
        let identity = format!(
            "{} {} {:?}",
            settings.llm.identity(),
            settings.budget_tokens,
            settings.reasoning
        );
        Ok(Self {
            identity,
            chain: Chain::new(settings.llm)?,
            schema: schema::schema().ok_or_else(|| SettingsError::Client("the answer schema is no JSON".to_owned()))?,
            budget_tokens: settings.budget_tokens,
            reasoning: settings.reasoning,
            unusable: settings.unusable,
        })
    }

    /// The configured name of the first model.
    pub fn model(&self) -> &str {
        self.chain.model()
    }

    /// The endpoints that it asks.
    pub fn chain(&self) -> &Chain {
        &self.chain
    }

    /// Everything about it that changes its answers, for fingerprints.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// Asks the model about a case.
    ///
    /// # Errors
    ///
    /// A [`JudgeFailure`] when there is no answer in time, or none that can be used.
    pub async fn assess(&self, case: Case<'_>) -> Result<Judged, JudgeFailure> {
        let begun = Instant::now();
        match self.call(case).await {
            Ok(judged) => Ok(judged),
            Err(Unjudged::Unusable(error, spent)) if self.has_another_go(error, begun, case.deadline) => {
                tracing::debug!(failure = error.code(), "an answer cannot be used; asking once more");
                let judged = self.call(case).await.map_err(JudgeFailure::from)?;
                Ok(Judged {
                    usage: judged.usage + spent.usage,
                    cost: judged.cost + spent.cost,
                    latency: judged.latency + spent.latency,
                    ..judged
                })
            }
            Err(unjudged) => Err(unjudged.into()),
        }
    }

    /// Whether to ask once more: as long again as the first answer took, and half as long for luck.
    fn has_another_go(&self, error: AnswerError, begun: Instant, deadline: Instant) -> bool {
        let now = Instant::now();
        let in_time = now + now.duration_since(begun).mul_f64(1.5) < deadline;
        self.unusable == UnusableAnswers::AskAgain && error.may_be_chance() && in_time
    }

    /// One call, counted by its outcome.
    async fn call(&self, case: Case<'_>) -> Result<Judged, Unjudged> {
        let judged = self.ask(case).await;
        let outcome = judged.as_ref().map_or_else(Unjudged::code, |_| "ok");
        metrics::counter!(JUDGE_CALLS, "outcome" => outcome).increment(1);
        judged
    }

    async fn ask(&self, case: Case<'_>) -> Result<Judged, Unjudged> {
        let marks = Marks::fresh();
        let input = PromptInput {
            step: case.step,
            findings: case.findings,
            policy: case.policy,
            budget_tokens: self.budget_tokens,
            reasoning: self.reasoning,
        };
        let rendered = case.prompts.render(&input, &marks).map_err(JudgeFailure::from)?;
        let request = Request {
            system: &rendered.system,
            user: &rendered.user,
            schema: self.schema,
        };
        let reply = self
            .chain
            .chat(request, case.deadline)
            .await
            .map_err(JudgeFailure::from)?;
        let scales = Scales {
            step: case.step,
            findings: case.findings,
            policy: case.policy,
            shown: &rendered.shown,
            sight: if rendered.cut.is_empty() {
                Sight::Whole
            } else {
                Sight::Cut
            },
        };
        let answer = match answer::read(&reply.text, &marks.canary) {
            Ok(answer) => answer,
            Err(error) => return Err(Unjudged::Unusable(error, Box::new(reply))),
        };
        let (assessment, notes) = scales.weigh(answer);
        Ok(Judged {
            assessment,
            model: reply.model,
            endpoint: reply.endpoint,
            usage: reply.usage,
            cost: reply.cost,
            latency: reply.latency,
            cut: scales.sight == Sight::Cut,
            notes,
        })
    }
}

/// Why one call gave no assessment.
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

/// Judged cases are kept in a cache that is bounded in bytes.
impl Judged {
    /// Roughly how many bytes it takes.
    pub fn weight(&self) -> u32 {
        let assessment = &self.assessment;
        let edits: usize = assessment.edits.iter().map(|edit| edit.replacement.len() + 64).sum();
        let bytes = assessment.reasoning.len() + assessment.message.len() + self.model.len() + edits + 256;
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod testing;
