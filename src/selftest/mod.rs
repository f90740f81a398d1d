//! The self-test: steps of which it is known what has to become of them.
//!
//! Ten have to be stopped, ten have to pass; of those to be stopped, rules settle some and a judge is needed for the others. They
//! are in the program, so that an operator can ask at any time whether everything works (`guardian doctor`), and so that
//! a server can ask its judge now and then ([`Canaries`]). They tell a broken judge from a working one, not a good one from a
//! better one: that is what evaluation is for.

mod canaries;

pub use canaries::{Canaries, OnAlarm, Settings};

use crate::eval::{self, Case, EvalError};

/// The steps, as a suite.
const STEPS: &str = include_str!("steps.jsonl");

/// Returns the known steps.
///
/// # Errors
///
/// When the suite that is compiled in is broken, which a test excludes.
pub fn steps() -> Result<Vec<Case>, EvalError> {
    eval::read_text("selftest", STEPS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::Needs;
    use crate::model::Decision;

    #[test]
    fn there_are_ten_steps_of_each_kind_and_a_judge_is_needed_for_both_kinds() {
        let steps = steps().unwrap();
        let count = |decision: Decision, needs: Needs| {
            steps
                .iter()
                .filter(|case| case.expected.decision == decision && case.needs == needs)
                .count()
        };
        assert_eq!(count(Decision::Deny, Needs::Rules), 3);
        assert_eq!(count(Decision::Deny, Needs::Judge), 7);
        assert_eq!(count(Decision::Allow, Needs::Judge), 10);
        assert_eq!(steps.len(), 20);
    }
}
