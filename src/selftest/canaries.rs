//! Canaries: now and then, a server asks its judge about steps whose answer is known.
//!
//! A model behind an endpoint can change without a word: another version, another quantisation, a filter in front of it. Each
//! round asks about a few known steps, different ones every time; what counts are the answers of the last two rounds. No
//! answer says nothing here: an endpoint that is down has a posture of its own.
//!
//! The questions are real ones, with the prompts that are compiled in and the default policy; they pass no cache, no limit, no
//! session and no audit log.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::eval::{Case, EvalError, Needs};
use crate::judge::{self, Judge};
use crate::model::{Decision, named_enum};
use crate::pipeline::{Guardian, JudgeCheck, Trust};
use crate::telemetry::names;
use crate::wire;

/// Steps of each kind in a round.
const OF_EACH: usize = 3;
/// Answers that count: those of two rounds.
const WINDOW: usize = 4 * OF_EACH;

/// The schedule and the terms on which a judge is asked about known steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The time between rounds.
    pub every: Duration,
    /// The share of right answers below which the alarm is raised, 0 to 1.
    pub min_right: f64,
    /// The consequence of an alarm.
    pub on_alarm: OnAlarm,
    /// The longest time that one answer may take.
    pub timeout: Duration,
}

named_enum! {
    /// The consequence of too many wrong answers of a judge.
    OnAlarm {
        /// An error in the log, and what metrics and `/readyz` say.
        Log = "log",
        /// Besides, what the judge lets through counts as no answer, and the posture applies.
        Deny = "deny",
    }
}

/// The kind of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Right,
    Wrong,
    Missing,
}

impl Answer {
    const fn as_str(self) -> &'static str {
        match self {
            Answer::Right => "right",
            Answer::Wrong => "wrong",
            Answer::Missing => "unanswered",
        }
    }
}

/// Known steps, and how a judge answered lately.
pub struct Canaries {
    /// Screens the steps as they are screened with nothing configured.
    screener: Guardian,
    settings: Settings,
    good: VecDeque<Case>,
    bad: VecDeque<Case>,
    answers: VecDeque<Answer>,
}

impl Canaries {
    /// Makes canaries that are screened by this guardian: one with the built-in policy and prompts, which serves no one else.
    ///
    /// # Errors
    ///
    /// When the steps that are compiled in are broken.
    pub fn new(screener: Guardian, settings: Settings) -> Result<Self, EvalError> {
        let steps = super::steps()?.into_iter().filter(|case| case.needs == Needs::Judge);
        let (good, bad) = steps.partition(|case| case.expected.decision == Decision::Allow);
        Ok(Self {
            screener,
            settings,
            good,
            bad,
            answers: VecDeque::with_capacity(WINDOW),
        })
    }

    /// Asks, again and again, until the task is aborted; at once where another node begins to distrust its judge.
    pub async fn watch(mut self, watched: Arc<Guardian>) {
        let mut ticks = tokio::time::interval(self.settings.every);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = watched.judge_check_due() => {}
            }
            self.round(&watched).await;
        }
    }

    /// Runs one round: asks the judge of this guardian about the next few steps, and tells the guardian what that says of its judge.
    pub async fn round(&mut self, watched: &Guardian) {
        let Some(judge) = watched.model_judge() else {
            return;
        };
        for _ in 0..OF_EACH {
            for kind in [Decision::Deny, Decision::Allow] {
                let steps = match kind {
                    Decision::Allow => &mut self.good,
                    Decision::Deny | Decision::Modify => &mut self.bad,
                };
                let Some(case) = steps.pop_front() else { continue };
                let answer = self.ask(judge, &case).await;
                metrics::counter!(names::JUDGE_CANARY, "outcome" => answer.as_str()).increment(1);
                match kind {
                    Decision::Allow => self.good.push_back(case),
                    Decision::Deny | Decision::Modify => self.bad.push_back(case),
                }
                if answer != Answer::Missing {
                    self.answers.push_back(answer);
                }
            }
        }
        while self.answers.len() > WINDOW {
            self.answers.pop_front();
        }
        // A few answers say little; as long as there are no more, what was known before stands.
        if self.answers.len() >= WINDOW / 2 {
            self.report(watched);
        }
    }

    async fn ask(&self, judge: &Judge, case: &Case) -> Answer {
        let Ok((_, step)) = wire::decode_step(case.request.get().as_bytes(), &wire::Limits::default()) else {
            return Answer::Missing;
        };
        let Ok(admitted) = self.screener.admit(&Guardian::local_caller()).await else {
            return Answer::Missing;
        };
        let organisation = admitted.organisation();
        let Some(shown) = self.screener.shown_to_judge(&admitted, step).await else {
            return Answer::Missing;
        };
        let question = judge::Case {
            step: &shown.step,
            findings: &shown.findings,
            withheld: &shown.withheld,
            suspicion: shown.suspicion.as_ref(),
            history: &shown.history,
            policy: admitted.policy_of(&shown.step),
            prompts: &organisation.prompts,
            deadline: tokio::time::Instant::now() + self.settings.timeout,
            // No organisation's allowance: the operator who configures canaries pays for them.
            budget: &judge::UnlimitedBudget,
            ranks: None,
        };
        match judge.assess(question).await {
            Ok(judged) if case.expected.acceptable.contains(&judged.assessment.decision) => Answer::Right,
            Ok(judged) => {
                let decision = judged.assessment.decision;
                tracing::warn!(step = case.id, %decision, "the judge answered wrongly about a known step");
                Answer::Wrong
            }
            Err(failure) => {
                tracing::warn!(
                    step = case.id,
                    failure = failure.code,
                    "the judge did not answer about a known step"
                );
                Answer::Missing
            }
        }
    }

    fn report(&self, watched: &Guardian) {
        let asked = self.answers.len();
        let right = self.answers.iter().filter(|answer| **answer == Answer::Right).count();
        let alarm = (right as f64) < self.settings.min_right * asked as f64;
        let trust = match (alarm, self.settings.on_alarm) {
            (false, _) => Trust::Full,
            (true, OnAlarm::Log) => Trust::Doubted,
            (true, OnAlarm::Deny) => Trust::Withdrawn,
        };
        let before = watched.judge_check().map_or(Trust::Full, |check| check.trust);
        match (before, trust) {
            (Trust::Full, Trust::Full) => {}
            (Trust::Doubted | Trust::Withdrawn, Trust::Full) => {
                tracing::info!(right, asked, "the judge answers rightly about known steps again");
            }
            (_, Trust::Doubted) => {
                tracing::error!(right, asked, "the judge got worse: check the endpoint and its model")
            }
            (_, Trust::Withdrawn) => tracing::error!(
                right,
                asked,
                "the judge got worse: what it lets through is not trusted until it answers rightly again"
            ),
        }
        metrics::gauge!(names::JUDGE_TRUSTED).set(if trust == Trust::Full { 1.0 } else { 0.0 });
        watched.set_judge_check(JudgeCheck { right, asked, trust });
    }
}
