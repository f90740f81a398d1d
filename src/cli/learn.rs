//! `guardian learn`: adapt the built-in model to an organisation, and show what was learned.

mod report;
mod suites;

use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, Subcommand};

use super::{ConfigArgument, Ended, Quiet, organisation, printable, start_logging};
use crate::config::Config;
use crate::learning::{self, Floor, Learned, Outcome, Standing, State, Store, card, model_file};
use crate::local::Model;
use crate::model::OrganisationId;

/// Learn from the judge's verdicts: adapt the built-in model to an organisation, or show what was learned.
///
/// Without a command it learns now. A model that holds its bounds goes into shadow; a serving guardian compares it with the judge there, and
/// lets it settle steps once they agree. Where no model is taken, it says why.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    learn: LearnArguments,
}

#[derive(Debug, Args)]
struct LearnArguments {
    /// Suites that a person labelled (`guardian eval label`): they outweigh the judge. Needs --organisation, where there are several.
    #[arg(long, value_name = "SUITE", num_args = 1..)]
    labels: Vec<PathBuf>,
    /// A floor besides the built-in one, made by `guardian learn floor`; needed where `[local_judge] model` names a model [default:
    /// `[learning] floor`].
    #[arg(long, value_name = "FILE")]
    floor: Option<PathBuf>,
    #[command(flatten)]
    of: Of,
}

/// Whose models, and by which configuration.
#[derive(Clone, Debug, Args)]
struct Of {
    /// The organisation [default: each that the configuration has].
    #[arg(long, value_name = "ID")]
    organisation: Option<String>,
    #[command(flatten)]
    config: ConfigArgument,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show which model is live and which in shadow, and what the judge said of them.
    Status(Of),
    /// Show what happened: learned, promoted, demoted, and why.
    History(Of),
    /// Take the live model back, for the one before it, or for the built-in one.
    Rollback(Of),
    /// Show the card of a model: what it is made of, and within what bounds.
    Explain {
        /// Its version [default: the live one, else the one in shadow].
        version: Option<String>,
        #[command(flatten)]
        of: Of,
    },
    /// Show the shapes of calls that are kept: tool, arguments, verdicts, sessions, days.
    Shapes(Of),
    /// Show what is asked, settled and saved, by day and by tool.
    Report(report::Arguments),
    /// Erase what is kept of a session or a user.
    #[command(group = clap::ArgGroup::new("whose").required(true))]
    Forget {
        /// The session.
        #[arg(long, value_name = "ID", group = "whose")]
        session: Option<String>,
        /// The user.
        #[arg(long, value_name = "ID", group = "whose")]
        user: Option<String>,
        #[command(flatten)]
        of: Of,
    },
    /// Make a floor of labelled suites: steps that a learned model has to hold, as the scorer sees them, without their texts.
    Floor {
        /// Suites: `.jsonl` files, or folders of them.
        #[arg(required = true, value_name = "SUITE")]
        suites: Vec<PathBuf>,
        /// Write it there.
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
        #[command(flatten)]
        config: ConfigArgument,
    },
}

impl Of {
    fn config(&self) -> anyhow::Result<Config> {
        let config = self.config.load_to_ask_nobody()?;
        start_logging(&config, Quiet::Yes)?;
        Ok(config)
    }

    fn organisations(&self, config: &Config) -> anyhow::Result<Vec<OrganisationId>> {
        match &self.organisation {
            None => Ok(config.organisations.iter().map(|own| own.id.clone()).collect()),
            Some(id) => Ok(vec![organisation(config, id)?.id.clone()]),
        }
    }

    /// Prints a text about each organisation.
    fn each(&self, tell: impl Fn(&Config, &OrganisationId) -> anyhow::Result<String>) -> anyhow::Result<Ended> {
        let config = self.config()?;
        for id in self.organisations(&config)? {
            let told = tell(&config, &id)?;
            super::output::write(format_args!("{id}\n{told}"));
        }
        Ok(Ended::Done)
    }
}

