//! `POST /acs`: envelopes of the Agent Control Standard in, decisions out.
//!
//! ```text
//! body ─▶ JSON ─▶ envelope ─▶ ping? ─▶ signature ─▶ time ─▶ replay ─▶ handshake ─▶ payload ─▶ admit, decide ─▶ chain ─▶ sign
//! ```
//!
//! A handshake, and a mark without words, count for the caller's limit and leave a record as a step does; rules alone look at them.
//!
//! A caller that gets as far as a signature is answered with one, errors included. An id counts as used as soon as it was signed for, whatever the
//! outcome of the request.

mod journal;
mod keys;
mod sessions;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::Request;
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::receive::{Permits, Presented, Received, receive_for};
use super::steps::{Refused, admitted, decide, json, read_in_slot};
use super::{Refusal, Shared};
use crate::model::{Caller, RequestId, Step, named_enum};
use crate::pipeline::Recorded;
use crate::telemetry::names;
use crate::wire::acs::{self, Named, response};
use crate::wire::{self, Leniency, Limits, RpcError, encode_batch};
use crate::work::Size;

pub use keys::AcsKey;
use keys::{SessionKey, sealed, verify};
use sessions::{Proof, Session, Sessions, hex, not_negotiated};

named_enum! {
    /// The behaviour without a decision that a handshake tells the client: it lets the step happen, or not.
    OnDecisionFailure {
        /// The step does not happen.
        Deny = "deny",
        /// The step happens.
        Proceed = "proceed",
    }
}

/// The settings for envelopes.
#[derive(Clone, Debug)]
pub struct AcsSettings {
    /// The secrets; empty: nothing is signed.
    pub keys: Vec<AcsKey>,
    /// The distance that a timestamp may have from the time here.
    pub skew: Duration,
    /// The behaviour that clients are told for a missing decision.
    pub on_decision_failure: OnDecisionFailure,
    /// The time that clients are told to wait.
    pub timeout: Duration,
    /// Sessions that are remembered.
    pub max_sessions: usize,
    /// The file that brings sessions and their chains over a restart.
    pub journal: Option<PathBuf>,
}

impl Default for AcsSettings {
    fn default() -> Self {
        Self {
            keys: Vec::new(),
            skew: Duration::from_secs(300),
            on_decision_failure: OnDecisionFailure::Deny,
            timeout: Duration::from_secs(12),
            max_sessions: 10_000,
            journal: None,
        }
    }
}

/// The door: settings, and the state of sessions.
pub(super) struct Door {
    settings: AcsSettings,
    sessions: Sessions,
}

impl Door {
    /// Opens the door with its sessions, those of the journal among them.
    ///
    /// # Errors
    ///
    /// When the journal cannot be read or written.
    pub(super) fn open(settings: AcsSettings) -> io::Result<Self> {
        let sessions = Sessions::open(settings.skew, settings.max_sessions, settings.journal.as_deref())?;
        Ok(Self { settings, sessions })
    }

    /// Returns `true` if a signature can tell the organisation of an envelope.
    pub(super) fn names_organisations(&self) -> bool {
        self.settings.keys.iter().any(|key| key.organisation.is_some())
    }
}

/// The result of the checks on one request.
enum Examined {
    /// It is answered.
    Answered(Vec<u8>),
    /// It needs an API key.
    Refused(Refusal, Option<RequestId>),
    /// It begins a session, or goes on with one.
    Hello(AcsRequest, Box<Greeting>),
    /// It carries a step.
    Step(AcsRequest, Box<Carried>),
}

/// The caller of a request, and the key that signs its answer.
struct AcsRequest {
    caller: Caller,
    id: RequestId,
    request_id: String,
    step: Arc<Step>,
    key: Option<SessionKey>,
}

/// A handshake.
struct Greeting {
    session: String,
    nonce: Option<String>,
    methods: Vec<String>,
    /// The answer to it.
    hello: serde_json::Value,
}

/// The data about a step that the chain of its session needs.
struct Carried {
    method: String,
    named: Option<Named>,
    request_hash: String,
    session: Arc<Session>,
}

