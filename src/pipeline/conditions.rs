//! Conditions: evaluates the conditions of a policy on a step. Each that holds is a finding of its own.

use super::examiner::Examiner;
use super::screen::Screened;
use crate::model::Outcome;
use crate::policy::{Facts, SessionSeen, Time};
use crate::session::SessionSnapshot;
use crate::tools;

impl Examiner {
    /// Adds the findings of conditions. They see the findings of rules that the policy heeds, and no other condition.
    pub(super) fn add_conditions(&self, screened: &mut Screened, past: &SessionSnapshot) {
        let policy = self.policy();
        let conditions = &policy.conditions;
        if conditions.is_empty() {
            return;
        }
        let score = match conditions.ask_for_the_score() {
            true => self.score(screened, past).map(|score| score.probability),
            false => None,
        };
        let step = &screened.step;
        let classes = step
            .tool_call
            .as_ref()
            .map(|call| tools::classes_of_call(step, call, policy).set);
        let facts = Facts {
            caller: &self.caller,
            step,
            classes: classes.unwrap_or_default(),
            findings: screened.heeded().collect(),
            local_score: score,
            session: seen(past),
            time: now(),
        };
        let findings = conditions.findings(&facts);
        screened.add(findings);
        self.set_aside(screened);
    }
}

fn seen(past: &SessionSnapshot) -> SessionSeen<'_> {
    let facts = past.facts();
    let denied = past.events().filter(|event| event.step.outcome == Outcome::Denied);
    SessionSeen {
        steps: past.next_number().saturating_sub(1),
        denied: denied.count(),
        read_untrusted: facts.untrusted().is_some(),
        read_sensitive: facts.sensitive().is_some(),
        tools: facts.calls().map(|call| call.tool.as_str()).collect(),
        complete: past.gap().is_none(),
    }
}

fn now() -> Time {
    let now = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC);
    Time {
        date: i64::from(now.year()) * 10_000 + i64::from(now.month()) * 100 + i64::from(now.day()),
        clock: i64::from(now.hour()) * 100 + i64::from(now.minute()),
        weekday: now.weekday().to_monday_one_offset().into(),
    }
}
