//! `guardian eval run`.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;

use super::answers::AnswerSource;
use super::check::Notes;
use super::conditions::{ConditionArguments, bound_sessions, check_organisation, unlimit};
use super::estimate::Estimate;
use super::progress::Progress;
use super::run_files::{RunFileArguments, run_cases};
use super::times_file;
use crate::cli::output::write;
use crate::cli::{Ended, Quiet, printable, start_logging};
use crate::config::Config;
use crate::eval::{Chosen, Report, RunFacts, RunKey, RunLog, Score, Selection, Times};
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
    run_files: RunFileArguments,
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

/// Reads a share, 0 to 1.
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
) -> anyhow::Result<Option<Report<RunLog>>> {
    start_logging(&config, Quiet::Yes)?;
    anyhow::ensure!(
        arguments.repeat == 1 || arguments.conditions.answers.asks_anew(),
        "--repeat: expected a judge that is asked anew each time; a batch or a recording holds one answer to a question"
    );
    let chosen = chosen(arguments, &config)?;
    anyhow::ensure!(!chosen.is_empty(), "none of {} cases is selected", chosen.all);
    // A run can take hours of a judge: that its report has a place is found out before.
    if let Some(folder) = file.and_then(Path::parent) {
        anyhow::ensure!(
            folder.as_os_str().is_empty() || folder.is_dir(),
            "--json: expected a file in a folder that is there, and there is no folder {}",
            folder.display()
        );
    }
    let (organisations, policy) = arguments.conditions.in_force(&config)?;
    let answers = arguments.conditions.answers.open(&config)?;
    unlimit(&mut config, &answers);
    bound_sessions(&mut config, arguments.at_once);
    let guardian = app::guardian_with_profiles(&config, &audit::Settings::Off)?;
    let (judge, meter) = answers.judge(&guardian, arguments.run_files.ceiling());
    let mut runner = arguments.conditions.runner(&guardian, &config, organisations, judge);
    runner.repeat = usize::from(arguments.repeat);
    let key = RunKey {
        guardian: env!("CARGO_PKG_VERSION").to_owned(),
        judge: answers.name().to_owned(),
        policy: policy.clone(),
        history: arguments.conditions.history().as_str().to_owned(),
        repeat: runner.repeat,
        cases: chosen.digest(),
    };
    let mut log = arguments.run_files.open(file, &key)?;
    let mut progress = Progress::new(chosen.len(), meter);
    // Outcomes stand in the log in the order of the cases: what is left is the rest.
    let mut done = 0;
    for outcome in log.outcomes() {
        progress.tick(&outcome?);
        done += 1;
    }
    progress.begin();
    if let Some(judge) = answers.asked(&guardian).filter(|_| done < chosen.len()) {
        let estimate = Estimate::of(&runner, judge, &config, (&chosen, done), arguments.at_once).await?;
        eprintln!("the judge is going to be asked: {estimate}");
    }
    if arguments.run_files.estimate {
        return Ok(None);
    }
    let left = chosen.cases()?.skip(done);
    let ended = run_cases(&runner, left, arguments.at_once, &mut log, &mut progress).await?;
    guardian.flush_audit();
    answers.finish(&log)?;
    if let AnswerSource::Questions { .. } = &answers {
        return Ok(None);
    }
    let facts = RunFacts {
        selection: chosen.describe(),
        unreadable: chosen.unreadable.iter().map(ToString::to_string).collect(),
        incomplete: ended.map(|why| format!("{why} after {} of {} cases", progress.done(), chosen.len())),
        ..RunFacts::new(answers.name().to_owned(), policy, arguments.conditions.history())
    };
    Ok(Some(Report::of_log(facts, log)?))
}

/// Prints and writes the report.
fn tell(arguments: &Arguments, report: &Report<RunLog>) -> anyhow::Result<Ended> {
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
        for line in report.mistakes()?.lines() {
            write(format_args!("{}\n", printable(line)));
        }
    }
    if let Some(why) = &report.incomplete {
        // What there is is in the log. A report of a part would pass for one of the whole.
        eprintln!("error: {why}; --resume goes on with the rest");
        return Ok(Ended::Failed);
    }
    if let Some(file) = &arguments.json {
        write_json(file, |out| serde_json::to_writer_pretty(out, report))?;
        let times = Times::of(&report.outcomes)?;
        write_json(&times_file(file), |out| serde_json::to_writer(out, &times))?;
        arguments.run_files.done(file)?;
    }
    Ok(under_threshold(arguments, &report.scores.overall))
}

/// The cases; an error where one cannot be read, unless such are to be skipped.
fn chosen(arguments: &Arguments, config: &Config) -> anyhow::Result<Chosen> {
    let mut notes = Notes::default();
    let chosen = arguments.selecting.selection().of(&arguments.paths, |case| {
        notes.add(case);
        check_organisation(case, config)
    })?;
    let severity = if arguments.skip_unreadable { "skipped" } else { "error" };
    for error in chosen.unreadable.iter().take(20) {
        eprintln!("{severity}: {}", printable(&error.to_string()));
    }
    anyhow::ensure!(
        chosen.unreadable.is_empty() || arguments.skip_unreadable,
        "{} cases cannot be read; mend them, or run the others with --skip-unreadable",
        chosen.unreadable.len()
    );
    notes.tell();
    Ok(chosen)
}

/// Writes a file bit by bit: a report can be large.
fn write_json(file: &Path, write: impl FnOnce(&mut BufWriter<File>) -> serde_json::Result<()>) -> anyhow::Result<()> {
    let place = || format!("{}: cannot be written", file.display());
    let mut out = BufWriter::new(File::create(file).with_context(place)?);
    write(&mut out).with_context(place)?;
    out.flush().with_context(place)
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
