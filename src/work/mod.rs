//! Slots for CPU-bound work: a bounded number at a time, and a bounded queue before them.
//!
//! ```text
//! request ─▶ slot (waits in a bounded queue, until a deadline) ─▶ job on a thread of its own ─▶ slot is free again
//! ```
//!
//! The jobs of a step — decoding, screening, masking, settling, updating the session — do not run on the threads that serve
//! connections, so `/healthz` answers at once whatever is examined. The exception are the jobs of a **tiny** step: they
//! take less than a millisecond, at the very worst a few, and run where they are; handing them to another thread and back
//! takes 20 to 60 microseconds each. Small steps are decoded where they are as
//! well. There are these slots:
//!
//! - **Every** step needs a slot. One organisation has one more than processors.
//! - A **large** step needs a second one, of which it has as many as processors: however many large steps come, a small
//!   one finds a slot.
//! - Of either kind there is one more than one **organisation** has: an organisation that sends one step finds a slot beside one that sends
//!   thousands, and waits behind a few of each where several do.
//! - Where there are several organisations, one of them takes half of the **queue** at most.
//! - **Session updates** have slots of their own: a step that waits for an update of its session waits for no other step.
//!
//! A caller that stops waiting for a slot leaves the queue. A job that has begun runs to its end, and its slot is taken so long.

mod fair;
mod memory;

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::time::Instant;

pub use fair::{Place, Places, Reserve, Weights};
pub use memory::{Memory, NoRoom, Taken, unfolded, unfolded_as_tree};

use crate::model::OrganisationId;

/// The limits of what is worked on at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Large steps of one organisation at the same time. One small one fits beside them, and one step of another organisation.
    pub threads: usize,
    /// Steps that may wait for a slot.
    pub max_waiting: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            threads: std::thread::available_parallelism().map_or(2, usize::from),
            max_waiting: 1_024,
        }
    }
}

/// The amount of work that a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// At most [`Size::TINY_BYTES`]. It takes the slots of a small step; its jobs run on the thread that asks for them.
    Tiny,
    /// At most [`Size::SMALL_BYTES`].
    Small,
    /// More.
    Large,
}

impl Size {
    /// The largest step whose jobs run in place.
    pub const TINY_BYTES: usize = 8 * 1024;
    /// The largest small step: examining it takes tens of milliseconds at the very worst.
    pub const SMALL_BYTES: usize = 32 * 1024;

    /// Returns the same size, but [`Size::Small`] for a tiny step: its jobs then run on other threads. For a caller that decides about many
    /// steps in one task.
    pub const fn handed_over(self) -> Self {
        match self {
            Size::Tiny | Size::Small => Size::Small,
            Size::Large => Size::Large,
        }
    }

    /// Returns the size of so many bytes.
    pub const fn of(bytes: usize) -> Self {
        if bytes <= Self::TINY_BYTES {
            Size::Tiny
        } else if bytes <= Self::SMALL_BYTES {
            Size::Small
        } else {
            Size::Large
        }
    }
}

/// Runs work in the middle of a task that waits for a model. It has no slot: the model bounds how often it happens. Beside large work, the
/// other tasks of this thread go on in another one.
pub fn in_place<T>(size: Size, work: impl FnOnce() -> T) -> T {
    let others = tokio::runtime::Handle::try_current().map(|runtime| runtime.runtime_flavor());
    match (size, others) {
        (Size::Large, Ok(tokio::runtime::RuntimeFlavor::MultiThread)) => tokio::task::block_in_place(work),
        _ => work(),
    }
}

/// The reason why there is no slot, or no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Busy {
    /// As many wait as may wait.
    #[error("too many steps wait to be examined")]
    Full,
    /// The deadline passed first.
    #[error("there was no time left to examine the step")]
    Late,
}

/// The slots.
#[derive(Debug)]
pub struct Pool {
    large: Places,
    every: Places,
    updates: Places,
    /// Steps that have just arrived and wait for a slot.
    queue: Places,
    waiting: AtomicUsize,
}

impl Pool {
    /// Makes a pool with all slots free.
    pub fn new(settings: Settings, weights: &Weights) -> Self {
        let threads = settings.threads.max(1);
        let slots = |count| Places::new(count, Reserve::One, weights);
        Self {
            large: slots(threads + 1),
            every: slots(threads + 2),
            updates: slots(threads.div_ceil(2)),
            queue: Places::new(settings.max_waiting, Reserve::ByWeight, weights),
            waiting: AtomicUsize::new(0),
        }
    }

    /// Returns `true` if as many wait as may wait.
    pub fn is_full(&self) -> bool {
        self.queue.is_spent()
    }

