//! Examine: the CPU-bound part of a decision, as plain functions that run in a slot.
//!
//! Before a judge is asked: look the step up in its session, screen it, mask it. Afterwards: settle the judge's answer, and take out what is
//! withheld. If no model is asked, both halves are one job.

use std::sync::Arc;

use super::Claim;
use super::alone::Alone;
use super::draft::Draft;
use super::examiner::Examiner;
use super::judging::Question;
use super::local::NextJudge;
use super::mask::Cleared;
use super::screen::Screened;
use super::windows::ByScorer;
use crate::audit::{StepLines, Texts};
use crate::cache::{Fingerprint, Scope};
use crate::judge::Judge;
use crate::model::{Clean, Decision, Diagnostic, Finding, History, Method, Source, Step, Suspicion, Verdict, Withheld};
use crate::policy::{SessionIncomplete, Suspected};
use crate::session::{Recalled, Snapshot};
use crate::telemetry::spans;

/// An examined step.
pub(super) enum Examined {
    /// No judge has to be asked.
    Finished(Box<Finished>),
    /// A model decides about this question.
    Open(Box<Open>, Question),
}

/// The view of a step that a model is shown.
#[derive(Debug)]
pub struct JudgeView {
    /// The step as masked.
    pub step: Arc<Step>,
    /// The findings in it.
    pub findings: Vec<Finding>,
    /// The texts around it that the policy masks.
    pub withheld: Withheld,
    /// The suspicion for which the guardian alone would deny it.
    pub suspicion: Option<Suspicion>,
    /// The history of its session.
    pub history: History,
}

/// A step that a model has to decide about.
pub(super) struct Open {
    pub(super) cleared: Cleared,
    examination: Examination,
}

impl Open {
    pub(super) fn screened(&self) -> &Screened {
        &self.examination.screened
    }

    pub(super) fn recalled(&self) -> &Recalled {
        &self.examination.recalled
    }
}

/// A screened step and its session.
struct Examination {
    screened: Screened,
    recalled: Recalled,
    /// The errors on the way.
    notes: Vec<Diagnostic>,
}

/// A step with its verdict.
pub(super) struct Finished {
    pub(super) verdict: Arc<Clean<Verdict>>,
    pub(super) withheld: Withheld,
    /// The lines of its audit record about the step.
    pub(super) record_lines: StepLines,
    /// The step as it was received.
    pub(super) received: Arc<Step>,
    pub(super) session: SessionContext,
}

/// The session of a step as it was recalled.
pub(super) enum SessionContext {
    /// The session, with the step looked up in it.
    Recalled(Recalled),
    /// The session alone: the step was not examined.
    NotExamined(Snapshot),
}

impl SessionContext {
    /// Returns the session as recalled for the step.
    pub(super) fn recalled(self, step: &Step) -> Recalled {
        match self {
            SessionContext::Recalled(recalled) => recalled,
            SessionContext::NotExamined(snapshot) => snapshot.seen_by(step),
        }
    }
}

impl Examiner {
    /// Examines a step as far as that goes without a model.
    pub(super) fn examine(
        &self,
        step: Arc<Step>,
        snapshot: Snapshot,
        mut notes: Vec<Diagnostic>,
        judge: Option<&Judge>,
    ) -> Examined {
        let recalled = snapshot.seen_by(&step);
        notes.extend(recalled.past().gap().map(|gap| Diagnostic {
            code: "session_incomplete",
            detail: gap.describe().to_owned(),
        }));
        let screened = spans::stage_here("screen").in_scope(|| self.screen(step, recalled.past()));
        let incomplete = match recalled.past().gap() {
            Some(_) if screened.kind().acts() => self.policy().judge.session_incomplete,
            Some(_) | None => SessionIncomplete::Note,
        };
        let next = match (judge, incomplete) {
            (None, _) => NextJudge::None,
            (Some(_), SessionIncomplete::Ask) => NextJudge::ModelFirst,
            (Some(_), SessionIncomplete::Note | SessionIncomplete::Deny) => NextJudge::Model,
        };
        let settled = screened.settled(self.policy());
        let cleared = match (settled, incomplete) {
            (Some(draft), _) if draft.decision == Decision::Deny => Err(Box::new(draft)),
            (..) if self.claim == Claim::Another => Err(Box::new(Draft::claims_another(screened.method()))),
            (_, SessionIncomplete::Deny) => Err(Box::new(Draft::session_incomplete(screened.method()))),
            (Some(draft), _) if next != NextJudge::ModelFirst => Err(Box::new(draft)),
            (Some(_) | None, _) => {
                let masked = spans::stage_here("mask").in_scope(|| self.mask(&screened, recalled.past()));
                masked.map(|mut cleared| {
                    let opinion = || self.local_opinion(next, &screened, recalled.past());
                    cleared.local_opinion = spans::stage_here("local").in_scope(opinion);
                    cleared
                })
            }
        };
        let examination = Examination {
            screened,
            recalled,
            notes,
        };
        let finished = match (cleared, judge) {
            (Err(draft), _) => self.complete(examination, draft.unmodified()),
            (Ok(cleared), None) => {
                let alone = Alone::of(&cleared, self.policy());
                self.finish(examination, cleared, alone.draft)
            }
            (Ok(mut cleared), Some(judge)) => {
                if let Some(draft) = self.settles_beside_a_model(&mut cleared) {
                    return Examined::Finished(Box::new(self.finish(examination, cleared, draft)));
                }
                let question = self.question(&cleared, &examination.recalled, judge);
                return Examined::Open(Box::new(Open { cleared, examination }), question);
            }
        };
        Examined::Finished(Box::new(finished))
    }

