//! The link to the server: one connection, broken at the first call that fails, and the task that connects it again.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use redis::aio::MultiplexedConnection;
use redis::{ErrorKind, FromRedisValue, RedisError, Script, ScriptInvocation};
use secrecy::ExposeSecret;
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;

use super::seal::Seal;
use super::{Key, LinkError, Settings};
use crate::telemetry::names;

/// The version of names and scripts, raised when they change their meaning: nodes of different versions share nothing.
const FORMAT: u8 = 1;
/// The interval at which a node says that it is there, and finds out whether the server is.
const BEAT: Duration = Duration::from_secs(1);
/// The time that a broken link rests before it is tried again: a server that answers now and then is not asked by every request.
const REST: Duration = Duration::from_millis(500);
/// The time that a link must have held to be connected again without that rest: one late answer is no outage.
const HELD: Duration = Duration::from_secs(2);
/// The time that calls which may run twice wait for such a link. With the default time-out, a node goes on by itself within 250 ms.
const SOON: Duration = Duration::from_millis(100);

/// The time after the server's return in which other nodes may still have to tell it what they decided alone.
const SETTLING: Duration = Duration::from_secs(2);

/// The server did not answer: the caller goes on with what this process knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("shared state does not answer")]
pub struct Away;

/// The state of the link to the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// The server answers.
    Answers,
    /// The server does not answer; this node goes on by itself.
    Away {
        /// The last error.
        why: String,
    },
}

/// A part of a node that tells the other nodes something with each beat, and hears what they tell.
pub trait Topic: Send + Sync {
    /// The text that the others are to hear now.
    fn tell(&self) -> String;

    /// Takes what each of the others told last; nothing while the server is away. It may not wait.
    fn hear(&self, others: Vec<String>);
}

/// A link to the server. Cheap to clone; it ends with its last clone.
#[derive(Clone)]
pub struct Link {
    inner: Arc<Inner>,
    _keeper: Arc<Keeper>,
}

struct Inner {
    client: redis::Client,
    settings: Settings,
    seal: Seal,
    held: ArcSwapOption<Held>,
    /// The time until which calls wait for the link that was lost last; `None` where it had not held for long.
    back_by: Mutex<Option<Instant>>,
    state: watch::Sender<LinkState>,
    broken: Notify,
    /// The time at which the server answered again, after it had not.
    returned: Mutex<Option<Instant>>,
    /// Nodes that were there at the last beat, this one among them.
    nodes: AtomicU32,
    /// Seconds for which the server has held state under this prefix.
    age: AtomicU64,
    /// This node's name among the others.
    name: String,
    topics: Mutex<BTreeMap<&'static str, Arc<dyn Topic>>>,
    runtime: Handle,
}

/// A connection, and when it was made.
struct Held {
    connection: MultiplexedConnection,
    since: Instant,
}

/// Ends the task with the last link.
struct Keeper(AbortHandle);

impl Drop for Keeper {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Says that a node is there, and what it tells: a write, so that a server that is full or read-only counts as away. Returns the number of
/// nodes, the seconds for which state has been held, and what each node tells.
static ANNOUNCE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local now = tonumber(redis.call('TIME')[1])
         redis.call('ZADD', KEYS[1], now, ARGV[1])
         redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - 5)
         redis.call('SET', KEYS[2], now, 'NX')
         redis.call('HSET', KEYS[3], ARGV[1], ARGV[2])
         for _, name in ipairs(redis.call('HKEYS', KEYS[3])) do
             if not redis.call('ZSCORE', KEYS[1], name) then redis.call('HDEL', KEYS[3], name) end
         end
         return {redis.call('ZCARD', KEYS[1]), now - tonumber(redis.call('GET', KEYS[2])), redis.call('HGETALL', KEYS[3])}",
    )
});

/// Checks the form of an address, without connecting to it.
///
/// # Errors
///
/// A text that says what was expected. The address is not repeated: it may hold a password.
pub fn check(address: &str) -> Result<(), String> {
    let is_known = address.starts_with("redis://") || address.starts_with("rediss://");
    match redis::Client::open(address) {
        Ok(_) if is_known => Ok(()),
        Ok(_) | Err(_) => {
            Err("expected `redis://HOST:PORT`, or `rediss://USER:PASSWORD@HOST:PORT/DATABASE` with TLS".to_owned())
        }
    }
}

