//! Learning: hands a judge's verdict over to be kept, and asks an organisation's own model if the built-in one is unsure.

use super::draft::Draft;
use super::examine::Open;
use super::examiner::{Examiner, Learner};
use super::screen::Screened;
use crate::learning::{Count, Learning, Verdicted};
use crate::local::{Deobfuscator, MayAllow, Score, Scored, ScorerDecision, Slots, TrainingFeatures, shape};
use crate::model::{Decision, OpinionUse, ReasonCode, Severity, Source, Stage, Step, Verdict};

/// The longest name of a tool, and the longest list of arguments, that is kept.
const MAX_NAME: usize = 120;

/// The opinion of an organisation's own model on a step.
pub(super) struct OwnOpinion {
    pub(super) score: Score,
    pub(super) leaning: ScorerDecision,
    pub(super) version: String,
    pub(super) allow_below: f64,
    pub(super) is_drawn: bool,
}

impl Examiner {
    /// Asks the organisation's own model, if it has one. `None` if the built-in one's opinion stands.
    ///
    /// INVARIANT: a step that the built-in model suspects, or that no scorer may allow, stays as it is; a step that the policy has a threshold for it
    /// may hold back, and not settle.
    pub(super) fn own_opinion(
        &self,
        scored: Scored<'_>,
        deobfuscator: &Deobfuscator<'_>,
        leaning: ScorerDecision,
        may_settle: bool,
        may_allow: MayAllow,
        share: f64,
    ) -> Option<OwnOpinion> {
        let live = &self.learner.as_ref()?.live;
        let learned = live.learned.as_ref()?;
        if may_allow == MayAllow::No || leaning == ScorerDecision::Deny {
            return None;
        }
        let shape = shape(scored.step);
        let knows_shape = learned.knows_shape(shape);
        if leaning == ScorerDecision::Unsure && !(may_settle && knows_shape) {
            return None;
        }
        let head = learned.model.head(crate::local::StepRole::of(scored.step.kind));
        let allow_below = match leaning {
            ScorerDecision::Unsure => head.allow_below,
            ScorerDecision::Allow | ScorerDecision::Deny => 0.0,
        };
        let score = learned.model.score(scored, deobfuscator, allow_below, &|_| true);
        let (own, is_drawn) = match leaning {
            ScorerDecision::Unsure if score.probability <= allow_below && score.unread.is_none() => {
                // The score keeps no words: they are read once more where the step would be settled.
                let base = self.learner.as_ref()?.learning.base().vocabulary();
                if learned.has_denied(&TrainingFeatures::of(scored, deobfuscator, base, may_allow).unknown) {
                    return None;
                }
                let drawn = live.is_drawn(share, shape, score.probability, allow_below);
                (ScorerDecision::Allow, drawn)
            }
            // A step like those that the judge denied is asked about, although the built-in model would allow it.
            ScorerDecision::Allow if score.probability >= head.deny_above => (ScorerDecision::Unsure, false),
            ScorerDecision::Unsure | ScorerDecision::Allow | ScorerDecision::Deny => return None,
        };
        Some(OwnOpinion {
            score,
            leaning: own,
            version: learned.version().to_owned(),
            allow_below,
            is_drawn,
        })
    }

    /// Hands over the verdict of the judge on a step, if its organisation learns.
    pub(super) fn learn_from(&self, open: &Open, draft: &Draft, decision_id: &str) {
        let Some(Learner { learning, .. }) = &self.learner else {
            return;
        };
        let by_judge = draft.source == Source::Judge
            && !draft.undecided
            && draft
                .judging
                .as_ref()
                .is_some_and(|judging| judging.stage != Stage::First);
        // Text that was masked was not seen as it came: the step is not learned from.
        if !by_judge || draft.decision == Decision::Modify || !open.cleared.masks.is_empty() {
            return;
        }
        let harmful = draft.decision == Decision::Deny;
        let mut verdict = self.kept_step(open.screened(), open.recalled(), learning);
        verdict.decision_id = decision_id.to_owned();
        verdict.harmful = harmful;
        verdict.learns = harmful || !shows_injection(open.screened());
        verdict.audits = open
            .cleared
            .local_opinion
            .as_ref()
            .and_then(|local| (local.opinion.standing == OpinionUse::Audited).then(|| local.opinion.model.clone()));
        learning.verdict(&self.organisation.id, verdict);
    }

    /// Returns a step as it is kept, without a verdict.
    pub(super) fn kept_step(
        &self,
        screened: &Screened,
        recalled: &crate::session::Recalled,
        learning: &Learning,
    ) -> Verdicted {
        let (findings, coverage) = (&*screened.weighed(), &screened.screening().coverage);
        let step = &screened.step;
        let scored = Scored {
            step,
            past: recalled.past(),
            findings,
            policy: self.policy(),
        };
        let may_allow = MayAllow::of(step, findings, coverage, self.policy());
        let base = learning.base();
        let features = TrainingFeatures::of(
            scored,
            &Deobfuscator::of(coverage, findings),
            base.vocabulary(),
            may_allow,
        );
        Verdicted {
            session: step.session.as_ref().map_or("", |id| id.as_str()).to_owned(),
            user: step.user.as_ref().map_or("", |id| id.as_str()).to_owned(),
            caller: self.caller.name.clone(),
            tool: tool_of(step),
            arguments: arguments_of(step),
            shape: shape(step),
            base: base.version().to_owned(),
            slots: Slots::of(&features, base),
            unknown: features.unknown,
            ..Verdicted::default()
        }
    }

    /// Counts a decided step, if its organisation learns.
    pub(super) fn count_for_learning(&self, step: &Step, verdict: &Verdict) {
        let Some(Learner { learning, .. }) = &self.learner else {
            return;
        };
        let base = learning.base().version();
        let mut count = Count::default();
        match (verdict.source, &verdict.local) {
            (Source::Judge, _) => count.asked = 1,
            (Source::Local, Some(local)) if local.model != base => count.learned = 1,
            (Source::Local, _) => count.built_in = 1,
            (Source::Rules | Source::Cache | Source::Fallback, _) => count.other = 1,
        }
        if let Some(judging) = &verdict.judging {
            count.tokens = judging.tokens;
            count.cost_micros = judging.cost_micros;
        }
        learning.count(&self.organisation.id, &tool_of(step), count);
    }
}

/// Returns `true` if rules saw an injection in a step: its author may want the judge's error to be learned.
fn shows_injection(screened: &Screened) -> bool {
    screened.weighed().iter().any(|finding| {
        let injects = matches!(
            finding.reason,
            ReasonCode::PromptInjection
                | ReasonCode::Jailbreak
                | ReasonCode::MemoryPoisoning
                | ReasonCode::ToolPoisoning
                | ReasonCode::GoalHijack
        );
        injects && finding.severity >= Severity::Low
    })
}

/// Returns the tool that a step calls, else its kind.
fn tool_of(step: &Step) -> String {
    let name = step.tool_call.as_ref().map_or(step.kind.as_str(), |call| &call.tool);
    name.chars().take(MAX_NAME).collect()
}

fn arguments_of(step: &Step) -> String {
    let arguments = step.tool_call.iter().flat_map(|call| &call.arguments);
    let mut names: Vec<&str> = arguments.map(|argument| argument.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names.join(", ").chars().take(MAX_NAME).collect()
}
