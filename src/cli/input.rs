//! The input of commands: a file, or standard input for `-`. An error names which, and what was wrong with it.

use std::io::{IsTerminal, Read};
use std::path::Path;

use anyhow::Context;

/// More than this is no step, no trace and no text.
const MAX_SIZE: u64 = 256 * 1024 * 1024;

/// Returns the name of an input in messages.
pub(super) fn name(file: &Path) -> String {
    match is_standard_input(file) {
        true => "standard input".to_owned(),
        false => file.display().to_string(),
    }
}

/// Reads all that is in an input.
pub(super) fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    let mut input = Vec::new();
    let done = if is_standard_input(file) {
        let stdin = std::io::stdin();
        if stdin.is_terminal() {
            eprintln!("reading from standard input; end it with Ctrl-D, or name a file (see --help)");
        }
        stdin.lock().take(MAX_SIZE).read_to_end(&mut input)
    } else {
        std::fs::File::open(file).and_then(|opened| opened.take(MAX_SIZE).read_to_end(&mut input))
    };
    done.with_context(|| format!("{}: cannot be read", name(file)))?;
    Ok(input)
}

/// Reads the text in an input.
pub(super) fn text(file: &Path) -> anyhow::Result<String> {
    String::from_utf8(read(file)?).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        anyhow::anyhow!(
            "{}: expected text in UTF-8, found something else at byte {at}",
            name(file)
        )
    })
}

/// Reads the request, or the requests, in an input.
pub(super) fn requests(file: &Path) -> anyhow::Result<Vec<u8>> {
    let input = read(file)?;
    anyhow::ensure!(
        !input.trim_ascii().is_empty(),
        "{}: there is nothing in it; expected a JSON-RPC request",
        name(file)
    );
    Ok(input)
}

fn is_standard_input(file: &Path) -> bool {
    file == Path::new("-")
}