impl Link {
    /// Begins to connect; calls are told [`Away`] until that is done.
    ///
    /// # Errors
    ///
    /// When the address or the key cannot be one.
    pub fn open(settings: Settings) -> Result<Self, LinkError> {
        // Several parts of this program bring rustls; the first one to say which cryptography it uses says it for all.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let address = settings.url.expose_secret();
        check(address).map_err(LinkError::Address)?;
        let client = redis::Client::open(address).map_err(|error| LinkError::Address(error.kind_text()))?;
        let runtime = Handle::try_current().map_err(|_| LinkError::NoRuntime)?;
        let away = LinkState::Away {
            why: "not connected yet".to_owned(),
        };
        let inner = Arc::new(Inner {
            client,
            seal: Seal::new(settings.key.as_ref()).ok_or(LinkError::Key)?,
            settings,
            held: ArcSwapOption::empty(),
            back_by: Mutex::default(),
            state: watch::Sender::new(away),
            broken: Notify::new(),
            returned: Mutex::default(),
            nodes: AtomicU32::new(1),
            age: AtomicU64::new(0),
            name: uuid::Uuid::new_v4().to_string(),
            topics: Mutex::default(),
            runtime: runtime.clone(),
        });
        let keeper = runtime.spawn(keep(Arc::clone(&inner))).abort_handle();
        Ok(Self {
            inner,
            _keeper: Arc::new(Keeper(keeper)),
        })
    }

    /// Returns the name of a value by its kind, its owner and its id.
    pub fn key(&self, kind: &str, owner: &[u8], id: &[u8]) -> String {
        let hash = |what: &[u8]| match &self.inner.settings.key {
            Some(Key(key)) => blake3::keyed_hash(key, what),
            None => blake3::hash(what),
        };
        let (owner, id) = (hash(owner).to_hex(), hash(id).to_hex());
        // In braces: all values of an owner are on one node of a cluster.
        let owner = owner.get(..32).unwrap_or_default();
        format!("{}:{FORMAT}:{{{owner}}}:{kind}:{id}", self.inner.settings.prefix)
    }

    /// Returns a secret for one purpose that all nodes have; `None` where no key is configured.
    pub fn secret(&self, purpose: &str) -> Option<[u8; 32]> {
        let Key(key) = self.inner.settings.key.as_ref()?;
        Some(blake3::keyed_hash(key, format!("secret {purpose}").as_bytes()).into())
    }

    /// Returns a value in the form in which it is written under a name; `None` where it cannot be encrypted.
    pub fn seal(&self, name: &str, value: &[u8]) -> Option<Vec<u8>> {
        self.inner.seal.close(name, value)
    }

    /// Reads a value that was written under a name; `None` where it is of another version, altered, or encrypted with another key.
    pub fn unseal(&self, name: &str, written: &[u8]) -> Option<Vec<u8>> {
        self.inner.seal.open(name, written)
    }

