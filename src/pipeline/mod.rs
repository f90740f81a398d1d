//! The path of a step: admit, recall, screen, cache, judge, settle, remember.
//!
//! [`Guardian::decide`] is the whole path on one screen; each stage is a file of its own:
//!
//! | stage | file | what it makes |
//! |---|---|---|
//! | admit | `admission.rs` | [`Admitted`]: a caller, its organisation as it stands now, within its limits |
//! | recall | `remember.rs` | what happened in the session before |
//! | screen | `screen.rs` | `Screened`: findings, and what the policy makes of each |
//! | mask | `mask.rs` | `Cleared`: the step without what the policy masks; no judge ever sees that |
//! | judge | `judging.rs`, `purse.rs` | a `Draft`: from the cache, a model, the local judge, or the posture |
//! | settle | `settle.rs`, `withhold.rs` | the [`Verdict`]: edits applied, decoded and screened again |
//! | remember | `remember.rs` | the step and its verdict, as part of the session |
//!
//! Every front door — the AOS endpoint, the one-shot command, the evaluation — calls the one `decide`. It cannot
//! fail: what went wrong inside is in the verdict's diagnostics and its source.

mod admission;
mod draft;
mod experts;
mod judging;
mod mask;
mod organisation;
mod purse;
mod remember;
mod screen;
mod settle;
mod trust;
mod withhold;
mod witness;

use std::sync::Arc;
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};

pub use admission::{Admitted, Refused};
pub use organisation::{Organisation, Organisations};
pub use trust::{JudgeCheck, Trust};

use crate::audit::Audit;
use crate::cache::{AnswerCache, Keep};
use crate::judge::{Judge, Judged};
use crate::limit::RateLimits;
use crate::llm::BreakerState;
use crate::model::{Caller, Decision, Finding, History, Posture, Step, Verdict};
use crate::prefilter::Prefilters;
use crate::session::{Memory, Settled};
use crate::telemetry::names;

/// How the pipeline behaves.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The whole time that one decision may take, judge included.
    pub timeout: Duration,
    /// What happens when nobody could decide, unless the organisation's policy says otherwise.
    pub on_failure: Posture,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(10),
            on_failure: Posture::Deny,
        }
    }
}

/// What a guardian is made of.
pub struct Parts {
    /// The prefilters.
    pub prefilters: Prefilters,
    /// The organisations it serves.
    pub organisations: Organisations,
    /// The judge; without one, the local judge decides from findings alone.
    pub judge: Option<Judge>,
    /// Where its answers are kept.
    pub cache: AnswerCache<Judged>,
    /// What is remembered of sessions; without it, every step is judged by itself.
    pub sessions: Option<Memory>,
    /// What is limited.
    pub limits: Arc<dyn RateLimits>,
    /// Where decisions are recorded.
    pub audit: Audit,
    /// How it behaves.
    pub settings: Settings,
}

/// The guardian: answers steps with verdicts.
pub struct Guardian {
    prefilters: Arc<Prefilters>,
    organisations: ArcSwap<Organisations>,
    judge: Option<Arc<Judge>>,
    judge_check: ArcSwapOption<JudgeCheck>,
    open_postures: ArcSwap<Vec<String>>,
    cache: AnswerCache<Judged>,
    sessions: Option<Memory>,
    limits: Arc<dyn RateLimits>,
    audit: Audit,
    settings: Settings,
}

/// A decided step.
#[derive(Clone, Debug)]
pub struct Decided {
    /// The answer.
    pub verdict: Verdict,
    /// The id under which it is recorded.
    pub decision_id: String,
    /// How long it took.
    pub duration: Duration,
}

impl Guardian {
    /// Puts a guardian together.
    pub fn new(parts: Parts) -> Self {
        let open_postures = match parts.judge {
            Some(_) => parts.organisations.open_postures(parts.settings.on_failure),
            None => Vec::new(),
        };
        Self {
            open_postures: ArcSwap::from_pointee(open_postures),
            prefilters: Arc::new(parts.prefilters),
            organisations: ArcSwap::from_pointee(parts.organisations),
            judge: parts.judge.map(Arc::new),
            judge_check: ArcSwapOption::empty(),
            cache: parts.cache,
            sessions: parts.sessions,
            limits: parts.limits,
            audit: parts.audit,
            settings: parts.settings,
        }
    }

    /// Decides about a step. It cannot fail.
    ///
    /// INVARIANT: the ticket writes exactly one audit record, also when this future is dropped or panics.
    pub async fn decide(&self, admitted: &Admitted, step: Arc<Step>) -> Decided {
        self.decide_by(self.judge.as_ref(), admitted, step).await
    }

