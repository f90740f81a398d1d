//! The judge: a prompt, a model and an answer schema make an assessment.
//!
//! One call (`model.rs`): fresh marks, the prompt rendered under them, money set aside, the model asked before the deadline,
//! its reply read strictly ([`answer`]), the answer weighed (stricter where it must be, edits checked, words cleaned).
//! Every error on the way is a [`JudgeFailure`] with a name of its own, never an allow. Without a model, [`local`] decides from findings alone.
//!
//! ```text
//! first model ──sure, small risk, may decide──▶ its answer
//!      │ anything else, also a failure
//!      ▼
//! second model ──▶ its answer; if it fails, a denial of the first one counts, an allow does not
//! ```
//!
//! A step that the guardian alone would deny is asked about with that suspicion: an answer that lets it happen and does not name the finding is of no
//! use, and a first model cannot let it happen.
//!
//! A step whose texts are too long for one prompt may take several calls (`parts.rs`): the strictest answer counts.
//! Each of them may be asked twice, with the agent's reasoning and without: the stricter answer counts (`stricter.rs`).
//! With one model only, there is one stage.
//!
//! This module knows no cache and no posture: the caller decides what follows from a failure.

pub mod answer;
mod assessment;
mod authorization_basis;
mod edits;
mod failure;
pub mod local;
mod model;
mod parts;
mod recorder;
mod sanitize;
mod saved;
mod schema;
mod spend_budget;
mod stricter;
mod weigh;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::llm::{self, Chain, Cost, Usage};
use crate::model::{Decision, Diagnostic, Finding, History, Origin, Stage, Step, Suspicion, Withheld, named_enum};
use crate::policy::{FirstStageRules, Policy};
use crate::prompt::{Prompts, RankWindows, Reasoning};
use crate::telemetry::names::JUDGE_STAGES;

use model::{AskedModel, CallOptions};

pub use assessment::Assessment;
pub use failure::JudgeFailure;
pub use llm::SettingsError;
pub use recorder::{DIGEST_DIGITS, Question, Recorder};
pub use schema::ANSWER_SCHEMA;
pub use spend_budget::{Charge, SpendBudget, UnlimitedBudget, refusal};
pub use weigh::CUT_CONFIDENCE;

/// The settings of a judge with a model.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The model and its endpoints, in order.
    pub llm: llm::ChainSettings,
    /// A smaller model that is asked first.
    pub first: Option<FirstStage>,
    /// Estimated tokens that a prompt may cost.
    pub budget_tokens: usize,
    /// The treatment of the agent's reasoning.
    pub reasoning: AgentReasoning,
    /// The treatment of an answer that cannot be used.
    pub unusable: UnusableAnswers,
}

named_enum! {
    /// The treatment of an answer that cannot be used: prose, broken JSON, a wrong schema.
    ///
    /// A refusal, a content filter or an answer without its canary is never asked again: content can bring these about, and
    /// would get as many attempts. Of two models the first is not asked again: the second one is.
    #[derive(Default)]
    UnusableAnswers {
        /// The model is asked once more, under fresh marks, if there is time for another answer like the first.
        #[default]
        AskAgain = "ask_again",
        /// It is a failure at once.
        Fail = "fail",
    }
}

/// A model that is asked before the other one. Each organisation's policy says what it may decide by itself.
#[derive(Clone, Debug)]
pub struct FirstStage {
    /// The model and its endpoints.
    pub llm: llm::ChainSettings,
    /// The longest that it may take; the rest of a decision's time is the second model's.
    pub timeout: Duration,
}

named_enum! {
    /// The treatment of the agent's reasoning in prompts.
    AgentReasoning {
        /// It is shown.
        Shown = "shown",
        /// It is withheld: an agent's arguments for its own step can only persuade.
        Withheld = "withheld",
        /// Two calls, one of each; the stricter answer counts. A step without reasoning takes one.
        Both = "both",
    }
}

/// A judge that asks a model. Cheap to clone.
#[derive(Clone)]
pub struct Judge {
    shared: Arc<Shared>,
    identity: String,
    /// The recorder, and the name under which it stands there.
    recorder: Option<(Arc<dyn Recorder>, String)>,
}

struct Shared {
    first: Option<AskedModel>,
    model: AskedModel,
    reasoning: AgentReasoning,
}

