//! Small values that are made once and do not change, such as that a task was stopped: kept in this process, and told to other nodes.
//!
//! A value is put, and known to this process at once. `tell` brings it to the server, and `learn` asks the server for values that
//! this process does not know; both do nothing where there is no server. A server that comes back is told again all that is known here.

use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use moka::sync::Cache;
use redis::Script;

use super::{Away, Link, LinkState};
use crate::telemetry::names;

/// The hash by which a value is found.
pub type ValueId = [u8; 32];

/// The bounds of what is kept.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    /// Bytes in this process.
    pub bytes: u64,
    /// The time for which a value is kept after it was last asked for.
    pub idle: Duration,
}

/// Values of one kind.
pub trait Values: Send + Sync {
    /// Keeps a value.
    fn put(&self, id: ValueId, value: Vec<u8>);
    /// Returns a value, as far as this process knows it.
    fn known(&self, id: &ValueId) -> Option<Arc<[u8]>>;
    /// Asks the server for values, which this process then knows where there are any. [`Away`]: it cannot be told now whether there are.
    fn learn<'a>(&'a self, ids: &'a [ValueId]) -> BoxFuture<'a, Result<(), Away>>;
    /// Brings what was put to the server. Returns once that is done, or cannot be.
    fn tell(&self) -> BoxFuture<'_, ()>;
}

/// Bytes that a value takes beside itself.
const ENTRY: usize = 256;

/// Values of this process.
pub struct LocalValues(Cache<ValueId, Arc<[u8]>>);

impl LocalValues {
    /// Makes an empty store.
    pub fn new(kept: Kept) -> Self {
        let cache = Cache::builder()
            .max_capacity(kept.bytes)
            .time_to_idle(kept.idle)
            .weigher(|_, value: &Arc<[u8]>| u32::try_from(value.len() + ENTRY).unwrap_or(u32::MAX));
        Self(cache.build())
    }
}

impl Values for LocalValues {
    fn put(&self, id: ValueId, value: Vec<u8>) {
        self.0.insert(id, value.into());
    }

    fn known(&self, id: &ValueId) -> Option<Arc<[u8]>> {
        self.0.get(id)
    }

    fn learn<'a>(&'a self, _: &'a [ValueId]) -> BoxFuture<'a, Result<(), Away>> {
        ready(Ok(())).boxed()
    }

    fn tell(&self) -> BoxFuture<'_, ()> {
        ready(()).boxed()
    }
}

static READ: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local found = {}
         for i, key in ipairs(KEYS) do found[i] = redis.call('GETEX', key, 'PX', ARGV[1]) end
         return found",
    )
});

static WRITE: LazyLock<Script> = LazyLock::new(|| {
    Script::new("for i, key in ipairs(KEYS) do redis.call('SET', key, ARGV[i + 1], 'PX', ARGV[1]) end return 1")
});

/// Values in one script.
const AT_ONCE: usize = 100;
/// Values that wait to be told.
const MAX_UNTOLD: usize = 10_000;

/// Values of all nodes; this process has copies of those that it knows.
pub struct SharedValues(Arc<Inner>);

struct Inner {
    local: LocalValues,
    link: Link,
    kind: &'static str,
    owner: Vec<u8>,
    idle: Duration,
    untold: Mutex<Vec<ValueId>>,
    telling: tokio::sync::Mutex<()>,
}

impl SharedValues {
    /// Opens the values of this kind that belong to this owner, on the server behind this link.
    pub fn new(link: Link, kind: &'static str, owner: &[u8], kept: Kept) -> Self {
        let inner = Arc::new(Inner {
            local: LocalValues::new(kept),
            link: link.clone(),
            kind,
            owner: owner.to_vec(),
            idle: kept.idle,
            untold: Mutex::default(),
            telling: tokio::sync::Mutex::default(),
        });
        let weak = Arc::downgrade(&inner);
        let mut state = link.state();
        link.spawn(async move {
            let answers = |state: &LinkState| *state == LinkState::Answers;
            while state.wait_for(answers).await.is_ok() {
                let Some(inner) = weak.upgrade() else { return };
                inner.retell();
                inner.tell().await;
                drop(inner);
                if state.changed().await.is_err() {
                    return;
                }
            }
        });
        Self(inner)
    }
}

impl Inner {
    fn untold(&self) -> std::sync::MutexGuard<'_, Vec<ValueId>> {
        self.untold.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn name(&self, id: &ValueId) -> String {
        self.link.key(self.kind, &self.owner, id)
    }

    fn idle(&self) -> u64 {
        u64::try_from(self.idle.as_millis()).unwrap_or(u64::MAX)
    }

    async fn learn(&self, ids: &[ValueId]) -> Result<(), Away> {
        let unknown: Vec<&ValueId> = ids.iter().filter(|id| self.local.known(id).is_none()).collect();
        let mut missing = false;
        for ids in unknown.chunks(AT_ONCE) {
            let names: Vec<String> = ids.iter().map(|id| self.name(id)).collect();
            let mut call = READ.prepare_invoke();
            names.iter().for_each(|name| {
                call.key(name);
            });
            call.arg(self.idle());
            let found: Vec<Option<Vec<u8>>> = self.link.run_again(&call).await?;
            for ((id, name), value) in ids.iter().zip(&names).zip(found) {
                match value {
                    None => missing = true,
                    // A value of another version cannot be read here.
                    Some(value) => self.local.put(**id, self.link.unseal(name, &value).ok_or(Away)?),
                }
            }
        }
        // Values of nodes that were away may not be on the server yet.
        match missing && self.link.is_settling() {
            true => Err(Away),
            false => Ok(()),
        }
    }

