//! The path of a step: admit, recall, screen, cache, judge, settle, remember.
//!
//! `Guardian::path` is the whole path on one screen; each stage is a file of its own:
//!
//! | stage | file | its result |
//! |---|---|---|
//! | admit | `admission.rs` | [`Admitted`]: a caller, its organisation as it is now, within its limits |
//! | recall | `recall.rs`, `observe.rs` | the history of the session |
//! | screen | `screen.rs`, `egress.rs` | `Screened`: findings, each with its treatment by the policy |
//! | mask | `mask.rs` | `Cleared`: the step without what the policy masks; no judge ever sees that |
//! | local | `local.rs`, `local_opinion.rs`, `local_draft.rs` | a `LocalOpinion`: that of the local judge's trained scorer |
//! | learn | `learning.rs` | a judge's verdict, to be kept; the opinion of the organisation's own model |
//! | alone | `alone.rs` | the decision without a model; if it denies, the suspicion that a model has to answer |
//! | judge | `judging.rs`, `spend_budget.rs`, `draft.rs`, `windows.rs`, `trust.rs` | a `Draft`: from the cache, a model, the local judge, or the posture |
//! | settle | `settle.rs` | the [`Verdict`]: edits applied, decoded and screened again |
//! | enforce | `enforcement.rs` | the same; or, if it is only observed, one that lets the step happen and has it as observed |
//! | complete | `examine.rs` | a [`Clean`] verdict: without what is withheld; nothing else is recorded or sent |
//! | remember | `session_update.rs` | the step and its verdict, as part of the session; after the answer |
//!
//! CPU-bound work is plain functions (`examine.rs`, with what they need in `examiner.rs` and `text_screener.rs`) that run in a
//! slot (`step_slot.rs`, [`crate::work`]); what waits for a store or a model is async and holds no slot. `status.rs` answers
//! operators.
//!
//! Every front door — the AOS endpoint, the one-shot command, the evaluation — calls the one `decide`. It cannot fail: errors inside are in the
//! verdict's diagnostics and its source.

mod admission;
mod alone;
mod conditions;
mod draft;
mod egress;
mod enforcement;
mod examine;
mod examiner;
mod hints;
mod judging;
mod learning;
mod local;
mod local_draft;
mod local_opinion;
mod mask;
mod names_and_ids;
mod observe;
mod organisation;
mod recall;
mod screen;
mod session_update;
mod settle;
mod spend_budget;
mod status;
mod step_slot;
mod text_screener;
mod trust;
mod windows;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::time::Instant;
use tracing::Instrument;

pub use admission::{Admitted, Claim, Refused};
pub use examine::JudgeView;
pub use organisation::{Organisation, Organisations};
pub use recall::Line;
pub use session_update::SessionUpdate;
use trust::JudgeTrust;
pub use trust::{JudgeCheck, Trust};

pub use crate::audit::Recorded;
pub use crate::shared::LinkState;

use draft::Draft;
use examine::{Examined, Finished};
use examiner::{Examiner, Learner};
use step_slot::StepSlot;

use crate::audit::Audit;
use crate::cache::{AnswerCache, Keep};
use crate::judge::{Judge, Judged};
use crate::learning::Learning;
use crate::limit::RateLimits;
use crate::local::{Scorer, TrainingFeatures, Vocabulary};
use crate::model::{Caller, Clean, Decision, OrganisationId, Posture, Step, Verdict};
use crate::prefilter::Prefilters;
use crate::session::{Memory, Snapshot};
use crate::shared::Link;
use crate::telemetry::{names, spans};
use crate::work::{self, Busy, Places, Pool, Reserve, Slot, Weights};

/// The settings of the pipeline.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The whole time that one decision may take, judge included.
    pub timeout: Duration,
    /// The posture if no decision is possible, unless the organisation's policy says otherwise.
    pub on_failure: Posture,
    /// Steps about which a model is asked at the same time.
    pub judged_at_once: usize,
    /// The purpose of verdicts.
    pub purpose: Purpose,
}

/// The purpose of verdicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Steps happen, or do not: if the configuration observes, they happen.
    Guarding,
    /// Verdicts are counted, and nothing happens: the configuration's modes have no effect.
    Measuring,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(10),
            on_failure: Posture::Deny,
            judged_at_once: 256,
            purpose: Purpose::Guarding,
        }
    }
}

