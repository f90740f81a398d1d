//! `guardian prompts diff`: templates beside the built-in ones.

use std::path::{Path, PathBuf};

use anyhow::Context;
use similar::TextDiff;

use crate::cli::output::{say, write};
use crate::cli::{ConfigArgument, Ended, OrganisationArgument};
use crate::prompt::Prompts;

/// Lines around a difference.
const AROUND: usize = 3;

pub(super) fn run(
    dir: Option<&Path>,
    organisation: &OrganisationArgument,
    config: &ConfigArgument,
) -> anyhow::Result<Ended> {
    let dir = match dir {
        Some(dir) => dir.to_owned(),
        None => configured(organisation, config)?,
    };
    // Files that are none of ours are refused here, as they are at a start; templates that are broken are still compared.
    let entries = std::fs::read_dir(&dir).with_context(|| format!("{}: cannot be read", dir.display()))?;
    for entry in entries {
        let name = entry
            .with_context(|| format!("{}: cannot be read", dir.display()))?
            .file_name();
        let name = name.to_string_lossy();
        let known = name.starts_with('.') || Prompts::sources().any(|(known, _)| known == name);
        anyhow::ensure!(known, "{}: this is none of the templates", dir.join(&*name).display());
    }
    let (mut own, mut changed) = (0, 0);
    for (name, built_in) in Prompts::sources() {
        let file = dir.join(name);
        if !file.exists() {
            continue;
        }
        own += 1;
        let text = std::fs::read_to_string(&file).with_context(|| format!("{}: cannot be read", file.display()))?;
        if text == built_in {
            continue;
        }
        changed += 1;
        let diff = TextDiff::from_lines(built_in, &text);
        let mut unified = diff.unified_diff();
        let unified = unified
            .context_radius(AROUND)
            .header(&format!("built-in/{name}"), &file.display().to_string());
        write(format_args!("{}", plain(&unified.to_string())));
    }
    say!(
        "{own} of {} templates are in {}; {changed} of them differ from the built-in ones",
        Prompts::sources().count(),
        dir.display()
    );
    Ok(if changed > 0 {
        Ended::UnderThreshold
    } else {
        Ended::Done
    })
}

/// Lines as they are, but nothing that a terminal would obey.
fn plain(text: &str) -> String {
    text.split_inclusive('\n')
        .map(|line| match line.strip_suffix('\n') {
            Some(line) => crate::cli::printable(line) + "\n",
            None => crate::cli::printable(line),
        })
        .collect()
}

fn configured(organisation: &OrganisationArgument, config: &ConfigArgument) -> anyhow::Result<PathBuf> {
    let config = config.load_to_ask_nobody()?;
    let prompts = organisation.of(&config)?.prompts.clone();
    prompts.context("no templates are configured: name a folder, or set `prompts_dir`")
}