/// The sender of a body: the caller of its API key, if there was one.
struct Sender {
    caller: Caller,
    presented: Presented,
}

pub(super) async fn answer(State(shared): State<Arc<Shared>>, request: Request<Body>) -> Response {
    match answered(&shared, request).await {
        Ok(response) => response,
        Err((refusal, id)) => refusal.answer(id.as_ref()),
    }
}

async fn answered(shared: &Arc<Shared>, request: Request<Body>) -> Refused<Response> {
    let received = receive_for(shared, request, shared.acs.names_organisations()).await;
    let Received {
        caller,
        presented,
        body,
        leniencies,
        permits,
    } = received.map_err(|refusal| (refusal, None))?;
    let permits = Arc::new(permits);
    let (of, limits) = (Arc::clone(shared), shared.limits);
    let (bytes, whose) = (body.len(), caller.clone());
    let sender = Sender { caller, presented };
    let read = move || examine(&of.acs, &sender, &body, &limits, &leniencies);
    let (batch, examined) = read_in_slot(shared, &whose, bytes, read).await?;
    let mut answers = Vec::with_capacity(examined.len());
    for examined in examined {
        let answer = match examined {
            Examined::Answered(body) => Ok(body),
            Examined::Refused(refusal, id) if !batch => return Err((refusal, id)),
            Examined::Refused(refusal, id) => Ok(error_body(id.as_ref(), &refusal.error(), None)),
            Examined::Hello(asked, greeting) => {
                let (id, key) = (asked.id.clone(), asked.key.clone());
                or_refused(greet(shared, asked, *greeting).await, id, key.as_ref())
            }
            Examined::Step(asked, carried) => {
                let (id, key) = (asked.id.clone(), asked.key.clone());
                let answered = match acs::is_empty_mark(carried.named, &asked.step) {
                    true => note(shared, asked, *carried).await,
                    false => ask(shared, asked, *carried, &permits).await,
                };
                or_refused(answered, id, key.as_ref())
            }
        };
        let answer = match answer {
            Err((refusal, id, body)) if !batch => {
                let mut response = refusal.answer(Some(&id));
                *response.body_mut() = Body::from(body);
                return Ok(response);
            }
            Ok(body) | Err((_, _, body)) => body,
        };
        answers.push(answer);
    }
    if batch {
        return Ok(json(encode_batch(answers)));
    }
    Ok(json(answers.pop().unwrap_or_default()))
}

/// Returns a refusal, and the signed error that is the body of its response.
fn or_refused(
    answered: Result<Vec<u8>, Refusal>,
    id: RequestId,
    key: Option<&SessionKey>,
) -> Result<Vec<u8>, (Refusal, RequestId, Vec<u8>)> {
    answered.map_err(|refusal| {
        let body = error_body(Some(&id), &refusal.error(), key);
        (refusal, id, body)
    })
}

/// Reads a body and checks its envelopes, in their order. The steps that they carry are still to be decided.
fn examine(door: &Door, sender: &Sender, body: &[u8], limits: &Limits, received: &[Leniency]) -> (bool, Vec<Examined>) {
    let requests = match wire::Requests::read(body, limits, received) {
        Ok(requests) => requests,
        Err(error) => return (false, vec![Examined::Answered(error_body(None, &error, None))]),
    };
    let examined = requests.each().map(|request| match request {
        Ok(request) => check(door, sender, &request),
        Err((id, error)) => Examined::Answered(error_body(id.as_ref(), &error, None)),
    });
    (requests.batch, examined.collect())
}

