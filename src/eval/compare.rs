//! Two reports side by side: what got better, what got worse, and whether that is more than chance.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;

use super::report::with_interval;
use super::statistics::{Rate, holm, mcnemar};
use super::{Outcome, Report, Score};

/// The changes from one report to another.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Cases that were wrong and are right.
    pub mended: Vec<Flip>,
    /// Cases that were right and are wrong, the worst first.
    pub broken: Vec<Flip>,
    /// Cases that only the earlier report has.
    pub vanished: Vec<String>,
    /// Cases that only the later report has.
    pub new: Vec<String>,
    /// Cases that both have.
    pub matched: usize,
    /// The probability of a difference at least as large by chance, over all cases that both have (McNemar's exact test).
    pub p: f64,
    /// The sources in which something changed.
    pub sources: Vec<Change>,
    /// Time and cost of the cases that both have, in the mean over each report.
    pub means: [Means; 2],
    #[serde(skip)]
    scores: [Score; 2],
}

/// A case whose verdict flipped.
#[derive(Clone, Debug, Serialize)]
pub struct Flip {
    /// The outcome before.
    pub before: Outcome,
    /// The outcome after.
    pub after: Outcome,
}

/// The changes in one source.
#[derive(Clone, Debug, Serialize)]
pub struct Change {
    /// The source.
    pub source: String,
    /// Cases that both reports have.
    pub cases: usize,
    /// Those that were right and are wrong.
    pub broken: usize,
    /// Those that were wrong and are right.
    pub mended: usize,
    /// McNemar's exact test.
    pub p: f64,
    /// The same, corrected for the number of sources (Holm).
    pub p_corrected: f64,
}

/// The cost of a case, in the mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Means {
    /// Microseconds; 0 where no times are known.
    pub micros: f64,
    /// Tokens.
    pub tokens: f64,
    /// Millionths of the unit of the configured prices.
    pub cost_micros: f64,
}

/// Below this, a difference is more than chance.
pub const SIGNIFICANT: f64 = 0.05;

/// Compares two reports, case by case.
pub fn compare(before: &Report, after: &Report) -> Comparison {
    let was: BTreeMap<&str, &Outcome> = by_id(before);
    let is: BTreeMap<&str, &Outcome> = by_id(after);
    let only = |one: &BTreeMap<&str, &Outcome>, other: &BTreeMap<&str, &Outcome>| {
        let missing = one.keys().filter(|id| !other.contains_key(*id));
        missing.map(|id| (*id).to_owned()).collect::<Vec<_>>()
    };
    let matched: Vec<(&Outcome, &Outcome)> = after
        .outcomes
        .iter()
        .filter_map(|outcome| Some((*was.get(outcome.id.as_str())?, outcome)))
        .collect();
    let flips = |right: bool| {
        let flipped = matched
            .iter()
            .filter(|(was, is)| was.right != is.right && is.right == right);
        let mut flips: Vec<Flip> = flipped
            .map(|(was, is)| Flip {
                before: (*was).clone(),
                after: (*is).clone(),
            })
            .collect();
        // What matters is how bad the wrong one of the two is.
        let wrong = |flip: &Flip| {
            if right {
                flip.before.badness()
            } else {
                flip.after.badness()
            }
        };
        flips.sort_by(|a, b| wrong(a).cmp(&wrong(b)).then_with(|| a.after.id.cmp(&b.after.id)));
        flips
    };
    let (broken, mended) = (flips(false), flips(true));
    Comparison {
        p: mcnemar(broken.len(), mended.len()),
        vanished: only(&was, &is),
        new: only(&is, &was),
        matched: matched.len(),
        sources: sources(&matched),
        means: [
            Means::of(matched.iter().map(|(was, _)| *was)),
            Means::of(matched.iter().map(|(_, is)| *is)),
        ],
        scores: [
            Score::of(matched.iter().map(|(was, _)| *was)),
            Score::of(matched.iter().map(|(_, is)| *is)),
        ],
        broken,
        mended,
    }
}

fn by_id(report: &Report) -> BTreeMap<&str, &Outcome> {
    report
        .outcomes
        .iter()
        .map(|outcome| (outcome.id.as_str(), outcome))
        .collect()
}

fn sources(matched: &[(&Outcome, &Outcome)]) -> Vec<Change> {
    let mut changes: BTreeMap<&str, Change> = BTreeMap::new();
    for (was, is) in matched {
        let change = changes.entry(&is.source).or_insert_with(|| Change {
            source: is.source.clone(),
            cases: 0,
            broken: 0,
            mended: 0,
            p: 1.0,
            p_corrected: 1.0,
        });
        change.cases += 1;
        change.broken += usize::from(was.right && !is.right);
        change.mended += usize::from(!was.right && is.right);
    }
    let mut changes: Vec<Change> = changes.into_values().collect();
    for change in &mut changes {
        change.p = mcnemar(change.broken, change.mended);
    }
    let corrected = holm(&changes.iter().map(|change| change.p).collect::<Vec<_>>());
    for (change, p) in changes.iter_mut().zip(corrected) {
        change.p_corrected = p;
    }
    changes.retain(|change| change.broken + change.mended > 0);
    changes
}

