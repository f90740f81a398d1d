//! The state of sessions of ACS: the agreements of their handshakes, the requests that were there, and the heads of their chains.
//!
//! A session that has been silent for longer than any of its requests stays fresh can go: none of them could be replayed afterwards.
//! All of it is bounded, and lives in this process; a journal brings handshakes and chains over a restart.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::journal::{Journal, Line};
use crate::model::OrganisationId;
use crate::wire::acs::{self, canonical_json, code};
use crate::wire::{self, RpcError};

/// Requests of one session that are remembered while they are fresh.
const MAX_SEEN: usize = 8_192;
/// The organisation of a session, and its id.
type Key = (OrganisationId, String);
/// Ids of all sessions together, where there are many; and what each session may remember at least.
const MAX_SEEN_IN_ALL: usize = 2_000_000;
const LEAST_SEEN: usize = 64;
/// The number of requests from which on those that are not fresh any more are forgotten.
const MANY_SEEN: usize = 512;

/// The sessions.
pub(super) struct Sessions {
    skew: Duration,
    max: usize,
    started: Timestamp,
    sessions: Mutex<HashMap<Key, Arc<Session>>>,
    journal: Option<Arc<Journal>>,
}

/// One session.
pub(super) struct Session {
    organisation: OrganisationId,
    id: String,
    state: Mutex<State>,
    journal: Option<Arc<Journal>>,
}

struct State {
    methods: HashSet<String>,
    /// The hash of each request's id and nonce, and the time until which it is fresh.
    seen: HashMap<[u8; 32], Timestamp>,
    head: Option<[u8; 32]>,
    last: Timestamp,
}

/// A session as the journal has it.
#[derive(Default)]
struct Restored {
    methods: HashSet<String>,
    head: Option<[u8; 32]>,
    /// The last line that tells of it.
    line: usize,
}

impl Restored {
    fn take(&mut self, methods: Option<Vec<String>>, entry: Option<Value>, line: usize) {
        self.line = line;
        if let Some(methods) = methods {
            self.methods = methods.into_iter().collect();
        }
        if let Some(head) = entry.and_then(|entry| blake3::Hash::from_hex(entry.get("entry_hash")?.as_str()?).ok()) {
            self.head = Some(head.into());
        }
    }
}

/// The proof of the time at which a request was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Proof {
    Signed,
    Unsigned,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn replayed(what: &str) -> RpcError {
    let message = format!("a replay: {what}");
    acs::refused(code::REPLAY_DETECTED, "replay_detected", message, &[])
}

impl Sessions {
    /// Opens the store without a session; or with those of the journal, as far as there is room.
    ///
    /// # Errors
    ///
    /// When the journal cannot be read or written.
    pub(super) fn open(skew: Duration, max: usize, journal: Option<&Path>) -> io::Result<Self> {
        let started = Timestamp::now();
        let mut read: HashMap<(String, String), Restored> = HashMap::new();
        let mut lines = 0_usize;
        let journal = match journal {
            None => None,
            Some(path) => Some(Arc::new(Journal::open(path, max, |line| {
                lines += 1;
                read.entry((line.organisation, line.session))
                    .or_default()
                    .take(line.methods, line.entry, lines);
            })?)),
        };
        let mut read: Vec<_> = read.into_iter().collect();
        read.sort_by_key(|(_, restored)| std::cmp::Reverse(restored.line));
        read.truncate(max);
        // As if they had been silent for long: a session that begins now may take the place of one.
        let last = started.saturating_sub(skew * 3).unwrap_or(Timestamp::MIN);
        let sessions = read.into_iter().map(|((organisation, id), restored)| {
            let organisation = OrganisationId::new(organisation);
            let session = Session {
                organisation: organisation.clone(),
                id: id.clone(),
                journal: journal.clone(),
                state: Mutex::new(State {
                    methods: restored.methods,
                    seen: HashMap::new(),
                    head: restored.head,
                    last,
                }),
            };
            ((organisation, id), Arc::new(session))
        });
        Ok(Self {
            skew,
            max,
            started,
            sessions: Mutex::new(sessions.collect()),
            journal,
        })
    }

    /// Begins the journal anew if it is full. Each session's state is written under its lock, so its last line is always the latest.
    fn turn_journal(&self) {
        let Some(journal) = self.journal.as_ref().filter(|journal| journal.turn()) else {
            return;
        };
        let sessions: Vec<_> = locked(&self.sessions).values().cloned().collect();
        for session in sessions {
            let state = locked(&session.state);
            journal.write(&Line {
                methods: Some(state.methods.iter().cloned().collect()),
                entry: state.head.map(|head| json!({ "entry_hash": hex(head) })),
                ..Line::of(&session.organisation, &session.id)
            });
        }
    }

