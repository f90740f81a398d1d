//! The rights with which a program is run, those of root or not, and the program that runs it.

use super::Call;
use super::programs::{self, Role};

/// The rights and the program with which a program is run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Invoker {
    /// True if it was given the rights of root.
    pub as_root: bool,
    /// The program that runs it in turn; empty when that one is there to begin shells, or when there is none.
    pub program: String,
}

/// Returns the invoker of the programs that a call runs.
pub(super) fn handed_on(call: &Call) -> Invoker {
    let name = call.program.as_str();
    if programs::is(Role::GivesRights, name) {
        return Invoker {
            as_root: call.invoker.as_root || gives_root(call),
            program: call.invoker.program.clone(),
        };
    }
    if programs::is(Role::Transparent, name) {
        return call.invoker.clone();
    }
    if programs::is(Role::Elsewhere, name) {
        return Invoker::default();
    }
    Invoker {
        as_root: call.invoker.as_root,
        program: name.to_owned(),
    }
}

/// Returns `true` if a call gives the rights of root.
fn gives_root(call: &Call) -> bool {
    let is_root = |user: &str| matches!(user, "root" | "#0" | "0");
    let mut words = call.args.iter().map(|word| word.text.as_str());
    while let Some(word) = words.next() {
        let named = word.strip_prefix("--user=").or_else(|| word.strip_prefix("-u"));
        match (word, named) {
            ("-u" | "--user", _) => return words.next().is_some_and(is_root),
            (_, Some(user)) => return is_root(user),
            _ if word.starts_with('-') || word.contains('=') => {}
            _ => return true,
        }
    }
    false
}
