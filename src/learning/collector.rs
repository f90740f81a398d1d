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
/// Stores that are open at the same time; the one that was used longest ago makes room.
const MAX_OPEN: usize = 128;
/// The longest time for which counts of an organisation wait whose store is not open.
const COUNTS: Duration = Duration::from_secs(30);
/// The interval at which organisations are looked for that are due to be learned for.
const LOOK: Duration = Duration::from_secs(600);

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
            counts: HashMap::new(),
            counted: Instant::now(),
            retained: Instant::now(),
            next_look: shared.settings.every.map(|every| Instant::now() + every.min(LOOK)),
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
    counts: HashMap<OrganisationId, Counts>,
    /// The last time at which all counts were written.
    counted: Instant,
    retained: Instant,
    next_look: Option<Instant>,
    learning: Option<std::thread::JoinHandle<()>>,
}

/// Counts of an organisation that are not written yet.
#[derive(Default)]
struct Counts {
    of_tools: HashMap<String, Count>,
    /// Tools that are counted by name; all others are counted together.
    tools: HashSet<String>,
}

impl Counts {
    fn add(&mut self, tool: String, count: &Count) {
        let named = self.tools.contains(&tool) || (self.tools.len() < MAX_TOOLS && self.tools.insert(tool.clone()));
        let tool = if named { tool } else { "(other tools)".to_owned() };
        self.of_tools.entry(tool).or_default().add(count);
    }
}

/// The open store of an organisation, with its models and what is not written yet.
struct Open {
    store: Store,
    state: State,
    /// The time at which the file of the state was changed, as far as is known.
    changed: Option<SystemTime>,
    live: Arc<Live>,
    shadow: Option<Learned>,
    /// Sessions in the trial of the model in shadow.
    sessions: trial::Sessions,
    tested: bool,
    used: Instant,
}

impl Collector {
    fn run(mut self, inbox: &Receiver<Message>) {
        let mut ticked = Instant::now();
        loop {
            match inbox.recv_timeout(TICK.saturating_sub(ticked.elapsed())) {
                Ok(Message::Flush(done)) => {
                    self.tick();
                    self.write_counts();
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
                Err(RecvTimeoutError::Disconnected) => {
                    self.tick();
                    return self.write_counts();
                }
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
                let (base, min_days) = (Arc::clone(&self.shared.base), self.shared.settings.min_days);
                let open = self.opened(&organisation)?;
                let folder_change = open.test(&verdict, &base, min_days);
                if verdict.learns {
                    let added = open.store.add(&verdict, today())?;
                    metrics::counter!(names::LEARNING_STEPS, "outcome" => added.as_str()).increment(1);
                }
                if let Some(change) = folder_change {
                    self.change(&organisation, change);
                }
            }
            Message::Count(organisation, tool, count) => {
                self.counts.entry(organisation).or_default().add(tool, &count);
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
                self.close_one();
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
                sessions: trial::Sessions::default(),
                tested: false,
                used: Instant::now(),
            };
            self.open.insert(organisation.clone(), open);
            self.refresh(organisation);
        }
        let open = self.open.get_mut(organisation);
        let open = open.ok_or_else(|| std::io::Error::other("the store is gone"))?;
        open.used = Instant::now();
        Ok(open)
    }

    /// Closes the store that was used longest ago; what was not written of it is.
    fn close_one(&mut self) {
        let oldest = self.open.iter().min_by_key(|(_, open)| open.used);
        if let Some(organisation) = oldest.map(|(organisation, _)| organisation.clone()) {
            self.write(&organisation, None);
            self.open.remove(&organisation);
        }
    }

    /// Writes what is not written yet of an organisation whose store is open.
    fn write(&mut self, organisation: &OrganisationId, first_day: Option<i64>) {
        let folder = self.shared.settings.folder(organisation);
        let counts = self.counts.remove(organisation).unwrap_or_default();
        if let Some(open) = self.open.get_mut(organisation)
            && let Err(error) = open.write(&folder, counts, first_day)
        {
            tracing::error!(%organisation, %error, "what was counted could not be kept");
        }
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
        let shadow = load(&open.state.shadow);
        if shadow.as_ref().map(Learned::version) != open.shadow.as_ref().map(Learned::version) {
            open.sessions = trial::Sessions::default();
        }
        open.shadow = shadow;
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
            self.write(organisation, retain.then_some(first_day));
            self.refresh(organisation);
        }
        if self.counted.elapsed() >= COUNTS {
            self.write_counts();
        }
        self.learn_where_due();
    }