    /// Decides as [`decide`](Self::decide) does, with this judge in the place of its own.
    pub async fn decide_by(&self, judge: Option<&Arc<Judge>>, admitted: &Admitted, step: Arc<Step>) -> Decided {
        let mut ticket = self.audit.open(&admitted.caller, &step);
        let deadline = tokio::time::Instant::now() + self.settings.timeout;
        let policy = &admitted.organisation.policy;

        let (recalled, note) = self.recall(admitted, &step, deadline).await;
        let screened = self.screen(step, policy, recalled.past()).await;
        let cleared = match screened.settled(policy) {
            Some(draft) => Err(draft),
            None => self.mask(&screened, policy, recalled.past()).await,
        };
        let verdict = match cleared {
            Err(draft) => draft.into_verdict(None, Vec::new()),
            Ok(cleared) => {
                let id = ticket.decision_id();
                let draft = self.judge(judge, admitted, &cleared, &recalled, deadline, id).await;
                self.settle(draft, cleared, policy, recalled.past()).await
            }
        };
        let (method, withheld) = (screened.method(), screened.withheld());
        let received = Arc::clone(&screened.step);
        let mut verdict = screened.complete(verdict, &admitted.organisation);
        verdict.diagnostics.extend(note);
        withheld.clean(&mut verdict);
        let happened = verdict.modified.as_ref().unwrap_or(&received);
        let settled = Settled::by(&verdict, withheld.texts());
        self.remember(&recalled, recalled.happening(happened, &received, settled, policy))
            .await;

        let decision_id = ticket.decision_id().to_owned();
        ticket.withhold(withheld.texts());
        let duration = ticket.close(&verdict);
        count(&verdict, method, duration);
        Decided {
            verdict,
            decision_id,
            duration,
        }
    }

    /// What a judge would be shown of a step: the step as masked, the evidence, and what happened before. `None` where rules
    /// settle it and no judge is asked.
    pub async fn shown_to_judge(
        &self,
        admitted: &Admitted,
        step: Arc<Step>,
    ) -> Option<(Arc<Step>, Vec<Finding>, History)> {
        let policy = &admitted.organisation.policy;
        let deadline = tokio::time::Instant::now() + self.settings.timeout;
        let (recalled, _) = self.recall(admitted, &step, deadline).await;
        let screened = self.screen(step, policy, recalled.past()).await;
        if screened.settled(policy).is_some() {
            return None;
        }
        let cleared = self.mask(&screened, policy, recalled.past()).await.ok()?;
        let history = recalled.history(&cleared.step);
        Some((cleared.step, cleared.evidence, history))
    }

    /// Puts other organisations in place of the present ones. Steps under way keep what they started with.
    pub fn replace_organisations(&self, organisations: Organisations) {
        if self.judge.is_some() {
            let open = organisations.open_postures(self.settings.on_failure);
            self.open_postures.store(Arc::new(open));
        }
        self.organisations.store(Arc::new(organisations));
    }

    /// Where steps happen about which no judge could decide: one line for each organisation whose posture is open.
    pub fn open_postures(&self) -> Arc<Vec<String>> {
        self.open_postures.load_full()
    }

    /// Compiles what would otherwise be compiled for the first step.
    pub fn warm_up(&self) {
        let organisations = self.organisations.load();
        if let Some(organisation) = organisations.ids().next().and_then(|id| organisations.get(id)) {
            self.prefilters.warm_up(&organisation.policy);
        }
    }

    /// The judge, where a model judges.
    pub fn model_judge(&self) -> Option<&Arc<Judge>> {
        self.judge.as_ref()
    }

    /// Whether a model judges, rather than rules alone.
    pub fn has_judge(&self) -> bool {
        self.judge.is_some()
    }

    /// The endpoints that are left alone at the moment, and whether one is being probed: `spare: open`.
    pub fn resting_endpoints(&self) -> Vec<String> {
        let chains = self
            .judge
            .iter()
            .flat_map(|judge| judge.first_chain().into_iter().chain([judge.chain()]));
        let states = chains.flat_map(|chain| chain.states());
        states
            .filter(|state| state.breaker != BreakerState::Closed)
            .map(|state| format!("{}: {}", state.endpoint, state.breaker.as_str()))
            .collect()
    }

    /// Whether no step is admitted because audit records cannot be written.
    pub fn is_unrecorded(&self) -> bool {
        self.audit.refuses()
    }

    /// Waits until all audit records have reached their destination.
    pub fn flush_audit(&self) {
        self.audit.flush();
    }

    /// Waits until all sessions are where they are kept.
    pub fn flush_sessions(&self) {
        if let Some(sessions) = &self.sessions {
            sessions.flush();
        }
    }

    /// The only caller there is when no organisation is configured.
    pub fn local_caller() -> Caller {
        Caller {
            organisation: Organisation::default_id(),
            name: "local".to_owned(),
        }
    }
}

impl Keep for Judged {
    fn weight(&self) -> u32 {
        Judged::weight(self)
    }

    fn decision(&self) -> Decision {
        self.assessment.decision
    }
}

fn count(verdict: &Verdict, method: crate::model::Method, duration: Duration) {
    let source = verdict.source.as_str();
    let decision = if verdict.undecided {
        "error"
    } else {
        verdict.decision.as_str()
    };
    metrics::counter!(names::DECISIONS, "decision" => decision, "source" => source, "method" => method.as_str())
        .increment(1);
    metrics::histogram!(names::DECISION_SECONDS, "source" => source).record(duration.as_secs_f64());
}
