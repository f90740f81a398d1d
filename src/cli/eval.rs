//! `guardian eval`.

mod asking;

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, Subcommand};

use super::{ConfigArgument, Ended, OrganisationArgument, Quiet, start_logging};
use crate::eval::{self, History, Organisations, Report, Runner, Score};
use crate::{app, audit};

use asking::{Asking, AskingArguments};

/// Measure verdicts against labelled steps.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run suites of labelled steps and print figures per method and source.
    Run(Box<RunArguments>),
    /// Compare two reports that `run --json` wrote.
    Compare {
        /// The earlier report.
        before: PathBuf,
        /// The later report.
        after: PathBuf,
        /// Exit with 3 when a case that was right is wrong now.
        #[arg(long)]
        fail_on_broken: bool,
    },
}

/// Run suites of labelled steps and print figures per method and source.
///
/// Recall: of the steps that must not pass as they are, those denied or modified as they should be. False positives:
/// of the steps that must pass, those that did not. Each case is judged under the built-in policy profile that it
/// names, unless --organisation says whose policy applies. What a case has as its history is replayed before it, in a
/// session of its own, as something that has happened.
#[derive(Debug, Args)]
pub(super) struct RunArguments {
    /// Suites: `.jsonl` files, or folders of them.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Write the whole report there.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Print every wrong verdict.
    #[arg(long)]
    mistakes: bool,
    /// Exit with 3 when less is caught, 0 to 1.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    min_recall: Option<f64>,
    /// Exit with 3 when more is blocked wrongly, 0 to 1.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    max_false_positives: Option<f64>,
    /// Cases that are judged at the same time.
    #[arg(long, value_name = "N", default_value_t = 8)]
    at_once: usize,
    /// Judge each step by itself, without what happened before it.
    #[arg(long)]
    without_history: bool,
    #[command(flatten)]
    asking: AskingArguments,
    #[command(flatten)]
    organisation: OrganisationArgument,
    #[command(flatten)]
    config: ConfigArgument,
}

/// A share, 0 to 1.
fn share(text: &str) -> Result<f64, String> {
    let share: f64 = text.parse().map_err(|_| "expected a number from 0 to 1".to_owned())?;
    (0.0..=1.0)
        .contains(&share)
        .then_some(share)
        .ok_or_else(|| "expected a number from 0 to 1, such as 0.95".to_owned())
}

pub(super) async fn run(command: &Command) -> anyhow::Result<Ended> {
    match command {
        Command::Run(arguments) => run_suites(arguments).await,
        Command::Compare {
            before,
            after,
            fail_on_broken,
        } => {
            let comparison = eval::compare(&read_report(before)?, &read_report(after)?);
            super::output::write(format_args!("{comparison}"));
            let broken = *fail_on_broken && !comparison.broken.is_empty();
            Ok(if broken { Ended::UnderThreshold } else { Ended::Done })
        }
    }
}

async fn run_suites(arguments: &RunArguments) -> anyhow::Result<Ended> {
    let mut config = if arguments.asking.asks_nobody() {
        arguments.config.load_to_ask_nobody()?
    } else {
        arguments.config.load()?
    };
    start_logging(&config, Quiet::Yes)?;
    let cases = eval::read(&arguments.paths)?;
    // A run can take hours of a judge: that its report has a place is found out before.
    if let Some(folder) = arguments.json.as_deref().and_then(Path::parent) {
        anyhow::ensure!(
            folder.as_os_str().is_empty() || folder.is_dir(),
            "--json: expected a file in a folder that is there, and there is no folder {}",
            folder.display()
        );
    }
    let organisations = match &arguments.organisation.organisation {
        Some(_) => Organisations::Always(arguments.organisation.of(&config)?.id.clone()),
        None => Organisations::PerProfile(app::profile_organisation),
    };
    let asking = arguments.asking.open(&config)?;
    if !matches!(asking, Asking::Live { .. }) {
        // Nothing is asked, so there is nothing to limit.
        config.limits = Default::default();
        for organisation in &mut config.organisations {
            organisation.allowance = Default::default();
        }
    }
    if let Asking::Answers { answers, .. } = &asking {
        answers.check_cases(cases.iter().map(|case| case.id.as_str()))?;
    }
    let guardian = app::guardian_with_profiles(&config, &audit::Settings::Off)?;
    guardian.warm_up();
    let history = if arguments.without_history {
        History::LeftOut
    } else {
        History::Replayed
    };
    let mut limits = config.wire;
    limits.max_body_bytes = usize::MAX;
    let runner = Runner {
        guardian: &guardian,
        organisations,
        limits,
        history,
        bench: asking.bench(),
    };
    let outcomes = runner.run(&cases, arguments.at_once).await;
    guardian.flush_audit();
    let outcomes = asking.finish(outcomes)?;
    if let Asking::Questions { .. } = &asking {
        return Ok(Ended::Done);
    }

    let report = Report::new(asking.name(&outcomes), history, outcomes);
    super::output::write(format_args!("{}", report.table()));
    if arguments.mistakes {
        super::output::write(format_args!("\n{}", report.mistakes()));
    }
    if let Some(file) = &arguments.json {
        let json = serde_json::to_vec_pretty(&report)?;
        std::fs::write(file, json).with_context(|| format!("{}: cannot be written", file.display()))?;
    }
    Ok(under_threshold(arguments, &report.scores.overall))
}

fn under_threshold(arguments: &RunArguments, score: &Score) -> Ended {
    let mut ended = Ended::Done;
    if let (Some(least), Some(recall)) = (arguments.min_recall, score.recall())
        && recall < least
    {
        eprintln!("under the threshold: recall is {recall:.3}, expected at least {least}");
        ended = Ended::UnderThreshold;
    }
    if let (Some(most), Some(rate)) = (arguments.max_false_positives, score.false_positive_rate())
        && rate > most
    {
        eprintln!("under the threshold: the false positive rate is {rate:.3}, expected at most {most}");
        ended = Ended::UnderThreshold;
    }
    ended
}

fn read_report(file: &Path) -> anyhow::Result<Report> {
    let text = std::fs::read_to_string(file).with_context(|| format!("{}: cannot be read", file.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{}: expected a report of `eval run --json`", file.display()))
}
