//! Local: asks the local judge's trained scorer about a step, before any model is asked.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::examiner::Examiner;
use super::local_opinion::{HINT, LocalOpinion};
use super::screen::Screened;
use crate::local::{
    Deobfuscator, MayAllow, Mode, Score, Scored, ScorerDecision, StepRole, TermKind, TrainingFeatures, Unread,
    Vocabulary,
};
use crate::model::{
    Attribution, Confidence, Finding, Opinion, OpinionUse, ReasonCode, Severity, Step, Treatment, View,
};
use crate::policy::Thresholds;
use crate::prefilter::EverydayMatch;
use crate::session::{SessionSnapshot, Snapshot};
use crate::telemetry::names;

/// The model that can be asked besides, if any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextJudge {
    Model,
    /// A model, which the policy wants asked before anything lets the step happen.
    ModelFirst,
    None,
}

impl Examiner {
    /// Asks the scorer, if there is one and the organisation wants it.
    pub(super) fn local_opinion(
        &self,
        next: NextJudge,
        screened: &Screened,
        past: &SessionSnapshot,
    ) -> Option<LocalOpinion> {
        let mode = self.organisation.local_judge;
        let scorer = self.scorer.as_ref().filter(|_| mode != Mode::Off)?;
        let (policy, step) = (self.policy(), &screened.step);
        let (findings, coverage) = (&*screened.weighed(), &screened.screening().coverage);
        let thresholds = policy.local_judge.thresholds.of(step.kind);
        let is_bounded = thresholds.allow_below.is_some();
        let head = scorer.model.head(StepRole::of(step.kind));
        let usual = EverydayMatch::of(step, findings, policy);
        let may_allow = match (next, usual) {
            (NextJudge::ModelFirst, _) | (_, EverydayMatch::Special) => MayAllow::No,
            (NextJudge::Model | NextJudge::None, EverydayMatch::Everyday | EverydayMatch::Unknown) => {
                MayAllow::of(step, findings, coverage, policy)
            }
        };
        let ordinary = &policy.everyday;
        let everyday = may_allow == MayAllow::Yes && usual == EverydayMatch::Everyday;
        let bound = thresholds.allow_below.unwrap_or(head.allow_below);
        let thresholds = match everyday {
            true => Thresholds {
                allow_below: Some(ordinary.allow_below.max(bound)),
                ..thresholds
            },
            false => thresholds,
        };
        let counts = |unread: &Unread| match (everyday, unread) {
            (true, unread) => !ordinary.unread.matches(unread.as_str()),
            (false, Unread::Address | Unread::Command | Unread::Order) => !ordinary.technical,
            (false, _) => true,
        };
        let allow_below = match may_allow {
            MayAllow::Yes => thresholds.allow_below.unwrap_or(head.allow_below),
            MayAllow::No => 0.0,
        };
        let scored = Scored {
            step,
            past,
            findings,
            policy,
        };
        let texts = Deobfuscator::of(coverage, findings);
        let mut score = scorer.model.score(scored, &texts, allow_below, &counts);
        let read = score.unread.map_or(may_allow, |_| MayAllow::No);
        let mut leaning = ScorerDecision::of(score.probability, thresholds, head, read);
        let (mut version, mut confidence) = (scorer.model.version(), 1.0 - allow_below);
        // A step that a policy bounds, the organisation's own model may hold back, and not settle.
        let may_settle = !is_bounded && !everyday;
        let own = match mode {
            Mode::On => self.own_opinion(scored, &texts, leaning, may_settle, may_allow, scorer.audit_share),
            Mode::Shadow | Mode::Off => None,
        };
        let mut own_is_drawn = None;
        let own_version;
        if let Some(own) = own {
            (score, leaning, own_version) = (own.score, own.leaning, own.version);
            (version, confidence) = (&own_version, 1.0 - own.allow_below);
            own_is_drawn = Some(own.is_drawn);
        }
        let is_drawn = || own_is_drawn.unwrap_or_else(|| self.is_drawn(scorer.audit_share));
        let standing = match mode {
            Mode::Shadow | Mode::Off => OpinionUse::Shadow,
            Mode::On if next == NextJudge::Model && leaning == ScorerDecision::Allow && is_drawn() => {
                OpinionUse::Audited
            }
            Mode::On => OpinionUse::Applied,
        };
        metrics::counter!(names::LOCAL_JUDGE, "leaning" => leaning.as_str(), "standing" => standing.as_str())
            .increment(1);
        Some(LocalOpinion {
            hint: (leaning == ScorerDecision::Deny && mode == Mode::On)
                .then(|| hint(&score, step))
                .flatten(),
            opinion: opinion(&score, leaning, standing, version, step, findings),
            confidence: match leaning {
                ScorerDecision::Allow => confidence,
                ScorerDecision::Deny | ScorerDecision::Unsure => thresholds.deny_above.unwrap_or(head.deny_above),
            },
            leaning,
        })
    }

