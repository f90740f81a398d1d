//! `guardian monitor`.

use std::collections::VecDeque;
use std::time::Duration;

use anyhow::Context;
use clap::Args;

use super::output::say;
use super::records::{Colours, RecordsArgument, by_weight, outcome, quoted};
use super::{Ended, printable};
use crate::audit::{Follower, KeptRecord};

/// Show verdicts as they are given, one a line, until it is interrupted.
///
/// Follows the audit file, also when it is rotated. Each line has the time (UTC), the decision (`would deny` where it was observed only),
/// who decided, the step, agent and session, why, the words that counted most, and the id that `guardian why` takes.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Show only what was not allowed, or would not have been.
    #[arg(long)]
    stopped: bool,
    /// Earlier verdicts that are shown first.
    #[arg(long, value_name = "NUMBER", default_value_t = 10)]
    lines: usize,
    #[command(flatten)]
    records: RecordsArgument,
}

/// How often the file is looked at.
const EVERY: Duration = Duration::from_millis(200);

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ended> {
    let files = arguments.records.files()?;
    if let Some(file) = arguments.records.missing() {
        eprintln!(
            "{}: there is no such file yet; verdicts are shown once there is",
            file.display()
        );
    }
    let colours = Colours::of_output();
    let mut followed: Vec<_> = files.iter().map(|file| (file, Follower::new(file.clone()))).collect();
    let mut earlier: Option<VecDeque<KeptRecord>> = Some(VecDeque::new());
    loop {
        for (file, follower) in &mut followed {
            let take = |line: &[u8]| {
                let record = KeptRecord::of(line).filter(|record| !arguments.stopped || outcome(record).1 != "allow");
                match (record, &mut earlier) {
                    (None, _) => {}
                    (Some(record), None) => say!("{}", shown(&record, colours)),
                    (Some(record), Some(earlier)) => {
                        earlier.push_back(record);
                        if earlier.len() > arguments.lines {
                            earlier.pop_front();
                        }
                    }
                }
            };
            follower
                .poll(take)
                .with_context(|| format!("{}: cannot be read", file.display()))?;
        }
        for record in earlier.take().into_iter().flatten() {
            say!("{}", shown(&record, colours));
        }
        std::thread::sleep(EVERY);
    }
}

fn shown(record: &KeptRecord, colours: Colours) -> String {
    let (words, decision) = outcome(record);
    let time = record.time.get(11..19).unwrap_or(&record.time);
    let what = [Some(record.method.as_str()), record.tool.as_deref()];
    let who = [record.agent.as_deref(), record.session.as_deref()];
    let together = |parts: [Option<&str>; 2], with: &str| {
        let parts: Vec<String> = parts.into_iter().flatten().map(printable).collect();
        parts.join(with)
    };
    let codes = record
        .would_be()
        .map_or(&record.reason_codes, |observed| &observed.reason_codes);
    let seen = by_weight(record)
        .into_iter()
        .find_map(|finding| finding.seen.as_deref());
    let mut line = format!(
        "{}  {}  {:8}  {}",
        printable(time),
        colours.paint(decision, &format!("{:12}", printable(&words))),
        printable(&record.source),
        together(what, " "),
    );
    let who = together(who, "/");
    let seen = seen.filter(|_| decision != "allow").map(quoted).unwrap_or_default();
    for part in [who, printable(&codes.join(", ")), seen, printable(&record.decision_id)] {
        if !part.is_empty() {
            line.push_str("  ");
            line.push_str(&part);
        }
    }
    line
}
