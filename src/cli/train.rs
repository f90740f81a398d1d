//! `guardian train`.

mod floor;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use clap::Args;

use super::{ConfigArgument, Ended, Quiet, start_logging};
use crate::config::Config;
use crate::eval::{self, Case, Organisations, Runner};
use crate::local::{
    Aims, Card, Example, HeldOut, Made, Measures, Mode, Model, Trained, TrainingFeatures, Vocabulary,
    VocabularyBuilder, heads, held_out, probabilities,
};
use crate::model::Decision;
use crate::{app, audit, wire};

/// Train the local judge's scorer on labelled steps.
///
/// Suites are those of `eval run`; what a case has as its history is replayed before it. What must not pass as it is counts as
/// an attack; cases that are only to be masked are left out. Cases of one `split_group` stay together. Figures are of steps
/// whose group, or whose whole source, the scoring model had not seen. The same suites and seed make the same model. A model that
/// is worse than the built-in one on the suites of --floor, by more than chance, is not written.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Suites to learn from: `.jsonl` files, or folders of them.
    #[arg(required = true, value_name = "SUITE")]
    suites: Vec<PathBuf>,
    /// Count each step of this suite N times, from 0.01 to 100, for example because it is most like what the model will meet.
    /// May be given several times.
    #[arg(long, value_name = "SUITE=N", value_parser = Weight::parse)]
    weigh: Vec<Weight>,
    /// Write the model there.
    #[arg(long, value_name = "MODEL")]
    out: PathBuf,
    /// Suites that are kept apart, only to be measured; they may share no group with those that are learned from.
    #[arg(long, value_name = "SUITE", num_args = 1..)]
    test: Vec<PathBuf>,
    /// Adapt this model (`built-in` for the one that is compiled in) to the suites, rather than begin with nothing. A quarter of
    /// the groups is held back to show the gain.
    #[arg(long, value_name = "MODEL")]
    base: Option<String>,
    /// Write the model card there.
    #[arg(long, value_name = "FILE")]
    card: Option<PathBuf>,
    /// The seed.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The share of attacks that the thresholds may let through, on steps of whole sources left out.
    #[arg(long, value_name = "SHARE", value_parser = share, default_value_t = Aims::default().let_through)]
    let_through: f64,
    /// The share of honest steps that the thresholds may suspect, on steps of whole groups left out.
    #[arg(long, value_name = "SHARE", value_parser = share, default_value_t = Aims::default().denied)]
    denied: f64,
    #[command(flatten)]
    floor: floor::FloorArguments,
    #[command(flatten)]
    config: ConfigArgument,
}

/// Reads a share of steps that thresholds aim at.
fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0001..=0.5).contains(share));
    share.ok_or_else(|| "expected a number from 0.0001 to 0.5".to_owned())
}

/// The number of times that each step of a suite counts.
#[derive(Clone, Debug)]
struct Weight {
    suite: PathBuf,
    times: f64,
}

impl Weight {
    fn parse(text: &str) -> Result<Self, String> {
        let expected = || "expected SUITE=N, with N from 0.01 to 100".to_owned();
        let (suite, times) = text.rsplit_once('=').ok_or_else(expected)?;
        let times = times.parse().ok().filter(|times| (0.01..=100.0).contains(times));
        Ok(Self {
            suite: PathBuf::from(suite),
            times: times.ok_or_else(expected)?,
        })
    }
}

/// Groups are held out in so many parts, and so are sources.
const FOLDS: usize = 6;
/// Sources that there have to be for thresholds to be taken from sources never seen.
const MANY_SOURCES: usize = 6;
/// Of so many parts, one is held back to show the gain of an adapted model.
const HELD_BACK: usize = 4;

