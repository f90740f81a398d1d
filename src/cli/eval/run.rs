//! `guardian eval run`.

use std::path::{Path, PathBuf};

use clap::Args;

use super::asking::Asking;
use super::check::tell_notes;
use super::conditions::{ConditionArguments, bound_sessions, check_organisations, unlimit};
use super::estimate::Estimate;
use super::keeping::{KeepingArguments, Ran};
use super::progress::Progress;
use super::{times_file, write_file};
use crate::cli::output::write;
use crate::cli::{Ended, Quiet, printable, start_logging};
use crate::config::Config;
use crate::eval::{self, Case, Report, RunFacts, RunKey, Score, Selection, Suites, Times};
use crate::{app, audit};

/// Run suites of labelled steps and print figures per method and source.
///
/// Recall: of the steps that must not pass as they are, those denied or modified as they should be. False positives:
/// of the steps that must pass, those that did not. Both with their 95 % interval (Wilson). Each case is judged under the policy
/// of the configuration: that of its first organisation, or of --organisation, or of the one that the case names
/// (`expected.organisation`). Where the configuration says nothing of policies, or with --profiles, it is the built-in profile
/// that the case names (`expected.policy`). What a case has as its history is replayed before it, in a session of its own, as
/// something that has happened.
#[derive(Debug, Args)]
pub(in crate::cli) struct Arguments {
    /// Suites: `.jsonl` files, or folders of them.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Write the whole report there, and the times of its cases beside it (`run.json`: `run.times.json`).
    #[arg(long, value_name = "FILE", conflicts_with = "batch_out")]
    json: Option<PathBuf>,
    /// Print every wrong verdict, the worst first.
    #[arg(long, conflicts_with = "batch_out")]
    mistakes: bool,
    /// Exit with 3 when less is caught, 0 to 1.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    min_recall: Option<f64>,
    /// Exit with 3 when more is blocked wrongly, 0 to 1.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    max_false_positives: Option<f64>,
    /// Also print the precision where this share of all steps are attacks, 0 to 1.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    base_rate: Option<f64>,
    /// Cases that are judged at the same time.
    #[arg(long, value_name = "N", default_value_t = 8)]
    at_once: usize,
    /// Judge each case so often; the decision that is made most often counts, and the report says how often all agreed.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=50))]
    repeat: u8,
    /// Run the others where a case cannot be read.
    #[arg(long)]
    skip_unreadable: bool,
    #[command(flatten)]
    selecting: SelectingArguments,
    #[command(flatten)]
    keeping: KeepingArguments,
    #[command(flatten)]
    pub(super) conditions: ConditionArguments,
}

/// Which cases are run.
#[derive(Debug, Args)]
struct SelectingArguments {
    /// Run only cases of this source; may be given several times.
    #[arg(long, value_name = "NAME")]
    source: Vec<String>,
    /// Run only cases with this tag; may be given several times.
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// Run only cases of this method; may be given several times.
    #[arg(long, value_name = "METHOD")]
    method: Vec<String>,
    /// Run so many cases, drawn at random.
    #[arg(long, value_name = "N")]
    sample: Option<usize>,
    /// The seed of the draw: the same cases and seed make the same sample.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// A share, 0 to 1.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let share: f64 = text.parse().map_err(|_| "expected a number from 0 to 1".to_owned())?;
    (0.0..=1.0)
        .contains(&share)
        .then_some(share)
        .ok_or_else(|| "expected a number from 0 to 1, such as 0.95".to_owned())
}

pub(super) async fn run(arguments: &Arguments) -> anyhow::Result<Ended> {
    match measure(arguments, arguments.conditions.configured()?, arguments.json.as_deref()).await? {
        Some(report) => tell(arguments, &report),
        None => Ok(Ended::Done),
    }
}

