//! Standard output. A reader that goes away (`guardian rules list | head`) ends the command quietly; a full disk ends it with
//! an error.

use std::fmt;
use std::io::{ErrorKind, Write};

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

/// Says a line.
macro_rules! say {
    () => { $crate::cli::output::write(format_args!("\n")) };
    ($($line:tt)*) => { $crate::cli::output::write(format_args!("{}\n", format_args!($($line)*))) };
}
pub(super) use say;
