//! The collector: a thread that keeps verdicts, tests models against the judge, promotes and demotes them, and learns on a schedule.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use super::card::card;
use super::figures::Figures;
use super::floor::Floor;
use super::learn::{LearnInput, Outcome, learn};
use super::learned::{Learned, version_of};
use super::state::{Standing, State, model_file};
use super::store::{Day, Store, StoreError};
use super::trial::{self, Trial};
use super::{Count, Learning, Live, Message, Settings, Shared, Verdicted, today};
use crate::files;
use crate::local::Model;
use crate::model::OrganisationId;
use crate::telemetry::names;

/// Messages that may wait for the collector.
const WAITING: usize = 4_096;
/// The interval at which counts and evidence are written, and states that other processes wrote are looked for.
const TICK: Duration = Duration::from_secs(2);
/// The interval at which steps and counts that are too old are erased.
const RETAIN: Duration = Duration::from_secs(3_600);
/// Tools of an organisation that are counted by name.
const MAX_TOOLS: usize = 200;
/// Stores that are open at the same time.
const MAX_OPEN: usize = 64;

/// Steps after which a model in shadow that did not go live makes way for a new one.
const MAX_IN_SHADOW: u64 = 800;
impl Learning {
    /// Starts the collector.
    pub fn start(settings: Settings, base: Arc<Model>) -> Self {
        let (queue, inbox) = sync_channel(WAITING);
        let shared = Arc::new(Shared {
            settings,
            base,
            organisations: Default::default(),
        });
        let collector = Collector {
            shared: Arc::clone(&shared),
            open: HashMap::new(),
            retained: Instant::now(),
            next_learning: shared.settings.every.map(|every| Instant::now() + every),
            learning: None,
        };
        let started = std::thread::Builder::new()
            .name("learning".to_owned())
            .spawn(move || collector.run(&inbox));
        if let Err(error) = started {
            tracing::error!(%error, "the thread that learns from the judge could not be started");
        }
        Self { shared, queue }
    }
}

struct Collector {
    shared: Arc<Shared>,
    open: HashMap<OrganisationId, Open>,
    retained: Instant,
    next_learning: Option<Instant>,
    learning: Option<std::thread::JoinHandle<()>>,
}

/// The open store of an organisation, with its models and what is not written yet.
struct Open {
    store: Store,
    state: State,
    /// The time at which the file of the state was changed, as far as is known.
    changed: Option<SystemTime>,
    live: Arc<Live>,
    shadow: Option<Learned>,
    counts: HashMap<String, Count>,
    /// Tools that are counted by name; all others are counted together.
    tools: HashSet<String>,
    tested: bool,
}