/// The parts of a guardian.
pub struct Parts {
    /// The prefilters.
    pub prefilters: Arc<Prefilters>,
    /// The organisations it serves.
    pub organisations: Organisations,
    /// The judge; without one, the local judge decides from findings alone.
    pub judge: Option<Judge>,
    /// The trained scorer of the local judge; without one, findings alone are weighed.
    pub scorer: Option<Scorer>,
    /// The cache of its answers.
    pub cache: AnswerCache<Judged>,
    /// The memory of sessions; without it, every step is judged by itself.
    pub sessions: Option<Memory>,
    /// The limits.
    pub limits: Arc<dyn RateLimits>,
    /// The link to state that several nodes share, if there is one.
    pub shared: Option<Link>,
    /// The audit of decisions.
    pub audit: Audit,
    /// The bounds of concurrent examinations.
    pub work: work::Settings,
    /// Its settings.
    pub settings: Settings,
}

/// The guardian: answers steps with verdicts.
pub struct Guardian {
    prefilters: Arc<Prefilters>,
    organisations: ArcSwap<Organisations>,
    judge: Option<Arc<Judge>>,
    judged: Places,
    judge_trust: Arc<JudgeTrust>,
    open_postures: ArcSwap<Vec<String>>,
    observing: ArcSwap<Vec<String>>,
    scorer: Option<Scorer>,
    learning: Option<Learning>,
    settled_locally: Arc<AtomicU64>,
    cache: AnswerCache<Judged>,
    sessions: Option<Memory>,
    limits: Arc<dyn RateLimits>,
    shared: Option<Link>,
    audit: Audit,
    pool: Arc<Pool>,
    weights: Weights,
    settings: Settings,
}

/// The time that settling may take beyond the deadline, if the model answered just before it.
const SETTLING: Duration = Duration::from_secs(1);

/// A decided step.
#[derive(Clone, Debug)]
pub struct Decided {
    /// The answer.
    pub verdict: Arc<Clean<Verdict>>,
    /// The id under which it is recorded.
    pub decision_id: String,
    /// The time that it took.
    pub duration: Duration,
    /// The state of its record. If no step is taken without one, the verdict is an error if it was not taken.
    pub recorded: Recorded,
}

impl Guardian {
    /// Puts a guardian together.
    pub fn new(parts: Parts) -> Self {
        let open_postures = match parts.judge {
            Some(_) => parts.organisations.open_postures(parts.settings.on_failure),
            None => Vec::new(),
        };
        let weights = Weights::default();
        weights.replace(parts.organisations.weights());
        let judge_trust = Arc::default();
        if let (Some(judge), Some(link)) = (&parts.judge, &parts.shared) {
            hints::share(judge, &judge_trust, link);
        }
        Self {
            open_postures: ArcSwap::from_pointee(open_postures),
            observing: ArcSwap::from_pointee(parts.organisations.observing()),
            prefilters: parts.prefilters,
            organisations: ArcSwap::from_pointee(parts.organisations),
            judge: parts.judge.map(Arc::new),
            judged: Places::new(parts.settings.judged_at_once, Reserve::ByWeight, &weights),
            judge_trust,
            scorer: parts.scorer,
            learning: None,
            settled_locally: Arc::default(),
            cache: parts.cache,
            sessions: parts.sessions,
            limits: parts.limits,
            shared: parts.shared,
            audit: parts.audit,
            pool: Arc::new(Pool::new(parts.work, &weights)),
            weights,
            settings: parts.settings,
        }
    }

    /// Returns the same guardian, learning from its judge.
    #[must_use]
    pub fn learning(mut self, learning: Learning) -> Self {
        self.learning = Some(learning);
        self
    }

    /// Decides about a step, and updates its session. It cannot fail.
    pub async fn decide(&self, admitted: &Admitted, step: Arc<Step>) -> Decided {
        self.decide_by(self.judge.as_ref(), admitted, step).await
    }

    /// Decides as [`decide`](Self::decide) does, with this judge in the place of its own.
    pub async fn decide_by(&self, judge: Option<&Arc<Judge>>, admitted: &Admitted, step: Arc<Step>) -> Decided {
        let admitted = &*admitted.under(&step);
        let step_slot = self.step_slot(admitted, &step, None).handing_over();
        let examiner = self.examiner(admitted);
        let (decided, update) = self.path(judge, examiner, admitted, step, step_slot).await;
        update.apply().await;
        decided
    }

    /// Decides about a step, and returns the update of its session for the caller to apply after the answer was sent. The
    /// next step of the session waits for that update. `slot` is the one in which the step was decoded, if it was in one.
    pub async fn answer(&self, admitted: &Admitted, step: Arc<Step>, slot: Option<Slot>) -> (Decided, SessionUpdate) {
        let admitted = &*admitted.under(&step);
        let step_slot = self.step_slot(admitted, &step, slot);
        let examiner = self.examiner(admitted);
        self.path(self.judge.as_ref(), examiner, admitted, step, step_slot)
            .await
    }

