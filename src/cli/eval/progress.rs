//! The progress of an evaluation: a bar on a terminal, nothing elsewhere.

use std::sync::Arc;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::eval::{Meter, Outcome};

/// A bar on standard error.
pub(super) struct Progress {
    bar: ProgressBar,
    meter: Option<Arc<Meter>>,
    done: usize,
    wrong: usize,
}

impl Progress {
    /// For so many cases.
    pub(super) fn new(cases: usize, meter: Option<Arc<Meter>>) -> Self {
        // It draws nothing where standard error is no terminal.
        let bar = ProgressBar::with_draw_target(Some(cases as u64), ProgressDrawTarget::stderr());
        let template = "{bar:24} {pos}/{len}, {per_sec}, {eta} left{msg}";
        bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self {
            bar,
            meter,
            done: 0,
            wrong: 0,
        }
    }

    /// What was ticked so far was done before.
    pub(super) fn begin(&self) {
        self.bar.reset_eta();
    }

    /// The cases that are done.
    pub(super) fn done(&self) -> usize {
        self.done
    }

    /// Counts one case more.
    pub(super) fn tick(&mut self, outcome: &Outcome) {
        self.done += 1;
        self.wrong += usize::from(!outcome.right);
        self.bar.inc(1);
        let spent = self.meter.as_ref().map(|meter| meter.spent()).unwrap_or_default();
        let mut message = format!("; {} wrong", self.wrong);
        if spent.calls > 0 {
            message.push_str(&format!(", {} calls, {} tokens", spent.calls, spent.tokens));
        }
        if spent.cost_micros > 0 {
            message.push_str(&format!(", cost {:.4}", spent.cost_micros as f64 / 1e6));
        }
        self.bar.set_message(message);
    }

    /// Takes the bar away.
    pub(super) fn end(&self) {
        self.bar.finish_and_clear();
    }
}
