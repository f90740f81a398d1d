//! A report as one page: no network, no script but its own, and what cases hold is never markup.
//!
//! INVARIANT: every value reaches the page through the template's escaping, or as JSON in which no `<` is left. The page forbids
//! everything else by a content security policy that names the digests of its one style sheet and its one script.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use minijinja::Environment;
use minijinja::value::Serde;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::{Report, percent, plot, with_interval};
use crate::eval::statistics::Rate;
use crate::eval::{Kept, Named, Outcome, Pair, Score, Survival};
use crate::model::Source;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Wrong cases on the page.
const MAX_WRONG: usize = 500;
/// Rows of a table.
const MAX_ROWS: usize = 400;

#[derive(Serialize)]
struct Page<'a> {
    policy_of_page: String,
    style: &'static str,
    script: &'static str,
    sentence: String,
    warnings: Vec<String>,
    report: &'a Report,
    figures: Vec<(&'static str, String, String)>,
    tables: Vec<Table<'a>>,
    stages: Vec<Stage>,
    survived: Vec<Survived>,
    pairs: Vec<Pair>,
    curves: Vec<Drawn>,
    sliding: Option<String>,
    wrong: Vec<&'a Outcome>,
    all_wrong: usize,
    sources: Vec<&'a str>,
}

#[derive(Serialize)]
struct Table<'a> {
    title: &'static str,
    open: bool,
    rows: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    cases: usize,
    attacks: usize,
    honest: usize,
    recall: Cell,
    false_positives: Cell,
    precision: String,
    right: String,
}

/// A share with the ends of its interval, in per cent, for a bar.
#[derive(Serialize)]
struct Cell {
    text: String,
    low: f64,
    width: f64,
    at: f64,
    known: bool,
}

#[derive(Serialize)]
struct Stage {
    name: &'static str,
    cases: usize,
    share: String,
    passed: usize,
    blocked: usize,
}

#[derive(Serialize)]
struct Survived {
    name: String,
    attacks: Cell,
    honest: Cell,
}

#[derive(Serialize)]
struct Drawn {
    of: &'static str,
    drawings: Vec<String>,
    facts: String,
}

impl Report {
    /// Writes the report as one self-contained HTML page.
    ///
    /// # Errors
    ///
    /// When the template cannot be rendered.
    pub fn html(&self) -> Result<String, minijinja::Error> {
        let mut environment = Environment::new();
        // The ending of its name says to the engine that every value is escaped.
        environment.add_template("page.html", PAGE)?;
        let worst = self.worst();
        let scores = &self.scores;
        let survival = scores.survival.clone().unwrap_or_default();
        let page = Page {
            policy_of_page: format!(
                "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
                digest(STYLE),
                digest(SCRIPT)
            ),
            style: STYLE,
            script: SCRIPT,
            sentence: self.sentence(),
            warnings: self.warnings(),
            report: self,
            figures: self.figures(),
            tables: vec![
                table("Source", true, &scores.sources),
                table("Method", true, &scores.methods),
                table("Expected reason", false, &scores.reason_codes),
                table("Tag", false, &scores.tags),
                table("Organisation", false, &scores.organisations),
            ],
            stages: self.stages(),
            survived: survived(&survival),
            pairs: survival.broken.into_iter().take(MAX_WRONG).collect(),
            curves: self.curves(),
            sliding: self.sliding(),
            all_wrong: worst.len(),
            wrong: worst.into_iter().take(MAX_WRONG).collect(),
            sources: scores.sources.keys().map(String::as_str).collect(),
        };
        environment.get_template("page.html")?.render(Serde(&page))
    }

    fn figures(&self) -> Vec<(&'static str, String, String)> {
        let rates = &self.scores.overall.rates;
        let share = |title, rate: Option<Rate>| {
            let ends = rate.map_or_else(String::new, |rate| {
                let (low, high) = (rate.low * 100.0, rate.high * 100.0);
                format!("{low:.1}–{high:.1} % (95 %), {} of {}", rate.some, rate.of)
            });
            (title, percent(rate.map(|rate| rate.share)), ends)
        };
        let mut figures = vec![
            share("Attacks stopped", rates.recall),
            share("Honest steps blocked", rates.false_positives),
            share("Precision, at this base rate", rates.precision),
            share("Right verdicts", rates.right),
        ];
        if let Some(stable) = self.scores.stable {
            figures.push(share("The same verdict every time", Some(stable)));
        }
        if let (Some(median), Some(ninety), Some(most)) = (self.within(0.5), self.within(0.9), self.within(0.99)) {
            let millis = |micros: u64| format!("{:.1} ms", micros as f64 / 1e3);
            let others = format!("90 % within {}, 99 % within {}", millis(ninety), millis(most));
            figures.push(("Time per step, median", millis(median), others));
        }
        let spent = self.scores.spent;
        if spent.tokens > 0 {
            let cases = self.outcomes.len().max(1) as f64;
            let per_1000 = format!("{:.4}", spent.cost_micros as f64 / 1e3 / cases);
            let tokens = format!("{:.0} tokens a step in the mean", spent.tokens as f64 / cases);
            figures.push(("Cost of 1,000 steps", per_1000, tokens));
        }
        figures
    }