    /// Decides by rules alone about a step that carries ids and no words. Its session stays as it was: such steps are asked for again and again, and
    /// would push out what was said.
    pub async fn answer_by_rules(&self, admitted: &Admitted, step: Arc<Step>) -> Decided {
        let admitted = &*admitted.under(&step);
        let step_slot = self.step_slot(admitted, &step, None);
        let examiner = Examiner {
            scorer: None,
            ..self.examiner(admitted)
        };
        let (decided, _) = self.path(None, examiner, admitted, step, step_slot).await;
        decided
    }

    /// Records a step that repeats one that was decided about before, and therefore happens again.
    pub async fn record_repeated(&self, admitted: &Admitted, step: &Arc<Step>) -> Recorded {
        let ticket = self.audit.open(&admitted.caller, step);
        let (verdict, lines) = self.examiner(&admitted.under(step)).repeated(step);
        let (duration, taken) = ticket.close(&verdict, lines);
        count(&verdict, step.method, duration);
        taken.wait().await
    }

    /// Takes a step along its path.
    ///
    /// INVARIANT: the ticket writes exactly one audit record, also when this future is dropped or panics.
    async fn path(
        &self,
        judge: Option<&Arc<Judge>>,
        examiner: Examiner,
        admitted: &Admitted,
        step: Arc<Step>,
        mut step_slot: StepSlot<'_>,
    ) -> (Decided, SessionUpdate) {
        let ticket = self.audit.open(&admitted.caller, &step);
        let method = step.method;
        let span = spans::step(
            ticket.decision_id(),
            admitted.organisation.id.as_str(),
            method.as_str(),
            step.kind.as_str(),
        );
        let recalling = self.recall(admitted, &step, &mut step_slot);
        let (snapshot, notes) = recalling.instrument(spans::stage(&span, "recall")).await;
        let keys = snapshot.keys();

        let examined = {
            let (examiner, judge) = (examiner.clone(), judge.cloned());
            let (step, snapshot, span) = (Arc::clone(&step), snapshot.clone(), span.clone());
            step_slot
                .run(move || span.in_scope(|| examiner.examine(step, snapshot, notes, judge.as_deref())))
                .await
        };
        let finished = match (examined, judge) {
            (Ok(Examined::Finished(finished)), _) => Ok(finished),
            (Ok(Examined::Open(open, question)), Some(judge)) => {
                // On the heap: most steps ask no judge, and need no room for it.
                let asking = self.judge(
                    judge,
                    admitted,
                    &open.cleared,
                    question,
                    step_slot.deadline,
                    ticket.decision_id(),
                );
                let draft = Box::pin(asking).instrument(spans::stage(&span, "judge")).await;
                let (examiner, span) = (examiner.clone(), span.clone());
                let decision_id = ticket.decision_id().to_owned();
                step_slot
                    .run_after(SETTLING, move || {
                        Box::new(span.in_scope(|| examiner.close(*open, draft, &decision_id)))
                    })
                    .await
            }
            (Ok(Examined::Open(..)), None) => Err(Busy::Late),
            (Err(busy), _) => Err(busy),
        };
        let mut finished = finished.unwrap_or_else(|busy| Box::new(self.unexamined(&examiner, step, snapshot, busy)));

        let started = self.start_update(keys).await;
        let decision_id = ticket.decision_id().to_owned();
        let (duration, taken) = ticket.close(&finished.verdict, std::mem::take(&mut finished.record_lines));
        count(&finished.verdict, method, duration);
        note(&span, &finished.verdict);
        examiner.count_for_learning(&finished.received, &finished.verdict);
        let recorded = taken.wait().instrument(spans::stage(&span, "record")).await;
        let decided = Decided {
            verdict: match recorded {
                Recorded::Yes => Arc::clone(&finished.verdict),
                Recorded::No => Examiner::unrecorded(method),
            },
            decision_id,
            duration,
            recorded,
        };
        (decided, started.of(finished, admitted, step_slot.size))
    }

    /// Makes the slot in which the jobs of a step run before the deadline; `slot` is the one that it has already, if it has one.
    fn step_slot<'a>(&'a self, admitted: &'a Admitted, step: &Step, slot: Option<Slot>) -> StepSlot<'a> {
        let deadline = Instant::now() + self.settings.timeout;
        StepSlot::new(&self.pool, &admitted.organisation.id, step, slot, deadline)
    }

    /// Finishes a step for which there was no time.
    fn unexamined(&self, examiner: &Examiner, step: Arc<Step>, snapshot: Snapshot, busy: Busy) -> Finished {
        tracing::warn!(organisation = %examiner.organisation.id, method = %step.method, %busy, "a step was not examined in time");
        let posture = examiner.policy().posture.of(step.method, self.settings.on_failure);
        let draft = Draft::unexamined(step.method, posture, &busy.to_string());
        examiner.give_up(step, snapshot, draft)
    }

