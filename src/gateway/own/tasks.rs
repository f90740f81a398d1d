//! Judging as a task: it begins when something is handed in, goes on step by step, and ends with a verdict.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use moka::sync::Cache;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, watch};

use super::trace::{self, NoTrace};
use crate::gateway::json::Json;
use crate::gateway::route::Route;
use crate::gateway::verdicts::StepVerdict;

/// How far a task is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Progress {
    /// So many of so many steps are judged.
    Working(usize, usize),
    /// All are.
    Judged(Arc<Value>),
    /// Nobody waits for it any more.
    Canceled,
}

/// A task.
#[derive(Clone)]
pub(super) struct Task {
    pub(super) id: String,
    pub(super) context: String,
    pub(super) begun: String,
    progress: Arc<watch::Sender<Progress>>,
}

impl Task {
    /// How far it is now.
    pub(super) fn progress(&self) -> Progress {
        self.progress.borrow().clone()
    }

    /// To follow it.
    pub(super) fn follow(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    /// Stops it, unless it has ended; whether it was stopped.
    pub(super) fn cancel(&self) -> bool {
        self.progress.send_if_modified(|progress| {
            let stops = matches!(progress, Progress::Working(..));
            if stops {
                *progress = Progress::Canceled;
            }
            stops
        })
    }

    /// Waits until it has ended.
    pub(super) async fn ended(&self) -> Progress {
        let mut progress = self.follow();
        match progress
            .wait_for(|progress| !matches!(progress, Progress::Working(..)))
            .await
        {
            Ok(ended) => ended.clone(),
            Err(_) => Progress::Canceled,
        }
    }
}

/// A route on which the guardian itself is asked, and what it was asked there.
#[derive(Clone)]
pub(in crate::gateway) struct Desk {
    pub(in crate::gateway) route: Arc<Route>,
    pub(super) tasks: Arc<Tasks>,
}

impl Desk {
    /// Of a route on which nothing was asked yet.
    pub(in crate::gateway) fn new(route: Arc<Route>) -> Self {
        Self {
            route,
            tasks: Arc::default(),
        }
    }
}

impl Deref for Desk {
    type Target = Route;

    fn deref(&self) -> &Route {
        &self.route
    }
}

/// The tasks of one route.
pub(super) struct Tasks {
    kept: Cache<String, Task>,
    under_way: Arc<Semaphore>,
}

const KEPT: u64 = 2_000;
const KEPT_FOR: Duration = Duration::from_secs(60 * 60);
const UNDER_WAY: usize = 128;

/// Why a task does not begin.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoTask {
    /// It is nothing to judge.
    #[error(transparent)]
    NoTrace(#[from] NoTrace),
    /// Too many are under way.
    #[error("too many traces are being judged; try again later")]
    Overloaded,
}

impl Default for Tasks {
    fn default() -> Self {
        Self {
            kept: Cache::builder().max_capacity(KEPT).time_to_live(KEPT_FOR).build(),
            under_way: Arc::new(Semaphore::new(UNDER_WAY)),
        }
    }
}

impl Tasks {
    /// Begins to judge what was handed in.
    pub(super) fn begin(
        &self,
        route: &Arc<Route>,
        handed_in: &[Json],
        context: Option<String>,
    ) -> Result<Task, NoTask> {
        let steps = trace::steps(handed_in)?;
        let permit = Arc::clone(&self.under_way)
            .try_acquire_owned()
            .map_err(|_| NoTask::Overloaded)?;
        let task = Task {
            id: uuid::Uuid::new_v4().to_string(),
            context: context.unwrap_or_else(|| uuid::Uuid::new_v4().to_string()),
            begun: jiff::Timestamp::now().to_string(),
            progress: Arc::new(watch::Sender::new(Progress::Working(0, steps.len()))),
        };
        self.kept.insert(task.id.clone(), task.clone());
        let (route, working) = (Arc::clone(route), task.clone());
        tokio::spawn(async move {
            judge(&route, &working, steps).await;
            drop(permit);
        });
        Ok(task)
    }

    /// The task of this id. Ids cannot be guessed: whoever knows one was told it.
    pub(super) fn find(&self, id: &str) -> Option<Task> {
        self.kept.get(id)
    }
}

async fn judge(route: &Route, task: &Task, steps: Vec<Json>) {
    let count = steps.len();
    let mut judged = Vec::with_capacity(count);
    for (index, step) in steps.into_iter().enumerate() {
        if task.progress() == Progress::Canceled {
            return;
        }
        judged.push((
            step.str_of("method").unwrap_or_default().to_owned(),
            route.verdicts.judge(step).await,
        ));
        task.progress.send_if_modified(|progress| {
            let goes_on = matches!(progress, Progress::Working(..));
            if goes_on {
                *progress = Progress::Working(index + 1, count);
            }
            goes_on
        });
    }
    let verdict = Arc::new(verdict(&judged));
    task.progress.send_if_modified(|progress| {
        let goes_on = matches!(progress, Progress::Working(..));
        if goes_on {
            *progress = Progress::Judged(verdict);
        }
        goes_on
    });
}

/// The strictest decision, with what led to it.
fn verdict(judged: &[(String, StepVerdict)]) -> Value {
    let rank = |verdict: &StepVerdict| match verdict.decision.as_str() {
        "allow" => 0,
        "modify" => 1,
        _ => 2,
    };
    let strictest = judged
        .iter()
        .map(|(_, verdict)| verdict)
        .max_by_key(|verdict| rank(verdict));
    let mut codes: Vec<&str> = judged
        .iter()
        .flat_map(|(_, verdict)| verdict.reason_codes.iter().map(String::as_str))
        .collect();
    codes.sort_unstable();
    codes.dedup();
    let steps: Vec<Value> = judged
        .iter()
        .enumerate()
        .map(|(index, (method, verdict))| {
            json!({
                "index": index, "method": method, "decision": verdict.decision, "message": verdict.message,
                "reasonCode": verdict.reason_codes, "decisionId": verdict.decision_id,
            })
        })
        .collect();
    json!({
        "decision": strictest.map(|verdict| verdict.decision.as_str()),
        "message": strictest.map(|verdict| verdict.message.as_str()),
        "reasoning": strictest.map(|verdict| verdict.reasoning.as_str()),
        "reasonCode": codes, "steps": steps,
    })
}

/// One line of a verdict.
pub(super) fn line(verdict: &Value) -> String {
    let text = |name: &str| verdict.get(name).and_then(Value::as_str).unwrap_or_default();
    format!("{}: {}", text("decision"), text("message"))
}
