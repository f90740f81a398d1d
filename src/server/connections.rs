//! Connections: their number, their limits for each address, and the choice of those that are closed.
//!
//! A connection either waits for its client — for a first byte, a header, a body, or for an answer to be taken — or for us. One that waits for its
//! client too long is closed. If there are as many as there may be, a new one takes the place of the one that has waited for its client the longest;
//! only if all wait for us it is refused.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::telemetry::names;

/// The bounds of connections in number and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connections {
    /// Connections in all.
    pub most: usize,
    /// Connections from one address.
    pub most_per_peer: usize,
    /// The time that one may wait for its client between two requests.
    pub idle_timeout: Duration,
}

/// The time that a new connection may wait for its first request.
const FIRST_REQUEST: Duration = Duration::from_secs(10);
/// Connections by default, if the limit of open files allows as many.
const MAX: usize = 4_096;
/// Files that are opened for anything but clients.
const OTHER_FILES: usize = 128;

impl Default for Connections {
    fn default() -> Self {
        let most = open_files()
            .map_or(512, |files| files.saturating_sub(OTHER_FILES))
            .clamp(64, MAX);
        Self {
            most,
            most_per_peer: most,
            idle_timeout: Duration::from_secs(30),
        }
    }
}

/// Returns the number of files that this process may have open, if the system tells it.
fn open_files() -> Option<usize> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find(|line| line.starts_with("Max open files"))?;
    line.split_whitespace().nth(3)?.parse().ok()
}

/// Every connection that is held.
#[derive(Debug)]
pub(super) struct Registry {
    limits: Connections,
    table: Mutex<Table>,
    /// Notified when a connection ends.
    ended: Notify,
}

#[derive(Debug, Default)]
struct Table {
    next: u64,
    held: HashMap<u64, Entry>,
    per_peer: HashMap<IpAddr, usize>,
    refused: u64,
}

#[derive(Debug)]
struct Entry {
    peer: IpAddr,
    state: State,
    displaced: Arc<Notify>,
}

/// The party that a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Its client, since then; before its first request, or later.
    Client { since: Instant, served: Served },
    /// Us.
    Us,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Served {
    Nothing,
    Something,
}

/// A connection that is held. Dropped, it is not held any more.
#[derive(Clone, Debug)]
pub(super) struct Held(Arc<Holding>);

#[derive(Debug)]
struct Holding {
    registry: Arc<Registry>,
    number: u64,
    /// Requests of it that are under way: several at a time in HTTP/2.
    requests: AtomicUsize,
    displaced: Arc<Notify>,
}

impl Registry {
    pub(super) fn new(limits: Connections) -> Arc<Self> {
        Arc::new(Self {
            limits,
            table: Mutex::default(),
            ended: Notify::new(),
        })
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in a connection; `None` if there is no room for it.
    pub(super) fn take(self: &Arc<Self>, peer: IpAddr) -> Option<Held> {
        let mut table = self.table();
        let of_peer = table.per_peer.get(&peer).copied().unwrap_or(0);
        let is_full = table.held.len() >= self.limits.most;
        if of_peer >= self.limits.most_per_peer && !table.displace(|other| other == peer) {
            return table.refuse("peer_full", peer);
        }
        if is_full && !table.displace(|_| true) {
            return table.refuse("full", peer);
        }
        let number = table.next;
        table.next += 1;
        let displaced = Arc::new(Notify::new());
        *table.per_peer.entry(peer).or_default() += 1;
        table.held.insert(
            number,
            Entry {
                peer,
                state: State::Client {
                    since: Instant::now(),
                    served: Served::Nothing,
                },
                displaced: Arc::clone(&displaced),
            },
        );
        metrics::gauge!(names::CONNECTIONS).set(table.held.len() as f64);
        drop(table);
        Some(Held(Arc::new(Holding {
            registry: Arc::clone(self),
            number,
            requests: AtomicUsize::new(0),
            displaced,
        })))
    }

    /// Returns their number.
    pub(super) fn count(&self) -> usize {
        self.table().held.len()
    }

    /// Waits until there is no connection any more.
    pub(super) async fn emptied(&self) {
        loop {
            let ended = self.ended.notified();
            if self.table().held.is_empty() {
                return;
            }
            ended.await;
        }
    }
}

impl Table {
    /// Closes the connection that has waited for its client the longest, of those that may be closed.
    fn displace(&mut self, may: impl Fn(IpAddr) -> bool) -> bool {
        let waiting = self.held.iter().filter(|(_, entry)| may(entry.peer));
        let waiting = waiting.filter_map(|(number, entry)| match entry.state {
            State::Client { since, .. } => Some((since, *number)),
            State::Us => None,
        });
        let Some((_, number)) = waiting.min() else {
            return false;
        };
        if let Some(entry) = self.remove(number) {
            entry.displaced.notify_one();
            count_closed("displaced");
        }
        true
    }

