//! Places that organisations share by their weights.
//!
//! A place that becomes free goes to the organisation that waits for one and has the fewest for its weight; of several, to the one that
//! was given the fewest for its weight since it came; within one, to the step that came first. So where no other organisation waits nothing is
//! held back, and where many do, a flood of one delays another by the end of one of its jobs.
//!
//! Some places stay free of each organisation, so that a single step of another finds one: see [`Reserve`].

use std::collections::{HashMap, VecDeque};
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::Busy;
use crate::model::OrganisationId;

/// The weight of each organisation that is served, as it is now.
#[derive(Clone, Debug, Default)]
pub struct Weights(Arc<ArcSwap<HashMap<OrganisationId, NonZeroU32>>>);

impl Weights {
    /// Puts others in force.
    pub fn replace(&self, weights: impl Iterator<Item = (OrganisationId, NonZeroU32)>) {
        self.0.store(Arc::new(weights.collect()));
    }

    fn of(&self, organisation: &OrganisationId) -> u64 {
        u64::from(self.0.load().get(organisation).map_or(1, |weight| weight.get()))
    }

    fn is_alone(&self) -> bool {
        self.0.load().len() <= 1
    }
}

/// The share of one organisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reserve {
    /// The share that another of weight 1 has beside it: half of the places, or a quarter where its weight is 3. Nothing, where there is
    /// no other.
    ByWeight,
    /// One place.
    One,
}

/// Places that may be taken at the same time.
#[derive(Clone, Debug)]
pub struct Places(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    count: usize,
    reserve: Reserve,
    weights: Weights,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    taken: usize,
    /// The organisations that have a place or wait for one.
    tenants: HashMap<OrganisationId, Tenant>,
    /// Callers that wait, of all organisations.
    waiting: usize,
    /// The most that an organisation had been given for its weight when it was served: an organisation that comes anew begins there.
    clock: u64,
}

#[derive(Debug, Default)]
struct Tenant {
    taken: usize,
    given: u64,
    waiting: VecDeque<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    many: usize,
    granted: oneshot::Sender<Place>,
}

/// Places that are taken. Dropped, they are free again.
#[derive(Debug)]
pub struct Place {
    places: Places,
    organisation: OrganisationId,
    many: usize,
}

/// An organisation that waits: the places that it needs, and what it has and was given for its weight.
struct Turn<'s> {
    id: &'s OrganisationId,
    many: usize,
    held: u64,
    given: u64,
}

/// The figure with which one place counts for weight 1.
const SCALE: u64 = 1 << 20;

impl Places {
    /// Makes so many places, all of them free.
    pub fn new(count: usize, reserve: Reserve, weights: &Weights) -> Self {
        Self(Arc::new(Inner {
            count: count.max(1),
            reserve,
            weights: weights.clone(),
            state: Mutex::default(),
        }))
    }

    /// Returns the most that one organisation may have.
    pub(super) fn share(&self, organisation: &OrganisationId) -> usize {
        let Inner {
            count,
            reserve,
            weights,
            ..
        } = &*self.0;
        let left = match reserve {
            Reserve::ByWeight if weights.is_alone() => 0,
            Reserve::ByWeight => {
                let parts = usize::try_from(weights.of(organisation)).unwrap_or(usize::MAX);
                (count / parts.saturating_add(1)).max(1)
            }
            Reserve::One => 1,
        };
        count.saturating_sub(left).max(1)
    }

    /// Takes a place, where one is free.
    pub fn try_take(&self, organisation: &OrganisationId) -> Option<Place> {
        let mut state = self.state();
        self.fits(&state, organisation, 1)
            .then(|| self.give(&mut state, organisation, 1))
    }

    /// Takes a place as soon as one is free. A caller that waits for its organisation's share holds up no other organisation.
    ///
    /// # Errors
    ///
    /// When the deadline passes first.
    pub async fn take(&self, organisation: &OrganisationId, deadline: Instant) -> Result<Place, Busy> {
        let taken = tokio::time::timeout_at(deadline, self.wait_for(organisation, 1));
        taken.await.map_err(|_| Busy::Late)
    }

    /// Takes so many as soon as they are free; more than the share of the organisation counts as its share.
    pub(super) async fn wait_for(&self, organisation: &OrganisationId, many: usize) -> Place {
        let receiver = {
            let many = many.min(self.share(organisation));
            let mut state = self.state();
            if state.waiting == 0 && self.fits(&state, organisation, many) {
                return self.give(&mut state, organisation, many);
            }
            let (granted, receiver) = oneshot::channel();
            let clock = state.clock;
            let tenant = state.tenants.entry(organisation.clone()).or_default();
            if tenant.waiting.is_empty() {
                tenant.given = tenant.given.max(clock);
            }
            tenant.waiting.push_back(Waiting { many, granted });
            state.waiting += 1;
            receiver
        };
        self.serve();
        match receiver.await {
            Ok(place) => place,
            // Its sender is kept until it is used.
            Err(_) => std::future::pending().await,
        }
    }

