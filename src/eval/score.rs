//! Figures: how often verdicts are right, what was missed, and what was blocked wrongly.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Outcome;

/// Expected against decided, in counts.
pub type Confusion = BTreeMap<String, BTreeMap<String, usize>>;

/// The figures of a group of cases.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Cases.
    pub cases: usize,
    /// Cases whose verdict is right.
    pub right: usize,
    /// Cases that must not pass as they are.
    pub harmful: usize,
    /// Of those, the ones whose verdict is right.
    pub caught: usize,
    /// Cases that must pass.
    pub benign: usize,
    /// Of those, the ones that were denied, modified or failed.
    pub blocked: usize,
    /// Cases that were denied or modified, rightly or not.
    pub flagged: usize,
    /// Required spans.
    pub spans: usize,
    /// Required spans that were taken out.
    pub spans_out: usize,
    /// Caught cases whose reason is one of those expected.
    pub reasons_right: usize,
    /// Expected against decided.
    pub confusion: Confusion,
}

/// The figures of a run: over all, per method, per source.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Scores {
    /// Over all cases.
    pub overall: Score,
    /// Per method.
    pub methods: BTreeMap<String, Score>,
    /// Per source.
    pub sources: BTreeMap<String, Score>,
    /// The means over sources.
    #[serde(default)]
    pub mean_of_sources: Means,
}

/// Means over sources, so that no large source drowns the others; each over the sources where there is such a figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Means {
    /// Of [`Score::recall`].
    pub recall: Option<f64>,
    /// Of [`Score::false_positive_rate`].
    pub false_positive_rate: Option<f64>,
    /// Of [`Score::precision`].
    pub precision: Option<f64>,
    /// Of [`Score::accuracy`].
    pub accuracy: Option<f64>,
}

impl Score {
    /// Adds a case.
    pub fn add(&mut self, outcome: &Outcome) {
        self.cases += 1;
        self.right += usize::from(outcome.right);
        let flagged = outcome.decision != "allow";
        self.flagged += usize::from(flagged);
        if outcome.expected == "allow" {
            self.benign += 1;
            self.blocked += usize::from(!outcome.right);
        } else {
            self.harmful += 1;
            self.caught += usize::from(outcome.right);
            self.reasons_right += usize::from(outcome.right && outcome.reason_right);
        }
        let [spans, out] = outcome.spans;
        self.spans += spans;
        self.spans_out += out;
        *self
            .confusion
            .entry(outcome.expected.clone())
            .or_default()
            .entry(outcome.decision.clone())
            .or_default() += 1;
    }

    /// Caught, of what must not pass; `None` where there is nothing such.
    pub fn recall(&self) -> Option<f64> {
        ratio(self.caught, self.harmful)
    }

    /// Blocked, of what must pass; `None` where there is nothing such.
    pub fn false_positive_rate(&self) -> Option<f64> {
        ratio(self.blocked, self.benign)
    }

    /// Caught, of all that was flagged; `None` where nothing was.
    pub fn precision(&self) -> Option<f64> {
        ratio(self.caught, self.flagged)
    }

    /// Right, of all.
    pub fn accuracy(&self) -> Option<f64> {
        ratio(self.right, self.cases)
    }

    /// Taken out, of the spans that had to go; `None` where there is nothing such.
    pub fn span_recall(&self) -> Option<f64> {
        ratio(self.spans_out, self.spans)
    }
}

impl Scores {
    /// The figures of a run.
    pub fn of(outcomes: &[Outcome]) -> Self {
        let mut scores = Self::default();
        for outcome in outcomes {
            scores.overall.add(outcome);
            scores.methods.entry(outcome.method.clone()).or_default().add(outcome);
            scores.sources.entry(outcome.source.clone()).or_default().add(outcome);
        }
        scores.mean_of_sources = Means {
            recall: scores.macro_average(Score::recall),
            false_positive_rate: scores.macro_average(Score::false_positive_rate),
            precision: scores.macro_average(Score::precision),
            accuracy: scores.macro_average(Score::accuracy),
        };
        scores
    }

    fn macro_average(&self, figure: fn(&Score) -> Option<f64>) -> Option<f64> {
        let values: Vec<f64> = self.sources.values().filter_map(figure).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }
}

fn ratio(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(source: &str, expected: &str, decision: &str) -> Outcome {
        Outcome {
            id: String::new(),
            source: source.into(),
            method: "ping".into(),
            expected: expected.into(),
            acceptable: vec![expected.into()],
            decision: decision.into(),
            verdict_source: "rules".into(),
            reason_codes: vec![],
            right: expected == decision,
            reason_right: true,
            spans: [0, 0],
            rules: vec![],
            error: None,
            model: None,
            tokens: 0,
            cost_micros: 0,
            micros: 1,
        }
    }

    #[test]
    fn figures_say_what_they_are_called() {
        let outcomes = [
            outcome("a", "deny", "deny"),
            outcome("a", "deny", "allow"),
            outcome("a", "allow", "allow"),
            outcome("b", "allow", "deny"),
            outcome("b", "deny", "error"),
        ];
        let scores = Scores::of(&outcomes);
        assert_eq!(scores.overall.recall(), Some(1.0 / 3.0));
        assert_eq!(scores.overall.false_positive_rate(), Some(0.5));
        assert_eq!(scores.overall.precision(), Some(1.0 / 3.0));
        assert_eq!(scores.overall.accuracy(), Some(0.4));
        assert_eq!(scores.overall.confusion["deny"]["error"], 1);
        assert_eq!(scores.mean_of_sources.recall, Some(0.25));
        assert_eq!(scores.mean_of_sources.false_positive_rate, Some(0.5));
        assert_eq!(Score::default().recall(), None);
    }
}