    fn remove(&mut self, number: u64) -> Option<Entry> {
        let entry = self.held.remove(&number)?;
        if let Some(count) = self.per_peer.get_mut(&entry.peer) {
            *count -= 1;
            if *count == 0 {
                self.per_peer.remove(&entry.peer);
            }
        }
        metrics::gauge!(names::CONNECTIONS).set(self.held.len() as f64);
        Some(entry)
    }

    fn refuse<T>(&mut self, reason: &'static str, peer: IpAddr) -> Option<T> {
        count_closed(reason);
        self.refused += 1;
        // One line for each doubling: an attacker that floods us does not get to fill the log.
        if self.refused.is_power_of_two() {
            tracing::warn!(%peer, reason, refused = self.refused, held = self.held.len(), "a connection was refused");
        }
        None
    }
}

/// Counts a connection that was not closed by its client.
pub(super) fn count_closed(reason: &'static str) {
    metrics::counter!(names::CONNECTIONS_CLOSED, "reason" => reason).increment(1);
}

impl Held {
    /// Notes that it waits for us from now on: the request is there.
    pub(super) fn wait_for_us(&self) {
        self.set(State::Us);
    }

    /// Notes that a request has begun to arrive.
    pub(super) fn begin_request(&self) {
        self.0.requests.fetch_add(1, Ordering::SeqCst);
    }

    /// Notes that its answer is there to be taken.
    pub(super) fn end_request(&self) {
        if self.0.requests.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.wait_for_client();
        }
    }

    /// Notes that it waits for its client from now on.
    pub(super) fn wait_for_client(&self) {
        self.set(State::Client {
            since: Instant::now(),
            served: Served::Something,
        });
    }

    fn set(&self, state: State) {
        if let Some(entry) = self.0.registry.table().held.get_mut(&self.0.number) {
            entry.state = state;
        }
    }

    /// Waits until it has to make room, or has waited too long for its client. Returns the reason.
    pub(super) async fn is_over(&self) -> &'static str {
        loop {
            let registry = &self.0.registry;
            let state = registry.table().held.get(&self.0.number).map(|entry| entry.state);
            let idle = registry.limits.idle_timeout;
            let until = match state {
                None => return "displaced",
                Some(State::Us) => Instant::now() + idle,
                Some(State::Client { since, served }) => match served {
                    Served::Nothing => since + idle.min(FIRST_REQUEST),
                    Served::Something => since + idle,
                },
            };
            if until <= Instant::now() {
                count_closed("idle");
                return "idle";
            }
            tokio::select! {
                () = tokio::time::sleep_until(until.into()) => {}
                () = self.0.displaced.notified() => {}
            }
        }
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        self.registry.table().remove(self.number);
        self.registry.ended.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registry(most: usize, most_per_peer: usize) -> Arc<Registry> {
        Registry::new(Connections {
            most,
            most_per_peer,
            idle_timeout: Duration::from_secs(60),
        })
    }

    const ANN: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const EVE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

    #[tokio::test]
    async fn a_new_connection_takes_the_place_of_the_one_that_waited_longest_for_its_client() {
        let registry = registry(2, 2);
        let busy = registry.take(EVE).unwrap();
        busy.wait_for_us();
        let silent = registry.take(EVE).unwrap();
        let new = registry.take(ANN).unwrap();
        assert_eq!(silent.is_over().await, "displaced");
        new.wait_for_us();
        assert!(registry.take(ANN).is_none());
        busy.wait_for_client();
        assert!(registry.take(ANN).is_some());
        assert_eq!(busy.is_over().await, "displaced");
    }

    #[tokio::test]
    async fn one_address_displaces_its_own_connections_only() {
        let registry = registry(8, 2);
        let other = registry.take(ANN).unwrap();
        let first = registry.take(EVE).unwrap();
        let second = registry.take(EVE).unwrap();
        second.wait_for_us();
        let third = registry.take(EVE).unwrap();
        assert_eq!(first.is_over().await, "displaced");
        third.wait_for_us();
        assert!(registry.take(EVE).is_none());
        assert!(registry.table().held.contains_key(&other.0.number));
    }

    #[tokio::test]
    async fn who_is_gone_is_not_counted() {
        let registry = registry(8, 2);
        for _ in 0..100 {
            drop(registry.take(ANN).unwrap());
        }
        registry.emptied().await;
        assert!(registry.table().per_peer.is_empty());
    }
}