    /// Returns the number of steps that wait for a slot.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Waits for a slot for a step that has just arrived.
    ///
    /// # Errors
    ///
    /// When as many wait as may wait, of all or of this organisation, or the deadline passes first.
    pub async fn enter(&self, organisation: &OrganisationId, size: Size, deadline: Instant) -> Result<Slot, Busy> {
        let _queued = self.queue.try_take(organisation).ok_or(Busy::Full)?;
        self.slot(organisation, size, deadline).await
    }

    /// Waits for a slot for a step that was let in before.
    ///
    /// # Errors
    ///
    /// When the deadline passes first.
    pub async fn slot(&self, organisation: &OrganisationId, size: Size, deadline: Instant) -> Result<Slot, Busy> {
        let _waiting = Waiting::count(&self.waiting);
        // The scarcer kind comes first: a step that waits for it holds no slot that another one could use.
        let large = match size {
            Size::Large => Some(self.large.take(organisation, deadline).await?),
            Size::Tiny | Size::Small => None,
        };
        let every = self.every.take(organisation, deadline).await?;
        Ok(Slot {
            _places: (every, large),
        })
    }

    /// Waits for a slot for the update of a session with a decided step.
    pub async fn update_slot(&self, organisation: &OrganisationId) -> Slot {
        let place = self.updates.wait_for(organisation, 1).await;
        Slot { _places: (place, None) }
    }
}

