//! Runs labelled steps through a guardian: each with what happened before it, in a session of its own.

use std::sync::Arc;

use futures_util::StreamExt;
use serde::{Deserialize, Serialize};

use super::batch::{self, BatchAnswers, BatchQuestions, CaseQuestions};
use super::{Case, recording};
use crate::judge::{Judge, Recorder};
use crate::local::{TrainingFeatures, Vocabulary};
use crate::model::{Caller, Decision, OrganisationId, Verdict};
use crate::pipeline::{Admitted, Guardian};
use crate::wire;

/// Which organisation decides about a case.
#[derive(Clone, Debug)]
pub enum Organisations {
    /// One for each policy profile that cases name.
    PerProfile(fn(&str) -> OrganisationId),
    /// Always this one.
    Always(OrganisationId),
}

/// What came of a case. One line of a report.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// The case's id.
    pub id: String,
    /// Where it comes from.
    pub source: String,
    /// The method; `-` when the request does not decode.
    pub method: String,
    /// The best decision.
    pub expected: String,
    /// Every decision that counts as right.
    pub acceptable: Vec<String>,
    /// The decision that was made; `error` when there was none.
    pub decision: String,
    /// Where it came from.
    pub verdict_source: String,
    /// The reason codes that were given.
    pub reason_codes: Vec<String>,
    /// Whether the decision is right, and a modification took out all it had to.
    pub right: bool,
    /// Whether one of the expected reason codes was given; true where none is expected.
    pub reason_right: bool,
    /// Required spans that there were, and that were taken out or denied.
    pub spans: [usize; 2],
    /// The rules that fired.
    pub rules: Vec<String>,
    /// What went wrong, where something did.
    pub error: Option<String>,
    /// The model that judged, where one did.
    #[serde(default)]
    pub model: Option<String>,
    /// Tokens that the verdict took.
    #[serde(default)]
    pub tokens: u64,
    /// Their price, in millionths of the unit of the configured prices.
    #[serde(default)]
    pub cost_micros: u64,
    /// Microseconds from the decoded step to its verdict.
    pub micros: u64,
}

/// What is made of the history of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum History {
    /// It is replayed before the step, in a session of the case's own.
    Replayed,
    /// It is left out: the step is judged by itself.
    LeftOut,
}

impl History {
    /// The name in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            History::Replayed => "replayed",
            History::LeftOut => "left out",
        }
    }
}

/// Who judges what rules do not settle.
#[derive(Clone)]
pub enum Bench {
    /// Whoever the guardian would ask.
    Own,
    /// This judge.
    Judge(Arc<Judge>),
    /// Nobody yet: this judge's questions are written out.
    Questions(Arc<Judge>, Arc<BatchQuestions>),
    /// Whoever answered a batch of this judge's questions.
    Answers(Arc<Judge>, Arc<BatchAnswers>),
}

/// Runs labelled steps through a guardian.
pub struct Runner<'a> {
    /// The guardian.
    pub guardian: &'a Guardian,
    /// Which organisation decides about a case.
    pub organisations: Organisations,
    /// How large a request may be.
    pub limits: wire::Limits,
    /// What is made of histories.
    pub history: History,
    /// Who judges.
    pub bench: Bench,
}

impl Runner<'_> {
    /// Runs every case, `at_once` at a time. The outcomes come in the order of the cases.
    ///
    /// # Errors
    ///
    /// When questions cannot be written out.
    pub async fn run(&self, cases: &[Case], at_once: usize) -> std::io::Result<Vec<Outcome>> {
        let mut outcomes = Vec::with_capacity(cases.len());
        let mut running = futures_util::stream::iter(cases)
            .map(|case| self.run_case(case))
            .buffered(at_once.max(1));
        while let Some((outcome, questions)) = running.next().await {
            if let (Bench::Questions(_, batch), Some(questions)) = (&self.bench, questions) {
                batch.write(&questions)?;
            }
            outcomes.push(outcome);
        }
        Ok(outcomes)
    }

    async fn run_case(&self, case: &Case) -> (Outcome, Option<Arc<CaseQuestions>>) {
        let (judge, questions) = self.judge_of(case);
        (self.decide(case, judge.as_ref()).await, questions)
    }

    /// The judge of a case, and where it writes its questions.
    fn judge_of(&self, case: &Case) -> (Option<Arc<Judge>>, Option<Arc<CaseQuestions>>) {
        match &self.bench {
            Bench::Own => (self.guardian.model_judge().cloned(), None),
            Bench::Judge(judge) => (Some(Arc::clone(judge)), None),
            Bench::Questions(judge, batch) => {
                let questions = batch.of_case(&case.id);
                let recorder: Arc<dyn Recorder> = Arc::<CaseQuestions>::clone(&questions);
                (Some(Arc::new(judge.with_recorder(recorder, &case.id))), Some(questions))
            }
            Bench::Answers(judge, batch) => (
                Some(Arc::new(judge.with_recorder(batch.of_case(&case.id), &case.id))),
                None,
            ),
        }
    }

    /// What the local judge sees of a case.
    ///
    /// # Errors
    ///
    /// When the case, or what happened before it, does not decode.
    pub async fn training_features(
        &self,
        case: &Case,
        vocabulary: &Arc<Vocabulary>,
    ) -> Result<TrainingFeatures, String> {
        let (_, step) = wire::decode_step(case.request.get().as_bytes(), &self.limits)
            .map_err(|error| format!("the request does not decode: {}", error.message))?;
        let admitted = self
            .guardian
            .admit(&self.caller_of(case))
            .map_err(|refused| refused.to_string())?;
        if self.history == History::Replayed {
            self.replay(case, &admitted).await?;
        }
        let features = self.guardian.training_features(&admitted, step, vocabulary).await;
        features.ok_or_else(|| "the step was not examined in time".to_owned())
    }

    /// Cases of a suite often share session and agent ids, and have nothing to do with each other: each has a caller, and so
    /// sessions, of its own.
    fn caller_of(&self, case: &Case) -> Caller {
        let organisation = match (&case.expected.organisation, &self.organisations) {
            (Some(own), _) => OrganisationId::new(own.clone()),
            (None, Organisations::PerProfile(id)) => id(&case.expected.policy),
            (None, Organisations::Always(id)) => id.clone(),
        };
        Caller {
            organisation,
            name: format!("evaluation of {}", case.id),
        }
    }

    async fn decide(&self, case: &Case, judge: Option<&Arc<Judge>>) -> Outcome {
        let step = match wire::decode_step(case.request.get().as_bytes(), &self.limits) {
            Ok((_, step)) => step,
            Err(error) => return undecided(case, "-", format!("the request does not decode: {}", error.message)),
        };
        let method = step.method.as_str();
        let admitted = match self.guardian.admit(&self.caller_of(case)) {
            Ok(admitted) => admitted,
            Err(refused) => return undecided(case, method, refused.to_string()),
        };
        if self.history == History::Replayed
            && let Err(why) = self.replay(case, &admitted).await
        {
            return undecided(case, method, why);
        }
        let decided = self.guardian.decide_by(judge, &admitted, step).await;
        let micros = u64::try_from(decided.duration.as_micros()).unwrap_or(u64::MAX);
        judged(case, method, &decided.verdict, micros)
    }

    /// What happened before has happened, whatever would be decided about it now.
    async fn replay(&self, case: &Case, admitted: &Admitted) -> Result<(), String> {
        for (index, earlier) in case.history.iter().enumerate() {
            let (_, step) = wire::decode_step(earlier.as_bytes(), &super::history::limits())
                .map_err(|error| format!("`history[{index}]` does not decode: {}", error.message))?;
            self.guardian.observe(admitted, step).await;
        }
        Ok(())
    }
}

