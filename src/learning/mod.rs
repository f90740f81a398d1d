//! Learning from the judge: its verdicts are kept, and a model of the organisation's own settles steps like those that were always allowed.
//!
//! ```text
//! verdict of the judge ─▶ queue ─▶ collector ─▶ store ─▶ learn ─▶ shadow ─▶ live ─▶ the scorer settles what the built-in one is unsure about
//!                                     │                                       │
//!                                     └── the judge is asked about a share ◀──┘  too much disagreement: back to the built-in model
//! ```
//!
//! - **Collector** (`collector.rs`): a thread with a bounded queue; the only writer of stores and states in a serving guardian.
//! - **Store** (`store.rs`): one SQLite file for each organisation, in a folder of its own.
//! - **Learn** (`learn.rs`, `floor.rs`): a model within bounds, or the reasons why there is none.
//! - **Learned** (`learned.rs`): a model file: moves of weights over the built-in model, thresholds, known shapes and words.
//! - **State** (`state.rs`): one file that says which model is live, which in shadow, and what happened.
//! - **Trial** (`trial.rs`, `sequential.rs`): takes a model live, and back when the judge disagrees too often.
//!
//! INVARIANT: a learned model allows only what the built-in one is unsure about, never what that one suspects, and never what
//! [`MayAllow`](crate::local::MayAllow) forbids. It knows no wire, no prompt and no endpoint.

mod card;
mod collector;
mod figures;
mod floor;
mod learn;
mod learned;
#[cfg(test)]
#[path = "tests/poisoning.rs"]
mod poisoning;
mod sequential;
mod state;
mod store;
mod trial;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

pub use card::card;
pub use collector::{learn_now, step_back};
pub use figures::Figures;
pub use floor::{Floor, FloorStep};
pub use learn::{Kept, LearnInput, MIN_SESSIONS_OF_SHAPE, Outcome, learn};
pub use learned::{Header, Learned, NoLearnedModel, version_of};
pub use sequential::{ALARM, Alarm, Evidence};
pub use state::{Event, Standing, State, model_file};
pub use store::{Added, Day, ShapeLine, Store, StoreError};
pub use trial::{Trial, live as try_live, shadow as try_shadow};

use crate::local::{Model, Slots};
use crate::model::OrganisationId;

/// The settings of learning from the judge.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The folder, with one folder for each organisation.
    pub directory: PathBuf,
    /// The time between two rounds of learning in a serving guardian; `None`: only `guardian learn` learns.
    pub every: Option<Duration>,
    /// Days for which verdicts and counts are kept.
    pub keep_days: i64,
    /// Days on which a shape has to be seen before it is settled, and over which a model in shadow is compared with the judge.
    pub min_days: usize,
    /// The file of a floor besides the one that is compiled in.
    pub floor: Option<PathBuf>,
}

impl Settings {
    /// Returns the folder of an organisation. Its name begins with `org-`, so that no id is a path of its own.
    pub fn folder(&self, organisation: &OrganisationId) -> PathBuf {
        self.directory.join(format!("org-{organisation}"))
    }
}

/// A step with the verdict of a judge, or of a person, as it is kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdicted {
    /// The session; empty where there is none.
    pub session: String,
    /// The user; empty where there is none.
    pub user: String,
    /// The name of the credential.
    pub caller: String,
    /// The tool, or the kind of a step that calls none.
    pub tool: String,
    /// The names of the arguments.
    pub arguments: String,
    /// The shape.
    pub shape: u64,
    /// The id of the decision.
    pub decision_id: String,
    /// True if it must not pass.
    pub harmful: bool,
    /// True if a person said so.
    pub by_person: bool,
    /// True if it may be learned from: a step in which an injection was found is never learned as harmless.
    pub learns: bool,
    /// The version of the base model.
    pub base: String,
    /// The step as that model sees it.
    pub slots: Slots,
    /// Hashes of its words that the base model does not know.
    pub unknown: Vec<u32>,
    /// The version of the learned model that settled the step, where the judge was asked all the same.
    pub audits: Option<String>,
}

/// Counts of decided steps, by what decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Steps about which a model was asked.
    pub asked: u64,
    /// Steps that the built-in scorer settled.
    pub built_in: u64,
    /// Steps that a learned model settled.
    pub learned: u64,
    /// Steps that rules, the cache or the posture decided.
    pub other: u64,
    /// Tokens that asking about steps took.
    pub tokens: u64,
    /// Their price, in millionths.
    pub cost_micros: u64,
}

impl Count {
    /// Adds another one.
    pub fn add(&mut self, other: &Count) {
        self.asked += other.asked;
        self.built_in += other.built_in;
        self.learned += other.learned;
        self.other += other.other;
        self.tokens += other.tokens;
        self.cost_micros += other.cost_micros;
    }