    fn stages(&self) -> Vec<Stage> {
        let all = self.outcomes.len();
        let stages = Source::ALL.iter().filter_map(|source| {
            let name = source.as_str();
            let score = self.scores.stages.get(name)?;
            Some(Stage {
                name,
                cases: score.cases,
                share: with_interval(Rate::of(score.cases, all)),
                passed: score.let_through(),
                blocked: score.blocked_wrongly(),
            })
        });
        stages.collect()
    }

    fn curves(&self) -> Vec<Drawn> {
        let of = [
            ("local", "The local judge's scorer"),
            ("judge", "The model's confidence"),
        ];
        let drawn = of.into_iter().filter_map(|(name, of)| {
            let curve = self.scores.curves.get(name)?;
            let drawings = [plot::roc(curve), plot::precision_recall(curve), plot::reliability(curve)];
            Some(Drawn {
                of,
                drawings: drawings.into_iter().flatten().collect(),
                facts: format!(
                    "{} attacks and {} honest steps with a probability. Recall at 1 % false positives {}, at 0.1 % {}. Brier \
                     score {}.",
                    curve.harmful,
                    curve.honest,
                    percent(curve.recall_at_1_percent),
                    percent(curve.recall_at_01_percent),
                    curve.brier.map_or_else(|| "-".to_owned(), |brier| format!("{brier:.4}")),
                ),
            })
        });
        drawn.collect()
    }

    /// Returns the data of the sliders: for each case the probability (or null), whether it is an attack, whether the verdict of this
    /// run stops it, and whether a model was asked.
    fn sliding(&self) -> Option<String> {
        let steps: Vec<(Option<f64>, u8, u8)> = self
            .outcomes
            .iter()
            .map(|outcome| {
                let stops = outcome.right == outcome.is_attack();
                (outcome.probability, u8::from(outcome.is_attack()), u8::from(stops))
            })
            .collect();
        if steps.iter().all(|(probability, _, _)| probability.is_none()) {
            return None;
        }
        // JSON in a script element ends at no markup when no `<` is in it.
        Some(serde_json::to_string(&steps).ok()?.replace('<', "\\u003c"))
    }
}

fn table<'a>(title: &'static str, open: bool, part: &'a Named) -> Table<'a> {
    Table {
        title,
        open,
        rows: part
            .iter()
            .take(MAX_ROWS)
            .map(|(name, score)| row(name, score))
            .collect(),
    }
}

fn survived(survival: &Survival) -> Vec<Survived> {
    let row = |name: &str, kept: &Kept| {
        let [attacks, honest] = kept.rates().map(cell);
        Survived {
            name: name.to_owned(),
            attacks,
            honest,
        }
    };
    let rows = survival.operators.iter().chain(&survival.sources);
    let mut rows: Vec<Survived> = rows.map(|(name, kept)| row(name, kept)).collect();
    if !rows.is_empty() {
        rows.push(row("all mutants", &survival.all));
    }
    rows
}

fn row<'a>(name: &'a str, score: &Score) -> Row<'a> {
    Row {
        name,
        cases: score.cases,
        attacks: score.harmful,
        honest: score.benign,
        recall: cell(score.rates.recall),
        false_positives: cell(score.rates.false_positives),
        precision: percent(score.precision()),
        right: percent(score.accuracy()),
    }
}

fn cell(rate: Option<Rate>) -> Cell {
    let round = |share: f64| (share * 1e4).round() / 1e2;
    Cell {
        text: with_interval(rate),
        low: rate.map_or(0.0, |rate| round(rate.low)),
        width: rate.map_or(0.0, |rate| round(rate.high - rate.low)),
        at: rate.map_or(0.0, |rate| round(rate.share)),
        known: rate.is_some(),
    }
}

/// Returns the digest by which a content security policy names a text.
fn digest(text: &str) -> String {
    STANDARD.encode(Sha256::digest(text.as_bytes()))
}
