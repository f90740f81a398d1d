//! The effects of the statements of a SQL text.

pub(super) mod forms;
mod statements;

use crate::prefilter::engine::rule_keys;
use std::ops::Range;

use super::bare::{blanked, splits_keyword, without_comments};
use super::dynamic::embedded_statements;
use forms::by_form;
use statements::{by_statement, parse};

/// Longer texts are searched, not parsed.
const MAX_LEN: usize = 32 * 1024;

rule_keys! {
    /// A trait of a statement, or of a part of it.
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
    /// Returns `true` if single words tell it, so that it matters little whether the whole was understood.
    pub(super) const fn is_a_word(self) -> bool {
        matches!(self, Trait::RunsCommand | Trait::TouchesFiles)
    }
}

/// The effects of a text.
#[derive(Debug, Default)]
pub(super) struct Reading {
    pub traits: Vec<(Trait, Range<usize>)>,
    /// True if the text was parsed, rather than searched.
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
    let is_short = text.len() <= MAX_LEN;
    match is_short.then(|| parse(&bare)).flatten() {
        Some(statements) => by_statement(&statements, &span, &mut reading),
        None => reading.certain = false,
    }
    by_form(&blank, &span, &mut reading);
    // What is handed on as text is looked at once more, not for ever, and only where it is a statement beyond doubt.
    for text in embedded_statements(&bare, &blank) {
        if let Some(statements) = parse(&text) {
            by_statement(&statements, &span, &mut reading);
            reading.certain = true;
        }
    }
    reading
}

#[cfg(test)]
mod tests;