    /// Returns `true` if none is free.
    pub fn is_spent(&self) -> bool {
        self.state().taken >= self.0.count
    }

    /// Gives what is free to those that wait.
    fn serve(&self) {
        while let Some((granted, place)) = self.next() {
            // Where the caller has stopped waiting, the place is dropped, and with that given back.
            drop(granted.send(place));
        }
    }

    fn next(&self) -> Option<(oneshot::Sender<Place>, Place)> {
        let mut state = self.state();
        if state.waiting == 0 {
            return None;
        }
        let mut gone = 0;
        state.tenants.retain(|_, tenant| {
            while tenant.waiting.front().is_some_and(|first| first.granted.is_closed()) {
                tenant.waiting.pop_front();
                gone += 1;
            }
            tenant.taken > 0 || !tenant.waiting.is_empty()
        });
        state.waiting = state.waiting.saturating_sub(gone);
        let turns = state.tenants.iter().filter_map(|(id, tenant)| self.turn(id, tenant));
        let Turn { id, many, .. } = turns.min_by_key(|turn| (turn.held, turn.given))?;
        // A caller that needs more than is free is not passed over, or small ones would keep it waiting for ever.
        if state.taken.saturating_add(many) > self.0.count {
            return None;
        }
        let id = id.clone();
        let first = state.tenants.get_mut(&id)?.waiting.pop_front()?;
        state.waiting = state.waiting.saturating_sub(1);
        let place = self.give(&mut state, &id, many);
        Some((first.granted, place))
    }

