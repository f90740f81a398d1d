//! Two reports side by side: what got better, what got worse.

use std::collections::BTreeMap;
use std::fmt;

use super::{Outcome, Report, Score};

/// What changed from one report to another.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Cases that were wrong and are right.
    pub mended: Vec<Outcome>,
    /// Cases that were right and are wrong.
    pub broken: Vec<Outcome>,
    /// Cases that only one report has.
    pub unmatched: usize,
    before: Score,
    after: Score,
}

/// Compares two reports, case by case.
pub fn compare(before: &Report, after: &Report) -> Comparison {
    let was: BTreeMap<&str, &Outcome> = before
        .outcomes
        .iter()
        .map(|outcome| (outcome.id.as_str(), outcome))
        .collect();
    let mut comparison = Comparison {
        mended: Vec::new(),
        broken: Vec::new(),
        unmatched: 0,
        before: before.scores.overall.clone(),
        after: after.scores.overall.clone(),
    };
    let mut matched = 0;
    for outcome in &after.outcomes {
        match was.get(outcome.id.as_str()) {
            None => comparison.unmatched += 1,
            Some(earlier) => {
                matched += 1;
                match (earlier.right, outcome.right) {
                    (false, true) => comparison.mended.push(outcome.clone()),
                    (true, false) => comparison.broken.push(outcome.clone()),
                    (true, true) | (false, false) => {}
                }
            }
        }
    }
    comparison.unmatched += was.len().saturating_sub(matched);
    comparison
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent =
            |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{:.1} %", value * 100.0));
        type Figure = fn(&Score) -> Option<f64>;
        let figures: [(&str, Figure); 4] = [
            ("recall", Score::recall),
            ("fp rate", Score::false_positive_rate),
            ("precision", Score::precision),
            ("right", Score::accuracy),
        ];
        writeln!(f, "{:10} {:>9} {:>9}", "", "before", "after")?;
        for (name, figure) in figures {
            writeln!(
                f,
                "{name:10} {:>9} {:>9}",
                percent(figure(&self.before)),
                percent(figure(&self.after))
            )?;
        }
        for (title, outcomes) in [("mended", &self.mended), ("broken", &self.broken)] {
            writeln!(f, "\n{title}: {}", outcomes.len())?;
            for outcome in outcomes {
                writeln!(f, "  {}  {}  now {}", outcome.id, outcome.method, outcome.decision)?;
            }
        }
        if self.unmatched > 0 {
            writeln!(f, "\nin one report only: {}", self.unmatched)?;
        }
        Ok(())
    }
}
