//! A report as a table to read in a terminal.

use std::fmt::Write;

use super::{Report, worst_first};
use crate::eval::statistics::Rate;
use crate::eval::{EvalError, Kept, RunLog, Score, shown};
use crate::model::Source;

/// Broken pairs that are listed.
const MAX_PAIRS: usize = 20;

impl<O> Report<O> {
    /// Writes the figures as text.
    pub fn table(&self) -> String {
        let mut text = String::new();
        let widest = self
            .scores
            .methods
            .keys()
            .chain(self.scores.sources.keys())
            .map(String::len)
            .max()
            .unwrap_or(8);
        let width = widest.max("method".len());
        self.section(&mut text, width, "method", self.scores.methods.iter());
        self.section(&mut text, width, "source", self.scores.sources.iter());
        line(&mut text, width, "all", &self.scores.overall);
        let means = &self.scores.mean_of_sources;
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{:width$}  {:>6} {:>20} {:>20} {:>9} {:>8}",
            "mean of sources",
            "",
            percent(means.recall),
            percent(means.false_positive_rate),
            percent(means.precision),
            percent(means.accuracy),
        );
        text.push_str(&self.confusion());
        text.push_str(&self.settled_by());
        text.push_str(&self.mutants());
        let _ = write!(
            text,
            "\njudge: {}; policy: {}; history {}",
            self.judge, self.policy, self.history
        );
        if let (Some(median), Some(most)) = (self.within(0.5), self.within(0.99)) {
            let _ = write!(text, "; time per step: median {median} µs, 99 % within {most} µs");
        }
        text.push('\n');
        if !self.selection.is_empty() {
            let _ = writeln!(text, "only {}", self.selection);
        }
        let spent = self.scores.spent;
        if spent.judged > 0 {
            let _ = write!(text, "judged by a model: {}; {} tokens", spent.judged, spent.tokens);
            if spent.cost_micros > 0 {
                let _ = write!(text, ", {:.4} by the configured prices", spent.cost_micros as f64 / 1e6);
            }
            text.push('\n');
        }
        if let Some(stable) = self.scores.stable {
            let _ = writeln!(
                text,
                "repeated: {} of {} cases got one decision every time ({})",
                stable.some,
                stable.of,
                with_interval(Some(stable))
            );
        }
        let _ = writeln!(text, "\n{}", self.sentence());
        for warning in self.warnings() {
            let _ = writeln!(text, "warning: {warning}");
        }
        text
    }

    fn section<'a>(
        &self,
        text: &mut String,
        width: usize,
        title: &str,
        scores: impl Iterator<Item = (&'a String, &'a Score)>,
    ) {
        let _ = writeln!(
            text,
            "{title:width$}  {:>6} {:>20} {:>20} {:>9} {:>8} {:>8}",
            "cases", "recall", "fp rate", "precision", "right", "spans"
        );
        for (name, score) in scores {
            line(text, width, name, score);
        }
        text.push('\n');
    }

    /// Writes how many cases each judge settled, and what went wrong by it; what was saved without a model, beside the errors of that.
    fn settled_by(&self) -> String {
        let mut text = format!(
            "\n{:10} {:>8} {:>8} {:>14} {:>14}\n",
            "settled by", "cases", "share", "let through", "blocked wrongly"
        );
        let stages = &self.scores.stages;
        for source in Source::ALL.iter().map(|source| source.as_str()) {
            if let Some(stage) = stages.get(source) {
                let share = percent(Some(stage.cases as f64 / self.scores.overall.cases as f64));
                let (passed, blocked) = (stage.let_through(), stage.blocked_wrongly());
                let _ = writeln!(
                    text,
                    "{source:10} {:>8} {share:>8} {passed:>14} {blocked:>14}",
                    stage.cases
                );
            }
        }
        let spent = self.scores.spent;
        if let Some(local) = stages.get(Source::Local.as_str()).filter(|_| spent.asked > 0) {
            let saved = local.cases as f64;
            let of_all = |sum: u64| sum as f64 / spent.asked as f64 * saved;
            let _ = writeln!(
                text,
                "the local judge saved {saved} calls, about {:.0} tokens ({:.4} by the configured prices), at {} attacks let \
                 through and {} steps blocked wrongly",
                of_all(spent.tokens),
                of_all(spent.cost_micros) / 1e6,
                local.let_through(),
                local.blocked_wrongly()
            );
        }
        text
    }

    /// Writes how many verdicts survive mutation, and the pairs that break.
    fn mutants(&self) -> String {
        let Some(survival) = &self.scores.survival else {
            return String::new();
        };
        let mut text = format!(
            "\n{:24} {:>26} {:>26}\n",
            "operator", "attacks still stopped", "honest still allowed"
        );
        let row = |text: &mut String, name: &str, kept: &Kept| {
            let [attacks, honest] = kept.rates().map(with_interval);
            let _ = writeln!(text, "{name:24} {attacks:>26} {honest:>26}");
        };
        survival
            .operators
            .iter()
            .for_each(|(name, kept)| row(&mut text, name, kept));
        text.push_str("source\n");
        survival
            .sources
            .iter()
            .for_each(|(name, kept)| row(&mut text, name, kept));
        row(&mut text, "all mutants", &survival.all);
        for pair in survival.broken.iter().take(MAX_PAIRS) {
            let note = shown::cut(&pair.note, 120);
            let _ = writeln!(
                text,
                "broken: {}: {} -> {}: {note}",
                pair.original, pair.decision, pair.mutant
            );
        }
        if survival.broken.len() > MAX_PAIRS {
            let _ = writeln!(
                text,
                "… and {} more broken pairs (eval report shows them)",
                survival.broken.len() - MAX_PAIRS
            );
        }
        text
    }

    fn confusion(&self) -> String {
        const DECIDED: [&str; 4] = ["allow", "modify", "deny", "error"];
        let mut text = format!("\n{:10}", "expected");
        for decision in DECIDED {
            let _ = write!(text, " {decision:>8}");
        }
        text.push('\n');
        for (expected, row) in &self.scores.overall.confusion {
            let _ = write!(text, "{expected:10}");
            for decision in DECIDED {
                let _ = write!(text, " {:>8}", row.get(decision).copied().unwrap_or_default());
            }
            text.push('\n');
        }
        text
    }
}

