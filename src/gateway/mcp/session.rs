//! Sessions: what was asked and offered between one client and one server.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::message::Message;
use super::refusals::Asked;
use crate::gateway::denial::Denial;
use crate::gateway::json::{Json, object};
use crate::gateway::judged_units::Digest;
use crate::gateway::kept::Kept;

/// After how long a client is told again that its request is held.
const PROGRESS: Duration = if cfg!(test) {
    Duration::from_millis(100)
} else {
    Duration::from_millis(1_500)
};

/// Returns the session of a caller under the id that the server gave it. An unknown one is new: the gateway may have been started again.
pub(super) fn of(kept: &Kept, caller: Option<[u8; 32]>, id: &str, new: impl FnOnce() -> Session) -> Arc<Session> {
    let key = key(caller, id);
    kept.get(key).unwrap_or_else(|| {
        let session = Arc::new(new());
        kept.put(key, &session);
        session
    })
}

/// Takes a session in under the id that the server gave it.
pub(super) fn begin(kept: &Kept, caller: Option<[u8; 32]>, id: &str, session: &Arc<Session>) {
    kept.put(key(caller, id), session);
}

/// Forgets a session that has ended.
pub(super) fn end(kept: &Kept, caller: Option<[u8; 32]>, id: &str) {
    kept.forget(key(caller, id));
}

pub(super) fn key(caller: Option<[u8; 32]>, id: &str) -> Digest {
    let mut hasher = blake3::Hasher::new_derive_key("aos-guardian MCP session 1");
    hasher.update(&caller.unwrap_or_default()).update(id.as_bytes());
    hasher.finalize().into()
}

/// The requests and offers between one client and one server.
pub(super) struct Session {
    /// The agent and the session of its steps.
    context: Json,
    memory: Mutex<Memory>,
}

#[derive(Default)]
struct Memory {
    /// Requests of the client that wait for their answers, by id.
    asked: Table<Asked>,
    /// The progress of requests, by their tokens.
    progress: Table<f64>,
    /// The same of the server: their methods.
    asked_back: Table<String>,
    /// The schemas of tools for their structured results.
    schemas: Table<Arc<Json>>,
    /// Offers that were taken out of a list.
    hidden: Table<Denial>,
    /// Tasks whose results were denied.
    tasks: Table<Denial>,
    /// The edited parameters. A client repeats the unedited ones in the next round.
    edits: Table<Json>,
}

impl Session {
    /// Makes a session of steps under this id, of the agent of this id and name.
    pub(super) fn new(agent: &str, name: &str, id: &str) -> Self {
        let agent = object([("id", agent.into()), ("name", name.into())]);
        let session = object([("id", id.into())]);
        Self {
            context: object([("agent", agent), ("session", session)]),
            memory: Mutex::default(),
        }
    }

