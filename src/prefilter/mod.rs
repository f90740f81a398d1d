//! Prefilters: pure, synchronous, deterministic rules over every content in every view.
//!
//! A prefilter sees; it never decides. What it sees becomes a [`Finding`], and the organisation's policy makes a
//! treatment of that. To add a family: one file in this folder, one line in [`Prefilters::standard`].

mod catalogue;
mod destructive_command;
mod locations;
mod rule;
mod sql;
mod subject;
#[cfg(test)]
mod testing;
mod views;

use crate::model::{Finding, Screening, Step};
use crate::policy::Policy;

pub use rule::Rule;
pub use subject::Subject;
pub use views::{ViewText, Views};

/// A family of rules.
pub trait Prefilter: Send + Sync {
    /// The family's name: the first part of its rule ids, and the name of its file.
    fn family(&self) -> &'static str;

    /// Its rules, for documentation, `guardian rules`, and the tests that hold their examples.
    fn rules(&self) -> &[Rule];

    /// Looks at one content in all its views.
    fn screen_content(&self, subject: &Subject<'_>, found: &mut Vec<Finding>);

    /// Looks at the shape of the step: its tool call, its tools, its remarks.
    fn screen_step(&self, _step: &Step, _policy: &Policy, _found: &mut Vec<Finding>) {}
}

/// The one list of prefilters.
pub struct Prefilters {
    families: Vec<Box<dyn Prefilter>>,
}

impl Prefilters {
    /// Every family there is, in the order in which their findings are reported.
    pub fn standard() -> Self {
        Self {
            families: vec![
                Box::new(destructive_command::DestructiveCommand::new()),
                Box::new(sql::Sql::new()),
            ],
        }
    }

    /// Screens a step: every content, every view, every family.
    pub fn screen(&self, step: &Step, policy: &Policy) -> Screening {
        let mut screening = Screening::default();
        for content in &step.contents {
            let views = Views::of(content);
            let subject = Subject {
                step,
                policy,
                content,
                views: &views,
            };
            for family in &self.families {
                family.screen_content(&subject, &mut screening.findings);
            }
        }
        for family in &self.families {
            family.screen_step(step, policy, &mut screening.findings);
        }
        screening
    }
}
