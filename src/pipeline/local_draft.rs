//! The drafts that follow from the opinion of the trained scorer: what it settles, and what it decides where no model answers.

use super::draft::{Draft, message};
use super::local_opinion::LocalOpinion;
use super::mask::Cleared;
use crate::local::Leaning;
use crate::model::{Decision, Finding, Kind, ReasonCode, Severity, Source, Standing};
use crate::telemetry::names;

impl LocalOpinion {
    /// The draft that settles the step although a judge could be asked.
    pub(super) fn settles(&self, cleared: &Cleared) -> Option<Draft> {
        let applied = self.opinion.standing == Standing::Applied;
        match self.leaning {
            Leaning::Allow if applied => Some(self.draft(Decision::Allow, cleared)),
            Leaning::Deny if applied => Some(self.draft(Decision::Deny, cleared)),
            Leaning::Allow | Leaning::Deny | Leaning::Unsure => None,
        }
    }

    /// The draft for a step that the scorer would have settled, but about which a judge was asked for comparison and did not
    /// answer.
    pub(super) fn settles_after_all(&self, cleared: &Cleared) -> Option<Draft> {
        match (self.opinion.standing, self.leaning) {
            (Standing::Audited, Leaning::Allow) => Some(self.draft(Decision::Allow, cleared)),
            (Standing::Audited, Leaning::Deny) => Some(self.draft(Decision::Deny, cleared)),
            (Standing::Applied | Standing::Shadow, _) | (_, Leaning::Unsure) => None,
        }
    }

    /// The denial where no judge can be asked.
    pub(super) fn denies_alone(&self, cleared: &Cleared) -> Option<Draft> {
        let counts = self.opinion.standing != Standing::Shadow;
        (counts && self.alone == Leaning::Deny).then(|| self.draft(Decision::Deny, cleared))
    }

    /// Counts whether the judge that was asked for comparison agrees.
    pub(super) fn compare(&self, decision: Decision) {
        let agrees = match self.leaning {
            Leaning::Unsure => return,
            Leaning::Allow => decision == Decision::Allow,
            Leaning::Deny => decision != Decision::Allow,
        };
        let outcome = if agrees { "agrees" } else { "disagrees" };
        metrics::counter!(names::LOCAL_JUDGE_AUDITS, "leaning" => self.leaning.as_str(), "outcome" => outcome)
            .increment(1);
    }

    fn draft(&self, decision: Decision, cleared: &Cleared) -> Draft {
        let probability = self.opinion.probability;
        let reasons = match decision {
            Decision::Allow | Decision::Modify => Vec::new(),
            Decision::Deny => vec![reason(cleared)],
        };
        let mut draft = Draft::of_rules(decision, cleared.step.method, reasons, self.reasoning());
        draft.source = Source::Local;
        draft.confidence = match decision {
            Decision::Allow | Decision::Modify => 1.0 - probability,
            Decision::Deny => probability,
        };
        draft.message = message(decision, cleared.step.method, &draft.reason_codes);
        draft
    }

    fn reasoning(&self) -> String {
        let moved: Vec<String> = self
            .opinion
            .evidence
            .iter()
            .take(4)
            .map(|moved| match moved.pointer.as_str() {
                "" => format!("{} ({:+.1})", moved.what, moved.weight),
                pointer => format!("{} at {pointer} ({:+.1})", moved.what, moved.weight),
            })
            .collect();
        format!(
            "The local judge gives the step a probability of harm of {:.3} (model {}). It was moved most by: {}.",
            self.opinion.probability,
            self.opinion.model,
            if moved.is_empty() {
                "nothing in particular".to_owned()
            } else {
                moved.join("; ")
            }
        )
    }
}

/// Why a step that only a scorer objects to is denied: as the gravest finding says, else by what kind of step it is.
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
