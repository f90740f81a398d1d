//! Prefilters: pure, synchronous, deterministic rules over every content in every view.
//!
//! A prefilter sees; it never decides. What it sees becomes a [`crate::model::Finding`], and the organisation's policy makes
//! a treatment of that. To add a family: one file in this folder, one line in [`Prefilters::standard`].

mod custom_rules;
mod destructive_command;
mod disguise;
mod disposable;
mod engine;
mod everyday;
mod hidden_text;
mod hosts;
mod injected_instruction;
mod locations;
mod obfuscation;
mod path;
mod personal_data;
mod secret;
mod signals;
mod sql;
mod structure;
mod tables;
mod tool;
mod untrusted_destination;
mod words;

pub use crate::text::DataError;
pub use crate::text::keywords::{Case, KeywordHit, KeywordHits, Keywords, Word};
pub use crate::text::views::{ViewText, Views};
pub use custom_rules::own_rules;
pub use destructive_command::{becomes_of, sends_by_command};
pub(crate) use engine::rules::{NothingElse, RuleFile, read as read_rules};
pub use engine::{CalledTool, Family, Prefilter, Prefilters, ScanContext, Subject, Work};
pub use everyday::EverydayMatch;

impl Prefilters {
    /// Every family there is, in the order in which their findings are reported.
    ///
    /// # Errors
    ///
    /// When a rule cannot be used: which file, which rule, and why.
    pub fn standard() -> Result<Self, DataError> {
        words::check()?;
        Self::of(vec![
            Box::new(injected_instruction::InjectedInstruction::new()?),
            Box::new(hidden_text::HiddenText::load()?),
            Box::new(obfuscation::Obfuscation::load()?),
            Box::new(secret::Secret::new()?),
            Box::new(personal_data::PersonalData::new()?),
            Box::new(engine::Oversize::load()?),
            Box::new(structure::Structure::load()?),
            Box::new(destructive_command::DestructiveCommand::new()?),
            Box::new(sql::Sql::new()?),
            Box::new(path::Path::load()?),
            Box::new(tool::Tool::load()?),
            Box::new(untrusted_destination::UntrustedDestination::load()?),
            Box::new(custom_rules::CustomRules),
        ])
    }
}

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