/// Checks one envelope.
fn check(door: &Door, sender: &Sender, request: &wire::Request<'_, '_>) -> Examined {
    let id = request.id();
    let now = Timestamp::now();
    if request.named == Some(Named::Ping) {
        let pong = acs::ping(&request.request_id, request.echo().as_deref(), &now.to_string());
        return Examined::Answered(sealed(response(Some(id), Ok(pong)), None));
    }
    let (key, organisation) = match verify(&door.settings.keys, request) {
        Ok(Some((key, known))) => (Some(key), known.organisation.clone()),
        Ok(None) => (None, None),
        Err(error) => return Examined::Answered(error_body(Some(id), &error, None)),
    };
    let caller = match (sender.presented, organisation, &key) {
        // A signature of another organisation than the API key's is none of this one.
        (Presented::Key, Some(organisation), _) if organisation != sender.caller.organisation => {
            let message = "the signature is invalid: its key belongs to another organisation than the API key";
            let error = acs::refused(acs::code::SIGNATURE_INVALID, "signature_invalid", message, &[]);
            return Examined::Answered(error_body(Some(id), &error, None));
        }
        (Presented::Key, _, _) => sender.caller.clone(),
        (Presented::Nothing, Some(organisation), Some(key)) => Caller {
            organisation,
            name: key.caller_name(),
        },
        (Presented::Nothing, _, _) => return Examined::Refused(Refusal::NoCredential, Some(id.clone())),
    };
    let proof = if key.is_some() { Proof::Signed } else { Proof::Unsigned };
    let asked = |step| AcsRequest {
        caller: caller.clone(),
        id: id.clone(),
        request_id: request.request_id.clone(),
        step,
        key: key.clone(),
    };
    match admit(door, &caller, request, now, proof) {
        Ok(Admitted::Hello(greeting, step)) => Examined::Hello(asked(step), greeting),
        Ok(Admitted::Step(session, step)) => {
            let request_hash = request.canonical_params().map(|text| hex(Sha256::digest(text).into()));
            let carried = Carried {
                method: request.method().to_owned(),
                named: request.named,
                request_hash: request_hash.unwrap_or_default(),
                session,
            };
            Examined::Step(asked(step), Box::new(carried))
        }
        Err(error) => Examined::Answered(error_body(Some(id), &error, key.as_ref())),
    }
}

/// A request that passed every check, as it goes on.
enum Admitted {
    /// A handshake, and the step that rules and the audit take it for.
    Hello(Box<Greeting>, Arc<Step>),
    /// A step of this session.
    Step(Arc<Session>, Arc<Step>),
}

fn admit(
    door: &Door,
    caller: &Caller,
    request: &wire::Request<'_, '_>,
    now: Timestamp,
    proof: Proof,
) -> Result<Admitted, RpcError> {
    let (sessions, organisation) = (&door.sessions, &caller.organisation);
    sessions.check_time(request, now, proof)?;
    if request.named == Some(Named::Hello) {
        let hello = request.hello()?;
        if !hello.speaks_ours() {
            return Err(acs::unsupported_version());
        }
        let methods = hello.judged();
        let greeting = Greeting {
            session: request.session.clone(),
            nonce: request.nonce.clone(),
            hello: door.server_hello(&hello, &methods, proof),
            methods,
        };
        return Ok(Admitted::Hello(Box::new(greeting), request.step()?));
    }
    let Some(session) = sessions.of(organisation, &request.session) else {
        return Err(not_negotiated(request.method()));
    };
    sessions.reserve(&session, &request.request_id, request.nonce.as_deref(), now)?;
    if !acs::is_ours(&request.version) {
        return Err(acs::unsupported_version());
    }
    if request.named.is_none() {
        return Err(RpcError::method_not_found(request.method()));
    }
    session.check_method(request.method())?;
    session.check_head(request.chain_hash())?;
    Ok(Admitted::Step(session, request.step()?))
}

impl Door {
    fn server_hello(&self, hello: &acs::Hello, methods: &[String], proof: Proof) -> serde_json::Value {
        let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let on_failure = match self.settings.on_decision_failure {
            OnDecisionFailure::Deny => "deny",
            OnDecisionFailure::Proceed => "proceed",
        };
        let signed = proof == Proof::Signed;
        let (timeout, skew) = (millis(self.settings.timeout), millis(self.settings.skew));
        acs::server_hello(methods, timeout, skew, on_failure, signed, hello)
    }
}