    /// Checks that a request is fresh.
    ///
    /// # Errors
    ///
    /// `-32600` for a malformed time, `-32006` outside the window, and `-32005` for a signed request from before this process began: it may have been
    /// answered then.
    pub(super) fn check_time(
        &self,
        request: &wire::Request<'_, '_>,
        now: Timestamp,
        proof: Proof,
    ) -> Result<(), RpcError> {
        let Ok(sent) = request.timestamp.parse::<Timestamp>() else {
            return Err(RpcError::invalid_request(
                "invalid request: expected a time such as `2026-11-23T10:00:00Z` at `/params/timestamp`",
            ));
        };
        if now.duration_since(sent).unsigned_abs() > self.skew {
            let window = u64::try_from(self.skew.as_millis()).unwrap_or(u64::MAX);
            let message = format!("the timestamp is more than {window} ms from the time here");
            let more = [("skew_window_ms", json!(window))];
            return Err(acs::refused(
                code::TIMESTAMP_OUT_OF_WINDOW,
                "timestamp_out_of_window",
                message,
                &more,
            ));
        }
        if proof == Proof::Signed && sent < self.started {
            return Err(replayed(
                "the request was written before this guardian started, and may have been answered then",
            ));
        }
        Ok(())
    }

    /// Returns the session of a request, if there was a handshake.
    pub(super) fn of(&self, organisation: &OrganisationId, session: &str) -> Option<Arc<Session>> {
        let key = (organisation.clone(), session.to_owned());
        locked(&self.sessions).get(&key).cloned()
    }

    /// Returns the session that a handshake begins, or goes on with.
    ///
    /// # Errors
    ///
    /// `-32000` when there is room for no more.
    pub(super) fn begin(
        &self,
        organisation: &OrganisationId,
        session: &str,
        now: Timestamp,
    ) -> Result<Arc<Session>, RpcError> {
        let key = (organisation.clone(), session.to_owned());
        let mut sessions = locked(&self.sessions);
        if let Some(known) = sessions.get(&key) {
            return Ok(Arc::clone(known));
        }
        if sessions.len() >= self.max {
            let silent = |session: &Arc<Session>| locked(&session.state).last;
            let oldest = sessions.iter().min_by_key(|(_, session)| silent(session));
            let gone = oldest.filter(|(_, session)| now.duration_since(silent(session)).unsigned_abs() > self.skew * 2);
            let gone = gone.map(|(key, _)| key.clone());
            match gone.or_else(|| oldest_of_greediest(&sessions, organisation)) {
                Some(gone) => drop(sessions.remove(&gone)),
                None => {
                    let message = "there are too many sessions: try again later";
                    return Err(acs::refused(code::SESSION_REFUSED, "too_many_sessions", message, &[]));
                }
            }
        }
        let begun = Arc::new(Session {
            organisation: organisation.clone(),
            id: session.to_owned(),
            journal: self.journal.clone(),
            state: Mutex::new(State {
                methods: HashSet::new(),
                seen: HashMap::new(),
                head: None,
                last: now,
            }),
        });
        sessions.insert(key, Arc::clone(&begun));
        Ok(begun)
    }

    /// Remembers a request of a session.
    ///
    /// # Errors
    ///
    /// `-32005` when it, or its nonce, was there before; `-32010` when more are fresh than can be remembered.
    pub(super) fn reserve(
        &self,
        session: &Session,
        request_id: &str,
        nonce: Option<&str>,
        now: Timestamp,
    ) -> Result<(), RpcError> {
        self.turn_journal();
        let digest = |kind: &[u8], text: &str| -> [u8; 32] {
            Sha256::new().chain_update(kind).chain_update(text).finalize().into()
        };
        let id = digest(b"id:", request_id);
        let nonce = nonce.map(|nonce| digest(b"nonce:", nonce));
        let sessions = locked(&self.sessions).len().max(1);
        let room = (MAX_SEEN_IN_ALL / sessions).clamp(LEAST_SEEN, MAX_SEEN);
        let mut state = locked(&session.state);
        state.last = now;
        if state.seen.len() >= MANY_SEEN.min(room) {
            state.seen.retain(|_, until| *until >= now);
        }
        if state.seen.len() >= room {
            return Err(RpcError::rate_limited(1_000));
        }
        if state.seen.contains_key(&id) {
            return Err(replayed("this `request_id` was there before"));
        }
        if nonce.is_some_and(|nonce| state.seen.contains_key(&nonce)) {
            return Err(replayed("this `nonce` was there before"));
        }
        // From the edge of the window in the future to the one in the past.
        let until = now.saturating_add(self.skew * 2).unwrap_or(Timestamp::MAX);
        state.seen.insert(id, until);
        state.seen.extend(nonce.map(|nonce| (nonce, until)));
        Ok(())
    }
}