/// The case that is to be judged, with its deadline and its budget.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    /// The step.
    pub step: &'a Step,
    /// The findings of prefilters in it.
    pub findings: &'a [Finding],
    /// The texts that no model is shown, wherever they stand.
    pub withheld: &'a Withheld,
    /// The suspicion for which the guardian alone would deny it. A model that lets the step happen has to say why it does not hold.
    pub suspicion: Option<&'a Suspicion>,
    /// The history of the session before the step.
    pub history: &'a History,
    /// The organisation's policy.
    pub policy: &'a Policy,
    /// The organisation's prompts.
    pub prompts: &'a Prompts,
    /// The time at which the assessment has to be there.
    pub deadline: Instant,
    /// The budget that pays for the calls.
    pub budget: &'a dyn SpendBudget,
    /// The ranking of the windows of texts that are too long to be shown whole, if there is a better one than the prompt's.
    pub ranks: Option<&'a dyn RankWindows>,
}

/// A judged case.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The judge's assessment of the step.
    pub assessment: Assessment,
    /// The model of two that decided.
    pub stage: Stage,
    /// The model that answered.
    pub model: String,
    /// The endpoint that answered.
    pub endpoint: Arc<str>,
    /// The tokens that all calls for it took, counted or estimated.
    pub usage: Usage,
    /// The cost of these tokens.
    pub cost: Cost,
    /// The time that the endpoint took.
    pub latency: Duration,
    /// True if the prompt left something out for want of room.
    pub cut: bool,
    /// The id of the decision that asked for it; set by the store that keeps the answer.
    pub decision: Option<Arc<str>>,
    /// The changes to the answer, and the way in which it was obtained: `judge_raised`, `edit_…`, `judge_escalated`, `judge_hedged`.
    pub notes: Vec<Diagnostic>,
}

impl Judge {
    /// Checks the settings. Nothing is sent yet.
    ///
    /// # Errors
    ///
    /// A [`SettingsError`] that names the setting, what was expected and what was found.
    pub fn new(settings: Settings) -> Result<Self, SettingsError> {
        let first = settings.first.as_ref();
        let identity = format!(
            "{}\n\n{}\n\n{} {:?}",
            settings.llm.identity(),
            first.map_or_else(|| "none".to_owned(), |first| first.llm.identity()),
            settings.budget_tokens,
            settings.reasoning
        );
        let budget = settings.budget_tokens;
        let (first, stage) = match settings.first {
            Some(FirstStage { llm, timeout }) => {
                let first = AskedModel::new(llm, Stage::First, Some(timeout), budget, UnusableAnswers::Fail)?;
                (Some(first), Stage::Second)
            }
            None => (None, Stage::Single),
        };
        Ok(Self {
            shared: Arc::new(Shared {
                first,
                model: AskedModel::new(settings.llm, stage, None, budget, settings.unusable)?,
                reasoning: settings.reasoning,
            }),
            identity,
            recorder: None,
        })
    }

    /// Returns the same judge with a recorder between it and its models. `name` keeps its answers apart from those of others in a cache.
    pub fn with_recorder(&self, recorder: Arc<dyn Recorder>, name: &str) -> Self {
        Self {
            identity: format!("{} {name}", self.identity),
            recorder: Some((recorder, name.to_owned())),
            ..self.clone()
        }
    }

    /// Returns the configured name of the model; of two, that of the second.
    pub fn model(&self) -> &str {
        self.shared.model.chain.model()
    }

    /// Returns the endpoints that it asks; of two models, those of the second.
    pub fn chain(&self) -> &Chain {
        &self.shared.model.chain
    }

    /// Returns the endpoints of the model that is asked first, if there is one.
    pub fn first_chain(&self) -> Option<&Chain> {
        self.shared.first.as_ref().map(|first| &first.chain)
    }

    /// Returns everything about it that changes its answers, for fingerprints.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// Asks about a case: the first model, if there is one, and the other as far as that one may not decide.
    ///
    /// # Errors
    ///
    /// A [`JudgeFailure`] when there is no answer in time, or none that can be used, or no budget for one.
    pub async fn assess(&self, case: Case<'_>) -> Result<Judged, JudgeFailure> {
        let Some(first) = &self.shared.first else {
            return self.read(&self.shared.model, case).await;
        };
        let opinion = self.read(first, case).await;
        let doubt = match &opinion {
            Ok(judged) => doubt(judged, &case.policy.judge.first, case.suspicion),
            Err(failure) if failure.is_unpaid() => None,
            Err(failure) => Some(failure.code),
        };
        let settled = opinion.as_ref().map_or_else(|failure| failure.code, |_| "decided");
        count_stage(Stage::First, doubt.unwrap_or(settled));
        let Some(doubt) = doubt else { return opinion };
        let last = self.read(&self.shared.model, case).await;
        count_stage(
            Stage::Second,
            last.as_ref().map_or_else(|failure| failure.code, |_| "decided"),
        );
        match (last, opinion) {
            (Ok(mut judged), opinion) => {
                if let Ok(opinion) = &opinion {
                    judged.add(opinion);
                }
                judged.note(Diagnostic {
                    code: "judge_escalated",
                    detail: format!("the first model's answer was not enough ({doubt})"),
                });
                Ok(judged)
            }
            // It was not sure, but the second model is not there: the stricter side is the safe one.
            (Err(failure), Ok(mut opinion)) if opinion.assessment.decision == Decision::Deny => {
                opinion.note(Diagnostic {
                    code: "judge_unconfirmed",
                    detail: format!(
                        "the second model could not be asked ({}), the first one denied",
                        failure.code
                    ),
                });
                Ok(opinion)
            }
            (Err(failure), _) => Err(failure),
        }
    }

