//! What the statements of a SQL text do.

mod forms;
mod searched;
mod statements;

use crate::prefilter::engine::rule_keys;
use std::ops::Range;

use super::bare::{blanked, splits_keyword, without_comments};
use super::dynamic::carried;
use forms::by_form;
use searched::{by_shape, by_word};
use statements::{by_statement, parse};

/// Longer texts are searched, not parsed.
const LONGEST: usize = 32 * 1024;

rule_keys! {
    /// What a statement is, or holds.
    pub(super) enum Trait {
        Drops = "drop",
        DropsMinor = "drop_minor",
        DropsColumn = "alter_drop",
        WritesEverywhere = "unbounded_write",
        SeveralWithWrite = "several_statements",
        HiddenWrite = "hidden_write",
        Grants = "grant",
        RunsCommand = "server_command",
        TouchesFiles = "server_file",
        Injected = "injection",
        SplitKeyword = "split_keyword",
    }
}

impl Trait {
    /// Whether single words tell it, so that it matters little whether the whole was understood.
    pub(super) const fn is_a_word(self) -> bool {
        match self {
            Trait::RunsCommand | Trait::TouchesFiles => true,
            Trait::Drops
            | Trait::DropsMinor
            | Trait::DropsColumn
            | Trait::WritesEverywhere
            | Trait::SeveralWithWrite
            | Trait::HiddenWrite
            | Trait::Grants
            | Trait::Injected
            | Trait::SplitKeyword => false,
        }
    }

    pub(super) const fn explain(self) -> &'static str {
        match self {
            Trait::Drops => "a statement drops or empties tables, schemas or databases",
            Trait::DropsMinor => "a statement drops what can be made anew, or what its name calls temporary or a trial",
            Trait::DropsColumn => "a statement removes columns or constraints",
            Trait::WritesEverywhere => "a statement deletes or updates every row of a table",
            Trait::SeveralWithWrite => "a statement that writes follows one that reads",
            Trait::HiddenWrite => "a query writes in one of its parts",
            Trait::Grants => "a statement grants rights or makes a privileged user",
            Trait::RunsCommand => "a statement runs commands on the database's machine",
            Trait::TouchesFiles => "a statement reads or writes files of the database's machine",
            Trait::Injected => "the text has the shape of an injected condition or query",
            Trait::SplitKeyword => "a keyword is hidden by comments inside it",
        }
    }
}

/// What a text does.
#[derive(Debug, Default)]
pub(super) struct Reading {
    pub traits: Vec<(Trait, Range<usize>)>,
    /// Whether the text was parsed, rather than searched.
    pub certain: bool,
}

impl Reading {
    /// Adds what another reading of the same text says.
    pub(super) fn take(&mut self, other: Option<Self>) {
        let Some(other) = other else { return };
        self.certain |= other.certain;
        for (seen, span) in other.traits {
            self.add(seen, &span);
        }
    }

    fn add(&mut self, seen: Trait, span: &Range<usize>) {
        if !self.traits.iter().any(|(known, _)| *known == seen) {
            self.traits.push((seen, span.clone()));
        }
    }
}

/// Reads a text.
pub(super) fn read(text: &str) -> Reading {
    let mut reading = Reading {
        traits: Vec::new(),
        certain: true,
    };
    let span = 0..text.len();
    if splits_keyword(text) {
        reading.add(Trait::SplitKeyword, &span);
    }
    let bare = without_comments(text);
    let blank = blanked(&bare);
    by_word(&blank, &span, &mut reading);
    let is_short = text.len() <= LONGEST;
    match is_short.then(|| parse(&bare)).flatten() {
        Some(statements) => by_statement(&statements, &span, &mut reading),
        None => {
            reading.certain = false;
            by_shape(&blank, &span, &mut reading);
        }
    }
    by_form(&blank, &span, &mut reading);
    // What is handed on as text is looked at once more, not for ever, and only where it is a statement beyond doubt.
    for text in carried(&bare, &blank) {
        if let Some(statements) = parse(&text) {
            by_statement(&statements, &span, &mut reading);
            reading.certain = true;
        }
    }
    reading
}

#[cfg(test)]
mod tests;