    /// Returns the number of all steps.
    pub const fn steps(&self) -> u64 {
        self.asked + self.built_in + self.learned + self.other
    }
}

/// The live model of an organisation, and the counts by which some of its settled steps are drawn for the judge.
#[derive(Debug)]
pub struct Live {
    /// The model; `None`: the built-in one decides alone.
    pub learned: Option<Learned>,
    draws: [AtomicU64; STRATA],
    settled: AtomicU64,
}

impl Default for Live {
    fn default() -> Self {
        Self {
            learned: None,
            draws: std::array::from_fn(|_| AtomicU64::default()),
            settled: AtomicU64::default(),
        }
    }
}

/// Strata of settled steps: half as many by shape, each in two by closeness to the threshold.
const STRATA: usize = 64;
/// Steps that a new model settles under a closer look, and the factor by which a judge is asked about them more often.
const NEW: u64 = 200;
const NEW_TIMES: f64 = 5.0;
/// The factor by which a judge is asked more often about a step whose probability is over half of the threshold.
const NEAR_TIMES: f64 = 2.0;

impl Live {
    /// Returns `true` if a judge is asked about a settled step all the same: about the first of each stratum, and then as the share says.
    pub fn is_drawn(&self, share: f64, shape: u64, probability: f64, allow_below: f64) -> bool {
        let near = probability > allow_below / 2.0;
        let new = self.settled.fetch_add(1, Ordering::Relaxed) < NEW;
        let times = if near { NEAR_TIMES } else { 1.0 } * if new { NEW_TIMES } else { 1.0 };
        let share = (share * times).min(1.0);
        let stratum = usize::try_from(shape % (STRATA as u64 / 2)).unwrap_or(0) * 2 + usize::from(near);
        let Some(draws) = self.draws.get(stratum) else {
            return true;
        };
        // In units of 0.00001: what is left over stays for the next step.
        let add = (share * 1e5) as u64;
        let before = draws.fetch_add(add, Ordering::Relaxed);
        share > 0.0 && (before == 0 || before / 100_000 < (before + add) / 100_000)
    }
}

enum Message {
    Verdict(OrganisationId, Box<Verdicted>),
    Count(OrganisationId, String, Count),
    Open(OrganisationId),
    Flush(SyncSender<()>),
}

/// The learning of a serving guardian.
#[derive(Clone)]
pub struct Learning {
    shared: Arc<Shared>,
    queue: SyncSender<Message>,
}

struct Shared {
    settings: Settings,
    base: Arc<Model>,
    organisations: RwLock<HashMap<OrganisationId, Arc<Live>>>,
}

impl Shared {
    /// Has an organisation's steps see this model from now on.
    fn serve(&self, organisation: &OrganisationId, live: &Arc<Live>) {
        let mut known = self.organisations.write().unwrap_or_else(PoisonError::into_inner);
        known.insert(organisation.clone(), Arc::clone(live));
    }
}

/// Organisations whose models are held at the same time.
const MAX_ORGANISATIONS: usize = 10_000;

impl Learning {
    /// Returns the live model of an organisation. The collector reads it from its file; until then there is none.
    pub fn live(&self, organisation: &OrganisationId) -> Arc<Live> {
        let known = self.shared.organisations.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(live) = known.get(organisation) {
            return Arc::clone(live);
        }
        drop(known);
        let mut known = self
            .shared
            .organisations
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_ORGANISATIONS {
            known.clear();
        }
        // Where the queue is full, the next step asks again.
        if self.queue.try_send(Message::Open(organisation.clone())).is_ok() {
            return Arc::clone(known.entry(organisation.clone()).or_default());
        }
        Arc::default()
    }

    /// Returns the model that organisations' models are adapted from.
    pub fn base(&self) -> &Arc<Model> {
        &self.shared.base
    }

    /// Hands over a verdict. Where the queue is full it is lost, and counted.
    pub fn verdict(&self, organisation: &OrganisationId, verdict: Verdicted) {
        self.send(Message::Verdict(organisation.clone(), Box::new(verdict)));
    }

    /// Counts a decided step.
    pub fn count(&self, organisation: &OrganisationId, tool: &str, count: Count) {
        self.send(Message::Count(organisation.clone(), tool.to_owned(), count));
    }

    fn send(&self, message: Message) {
        if self.queue.try_send(message).is_err() {
            metrics::counter!(crate::telemetry::names::LEARNING_LOST).increment(1);
        }
    }

    /// Waits until what was handed over is kept, but for no longer than 3 s once this request is in the queue.
    pub fn flush(&self) {
        let (done, wait) = std::sync::mpsc::sync_channel(1);
        if self.queue.send(Message::Flush(done)).is_ok() {
            let _ = wait.recv_timeout(Duration::from_secs(3));
        }
    }
}

/// Returns the days since 1970.
fn today() -> i64 {
    jiff::Timestamp::now().as_second().div_euclid(86_400)
}
