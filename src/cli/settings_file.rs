//! Settings files of other programs: read whole, shown as a difference, replaced at once.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context;
use regex::{Captures, Regex};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::local_guardian;
use super::output::{difference, say, write};
use crate::files;

/// Larger settings are none.
const MAX_SIZE: u64 = 16 * 1024 * 1024;

/// The mark with which some editors begin a file.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Reads the text of a file, without a byte order mark; `None` where there is none.
pub(super) fn read(file: &Path) -> anyhow::Result<Option<String>> {
    let text = read_up_to(file, MAX_SIZE)?;
    Ok(text.map(|text| text.strip_prefix(BYTE_ORDER_MARK).map(str::to_owned).unwrap_or(text)))
}

/// Returns the place of the note of what a command changed in a file: in a folder of the user's states, by the file's name.
pub(super) fn note_file(folder: &str, file: &Path) -> anyhow::Result<PathBuf> {
    let hash = blake3::hash(file.as_os_str().as_encoded_bytes()).to_hex();
    let short: String = hash.chars().take(32).collect();
    Ok(local_guardian::state_folder()?
        .join(folder)
        .join(format!("{short}.json")))
}

/// Reads the note of what was changed in a file: it holds the file before and after.
pub(super) fn read_note<T: DeserializeOwned>(kept: &Path) -> anyhow::Result<Option<T>> {
    let Some(text) = read_up_to(kept, 8 * MAX_SIZE)? else {
        return Ok(None);
    };
    let note = serde_json::from_str(&text);
    note.map(Some)
        .with_context(|| format!("{}: expected a note of this command", kept.display()))
}

/// Keeps such a note, for its user alone.
pub(super) fn keep_note<T: Serialize>(note: &T, kept: &Path) -> anyhow::Result<()> {
    let told = || format!("{}: cannot be written", kept.display());
    let folder = kept.parent().context("the note is in no folder")?;
    std::fs::create_dir_all(folder).with_context(told)?;
    files::replace(kept, serde_json::to_string(note)?.as_bytes()).with_context(told)
}

fn read_up_to(file: &Path, bytes: u64) -> anyhow::Result<Option<String>> {
    let told = || format!("{}: cannot be read", file.display());
    match std::fs::metadata(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(told),
        Ok(metadata) => anyhow::ensure!(
            metadata.len() <= bytes,
            "{}: it is larger than settings are ({bytes} bytes)",
            file.display()
        ),
    }
    std::fs::read_to_string(file).map(Some).with_context(told)
}

/// Writes a file, or removes it where nothing is left; in a dry run, shows what would change.
pub(super) fn change(file: &Path, before: Option<&str>, after: Option<&str>, dry_run: bool) -> anyhow::Result<()> {
    if before == after {
        say!("{}: nothing changes", file.display());
        return Ok(());
    }
    if dry_run {
        let (old, new) = (masked(before.unwrap_or_default())?, masked(after.unwrap_or_default())?);
        let name = file.display().to_string();
        write(format_args!("{}", difference(&name, &old, &name, &new)));
        return Ok(());
    }
    // A link to a file elsewhere stays one.
    let target = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let Some(after) = after else {
        std::fs::remove_file(&target).with_context(|| format!("{}: cannot be removed", target.display()))?;
        say!("removed {}", file.display());
        return Ok(());
    };
    let folder = target.parent().context("the file is in no folder")?;
    std::fs::create_dir_all(folder).with_context(|| format!("{}: cannot be made", folder.display()))?;
    // What the file began with, it begins with again.
    let marked = read_up_to(&target, MAX_SIZE)?.is_some_and(|text| text.starts_with(BYTE_ORDER_MARK));
    let mark = marked.then_some(BYTE_ORDER_MARK);
    let after: String = mark.into_iter().chain(after.chars()).collect();
    files::replace(&target, after.as_bytes()).with_context(|| format!("{}: cannot be written", target.display()))?;
    say!("wrote {}", file.display());
    Ok(())
}