    fn examiner(&self, admitted: &Admitted) -> Examiner {
        Examiner {
            prefilters: Arc::clone(&self.prefilters),
            organisation: Arc::clone(&admitted.organisation),
            caller: admitted.caller.clone(),
            level: admitted.level,
            claim: admitted.claim,
            scorer: self.scorer.clone(),
            learner: self.learner(&admitted.organisation),
            settled_locally: Arc::clone(&self.settled_locally),
        }
    }

    fn learner(&self, organisation: &Organisation) -> Option<Learner> {
        let learning = self.learning.as_ref().filter(|_| organisation.learns)?;
        Some(Learner {
            live: learning.live(&organisation.id),
            learning: learning.clone(),
        })
    }

    /// Returns the view of a step that a judge would be shown. `None` if rules settle it and no judge is asked.
    pub async fn shown_to_judge(&self, admitted: &Admitted, step: Arc<Step>) -> Option<JudgeView> {
        let admitted = &*admitted.under(&step);
        let mut step_slot = self.step_slot(admitted, &step, None).handing_over();
        let (snapshot, _) = self.recall(admitted, &step, &mut step_slot).await;
        let examiner = self.examiner(admitted);
        step_slot
            .run(move || examiner.shown(step, snapshot))
            .await
            .ok()
            .flatten()
    }

    /// Returns the features of a step that the local judge's scorer sees, for training. `None` if there was no time.
    pub async fn training_features(
        &self,
        admitted: &Admitted,
        step: Arc<Step>,
        vocabulary: &Arc<Vocabulary>,
    ) -> Option<TrainingFeatures> {
        let admitted = &*admitted.under(&step);
        let vocabulary = Arc::clone(vocabulary);
        let mut step_slot = self.step_slot(admitted, &step, None).handing_over();
        let (snapshot, _) = self.recall(admitted, &step, &mut step_slot).await;
        let examiner = self.examiner(admitted);
        step_slot
            .run(move || examiner.training_features(step, snapshot, &vocabulary))
            .await
            .ok()
    }

    /// Returns the slots for work that takes a processor.
    pub fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    /// Returns the organisations in force.
    pub fn organisations(&self) -> Arc<Organisations> {
        self.organisations.load_full()
    }

    /// Puts other organisations in place of the present ones. Steps under way keep what they started with.
    pub fn replace_organisations(&self, organisations: Organisations) {
        if self.judge.is_some() {
            let open = organisations.open_postures(self.settings.on_failure);
            self.open_postures.store(Arc::new(open));
        }
        self.observing.store(Arc::new(organisations.observing()));
        self.weights.replace(organisations.weights());
        self.organisations.store(Arc::new(organisations));
    }

    /// Whether an organisation, a team or an agent of it has conditions: they may answer an equal step otherwise another time.
    pub fn has_conditions(&self, organisation: &OrganisationId) -> bool {
        let organisation = self.organisations.load().get(organisation);
        organisation.is_some_and(|own| own.policies().any(|(_, policy)| !policy.conditions.is_empty()))
    }

    /// The weights of the organisations that are served.
    pub fn weights(&self) -> &Weights {
        &self.weights
    }

    /// Returns the organisations whose verdicts are observed, and not enforced: one line for each.
    pub fn observing(&self) -> Arc<Vec<String>> {
        self.observing.load_full()
    }

    /// Returns the organisations whose posture is open, so that steps happen about which no judge could decide: one line for each.
    pub fn open_postures(&self) -> Arc<Vec<String>> {
        self.open_postures.load_full()
    }

    /// Returns the only caller there is when no organisation is configured.
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

    fn to_bytes(&self) -> Option<Vec<u8>> {
        Judged::to_bytes(self)
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Judged::from_bytes(bytes)
    }
}

/// Records the verdict on a step in its span.
fn note(span: &tracing::Span, verdict: &Verdict) {
    if span.is_disabled() {
        return;
    }
    span.record("guardian.decision", verdict.outcome());
    span.record("guardian.source", verdict.source.as_str());
    if !verdict.reason_codes.is_empty() {
        let codes: Vec<&str> = verdict.reason_codes.iter().map(|code| code.as_str()).collect();
        span.record("guardian.reason_codes", codes.join(","));
    }
}

fn count(verdict: &Verdict, method: crate::model::Method, duration: Duration) {
    let source = verdict.source.as_str();
    let one = |metric: &'static str, decision: &'static str| {
        metrics::counter!(metric, "decision" => decision, "source" => source, "method" => method.as_str()).increment(1);
    };
    one(names::DECISIONS, verdict.outcome());
    if let Some(observed) = &verdict.observed {
        one(names::OBSERVED, observed.outcome());
    }
    metrics::histogram!(names::DECISION_SECONDS, "source" => source).record(duration.as_secs_f64());
}
