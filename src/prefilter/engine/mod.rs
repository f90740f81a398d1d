//! The engine: what a family of rules is, and how the contents of a step are shown to all of them.
//!
//! A family implements [`Prefilter`]. The [`scanner`] makes the views of each content once ([`crate::text`]), looks for the
//! keywords of all families in one pass, and shows each content to the families that it concerns. What a step may cost is
//! counted by one [`cost_meter`]; what is not examined is told by the rules of [`oversize`].

mod called_tool;
mod cost_meter;
mod derived;
mod finding_order;
mod oversize;
mod rule;
pub(in crate::prefilter) mod rules;
mod scan_context;
mod scanner;
mod split_arrays;
mod subject;

use std::rc::Rc;

use crate::model::{Finding, Rule, Screening, Step};
use crate::policy::Policy;
use crate::text::DataError;
use crate::text::keywords::{Keywords, Word};
use crate::text::views;
use crate::tools;
pub(in crate::prefilter) use scanner::Scanner;
pub(in crate::prefilter) use split_arrays::array_place;

pub(in crate::prefilter) use crate::model::{RuleKey, RuleTable, rule_keys};
pub use called_tool::CalledTool;
pub(in crate::prefilter) use called_tool::{is_command_label, is_target_label};
pub(in crate::prefilter) use cost_meter::CostMeter;
pub use cost_meter::Work;
pub(in crate::prefilter) use oversize::Oversize;
pub(in crate::prefilter) use rules::{RuleFile, family};
pub use scan_context::ScanContext;
pub use subject::Subject;

/// What is known of a family of rules without looking at a step.
pub trait Family: Send + Sync {
    /// The family's name: the first part of its rule ids, and the name of its file.
    fn family(&self) -> &'static str;

    /// Its rules, for documentation, `guardian rules`, and the tests that hold their examples.
    fn rules(&self) -> &[Rule];
}

/// A family of rules.
pub trait Prefilter: Family {
    /// The words that it gates on: the gate looks for those of all families in one pass, and tells each where its own stand
    /// ([`Subject::hits`]), by their places in this list.
    fn words(&self) -> Vec<Word> {
        Vec::new()
    }

    /// Returns `true` if a content under this name may concern it, however plain its text is.
    fn is_told_by_name(&self, _label: &str) -> bool {
        false
    }

    /// Looks at one content in all its views.
    fn screen_content(&self, _subject: &Subject<'_>, _found: &mut Vec<Finding>) {}

    /// Looks at the shape of the step: its tool call, its tools, its remarks.
    fn screen_step(&self, _step: &Step, _policy: &Policy, _found: &mut Vec<Finding>) {}
}

/// The one list of prefilters.
pub struct Prefilters {
    families: Vec<Box<dyn Prefilter>>,
    pub(in crate::prefilter) keywords: Keywords,
    /// The rules about what is not examined.
    limits: Oversize,
}

impl Prefilters {
    /// The engine for these families, in the order in which their findings are reported.
    pub(in crate::prefilter) fn of(families: Vec<Box<dyn Prefilter>>) -> Result<Self, DataError> {
        tools::check()?;
        views::check()?;
        let keywords = views::keywords(families.iter().map(|family| family.words()));
        Ok(Self {
            families,
            keywords,
            limits: Oversize::load()?,
        })
    }

    /// Every family.
    pub fn families(&self) -> impl Iterator<Item = &dyn Prefilter> {
        self.families.iter().map(AsRef::as_ref)
    }

    /// Every rule of every family.
    pub fn rules(&self) -> impl Iterator<Item = &Rule> + Clone {
        self.families.iter().flat_map(|family| family.rules())
    }

    /// Screens a step: every content, every view, every family.
    ///
    /// Findings come in document order. Of very many only the gravest are kept: a step cannot drown a finding in others.
    ///
    /// A step that takes many times the work of an ordinary one of its size is not examined to its end, and that is told.
    pub fn screen(&self, step: &Step, policy: &Policy) -> Screening {
        self.screen_within(step, policy, &Rc::new(CostMeter::of(step)))
    }

    pub(in crate::prefilter) fn screen_within(&self, step: &Step, policy: &Policy, meter: &Rc<CostMeter>) -> Screening {
        Scanner::of(self, step, policy, meter).screening()
    }
}
