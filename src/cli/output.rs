//! Standard output. A reader that goes away (`guardian rules list | head`) ends the command quietly; a full disk ends it with
//! an error.

use std::fmt;
use std::io::{ErrorKind, Write};

use similar::TextDiff;

use super::printable;

/// Writes to standard output.
pub(super) fn write(text: fmt::Arguments<'_>) {
    let mut out = std::io::stdout().lock();
    if let Err(error) = out.write_fmt(text).and_then(|()| out.flush()) {
        if error.kind() == ErrorKind::BrokenPipe {
            std::process::exit(0);
        }
        eprintln!("error: standard output: {error}");
        std::process::exit(1);
    }
}

/// Returns how two texts differ, line by line, with everything spelled out that a terminal would obey or hide; empty where they are equal.
pub(super) fn difference(before: &str, old: &str, after: &str, new: &str) -> String {
    let diff = TextDiff::from_lines(old, new);
    let unified = diff.unified_diff().header(before, after).to_string();
    unified.lines().map(|line| printable(line) + "\n").collect()
}

/// Says a line.
macro_rules! say {
    () => { $crate::cli::output::write(format_args!("\n")) };
    ($($line:tt)*) => { $crate::cli::output::write(format_args!("{}\n", format_args!($($line)*))) };
}
pub(super) use say;
