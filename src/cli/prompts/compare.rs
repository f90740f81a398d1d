//! `guardian prompts diff`: templates beside the built-in ones, and what changed underneath since they were taken over.

use std::path::{Path, PathBuf};

use anyhow::Context;

use super::{BASES, keep_base};
use crate::cli::output::{difference, say, write};
use crate::cli::{ConfigArgument, Ended, OrganisationArgument};
use crate::prompt::{Block, Blocks, Prompts};

pub(super) fn run(
    dir: Option<&Path>,
    seen: bool,
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
        let known =
            name.starts_with('.') || name == "guidance.md" || Prompts::sources().any(|(known, _)| known == name);
        anyhow::ensure!(known, "{}: this is none of the templates", dir.join(&*name).display());
    }
    let (mut own, mut changed, mut underneath) = (0, 0, 0);
    for (name, built_in) in Prompts::sources() {
        let file = dir.join(name);
        if !file.exists() {
            continue;
        }
        own += 1;
        let text = std::fs::read_to_string(&file).with_context(|| format!("{}: cannot be read", file.display()))?;
        changed += usize::from(tell_own(name, built_in, &file, &text));
        if seen {
            keep_base(&dir, name)?;
        }
        match std::fs::read_to_string(dir.join(BASES).join(name)) {
            Ok(base) => underneath += usize::from(tell_underneath(name, &base, built_in, &text)),
            Err(_) => say!(
                "{}: no copy of the built-in template from which it was made, so what changed underneath is not known; `--seen` keeps one",
                file.display()
            ),
        }
    }
    say!(
        "{own} of {} templates are in {}; {changed} of them differ from the built-in ones, {underneath} changed underneath{}",
        Prompts::sources().count(),
        dir.display(),
        if underneath > 0 {
            " (`--seen` when you have looked at it)"
        } else {
            ""
        }
    );
    Ok(if changed + underneath > 0 {
        Ended::UnderThreshold
    } else {
        Ended::Done
    })
}

/// Says what an organisation changed: block by block where it extends the built-in template.
fn tell_own(name: &str, built_in: &str, file: &Path, text: &str) -> bool {
    let place = file.display();
    let (Ok(own), Ok(theirs)) = (Blocks::read(name, text), Blocks::read(name, built_in)) else {
        return tell(&format!("built-in/{name}"), built_in, &place.to_string(), text);
    };
    if !own.extends {
        return tell(&format!("built-in/{name}"), built_in, &place.to_string(), text);
    }
    let mut differs = false;
    for block in &own.blocks {
        let before = of_name(&theirs, block.name);
        let block_name = block.name;
        differs |= tell(
            &format!("built-in/{name}, block {block_name}"),
            before,
            &format!("{place}:{}, block {block_name}", block.line),
            &with_built_in(block.text, before),
        );
    }
    differs
}

/// Returns a block with the built-in text where it asks for that.
fn with_built_in(text: &str, built_in: &str) -> String {
    ["{{ super() }}\n", "{{ super() }}", "{{super()}}"]
        .into_iter()
        .find(|tag| text.contains(tag))
        .map_or_else(|| text.to_owned(), |tag| text.replace(tag, built_in))
}

/// Says what changed in the built-in template since the organisation took it over, where its own words hide that.
fn tell_underneath(name: &str, base: &str, built_in: &str, text: &str) -> bool {
    if base == built_in {
        return false;
    }
    let (then, now) = (
        format!("built-in/{name} as it was"),
        format!("built-in/{name} as it is"),
    );
    let read = (
        Blocks::read(name, text),
        Blocks::read(name, base),
        Blocks::read(name, built_in),
    );
    let (Ok(own), Ok(was), Ok(is)) = read else {
        return tell(&then, base, &now, built_in);
    };
    if !own.extends {
        return tell(&then, base, &now, built_in);
    }
    let mut hidden = false;
    for block in &own.blocks {
        let (before, after) = (of_name(&was, block.name), of_name(&is, block.name));
        let block_name = block.name;
        hidden |= tell(
            &format!("{then}, block {block_name}"),
            before,
            &format!("{now}, block {block_name}"),
            after,
        );
    }
    if !hidden {
        say!(
            "{name}: the built-in template changed, in nothing that is hidden by blocks of yours: the changes reach you"
        );
    }
    hidden
}

fn of_name<'s>(blocks: &Blocks<'s>, name: &str) -> &'s str {
    let found: Option<&Block<'s>> = blocks.blocks.iter().find(|block| block.name == name);
    found.map_or("", |block| block.text)
}

/// Shows how two texts differ; whether they do.
fn tell(before: &str, old: &str, after: &str, new: &str) -> bool {
    if old == new {
        return false;
    }
    write(format_args!("{}", difference(before, old, after, new)));
    true
}

fn configured(organisation: &OrganisationArgument, config: &ConfigArgument) -> anyhow::Result<PathBuf> {
    let config = config.load_to_ask_nobody()?;
    let prompts = organisation.of(&config)?.prompts.clone();
    prompts.context("no templates are configured: name a folder, or set `prompts_dir`")
}
