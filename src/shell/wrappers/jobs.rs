//! Tables of jobs, as `crontab` reads them.

use std::ops::Range;

use super::{Inner, here};

/// The commands of a table of jobs.
pub(super) fn scheduled(table: &str) -> impl Iterator<Item = Inner> {
    jobs(table).map(|(command, _)| here(command.to_owned()))
}

/// The commands of a table of jobs, with their places; in tables of the system a user stands first, so the rest
/// behind the first word is another.
pub(crate) fn jobs(table: &str) -> impl Iterator<Item = (&str, Range<usize>)> {
    const MAX: usize = 32;
    const MOMENTS: &[&str] = &[
        "@reboot",
        "@yearly",
        "@annually",
        "@monthly",
        "@weekly",
        "@daily",
        "@midnight",
        "@hourly",
    ];
    let is_time = |field: &str| {
        field
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'*' | b'/' | b',' | b'-'))
    };
    let mut start = 0;
    table
        .split_inclusive('\n')
        .filter_map(move |whole| {
            let begin = start;
            start += whole.len();
            let line = whole.trim();
            let first = line.bytes().next()?;
            if !(first == b'@' || first == b'*' || first.is_ascii_digit()) {
                return None;
            }
            let times = if first == b'@' { 1 } else { 5 };
            let mut rest = line;
            for _ in 0..times {
                let (time, behind) = rest.split_once(char::is_whitespace)?;
                if !(is_time(time) || MOMENTS.contains(&time)) {
                    return None;
                }
                rest = behind.trim_start();
            }
            let span = begin..begin + whole.len();
            let without_user = rest
                .split_once(char::is_whitespace)
                .map(|(_, command)| command.trim_start());
            Some([Some((rest, span.clone())), without_user.map(|command| (command, span))])
        })
        .flatten()
        .flatten()
        .take(MAX)
}
