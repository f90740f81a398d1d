//! Judging as a task: it begins when something is handed in, goes on step by step, and ends with a verdict.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::response::Response;
use jiff::Timestamp;
use moka::sync::Cache;
use serde_json::Value;
use tokio::sync::{Semaphore, watch};

use super::verdict::{Judged, verdict};
use crate::gateway::answer::stream_response;
use crate::gateway::body::{self, Chunks, SSE_HEARTBEAT};
use crate::gateway::json::Json;
use crate::gateway::receive::Received;
use crate::gateway::route::Route;
use crate::gateway::sse::Event;
use crate::wire::chat::{self, MAX_STEPS, NoTrace, Traced, Under};

/// The progress of a task.
#[derive(Clone, Debug)]
pub(super) struct Progress {
    pub(super) phase: Phase,
    /// The result for each step that is judged.
    pub(super) judged: Vec<Arc<Value>>,
    /// The number of steps.
    pub(super) count: usize,
    /// True if its caller was asked for something.
    pub(super) asked: bool,
    /// The time at which it got here.
    pub(super) at: Timestamp,
}

/// The phase of a task.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Phase {
    /// It waits for something to judge.
    Waiting,
    /// It judges.
    Working,
    /// It has judged; this is the verdict.
    Judged(Arc<Value>),
    /// It was cancelled.
    Canceled,
}

impl Progress {
    pub(super) fn has_ended(&self) -> bool {
        match self.phase {
            Phase::Waiting | Phase::Working => false,
            Phase::Judged(_) | Phase::Canceled => true,
        }
    }

    /// Describes it in words.
    pub(super) fn said(&self) -> String {
        format!("{} of {} steps judged", self.judged.len(), self.count)
    }
}

/// A task.
#[derive(Clone)]
pub(super) struct Task {
    pub(super) id: String,
    /// The conversation or run that it belongs to.
    pub(super) context: String,
    pub(super) begun: Timestamp,
    /// Events of its run before it.
    pub(super) offset: usize,
    /// Events that its caller was given when it asked without a first event.
    pub(super) polled: Arc<AtomicUsize>,
    owner: Owner,
    progress: Arc<watch::Sender<Progress>>,
}

/// The owner of a task: the hash of the key with which it was asked for.
type Owner = Option<[u8; 32]>;

impl Task {
    /// Returns the bytes that it may come to.
    fn most_bytes(&self) -> usize {
        let progress = self.progress.borrow();
        let steps = if progress.asked { MAX_STEPS } else { progress.count };
        TASK_BYTES + steps * STEP_BYTES
    }

    /// Returns its present progress.
    pub(super) fn progress(&self) -> Progress {
        self.progress.borrow().clone()
    }

