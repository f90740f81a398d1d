//! A meter between a run's judge and its model: counts calls, tokens and cost as they come, and stops at a ceiling.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::judge::{JudgeFailure, Question, Recorder};
use crate::llm::{self, Failure, Reply};
use crate::prompt::Marks;

/// The diagnostic that says that nobody was asked, because the ceiling of the run was reached.
pub(super) const CEILING: &str = "run_ceiling";
/// The diagnostic that says that nobody was asked, because the calls were only counted.
const COUNTED: &str = "run_estimate";

/// How much a run may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ceiling {
    /// Calls of a model.
    pub calls: Option<u64>,
    /// Their price, in millionths of a unit. What is under way when it is reached is finished.
    pub cost_micros: Option<u64>,
}

/// What a run has taken so far.
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
}

/// Whether the model is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asks {
    Yes,
    No,
}

impl Meter {
    /// A meter with a ceiling, before another recorder where there is one.
    pub fn new(ceiling: Ceiling, inner: Option<Arc<dyn Recorder>>) -> Self {
        Self {
            ceiling,
            inner,
            asks: Asks::Yes,
            calls: AtomicU64::new(0),
            tokens: AtomicU64::new(0),
            cost_micros: AtomicU64::new(0),
        }
    }

    /// A meter that counts calls and the tokens of their prompts, and asks nobody.
    pub fn counting() -> Self {
        Self {
            asks: Asks::No,
            ..Self::new(Ceiling::default(), None)
        }
    }

    /// What was taken so far.
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
    fn marks(&self) -> Marks {
        self.inner.as_ref().map_or_else(Marks::fresh, |inner| inner.marks())
    }

    fn replay(&self, question: &Question<'_>) -> Result<Option<Reply>, JudgeFailure> {
        if let Some(inner) = &self.inner
            && let Some(reply) = inner.replay(question)?
        {
            return Ok(Some(reply));
        }
        if self.asks == Asks::No {
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
        if let Ok(reply) = reply {
            self.tokens.fetch_add(reply.usage.tokens(), Ordering::Relaxed);
            self.cost_micros.fetch_add(reply.cost.micros(), Ordering::Relaxed);
        }
        if let Some(inner) = &self.inner {
            inner.record(question, reply);
        }
    }
}