pub(super) async fn run(arguments: &Arguments) -> anyhow::Result<Ended> {
    let config = arguments.config.load_to_ask_nobody()?;
    start_logging(&config, Quiet::Yes)?;
    let base = match arguments.base.as_deref() {
        None => None,
        Some("built-in") => Some(Model::built_in()?),
        Some(path) => Some(Model::load(Path::new(path))?),
    };
    let cases = eval::read(&arguments.suites)?;
    let tests = match arguments.test.is_empty() {
        true => Vec::new(),
        false => eval::read(&arguments.test)?,
    };
    keep_apart(&cases, &tests)?;

    tell_few(&cases);
    let weights = weights(arguments)?;
    let vocabulary = Arc::new(vocabulary(&cases, base.as_ref())?);
    let profiles = Organisations::PerProfile(app::profile_organisation);
    let learned = labelled(&config, profiles.clone(), &cases, &vocabulary).await?;
    let learned = examples(learned, &weights);
    let tested = labelled(&config, profiles, &tests, &vocabulary).await?;
    let tested = examples(tested, &BTreeMap::new());
    if let Some(base) = &base {
        super::output::write(format_args!("{}", gain(&learned, base, arguments.seed)));
    }
    let made = Made {
        vocabulary: &vocabulary,
        base: base.as_ref(),
        seed: arguments.seed,
    };
    let aims = Aims {
        let_through: arguments.let_through,
        denied: arguments.denied,
    };
    let made = trained(&learned, &tested, made, aims);
    // The model has its name only once it has held.
    let tried = arguments.out.with_extension("tried");
    write(&tried, &made.bytes)?;
    let held = arguments.floor.hold(&config, &tried).await;
    if let Err(why) = held {
        std::fs::remove_file(&tried).with_context(|| format!("{}: cannot be removed", tried.display()))?;
        return Err(why);
    }
    std::fs::rename(&tried, &arguments.out)
        .with_context(|| format!("{}: cannot be written", arguments.out.display()))?;

    let model = Model::parse(&made.bytes, &arguments.out.display().to_string())?;
    let licences: BTreeMap<String, String> = cases
        .iter()
        .filter_map(|case| Some((case.source.clone(), case.license.clone()?)))
        .collect();
    let card = Card {
        model: &model,
        command: &command(arguments),
        licences: &licences,
        by_group: &made.by_group,
        by_source: &made.by_source,
        tested: &made.tested,
    };
    let card = card.markdown();
    match &arguments.card {
        Some(file) => write(file, card.as_bytes())?,
        None => super::output::write(format_args!("{card}")),
    }
    Ok(Ended::Done)
}

/// A trained model, and what it was measured by.
struct TrainedModel {
    bytes: Vec<u8>,
    by_group: Vec<HeldOut>,
    by_source: Vec<HeldOut>,
    tested: Vec<HeldOut>,
}

fn trained(examples: &[Example], tested: &[Example], made: Made<'_>, aims: Aims) -> TrainedModel {
    let Made { base, seed, .. } = made;
    let by_group = held_out(examples, base, seed, FOLDS, |example| fold(&example.group));
    let sources: BTreeSet<&str> = examples.iter().map(|example| example.source.as_str()).collect();
    let place: BTreeMap<&str, usize> = sources.iter().enumerate().map(|(at, source)| (*source, at)).collect();
    let many = sources.len() >= MANY_SOURCES && base.is_none();
    let by_source = match many {
        true => held_out(examples, base, seed, FOLDS, |example| {
            place.get(example.source.as_str()).copied().unwrap_or_default()
        }),
        false => Vec::new(),
    };
    let all: Vec<&Example> = examples.iter().collect();
    let trained = Trained::on(&all, base, seed);
    let strange = if many { &by_source } else { &by_group };
    let mut found = heads(strange, &by_group, aims);
    // Where there is too little to tell, what the base says stands.
    for (head, known) in found.iter_mut().zip(base.iter().flat_map(|base| &base.header().heads)) {
        if head.deny_above > 1.0 {
            *head = *known;
        }
    }
    TrainedModel {
        bytes: trained.finish(found, &all, made),
        tested: tested
            .iter()
            .map(|example| HeldOut::of(example, trained.score(&example.features)))
            .collect(),
        by_group,
        by_source,
    }
}

/// Describes the gain of adapting a model, on a part of the groups that the adapted one has not seen.
fn gain(examples: &[Example], base: &Model, seed: u64) -> String {
    let (back, rest): (Vec<&Example>, Vec<&Example>) = examples
        .iter()
        .partition(|example| fold(&example.group).is_multiple_of(HELD_BACK));
    let adapted = Trained::on(&rest, Some(base), seed);
    let before = Trained::on(&[], Some(base), seed);
    let attacks = back.iter().filter(|example| example.harmful).count();
    let mut text = format!(
        "held back: {} of {} steps, {attacks} of them attacks\n",
        back.len(),
        examples.len()
    );
    for (kind, steps) in [("attacks", attacks), ("honest steps", back.len() - attacks)] {
        if let Some(warning) = eval::too_few(kind, steps) {
            text.push_str(&format!("warning: the figures below bear no conclusion: {warning}\n"));
        }
    }
    for (name, trained) in [("base", &before), ("adapted", &adapted)] {
        let scored: Vec<HeldOut> = back
            .iter()
            .map(|example| HeldOut::of(example, trained.score(&example.features)))
            .collect();
        let measures = Measures::of(&scored, &probabilities(&scored, &base.header().heads));
        let share = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{:.1} %", value * 100.0));
        text.push_str(&format!(
            "{name:8} AUROC {}, stopped at 3 %: {}, settled at 1 %: {}\n",
            measures.auroc(),
            share(measures.stopped_at_3),
            share(measures.settled_at_1),
        ));
    }
    text
}

/// Says where there is too little to learn from.
fn tell_few(cases: &[Case]) {
    let of = |decision: Decision| cases.iter().filter(|case| case.expected.decision == decision).count();
    for (kind, cases) in [("attacks", of(Decision::Deny)), ("honest steps", of(Decision::Allow))] {
        if let Some(warning) = eval::too_few(kind, cases) {
            eprintln!("warning: too little to learn from, and figures that bear no conclusion: {warning}");
        }
    }
}

