//! The description of an error in a configuration, in one line that may be shown to every caller that reaches `/readyz`.

use std::fmt::Write;

/// Characters of a line.
const MAX_CHARACTERS: usize = 600;

/// Describes an error in one line. The lines of a file that a TOML error repeats are left out: a secret may stand in them.
pub(super) fn one_line(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let _ = write!(text, ": {inner}");
        source = inner.source();
    }
    let repeated = |line: &str| {
        line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ')
            .starts_with('|')
    };
    let lines = text
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty() && !repeated(line));
    let line = lines.collect::<Vec<_>>().join(": ");
    let plain = line.chars().map(|c| if c.is_control() { ' ' } else { c });
    plain.take(MAX_CHARACTERS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ConfigFile;

    #[test]
    fn the_place_is_told_and_the_line_is_not() {
        let error = ConfigFile::parse(
            "listen = \"a\"\n[shared]\nredis = \"redis://:hunter2@db\" x\n",
            "guardian.toml",
        );
        let told = one_line(&error.unwrap_err());
        assert!(told.starts_with("guardian.toml: TOML parse error at line 3"), "{told}");
        assert!(!told.contains("hunter2") && !told.contains('\n'), "{told}");
    }
}