    /// Returns the context of its steps.
    pub(super) fn context(&self) -> Json {
        self.context.clone()
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        // What a thread left that panicked is whole: every change is one call.
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn ask(&self, asked: &Asked) {
        self.memory().asked.put(asked.id.write(), asked.clone());
    }

    /// Takes the request that an answer is to; it waits no longer.
    pub(super) fn take_asked(&self, id: &Json) -> Option<Asked> {
        self.memory().asked.take(&id.write())
    }

    /// Returns a request that waits.
    pub(super) fn waiting(&self, id: &Json) -> Option<Asked> {
        self.memory().asked.get(&id.write()).cloned()
    }

    /// Takes every request that waits; none waits any longer.
    pub(super) fn drain_asked(&self) -> Vec<Asked> {
        std::mem::take(&mut self.memory().asked).into_values()
    }

    /// Notes the progress that a server tells of.
    pub(super) fn note_progress(&self, notification: &Message) {
        let told = |name: &str| notification.param(name).map(Json::write);
        if let (Some(token), Some(progress)) = (
            told("progressToken"),
            told("progress").and_then(|told| told.parse().ok()),
        ) {
            self.memory().progress.put(token, progress);
        }
    }

    /// Waits for what becomes of a message; an error is what the client is told of meanwhile, if it asked for progress: that is all
    /// that keeps it waiting.
    pub(super) async fn judged<T>(
        &self,
        asked: Option<&Asked>,
        mut judging: Pin<&mut impl Future<Output = T>>,
    ) -> Result<T, Json> {
        loop {
            if let Ok(done) = tokio::time::timeout(PROGRESS, &mut judging).await {
                return Ok(done);
            }
            if let Some(progress) = asked.and_then(|asked| asked.progress(self.next_progress(asked))) {
                return Err(progress);
            }
        }
    }

    /// Returns the next progress that a client can be told of: a little more than the last.
    pub(super) fn next_progress(&self, asked: &Asked) -> f64 {
        const LITTLE: f64 = 1e-6;
        let Some(token) = asked.token.as_ref().map(Json::write) else {
            return LITTLE;
        };
        let mut memory = self.memory();
        let next = memory.progress.get(&token).copied().unwrap_or_default() + LITTLE;
        memory.progress.put(token, next);
        next
    }

    pub(super) fn ask_back(&self, request: &Message) {
        self.memory().asked_back.put(request.id.write(), request.method.clone());
    }

    /// Takes the method of the server's request that an answer is to.
    pub(super) fn take_asked_back(&self, id: &Json) -> Option<String> {
        self.memory().asked_back.take(&id.write())
    }

    pub(super) fn keep_schema(&self, tool: &str, schema: Option<&Json>) {
        const MAX_SIZE: usize = 64 * 1024;
        let mut memory = self.memory();
        match schema.filter(|schema| schema.bytes() <= MAX_SIZE) {
            Some(schema) => memory.schemas.put(tool.to_owned(), Arc::new(schema.clone())),
            None => drop(memory.schemas.take(tool)),
        }
    }

    pub(super) fn schema(&self, tool: &str) -> Option<Arc<Json>> {
        self.memory().schemas.get(tool).cloned()
    }

    /// Remembers an offer that was taken out of a list of this kind, or was not.
    pub(super) fn hide(&self, kind: &str, name: &str, denial: Option<&Denial>) {
        let mut memory = self.memory();
        let key = format!("{kind} {name}");
        match denial {
            Some(denial) => memory.hidden.put(key, denial.clone()),
            None => drop(memory.hidden.take(&key)),
        }
    }

    /// Returns the denial for which the target of a request was taken out of a list, if it was.
    pub(super) fn hidden(&self, request: &Message) -> Option<Denial> {
        let (kind, name) = match request.method.as_str() {
            "tools/call" => ("tools", "name"),
            "prompts/get" => ("prompts", "name"),
            "resources/read" | "resources/subscribe" => ("resources", "uri"),
            _ => return None,
        };
        let name = request.param(name).and_then(Json::as_str)?;
        self.memory().hidden.get(&format!("{kind} {name}")).cloned()
    }

    pub(super) fn deny_task(&self, task: &str, denial: &Denial) {
        self.memory().tasks.put(task.to_owned(), denial.clone());
    }

    pub(super) fn denied_task(&self, task: &str) -> Option<Denial> {
        self.memory().tasks.get(task).cloned()
    }

    pub(super) fn keep_edit(&self, before: &Message, after: &Message) {
        const MAX_SIZE: usize = 256 * 1024;
        if let Some(after) = after.param("arguments").filter(|after| after.bytes() <= MAX_SIZE) {
            self.memory().edits.put(repeated(before), after.clone());
        }
    }

    /// Returns the arguments to which a request was edited in an earlier round.
    pub(super) fn edit(&self, request: &Message) -> Option<Json> {
        let is_later_round = ["inputResponses", "requestState"]
            .iter()
            .any(|name| request.param(name).is_some());
        is_later_round.then(|| self.memory().edits.get(&repeated(request)).cloned())?
    }
}

/// Returns the parts that are the same in every round of a request.
fn repeated(request: &Message) -> String {
    let same = ["name", "uri", "arguments"].map(|name| request.param(name).map(Json::write).unwrap_or_default());
    blake3::hash(format!("{} {}", request.method, same.join(" ")).as_bytes()).to_string()
}

/// A few values by their names. The oldest goes when there is no room.
struct Table<V> {
    values: BTreeMap<String, (u64, V)>,
    next: u64,
}

impl<V> Default for Table<V> {
    fn default() -> Self {
        Self {
            values: BTreeMap::new(),
            next: 0,
        }
    }
}

const MAX: usize = 512;
/// Bytes of a name.
const MAX_NAME: usize = 2_048;

impl<V> Table<V> {
    fn put(&mut self, name: String, value: V) {
        if name.len() > MAX_NAME {
            return;
        }
        self.next += 1;
        self.values.insert(name, (self.next, value));
        if self.values.len() > MAX {
            let oldest = self.values.iter().min_by_key(|(_, (at, _))| *at);
            if let Some(oldest) = oldest.map(|(name, _)| name.clone()) {
                self.values.remove(&oldest);
            }
        }
    }

    fn get(&self, name: &str) -> Option<&V> {
        self.values.get(name).map(|(_, value)| value)
    }

    fn into_values(self) -> Vec<V> {
        self.values.into_values().map(|(_, value)| value).collect()
    }

    fn take(&mut self, name: &str) -> Option<V> {
        self.values.remove(name).map(|(_, value)| value)
    }
}
