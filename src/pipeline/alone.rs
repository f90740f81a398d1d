//! Alone: the guardian's decision about a step without a model, and the suspicion that a model is told of if it denies.

use super::draft::{Draft, message};
use super::local_opinion::LocalOpinion;
use super::mask::Cleared;
use super::screen::{explain, reasons};
use crate::judge::{Assessment, local};
use crate::model::{Decision, Finding, Source, Step, Suspicion, Treatment};
use crate::policy::{LocalJudgeRules, Policy};

/// The decision if no model can be asked.
pub(super) struct Alone {
    pub(super) draft: Draft,
    /// For a denial: the finding that a model has to answer before it lets the step happen.
    pub(super) suspicion: Option<Suspicion>,
}

impl Alone {
    /// Decides: a denial for what a rule suspects, for evidence that adds up, or by the trained scorer; else the step happens.
    pub(super) fn of(cleared: &Cleared, policy: &Policy) -> Self {
        let rules = &policy.local_judge;
        if let Some(alone) = Self::of_suspects(cleared) {
            return alone;
        }
        let draft = local_draft(
            local_assessment(&cleared.step, &cleared.evidence, rules),
            Source::Rules,
            cleared,
        );
        if draft.decision == Decision::Deny {
            return Self {
                suspicion: local::heaviest(&cleared.evidence).map(|finding| Suspicion {
                    rule: finding.rule.clone(),
                    why: format!(
                        "the evidence adds up to {:.2}, a denial takes {:.2}",
                        draft.confidence, rules.deny_at
                    ),
                }),
                draft,
            };
        }
        let by_scorer = cleared
            .local_opinion
            .as_ref()
            .and_then(|opinion| opinion.alone(cleared));
        match by_scorer {
            Some(draft) => Self {
                suspicion: (draft.decision == Decision::Deny).then(LocalOpinion::suspicion),
                draft,
            },
            None => Self { draft, suspicion: None },
        }
    }

    /// Returns the denial for findings that the policy treats as suspicions.
    fn of_suspects(cleared: &Cleared) -> Option<Self> {
        let suspects: Vec<&Finding> = cleared.suspects.iter().collect();
        let gravest = suspects
            .iter()
            .max_by_key(|finding| (finding.severity, finding.confidence))?;
        let method = cleared.step.method;
        Some(Self {
            draft: Draft::of_rules(Decision::Deny, method, reasons(&suspects), explain(&suspects, "denies")),
            suspicion: Some(Suspicion {
                rule: gravest.rule.clone(),
                why: "this rule alone denies a step".to_owned(),
            }),
        })
    }
}

/// Assesses a step by the local judge, given the evidence for a model.
pub(super) fn local_assessment(step: &Step, evidence: &[Finding], rules: &LocalJudgeRules) -> Assessment {
    let evidence: Vec<_> = evidence.iter().map(|finding| (finding, Treatment::Evidence)).collect();
    local::assess(step, &evidence, rules)
}

/// Makes a draft of the local judge's assessment: it has no words of its own for the agent.
fn local_draft(assessment: Assessment, source: Source, cleared: &Cleared) -> Draft {
    let mut draft = Draft::of_assessment(assessment, source, None);
    draft.message = message(draft.decision, cleared.step.method, &draft.reason_codes);
    draft
}
