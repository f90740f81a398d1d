//! `guardian prompts new`: a commented start for an organisation, made of the example that ships.

use std::fmt::Write;
use std::path::Path;

use anyhow::Context;

use super::keep_base;
use crate::cli::Ended;
use crate::cli::output::say;

const POLICY: &str = include_str!("../../../prompts/example/policy.toml");
const SYSTEM: &str = include_str!("../../../prompts/example/prompts/system.md.j2");

pub(super) fn run(organisation: &str, into: &Path) -> anyhow::Result<Ended> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    anyhow::ensure!(
        (1..=64).contains(&organisation.len()) && organisation.chars().all(fits) && !organisation.starts_with('.'),
        "expected 1 to 64 of `a-z A-Z 0-9 - _ .` that do not begin with a dot, found `{}`",
        organisation.escape_debug()
    );
    let folder = into.join(organisation);
    anyhow::ensure!(
        !folder.exists(),
        "{}: expected no such folder yet; what is there is left alone",
        folder.display()
    );
    let prompts = folder.join("prompts");
    std::fs::create_dir_all(&prompts).with_context(|| format!("{}: cannot be made", prompts.display()))?;
    for (file, text) in [
        (folder.join("policy.toml"), settings_as_comments(POLICY)),
        (prompts.join("system.md.j2"), blocks_as_comment(SYSTEM)),
    ] {
        std::fs::write(&file, text).with_context(|| format!("{}: cannot be written", file.display()))?;
        say!("{}", file.display());
    }
    keep_base(&prompts, "system.md.j2")?;
    say!(
        "\nIn guardian.toml:\n\n[[organisations]]\nid = \"{organisation}\"\napi_keys = [\"env:GUARDIAN_KEY\"]\n\
         prompts = \"{organisation}/prompts\"\npolicy = \"{organisation}/policy.toml\"\n\n\
         A text `{organisation}/prompts/guidance.md` goes to the judge as it is. Then: `guardian prompts check`, `guardian policy check`."
    );
    Ok(Ended::Done)
}

/// Returns every setting with a `#` before it.
fn settings_as_comments(policy: &str) -> String {
    policy.lines().fold(String::new(), |mut text, line| {
        let mark = if line.is_empty() || line.starts_with('#') {
            ""
        } else {
            "#"
        };
        let _ = writeln!(text, "{mark}{line}");
        text
    })
}

/// Returns the line that extends, and the blocks in a comment.
fn blocks_as_comment(template: &str) -> String {
    match template.split_once("{% block") {
        Some((before, blocks)) => {
            format!("{before}{{# Take the first and the last line of this comment away:\n{{% block{blocks}#}}\n")
        }
        None => template.to_owned(),
    }
}