impl Means {
    fn of<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> Self {
        let (mut cases, mut sums) = (0.0, Self::default());
        for outcome in outcomes {
            cases += 1.0;
            sums.micros += outcome.micros as f64;
            sums.tokens += outcome.tokens as f64;
            sums.cost_micros += outcome.cost_micros as f64;
        }
        let mean = |sum: f64| if cases > 0.0 { sum / cases } else { 0.0 };
        Self {
            micros: mean(sums.micros),
            tokens: mean(sums.tokens),
            cost_micros: mean(sums.cost_micros),
        }
    }
}

impl Comparison {
    /// Describes the difference in a sentence.
    pub fn sentence(&self) -> String {
        let (broken, mended) = (self.broken.len(), self.mended.len());
        let changed = format!("{broken} of {} cases got worse and {mended} better", self.matched);
        let p = p_value(self.p);
        match self.p < SIGNIFICANT {
            true if mended > broken => format!("Better: {changed}, more than chance ({p})."),
            true => format!("Worse: {changed}, more than chance ({p})."),
            false if broken + mended == 0 => format!("No difference in {} cases.", self.matched),
            false => format!("Undecided: {changed}, which chance alone does often enough ({p})."),
        }
    }
}

/// Returns a probability as it is written.
fn p_value(p: f64) -> String {
    if p < 0.0001 {
        "p < 0.0001".to_owned()
    } else {
        format!("p = {p:.4}")
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (title, flips) in [("broken", &self.broken), ("mended", &self.mended)] {
            writeln!(f, "{title}: {}", flips.len())?;
            for Flip { before, after } in flips {
                writeln!(
                    f,
                    "  {}  {}  expected {}, was {}, is {}",
                    after.id,
                    after.method,
                    after.acceptable.join(" or "),
                    before.decision,
                    after.decision
                )?;
                for (name, outcome) in [("before", before), ("after", after)] {
                    let why = outcome.reasoning.split_whitespace().collect::<Vec<_>>().join(" ");
                    if !why.is_empty() {
                        let why = super::shown::cut(&why, 240);
                        writeln!(
                            f,
                            "    {name}: {} ({}): {why}",
                            outcome.decision, outcome.verdict_source
                        )?;
                    }
                }
            }
            writeln!(f)?;
        }
        for (title, ids) in [("vanished", &self.vanished), ("new", &self.new)] {
            if !ids.is_empty() {
                let named: Vec<&str> = ids.iter().take(10).map(String::as_str).collect();
                let more = if ids.len() > named.len() { ", …" } else { "" };
                writeln!(
                    f,
                    "{title}: {} cases are in one report only: {}{more}",
                    ids.len(),
                    named.join(", ")
                )?;
            }
        }
        self.figures(f)?;
        writeln!(f, "\n{}", self.sentence())
    }
}

impl Comparison {
    fn figures(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        type Figure = fn(&Score) -> Option<Rate>;
        let figures: [(&str, Figure); 4] = [
            ("recall", |score| score.rates.recall),
            ("fp rate", |score| score.rates.false_positives),
            ("precision", |score| score.rates.precision),
            ("right", |score| score.rates.right),
        ];
        writeln!(
            f,
            "{:10} {:>20} {:>20}",
            format!("{} cases", self.matched),
            "before",
            "after"
        )?;
        for (name, figure) in figures {
            let [before, after] = self.scores.each_ref().map(|score| with_interval(figure(score)));
            writeln!(f, "{name:10} {before:>20} {after:>20}")?;
        }
        let [before, after] = self.means;
        type Mean = fn(&Means) -> f64;
        let means: [(&str, Mean, f64, &str); 3] = [
            ("time", |means| means.micros, 1e-3, "ms"),
            ("tokens", |means| means.tokens, 1.0, "a case"),
            ("cost", |means| means.cost_micros, 1e-3, "per 1,000 cases"),
        ];
        for (name, mean, scale, unit) in means {
            let (before, after) = (mean(&before) * scale, mean(&after) * scale);
            if before > 0.0 || after > 0.0 {
                writeln!(f, "{name:10} {before:>20.2} {after:>20.2}  {unit}, in the mean")?;
            }
        }
        if !self.sources.is_empty() {
            writeln!(
                f,
                "\n{:24} {:>6} {:>7} {:>7} {:>10} {:>10}",
                "source", "cases", "broken", "mended", "p", "corrected"
            )?;
        }
        for change in &self.sources {
            writeln!(
                f,
                "{:24} {:>6} {:>7} {:>7} {:>10.4} {:>10.4}",
                change.source, change.cases, change.broken, change.mended, change.p, change.p_corrected
            )?;
        }
        let tags = self.broken_tags();
        if !tags.is_empty() {
            let tags: Vec<&str> = tags.into_iter().collect();
            writeln!(f, "tags of broken cases: {}", tags.join(", "))?;
        }
        Ok(())
    }

    /// Returns the tags of the cases that got worse.
    pub fn broken_tags(&self) -> BTreeSet<&str> {
        self.broken
            .iter()
            .flat_map(|flip| &flip.after.tags)
            .map(String::as_str)
            .collect()
    }
}