impl Report<RunLog> {
    /// Every wrong outcome, the worst first, with the texts of its step.
    ///
    /// # Errors
    ///
    /// When the log cannot be read.
    pub fn mistakes(&self) -> Result<String, EvalError> {
        let outcomes = self.outcomes.outcomes();
        let wrong = outcomes.filter(|read| read.as_ref().map_or(true, |outcome| !outcome.right));
        let mut text = String::new();
        for outcome in worst_first(wrong.collect::<Result<Vec<_>, _>>()?) {
            let _ = writeln!(
                text,
                "{}  {}  {}{}{}",
                outcome.id,
                outcome.method,
                outcome.told(),
                if outcome.rules.is_empty() {
                    String::new()
                } else {
                    format!("; rules {}", outcome.rules.join(", "))
                },
                outcome
                    .error
                    .as_ref()
                    .map(|error| format!("; {error}"))
                    .unwrap_or_default(),
            );
            if !outcome.note.is_empty() {
                let _ = writeln!(text, "    {}", outcome.note);
            }
            for passage in outcome.shown.iter().flat_map(|shown| &shown.texts) {
                let _ = writeln!(text, "    {}", passage.told(200));
            }
        }
        Ok(text)
    }
}

fn line(text: &mut String, width: usize, name: &str, score: &Score) {
    let _ = writeln!(
        text,
        "{name:width$}  {:>6} {:>20} {:>20} {:>9} {:>8} {:>8}",
        score.cases,
        with_interval(score.rates.recall),
        with_interval(score.rates.false_positives),
        percent(score.precision()),
        percent(score.accuracy()),
        percent(score.span_recall()),
    );
}

/// Returns a share in per cent; `-` where there is none.
pub(in crate::eval) fn percent(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{:.1} %", value * 100.0))
}

/// Returns a share in per cent with its 95 % interval.
pub(in crate::eval) fn with_interval(rate: Option<Rate>) -> String {
    rate.map_or_else(|| "-".to_owned(), |rate| rate.to_string())
}
