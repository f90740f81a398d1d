//! Commands whose words alone say what they do: the table of `rules/commands.toml`, no logic of its own.

use std::collections::HashMap;

use serde::Deserialize;

use super::platforms::{asks_local_trial, names_only_disposable};
use super::{Danger, Dangers};
use crate::shell::Call;
use crate::text::{CompiledIn, data_file};

/// Commands: programs, and the words of each.
type Commands = Vec<(String, String)>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    group: Vec<Group>,
    sends: Commands,
    shows_secrets: Commands,
}

/// The commands of one danger.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    danger: String,
    commands: Commands,
}

/// The words that a command needs; of each list one.
type Words = Vec<Vec<String>>;

/// The commands of each program, with what is told of them.
type ByProgram<T> = HashMap<String, Vec<(T, Words)>>;

#[derive(Default)]
pub(super) struct Table {
    dangers: ByProgram<Danger>,
    sends: ByProgram<()>,
    shows_secrets: ByProgram<()>,
}

pub(super) static TABLE: CompiledIn<Table> = CompiledIn::new(|| {
    let data = data_file!("prefilter/rules/commands.toml");
    let file: File = data.read()?;
    let mut dangers = HashMap::new();
    for group in &file.group {
        add(&mut dangers, &group.commands, data.key::<Danger>(&group.danger)?);
    }
    let (mut sends, mut shows_secrets) = (HashMap::new(), HashMap::new());
    add(&mut sends, &file.sends, ());
    add(&mut shows_secrets, &file.shows_secrets, ());
    Ok(Table {
        dangers,
        sends,
        shows_secrets,
    })
});

fn add<T: Copy>(table: &mut ByProgram<T>, commands: &Commands, told: T) {
    for (programs, words) in commands {
        for program in programs.split_whitespace() {
            let words = words.split_whitespace();
            let words = words.map(|word| word.split('|').map(str::to_owned).collect());
            table
                .entry(program.to_owned())
                .or_default()
                .push((told, words.collect()));
        }
    }
}

/// Returns `true` if a call hands data to another machine, by its words.
pub(super) fn sends(call: &Call) -> bool {
    !told(&TABLE.get().sends, call).is_empty()
}

/// Returns `true` if a program hands data to another machine, with some of its words.
pub(super) fn may_send(program: &str) -> bool {
    TABLE.get().sends.contains_key(program)
}

/// Returns `true` if a call prints what a vault, a cloud, a cluster or a key ring keeps.
pub(super) fn shows_secrets(call: &Call) -> bool {
    !told(&TABLE.get().shows_secrets, call).is_empty()
}

/// Returns the entries of a table that apply to a call.
fn told<T: Copy>(table: &ByProgram<T>, call: &Call) -> Vec<T> {
    const ONLY_TRIES: &[&str] = &["--help", "--dry-run", "--dry-run=client", "--version"];
    let Some(commands) = table.get(&call.program) else {
        return Vec::new();
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
        return Vec::new();
    }
    let is_among = |pattern: &str| args.iter().any(|arg| fits(pattern, arg));
    let holds = |patterns: &Vec<String>| match patterns.first().and_then(|first| first.strip_prefix('!')) {
        Some(first) => !is_among(first) && !patterns.iter().skip(1).any(|pattern| is_among(pattern)),
        None => patterns.iter().any(|pattern| is_among(pattern)),
    };
    let fitting = commands.iter().filter(|(_, words)| words.iter().all(holds));
    fitting.map(|(told, _)| *told).collect()
}

/// Looks at one call.
pub(super) fn look(call: &Call, seen: &mut Dangers) {
    let table = TABLE.get();
    let dangers = told(&table.dangers, call);
    let is_trial = !dangers.is_empty() && (names_only_disposable(call) || asks_local_trial(call));
    for danger in dangers {
        match danger {
            Danger::DestroyResources | Danger::DatabaseLoss if is_trial => seen.add(Danger::DestroyTrial, call),
            danger => seen.add(danger, call),
        }
    }
}

/// Returns `true` if an argument is what a pattern of the table means.
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
