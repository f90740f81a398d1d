//! Prefilters: pure, synchronous, deterministic rules over every content in every view.
//!
//! What is remembered from step to step (`known.rs`) spares work and changes no finding.
//!
//! A prefilter sees; it never decides. What it sees becomes a [`Finding`], and the organisation's policy makes a
//! treatment of that. To add a family: one file in this folder, one line in [`Prefilters::standard`].

mod catalogue;
mod destructive_command;
mod disguise;
mod effort;
mod expression;
mod gate;
mod gave;
mod hidden_text;
mod implied;
mod injected_instruction;
mod joined;
mod known;
mod locations;
mod memo;
mod notes;
mod obfuscation;
mod oversize;
mod own;
mod path;
mod personal_data;
mod plain;
mod rule;
mod scan;
mod secret;
mod signals;
mod sql;
mod structure;
mod subject;
mod sweep;
mod tables;
mod throwaway;
mod tidy;
mod tool;
mod untrusted_destination;
mod views;
mod warm_up;

use std::rc::Rc;

use crate::model::{Finding, Screening, Step};
use crate::policy::Policy;
use effort::Effort;
use known::Known;
use sweep::Sweep;

pub use effort::Work;
pub use gate::{Case, Gate, Seen, Sightings, Word};
pub use notes::Notes;
pub use own::own_rules;
pub use plain::Plain;
pub use rule::Rule;
pub use subject::{Spoken, Subject};
pub use views::{ViewText, Views};

/// A family of rules.
pub trait Prefilter: Send + Sync {
    /// The family's name: the first part of its rule ids, and the name of its file.
    fn family(&self) -> &'static str;

    /// Its rules, for documentation, `guardian rules`, and the tests that hold their examples.
    fn rules(&self) -> &[Rule];

    /// The words that it gates on: the gate looks for those of all families in one pass, and tells each where its own stand
    /// ([`Subject::sightings`]), by their places in this list.
    fn words(&self) -> Vec<Word> {
        Vec::new()
    }

    /// The words by which it knows the contents that concern it when it looks at the shape of a step ([`Spoken`]).
    fn step_words(&self) -> Vec<Word> {
        Vec::new()
    }

    /// Whether a plain content may concern it: one without any word of any family, without digits, codes, or anything else
    /// that an analysis is about.
    fn heeds_plain(&self, _plain: Plain<'_>) -> bool {
        true
    }

    /// Whether what it sees in a content of this name may depend on those beside it, or on where exactly it stands.
    fn looks_around(&self, _label: &str) -> bool {
        false
    }

    /// Looks at one content in all its views.
    ///
    /// What it sees in an agent's description of itself may depend on that description, the method and the policy, and on
    /// nothing else of the step: it is remembered for the next one.
    fn screen_content(&self, subject: &Subject<'_>, found: &mut Vec<Finding>);

    /// Looks at the shape of the step: its tool call, its tools, its remarks.
    fn screen_step(&self, _step: &Step, _policy: &Policy, _spoken: Spoken<'_>, _found: &mut Vec<Finding>) {}
}

/// Every view of a content, for those who only read.
pub fn disguised_views(content: &crate::model::Content) -> Views<'_> {
    Views::of(content, views::decoding_gate())
}

/// The one list of prefilters.
pub struct Prefilters {
    families: Vec<Box<dyn Prefilter>>,
    gate: Gate,
    known: Known,
}

impl Prefilters {
    /// Every family there is, in the order in which their findings are reported.
    pub fn standard() -> Self {
        Self::of(vec![
            Box::new(injected_instruction::InjectedInstruction::new()),
            Box::new(hidden_text::HiddenText::new()),
            Box::new(obfuscation::Obfuscation::new()),
            Box::new(secret::Secret),
            Box::new(personal_data::PersonalData),
            Box::new(oversize::Oversize::new()),
            Box::new(structure::Structure::new()),
            Box::new(destructive_command::DestructiveCommand::new()),
            Box::new(sql::Sql::new()),
            Box::new(path::Path::new()),
            Box::new(tool::Tool::new()),
            Box::new(untrusted_destination::UntrustedDestination::new()),
            Box::new(own::Own),
        ])
    }

    fn of(families: Vec<Box<dyn Prefilter>>) -> Self {
        let gate = views::gate(families.iter().map(AsRef::as_ref));
        Self {
            families,
            gate,
            known: Known::default(),
        }
    }

    /// Every family.
    pub fn families(&self) -> impl Iterator<Item = &dyn Prefilter> {
        self.families.iter().map(AsRef::as_ref)
    }

    /// Every rule of every family.
    pub fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.families.iter().flat_map(|family| family.rules())
    }

    /// Screens a step: every content, every view, every family.
    ///
    /// Findings come in document order. Of very many only the gravest are kept: a step cannot drown a finding in others.
    ///
    /// A step that takes many times the work of an ordinary one of its size is not examined to its end, and that is told.
    pub fn screen(&self, step: &Step, policy: &Policy) -> Screening {
        self.screen_within(step, policy, &Rc::new(Effort::of(step)))
    }

    fn screen_within(&self, step: &Step, policy: &Policy, effort: &Rc<Effort>) -> Screening {
        Sweep::of(self, step, policy, effort).screening()
    }

    /// The rule of this id.
    fn rule(&self, id: &str) -> Option<&Rule> {
        self.rules().find(|rule| rule.id == id)
    }
}

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
