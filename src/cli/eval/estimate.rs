//! The estimate of what a run would take of a judge, before the judge is asked.

use std::sync::Arc;

use crate::config::Config;
use crate::eval::{Chosen, JudgeSource, Meter, Runner};
use crate::judge::Judge;
use crate::llm::{Counted, Usage};

/// Cases that are tried; the rest is taken to be like them.
const TRIED: usize = 100;
/// Tokens of an answer, as most models give it.
const ANSWER_TOKENS: f64 = 300.0;

/// The least that a run would take: each question once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Estimate {
    calls: f64,
    tokens: f64,
    cost: f64,
}

impl Estimate {
    /// Puts some of the cases to the judge, on a meter that counts and asks no model.
    pub(super) async fn of(
        runner: &Runner<'_>,
        judge: &Arc<Judge>,
        config: &Config,
        (chosen, done): (&Chosen, usize),
        at_once: usize,
    ) -> anyhow::Result<Self> {
        let cases = chosen.len().saturating_sub(done);
        let every = cases.div_ceil(TRIED).max(1);
        let tried = chosen.cases()?.skip(done).step_by(every);
        let meter = Arc::new(Meter::counting());
        let counting = Runner {
            guardian: runner.guardian,
            organisations: runner.organisations.clone(),
            limits: runner.limits,
            history: runner.history,
            judge: JudgeSource::Metered(Arc::clone(judge), Arc::clone(&meter)),
            repeat: 1,
            purpose: "estimate",
        };
        let mut go_on = |_| Ok(std::ops::ControlFlow::Continue(()));
        counting.run_each(tried, at_once, &mut go_on).await?;
        let counted = meter.spent();
        let times = cases as f64 / cases.div_ceil(every).max(1) as f64 * runner.repeat as f64;
        let (calls, prompts) = (counted.calls as f64 * times, counted.tokens as f64 * times);
        let price = config.judge.as_ref().and_then(|judge| judge.llm.endpoints.first());
        let price = price.map(|endpoint| endpoint.price).unwrap_or_default();
        // Casts of floats saturate.
        let usage = Usage {
            prompt_tokens: prompts as u64,
            completion_tokens: (calls * ANSWER_TOKENS) as u64,
            counted: Counted::Estimated,
        };
        Ok(Self {
            calls,
            tokens: prompts + calls * ANSWER_TOKENS,
            cost: price.of(&usage).units(),
        })
    }
}

impl std::fmt::Display for Estimate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "at least about {:.0} {} and {:.0},000 tokens",
            self.calls,
            if self.calls.round() == 1.0 { "call" } else { "calls" },
            (self.tokens / 1_000.0).ceil()
        )?;
        if self.cost > 0.0 {
            write!(f, ", {:.2} by the configured prices", self.cost)?;
        }
        // Whether one is needed depends on what the model says.
        f.write_str("; what is asked again (failed calls, answers that cannot be used, a second model) comes on top")
    }
}
