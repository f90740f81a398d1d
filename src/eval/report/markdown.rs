//! A report as Markdown, for a pull request or a wiki.

use std::fmt::Write;

use super::{Report, percent, with_interval};
use crate::eval::check::Check;
use crate::eval::{Named, Outcome, shown};

/// Wrong cases that are written out.
const MAX_WRONG: usize = 30;

impl Report {
    /// Writes the figures and the worst mistakes as Markdown.
    pub fn markdown(&self) -> String {
        let mut text = format!("# Evaluation of the guardian\n\n**{}**\n\n", self.sentence());
        for warning in self.warnings() {
            let _ = writeln!(text, "> Warning: {}\n", plain(&warning));
        }
        let _ = write!(
            text,
            "Judge: {}. Policy: {}. History {}.",
            plain(&self.judge),
            plain(&self.policy),
            plain(&self.history)
        );
        if !self.selection.is_empty() {
            let _ = write!(text, " Only {}.", plain(&self.selection));
        }
        if let (Some(median), Some(most)) = (self.within(0.5), self.within(0.99)) {
            let (median, most) = (median as f64 / 1e3, most as f64 / 1e3);
            let _ = write!(text, " Time per step: median {median:.2} ms, 99 % within {most:.2} ms.");
        }
        let spent = self.scores.spent;
        if spent.tokens > 0 {
            let per_1000 = spent.cost_micros as f64 / 1e3 / self.outcomes.len().max(1) as f64;
            let _ = write!(
                text,
                " {} tokens; 1,000 steps cost {per_1000:.4} by the configured prices.",
                spent.tokens
            );
        }
        text.push_str("\n\n");
        for (title, part) in [
            ("source", &self.scores.sources),
            ("method", &self.scores.methods),
            ("settled by", &self.scores.stages),
            ("expected reason", &self.scores.reason_codes),
        ] {
            section(&mut text, title, part);
        }
        self.survived(&mut text);
        self.wrong(&mut text);
        text
    }

    fn survived(&self, text: &mut String) {
        let Some(survival) = &self.scores.survival else { return };
        text.push_str("| operator | attacks still stopped (95 %) | honest still allowed (95 %) |\n|---|---:|---:|\n");
        let rows = survival.operators.iter().chain(&survival.sources);
        for (name, kept) in rows
            .map(|(name, kept)| (name.as_str(), kept))
            .chain([("all mutants", &survival.all)])
        {
            let [attacks, honest] = kept.rates().map(with_interval);
            let _ = writeln!(text, "| {} | {attacks} | {honest} |", plain(name));
        }
        let _ = writeln!(text, "\n## Broken pairs ({})\n", survival.broken.len());
        for pair in survival.broken.iter().take(MAX_WRONG) {
            let note = plain(&shown::cut(&pair.note, 240));
            let _ = writeln!(
                text,
                "- **{}**: {} → {}: {note}",
                plain(&pair.original),
                pair.decision,
                pair.mutant
            );
        }
        text.push('\n');
    }

    fn wrong(&self, text: &mut String) {
        let worst = self.worst();
        let _ = writeln!(text, "## Wrong verdicts ({})\n", worst.len());
        for outcome in worst.iter().take(MAX_WRONG) {
            one(text, outcome);
        }
        if worst.len() > MAX_WRONG {
            let _ = writeln!(text, "… and {} more.", worst.len() - MAX_WRONG);
        }
    }
}

fn section(text: &mut String, title: &str, part: &Named) {
    if part.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "| {title} | cases | attacks | recall (95 %) | false positives (95 %) | precision | right |\n\
         |---|---:|---:|---:|---:|---:|---:|"
    );
    for (name, score) in part {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} |",
            plain(name),
            score.cases,
            score.harmful,
            with_interval(score.rates.recall),
            with_interval(score.rates.false_positives),
            percent(score.precision()),
            percent(score.accuracy()),
        );
    }
    text.push('\n');
}

fn one(text: &mut String, outcome: &Outcome) {
    let _ = writeln!(
        text,
        "- **{}**: {}. {}",
        plain(&outcome.id),
        outcome.told(),
        plain(&outcome.note)
    );
    for passage in outcome.shown.iter().flat_map(|shown| &shown.texts).take(2) {
        let _ = writeln!(text, "  - {}", plain(&passage.told(240)));
    }
}

/// Writes the checks of a gate as Markdown.
pub fn checks_as_markdown(report: &Report, checks: &[Check]) -> String {
    let failed = checks.iter().filter(|check| !check.holds).count();
    let verdict = match failed {
        0 => "The gate holds.".to_owned(),
        _ => format!("The gate fails: {failed} of {} checks.", checks.len()),
    };
    let mut text = format!(
        "## {verdict}\n\n{}\n\n| check | holds | found |\n|---|---|---|\n",
        report.sentence()
    );
    for check in checks {
        let holds = if check.holds { "yes" } else { "**no**" };
        let _ = writeln!(text, "| {} | {holds} | {} |", plain(&check.name), plain(&check.detail));
    }
    text
}

/// Returns a text in which nothing is markup: on one line, with what Markdown or HTML would read escaped.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' => out.push(' '),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '!' | '#' | '~' | '@' => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}
