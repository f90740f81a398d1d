//! Functions of other languages that matter, and what they do: the table of `rules/callees.toml`.

use std::collections::HashMap;

use serde::Deserialize;

use crate::text::{CompiledIn, data_file};

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

/// Functions that matter, with the parenthesis that opens their arguments.
pub(super) static CALLEES: CompiledIn<Vec<(String, Effect)>> = CompiledIn::new(|| {
    let file: HashMap<Effect, Vec<String>> = data_file!("prefilter/rules/callees.toml").read()?;
    let named = |(effect, names): (Effect, Vec<String>)| names.into_iter().map(move |name| (name, effect));
    Ok(file.into_iter().flat_map(named).collect())
});