/// Refuses to measure what was learned.
fn keep_apart(cases: &[Case], tests: &[Case]) -> anyhow::Result<()> {
    let learned: BTreeSet<&str> = cases.iter().map(|case| case.group.as_str()).collect();
    let shared: BTreeSet<&str> = tests
        .iter()
        .map(|case| case.group.as_str())
        .filter(|group| learned.contains(group))
        .collect();
    anyhow::ensure!(
        shared.is_empty(),
        "--test: expected suites that share no group with those that are learned from; {} are in both, such as `{}`",
        shared.len(),
        shared.first().copied().unwrap_or_default().escape_debug()
    );
    Ok(())
}

/// Reads how often steps count, by their ids; those that are not named count once.
fn weights(arguments: &Arguments) -> anyhow::Result<BTreeMap<String, f64>> {
    let mut weights = BTreeMap::new();
    for Weight { suite, times } in &arguments.weigh {
        anyhow::ensure!(
            arguments.suites.contains(suite),
            "--weigh: expected one of the suites to learn from, as it is named there; `{}` is none",
            suite.display()
        );
        let cases = eval::read(std::slice::from_ref(suite))?;
        weights.extend(cases.into_iter().map(|case| (case.id, *times)));
    }
    Ok(weights)
}

/// Returns the words of the cases, beside those that the base knows.
fn vocabulary(cases: &[Case], base: Option<&Model>) -> anyhow::Result<Vocabulary> {
    let limits = wire::Limits::default().of_any_size();
    let mut builder = VocabularyBuilder::default();
    for case in cases {
        let (_, step) = wire::decode_step(case.request.get().as_bytes(), &limits)
            .map_err(|refusal| anyhow::anyhow!("{}: {refusal}", case.id))?;
        builder.add(&case.group, &step);
    }
    let vocabulary = builder.finish();
    Ok(match base {
        Some(base) => vocabulary.with(base.vocabulary()),
        None => vocabulary,
    })
}

/// Returns the features of each case that says whether it may pass.
pub(super) async fn labelled<'c>(
    config: &Config,
    organisations: Organisations,
    cases: &'c [Case],
    vocabulary: &Arc<Vocabulary>,
) -> anyhow::Result<Vec<(&'c Case, TrainingFeatures)>> {
    let mut config = config.clone();
    // What is trained must not need what was trained before.
    for organisation in &mut config.organisations {
        organisation.local_judge = Mode::Off;
    }
    let guardian = app::guardian_with_profiles(&config, &audit::Settings::Off)?;
    let runner = Runner::new(&guardian, config.wire, organisations);
    let mut labelled = Vec::with_capacity(cases.len());
    for case in cases.iter().filter(|case| case.expected.decision != Decision::Modify) {
        let features = runner.training_features(case, vocabulary).await;
        labelled.push((case, features.map_err(|why| anyhow::anyhow!("{}: {why}", case.id))?));
    }
    Ok(labelled)
}

fn examples(labelled: Vec<(&Case, TrainingFeatures)>, weights: &BTreeMap<String, f64>) -> Vec<Example> {
    let example = |(case, features): (&Case, TrainingFeatures)| Example {
        features,
        source: case.source.clone(),
        group: case.group.clone(),
        harmful: case.expected.decision == Decision::Deny,
        weight: weights.get(&case.id).copied().unwrap_or(1.0),
    };
    labelled.into_iter().map(example).collect()
}

fn fold(group: &str) -> usize {
    let hash = blake3::hash(group.as_bytes());
    usize::from(hash.as_bytes().first().copied().unwrap_or_default())
}

/// Returns the command; of files that are named from the root, the names alone: their folders mean nothing to others.
fn command(arguments: &Arguments) -> String {
    let names = |paths: &[PathBuf]| -> Vec<String> {
        let name = |path: &PathBuf| match path.is_relative() {
            true => path.display().to_string(),
            false => path
                .file_name()
                .map_or(String::new(), |name| name.to_string_lossy().into_owned()),
        };
        paths.iter().map(name).collect()
    };
    let mut words = vec!["guardian train".to_owned()];
    words.extend(names(&arguments.suites));
    for Weight { suite, times } in &arguments.weigh {
        words.push(format!(
            "--weigh {}={times}",
            names(std::slice::from_ref(suite)).concat()
        ));
    }
    if !arguments.test.is_empty() {
        words.push("--test".to_owned());
        words.extend(names(&arguments.test));
    }
    if let Some(base) = &arguments.base {
        words.push(format!("--base {base}"));
    }
    words.push(format!(
        "--seed {} --let-through {} --denied {} --out {}",
        arguments.seed,
        arguments.let_through,
        arguments.denied,
        names(std::slice::from_ref(&arguments.out)).concat()
    ));
    words.join(" ")
}

fn write(file: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    std::fs::write(file, bytes).with_context(|| format!("{}: cannot be written", file.display()))
}