    /// Returns the turn of an organisation that waits and has enough of its share left.
    fn turn<'s>(&self, id: &'s OrganisationId, tenant: &Tenant) -> Option<Turn<'s>> {
        let share = self.share(id);
        let many = tenant.waiting.front()?.many.min(share);
        (tenant.taken.saturating_add(many) <= share).then(|| Turn {
            id,
            many,
            held: (tenant.taken as u64).saturating_mul(SCALE) / self.0.weights.of(id),
            given: tenant.given,
        })
    }

    fn fits(&self, state: &State, organisation: &OrganisationId, many: usize) -> bool {
        let taken = state.tenants.get(organisation).map_or(0, |tenant| tenant.taken);
        taken.saturating_add(many) <= self.share(organisation) && state.taken.saturating_add(many) <= self.0.count
    }

    /// Gives places to an organisation. INVARIANT: nothing else counts places as taken.
    fn give(&self, state: &mut State, organisation: &OrganisationId, many: usize) -> Place {
        let tenant = state.tenants.entry(organisation.clone()).or_default();
        tenant.taken += many;
        state.clock = state.clock.max(tenant.given);
        let step = (many as u64).saturating_mul(SCALE) / self.0.weights.of(organisation);
        tenant.given = tenant.given.saturating_add(step);
        state.taken += many;
        Place {
            places: self.clone(),
            organisation: organisation.clone(),
            many,
        }
    }

    fn give_back(&self, organisation: &OrganisationId, many: usize) {
        {
            let mut state = self.state();
            state.taken = state.taken.saturating_sub(many);
            if let Some(tenant) = state.tenants.get_mut(organisation) {
                tenant.taken = tenant.taken.saturating_sub(many);
                if tenant.taken == 0 && tenant.waiting.is_empty() {
                    state.tenants.remove(organisation);
                }
            }
        }
        self.serve();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Returns the number of places.
    pub(super) const fn many(&self) -> usize {
        self.many
    }

    /// Makes one of both, of one organisation.
    pub(super) fn join(&mut self, mut other: Self) {
        self.many += std::mem::take(&mut other.many);
    }

    /// Gives so many back.
    pub(super) fn give_back(&mut self, many: usize) {
        let many = many.min(self.many);
        self.many -= many;
        self.places.give_back(&self.organisation, many);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.many > 0 {
            self.places.give_back(&self.organisation, self.many);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn id(name: &str) -> OrganisationId {
        OrganisationId::new(name)
    }

    fn weights(of: &[(&str, u32)]) -> Weights {
        let weights = Weights::default();
        weights.replace(
            of.iter()
                .map(|(name, weight)| (id(name), NonZeroU32::new(*weight).unwrap())),
        );
        weights
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_millis(10)
    }

    /// Takes all that an organisation can take at once.
    fn all(places: &Places, organisation: &OrganisationId) -> Vec<Place> {
        std::iter::from_fn(|| places.try_take(organisation)).take(99).collect()
    }

    #[tokio::test]
    async fn one_organisation_leaves_places_to_the_others_by_its_weight() {
        let (eve, ann) = (id("eve"), id("ann"));
        let shares = weights(&[("eve", 1), ("ann", 3)]);
        let places = Places::new(4, Reserve::ByWeight, &shares);
        let held = all(&places, &eve);
        assert_eq!(held.len(), 2);
        assert_eq!(places.take(&eve, soon()).await.err(), Some(Busy::Late));
        let others = all(&places, &ann);
        assert_eq!((others.len(), places.is_spent()), (2, true));
        drop(held);
        assert!(places.take(&eve, soon()).await.is_ok());
        drop(others);
        assert_eq!(all(&places, &ann).len(), 3);
        shares.replace([(ann.clone(), NonZeroU32::MIN)].into_iter());
        assert_eq!(all(&places, &ann).len(), 4, "no other is served");
    }

    /// Counts the jobs of `ann` among 400, where both always have one that waits.
    async fn jobs_of_ann(count: usize, weight: u32) -> usize {
        let places = Places::new(count, Reserve::One, &weights(&[("eve", 1), ("ann", weight)]));
        let (told, mut jobs) = tokio::sync::mpsc::unbounded_channel();
        let workers: Vec<_> = ["eve", "ann"]
            .into_iter()
            .flat_map(|name| std::iter::repeat_n(name, 12))
            .map(|name| {
                let (places, told) = (places.clone(), told.clone());
                tokio::spawn(async move {
                    loop {
                        let place = places.wait_for(&id(name), 1).await;
                        for _ in 0..30 {
                            tokio::task::yield_now().await;
                        }
                        if told.send(name).is_err() {
                            return;
                        }
                        drop(place);
                    }
                })
            })
            .collect();
        let mut of_ann = 0;
        for _ in 0..400 {
            of_ann += usize::from(jobs.recv().await == Some("ann"));
        }
        for worker in workers {
            worker.abort();
        }
        of_ann
    }

    #[tokio::test]
    async fn where_both_wait_places_go_by_weight() {
        for (count, weight, share) in [(1, 1, 200), (1, 3, 300), (4, 1, 200), (4, 3, 300), (10, 4, 320)] {
            let jobs = jobs_of_ann(count, weight).await;
            assert!(
                jobs.abs_diff(share) <= 20,
                "{count} places, weight {weight}: {jobs} of 400"
            );
        }
    }

    #[tokio::test]
    async fn who_comes_to_a_flood_gets_the_next_place_that_is_free() {
        let places = Places::new(2, Reserve::One, &weights(&[("eve", 9), ("ann", 1), ("bob", 1)]));
        let (eve, ann, bob) = (id("eve"), id("ann"), id("bob"));
        let held = [places.try_take(&eve).unwrap(), places.try_take(&bob).unwrap()];
        let (told, mut served) = tokio::sync::mpsc::unbounded_channel();
        for name in [&eve, &eve, &bob, &bob, &ann] {
            let (places, name, told) = (places.clone(), name.clone(), told.clone());
            tokio::spawn(async move {
                let _place = places.wait_for(&name, 1).await;
                let _ = told.send(name);
            });
            tokio::task::yield_now().await;
        }
        drop(held);
        assert_eq!(served.recv().await, Some(ann));
    }

    #[tokio::test]
    async fn who_stops_waiting_takes_nothing_and_holds_up_nobody() {
        let places = Places::new(1, Reserve::ByWeight, &Weights::default());
        let eve = id("eve");
        let held = places.try_take(&eve).unwrap();
        for _ in 0..3 {
            assert_eq!(places.take(&eve, soon()).await.err(), Some(Busy::Late));
        }
        drop(held);
        let held = places.take(&eve, soon()).await.unwrap();
        let mut waiting = Box::pin(places.wait_for(&eve, 1));
        assert!(futures_util::poll!(&mut waiting).is_pending());
        // Given, and never looked at.
        drop(held);
        drop(waiting);
        assert!(!places.is_spent());
        assert!(places.state().tenants.is_empty());
    }

    #[tokio::test]
    async fn who_needs_many_is_not_kept_waiting_by_those_that_need_few() {
        let places = Places::new(4, Reserve::ByWeight, &Weights::default());
        let eve = id("eve");
        let one = places.wait_for(&eve, 1).await;
        let mut many = Box::pin(places.wait_for(&eve, 9));
        assert!(futures_util::poll!(&mut many).is_pending());
        let mut few = Box::pin(places.wait_for(&eve, 1));
        assert!(futures_util::poll!(&mut few).is_pending());
        drop(one);
        let mut many = many.await;
        assert_eq!(many.many(), 4);
        many.give_back(1);
        many.join(few.await);
        drop(many);
        assert!(places.state().tenants.is_empty());
    }
}