/// Begins a session, or goes on with one.
async fn greet(shared: &Arc<Shared>, asked: AcsRequest, greeting: Greeting) -> Result<Vec<u8>, Refusal> {
    let admitted = admitted(shared, &asked.caller, &asked.step).await?;
    let (sessions, now) = (&shared.acs.sessions, Timestamp::now());
    let begun = sessions.begin(&asked.caller.organisation, &greeting.session, now);
    let begun = begun.and_then(|session| {
        sessions.reserve(&session, &asked.request_id, greeting.nonce.as_deref(), now)?;
        Ok(session)
    });
    let key = asked.key.as_ref();
    let session = match begun {
        Ok(session) => session,
        Err(error) => return Ok(error_body(Some(&asked.id), &error, key)),
    };
    let decided = shared.guardian.answer_by_rules(&admitted, asked.step).await;
    if decided.recorded == Recorded::No {
        return Err(Refusal::Unrecorded);
    }
    session.agree(&greeting.methods);
    Ok(sealed(response(Some(&asked.id), Ok(greeting.hello)), key))
}

/// Notes a mark in an agent's life without words.
async fn note(shared: &Arc<Shared>, asked: AcsRequest, carried: Carried) -> Result<Vec<u8>, Refusal> {
    let admitted = admitted(shared, &asked.caller, &asked.step).await?;
    let step = Arc::clone(&asked.step);
    let decided = shared.guardian.answer_by_rules(&admitted, step).await;
    if decided.recorded == Recorded::No {
        return Err(Refusal::Unrecorded);
    }
    let result = acs::noted(&asked.request_id);
    Ok(chained(&asked, &carried, &decided.decision_id, result))
}

/// Decides about a step.
async fn ask(
    shared: &Arc<Shared>,
    asked: AcsRequest,
    carried: Carried,
    permits: &Arc<Permits>,
) -> Result<Vec<u8>, Refusal> {
    let deadline = Instant::now() + shared.settings.longest_wait;
    let size = Size::of(asked.step.text_bytes());
    let slot = shared
        .guardian
        .pool()
        .slot(&asked.caller.organisation, size, deadline)
        .await;
    let slot = slot.map_err(|_| Refusal::Overloaded)?;
    let (caller, id, step) = (asked.caller.clone(), asked.id.clone(), Arc::clone(&asked.step));
    decide(
        shared,
        &caller,
        &id,
        step,
        slot,
        Arc::clone(permits),
        move |verdict, facts, shown| {
            let decided = acs::decided(&asked.request_id, carried.named, &asked.step, verdict, facts, shown);
            match decided {
                Ok(result) => chained(&asked, &carried, &facts.decision_id, result),
                Err(error) => error_body(Some(&asked.id), &error, asked.key.as_ref()),
            }
        },
    )
    .await
}

/// Makes the answer to a step, as the next entry of its session's chain.
fn chained(asked: &AcsRequest, carried: &Carried, decision_id: &str, mut result: serde_json::Value) -> Vec<u8> {
    let decision = result
        .get("decision")
        .and_then(|decision| decision.as_str())
        .unwrap_or_default();
    let time = Timestamp::now().to_string();
    let entry = acs::Entry {
        id: decision_id,
        request_id: &asked.request_id,
        method: &carried.method,
        time: &time,
        request_hash: &carried.request_hash,
        decision,
    };
    let (head, entry) = carried.session.append(&entry);
    if let Some(members) = result.as_object_mut() {
        members.insert("chain_hash".to_owned(), serde_json::json!(head));
        let data = members.entry("policy_data").or_insert_with(|| serde_json::json!({}));
        if let Some(data) = data.as_object_mut() {
            data.insert("chain_entry".to_owned(), entry);
        }
    }
    sealed(response(Some(&asked.id), Ok(result)), asked.key.as_ref())
}

/// Makes an error answer, and counts it.
fn error_body(id: Option<&RequestId>, error: &RpcError, key: Option<&SessionKey>) -> Vec<u8> {
    metrics::counter!(names::REFUSALS, "reason" => error.code.to_string()).increment(1);
    sealed(response(id, Err(error)), key)
}
