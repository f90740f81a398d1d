//! `guardian eval label`.

use std::io::{BufReader, IsTerminal, Read};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use console::Term;

use crate::cli::output::say;
use crate::cli::{Ended, printable};
use crate::eval::{Open, Reading, labelled, open_steps, reading};
use crate::files;
use crate::model::ReasonCode;

/// Label the steps of a suite that have no label, or whose label is in doubt.
///
/// Shown are steps of sessions without `label`, requests without `expected`, and whatever has the confidence `low` or `disputed`; each
/// with the session before it. One key is one label, which is written into the suite at once: to go on later, repeat the command.
/// Without a terminal, keys are read from standard input.
#[derive(Debug, Args)]
pub(in crate::cli) struct Arguments {
    /// The suite, a `.jsonl` file; message logs have to be imported first (`eval import`).
    #[arg(value_name = "SUITE")]
    suite: PathBuf,
}

/// The reason codes that the digits stand for.
const CODES: [ReasonCode; 9] = [
    ReasonCode::PromptInjection,
    ReasonCode::GoalHijack,
    ReasonCode::DataExfiltration,
    ReasonCode::SecretExposure,
    ReasonCode::PersonalData,
    ReasonCode::DestructiveAction,
    ReasonCode::MaliciousCode,
    ReasonCode::HarmfulRequest,
    ReasonCode::PolicyViolation,
];

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ended> {
    let file = &arguments.suite;
    let text = std::fs::read_to_string(file).with_context(|| format!("{}: cannot be read", file.display()))?;
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let (open, logs) = open_steps(&lines);
    if logs > 0 {
        eprintln!("note: {logs} lines are message logs; `eval import` makes sessions of them, which can be labelled");
    }
    let mut undo: Vec<(usize, usize, String)> = Vec::new();
    let mut at = 0;
    let mut keys = Keys::new();
    while let Some(step) = open.get(at) {
        let line = lines.get(step.line).cloned().unwrap_or_default();
        show(&reading(&line, step.step), at + 1, open.len());
        let deny = match keys.next()? {
            Some('a') => None,
            Some('d') => Some(None),
            Some(digit @ '1'..='9') => {
                let place = digit
                    .to_digit(10)
                    .and_then(|digit| usize::try_from(digit).ok())
                    .unwrap_or_default();
                Some(CODES.get(place.saturating_sub(1)).cloned())
            }
            Some('s') => {
                at += 1;
                continue;
            }
            Some('u') => {
                if let Some((place, index, line)) = undo.pop() {
                    at = place;
                    replace(&mut lines, index, line);
                    save(file, &lines)?;
                }
                continue;
            }
            Some('q') | None => break,
            Some(_) => continue,
        };
        let Open { line: index, step } = *step;
        let new = labelled(&line, step, deny).with_context(|| format!("{}:{}", file.display(), index + 1))?;
        undo.push((at, index, line));
        replace(&mut lines, index, new);
        save(file, &lines)?;
        at += 1;
    }
    say!(
        "{}: {} labelled now, {} open",
        file.display(),
        undo.len(),
        open_steps(&lines).0.len()
    );
    Ok(Ended::Done)
}

fn replace(lines: &mut [String], index: usize, line: String) {
    if let Some(place) = lines.get_mut(index) {
        *place = line;
    }
}

/// Saves the suite, which is whole at every moment.
fn save(file: &Path, lines: &[String]) -> anyhow::Result<()> {
    let text = format!("{}\n", lines.join("\n"));
    files::replace(file, text.as_bytes()).with_context(|| format!("{}: cannot be written", file.display()))
}

fn show(reading: &Reading, number: usize, all: usize) {
    say!("\n── {number} of {all}: {}", printable(&reading.id));
    say!("the agent is told: {}", printable(&reading.instructions));
    for (who, text) in &reading.before {
        say!("  {}: {}", printable(who), printable(text));
    }
    let (who, text) = &reading.step;
    say!("▶ {}: {}", printable(who), printable(text));
    if let Some((label, why)) = &reading.was {
        say!("it is labelled {} ({})", printable(label), printable(why));
    }
    let codes = CODES.iter().enumerate().map(|(at, code)| format!("{} {code}", at + 1));
    let codes: Vec<String> = codes.collect();
    say!(
        "[a]llow  [d]eny  [s]kip  [u]ndo  [q]uit   deny for: {}",
        codes.join(", ")
    );
}

/// Keys of the terminal, or characters of standard input.
enum Keys {
    Terminal(Term),
    Piped(std::io::Bytes<BufReader<std::io::Stdin>>),
}

impl Keys {
    fn new() -> Self {
        match std::io::stdin().is_terminal() {
            true => Self::Terminal(Term::stderr()),
            false => Self::Piped(BufReader::new(std::io::stdin()).bytes()),
        }
    }

    /// Reads the next key; `None` at the end of the input.
    fn next(&mut self) -> anyhow::Result<Option<char>> {
        match self {
            Self::Terminal(terminal) => Ok(Some(terminal.read_char().context("no key can be read")?)),
            Self::Piped(bytes) => {
                let key = bytes
                    .map_while(Result::ok)
                    .map(char::from)
                    .find(|key| !key.is_whitespace());
                Ok(key)
            }
        }
    }
}