    /// Runs a script.
    ///
    /// # Errors
    ///
    /// [`Away`], at once where the link is broken, and within the configured time otherwise.
    pub async fn run<T: FromRedisValue>(&self, call: &ScriptInvocation<'_>) -> Result<T, Away> {
        let held = self.inner.held.load_full().ok_or(Away)?;
        let mut connection = held.connection.clone();
        match tokio::time::timeout(self.inner.settings.timeout, call.invoke_async(&mut connection)).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => {
                if is_of_server(&error) {
                    self.inner.lose(&held, error.kind_text());
                } else {
                    tracing::warn!(why = error.kind_text(), "shared state holds a value of another form");
                }
                Err(Away)
            }
            Err(_) => {
                self.inner.lose(&held, "no answer in time".to_owned());
                Err(Away)
            }
        }
    }

    /// Runs a script that may run twice. Where the link is lost on the way, or was lost just before, and is soon there again, it runs once more.
    ///
    /// # Errors
    ///
    /// [`Away`], at once where the link has been broken for longer, and a tenth of a second after the configured time otherwise.
    pub async fn run_again<T: FromRedisValue>(&self, call: &ScriptInvocation<'_>) -> Result<T, Away> {
        let until = tokio::time::Instant::now() + self.inner.settings.timeout + SOON;
        if let Ok(answer) = self.run(call).await {
            return Ok(answer);
        }
        let back_by = *self.inner.back_by.lock().unwrap_or_else(PoisonError::into_inner);
        let left = back_by.and_then(|back_by| back_by.checked_duration_since(Instant::now()));
        match left {
            Some(left) if self.answers_within(left).await => {
                let again = tokio::time::timeout_at(until, self.run(call)).await;
                again.unwrap_or(Err(Away))
            }
            Some(_) | None => Err(Away),
        }
    }

    /// Lets a part of this node tell and hear something under a name, from the next beat on.
    pub fn join(&self, name: &'static str, topic: Arc<dyn Topic>) {
        self.inner.topics().insert(name, topic);
    }

    /// Runs work in a task of its own; no caller waits for it.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.inner.runtime.spawn(work);
    }

    /// Returns the state of the link, and every change of it.
    pub fn state(&self) -> watch::Receiver<LinkState> {
        self.inner.state.subscribe()
    }

    /// Waits until the server answers, but no longer than this. Returns `true` if it answers.
    pub async fn answers_within(&self, time: Duration) -> bool {
        let mut state = self.state();
        let answers = state.wait_for(|state| *state == LinkState::Answers);
        tokio::time::timeout(time, answers).await.is_ok()
    }

    /// Returns the number of nodes at the last beat, this one among them.
    pub fn nodes(&self) -> u32 {
        self.inner.nodes.load(Ordering::Relaxed).max(1)
    }

    /// Asks at once how many nodes there are.
    #[cfg(test)]
    pub(super) async fn count_nodes(&self) {
        let held = self.inner.held.load_full().unwrap();
        self.inner.announce(&mut held.connection.clone()).await.unwrap();
    }

    /// Breaks the link, which is connected again after its rest.
    #[cfg(test)]
    pub(crate) fn break_for_test(&self) {
        self.break_until(None);
    }

    /// Breaks the link as one that had held for long; calls wait for it until then.
    #[cfg(test)]
    pub(crate) fn break_until(&self, back_by: Option<Instant>) {
        if let Some(held) = self.inner.held.load_full() {
            self.inner.lose_until(&held, "broken by a test".to_owned(), back_by);
        }
    }

    /// Returns `true` if the server has only just come back: what other nodes decided alone may not be there yet.
    pub fn is_settling(&self) -> bool {
        let returned = *self.inner.returned.lock().unwrap_or_else(PoisonError::into_inner);
        returned.is_some_and(|returned| returned.elapsed() < SETTLING)
    }

    /// Makes the link one that has settled.
    #[cfg(test)]
    pub(crate) fn settle(&self) {
        *self.inner.returned.lock().unwrap() = None;
    }

    /// Returns the time for which the server has held state; what began before that is not known to it.
    pub fn age(&self) -> Duration {
        Duration::from_secs(self.inner.age.load(Ordering::Relaxed))
    }
}

/// What a node tells, by topic.
type Words = BTreeMap<String, String>;
/// The answer of [`ANNOUNCE`].
type Announced = (u32, u64, HashMap<String, Vec<u8>>);

impl Inner {
    /// Breaks the link, unless another one has taken its place.
    fn lose(&self, held: &Arc<Held>, why: String) {
        let soon = (held.since.elapsed() >= HELD).then(|| Instant::now() + SOON);
        self.lose_until(held, why, soon);
    }

    fn lose_until(&self, held: &Arc<Held>, why: String, back_by: Option<Instant>) {
        let present = self.held.compare_and_swap(held, None);
        if present.as_ref().is_some_and(|present| Arc::ptr_eq(present, held)) {
            *self.back_by.lock().unwrap_or_else(PoisonError::into_inner) = back_by;
            tracing::warn!(why, "shared state does not answer: this node goes on by itself");
            metrics::counter!(names::SHARED_LOST).increment(1);
            self.set_state(LinkState::Away { why });
            for topic in self.topics().clone().into_values() {
                topic.hear(Vec::new());
            }
            self.broken.notify_one();
        }
    }

    fn set_state(&self, state: LinkState) {
        let up = state == LinkState::Answers;
        metrics::gauge!(names::SHARED_UP).set(f64::from(u8::from(up)));
        self.state.send_replace(state);
    }