    /// Returns a receiver of its progress.
    pub(super) fn follow(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    /// Stops it, unless it has ended; returns `true` if it was stopped.
    pub(super) fn cancel(&self) -> bool {
        self.go_on(|progress| progress.phase = Phase::Canceled)
    }

    /// Changes its progress, unless it has ended; returns `true` if it was changed.
    fn go_on(&self, change: impl FnOnce(&mut Progress)) -> bool {
        self.progress.send_if_modified(|progress| {
            let goes_on = !progress.has_ended();
            if goes_on {
                change(progress);
                progress.at = Timestamp::now();
            }
            goes_on
        })
    }

    /// Waits until it has ended.
    pub(super) async fn ended(&self) {
        // It cannot go away while this task is held.
        let _ = self.follow().wait_for(Progress::has_ended).await;
    }
}

/// Returns `true` if a caller may name a task or a conversation so.
pub(super) fn is_name(text: &str) -> bool {
    text.len() <= 128 && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.:/+=".contains(c))
}

/// The tasks of one route.
pub(super) struct Tasks {
    kept: Cache<(Owner, String), Task>,
    runs: Cache<(Owner, String), Arc<Run>>,
    under_way: Arc<Semaphore>,
}

/// The state that the tasks of a conversation share.
#[derive(Default)]
struct Run {
    session: String,
    instructions: arc_swap::ArcSwap<String>,
    events: AtomicUsize,
}

/// Bytes of tasks, and of the state that conversations share.
const KEPT_BYTES: u64 = 64 * 1024 * 1024;
/// The bytes of a task, and of each of its steps.
const TASK_BYTES: usize = 4 * 1024;
const STEP_BYTES: usize = 2 * 1024;
/// The longest instructions that a run is configured with.
pub(super) const MAX_INSTRUCTIONS: usize = 64 * 1024;
const KEPT_FOR: Duration = Duration::from_secs(60 * 60);
const UNDER_WAY: usize = 128;
/// Events of a task beside one for each step.
const FURTHER_EVENTS: usize = 8;

/// The reason why a task does not begin.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoTask {
    /// It is nothing to judge.
    #[error(transparent)]
    NoTrace(#[from] NoTrace),
    /// Too many are under way.
    #[error("too many traces are being judged; try again later")]
    Overloaded,
    /// There is one of this id already.
    #[error("there is a request of this id already")]
    Taken,
}

impl Default for Tasks {
    fn default() -> Self {
        let weighed = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX);
        let kept = Cache::builder().max_capacity(KEPT_BYTES).time_to_live(KEPT_FOR);
        let runs = Cache::builder().max_capacity(KEPT_BYTES).time_to_idle(KEPT_FOR);
        Self {
            kept: kept.weigher(move |_, task: &Task| weighed(task.most_bytes())).build(),
            // Instructions may be set at any time.
            runs: runs.weigher(move |_, _| weighed(TASK_BYTES + MAX_INSTRUCTIONS)).build(),
            under_way: Arc::new(Semaphore::new(UNDER_WAY)),
        }
    }
}

/// Streams a task: the events that `events` makes of its progress, until it has ended or waits for its caller.
pub(super) fn streamed(
    received: Received,
    task: &Task,
    mut events: impl FnMut(&Progress) -> Vec<Event> + Send + 'static,
) -> Response {
    let mut progress = task.follow();
    stream_response(body::worked(SSE_HEARTBEAT, |out: Chunks| async move {
        // It counts among the exchanges under way as long as it is read.
        let _received = received;
        loop {
            let now = progress.borrow_and_update().clone();
            for event in events(&now) {
                if out.send(event.to_bytes().into()).await.is_err() {
                    return;
                }
            }
            if now.has_ended() || now.phase == Phase::Waiting || progress.changed().await.is_err() {
                return;
            }
        }
    }))
}

/// The names that a caller gives to what it begins; made up if it gives none.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    pub(super) task: Option<String>,
    pub(super) context: Option<String>,
}

impl Tasks {
    /// Returns the tasks of a route; they stay when its settings change.
    pub(super) fn of(route: &Route) -> Arc<Self> {
        route.kept.only()
    }

    /// Begins to judge what was handed in.
    pub(super) fn begin(
        &self,
        route: &Arc<Route>,
        received: &Received,
        handed_in: &[Json],
        names: Names,
    ) -> Result<Task, NoTask> {
        let task = self.waiting(received, names)?;
        self.judge(route, received, &task, handed_in)?;
        Ok(self.keep(task))
    }

    /// Begins a task that waits for something to judge.
    pub(super) fn begin_waiting(&self, received: &Received, names: Names) -> Result<Task, NoTask> {
        let task = self.waiting(received, names)?;
        task.go_on(|progress| progress.asked = true);
        Ok(self.keep(task))
    }

    /// Hands in what a task waits for.
    pub(super) fn resume(
        &self,
        route: &Arc<Route>,
        received: &Received,
        task: &Task,
        handed_in: &[Json],
    ) -> Result<(), NoTask> {
        match task.progress().phase {
            Phase::Waiting => self.judge(route, received, task, handed_in),
            Phase::Working | Phase::Judged(_) | Phase::Canceled => Err(NoTask::Taken),
        }
    }

