//! Commands whose words alone say what they do: the table of `rules/commands.toml`, no logic of its own.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::platforms::names_only_throwaways;
use super::{Danger, Seen};
use crate::prefilter::RuleError;
use crate::prefilter::engine::RuleKey;
use crate::shell::Call;

const FILE: &str = "commands.toml";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    group: Vec<Group>,
}

/// What the commands of a group do, and the commands: programs, and the words of each.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    danger: String,
    what: String,
    commands: Vec<(String, String)>,
}

struct Command {
    danger: Danger,
    what: String,
    words: Vec<Vec<String>>,
}

/// The commands of each program.
type Table = HashMap<String, Vec<Command>>;

static TABLE: LazyLock<Result<Table, RuleError>> = LazyLock::new(|| {
    let malformed = |why: String| RuleError::Malformed { file: FILE, why };
    let file: File =
        toml::from_str(include_str!("../rules/commands.toml")).map_err(|error| malformed(error.to_string()))?;
    let mut table = Table::new();
    for group in file.group {
        let danger = Danger::ALL.iter().find(|(_, id)| *id == group.danger);
        let (danger, _) = danger.ok_or_else(|| malformed(format!("`{}` is no rule", group.danger)))?;
        for (programs, words) in &group.commands {
            for program in programs.split_whitespace() {
                let words = words
                    .split_whitespace()
                    .map(|word| word.split('|').map(str::to_owned).collect());
                table.entry(program.to_owned()).or_default().push(Command {
                    danger: *danger,
                    what: group.what.clone(),
                    words: words.collect(),
                });
            }
        }
    }
    Ok(table)
});

/// Reads the table.
pub(super) fn check() -> Result<(), RuleError> {
    TABLE.as_ref().map(|_| ()).map_err(Clone::clone)
}

/// Looks at one call.
pub(super) fn look(call: &Call, seen: &mut Seen) {
    const ONLY_TRIES: &[&str] = &["--help", "--dry-run", "--dry-run=client", "--version"];
    // INVARIANT: whoever screens has read the table at the start.
    let Some(commands) = TABLE.as_ref().ok().and_then(|table| table.get(&call.program)) else {
        return;
    };
    let plain = |text: &str| {
        let mut text = text.to_ascii_lowercase();
        // In documents of policies blanks mean nothing.
        if text.starts_with('{') {
            text.retain(|c| !c.is_whitespace());
        }
        text
    };
    let args: Vec<String> = call.args.iter().map(|word| plain(&word.text)).collect();
    if args.iter().any(|arg| ONLY_TRIES.contains(&arg.as_str())) {
        return;
    }
    let all_throwaways = names_only_throwaways(call);
    for command in commands {
        let is_among = |pattern: &str| args.iter().any(|arg| fits(pattern, arg));
        let holds = |patterns: &Vec<String>| match patterns.first().and_then(|first| first.strip_prefix('!')) {
            Some(first) => !is_among(first) && !patterns.iter().skip(1).any(|pattern| is_among(pattern)),
            None => patterns.iter().any(|pattern| is_among(pattern)),
        };
        if !command.words.iter().all(holds) {
            continue;
        }
        if all_throwaways && matches!(command.danger, Danger::DestroyResources | Danger::DatabaseLoss) {
            let what = "destroys what its name calls temporary or a trial";
            seen.add(Danger::DestroyTrial, call, what);
        } else {
            seen.add(command.danger, call, command.what.clone());
        }
    }
}

/// Whether an argument is what a pattern of the table means.
fn fits(pattern: &str, arg: &str) -> bool {
    match (pattern.strip_prefix('%'), pattern.strip_suffix('%')) {
        (Some(_), Some(_)) => {
            let mut rest = arg;
            pattern
                .split('%')
                .filter(|part| !part.is_empty())
                .all(|part| match rest.split_once(part) {
                    Some((_, after)) => {
                        rest = after;
                        true
                    }
                    None => false,
                })
        }
        (Some(end), None) => arg.ends_with(end),
        (None, Some(start)) => arg.starts_with(start),
        (None, None) if pattern.contains('?') => {
            arg.len() == pattern.len()
                && pattern
                    .bytes()
                    .zip(arg.bytes())
                    .all(|(p, b)| p == b || p == b'?' && b.is_ascii_digit())
        }
        (None, None) if pattern.len() == 2 && pattern.starts_with('-') => {
            arg.strip_prefix('-').is_some_and(|flags| {
                !flags.starts_with('-')
                    && flags.len() <= 4
                    && flags.chars().all(|c| c.is_ascii_alphabetic())
                    && pattern.ends_with(|flag| flags.contains(flag))
            }) || arg == pattern
        }
        (None, None) => arg == pattern,
    }
}

#[cfg(test)]
mod tests;