    async fn connect(&self) -> Result<MultiplexedConnection, String> {
        let config = redis::AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECTING))
            .set_response_timeout(Some(CONNECTING));
        let connecting = self.client.get_multiplexed_async_connection_with_config(&config);
        let mut connection = connecting.await.map_err(|error| error.kind_text())?;
        self.announce(&mut connection).await?;
        Ok(connection)
    }

    async fn announce(&self, connection: &mut MultiplexedConnection) -> Result<(), String> {
        let place = |what: &str| format!("{}:{FORMAT}:{what}", self.settings.prefix);
        let (words, topics) = (place("words"), self.topics().clone());
        let told: Words = topics
            .iter()
            .map(|(name, topic)| ((*name).to_owned(), topic.tell()))
            .collect();
        let told = serde_json::to_vec(&told)
            .ok()
            .and_then(|told| self.seal.close(&words, &told));
        let mut script = ANNOUNCE.key(place("nodes"));
        script
            .key(place("since"))
            .key(&words)
            .arg(&self.name)
            .arg(told.unwrap_or_default());
        let announced = tokio::time::timeout(self.settings.timeout, script.invoke_async::<Announced>(connection)).await;
        let (nodes, age, told) = announced
            .map_err(|_| "no answer in time".to_owned())?
            .map_err(|error| error.kind_text())?;
        self.nodes.store(nodes, Ordering::Relaxed);
        self.age.store(age, Ordering::Relaxed);
        let others = told.iter().filter(|(node, _)| **node != self.name);
        // A node of another version, or with another key, tells nothing that can be read.
        let others = others.filter_map(|(_, told)| serde_json::from_slice(&self.seal.open(&words, told)?).ok());
        let others: Vec<Words> = others.collect();
        for (name, topic) in topics {
            topic.hear(others.iter().filter_map(|told| told.get(name).cloned()).collect());
        }
        Ok(())
    }

    fn topics(&self) -> MutexGuard<'_, BTreeMap<&'static str, Arc<dyn Topic>>> {
        self.topics.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The time that connecting may take. No request waits for it.
const CONNECTING: Duration = Duration::from_secs(2);

/// Connects, says that this node is there as long as the link holds, and connects again.
async fn keep(inner: Arc<Inner>) {
    let mut was_there = false;
    loop {
        match inner.connect().await {
            Ok(connection) => {
                if std::mem::replace(&mut was_there, true) {
                    *inner.returned.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
                }
                let since = Instant::now();
                let held = Arc::new(Held { connection, since });
                inner.held.store(Some(Arc::clone(&held)));
                inner.set_state(LinkState::Answers);
                tracing::info!(nodes = inner.nodes.load(Ordering::Relaxed), "shared state answers");
                while tokio::time::timeout(BEAT, inner.broken.notified()).await.is_err() {
                    if let Err(why) = inner.announce(&mut held.connection.clone()).await {
                        inner.lose(&held, why);
                    }
                }
                let back_by = *inner.back_by.lock().unwrap_or_else(PoisonError::into_inner);
                if back_by.is_some_and(|back_by| back_by > Instant::now()) {
                    continue;
                }
            }
            Err(why) => {
                let away = LinkState::Away { why: why.clone() };
                if *inner.state.borrow() != away {
                    tracing::warn!(why, "shared state cannot be reached: this node goes on by itself");
                    inner.set_state(away);
                }
            }
        }
        tokio::time::sleep(REST).await;
    }
}

/// Returns `true` if an error says something of the server, rather than of one value.
fn is_of_server(error: &RedisError) -> bool {
    let of_value = matches!(error.kind(), ErrorKind::UnexpectedReturnType | ErrorKind::Parse);
    !of_value && error.code() != Some("WRONGTYPE")
}

/// The text of an error that may be shown: its kind, without addresses, passwords or values.
trait KindText {
    fn kind_text(&self) -> String;
}

impl KindText for RedisError {
    fn kind_text(&self) -> String {
        match self.code() {
            Some(code) => format!("the server refuses: {code}"),
            None if self.is_timeout() => "no answer in time".to_owned(),
            None if self.is_connection_refusal() => "the connection was refused".to_owned(),
            None if self.is_io_error() => "no connection: nothing answers there, or one side speaks TLS that the other does not, or does not trust".to_owned(),
            None => self.category().to_owned(),
        }
    }
}
