//! Judge: a draft from the cache, from a model, from the local judge, or from the posture.

use std::sync::Arc;

use tracing::Instrument;

use super::alone::Alone;
use super::draft::{Draft, message};
use super::mask::Cleared;
use super::spend_budget::CallerBudget;
use super::windows::ByScorer;
use super::{Admitted, Guardian};
use crate::cache::{Fingerprint, Served, Unanswered};
use crate::judge::{Case, Judge, JudgeFailure, Judged};
use crate::model::{Decision, Diagnostic, History, Judging, Posture, ReasonCode, Source};
use crate::prompt::RankWindows;

/// The question to a model about a cleared step.
pub(super) struct Question {
    /// The history of the session that the model is told.
    pub(super) history: History,
    /// The fingerprint that equal questions share.
    pub(super) fingerprint: Fingerprint,
}

/// The number of times that a step waits for other steps' calls that run out of time, before it is told of a failure.
const MAX_WAITS: usize = 3;

impl Guardian {
    /// Asks the cache, then the model. If neither answers, the posture decides.
    pub(super) async fn judge(
        &self,
        judge: &Arc<Judge>,
        admitted: &Admitted,
        cleared: &Cleared,
        question: Question,
        deadline: tokio::time::Instant,
        decision_id: &str,
    ) -> Draft {
        let organisation = &admitted.organisation;
        let Question { history, fingerprint } = question;
        let answer = tokio::time::timeout_at(deadline, async {
            let mut others_asked = 0;
            loop {
                let ask = self.ask(judge, admitted, cleared, history.clone(), deadline, decision_id);
                match self.cache.get_or_ask(&organisation.id, fingerprint, ask).await {
                    // The other one's time was up, not this one's.
                    Err(Unanswered::OthersFailed(failure))
                        if failure.is_for_want_of_time() && others_asked < MAX_WAITS =>
                    {
                        others_asked += 1;
                    }
                    answer => return answer,
                }
            }
        });
        match answer.await {
            Ok(Ok((judged, _))) if self.distrusts(&judged) => self.fall_back(admitted, cleared, &distrusted()),
            Ok(Ok((judged, served))) => {
                let source = match served {
                    Served::Fresh => Source::Judge,
                    Served::Coalesced | Served::Stored { .. } => Source::Cache,
                };
                let mut draft = Draft::of_assessment(judged.assessment.clone(), source, Some(&judged));
                draft.judging = Some(judging(&judged, served));
                if let Some(local_opinion) = &cleared.local_opinion {
                    local_opinion.compare(draft.decision);
                }
                draft
            }
            Ok(Err(Unanswered::Failed(failure) | Unanswered::OthersFailed(failure))) => {
                self.fall_back(admitted, cleared, &failure)
            }
            Ok(Err(Unanswered::Died)) => self.fall_back(admitted, cleared, &died()),
            Err(_) => self.fall_back(admitted, cleared, &too_late()),
        }
    }