pub(super) async fn run(arguments: &Arguments) -> anyhow::Result<Ended> {
    match &arguments.command {
        None => learn(&arguments.learn).await,
        Some(Command::Status(of)) => of.each(status),
        Some(Command::History(of)) => of.each(history),
        Some(Command::Rollback(of)) => of.each(rollback),
        Some(Command::Explain { version, of }) => of.each(|config, id| explain(config, id, version.as_deref())),
        Some(Command::Shapes(of)) => of.each(shapes),
        Some(Command::Report(arguments)) => report::run(arguments),
        Some(Command::Forget { session, user, of }) => of.each(|config, id| {
            let folder = config.learning.folder(id);
            let gone = match folder.exists() {
                true => Store::open(&folder)?.forget(session.as_deref(), user.as_deref())?,
                false => 0,
            };
            if gone > 0 {
                State::change(&folder, |state| {
                    (state.live, state.shadow) = (None, None);
                    state.note(
                        "forgotten",
                        "",
                        &format!("{gone} kept steps were erased, and the models with them"),
                        None,
                    );
                })?;
            }
            Ok(match gone {
                0 => "  nothing is kept of them\n".to_owned(),
                gone => format!(
                    "  {gone} kept steps erased, and the models with them: the next learning makes another one\n"
                ),
            })
        }),
        Some(Command::Floor { suites, out, config }) => suites::write_floor(suites, out, config).await,
    }
}

fn base(config: &Config) -> anyhow::Result<Model> {
    Ok((*config.local_judge.open()?.model).clone())
}

async fn learn(arguments: &LearnArguments) -> anyhow::Result<Ended> {
    let config = arguments.of.config()?;
    let organisations = arguments.of.organisations(&config)?;
    let base = base(&config)?;
    let floor = Floor::with(&base, arguments.floor.as_deref().or(config.learning.floor.as_deref()))?;
    learning::step_back();
    if !arguments.labels.is_empty() {
        let [organisation] = organisations.as_slice() else {
            anyhow::bail!("--labels: expected --organisation, to say whose steps these are");
        };
        let kept = suites::keep_labels(&config, organisation, &base, &arguments.labels).await?;
        super::output::write(format_args!("{organisation}: {kept} labelled steps kept\n"));
    }
    let mut ended = Ended::Done;
    for organisation in &organisations {
        let told = match learning::learn_now(&config.learning, &base, &floor, organisation)? {
            Outcome::Learned(bytes, figures) => format!(
                "learned model {}: of {} kept steps it would settle {}, of which the judge denied {}; of {} attacks of the floor it would \
                 allow {}. It goes into shadow.",
                learning::version_of(&bytes),
                figures.steps,
                figures.settled,
                figures.settled_denied,
                figures.floor_attacks,
                figures.floor_allowed
            ),
            Outcome::NotTaken(_, why) => {
                ended = Ended::UnderThreshold;
                format!("no model is taken: {}", why.join("; "))
            }
        };
        super::output::write(format_args!("{organisation}: {told}\n"));
    }
    Ok(ended)
}

fn state(config: &Config, id: &OrganisationId) -> anyhow::Result<State> {
    let folder = config.learning.folder(id);
    State::read(&folder).with_context(|| format!("{}: state.json", folder.display()))
}

fn status(config: &Config, id: &OrganisationId) -> anyhow::Result<String> {
    let state = state(config, id)?;
    let learns = config.organisations.iter().any(|own| own.id == *id && own.learns);
    let mut told = match (learns, config.judge.is_some()) {
        (false, _) => "  learning is off (`[learning] enabled`)\n".to_owned(),
        (true, false) => "  there is no `[judge]` to learn from: nothing is kept\n".to_owned(),
        (true, true) => String::new(),
    };
    if state.rests() {
        told.push_str("  the schedule rests, since a model was taken back: `guardian learn` goes on\n");
    }
    let line = |name: &str, standing: &Option<Standing>| match standing {
        None => format!("  {name}: none\n"),
        Some(standing) => format!(
            "  {name}: {} since {}: the judge was asked about {} steps and denied {}; of {} that it settles it denied {}; settled without \
             the judge: {}; evidence against it {:.2} of {:.2}\n",
            standing.version,
            standing.since,
            standing.judged,
            standing.denied,
            standing.evidence.steps,
            standing.evidence.disagreed,
            standing.settled,
            standing.evidence.log_evidence.max(0.0),
            learning::ALARM.ln()
        ),
    };
    told.push_str(&line("live", &state.live));
    told.push_str(&line("shadow", &state.shadow));
    if let Some(last) = state.history.last() {
        told.push_str(&format!("  last: {} {} {}\n", last.time, last.what, last.why));
    }
    Ok(told)
}