    /// Returns the score of a step, if there is a scorer and the organisation wants it.
    pub(super) fn score(&self, screened: &Screened, past: &SessionSnapshot) -> Option<Score> {
        let scorer = self.scorer.as_ref()?;
        if self.organisation.local_judge != Mode::On {
            return None;
        }
        let (findings, coverage) = (&*screened.weighed(), &screened.screening().coverage);
        let scored = Scored {
            step: &screened.step,
            past,
            findings,
            policy: self.policy(),
        };
        let deobfuscator = Deobfuscator::of(coverage, findings);
        Some(scorer.model.score(scored, &deobfuscator, 0.0, &|_| true))
    }

    /// Returns `true` if the scorer suspects a modified step.
    pub(super) fn objects_to_modified(&self, modified: &Screened, past: &SessionSnapshot) -> bool {
        let Some((scorer, score)) = self.scorer.as_ref().zip(self.score(modified, past)) else {
            return false;
        };
        let thresholds = self.policy().local_judge.thresholds.of(modified.step.kind);
        let head = scorer.model.head(score.part);
        ScorerDecision::of(score.probability, thresholds, head, MayAllow::No) == ScorerDecision::Deny
    }

    /// Returns `true` if a judge is asked about a settled step all the same: every so many, by the share.
    fn is_drawn(&self, share: f64) -> bool {
        let before = self.settled_locally.fetch_add(1, Ordering::Relaxed) as f64;
        (before * share).floor() < ((before + 1.0) * share).floor()
    }

    /// Returns the features of a step that the scorer sees, for training.
    pub(super) fn training_features(
        &self,
        step: Arc<Step>,
        snapshot: Snapshot,
        vocabulary: &Vocabulary,
    ) -> TrainingFeatures {
        let recalled = snapshot.seen_by(&step);
        let screened = self.screen(step, recalled.past());
        let (findings, coverage) = (&*screened.weighed(), &screened.screening().coverage);
        let scored = Scored {
            step: &screened.step,
            past: recalled.past(),
            findings,
            policy: self.policy(),
        };
        let may_allow = MayAllow::of(scored.step, findings, coverage, scored.policy);
        let deobfuscator = Deobfuscator::of(coverage, findings);
        TrainingFeatures::of(scored, &deobfuscator, vocabulary, may_allow)
    }
}

fn opinion(
    score: &Score,
    leaning: ScorerDecision,
    standing: OpinionUse,
    model: &str,
    step: &Step,
    findings: &[Finding],
) -> Opinion {
    let pointer = |id| {
        step.content(id)
            .map(|content| content.pointer.clone())
            .unwrap_or_default()
    };
    let passages = score.passages.iter().map(|told| Attribution {
        what: "passage".to_owned(),
        content: Some(told.content),
        pointer: pointer(told.content),
        span: told.span.clone(),
        words: told.words.clone(),
        weight: f64::from(told.weight),
    });
    let terms = score.terms.iter().filter_map(|term| {
        let weight = f64::from(term.weight);
        Some(match term.what {
            TermKind::Finding(at) => {
                let finding = findings.get(at)?;
                Attribution {
                    what: finding.rule.clone(),
                    content: finding.content,
                    pointer: finding.pointer.clone(),
                    span: finding.span.clone(),
                    words: Vec::new(),
                    weight,
                }
            }
            TermKind::Relation(what) => Attribution {
                what: what.to_owned(),
                content: None,
                pointer: Default::default(),
                span: 0..0,
                words: Vec::new(),
                weight,
            },
        })
    });
    let mut evidence: Vec<Attribution> = passages.chain(terms).collect();
    evidence.sort_by(|a, b| b.weight.abs().total_cmp(&a.weight.abs()));
    Opinion {
        probability: score.probability,
        leaning: leaning.as_str(),
        standing,
        model: model.to_owned(),
        unread: score.unread.map(Unread::as_str),
        evidence,
    }
}

/// Returns the gravest passage as a finding that tells a model where to look. It is shown to a model only, and only if the scorer would deny the step
/// alone: so it ranks before findings that are no more than information, which a long list leaves out.
fn hint(score: &Score, step: &Step) -> Option<Finding> {
    let told = score.passages.first()?;
    let content = step.content(told.content)?;
    Some(Finding {
        rule: HINT.to_owned(),
        reason: ReasonCode::PolicyViolation,
        severity: Severity::Medium,
        confidence: match score.probability {
            sure if sure >= 0.8 => Confidence::High,
            likely if likely >= 0.5 => Confidence::Medium,
            _ => Confidence::Low,
        },
        content: Some(told.content),
        pointer: content.pointer.clone(),
        span: told.span.clone(),
        view: View::Folded,
        suggested: Treatment::Evidence,
        explanation: format!(
            "Of all texts of the step, this passage looks most like an attack to a trained scorer (probability {:.2} for the step)",
            score.probability
        ),
    })
}
