//! Runs labelled steps through a guardian: each with what happened before it, in a session of its own.

use std::borrow::Borrow;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

use futures_util::StreamExt;

use super::meter::Meter;
use super::outcome::micros;
use super::remote::Remote;
use super::{Case, EvalError, History, Outcome};
use crate::judge::Judge;
use crate::local::{TrainingFeatures, Vocabulary};
use crate::model::{Caller, OrganisationId, Step};
use crate::pipeline::{Admitted, Decided, Guardian};
use crate::wire;

/// The organisation that decides about a case.
#[derive(Clone, Debug)]
pub enum Organisations {
    /// One for each policy profile that cases name.
    PerProfile(fn(&str) -> OrganisationId),
    /// Always this one.
    Always(OrganisationId),
}

/// The judge of what rules do not settle.
#[derive(Clone)]
pub enum JudgeSource {
    /// The judge that the guardian would ask.
    Own,
    /// This judge, on a meter. Equal steps of two cases are asked about twice.
    Metered(Arc<Judge>, Arc<Meter>),
    /// Another guardian, which decides about whole steps over HTTP.
    Server(Arc<Remote>),
}

/// Runs labelled steps through a guardian.
pub struct Runner<'a> {
    /// The guardian.
    pub guardian: &'a Guardian,
    /// The organisation that decides about a case.
    pub organisations: Organisations,
    /// The limits of a request.
    pub limits: wire::Limits,
    /// The use of histories.
    pub history: History,
    /// The judge.
    pub judge: JudgeSource,
    /// The number of times that each case is judged, at least once.
    pub repeat: usize,
    /// The purpose of the run: sessions of runs for different purposes are kept apart.
    pub purpose: &'static str,
}

/// The purpose of most runs.
pub const EVALUATION: &str = "evaluation";

impl<'a> Runner<'a> {
    /// Makes a runner of an evaluation, which asks the judge that the guardian would ask; requests may be of any size.
    pub fn new(guardian: &'a Guardian, limits: wire::Limits, organisations: Organisations) -> Self {
        Self {
            guardian,
            organisations,
            limits: limits.of_any_size(),
            history: History::Replayed,
            judge: JudgeSource::Own,
            repeat: 1,
            purpose: EVALUATION,
        }
    }
}