    /// Writes all counts, also where the store has to be opened for them.
    fn write_counts(&mut self) {
        self.counted = Instant::now();
        let counted: Vec<OrganisationId> = self.counts.keys().cloned().collect();
        for organisation in counted {
            match self.opened(&organisation) {
                Ok(_) => self.write(&organisation, None),
                Err(error) => tracing::error!(%organisation, %error, "what was counted could not be kept"),
            }
        }
    }

    /// Starts to learn for each organisation whose time has come, on a thread of its own.
    fn learn_where_due(&mut self) {
        let Some(every) = self.shared.settings.every else {
            return;
        };
        let due = self.next_look.is_some_and(|at| at <= Instant::now());
        let idle = self.learning.as_ref().is_none_or(std::thread::JoinHandle::is_finished);
        if !due || !idle {
            return;
        }
        self.next_look = Some(Instant::now() + every.min(LOOK));
        let shared = Arc::clone(&self.shared);
        let learn = move || {
            step_back();
            let known = shared.organisations.read().unwrap_or_else(PoisonError::into_inner);
            let organisations: Vec<OrganisationId> = known.keys().cloned().collect();
            drop(known);
            for organisation in &organisations {
                if let Err(error) = learn_if_due(&shared, every, organisation) {
                    tracing::error!(%organisation, %error, "nothing could be learned");
                }
            }
        };
        self.learning = std::thread::Builder::new().name("learn".to_owned()).spawn(learn).ok();
    }
}

/// Learns for an organisation for which that was not done for so long, unless an operator's last word was to take a model back.
fn learn_if_due(shared: &Shared, every: Duration, organisation: &OrganisationId) -> Result<(), StoreError> {
    let state = State::read(&shared.settings.folder(organisation))?;
    let every = i64::try_from(every.as_secs()).unwrap_or(i64::MAX);
    let looked = state
        .looked
        .is_some_and(|looked| jiff::Timestamp::now().as_second() - looked < every);
    if looked || state.rests() {
        return Ok(());
    }
    let floor = Floor::with(&shared.base, shared.settings.floor.as_deref())?;
    learn_now(&shared.settings, &shared.base, &floor, organisation).map(drop)
}

/// Gives this thread the lowest priority: steps that are decided meanwhile come first.
pub fn step_back() {
    // Only there has a thread a priority of its own.
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, 19) {
        tracing::debug!(%error, "learning runs with the priority of everything else");
    }
}

impl Open {
    /// Tests the models by a verdict of the judge. Returns the change that follows, where one does.
    fn test(&mut self, verdict: &Verdicted, base: &Model, min_days: usize) -> Option<Change> {
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
        trial::shadow(standing, &mut self.sessions, learned, base, verdict, min_days).map(|outcome| match outcome {
            Trial::Passed(why) => Change::Promote(version, why),
            Trial::Failed(why) => Change::Reject(version, why),
        })
    }

    fn write(&mut self, folder: &Path, counts: Counts, first_day: Option<i64>) -> Result<(), StoreError> {
        let day = today();
        let days = counts
            .of_tools
            .into_iter()
            .map(|(tool, count)| Day { day, tool, count });
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
            // For good: a trial that begins anew could be passed by what has nothing to do with it.
            Change::Demote(..) if is(&state.live) => state.live = None,
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
    let now = jiff::Timestamp::now().as_second();
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
                state.looked = Some(now);
                state.note("learned", &version, "it goes into shadow", Some(figures.clone()));
            })?;
            tracing::info!(%organisation, model = version, settled = figures.settled, steps = figures.steps, "learned a model");
        }
        Outcome::NotTaken(figures, why) => {
            let why = why.join("; ");
            tracing::info!(%organisation, why, "no model was learned");
            State::change(&folder, |state| {
                state.looked = Some(now);
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