    async fn tell(&self) {
        let _one_at_a_time = self.telling.lock().await;
        let ids = std::mem::take(&mut *self.untold());
        for (told, some) in ids.chunks(AT_ONCE).enumerate() {
            let known = some.iter().filter_map(|id| {
                let name = self.name(id);
                let value = self.link.seal(&name, &self.local.known(id)?)?;
                Some((name, value))
            });
            let known: Vec<(String, Vec<u8>)> = known.collect();
            let mut call = WRITE.prepare_invoke();
            call.arg(self.idle());
            for (name, value) in &known {
                call.key(name).arg(value.as_slice());
            }
            if !known.is_empty() && self.link.run_again::<u8>(&call).await.is_err() {
                let rest = ids.iter().skip(told * AT_ONCE);
                return self.wait(rest.copied());
            }
        }
    }

    /// Lets all values be told again: the server may have lost its state.
    fn retell(&self) {
        // Under the lock: what is put meanwhile waits behind it.
        let mut untold = self.untold();
        untold.clear();
        untold.extend(self.local.0.iter().map(|(id, _)| *id));
    }

    /// Lets values wait until the server answers.
    fn wait(&self, ids: impl Iterator<Item = ValueId>) {
        let mut untold = self.untold();
        for id in ids {
            if untold.len() < MAX_UNTOLD {
                untold.push(id);
            } else {
                metrics::counter!(names::SHARED_UNMERGED).increment(1);
            }
        }
    }
}

impl Values for SharedValues {
    fn put(&self, id: ValueId, value: Vec<u8>) {
        self.0.local.put(id, value);
        self.0.wait(std::iter::once(id));
        let inner = Arc::clone(&self.0);
        self.0.link.spawn(async move { inner.tell().await });
    }

    fn known(&self, id: &ValueId) -> Option<Arc<[u8]>> {
        self.0.local.known(id)
    }

    fn learn<'a>(&'a self, ids: &'a [ValueId]) -> BoxFuture<'a, Result<(), Away>> {
        self.0.learn(ids).boxed()
    }

    fn tell(&self) -> BoxFuture<'_, ()> {
        self.0.tell().boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::testing::links;

    const KEPT: Kept = Kept {
        bytes: 256 * 1024,
        idle: Duration::from_secs(60),
    };

    fn shared(link: &Link, owner: &str) -> SharedValues {
        SharedValues::new(link.clone(), "test", owner.as_bytes(), KEPT)
    }

    /// Checks what values of this process and shared values have in common.
    async fn keeps(values: &dyn Values) {
        assert_eq!(values.learn(&[[1; 32]]).await, Ok(()));
        assert_eq!(values.known(&[1; 32]), None);
        values.put([1; 32], b"one".to_vec());
        assert_eq!(values.known(&[1; 32]).as_deref(), Some(&b"one"[..]));
        values.tell().await;
        assert_eq!(values.learn(&[[1; 32], [2; 32]]).await, Ok(()));
        assert_eq!(values.known(&[1; 32]).as_deref(), Some(&b"one"[..]));
        assert_eq!(values.known(&[2; 32]), None);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_value_is_kept_and_other_nodes_learn_of_it() {
        keeps(&LocalValues::new(KEPT)).await;
        let Some([here, there]) = links::<2>().await else {
            return;
        };
        let (here, other, there) = (shared(&here, "a"), shared(&here, "b"), shared(&there, "a"));
        keeps(&here).await;
        assert_eq!(there.known(&[1; 32]), None);
        assert_eq!(there.learn(&[[2; 32], [1; 32]]).await, Ok(()));
        assert_eq!(there.known(&[1; 32]).as_deref(), Some(&b"one"[..]));
        // Not those of another owner.
        assert_eq!(other.learn(&[[1; 32]]).await, Ok(()));
        assert_eq!(other.known(&[1; 32]), None);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_is_put_while_the_server_is_away_is_told_when_it_answers() {
        let Some([link, other]) = links::<2>().await else {
            return;
        };
        let (here, there) = (shared(&link, "a"), shared(&other, "a"));
        link.break_for_test();
        assert_eq!(here.learn(&[[1; 32]]).await, Err(Away));
        for n in 0..250 {
            here.put([n; 32], vec![n; 10]);
        }
        assert!(link.answers_within(Duration::from_secs(5)).await);
        here.tell().await;
        // Values of other nodes may still be on their way.
        assert_eq!(here.learn(&[[251; 32]]).await, Err(Away));
        link.settle();
        assert_eq!(here.learn(&[[251; 32]]).await, Ok(()));
        let ids: Vec<ValueId> = (0..250).map(|n| [n; 32]).collect();
        assert_eq!(there.learn(&ids).await, Ok(()));
        assert!((0..250).all(|n| there.known(&[n; 32]).as_deref() == Some(&[n; 10][..])));
    }

    #[test]
    fn one_flood_fills_no_memory() {
        let values = LocalValues::new(KEPT);
        for n in 0..1_000_u16 {
            values.put(blake3::hash(&n.to_be_bytes()).into(), vec![7; 1_000]);
        }
        values.0.run_pending_tasks();
        assert!(values.0.weighted_size() <= KEPT.bytes);
    }
}
