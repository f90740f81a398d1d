//! `guardian eval mutate`.

use std::io::{BufWriter, Write};
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use crate::cli::Ended;
use crate::cli::output::say;
use crate::eval::{EvalError, Operators, Selection};

/// Write cases otherwise under the same label: disguised, encoded, wrapped, buried, in other words.
///
/// The file holds each case and its mutants. `guardian eval run FILE` says how many verdicts survive, per operator and per source, and
/// names the pairs that break. Operators are data: --list shows the file that is compiled in, --operators takes another.
#[derive(Debug, Args)]
pub(in crate::cli) struct Arguments {
    /// Suites: `.jsonl` files, or folders of them.
    #[arg(required_unless_present = "list", value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Write the cases and their mutants there.
    #[arg(long, value_name = "FILE", required_unless_present = "list")]
    out: Option<PathBuf>,
    /// Use only this operator; may be given several times.
    #[arg(long, value_name = "NAME")]
    operator: Vec<String>,
    /// Take the operators of this file.
    #[arg(long, value_name = "FILE")]
    operators: Option<PathBuf>,
    /// Mutate so many cases, drawn at random.
    #[arg(long, value_name = "N")]
    sample: Option<usize>,
    /// The seed of the draw.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Print the names of the operators, and end.
    #[arg(long)]
    list: bool,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ended> {
    let mut operators = match &arguments.operators {
        None => Operators::built_in()?,
        Some(file) => {
            let text = std::fs::read_to_string(file).with_context(|| format!("{}: cannot be read", file.display()))?;
            Operators::parse(&text).with_context(|| file.display().to_string())?
        }
    };
    let names: Vec<&str> = operators.iter().map(|operator| operator.name.as_str()).collect();
    let names = names.join(", ");
    if !arguments.operator.is_empty() {
        let only = operators.only(&arguments.operator);
        only.map_err(|name| anyhow::anyhow!("--operator: there is no `{name}`; there are: {names}"))?;
    }
    if arguments.list {
        for operator in operators.iter() {
            say!("{:20} {:?}", operator.name, operator.of);
        }
        return Ok(Ended::Done);
    }
    let selection = Selection {
        sample: arguments.sample,
        seed: arguments.seed,
        ..Selection::default()
    };
    let file = arguments.out.as_deref().context("expected --out FILE")?;
    let place = || format!("{}: cannot be written", file.display());
    let mut out = BufWriter::new(std::fs::File::create(file).with_context(place)?);
    let (mut mutated, mut mutants) = (0, 0);
    let chosen = selection.of(&arguments.paths, |_| Ok::<_, EvalError>(()))?;
    if let Some(error) = chosen.unreadable.first() {
        return Err(error.clone().into());
    }
    for case in chosen.cases()? {
        let lines = operators.lines(&case?);
        mutated += usize::from(!lines.is_empty());
        mutants += lines.len().saturating_sub(1);
        for line in lines {
            writeln!(out, "{line}").with_context(place)?;
        }
    }
    out.flush().with_context(place)?;
    anyhow::ensure!(
        mutants > 0,
        "none of {} cases holds a text that the operators change",
        chosen.len()
    );
    say!(
        "{}: {mutants} mutants of {mutated} cases; {} cases have no text that the operators change",
        file.display(),
        chosen.len() - mutated
    );
    Ok(Ended::Done)
}