    fn waiting(&self, received: &Received, names: Names) -> Result<Task, NoTask> {
        let made_up = || uuid::Uuid::new_v4().to_string();
        let id = names.task.unwrap_or_else(made_up);
        if self.kept.contains_key(&(received.caller, id.clone())) {
            return Err(NoTask::Taken);
        }
        let now = Timestamp::now();
        Ok(Task {
            id,
            context: names.context.unwrap_or_else(made_up),
            begun: now,
            offset: 0,
            polled: Arc::default(),
            owner: received.caller,
            progress: Arc::new(watch::Sender::new(Progress {
                phase: Phase::Waiting,
                judged: Vec::new(),
                count: 0,
                asked: false,
                at: now,
            })),
        })
    }

    fn keep(&self, mut task: Task) -> Task {
        let run = self.run(task.owner, &task.context);
        let progress = task.progress();
        // The input that it will be given to judge is not known yet.
        let steps = if progress.asked { MAX_STEPS } else { progress.count };
        task.offset = run.events.fetch_add(steps + FURTHER_EVENTS, Ordering::Relaxed);
        self.kept.insert((task.owner, task.id.clone()), task.clone());
        task
    }

    fn run(&self, owner: Owner, context: &str) -> Arc<Run> {
        self.runs.get_with((owner, context.to_owned()), || {
            Arc::new(Run {
                session: uuid::Uuid::new_v4().to_string(),
                ..Run::default()
            })
        })
    }

    /// Sets the instructions of the agent whose steps are judged in a run from now on.
    pub(super) fn instruct(&self, received: &Received, context: &str, instructions: &str) {
        let run = self.run(received.caller, context);
        run.instructions.store(Arc::new(instructions.to_owned()));
    }

    fn judge(&self, route: &Arc<Route>, received: &Received, task: &Task, handed_in: &[Json]) -> Result<(), NoTask> {
        // The input takes its room until all of it is judged.
        let memory = Arc::clone(&received.memory);
        let run = self.run(task.owner, &task.context);
        let under = Under {
            session: run.session.clone(),
            instructions: String::clone(&run.instructions.load()),
        };
        let steps = chat::steps(handed_in, &under)?;
        let permit = Arc::clone(&self.under_way)
            .try_acquire_owned()
            .map_err(|_| NoTask::Overloaded)?;
        task.go_on(|progress| {
            progress.phase = Phase::Working;
            progress.count = steps.len();
        });
        let (route, working) = (Arc::clone(route), task.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = judge(&route, &working, steps) => {}
                () = working.ended() => {}
            }
            drop((permit, memory));
        });
        Ok(())
    }

    /// Returns the task of this id, if it is this caller's.
    pub(super) fn find(&self, received: &Received, id: &str) -> Option<Task> {
        self.kept.get(&(received.caller, id.to_owned()))
    }

    /// Returns all tasks of this caller, the latest change first.
    pub(super) fn all(&self, received: &Received) -> Vec<Task> {
        let mine = self.kept.iter().filter(|(key, _)| key.0 == received.caller);
        let mut tasks: Vec<(Timestamp, Task)> = mine.map(|(_, task)| (task.progress().at, task)).collect();
        tasks.sort_by(|(at, task), (other_at, other)| other_at.cmp(at).then_with(|| task.id.cmp(&other.id)));
        tasks.into_iter().map(|(_, task)| task).collect()
    }

    /// Returns the tasks of a run, the first one first.
    pub(super) fn of_run(&self, received: &Received, context: &str) -> Vec<Task> {
        let mut tasks = self.all(received);
        tasks.retain(|task| task.context == context);
        tasks.sort_by_key(|task| task.offset);
        tasks
    }
}

async fn judge(route: &Route, task: &Task, steps: Vec<Traced>) {
    let mut judged = Vec::with_capacity(steps.len());
    for (index, step) in steps.into_iter().enumerate() {
        let step = step.request();
        let method = step.str_of("method").unwrap_or_default().to_owned();
        let answer = route.verdicts.judge(step).await;
        let one = Judged::read(index, &method, answer.as_ref());
        let entry = Arc::clone(&one.entry);
        judged.push(one);
        task.go_on(|progress| progress.judged.push(entry));
    }
    let verdict = Arc::new(verdict(&judged));
    task.go_on(|progress| progress.phase = Phase::Judged(verdict));
}