/// Returns the session that was silent the longest of the organisation with the most; `None` if that is the organisation that asks.
fn oldest_of_greediest(sessions: &HashMap<Key, Arc<Session>>, asking: &OrganisationId) -> Option<Key> {
    let mut held: HashMap<&OrganisationId, usize> = HashMap::new();
    for (organisation, _) in sessions.keys() {
        *held.entry(organisation).or_default() += 1;
    }
    let (greediest, most) = held.iter().max_by_key(|(_, held)| **held)?;
    if *most <= held.get(asking).copied().unwrap_or_default() + 1 {
        return None;
    }
    let of_it = sessions
        .iter()
        .filter(|((organisation, _), _)| organisation == *greediest);
    let oldest = of_it.min_by_key(|(_, session)| locked(&session.state).last);
    oldest.map(|(key, _)| key.clone())
}

impl Session {
    /// Agrees upon these methods.
    pub(super) fn agree(&self, methods: &[String]) {
        let mut state = locked(&self.state);
        state.methods = methods.iter().cloned().collect();
        if let Some(journal) = &self.journal {
            let methods = Some(methods.to_vec());
            journal.write(&Line {
                methods,
                ..Line::of(&self.organisation, &self.id)
            });
        }
    }

    /// Checks that a method was agreed upon.
    ///
    /// # Errors
    ///
    /// `-32003` with `data.method`.
    pub(super) fn check_method(&self, method: &str) -> Result<(), RpcError> {
        if locked(&self.state).methods.contains(method) {
            return Ok(());
        }
        Err(not_negotiated(method))
    }

    /// Compares the head that a client has with the one here.
    ///
    /// # Errors
    ///
    /// `-32007` when they differ.
    pub(super) fn check_head(&self, of_client: Option<String>) -> Result<(), RpcError> {
        let here = locked(&self.state).head.map(hex);
        match of_client {
            Some(head) if Some(&head) != here.as_ref() => {
                let message =
                    "the `chain_hash` at `/params/metadata/session_state` is not the head of this session's chain";
                Err(acs::refused(code::CHAIN_MISMATCH, "chain_mismatch", message, &[]))
            }
            _ => Ok(()),
        }
    }

    /// Chains an entry (8.2): the new head, and the entry with its hashes.
    pub(super) fn append(&self, entry: &acs::Entry<'_>) -> (String, Value) {
        let mut entry = entry.json();
        let content = canonical_json(&entry).unwrap_or_default();
        let mut state = locked(&self.state);
        let before = state.head;
        let hash: [u8; 32] = Sha256::new()
            .chain_update(content)
            .chain_update(before.as_ref().map_or(&[][..], |head| &head[..]))
            .finalize()
            .into();
        state.head = Some(hash);
        let head = hex(hash);
        if let Some(members) = entry.as_object_mut() {
            members.insert("previous_hash".to_owned(), json!(before.map(hex)));
            members.insert("entry_hash".to_owned(), json!(head));
        }
        // Under the lock: the lines of a session stand in the order of its chain.
        if let Some(journal) = &self.journal {
            let entry = Some(entry.clone());
            journal.write(&Line {
                entry,
                ..Line::of(&self.organisation, &self.id)
            });
        }
        drop(state);
        (head, entry)
    }
}

/// Returns the error that a method was not agreed upon, or that there was no handshake.
pub(super) fn not_negotiated(method: &str) -> RpcError {
    let method: String = method.chars().take(64).collect();
    let message =
        "the method was not agreed upon in this session: send `handshake/hello` with it in `methods_implemented`";
    acs::refused(
        code::NOT_NEGOTIATED,
        "not_negotiated",
        message,
        &[("method", json!(method))],
    )
}

/// Writes a hash in lower-case hex.
pub(super) fn hex(hash: [u8; 32]) -> String {
    blake3::Hash::from_bytes(hash).to_hex().to_string()
}
