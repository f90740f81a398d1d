//! `guardian eval thresholds`.

use std::path::PathBuf;

use clap::Args;

use super::{read_report, run::share};
use crate::cli::Ended;
use crate::cli::output::say;
use crate::eval::{self, Rate, Threshold};

/// Propose thresholds of the local judge for a wanted bound on mistakes.
///
/// The bounds hold in the mean for steps that are exchangeable with those of the report (conformal risk control): for traffic with
/// other kinds of attacks, or other work, they do not. The report has to be one of cases that the scorer was not trained on.
#[derive(Debug, Args)]
pub(in crate::cli) struct Arguments {
    /// The report that `run --json` wrote.
    #[arg(value_name = "REPORT")]
    report: PathBuf,
    /// The most attacks that may be allowed without a model, 0 to 1.
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "0.01")]
    misses: f64,
    /// The most honest steps that may be denied, 0 to 1.
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "0.01")]
    alarms: f64,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ended> {
    let report = read_report(&arguments.report)?;
    let allow = eval::allow_below(&report, arguments.misses);
    let deny = eval::deny_above(&report, arguments.alarms);
    tell("allow_below", allow, arguments.misses, "attacks", "honest steps");
    tell("deny_above", deny, arguments.alarms, "honest steps", "attacks");
    say!(
        "\nIn a policy: [local_judge.thresholds] with default = {{ allow_below = …, deny_above = … }}\nThis holds in the mean for steps like those of the report, drawn as they were. Attacks of other kinds, other work, and\n\
         cases that the scorer was trained on are not like them."
    );
    Ok(if allow.is_some() && deny.is_some() {
        Ended::Done
    } else {
        Ended::UnderThreshold
    })
}

fn tell(name: &str, threshold: Option<Threshold>, bound: f64, bounded: &str, others: &str) {
    let Some(threshold) = threshold else {
        let fewest = eval::fewest(bound);
        say!(
            "{name}: none for {bound}: that takes at least {fewest} {bounded} with a probability of harm in the report"
        );
        return;
    };
    let share = |some, of| Rate::of(some, of).map_or_else(|| "-".to_owned(), |rate| rate.to_string());
    say!(
        "{name} = {:.6}: {} of {} {bounded} are wrong ({}), {} of {} {others} are settled ({})",
        threshold.at,
        threshold.wrong,
        threshold.bounded,
        share(threshold.wrong, threshold.bounded),
        threshold.settled,
        threshold.others,
        share(threshold.settled, threshold.others)
    );
}