/// A step that waits, counted until this is dropped: also where its caller hangs up.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn count(waiting: &'a AtomicUsize) -> Self {
        waiting.fetch_add(1, Ordering::Relaxed);
        Self(waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The right to run jobs, one at a time.
#[derive(Debug)]
pub struct Slot {
    _places: (Place, Option<Place>),
}

impl Slot {
    /// Runs a job of a step of this size: in place, or on a thread for such work. Gives the slot back with its result. A job
    /// that panics panics here.
    ///
    /// # Errors
    ///
    /// When the deadline passes before the job has ended; before it has begun, where it runs in place. A job that runs goes
    /// on to its end, and keeps the slot.
    pub async fn run<T: Send + 'static>(
        self,
        size: Size,
        deadline: Instant,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<(Self, T), Busy> {
        if size == Size::Tiny {
            return match Instant::now() < deadline {
                true => Ok((self, job())),
                false => Err(Busy::Late),
            };
        }
        let task = tokio::task::spawn_blocking(move || {
            let result = job();
            (self, result)
        });
        match tokio::time::timeout_at(deadline, task).await {
            Ok(Ok(done)) => Ok(done),
            // A job that runs is not cancelled, so this is a panic; or the process is ending.
            Ok(Err(error)) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(Busy::Late),
            },
            Err(_) => Err(Busy::Late),
        }
    }

    /// Runs a job, however long it takes; gives the slot back with its result. A job that panics panics here.
    pub async fn finish_with<T: Send + 'static>(self, job: impl FnOnce() -> T + Send + 'static) -> (Self, T) {
        let task = tokio::task::spawn_blocking(move || {
            let result = job();
            (self, result)
        });
        match task.await {
            Ok(result) => result,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The process is ending: no task goes on from here.
                Err(_) => std::future::pending().await,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;

    fn pool(threads: usize, max_waiting: usize) -> Arc<Pool> {
        let weights = Weights::default();
        weights.replace([acme(), other()].map(|id| (id, NonZeroU32::MIN)).into_iter());
        Arc::new(Pool::new(Settings { threads, max_waiting }, &weights))
    }

    fn other() -> OrganisationId {
        OrganisationId::new("other")
    }

    fn acme() -> OrganisationId {
        OrganisationId::new("acme")
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_millis(20)
    }

    fn later() -> Instant {
        Instant::now() + Duration::from_secs(20)
    }

    #[tokio::test]
    async fn a_small_step_finds_a_slot_beside_any_number_of_large_ones() {
        let pool = pool(2, 256);
        let _held = [
            pool.enter(&acme(), Size::Large, soon()).await.unwrap(),
            pool.enter(&acme(), Size::Large, soon()).await.unwrap(),
        ];
        assert_eq!(pool.enter(&acme(), Size::Large, soon()).await.err(), Some(Busy::Late));
        let (slot, answer) = pool
            .enter(&acme(), Size::Small, soon())
            .await
            .unwrap()
            .run(Size::Small, later(), || 42)
            .await
            .unwrap();
        assert_eq!(answer, 42);
        assert_eq!(pool.enter(&acme(), Size::Small, soon()).await.err(), Some(Busy::Late));
        drop(slot);
        assert!(pool.enter(&acme(), Size::Small, soon()).await.is_ok());
    }

    #[tokio::test]
    async fn one_step_of_an_organisation_waits_behind_a_few_of_another_that_sends_thousands() {
        let pool = pool(1, 1_000);
        let held = pool.enter(&acme(), Size::Large, soon()).await.unwrap();
        let done = Arc::new(AtomicUsize::new(0));
        let many: Vec<_> = (0..500)
            .map(|_| {
                let (pool, done) = (Arc::clone(&pool), Arc::clone(&done));
                tokio::spawn(async move {
                    let slot = pool.enter(&acme(), Size::Large, later()).await.unwrap();
                    tokio::task::yield_now().await;
                    done.fetch_add(1, Ordering::Relaxed);
                    drop(slot);
                })
            })
            .collect();
        while pool.waiting() < 500 {
            tokio::task::yield_now().await;
        }
        let (pool_of_other, counted) = (Arc::clone(&pool), Arc::clone(&done));
        let one = tokio::spawn(async move {
            let _slot = pool_of_other.enter(&other(), Size::Large, later()).await.unwrap();
            counted.load(Ordering::Relaxed)
        });
        // Its slot is free beside those of the flood.
        assert_eq!(one.await.unwrap(), 0);
        drop(held);
        for task in many {
            task.await.unwrap();
        }
    }

    #[tokio::test]
    async fn a_flood_takes_half_of_the_queue_where_there_are_others() {
        let pool = pool(1, 4);
        let _held = [
            pool.enter(&acme(), Size::Small, soon()).await.unwrap(),
            pool.enter(&acme(), Size::Small, soon()).await.unwrap(),
        ];
        let mut flood = tokio::task::JoinSet::new();
        for _ in 0..8 {
            let pool = Arc::clone(&pool);
            let until = soon();
            flood.spawn(async move { pool.enter(&acme(), Size::Small, until).await.err() });
        }
        while pool.waiting() < 2 {
            tokio::task::yield_now().await;
        }
        assert!(pool.enter(&other(), Size::Small, soon()).await.is_ok());
        let full = flood
            .join_all()
            .await
            .into_iter()
            .filter(|why| *why == Some(Busy::Full))
            .count();
        assert_eq!(full, 6);
    }

    #[tokio::test]
    async fn more_than_may_wait_are_sent_away_and_who_goes_makes_room() {
        let pool = pool(1, 1);
        let _held = pool.enter(&acme(), Size::Large, soon()).await.unwrap();
        let waiting = {
            let pool = Arc::clone(&pool);
            tokio::spawn(async move { pool.enter(&acme(), Size::Large, later()).await.map(drop) })
        };
        while pool.waiting() == 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(pool.enter(&acme(), Size::Small, later()).await.err(), Some(Busy::Full));
        assert!(pool.slot(&acme(), Size::Small, soon()).await.is_ok());
        waiting.abort();
        assert!(waiting.await.unwrap_err().is_cancelled());
        assert!(pool.enter(&acme(), Size::Small, soon()).await.is_ok());
    }

    #[tokio::test]
    async fn a_job_that_is_late_keeps_its_slot_until_it_ends() {
        let pool = pool(1, 1);
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let slot = pool.enter(&acme(), Size::Large, soon()).await.unwrap();
        let late = slot.run(Size::Large, soon(), move || wait.recv()).await;
        assert_eq!(late.err(), Some(Busy::Late));
        assert_eq!(pool.enter(&acme(), Size::Large, soon()).await.err(), Some(Busy::Late));
        go.send(()).unwrap();
        assert!(pool.enter(&acme(), Size::Large, later()).await.is_ok());
    }

    #[tokio::test]
    #[should_panic(expected = "as it happens")]
    async fn a_job_that_panics_panics_where_it_is_waited_for() {
        let slot = pool(1, 1).enter(&acme(), Size::Small, soon()).await.unwrap();
        let _ = slot.run(Size::Small, later(), || panic!("as it happens")).await;
    }
    #[tokio::test]
    async fn the_job_of_a_tiny_step_runs_on_the_thread_that_asks_for_it_unless_it_is_late() {
        let pool = pool(1, 1);
        let here = std::thread::current().id();
        for (size, same) in [(Size::Tiny, true), (Size::Small, false)] {
            let slot = pool.enter(&acme(), size, soon()).await.unwrap();
            let (slot, there) = slot.run(size, later(), || std::thread::current().id()).await.unwrap();
            assert_eq!(here == there, same);
            let late = slot.run(Size::Tiny, Instant::now(), || ()).await;
            assert_eq!(late.err(), Some(Busy::Late));
        }
    }
}
