//! `guardian monitor`.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Context;
use clap::Args;

use super::output::say;
use super::records::{Colours, Records, RecordsArgument, agent_of, by_weight, outcome, quoted};
use super::{Ended, printable};
use crate::audit::{AuditDatabase, Follower, KeptRecord};
use crate::pipeline::Guardian;

/// Show verdicts as they are given, one a line, until it is interrupted.
///
/// Follows the audit file, also when it is rotated, or the database of records. Each line has the time (UTC), the decision (`would deny` where it was observed only),
/// who decided, the step, organisation, agent and session, why, the words that counted most, and the id that `guardian why` takes.
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

/// The interval at which records are looked for.
const EVERY: Duration = Duration::from_millis(200);

/// Records that are followed.
enum Followed {
    Lines(Follower),
    /// With the last record of each chain that was shown.
    Database(AuditDatabase, Option<BTreeMap<String, i64>>),
}

impl Followed {
    fn poll(&mut self, mut take: impl FnMut(&[u8])) -> anyhow::Result<()> {
        match self {
            Followed::Lines(follower) => Ok(follower.poll(take)?),
            Followed::Database(database, reached) => Ok(database.since(reached, |line| take(line.as_bytes()))?),
        }
    }
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ended> {
    if let Some(file) = arguments.records.missing() {
        eprintln!(
            "{}: there is no such file yet; verdicts are shown once there is",
            file.display()
        );
    }
    if let Some(why) = arguments.records.unreadable() {
        eprintln!("note: {why}");
    }
    let colours = Colours::of_output();
    let follow = |records: Records| {
        let name = records.name();
        let followed = match records {
            Records::Lines(files) => {
                Followed::Lines(Follower::new(files.0.into_iter().next_back().unwrap_or_default()))
            }
            Records::Database(database, _) => Followed::Database(database, None),
        };
        (name, followed)
    };
    let mut followed: Vec<_> = arguments.records.records()?.into_iter().map(follow).collect();
    let mut earlier: Option<Vec<KeptRecord>> = Some(Vec::new());
    loop {
        for (name, followed) in &mut followed {
            let take = |line: &[u8]| {
                let record = KeptRecord::of(line).filter(|record| !arguments.stopped || outcome(record).1 != "allow");
                match (record, &mut earlier) {
                    (None, _) => {}
                    (Some(record), None) => say!("{}", shown(&record, colours)),
                    (Some(record), Some(earlier)) => earlier.push(record),
                }
            };
            followed.poll(take).with_context(|| format!("{name}: cannot be read"))?;
        }
        if let Some(mut earlier) = earlier.take() {
            earlier.sort_by(|one, other| one.decision_id.cmp(&other.decision_id));
            let too_many = earlier.len().saturating_sub(arguments.lines);
            for record in earlier.iter().skip(too_many) {
                say!("{}", shown(record, colours));
            }
        }
        std::thread::sleep(EVERY);
    }
}

fn shown(record: &KeptRecord, colours: Colours) -> String {
    let (words, decision) = outcome(record);
    let time = record.time.get(11..19).unwrap_or(&record.time);
    let what = [Some(record.method.as_str()), record.tool.as_deref()];
    let agent = agent_of(record);
    // Where there is no other organisation, its name says nothing.
    let default = Guardian::local_caller().organisation;
    let organisation = Some(record.organisation.as_str()).filter(|id| !id.is_empty() && *id != default.as_str());
    let who = [organisation, agent.as_deref(), record.session.as_deref()];
    let together = |parts: &[Option<&str>], with: &str| {
        let parts: Vec<String> = parts.iter().flatten().map(|part| printable(part)).collect();
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
        together(&what, " "),
    );
    let who = together(&who, "/");
    let seen = seen.filter(|_| decision != "allow").map(quoted).unwrap_or_default();
    for part in [who, printable(&codes.join(", ")), seen, printable(&record.decision_id)] {
        if !part.is_empty() {
            line.push_str("  ");
            line.push_str(&part);
        }
    }
    line
}
