//! A report, or the checks of a gate, as JUnit XML: what most systems for continuous integration read.

use std::fmt::Write;

use super::Report;
use crate::eval::Outcome;
use crate::eval::check::Check;

impl Report {
    /// Writes every case as a test of the suite of its source; a wrong verdict is a failure, none an error.
    pub fn junit(&self) -> String {
        let wrong = self
            .outcomes
            .iter()
            .filter(|outcome| !outcome.right && outcome.decision != "error")
            .count();
        let errors = self
            .outcomes
            .iter()
            .filter(|outcome| outcome.decision == "error")
            .count();
        let mut xml = head("guardian eval", self.outcomes.len(), wrong, errors);
        for source in self.scores.sources.keys() {
            let of_source: Vec<&Outcome> = self
                .outcomes
                .iter()
                .filter(|outcome| outcome.source == *source)
                .collect();
            let errors = of_source.iter().filter(|outcome| outcome.decision == "error").count();
            let wrong = of_source.iter().filter(|outcome| !outcome.right).count() - errors;
            let (name, tests) = (escaped(source), of_source.len());
            let _ = writeln!(
                xml,
                "  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{wrong}\" errors=\"{errors}\">"
            );
            for outcome in of_source {
                let _ = write!(
                    xml,
                    "    <testcase name=\"{}\" classname=\"{}\" time=\"{:.6}\"",
                    escaped(&outcome.id),
                    escaped(&outcome.method),
                    outcome.micros as f64 / 1e6
                );
                body(&mut xml, outcome);
            }
            xml.push_str("  </testsuite>\n");
        }
        xml.push_str("</testsuites>\n");
        xml
    }
}

fn body(xml: &mut String, outcome: &Outcome) {
    if outcome.right {
        xml.push_str("/>\n");
        return;
    }
    let kind = if outcome.decision == "error" {
        "error"
    } else {
        "failure"
    };
    let mut detail = outcome.note.clone();
    for part in [&outcome.reasoning, outcome.error.as_ref().unwrap_or(&String::new())] {
        let _ = write!(detail, "\n{part}");
    }
    for passage in outcome.shown.iter().flat_map(|shown| &shown.texts) {
        let _ = write!(detail, "\n{}", passage.told(400));
    }
    let (message, detail) = (escaped(&outcome.told()), escaped(detail.trim()));
    let _ = writeln!(
        xml,
        ">\n      <{kind} message=\"{message}\">{detail}</{kind}>\n    </testcase>"
    );
}

/// Writes the checks of a gate as the tests of one suite.
pub fn checks_as_junit(checks: &[Check]) -> String {
    let (tests, failures) = (checks.len(), checks.iter().filter(|check| !check.holds).count());
    let mut xml = head("guardian eval gate", tests, failures, 0);
    let _ = writeln!(
        xml,
        "  <testsuite name=\"gate\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\">"
    );
    for check in checks {
        let (name, detail) = (escaped(&check.name), escaped(&check.detail));
        let _ = match check.holds {
            true => writeln!(xml, "    <testcase name=\"{name}\" classname=\"gate\"/>"),
            false => writeln!(
                xml,
                "    <testcase name=\"{name}\" classname=\"gate\"><failure message=\"{detail}\"/></testcase>"
            ),
        };
    }
    xml.push_str("  </testsuite>\n</testsuites>\n");
    xml
}

fn head(name: &str, tests: usize, failures: usize, errors: usize) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{name}\" tests=\"{tests}\" \
         failures=\"{failures}\" errors=\"{errors}\">\n"
    )
}

/// Returns a text as XML can hold it: markup escaped, and characters that XML does not allow spelled out.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push_str("&#9;"),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c if c.is_control() => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}
