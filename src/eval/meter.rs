//! A meter between a run's judge and its model: counts calls, tokens and cost as they come, and stops at a ceiling.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::judge::{JudgeFailure, Question, Recorder};
use crate::llm::{self, Failure, Reply};

/// The diagnostic that says that no model was asked, because the ceiling of the run was reached.
pub(super) const CEILING: &str = "run_ceiling";
/// The diagnostic that says that no model was asked, because the calls were only counted.
const COUNTED: &str = "run_estimate";

/// The most that a run may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ceiling {
    /// Calls of a model.
    pub calls: Option<u64>,
    /// Their price, in millionths of a unit. What is under way when it is reached is finished.
    pub cost_micros: Option<u64>,
}

/// The amount that a run has taken so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Calls of a model.
    pub calls: u64,
    /// Tokens of prompts and replies.
    pub tokens: u64,
    /// Their price, in millionths of a unit.
    pub cost_micros: u64,
}

/// Counts what a judge asks.
pub struct Meter {
    ceiling: Ceiling,
    inner: Option<Arc<dyn Recorder>>,
    asks: Asks,
    calls: AtomicU64,
    tokens: AtomicU64,
    cost_micros: AtomicU64,
    exchanges: Option<Mutex<Vec<Exchange>>>,
}

/// The question to a model, and its answer.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The model.
    pub model: String,
    /// The system message.
    pub system: String,
    /// The user message.
    pub user: String,
    /// The answer, or why there was none; `None` where the model was not asked.
    pub said: Option<String>,
}

/// The choice to ask the model, or only to count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asks {
    Yes,
    No,
}

impl Meter {
    /// Makes a meter with a ceiling, before another recorder where there is one.
    pub fn new(ceiling: Ceiling, inner: Option<Arc<dyn Recorder>>) -> Self {
        Self {
            ceiling,
            inner,
            asks: Asks::Yes,
            calls: AtomicU64::new(0),
            tokens: AtomicU64::new(0),
            cost_micros: AtomicU64::new(0),
            exchanges: None,
        }
    }

    /// Returns the same, keeping what is asked and said.
    pub fn listening(self) -> Self {
        Self {
            exchanges: Some(Mutex::default()),
            ..self
        }
    }

    /// Returns the questions and answers, in their order.
    pub fn exchanges(&self) -> Vec<Exchange> {
        let exchanges = self.exchanges.as_ref().map(|exchanges| exchanges.lock());
        exchanges.map_or_else(Vec::new, |exchanges| {
            exchanges.unwrap_or_else(PoisonError::into_inner).clone()
        })
    }

    fn keep(&self, question: &Question<'_>, said: Option<String>) {
        if let Some(exchanges) = &self.exchanges {
            exchanges.lock().unwrap_or_else(PoisonError::into_inner).push(Exchange {
                model: question.model.to_owned(),
                system: question.request.system.to_owned(),
                user: question.request.user.to_owned(),
                said,
            });
        }
    }

    /// Makes a meter that counts calls and the tokens of their prompts, and asks no model.
    pub fn counting() -> Self {
        Self {
            asks: Asks::No,
            ..Self::new(Ceiling::default(), None)
        }
    }

    /// Returns the amount that was taken so far.
    pub fn spent(&self) -> Spent {
        Spent {
            calls: self.calls.load(Ordering::Relaxed),
            tokens: self.tokens.load(Ordering::Relaxed),
            cost_micros: self.cost_micros.load(Ordering::Relaxed),
        }
    }

    fn has_room(&self) -> bool {
        let paid = self.cost_micros.load(Ordering::Relaxed);
        if self.ceiling.cost_micros.is_some_and(|most| paid >= most) {
            return false;
        }
        let most = self.ceiling.calls.unwrap_or(u64::MAX);
        let more = |calls: u64| (calls < most).then(|| calls + 1);
        self.calls
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
            .is_ok()
    }
}

impl Recorder for Meter {
    fn replay(&self, question: &Question<'_>) -> Result<Option<Reply>, JudgeFailure> {
        if let Some(inner) = &self.inner
            && let Some(reply) = inner.replay(question).inspect_err(|_| self.keep(question, None))?
        {
            self.keep(question, Some(reply.text.clone()));
            return Ok(Some(reply));
        }
        if self.asks == Asks::No {
            self.keep(question, None);
            let request = &question.request;
            let tokens = llm::estimate_tokens(request.system) + llm::estimate_tokens(request.user);
            self.calls.fetch_add(1, Ordering::Relaxed);
            self.tokens.fetch_add(tokens, Ordering::Relaxed);
            return Err(JudgeFailure {
                code: COUNTED,
                detail: "the call was only counted".to_owned(),
            });
        }
        match self.has_room() {
            true => Ok(None),
            false => Err(JudgeFailure {
                code: CEILING,
                detail: "the ceiling of this run is reached".to_owned(),
            }),
        }
    }

    fn record(&self, question: &Question<'_>, reply: &Result<Reply, Failure>) {
        self.keep(
            question,
            Some(match reply {
                Ok(reply) => reply.text.clone(),
                Err(failure) => format!("no answer: {failure}"),
            }),
        );
        if let Ok(reply) = reply {
            self.tokens.fetch_add(reply.usage.tokens(), Ordering::Relaxed);
            self.cost_micros.fetch_add(reply.cost.micros(), Ordering::Relaxed);
        }
        if let Some(inner) = &self.inner {
            inner.record(question, reply);
        }
    }
}