impl Runner<'_> {
    /// Runs every case, `at_once` at a time. The outcomes come in the order of the cases.
    ///
    /// # Errors
    ///
    /// When an outcome cannot be kept.
    pub async fn run(&self, cases: &[Case], at_once: usize) -> io::Result<Vec<Outcome>> {
        let mut outcomes = Vec::with_capacity(cases.len());
        let mut keep = |outcome| {
            outcomes.push(outcome);
            Ok(ControlFlow::Continue(()))
        };
        self.run_each(cases.iter().map(Ok), at_once, &mut keep).await?;
        Ok(outcomes)
    }

    /// Runs cases, `at_once` at a time, and hands over each outcome, in the order of the cases, until all are run or `each`
    /// breaks.
    ///
    /// # Errors
    ///
    /// When a case cannot be read, or what `each` answers.
    pub async fn run_each<C: Borrow<Case>>(
        &self,
        cases: impl Iterator<Item = Result<C, EvalError>>,
        at_once: usize,
        each: &mut (dyn FnMut(Outcome) -> io::Result<ControlFlow<()>> + Send),
    ) -> io::Result<()> {
        let mut running = futures_util::stream::iter(cases)
            .map(|case| async move {
                match case {
                    Ok(case) => Ok(self.run_case(case.borrow()).await),
                    Err(error) => Err(io::Error::other(error)),
                }
            })
            .buffered(at_once.max(1));
        while let Some(ran) = running.next().await {
            if each(ran?)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    async fn run_case(&self, case: &Case) -> Outcome {
        let mut outcomes = Vec::with_capacity(self.repeat);
        for repeat in 0..self.repeat.max(1) {
            outcomes.push(self.decided(case, repeat).await.0);
        }
        Outcome::of_repeats(outcomes).unwrap_or_default()
    }

    fn judge_of(&self, case: &Case, repeat: usize) -> Option<Arc<Judge>> {
        match &self.judge {
            JudgeSource::Own => self.guardian.model_judge().cloned(),
            JudgeSource::Server(_) => None,
            JudgeSource::Metered(judge, meter) => {
                let name = match repeat {
                    0 => case.id.clone(),
                    _ => format!("{} {repeat}", case.id),
                };
                Some(Arc::new(judge.with_recorder(Arc::<Meter>::clone(meter), &name)))
            }
        }
    }

    /// Returns the features of a case that the local judge sees.
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
            .admit(&self.caller_of(case, 0))
            .await
            .map_err(|refused| refused.to_string())?;
        if self.history == History::Replayed {
            self.replay(case, &admitted).await?;
        }
        let features = self.guardian.training_features(&admitted, step, vocabulary).await;
        features.ok_or_else(|| "the step was not examined in time".to_owned())
    }

    fn organisation_of(&self, case: &Case) -> OrganisationId {
        match (&case.expected.organisation, &self.organisations) {
            (Some(own), _) => OrganisationId::new(own.clone()),
            (None, Organisations::PerProfile(id)) => id(&case.expected.policy),
            (None, Organisations::Always(id)) => id.clone(),
        }
    }

    /// Cases of a suite often share session and agent ids, and have nothing to do with each other: each has a caller, and so
    /// sessions, of its own.
    fn caller_of(&self, case: &Case, repeat: usize) -> Caller {
        Caller {
            organisation: self.organisation_of(case),
            name: match repeat {
                0 => format!("{} of {}", self.purpose, case.id),
                _ => format!("{} {repeat} of {}", self.purpose, case.id),
            },
        }
    }

    /// Decides about one case, and hands over the step and the verdict as well, where it came to one in this process.
    pub async fn explain(&self, case: &Case) -> (Outcome, Option<(Arc<Step>, Decided)>) {
        self.decided(case, 0).await
    }

    async fn decided(&self, case: &Case, repeat: usize) -> (Outcome, Option<(Arc<Step>, Decided)>) {
        let caller = self.caller_of(case, repeat);
        let undecided = |method: &str, why: String| (Outcome::undecided(case, &caller.organisation, method, why), None);
        let step = match wire::decode_step(case.request.get().as_bytes(), &self.limits) {
            Ok((_, step)) => step,
            Err(error) => return undecided("-", format!("the request does not decode: {}", error.message)),
        };
        let method = step.method.as_str();
        if let JudgeSource::Server(remote) = &self.judge {
            let outcome = remote.decide(case, &caller, &step, self.history, repeat).await;
            return (outcome, None);
        }
        let admitted = match self.guardian.admit(&caller).await {
            Ok(admitted) => admitted,
            Err(refused) => return undecided(method, refused.to_string()),
        };
        if self.history == History::Replayed
            && let Err(why) = self.replay(case, &admitted).await
        {
            return undecided(method, why);
        }
        let judge = self.judge_of(case, repeat);
        let decided = self
            .guardian
            .decide_by(judge.as_ref(), &admitted, Arc::clone(&step))
            .await;
        let outcome = Outcome {
            micros: micros(decided.duration),
            ..Outcome::decided(case, &caller.organisation, &step, &decided.verdict)
        };
        (outcome, Some((step, decided)))
    }

    /// Replays the history: it has happened, whatever would be decided about it now.
    async fn replay(&self, case: &Case, admitted: &Admitted) -> Result<(), String> {
        for (index, earlier) in case.history.iter().enumerate() {
            let (_, step) = wire::decode_step(earlier.as_bytes(), &super::history::limits())
                .map_err(|error| format!("`history[{index}]` does not decode: {}", error.message))?;
            self.guardian.observe(admitted, step).await;
        }
        Ok(())
    }
}
