//! A timeline: the steps of a trace by number, and which earlier step led to which finding.
//!
//! Findings of the session rules say in their explanation in which step of the session something was seen first. A trace may
//! hold several sessions, and a step more than once: the number of a step in its session is translated into its number in
//! the trace here.

use std::collections::BTreeMap;

use crate::model::{Finding, Step, Verdict};

/// Rules of this family look back.
const LOOKS_BACK: &str = "session.";

/// The length of a trace: one step or several. Of one alone, there is nothing to number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    One,
    Several,
}

/// The steps so far.
pub(super) struct Timeline {
    length: Length,
    /// Numbers in the trace that are taken.
    count: usize,
    taken: BTreeMap<usize, Taken>,
    /// The steps of each session, by the hash of their text, with their numbers in the trace.
    sessions: BTreeMap<Session, Vec<(blake3::Hash, usize)>>,
}

/// Agent and session, as the steps name them.
type Session = (Option<String>, Option<String>);

/// A step that was judged.
struct Taken {
    what: String,
    decision: &'static str,
}

/// An earlier step that led to a finding.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Link {
    /// Its number in the trace.
    pub(super) number: usize,
    /// Method, tool and decision.
    pub(super) what: String,
    /// The text that connects the two.
    pub(super) how: String,
}

impl Timeline {
    pub(super) fn new(length: Length) -> Self {
        Self {
            length,
            count: 0,
            taken: BTreeMap::new(),
            sessions: BTreeMap::new(),
        }
    }

    /// Returns the number of the next item, as a line begins with it; empty where there is only one.
    pub(super) fn next(&mut self) -> String {
        self.count += 1;
        match self.length {
            Length::One => String::new(),
            Length::Several => format!("{}. ", self.count),
        }
    }

    /// Takes the step that was numbered last, and says which earlier steps led to its findings.
    pub(super) fn take(&mut self, step: &Step, verdict: &Verdict) -> Vec<Link> {
        let session = session(step);
        let links = self.links(&session, &verdict.findings);
        let number = self.count;
        self.taken.insert(
            number,
            Taken {
                what: what(step),
                decision: verdict.outcome(),
            },
        );
        let steps = self.sessions.entry(session).or_default();
        // A step that is posted again is no other step of its session.
        let text = blake3::hash(step.original.json().as_bytes());
        if !steps.iter().any(|(other, _)| *other == text) {
            steps.push((text, number));
        }
        links
    }

    fn links(&self, session: &Session, findings: &[Finding]) -> Vec<Link> {
        let mut links: Vec<Link> = Vec::new();
        for finding in findings.iter().filter(|finding| finding.rule.starts_with(LOOKS_BACK)) {
            for in_session in steps_named(&finding.explanation) {
                let steps = self.sessions.get(session);
                let number = steps
                    .and_then(|steps| steps.get(in_session.checked_sub(1)?))
                    .map(|(_, n)| *n);
                let Some((number, taken)) = number.and_then(|number| Some((number, self.taken.get(&number)?))) else {
                    continue;
                };
                let link = Link {
                    number,
                    what: format!("{} ({})", taken.what, taken.decision),
                    how: finding.explanation.clone(),
                };
                if !links.contains(&link) {
                    links.push(link);
                }
            }
        }
        links
    }
}

/// Returns the method and, of a call, the tool.
pub(super) fn what(step: &Step) -> String {
    match &step.tool_call {
        Some(call) => format!("{} {}", step.method, crate::cli::printable(&call.tool)),
        None => step.method.to_string(),
    }
}

fn session(step: &Step) -> Session {
    let agent = step.agent.as_ref().and_then(|agent| agent.id.as_ref());
    (
        agent.map(|id| id.as_str().to_owned()),
        step.session.as_ref().map(|id| id.as_str().to_owned()),
    )
}

/// Returns the numbers after the word `step`, each once.
fn steps_named(explanation: &str) -> Vec<usize> {
    let mut numbers = Vec::new();
    for part in explanation.split("step ").skip(1) {
        let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
        if let Ok(number) = digits.parse()
            && !numbers.contains(&number)
        {
            numbers.push(number);
        }
    }
    numbers
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::model::{Decision, testing};
    use crate::wire;

    fn step(session: &str, text: &str) -> Arc<Step> {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": "steps/message", "params": {
            "context": {"agent": {"id": "a"}, "session": {"id": session}},
            "message": {"role": "user", "content": [{"kind": "text", "text": text}]}}});
        wire::decode_step(request.to_string(), &wire::Limits::default())
            .unwrap()
            .1
    }

    fn finding(rule: &str, explanation: &str) -> Finding {
        Finding {
            explanation: explanation.to_owned(),
            ..testing::finding(rule)
        }
    }

    fn links(timeline: &mut Timeline, step: &Step, findings: Vec<Finding>) -> Vec<(usize, String)> {
        timeline.next();
        let mut verdict = Verdict::plain(Decision::Allow);
        verdict.findings = findings;
        let links = timeline.take(step, &verdict);
        links.into_iter().map(|link| (link.number, link.what)).collect()
    }

    #[test]
    fn a_link_leads_to_the_step_of_the_trace_that_is_meant() {
        let mut timeline = Timeline::new(Length::Several);
        links(&mut timeline, &step("one", "a"), vec![]);
        links(&mut timeline, &step("two", "a"), vec![]);
        links(&mut timeline, &step("one", "a"), vec![]);
        links(&mut timeline, &step("one", "b"), vec![]);
        let back = finding("session.tainted", "the recipient first appeared in a document, step 2");
        let found = links(&mut timeline, &step("one", "c"), vec![back.clone(), back]);
        assert_eq!(found, [(4, "steps/message (allow)".to_owned())]);
        assert_eq!(timeline.next(), "6. ");
    }

    #[test]
    fn what_a_content_says_about_steps_leads_nowhere() {
        let mut timeline = Timeline::new(Length::Several);
        links(&mut timeline, &step("one", "a"), vec![]);
        let quoted = vec![
            finding("injected_instruction.override", "as agreed in step 1"),
            finding(
                "session.tainted",
                "step 9, step 0, step 99999999999999999999999, step x",
            ),
        ];
        assert_eq!(links(&mut timeline, &step("one", "b"), quoted), []);
        assert_eq!(Timeline::new(Length::One).next(), "");
    }
}