fn undecided(case: &Case, method: &str, error: String) -> Outcome {
    Outcome {
        id: case.id.clone(),
        source: case.source.clone(),
        method: method.to_owned(),
        expected: case.expected.decision.as_str().to_owned(),
        acceptable: names(&case.expected.acceptable),
        decision: "error".to_owned(),
        verdict_source: "-".to_owned(),
        reason_codes: Vec::new(),
        right: false,
        reason_right: false,
        spans: [0, 0],
        rules: Vec::new(),
        error: Some(error),
        model: None,
        tokens: 0,
        cost_micros: 0,
        micros: 0,
    }
}

fn judged(case: &Case, method: &str, verdict: &Verdict, micros: u64) -> Outcome {
    let required = case.expected.spans.iter().filter(|span| span.required).count();
    let gone = match verdict.decision {
        Decision::Deny => required,
        Decision::Allow => 0,
        Decision::Modify => taken_out(case, verdict),
    };
    // What nobody has answered yet says nothing about a judge: it counts as an error, not as what the posture makes of it.
    let unanswered = |code: &str| batch::NO_ANSWER.contains(&code) || code == recording::MISS;
    let undecided_here = verdict.undecided || verdict.diagnostics.iter().any(|d| unanswered(d.code));
    let complete = verdict.decision != Decision::Modify || gone == required;
    let expected = &case.expected;
    let reason_right = expected.reason_codes.is_empty()
        || verdict
            .reason_codes
            .iter()
            .any(|code| expected.reason_codes.contains(code));
    let mut rules: Vec<String> = verdict.findings.iter().map(|finding| finding.rule.clone()).collect();
    rules.sort();
    rules.dedup();
    Outcome {
        decision: if undecided_here {
            "error".to_owned()
        } else {
            verdict.decision.as_str().to_owned()
        },
        verdict_source: verdict.source.as_str().to_owned(),
        reason_codes: verdict
            .reason_codes
            .iter()
            .map(|code| code.as_str().to_owned())
            .collect(),
        right: !undecided_here && expected.acceptable.contains(&verdict.decision) && complete,
        reason_right,
        spans: [required, gone],
        rules,
        error: verdict.diagnostics.first().map(|diagnostic| diagnostic.code.to_owned()),
        model: verdict.model.clone(),
        tokens: verdict.judging.as_ref().map_or(0, |judging| judging.tokens),
        cost_micros: verdict.judging.as_ref().map_or(0, |judging| judging.cost_micros),
        micros,
        ..undecided(case, method, String::new())
    }
}

/// Required spans whose text no longer stands at their pointer.
fn taken_out(case: &Case, verdict: &Verdict) -> usize {
    let modified = verdict
        .modified
        .as_ref()
        .and_then(|step| serde_json::from_str::<serde_json::Value>(step.original.json()).ok())
        .unwrap_or_default();
    let is_gone = |span: &&super::Span| {
        modified
            .pointer(&span.pointer)
            .and_then(serde_json::Value::as_str)
            .is_none_or(|text| !text.contains(&span.text))
    };
    case.expected
        .spans
        .iter()
        .filter(|span| span.required)
        .filter(is_gone)
        .count()
}

fn names(decisions: &[Decision]) -> Vec<String> {
    decisions.iter().map(|decision| decision.as_str().to_owned()).collect()
}