    /// Makes the call of the model a task that owns all it needs.
    fn ask(
        &self,
        judge: &Arc<Judge>,
        admitted: &Admitted,
        cleared: &Cleared,
        history: History,
        deadline: tokio::time::Instant,
        decision_id: &str,
    ) -> impl Future<Output = Result<Judged, JudgeFailure>> + Send + 'static {
        let (judge, judged, limits) = (Arc::clone(judge), self.judged.clone(), Arc::clone(&self.limits));
        let (admitted, step, evidence) = (admitted.clone(), Arc::clone(&cleared.step), cleared.shown_evidence());
        let ranks = ByScorer::of(self.scorer.as_ref(), &admitted.organisation);
        let decision: Arc<str> = decision_id.into();
        let (suspicion, withheld) = (cleared.suspicion.clone(), cleared.hidden.clone());
        let asking = async move {
            if suspicion.is_some() && limits.suspected(&admitted.caller).await.is_err() {
                return Err(too_many_suspected());
            }
            let place = judged.take(&admitted.organisation.id, deadline).await;
            let _place = place.map_err(|_| too_many_judged())?;
            let budget = CallerBudget::new(limits, admitted.clone(), deadline);
            let organisation = &admitted.organisation;
            let case = Case {
                step: &step,
                findings: &evidence,
                withheld: &withheld,
                suspicion: suspicion.as_ref(),
                history: &history,
                policy: &organisation.policy,
                prompts: &organisation.prompts,
                deadline,
                budget: &budget,
                ranks: ranks.as_ref().map(|ranks| ranks as &dyn RankWindows),
            };
            let mut judged = judge.assess(case).await?;
            judged.decision = Some(decision);
            Ok(judged)
        };
        asking.in_current_span()
    }

    /// Decides by the posture, as no judge could. Even an open one allows nothing that the local judge would deny.
    fn fall_back(&self, admitted: &Admitted, cleared: &Cleared, failure: &JudgeFailure) -> Draft {
        let method = cleared.step.method;
        tracing::warn!(organisation = %admitted.organisation.id, %method, failure = failure.code, detail = %failure.detail, "the judge could not decide");
        let Alone { mut draft, .. } = Alone::of(cleared, &admitted.organisation.policy);
        if draft.decision == Decision::Allow && draft.source == Source::Local {
            return draft;
        }
        if failure.code != SUSPECTED_LIMIT {
            draft.source = Source::Fallback;
        }
        draft.diagnostics.push(Diagnostic {
            code: failure.code,
            detail: failure.detail.clone(),
        });
        let posture = admitted
            .organisation
            .policy
            .posture
            .of(method, self.settings.on_failure);
        if draft.decision == Decision::Deny {
            return draft;
        }
        match posture {
            Posture::Allow if !failure.may_be_provoked() => {
                draft.reasoning = format!("The judge could not decide ({failure}). {}", draft.reasoning);
            }
            Posture::Allow | Posture::Deny | Posture::Error => {
                draft.decision = Decision::Deny;
                draft.reason_codes = vec![ReasonCode::JudgeUnavailable];
                draft.confidence = 0.0;
                draft.message = message(Decision::Deny, method, &draft.reason_codes);
                let why = match posture {
                    Posture::Allow => {
                        "which the author of the step can bring about, so the open posture does not count"
                    }
                    Posture::Deny | Posture::Error => "and the posture is closed",
                };
                draft.reasoning = format!("The judge could not decide ({failure}), {why}.");
                draft.undecided = posture == Posture::Error;
            }
        }
        draft
    }
}

/// Describes how the answer was obtained. Tokens that an earlier step paid for are not counted again.
fn judging(judged: &Judged, served: Served) -> Judging {
    let (tokens, cost_micros) = match served {
        Served::Fresh => (judged.usage.tokens(), judged.cost.micros()),
        Served::Coalesced | Served::Stored { .. } => (0, 0),
    };
    Judging {
        stage: judged.stage,
        tokens,
        cost_micros,
        decision: match served {
            Served::Fresh => None,
            Served::Coalesced | Served::Stored { .. } => judged.decision.clone(),
        },
        age_seconds: match served {
            Served::Stored { age } => Some(age.as_secs()),
            Served::Fresh | Served::Coalesced => None,
        },
    }
}

/// The name of the failure if a caller's limit of suspected steps is reached.
const SUSPECTED_LIMIT: &str = "suspected_limit";

fn too_many_suspected() -> JudgeFailure {
    failure(
        SUSPECTED_LIMIT,
        "the caller's limit of suspected steps that a model is asked about is reached",
    )
}

fn too_many_judged() -> JudgeFailure {
    failure(
        "deadline",
        "as many steps of the organisation waited for a model as may (`[judge] max_in_flight`), until there was no time left",
    )
}

fn too_late() -> JudgeFailure {
    failure(
        "deadline",
        "there was no answer within the time that a decision may take",
    )
}

fn distrusted() -> JudgeFailure {
    failure(
        "judge_distrusted",
        "the judge answers wrongly about known steps, so what it lets through does not count",
    )
}

fn died() -> JudgeFailure {
    failure("judge_died", "the task that asked the judge died")
}

fn failure(code: &'static str, detail: &str) -> JudgeFailure {
    JudgeFailure {
        code,
        detail: detail.to_owned(),
    }
}