    /// Asks one model about a case, with the agent's reasoning, without it, or both.
    async fn read(&self, model: &AskedModel, case: Case<'_>) -> Result<Judged, JudgeFailure> {
        let with = |reasoning| {
            let options = CallOptions {
                recorder: self
                    .recorder
                    .as_ref()
                    .map(|(recorder, name)| (&**recorder, name.as_str())),
                reasoning,
                part: None,
            };
            Box::pin(parts::ask(model, case, options))
        };
        match self.shared.reasoning {
            AgentReasoning::Shown => with(Reasoning::Shown).await,
            AgentReasoning::Withheld => with(Reasoning::Withheld).await,
            AgentReasoning::Both if case.step.contents_of(Origin::Reasoning).next().is_none() => {
                with(Reasoning::Shown).await
            }
            AgentReasoning::Both => {
                let (shown, withheld) = tokio::join!(with(Reasoning::Shown), with(Reasoning::Withheld));
                stricter::of_readings(shown, withheld)
            }
        }
    }
}

/// Returns the reason why the first model may not decide this by itself; `None` if it may.
fn doubt(judged: &Judged, rules: &FirstStageRules, suspicion: Option<&Suspicion>) -> Option<&'static str> {
    let noted = |code: &str| judged.notes.iter().any(|note| note.code == code);
    let assessment = &judged.assessment;
    if suspicion.is_some() && assessment.decision != Decision::Deny {
        Some("suspected")
    } else if noted("judge_raised") || noted("judge_unsure") || noted(stricter::DISAGREEMENT) {
        Some("at_odds")
    } else if assessment.confidence < rules.min_confidence {
        Some("unsure")
    } else if assessment.risk >= rules.escalate_risk {
        Some("risk")
    } else if rules.escalate.contains(&assessment.decision) {
        Some("decision")
    } else {
        None
    }
}

/// Notes that tokens and cost hold an estimate.
fn hedged(call: &llm::GivenUp) -> Diagnostic {
    Diagnostic {
        code: "judge_hedged",
        detail: format!(
            "a call of `{}` was given up, another one beside it was answered first; what it took is estimated at {} tokens",
            call.endpoint,
            call.usage.tokens()
        ),
    }
}

fn count_stage(stage: Stage, outcome: &'static str) {
    metrics::counter!(JUDGE_STAGES, "stage" => stage.as_str(), "outcome" => outcome).increment(1);
}

impl Judged {
    /// Adds the usage of another call for the same case.
    fn add(&mut self, other: &Judged) {
        self.usage = self.usage + other.usage;
        self.cost = self.cost + other.cost;
        self.latency = self.latency.saturating_add(other.latency);
    }

    fn note(&mut self, note: Diagnostic) {
        self.assessment.reasoning.push_str(&format!("\n[{}]", note.detail));
        self.notes.push(note);
    }
}

/// Judged cases are kept in a cache that is bounded in bytes.
impl Judged {
    /// Returns the number of bytes that it takes, what it owns on the heap included.
    pub fn weight(&self) -> u32 {
        let assessment = &self.assessment;
        let edits: usize = assessment.edits.iter().map(|edit| edit.replacement.capacity()).sum();
        let codes: usize = assessment.reason_codes.iter().map(|code| code.as_str().len()).sum();
        let notes: usize = self.notes.iter().map(|note| note.detail.capacity()).sum();
        let lists = size_of_val(assessment.edits.as_slice())
            + size_of_val(assessment.reason_codes.as_slice())
            + size_of_val(self.notes.as_slice());
        let texts = assessment.reasoning.capacity() + assessment.message.capacity() + self.model.capacity();
        let bytes = size_of::<Self>() + lists + texts + edits + codes + notes;
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
