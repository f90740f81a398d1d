//! The signs of danger in code of other languages as a whole, whatever the constants are.

use crate::prefilter::destructive_command::patterns::{Combinations, Patterns};
use crate::prefilter::destructive_command::{Danger, Dangers};
use crate::text::expression::expressions;
use crate::text::keywords::Word;
use crate::text::{CompiledIn, DataError, data_file};

static PATTERNS: CompiledIn<Patterns> = CompiledIn::new(|| {
    let file = data_file!("prefilter/rules/command_patterns_code.toml");
    Patterns::load(file, |needle| Word::exact(needle))
});

expressions! {
    /// Text fetched into a variable that is run afterwards.
    static FETCHED = r"(?m)^[ \t]*(?:const |let |var )?(\w{1,40})\s*=\s*[^\n]*(?:requests\.get|urlopen|httpx\.get|await fetch)\(";
}

static COMBINATIONS: CompiledIn<Combinations> =
    CompiledIn::new(|| Combinations::load(data_file!("prefilter/rules/command_combinations.toml")));

/// Looks at what a text holds together.
pub(super) fn look_at_combinations(text: &str, seen: &mut Dangers) {
    COMBINATIONS.get().search(text, seen);
}

/// Reads the patterns.
pub(super) fn check_all() -> Result<(), DataError> {
    PATTERNS.check()?;
    COMBINATIONS.check()
}

/// Looks at a text.
pub(super) fn look(text: &str, seen: &mut Dangers) {
    PATTERNS.get().search(text, seen);
    if !text.contains("exec(") && !text.contains("eval(") {
        return;
    }
    for hit in FETCHED.captures_iter(text).take(8) {
        let Some(name) = hit.get(1).map(|name| name.as_str()) else {
            continue;
        };
        for callee in ["exec(", "eval("] {
            let call = format!("{callee}{name}");
            let run = text.match_indices(&call).find(|(at, _)| {
                let after = text.get(at + call.len()..).and_then(|rest| rest.chars().next());
                after.is_some_and(|c| matches!(c, ')' | '.' | ','))
            });
            if let Some((at, _)) = run {
                seen.add_at(Danger::PipeToShell, at..at + call.len());
            }
        }
    }
}

#[cfg(test)]
mod tests;
