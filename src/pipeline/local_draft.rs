//! The drafts that follow from the opinion of the trained scorer: those that settle a step, and those for a step that no model answers.

use super::draft::{Draft, message};
use super::local_opinion::{HINT, LocalOpinion};
use super::mask::Cleared;
use crate::local::ScorerDecision;
use crate::model::{Decision, Finding, Kind, OpinionUse, ReasonCode, Severity, Source, Suspicion};
use crate::telemetry::names;

impl LocalOpinion {
    /// Returns the draft that settles the step although a model could be asked: only ever an allow.
    pub(super) fn settles(&self, cleared: &Cleared) -> Option<Draft> {
        let applied = self.opinion.standing == OpinionUse::Applied;
        (applied && self.leaning == ScorerDecision::Allow).then(|| self.draft(Decision::Allow, cleared))
    }

    /// Returns the draft if no model can be asked, or if none answered.
    pub(super) fn alone(&self, cleared: &Cleared) -> Option<Draft> {
        match (self.opinion.standing, self.leaning) {
            (OpinionUse::Shadow, _) | (_, ScorerDecision::Unsure) => None,
            (OpinionUse::Applied | OpinionUse::Audited, ScorerDecision::Allow) => {
                Some(self.draft(Decision::Allow, cleared))
            }
            (OpinionUse::Applied | OpinionUse::Audited, ScorerDecision::Deny) => {
                Some(self.draft(Decision::Deny, cleared))
            }
        }
    }

    /// Returns the suspicion of a scorer that would deny the step. The model is not told how sure it is: its reasoning goes to callers.
    pub(super) fn suspicion() -> Suspicion {
        Suspicion {
            rule: HINT.to_owned(),
            why: "a trained scorer takes the step for harmful".to_owned(),
        }
    }

    /// Counts agreement or disagreement of the judge that was asked for comparison.
    pub(super) fn compare(&self, decision: Decision) {
        let agrees = match self.leaning {
            ScorerDecision::Unsure => return,
            ScorerDecision::Allow => decision == Decision::Allow,
            ScorerDecision::Deny => decision != Decision::Allow,
        };
        let outcome = if agrees { "agrees" } else { "disagrees" };
        metrics::counter!(names::LOCAL_JUDGE_AUDITS, "leaning" => self.leaning.as_str(), "outcome" => outcome)
            .increment(1);
    }

    /// Makes a draft. INVARIANT: it tells a caller neither the probability nor what moved it; audit records do.
    fn draft(&self, decision: Decision, cleared: &Cleared) -> Draft {
        let reasons = match decision {
            Decision::Allow | Decision::Modify => Vec::new(),
            Decision::Deny => vec![reason(cleared)],
        };
        let is = match decision {
            Decision::Allow | Decision::Modify => "harmless",
            Decision::Deny => "an attack",
        };
        let reasoning = format!(
            "The local judge's trained scorer (model {}) takes the step for {is}.",
            self.opinion.model
        );
        let mut draft = Draft::of_rules(decision, cleared.step.method, reasons, reasoning);
        draft.source = Source::Local;
        draft.confidence = self.confidence;
        draft.message = message(decision, cleared.step.method, &draft.reason_codes);
        draft
    }
}

/// Returns the reason why a step that only a scorer objects to is denied: by the gravest finding, else by the kind of step.
fn reason(cleared: &Cleared) -> ReasonCode {
    let counts =
        |finding: &&Finding| !matches!(finding.reason, ReasonCode::PersonalData | ReasonCode::InvalidArguments);
    let gravest = cleared
        .evidence
        .iter()
        .filter(counts)
        .filter(|finding| finding.severity >= Severity::Medium)
        .max_by_key(|finding| (finding.severity, finding.confidence));
    if let Some(finding) = gravest {
        return finding.reason.clone();
    }
    match cleared.step.kind {
        Kind::UserMessage | Kind::SystemMessage => ReasonCode::HarmfulRequest,
        Kind::AgentMessage => ReasonCode::HarmfulContent,
        Kind::ToolCall | Kind::McpRequest | Kind::A2aRequest => ReasonCode::GoalHijack,
        Kind::MemoryStore | Kind::MemoryRetrieval => ReasonCode::MemoryPoisoning,
        Kind::Trigger | Kind::Knowledge | Kind::ToolResult | Kind::A2aResponse | Kind::McpResponse => {
            ReasonCode::PromptInjection
        }
    }
}