    /// Returns the decision that needs no model although one could be asked. A suspicion is noted for the question.
    fn settles_beside_a_model(&self, cleared: &mut Cleared) -> Option<Draft> {
        let alone = Alone::of(cleared, self.policy());
        cleared.suspicion = alone.suspicion;
        match (&cleared.suspicion, self.policy().judge.suspected) {
            (Some(_), Suspected::Deny) => Some(alone.draft),
            (Some(_), Suspected::Ask) => None,
            (None, _) => cleared
                .local_opinion
                .as_ref()
                .and_then(|opinion| opinion.settles(cleared)),
        }
    }

    /// Finishes a step that a model decided about.
    pub(super) fn close(&self, open: Open, draft: Draft, decision_id: &str) -> Finished {
        self.learn_from(&open, &draft, decision_id);
        self.finish(open.examination, open.cleared, draft)
    }

    /// Returns the view of a step that a model would be shown. `None` if rules settle it.
    pub(super) fn shown(&self, step: Arc<Step>, snapshot: Snapshot) -> Option<JudgeView> {
        let recalled = snapshot.seen_by(&step);
        let screened = self.screen(step, recalled.past());
        if screened.settled(self.policy()).is_some() {
            return None;
        }
        let mut cleared = self.mask(&screened, recalled.past()).ok()?;
        cleared.local_opinion = self.local_opinion(NextJudge::Model, &screened, recalled.past());
        let history = recalled.history(&cleared.step);
        Some(JudgeView {
            suspicion: Alone::of(&cleared, self.policy()).suspicion,
            withheld: cleared.hidden.clone(),
            findings: cleared.shown_evidence(),
            step: cleared.step,
            history,
        })
    }

    fn question(&self, cleared: &Cleared, recalled: &Recalled, judge: &Judge) -> Question {
        let organisation = &self.organisation;
        // The shown parts of a long text are those that the scorer ranks highest.
        let ranks = ByScorer::of(self.scorer.as_ref(), organisation);
        let shown_by = ranks.as_ref().map_or("", ByScorer::version);
        let scope = Scope {
            organisation: &organisation.id,
            policy_version: &organisation.policy.version,
            prompt_version: organisation.prompts.version(),
            judge: &format!("{} {shown_by}", judge.identity()),
        };
        let history = recalled.history(&cleared.step);
        let fingerprint = Fingerprint::of(
            &scope,
            &cleared.step,
            &cleared.shown_evidence(),
            cleared.suspicion.as_ref(),
            &history,
        );
        Question { history, fingerprint }
    }

    fn finish(&self, examination: Examination, cleared: Cleared, draft: Draft) -> Finished {
        let settling = || self.settle(draft, cleared, examination.recalled.past());
        let verdict = spans::stage_here("settle").in_scope(settling);
        self.complete(examination, verdict)
    }

    /// Completes a verdict: adds findings, coverage and versions, and takes out what is withheld.
    fn complete(&self, examination: Examination, verdict: Verdict) -> Finished {
        let withheld = examination.screened.withheld();
        let received = Arc::clone(&examination.screened.step);
        let verdict = self.enforced(verdict, &examination.screened);
        let mut verdict = examination.screened.complete(verdict, &self.organisation);
        verdict.diagnostics.extend(examination.notes);
        let texts = match self.policy().records.contents {
            true => Texts::Told,
            false => Texts::LeftOut,
        };
        let happened = verdict.modified.as_ref().unwrap_or(&received);
        let lines = StepLines::of(&received, happened, &withheld, texts);
        Finished {
            record_lines: match self.policy().records.seen {
                true => lines.with_seen(&received, &verdict.findings, &withheld),
                false => lines,
            },
            verdict: Arc::new(withheld.clean(verdict)),
            withheld,
            received,
            session: SessionContext::Recalled(examination.recalled),
        }
    }

    /// Returns the verdict about a step that could not be examined in time. The sender of a step chooses how much work it is, so this is a denial,
    /// whatever the posture; or an error, if the posture says so.
    pub(super) fn give_up(&self, step: Arc<Step>, snapshot: Snapshot, draft: Draft) -> Finished {
        let mut verdict = self.of_step(draft.unmodified(), &step);
        verdict.policy_version.clone_from(&self.organisation.policy.version);
        verdict.prompt_version = self.organisation.prompts.version().to_owned();
        let withheld = Withheld::all();
        Finished {
            record_lines: StepLines::of(&step, &step, &withheld, Texts::LeftOut),
            verdict: Arc::new(withheld.clean(verdict)),
            withheld,
            received: step,
            session: SessionContext::NotExamined(snapshot),
        }
    }

    /// Returns the verdict about a step that repeats one that was decided about before; its record holds nothing of the step.
    pub(super) fn repeated(&self, step: &Step) -> (Arc<Clean<Verdict>>, StepLines) {
        let why = "Everything in it was decided about before.".to_owned();
        let mut draft = Draft::of_rules(Decision::Allow, step.method, Vec::new(), why);
        draft.source = Source::Cache;
        let mut verdict = draft.unmodified();
        verdict.policy_version.clone_from(&self.organisation.policy.version);
        verdict.prompt_version = self.organisation.prompts.version().to_owned();
        let withheld = Withheld::all();
        let lines = StepLines::of(step, step, &withheld, Texts::LeftOut);
        (Arc::new(withheld.clean(verdict)), lines)
    }

    /// Returns the verdict in place of one whose record could not be written, if no verdict may leave without one.
    pub(super) fn unrecorded(method: Method) -> Arc<Clean<Verdict>> {
        let why = "The record of the decision could not be written.".to_owned();
        let mut draft = Draft::of_rules(Decision::Deny, method, Vec::new(), why);
        draft.undecided = true;
        Arc::new(Withheld::all().clean(draft.unmodified()))
    }
}