/// Runs the cases under a configuration; no report where questions are only written out, or calls only estimated. The log of a
/// run whose report goes to a file stands beside it.
pub(super) async fn measure(
    arguments: &Arguments,
    mut config: Config,
    file: Option<&Path>,
) -> anyhow::Result<Option<Report>> {
    start_logging(&config, Quiet::Yes)?;
    anyhow::ensure!(
        arguments.repeat == 1 || arguments.conditions.asking.asks_anew(),
        "--repeat: expected a judge that is asked anew each time; a batch or a recording holds one answer to a question"
    );
    let suites = readable(arguments)?;
    let selection = arguments.selecting.selection();
    let cases = selection.of(&suites.cases);
    anyhow::ensure!(!cases.is_empty(), "none of {} cases is selected", suites.cases.len());
    check_organisations(&cases, &config)?;
    tell_notes(&suites);
    // A run can take hours of a judge: that its report has a place is found out before.
    if let Some(folder) = file.and_then(Path::parent) {
        anyhow::ensure!(
            folder.as_os_str().is_empty() || folder.is_dir(),
            "--json: expected a file in a folder that is there, and there is no folder {}",
            folder.display()
        );
    }
    let (organisations, policy) = arguments.conditions.in_force(&config)?;
    let asking = arguments.conditions.asking.open(&config)?;
    unlimit(&mut config, &asking);
    bound_sessions(&mut config, arguments.at_once);
    if let Asking::Answers { answers, .. } = &asking {
        answers.check_cases(cases.iter().map(|case| case.id.as_str()))?;
    }
    let guardian = app::guardian_with_profiles(&config, &audit::Settings::Off)?;
    let (bench, meter) = asking.bench(&guardian, arguments.keeping.ceiling());
    let mut runner = arguments.conditions.runner(&guardian, &config, organisations, bench);
    runner.repeat = usize::from(arguments.repeat);
    let key = RunKey {
        guardian: env!("CARGO_PKG_VERSION").to_owned(),
        judge: asking.name(&[]),
        policy: policy.clone(),
        history: arguments.conditions.history().as_str().to_owned(),
        repeat: runner.repeat,
        cases: RunKey::digest(&cases),
    };
    let (mut log, done) = arguments.keeping.open(file, &key)?;
    let known: std::collections::BTreeSet<&str> = done.iter().map(|outcome| outcome.id.as_str()).collect();
    let left: Vec<&Case> = cases
        .iter()
        .filter(|case| !known.contains(case.id.as_str()))
        .copied()
        .collect();
    if let Some(judge) = asking.asked(&guardian).filter(|_| !left.is_empty()) {
        let estimate = Estimate::of(&runner, judge, &config, &left, arguments.at_once).await?;
        eprintln!("the judge is going to be asked: {estimate}");
    }
    if arguments.keeping.estimate {
        return Ok(None);
    }
    let progress = Progress::new(cases.len(), &done, meter);
    let ran = Ran::of(&runner, &left, arguments.at_once, log.as_mut(), done, progress).await?;
    guardian.flush_audit();
    let (outcomes, ended) = ran.in_order(&cases);
    asking.finish(&outcomes)?;
    if let Asking::Questions { .. } = &asking {
        return Ok(None);
    }
    let facts = RunFacts {
        selection: selection.describe(cases.len(), suites.cases.len()),
        unreadable: suites.unreadable.iter().map(ToString::to_string).collect(),
        incomplete: ended.map(|why| format!("{why} after {} of {} cases", outcomes.len(), cases.len())),
        ..RunFacts::new(asking.name(&outcomes), policy, arguments.conditions.history())
    };
    Ok(Some(Report::new(facts, outcomes)))
}

/// Prints and writes the report.
fn tell(arguments: &Arguments, report: &Report) -> anyhow::Result<Ended> {
    for line in report.table().lines() {
        write(format_args!("{}\n", printable(line)));
    }
    if let Some(base_rate) = arguments.base_rate {
        let precision = report.scores.overall.precision_at(base_rate);
        let precision = precision.map_or_else(|| "-".to_owned(), |share| format!("{:.1} %", share * 100.0));
        write(format_args!(
            "precision where {:.3} % of the steps are attacks: {precision}\n",
            base_rate * 100.0
        ));
    }
    if arguments.mistakes {
        write(format_args!("\n"));
        for line in report.mistakes().lines() {
            write(format_args!("{}\n", printable(line)));
        }
    }
    if let Some(why) = &report.incomplete {
        // What there is is in the log. A report of a part would pass for one of the whole.
        eprintln!("error: {why}; --resume goes on with the rest");
        return Ok(Ended::Failed);
    }
    if let Some(file) = &arguments.json {
        write_file(file, &serde_json::to_vec_pretty(report)?)?;
        write_file(&times_file(file), &serde_json::to_vec(&Times::of(&report.outcomes))?)?;
        arguments.keeping.done(file)?;
    }
    Ok(under_threshold(arguments, &report.scores.overall))
}

/// The suites; an error where a case cannot be read, unless such are to be skipped.
fn readable(arguments: &Arguments) -> anyhow::Result<Suites> {
    let suites = eval::read_all(&arguments.paths)?;
    let (severity, most) = if arguments.skip_unreadable {
        ("skipped", 20)
    } else {
        ("error", 20)
    };
    for error in suites.unreadable.iter().take(most) {
        eprintln!("{severity}: {}", printable(&error.to_string()));
    }
    anyhow::ensure!(
        suites.unreadable.is_empty() || arguments.skip_unreadable,
        "{} cases cannot be read; mend them, or run the others with --skip-unreadable",
        suites.unreadable.len()
    );
    Ok(suites)
}

impl SelectingArguments {
    fn selection(&self) -> Selection {
        Selection {
            sources: self.source.clone(),
            tags: self.tag.clone(),
            methods: self.method.clone(),
            sample: self.sample,
            seed: self.seed,
        }
    }
}

fn under_threshold(arguments: &Arguments, score: &Score) -> Ended {
    let mut ended = Ended::Done;
    // Where there is no such case, nothing is known, and the threshold does not hold.
    if let Some(least) = arguments.min_recall
        && score.recall().is_none_or(|recall| recall < least)
    {
        let found = score
            .recall()
            .map_or("unknown: there are no attacks".to_owned(), |recall| {
                format!("{recall:.3}")
            });
        eprintln!("under the threshold: recall is {found}, expected at least {least}");
        ended = Ended::UnderThreshold;
    }
    if let Some(most) = arguments.max_false_positives
        && score.false_positive_rate().is_none_or(|rate| rate > most)
    {
        let rate = score.false_positive_rate();
        let found = rate.map_or("unknown: there are no honest steps".to_owned(), |rate| {
            format!("{rate:.3}")
        });
        eprintln!("under the threshold: the false positive rate is {found}, expected at most {most}");
        ended = Ended::UnderThreshold;
    }
    ended
}