/// Returns the text with the values of variables, headers and credentials masked, as a difference may be shown on a screen.
fn masked(text: &str) -> anyhow::Result<String> {
    /// The members in which every value may be a secret.
    const BEGINS: &str = r#"(?i)(?:"(?:env|environment|headers|http_headers)"\s*:|\b(?:env|http_headers|headers)\s*=)\s*\{|^\s*\[.*\b(?:env|http_headers|headers)\]"#;
    const VALUE: &str = r#"([:=]\s*)"((?:[^"\\]|\\.)+)""#;
    const NAMED: &str = r#"(?i)("?[\w-]*(?:token|secret|password|passwd|api[_-]?key|authorization|credential)[\w-]*"?\s*[:=]\s*)"((?:[^"\\]|\\.)+)""#;
    const INSIDE: &str = r#"(?i)((?:bearer\s+|[\w-]*(?:token|secret|password|key)=|://[^/\s"@:]*:))[^\s"&@]+"#;
    let (begins, value) = (Regex::new(BEGINS)?, Regex::new(VALUE)?);
    let (named, inside) = (Regex::new(NAMED)?, Regex::new(INSIDE)?);
    let hidden = |found: &Captures<'_>| {
        let (head, value) = (&found[1], &found[2]);
        // A reference is no secret, and says where the value comes from.
        match value.starts_with("${") || value.starts_with("{env:") {
            true => found[0].to_owned(),
            false => format!("{head}\"***\""),
        }
    };
    let mut all = false;
    let lines = text.split_inclusive('\n').map(|line| {
        let at = begins.find(line);
        let is_table = line.trim_start().starts_with('[');
        all = (all && !is_table) || at.is_some();
        let line = match (all, at) {
            (true, Some(at)) => {
                let (head, rest) = line.split_at_checked(at.end()).unwrap_or((line, ""));
                format!("{head}{}", value.replace_all(rest, hidden))
            }
            (true, None) => value.replace_all(line, hidden).into_owned(),
            (false, _) => line.to_owned(),
        };
        all &= is_table || !line.contains('}');
        let line = named.replace_all(&line, hidden);
        inside.replace_all(&line, "$1***").into_owned()
    });
    Ok(lines.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_variables_headers_and_credentials_are_masked_and_nothing_else() {
        for (shown, expected) in [
            (
                "{\"a\": {\"command\": \"npx\", \"env\": {\"REGION\": \"eu\", \"TOKEN\": \"s3cr\"}}}\n",
                "{\"a\": {\"command\": \"npx\", \"env\": {\"REGION\": \"***\", \"TOKEN\": \"***\"}}}\n",
            ),
            (
                "\"headers\": {\n  \"X-Any\": \"abc\"\n},\n\"type\": \"http\"\n",
                "\"headers\": {\n  \"X-Any\": \"***\"\n},\n\"type\": \"http\"\n",
            ),
            (
                "[mcp_servers.x.env]\nANY = \"abc\"\n[mcp_servers.y]\ncommand = \"uvx\"\n",
                "[mcp_servers.x.env]\nANY = \"***\"\n[mcp_servers.y]\ncommand = \"uvx\"\n",
            ),
            (
                "\"apiKey\": \"abc\", \"model\": \"m\"",
                "\"apiKey\": \"***\", \"model\": \"m\"",
            ),
            (
                "[\"--header\", \"Authorization: Bearer abc\"]",
                "[\"--header\", \"Authorization: Bearer ***\"]",
            ),
            (
                "\"url\": \"https://u:pw@h.example/?api_key=abc\"",
                "\"url\": \"https://u:***@h.example/?api_key=***\"",
            ),
            ("\"env\": {\"A\": \"${A}\"}", "\"env\": {\"A\": \"${A}\"}"),
        ] {
            assert_eq!(masked(shown).unwrap(), expected);
        }
    }
}
