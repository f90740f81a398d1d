//! Functions of other languages that matter, and what they do: the table of `rules/callees.toml`.

use std::collections::HashMap;

use serde::Deserialize;

use crate::prefilter::RuleError;
use crate::text::CompiledIn;

/// The effect of a callee on its first arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Effect {
    /// Hands a text or a list of words to a shell or a program.
    Run,
    /// Runs code.
    Evaluate,
    /// Deletes one path.
    Delete,
    /// Deletes a tree.
    DeleteTree,
    /// Opens a file; the mode tells for what.
    Open,
    /// Reads a file.
    Read,
    /// Writes a file.
    Write,
    /// Copies or moves a file.
    Copy,
    /// Sends something out.
    Send,
    /// Changes rights.
    Permissions,
    /// Hands a statement to a database.
    Query,
}

const FILE: &str = "callees.toml";

/// Functions that matter, with the parenthesis that opens their arguments.
pub(super) static CALLEES: CompiledIn<Vec<(String, Effect)>, RuleError> = CompiledIn::new(|| {
    let file: HashMap<Effect, Vec<String>> =
        toml::from_str(include_str!("../../rules/callees.toml")).map_err(|error| RuleError::Malformed {
            file: FILE,
            why: error.to_string(),
        })?;
    let named = |(effect, names): (Effect, Vec<String>)| names.into_iter().map(move |name| (name, effect));
    Ok(file.into_iter().flat_map(named).collect())
});
