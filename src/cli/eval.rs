//! `guardian eval`.

mod asking;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, Subcommand};

use super::{ConfigArgument, Ended, OrganisationArgument, Quiet, start_logging};
use crate::config::Config;
use crate::eval::{self, Case, History, Organisations, Report, Runner, Score};
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
/// of the steps that must pass, those that did not. Each case is judged under the policy of the configuration: that of its first
/// organisation, or of --organisation, or of the one that the case names (`expected.organisation`). Where the configuration says
/// nothing of policies, or with --profiles, it is the built-in profile that the case names (`expected.policy`). What a case has
/// as its history is replayed before it, in a session of its own, as something that has happened.
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
    /// Judge each case under the built-in profile that it names, also where the configuration has a policy.
    #[arg(long, conflicts_with = "organisation")]
    profiles: bool,
    /// Ask no endpoint: measure what the guardian decides by itself.
    #[arg(long, conflicts_with = "record")]
    offline: bool,
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
    } else if arguments.asking.records() {
        arguments.config.load()?
    } else {
        arguments.config.load_to_ask_if_possible(arguments.offline)?
    };
    // A measurement leaves no records among those of real steps.
    config.audit = Some(audit::Settings::Off);
    config.sessions = config.sessions.map(crate::session::Settings::in_process);
    start_logging(&config, Quiet::Yes)?;
    let cases = eval::read(&arguments.paths)?;
    check_organisations(&cases, &config)?;
    tell_unread(&cases);
    // A run can take hours of a judge: that its report has a place is found out before.
    if let Some(folder) = arguments.json.as_deref().and_then(Path::parent) {
        anyhow::ensure!(
            folder.as_os_str().is_empty() || folder.is_dir(),
            "--json: expected a file in a folder that is there, and there is no folder {}",
            folder.display()
        );
    }
    let (organisations, policy) = in_force(arguments, &config)?;
    let asking = arguments.asking.open(&config)?;
    // Suites hold more attacks in a minute than traffic does.
    config.limits.suspected_per_minute = std::num::NonZeroU32::MAX;
    if !matches!(asking, Asking::Live { .. }) {
        // Nothing is asked, so there is nothing to limit.
        config.limits = crate::limit::Settings {
            suspected_per_minute: config.limits.suspected_per_minute,
            ..Default::default()
        };
        for organisation in &mut config.organisations {
            organisation.allowance = Default::default();
        }
    }
    if let Asking::Answers { answers, .. } = &asking {
        answers.check_cases(cases.iter().map(|case| case.id.as_str()))?;
    }
    let guardian = app::guardian_with_profiles(&config, &audit::Settings::Off)?;
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

    let report = Report::new(asking.name(&outcomes), policy, history, outcomes);
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

/// Whose policy is in force, and its name for the report.
fn in_force(arguments: &RunArguments, config: &Config) -> anyhow::Result<(Organisations, String)> {
    let asked_for = arguments.organisation.organisation.is_some();
    if !asked_for && (arguments.profiles || !config.says_policy) {
        let name = "as each case names it".to_owned();
        return Ok((Organisations::PerProfile(app::profile_organisation), name));
    }
    let organisation = arguments.organisation.of(config)?;
    let policy = app::policy(organisation)?;
    let name = format!("{} {} of `{}`", policy.name, policy.version, organisation.id);
    Ok((Organisations::Always(organisation.id.clone()), name))
}

/// Every organisation that a case names is there.
fn check_organisations(cases: &[Case], config: &Config) -> anyhow::Result<()> {
    for case in cases {
        let Some(id) = &case.expected.organisation else {
            continue;
        };
        if config.organisations.iter().any(|known| known.id.as_str() == id) {
            continue;
        }
        let known: Vec<&str> = config.organisations.iter().map(|known| known.id.as_str()).collect();
        anyhow::bail!(
            "{}: `expected.organisation`: there is no organisation `{id}` in {}; there are: {}",
            case.place,
            config.file,
            known.join(", ")
        );
    }
    Ok(())
}

/// Keys that nobody knows are no error, but whoever wrote them should hear that they do nothing.
fn tell_unread(cases: &[Case]) {
    let mut unread: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
    for case in cases {
        for key in &case.unread {
            unread.entry(key).or_insert((0, &case.place)).0 += 1;
        }
    }
    for (key, (times, place)) in unread.into_iter().take(20) {
        eprintln!(
            "note: `{}` is no key of a labelled step and does nothing ({times} times, first at {place})",
            super::printable(key)
        );
    }
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
