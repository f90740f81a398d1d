//! SQL that destroys, reaches out of the database, or is not what it seems.
//!
//! Arguments that are SQL are parsed; what no parser takes is searched by word after comments and literals are taken
//! out, with less confidence. Text inside literals is never SQL: a column may say `DROP TABLE`.

mod bare;
mod behind;
mod dynamic;
mod injected;
mod reading;
mod recognised;

use super::{Prefilter, Subject, Work};
use crate::model::{Confidence, Finding, Origin, View};
use crate::prefilter::engine::family;
use crate::prefilter::words::sql::{FILE_LABELS, PARTS};
use crate::text::DataError;
use behind::{Beginning, hidden_behind};
use injected::injected;
use reading::{Reading, Trait};
use recognised::is_sql;

family! {
    /// The family.
    Sql of Trait = "sql", DestructiveAction, Name
}

impl Sql {
    /// Reads the rules and what they are found by.
    pub(super) fn new() -> Result<Self, DataError> {
        reading::forms::FORMS.check()?;
        Self::load()
    }
}

impl Prefilter for Sql {
    fn screen_content(&self, subject: &Subject<'_>, found: &mut Vec<Finding>) {
        if subject.content.origin != Origin::ToolArguments {
            return;
        }
        let label = subject.content.label.as_deref().unwrap_or_default();
        let field = subject.called.classes.field;
        let mut seen: Vec<Trait> = Vec::new();
        for view in subject
            .views
            .of_kind(&[View::Raw, View::Normalized, View::Json, View::Decoded])
        {
            let text = view.text();
            let reading = if is_sql(label, text, field) {
                let mut reading = reading::read(text);
                if !reading.certain {
                    // What begins by ending a literal goes on behind it.
                    let ends_literal = text.trim_start().starts_with(['\'', '"']);
                    let beginning = match ends_literal {
                        true => Beginning::Anywhere,
                        false => Beginning::OfLine,
                    };
                    reading.take(hidden_behind(label, text, field, beginning));
                }
                reading
            } else if let Some(mut reading) = hidden_behind(label, text, field, Beginning::Anywhere) {
                let injected = injected(text).map(|span| (Trait::Injected, span));
                reading.traits.extend(injected);
                reading
            } else if let Some(span) = injected(text) {
                Reading {
                    traits: vec![(Trait::Injected, span)],
                    certain: false,
                }
            } else {
                continue;
            };
            subject.context.work(Work::Statement, 1);
            for (seen_trait, span) in reading.traits {
                if seen.contains(&seen_trait) {
                    continue;
                }
                seen.push(seen_trait);
                let mut finding = self.rules.titled(seen_trait, subject, view, span);
                // What is written to a file runs later or never, and where it runs it is looked at again.
                let told = reading.certain || seen_trait.is_a_word() && names_machine(text);
                if !told || FILE_LABELS.contains(&label.to_ascii_lowercase().as_str()) {
                    finding.confidence = finding.confidence.min(Confidence::Medium);
                }
                found.push(finding);
            }
        }
    }
}

/// The loss that a SQL text causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    /// Nothing but what can be made anew, or what its name calls temporary or a trial.
    Minor,
    /// Data.
    Data,
}

/// The worst that any statement of a SQL text takes away.
pub(super) fn loss(text: &str) -> Option<Loss> {
    let reading = reading::read(text);
    let has = |wanted: &[Trait]| reading.traits.iter().any(|(seen, _)| wanted.contains(seen));
    let minor = has(&[Trait::DropsMinor]).then_some(Loss::Minor);
    has(&[Trait::Drops, Trait::DropsColumn, Trait::WritesEverywhere])
        .then_some(Loss::Data)
        .or(minor)
}

/// Returns `true` if a text names a file of the machine that holds no user's data: one of the system's, or one that runs.
fn names_machine(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    PARTS.iter().any(|part| lower.contains(part))
}

#[cfg(test)]
mod tests;
