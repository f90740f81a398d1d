//! Settings files of other programs: read whole, shown as a difference, replaced at once.

use std::io::{ErrorKind, Write};
use std::path::Path;

use anyhow::Context;
use similar::TextDiff;

use super::output::say;

/// Larger settings are none.
const MAX_SIZE: u64 = 16 * 1024 * 1024;

/// The text of a file; `None` where there is none.
pub(super) fn read(file: &Path) -> anyhow::Result<Option<String>> {
    read_up_to(file, MAX_SIZE)
}

/// The note of what was changed in a file: it holds the file before and after.
pub(super) fn read_note(file: &Path) -> anyhow::Result<Option<String>> {
    read_up_to(file, 8 * MAX_SIZE)
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
        let (old, new) = (before.unwrap_or_default(), after.unwrap_or_default());
        let name = file.display().to_string();
        let difference = TextDiff::from_lines(old, new);
        say!(
            "{}",
            difference.unified_diff().header(&name, &name).to_string().trim_end()
        );
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
    replace(&target, after).with_context(|| format!("{}: cannot be written", target.display()))?;
    say!("wrote {}", file.display());
    Ok(())
}

/// A reader sees the old file or the new one, never a half of it; permissions stay, and a new file belongs to its user alone.
pub(super) fn replace(target: &Path, text: &str) -> std::io::Result<()> {
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(format!(".guardian-{}", std::process::id()));
    let beside = target.with_file_name(name);
    let mut options = std::fs::OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut written = options.create(true).write(true).truncate(true).open(&beside)?;
    written.write_all(text.as_bytes())?;
    written.sync_all()?;
    if let Ok(metadata) = std::fs::metadata(target) {
        std::fs::set_permissions(&beside, metadata.permissions())?;
    }
    std::fs::rename(&beside, target).inspect_err(|_| {
        // What is left of it helps nobody.
        let _ = std::fs::remove_file(&beside);
    })
}
