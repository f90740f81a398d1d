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
mod grounds;
pub mod local;
mod schema;
mod speech;
mod tape;
mod weigh;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::llm::{self, Chain, Cost, Reply, Request, Usage};
use crate::model::{Diagnostic, Finding, History, Step};
use crate::policy::Policy;
use crate::prompt::{Marks, PromptInput, Prompts, Reasoning};
use crate::telemetry::names::JUDGE_CALLS;

use schema::Schemas;
use weigh::{Scales, Sight};

pub use assessment::Assessment;
pub use failure::JudgeFailure;
pub use llm::SettingsError;
pub use schema::ANSWER_SCHEMA;
pub use tape::{Question, Tape};
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
}

/// A judge that asks a model. Cheap to clone.
#[derive(Clone)]
pub struct Judge {
    chain: Chain,
    schemas: Arc<Schemas>,
    budget_tokens: usize,
    reasoning: Reasoning,
    identity: String,
    tape: Option<Arc<dyn Tape>>,
}

/// What is to be judged, and until when.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// The step.
    pub step: &'a Step,
    /// What prefilters saw in it.
    pub findings: &'a [Finding],
    /// What happened in the session before.
    pub history: &'a History,
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
            schemas: Arc::default(),
            budget_tokens: settings.budget_tokens,
            reasoning: settings.reasoning,
            tape: None,
        })
    }

    /// The same judge with a tape between it and its models. `name` keeps its answers apart from those of others in a cache.
    pub fn on_tape(&self, tape: Arc<dyn Tape>, name: &str) -> Self {
        Self {
            identity: format!("{} {name}", self.identity),
            tape: Some(tape),
            ..self.clone()
        }
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
        let judged = self.ask(case).await;
        let outcome = judged.as_ref().map_or_else(|failure| failure.code, |_| "ok");
        metrics::counter!(JUDGE_CALLS, "outcome" => outcome).increment(1);
        judged
    }

    async fn ask(&self, case: Case<'_>) -> Result<Judged, JudgeFailure> {
        let marks = self.tape.as_ref().map_or_else(Marks::fresh, |tape| tape.marks());
        let input = PromptInput {
            step: case.step,
            findings: case.findings,
            history: case.history,
            policy: case.policy,
            budget_tokens: self.budget_tokens,
            reasoning: self.reasoning,
        };
        let rendered = case.prompts.render(&input, &marks)?;
        let schema = self.schemas.with(&case.policy.own_codes).map_err(|_| no_schema())?;
        let request = Request {
            system: &rendered.system,
            user: &rendered.user,
            schema: schema.as_schema(),
        };
        let reply = self.exchange(request, &marks, case.deadline).await?;
        let scales = Scales {
            step: case.step,
            findings: case.findings,
            history: case.history,
            policy: case.policy,
            shown: &rendered.shown,
            sight: if rendered.cut.is_empty() {
                Sight::Whole
            } else {
                Sight::Cut
            },
        };
        let (assessment, notes) = scales.weigh(answer::read(&reply.text, &marks.canary)?);
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

    /// The reply of the model, or of the tape in its place.
    async fn exchange(&self, request: Request<'_>, marks: &Marks, deadline: Instant) -> Result<Reply, JudgeFailure> {
        let Some(tape) = &self.tape else {
            return Ok(self.chain.chat(request, deadline).await?);
        };
        let question = Question {
            model: self.model(),
            request,
            marks,
        };
        if let Some(reply) = tape.play(&question)? {
            return Ok(reply);
        }
        let reply = self.chain.chat(request, deadline).await;
        tape.record(&question, &reply);
        Ok(reply?)
    }
}

fn no_schema() -> JudgeFailure {
    JudgeFailure {
        code: "schema",
        detail: "the answer schema could not be made of the organisation's reason codes".to_owned(),
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
