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
pub mod table;
mod weigh;

use tokio::time::Instant;

use crate::llm::{self, ChatModel, Request, Schema, Usage};
use crate::model::{Diagnostic, Finding, History, Step};
use crate::policy::Policy;
use crate::prompt::{Marks, PromptInput, Prompts, Reasoning};
use crate::telemetry::names::JUDGE_CALLS;

use weigh::{Scales, Sight};

pub use assessment::Assessment;
pub use failure::JudgeFailure;
pub use llm::SettingsError;
pub use schema::ANSWER_SCHEMA;
pub use weigh::CUT_CONFIDENCE;

/// How to judge with a model.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The model and how to reach it.
    pub llm: llm::Settings,
    /// Estimated tokens that a prompt may cost.
    pub budget_tokens: usize,
    /// Whether the model is shown the agent's reasoning.
    pub reasoning: Reasoning,
}

/// A judge that asks a model. Cheap to clone.
#[derive(Clone)]
pub struct Judge {
    model: ChatModel,
    schema: Schema<'static>,
    budget_tokens: usize,
    reasoning: Reasoning,
    identity: String,
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
    /// What it cost, where the endpoint says so.
    pub usage: Option<Usage>,
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
            "{} {} {} {:?}",
            settings.llm.base_url, settings.llm.model, settings.budget_tokens, settings.reasoning
        );
        Ok(Self {
            identity,
            model: ChatModel::new(settings.llm)?,
            schema: schema::schema().ok_or_else(|| SettingsError::Client("the answer schema is no JSON".to_owned()))?,
            budget_tokens: settings.budget_tokens,
            reasoning: settings.reasoning,
        })
    }

    /// The configured name of the model.
    pub fn model(&self) -> &str {
        self.model.name()
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
        let marks = Marks::fresh();
        let input = PromptInput {
            step: case.step,
            findings: case.findings,
            history: case.history,
            policy: case.policy,
            budget_tokens: self.budget_tokens,
            reasoning: self.reasoning,
        };
        let rendered = case.prompts.render(&input, &marks)?;
        let request = Request {
            system: &rendered.system,
            user: &rendered.user,
            schema: self.schema,
        };
        let reply = self.model.chat(request, case.deadline).await?;
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
            usage: reply.usage,
            cut: scales.sight == Sight::Cut,
            notes,
        })
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
