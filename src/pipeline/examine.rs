//! Examine: everything about a step that takes a processor, as plain functions that run in a slot.
//!
//! Before a judge is asked: see the step in the light of its session, screen it, mask it. After it: settle its answer, and
//! take out what is withheld. Where no model is asked, both halves are one job.

use std::sync::Arc;

use super::draft::Draft;
use super::examiner::Examiner;
use super::judging::{Question, alone};
use super::mask::Cleared;
use super::screen::Screened;
use super::windows::ByScorer;
use crate::audit::{StepLines, Texts};
use crate::cache::{Fingerprint, Scope};
use crate::judge::Judge;
use crate::model::{Clean, Decision, Diagnostic, Finding, History, Method, Step, Verdict, Withheld};
use crate::session::{Recalled, Snapshot};

/// An examined step.
pub(super) enum Examined {
    /// Nobody has to be asked.
    Finished(Box<Finished>),
    /// A model decides; it is asked this.
    Open(Box<Open>, Question),
}

/// A step that a model has to decide about.
pub(super) struct Open {
    pub(super) cleared: Cleared,
    seen: Seen,
}

/// A screened step in the light of its session.
struct Seen {
    screened: Screened,
    recalled: Recalled,
    /// What went wrong on the way.
    notes: Vec<Diagnostic>,
}

/// A step with its verdict.
pub(super) struct Finished {
    pub(super) verdict: Arc<Clean<Verdict>>,
    pub(super) withheld: Withheld,
    /// What its record tells of the step.
    pub(super) told: StepLines,
    /// The step as it was received.
    pub(super) received: Arc<Step>,
    pub(super) light: Light,
}

/// In which light a step was seen.
pub(super) enum Light {
    /// In that of its session.
    Session(Recalled),
    /// In none: it was not examined.
    None(Snapshot),
}

impl Light {
    /// What was recalled for the step.
    pub(super) fn recalled(self, step: &Step) -> Recalled {
        match self {
            Light::Session(recalled) => recalled,
            Light::None(snapshot) => snapshot.seen_by(step),
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
        let screened = self.screen(step, recalled.past());
        let cleared = match screened.settled(self.policy()) {
            Some(draft) => Err(Box::new(draft)),
            None => self.mask(&screened, recalled.past()).map(|mut cleared| {
                cleared.lean = self.lean(judge.is_some(), &screened, recalled.past());
                cleared
            }),
        };
        let seen = Seen {
            screened,
            recalled,
            notes,
        };
        let finished = match (cleared, judge) {
            (Err(draft), _) => self.tell(seen, draft.into_verdict(None, Vec::new())),
            (Ok(cleared), None) => {
                let draft = alone(&cleared, self.policy());
                self.finish(seen, cleared, draft)
            }
            (Ok(cleared), Some(judge)) => {
                if let Some(draft) = cleared.lean.as_ref().and_then(|lean| lean.settles(&cleared)) {
                    return Examined::Finished(Box::new(self.finish(seen, cleared, draft)));
                }
                let question = self.question(&cleared, &seen.recalled, judge);
                return Examined::Open(Box::new(Open { cleared, seen }), question);
            }
        };
        Examined::Finished(Box::new(finished))
    }

    /// Finishes what a model decided about.
    pub(super) fn close(&self, open: Open, draft: Draft) -> Finished {
        self.finish(open.seen, open.cleared, draft)
    }

    /// What a judge would be shown of a step: the step as masked, the evidence, and what happened before. `None` where rules
    /// settle it.
    pub(super) fn shown(&self, step: Arc<Step>, snapshot: Snapshot) -> Option<(Arc<Step>, Vec<Finding>, History)> {
        let recalled = snapshot.seen_by(&step);
        let screened = self.screen(step, recalled.past());
        if screened.settled(self.policy()).is_some() {
            return None;
        }
        let cleared = self.mask(&screened, recalled.past()).ok()?;
        let history = recalled.history(&cleared.step);
        Some((cleared.step, cleared.evidence, history))
    }

    fn question(&self, cleared: &Cleared, recalled: &Recalled, judge: &Judge) -> Question {
        let organisation = &self.organisation;
        // What is shown of a long text is what the scorer ranks highest.
        let ranks = ByScorer::of(self.scorer.as_ref(), organisation);
        let shown_by = ranks.as_ref().map_or("", ByScorer::version);
        let scope = Scope {
            organisation: &organisation.id,
            policy_version: &organisation.policy.version,
            prompt_version: organisation.prompts.version(),
            judge: &format!("{} {shown_by}", judge.identity()),
        };
        let history = recalled.history(&cleared.step);
        let fingerprint = Fingerprint::of(&scope, &cleared.step, &cleared.shown_evidence(), &history);
        Question { history, fingerprint }
    }

    fn finish(&self, seen: Seen, cleared: Cleared, draft: Draft) -> Finished {
        let verdict = self.settle(draft, cleared, seen.recalled.past());
        self.tell(seen, verdict)
    }

    /// The verdict as it may be told: with what screening knows, and without what is withheld.
    fn tell(&self, seen: Seen, verdict: Verdict) -> Finished {
        let withheld = seen.screened.withheld();
        let received = Arc::clone(&seen.screened.step);
        let mut verdict = seen.screened.complete(verdict, &self.organisation);
        verdict.diagnostics.extend(seen.notes);
        let texts = match self.policy().records.contents {
            true => Texts::Told,
            false => Texts::LeftOut,
        };
        let happened = verdict.modified.as_ref().unwrap_or(&received);
        Finished {
            told: StepLines::of(&received, happened, &withheld, texts),
            verdict: Arc::new(withheld.clean(verdict)),
            withheld,
            received,
            light: Light::Session(seen.recalled),
        }
    }

    /// The verdict about a step that could not be examined in time. Whoever sends a step chooses how much work it is, so this
    /// is a denial, whatever the posture; or an error, where the posture says so.
    pub(super) fn give_up(&self, step: Arc<Step>, snapshot: Snapshot, draft: Draft) -> Finished {
        let mut verdict = draft.into_verdict(None, Vec::new());
        verdict.policy_version.clone_from(&self.organisation.policy.version);
        verdict.prompt_version = self.organisation.prompts.version().to_owned();
        let withheld = Withheld::all();
        Finished {
            told: StepLines::of(&step, &step, &withheld, Texts::LeftOut),
            verdict: Arc::new(withheld.clean(verdict)),
            withheld,
            received: step,
            light: Light::None(snapshot),
        }
    }

    /// What is told where the record of a decision could not be written, and no verdict may leave without one.
    pub(super) fn unrecorded(method: Method) -> Arc<Clean<Verdict>> {
        let why = "The record of the decision could not be written.".to_owned();
        let mut draft = Draft::of_rules(Decision::Deny, method, Vec::new(), why);
        draft.undecided = true;
        Arc::new(Withheld::all().clean(draft.into_verdict(None, Vec::new())))
    }
}