impl Collector {
    fn run(mut self, inbox: &Receiver<Message>) {
        let mut ticked = Instant::now();
        loop {
            match inbox.recv_timeout(TICK.saturating_sub(ticked.elapsed())) {
                Ok(Message::Flush(done)) => {
                    self.tick();
                    // The caller may have stopped waiting.
                    let _ = done.try_send(());
                }
                Ok(message) => {
                    if let Err(error) = self.take(message) {
                        metrics::counter!(names::LEARNING_LOST).increment(1);
                        tracing::error!(%error, "a verdict could not be kept");
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return self.tick(),
            }
            if ticked.elapsed() >= TICK {
                self.tick();
                ticked = Instant::now();
            }
        }
    }

    fn take(&mut self, message: Message) -> Result<(), StoreError> {
        match message {
            Message::Verdict(organisation, verdict) => {
                let base = Arc::clone(&self.shared.base);
                let open = self.opened(&organisation)?;
                let folder_change = open.test(&verdict, &base);
                if verdict.learns {
                    let added = open.store.add(&verdict, today())?;
                    metrics::counter!(names::LEARNING_STEPS, "outcome" => added.as_str()).increment(1);
                }
                if let Some(change) = folder_change {
                    self.change(&organisation, change);
                }
            }
            Message::Count(organisation, tool, count) => {
                let open = self.opened(&organisation)?;
                let named =
                    open.tools.contains(&tool) || (open.tools.len() < MAX_TOOLS && open.tools.insert(tool.clone()));
                let tool = if named { tool } else { "(other tools)".to_owned() };
                open.counts.entry(tool).or_default().add(&count);
            }
            Message::Open(organisation) => {
                self.opened(&organisation)?;
            }
            Message::Flush(_) => {}
        }
        Ok(())
    }

    fn opened(&mut self, organisation: &OrganisationId) -> Result<&mut Open, StoreError> {
        if !self.open.contains_key(organisation) {
            if self.open.len() >= MAX_OPEN {
                self.tick();
                self.open.clear();
            }
            let folder = self.shared.settings.folder(organisation);
            let store = Store::open(&folder)?;
            store.retain(today() - self.shared.settings.keep_days)?;
            let open = Open {
                store,
                state: State::default(),
                changed: None,
                live: Arc::default(),
                shadow: None,
                counts: HashMap::new(),
                tools: HashSet::new(),
                tested: false,
            };
            self.open.insert(organisation.clone(), open);
            self.refresh(organisation);
        }
        self.open
            .get_mut(organisation)
            .ok_or_else(|| std::io::Error::other("the store is gone").into())
    }

    /// Leaves an organisation to the built-in model, until its state can be written or read again.
    fn suspend(&mut self, organisation: &OrganisationId) {
        if let Some(open) = self.open.get_mut(organisation) {
            open.live = Arc::new(Live::default());
            self.shared.serve(organisation, &open.live);
        }
    }

    /// Reads the state of an organisation again where it has changed, and the models that it names.
    fn refresh(&mut self, organisation: &OrganisationId) {
        let folder = self.shared.settings.folder(organisation);
        let Some(open) = self.open.get_mut(organisation) else {
            return;
        };
        let changed = std::fs::metadata(folder.join("state.json"))
            .and_then(|file| file.modified())
            .ok();
        let known = self.shared.organisations.read().unwrap_or_else(PoisonError::into_inner);
        let served = known
            .get(organisation)
            .is_some_and(|live| Arc::ptr_eq(live, &open.live));
        drop(known);
        if changed == open.changed && served {
            return;
        }
        open.changed = changed;
        match State::read(&folder) {
            Ok(state) => open.state = state,
            Err(error) => {
                tracing::error!(%organisation, %error, "the state of learned models cannot be read; the built-in one decides");
                self.suspend(organisation);
                return;
            }
        }
        let base = &self.shared.base;
        let load = |standing: &Option<Standing>| {
            let version = &standing.as_ref()?.version;
            load(&folder, version, organisation, base)
                .inspect_err(|error| tracing::error!(%organisation, version, "a learned model cannot be used: {error}"))
                .ok()
        };
        let live = load(&open.state.live);
        open.shadow = load(&open.state.shadow);
        let same = live.as_ref().map(Learned::version) == open.live.learned.as_ref().map(Learned::version);
        if !same || !served {
            open.live = Arc::new(Live {
                learned: live,
                ..Live::default()
            });
            self.shared.serve(organisation, &open.live);
        }
    }

    /// Changes the models that an organisation uses, on disk and then here.
    fn change(&mut self, organisation: &OrganisationId, change: Change) {
        let folder = self.shared.settings.folder(organisation);
        let Some(open) = self.open.get_mut(organisation) else {
            return;
        };
        let (what, version, why) = (change.what(), change.version().to_owned(), change.why().to_owned());
        let (live, shadow) = (open.state.live.clone(), open.state.shadow.clone());
        let changed = State::change(&folder, |state| {
            // Another process may have changed it meanwhile: then there is nothing to do.
            state.keep_evidence(live, shadow);
            change.apply(state);
        });
        match changed {
            Ok(_) => tracing::warn!(%organisation, model = version, "learned model {what}: {why}"),
            Err(error) => {
                tracing::error!(%organisation, %error, "the state of learned models cannot be written");
                // A model decides only once the file of the state names it.
                self.suspend(organisation);
                return;
            }
        }
        metrics::counter!(names::LEARNING_MODELS, "event" => what).increment(1);
        open.changed = None;
        open.tested = false;
        self.refresh(organisation);
    }

    fn tick(&mut self) {
        let retain = self.retained.elapsed() >= RETAIN;
        if retain {
            self.retained = Instant::now();
        }
        let first_day = today() - self.shared.settings.keep_days;
        let organisations: Vec<OrganisationId> = self.open.keys().cloned().collect();
        for organisation in &organisations {
            let folder = self.shared.settings.folder(organisation);
            if let Some(open) = self.open.get_mut(organisation)
                && let Err(error) = open.write(&folder, retain.then_some(first_day))
            {
                tracing::error!(%organisation, %error, "what was counted could not be kept");
            }
            self.refresh(organisation);
        }
        let due = self.next_learning.is_some_and(|at| at <= Instant::now());
        let idle = self.learning.as_ref().is_none_or(std::thread::JoinHandle::is_finished);
        if due && idle {
            self.next_learning = self.shared.settings.every.map(|every| Instant::now() + every);
            let shared = Arc::clone(&self.shared);
            let learn = move || {
                for organisation in &organisations {
                    if let Err(error) = learn_now(
                        &shared.settings,
                        &shared.base,
                        &Floor::built_in(&shared.base),
                        organisation,
                    ) {
                        tracing::error!(%organisation, %error, "nothing could be learned");
                    }
                }
            };
            self.learning = std::thread::Builder::new().name("learn".to_owned()).spawn(learn).ok();
        }
    }
}

impl Open {
    /// Tests the models by a verdict of the judge. Returns the change that follows, where one does.
    fn test(&mut self, verdict: &Verdicted, base: &Model) -> Option<Change> {
        if let (Some(standing), Some(learned)) = (&mut self.state.live, &self.live.learned) {
            self.tested = true;
            if verdict.audits.as_deref() == Some(learned.version()) {
                let outcome = if verdict.harmful { "disagrees" } else { "agrees" };
                metrics::counter!(names::LEARNING_AUDITS, "outcome" => outcome).increment(1);
            }
            if let Some(why) = trial::live(standing, learned, verdict) {
                return Some(Change::Demote(standing.version.clone(), why));
            }
        }
        let (standing, learned) = (self.state.shadow.as_mut()?, self.shadow.as_ref()?);
        self.tested = true;
        let version = standing.version.clone();
        trial::shadow(standing, learned, base, verdict).map(|outcome| match outcome {
            Trial::Passed(why) => Change::Promote(version, why),
            Trial::Failed(why) => Change::Reject(version, why),
        })
    }

    fn write(&mut self, folder: &Path, first_day: Option<i64>) -> Result<(), StoreError> {
        let day = today();
        let days = self.counts.drain().map(|(tool, count)| Day { day, tool, count });
        let days: Vec<Day> = days.collect();
        if !days.is_empty() {
            if let (Some(standing), true) = (&mut self.state.live, self.live.learned.is_some()) {
                standing.settled += days.iter().map(|day| day.count.learned).sum::<u64>();
                self.tested = true;
            }
            self.store.count(&days)?;
        }
        if let Some(first_day) = first_day {
            self.store.retain(first_day)?;
        }
        if std::mem::take(&mut self.tested) {
            let (live, shadow) = (self.state.live.clone(), self.state.shadow.clone());
            State::change(folder, |state| state.keep_evidence(live, shadow))?;
            // This process does not read again what it wrote. Where another one put other models in use meanwhile, `changed` stays as it is,
            // and the next refresh reads them.
            let written = State::read(folder)?;
            let same = |a: &Option<Standing>, b: &Option<Standing>| {
                a.as_ref().map(|a| &a.version) == b.as_ref().map(|b| &b.version)
            };
            if same(&written.live, &self.state.live) && same(&written.shadow, &self.state.shadow) {
                self.changed = std::fs::metadata(folder.join("state.json"))
                    .and_then(|file| file.modified())
                    .ok();
                self.state = written;
            }
        }
        Ok(())
    }
}

impl State {
    /// Puts newer evidence in the place of older, of the same models.
    fn keep_evidence(&mut self, live: Option<Standing>, shadow: Option<Standing>) {
        for (own, newer) in [(&mut self.live, live), (&mut self.shadow, shadow)] {
            if let (Some(own), Some(newer)) = (own, newer)
                && own.version == newer.version
            {
                *own = newer;
            }
        }
    }
}

/// A change of the model that an organisation uses: its version, and the reason.
enum Change {
    Promote(String, String),
    Demote(String, String),
    Reject(String, String),
}

impl Change {
    fn what(&self) -> &'static str {
        match self {
            Change::Promote(..) => "promoted",
            Change::Demote(..) => "demoted",
            Change::Reject(..) => "rejected",
        }
    }

    fn version(&self) -> &str {
        let (Change::Promote(version, _) | Change::Demote(version, _) | Change::Reject(version, _)) = self;
        version
    }

    fn why(&self) -> &str {
        let (Change::Promote(_, why) | Change::Demote(_, why) | Change::Reject(_, why)) = self;
        why
    }

    fn apply(&self, state: &mut State) {
        let is = |standing: &Option<Standing>| standing.as_ref().is_some_and(|own| own.version == self.version());
        match self {
            Change::Promote(version, _) if is(&state.shadow) => {
                state.shadow = None;
                state.live = Some(Standing::new(version));
            }
            // Back to shadow, with evidence that begins anew.
            Change::Demote(version, _) if is(&state.live) => {
                state.live = None;
                state.shadow = Some(Standing::new(version));
            }
            Change::Reject(..) if is(&state.shadow) => state.shadow = None,
            Change::Promote(..) | Change::Demote(..) | Change::Reject(..) => return,
        }
        state.note(self.what(), self.version(), self.why(), None);
    }
}

/// Reads the model of an organisation.
fn load(folder: &Path, version: &str, organisation: &OrganisationId, base: &Model) -> Result<Learned, String> {
    let bytes = std::fs::read(model_file(folder, version)).map_err(|error| error.to_string())?;
    if version_of(&bytes) != version {
        return Err("the file does not hold what its name says".to_owned());
    }
    Learned::parse(&bytes, organisation.as_str(), base).map_err(|error| error.to_string())
}

/// Returns the reason why a model that is compared with the judge stays in shadow: a new one would begin the comparison anew.
fn still_in_shadow(state: &State) -> Option<String> {
    let shadow = state.shadow.as_ref().filter(|shadow| shadow.judged < MAX_IN_SHADOW)?;
    Some(format!(
        "model {} is in shadow, and was compared with the judge on {} steps of at most {MAX_IN_SHADOW}",
        shadow.version, shadow.judged
    ))
}

/// Learns from the kept steps of an organisation. A model goes into shadow; where none is taken, the reasons are noted.
///
/// # Errors
///
/// When the store or the state cannot be used.
pub fn learn_now(
    settings: &Settings,
    base: &Model,
    floor: &Floor,
    organisation: &OrganisationId,
) -> Result<Outcome, StoreError> {
    let folder = settings.folder(organisation);
    let kept = Store::open(&folder)?.steps(base.version())?;
    if let Some(why) = still_in_shadow(&State::read(&folder)?) {
        return Ok(Outcome::NotTaken(Figures::default(), vec![why]));
    }
    let input = LearnInput {
        organisation: organisation.as_str(),
        min_days: settings.min_days,
    };
    let outcome = learn(base, floor, &kept, input);
    match &outcome {
        Outcome::Learned(bytes, figures) => {
            let version = version_of(bytes);
            files::replace(&model_file(&folder, &version), bytes)?;
            if let Ok(learned) = Learned::parse(bytes, organisation.as_str(), base) {
                let told = card(&learned.header, &version);
                files::replace(&folder.join(format!("{version}.md")), told.as_bytes())?;
            }
            State::change(&folder, |state| {
                let is_live = state.live.as_ref().is_some_and(|live| live.version == version);
                let is_shadow = state.shadow.as_ref().is_some_and(|shadow| shadow.version == version);
                if !is_live && !is_shadow {
                    state.shadow = Some(Standing::new(&version));
                }
                state.note("learned", &version, "it goes into shadow", Some(figures.clone()));
            })?;
            tracing::info!(%organisation, model = version, settled = figures.settled, steps = figures.steps, "learned a model");
        }
        Outcome::NotTaken(figures, why) => {
            let why = why.join("; ");
            tracing::info!(%organisation, why, "no model was learned");
            State::change(&folder, |state| {
                // Said once, until something else happens.
                let told = state
                    .history
                    .last()
                    .is_some_and(|last| last.what == "not_taken" && last.why == why);
                if !told {
                    state.note("not_taken", "", &why, Some(figures.clone()));
                }
            })?;
        }
    }
    metrics::gauge!(names::LEARNING_LAST).set(jiff::Timestamp::now().as_second() as f64);
    Ok(outcome)
}