fn history(config: &Config, id: &OrganisationId) -> anyhow::Result<String> {
    let events = state(config, id)?.history;
    let line =
        |event: &learning::Event| format!("  {} {:11} {:12} {}\n", event.time, event.what, event.model, event.why);
    Ok(events.iter().map(line).collect())
}

fn rollback(config: &Config, id: &OrganisationId) -> anyhow::Result<String> {
    let folder = config.learning.folder(id);
    anyhow::ensure!(folder.exists(), "{id}: nothing was learned");
    let mut told = String::new();
    State::change(&folder, |state| {
        let Some(live) = state.live.take() else {
            told = "  no model is live: the built-in one decides\n".to_owned();
            return;
        };
        // The last one that went live before, and was not taken back since.
        let gone = |version: &str| {
            let mut events = state.history.iter().rev().filter(|event| event.model == version);
            events.any(|event| matches!(event.what.as_str(), "demoted" | "rolled_back"))
        };
        let before = state.history.iter().rev().find(|event| {
            event.what == "promoted"
                && event.model != live.version
                && !gone(&event.model)
                && model_file(&folder, &event.model).exists()
        });
        let before = before.map(|event| event.model.clone());
        told = match &before {
            Some(version) => format!("  {} is taken back; {version} is live again\n", live.version),
            None => format!("  {} is taken back; the built-in model decides\n", live.version),
        };
        told.push_str("  the schedule rests until `guardian learn` makes another model\n");
        state.shadow = None;
        state.live = before.as_deref().map(Standing::new);
        state.note("rolled_back", &live.version, "by `guardian learn rollback`", None);
    })?;
    Ok(told)
}

fn explain(config: &Config, id: &OrganisationId, version: Option<&str>) -> anyhow::Result<String> {
    let state = state(config, id)?;
    let standing = state.live.or(state.shadow).map(|standing| standing.version);
    let Some(version) = version.map(str::to_owned).or(standing) else {
        let last = state
            .history
            .last()
            .map_or("nothing was learned yet", |event| &event.why);
        return Ok(format!("  no model: {last}\n"));
    };
    let is_version = version.len() == 12 && version.bytes().all(|byte| byte.is_ascii_hexdigit());
    anyhow::ensure!(
        is_version,
        "expected a version of 12 hexadecimal digits, found `{}`",
        printable(&version)
    );
    let path = model_file(&config.learning.folder(id), &version);
    let bytes = std::fs::read(&path).with_context(|| format!("{}: cannot be read", path.display()))?;
    let learned = Learned::parse(&bytes, id.as_str(), &base(config)?)?;
    Ok(card(&learned.header, &version))
}

fn shapes(config: &Config, id: &OrganisationId) -> anyhow::Result<String> {
    let folder = config.learning.folder(id);
    if !folder.exists() {
        return Ok("  nothing is kept\n".to_owned());
    }
    let state = State::read(&folder)?;
    let live = match state.live {
        Some(live) => Some(Learned::parse(
            &std::fs::read(model_file(&folder, &live.version))?,
            id.as_str(),
            &base(config)?,
        )?),
        None => None,
    };
    let mut told = String::new();
    for line in Store::open(&folder)?.shapes()? {
        let known = live.as_ref().is_some_and(|live| live.knows_shape(line.shape));
        told.push_str(&format!(
            "  {} {}({}): allowed {}, denied {}, in {} sessions on {} days\n",
            if known { "settled" } else { "asked  " },
            printable(&line.tool),
            printable(&line.arguments),
            line.allowed,
            line.denied,
            line.sessions,
            line.days
        ));
    }
    Ok(told)
}
