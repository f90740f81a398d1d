//! A report as a table to read in a terminal.

use std::fmt::Write;

use super::Report;
use crate::eval::statistics::Rate;
use crate::eval::{Kept, Outcome, Score, shown};
use crate::model::Source;

/// Broken pairs that are listed.
const MAX_PAIRS: usize = 20;

impl Report {
    /// The figures as text.
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
        let judged = self.outcomes.iter().filter(|outcome| outcome.model.is_some()).count();
        if judged > 0 {
            let (tokens, cost) = self.spent();
            let _ = write!(text, "judged by a model: {judged}; {tokens} tokens");
            if cost > 0 {
                let _ = write!(text, ", {:.4} by the configured prices", cost as f64 / 1e6);
            }
            text.push('\n');
        }
        if let Some(stable) = self.stable() {
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

    /// Every wrong outcome, the worst first, with the texts of its step.
    pub fn mistakes(&self) -> String {
        let mut text = String::new();
        for outcome in self.worst() {
            let _ = writeln!(
                text,
                "{}  {}  expected {}, got {} ({}){}{}",
                outcome.id,
                outcome.method,
                outcome.acceptable.join(" or "),
                outcome.decision,
                outcome.verdict_source,
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
                let segments = passage.segments.iter().map(|segment| segment.text.as_str());
                let line = shown::cut(&segments.collect::<String>(), 200);
                let _ = writeln!(text, "    {}: {line}", passage.origin);
            }
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

    /// Who settled how many cases, and what went wrong by whom; what was saved without a model, beside the errors of that.
    fn settled_by(&self) -> String {
        let mut text = format!(
            "\n{:10} {:>8} {:>8} {:>14} {:>14}\n",
            "settled by", "cases", "share", "let through", "blocked wrongly"
        );
        let all = self.outcomes.len();
        let by = |source: &str| {
            let mine = || self.outcomes.iter().filter(|outcome| outcome.verdict_source == source);
            let wrong = |expected_allow: bool| {
                let wrong = mine().filter(|outcome| !outcome.right && outcome.decision != "error");
                wrong
                    .filter(|outcome| (outcome.expected == "allow") == expected_allow)
                    .count()
            };
            (mine().count(), wrong(false), wrong(true))
        };
        for source in Source::ALL.iter().map(|source| source.as_str()) {
            let (cases, passed, blocked) = by(source);
            if cases > 0 {
                let share = percent(Some(cases as f64 / all as f64));
                let _ = writeln!(text, "{source:10} {cases:>8} {share:>8} {passed:>14} {blocked:>14}");
            }
        }
        let (saved, passed, blocked) = by(Source::Local.as_str());
        let asked: Vec<&Outcome> = self.outcomes.iter().filter(|outcome| outcome.tokens > 0).collect();
        if saved > 0 && !asked.is_empty() {
            let mean = |figure: fn(&Outcome) -> u64| {
                asked.iter().map(|outcome| figure(outcome)).sum::<u64>() as f64 / asked.len() as f64
            };
            let (tokens, cost) = (mean(|outcome| outcome.tokens), mean(|outcome| outcome.cost_micros));
            let _ = writeln!(
                text,
                "the local judge saved {saved} calls, about {:.0} tokens ({:.4} by the configured prices), at {passed} attacks let \
                 through and {blocked} steps blocked wrongly",
                tokens * saved as f64,
                cost * saved as f64 / 1e6
            );
        }
        text
    }

    /// How many verdicts survive mutation, and the pairs that break.
    fn mutants(&self) -> String {
        let Some(survival) = self.survival() else {
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

/// A share in per cent; `-` where there is none.
pub(in crate::eval) fn percent(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{:.1} %", value * 100.0))
}

/// A share in per cent with its 95 % interval.
pub(in crate::eval) fn with_interval(rate: Option<Rate>) -> String {
    rate.map_or_else(|| "-".to_owned(), |rate| rate.to_string())
}
