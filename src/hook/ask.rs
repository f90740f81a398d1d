//! Asking about an event: an AOS server, or the guardian of this process. Both answer with the same bytes, which are read once.

use std::convert::identity;
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use serde_json::Value;
use url::{Host, Url};

use super::event::Event;
use super::program::Program;
use super::question::{edited, question};
use super::ruling::{OnFailure, Ruling};
use crate::asking;
use crate::model::Caller;
use crate::outgoing;
use crate::pipeline::Guardian;
use crate::wire::{self, code};

/// The largest answer that is read, in bytes: a modified request is not much larger than the request.
const MAX_ANSWER: usize = 32 * 1024 * 1024;

/// A server that is asked.
#[derive(Clone, Debug)]
pub struct Server {
    /// Its address.
    pub url: Url,
    /// Its key, where it asks for one.
    pub key: Option<SecretString>,
}

/// The party that is asked.
pub enum Answerer {
    /// A server.
    Server(Server),
    /// The guardian of this process.
    Here {
        /// It.
        guardian: Arc<Guardian>,
        /// On whose behalf.
        caller: Caller,
        /// The limits of a step.
        limits: wire::Limits,
    },
}

/// The reason why there is no answer.
enum Unanswered {
    /// There was no answer; the posture decides.
    Unavailable(String),
    /// The question was not taken.
    Refused(String),
}

impl Answerer {
    /// Rules on an event. Later than the deadline is no answer.
    pub async fn rule(&self, program: &Program, event: &Event, deadline: Duration, posture: OnFailure) -> Ruling {
        let id = uuid::Uuid::new_v4().to_string();
        let Some(question) = question(program, event, &id) else {
            return Ruling::Go;
        };
        let asking = async {
            match self {
                Answerer::Server(server) => server.ask(question.to_string()).await,
                Answerer::Here {
                    guardian,
                    caller,
                    limits,
                } => {
                    let answer = asking::answer(guardian, caller, question.to_string(), limits, identity).await;
                    serde_json::from_slice(&answer)
                        .map_err(|_| Unanswered::Unavailable("the answer cannot be read".to_owned()))
                }
            }
        };
        match tokio::time::timeout(deadline, asking).await {
            Ok(Ok(answer)) => ruling(event, &answer, &id, posture),
            Ok(Err(Unanswered::Unavailable(why))) => Ruling::unanswered(event, &why, posture),
            Ok(Err(Unanswered::Refused(why))) => Ruling::refused(event, &why),
            Err(_) => Ruling::unanswered(event, "the guardian did not answer in time", posture),
        }
    }
}

/// Returns the ruling of an AOS answer about an event.
pub fn ruling(event: &Event, answer: &Value, id: &str, posture: OnFailure) -> Ruling {
    if let Some(error) = answer.get("error") {
        let why = error.get("message").and_then(Value::as_str).unwrap_or("an error");
        return match error.get("code").and_then(Value::as_i64) {
            Some(code::UNDECIDED | code::OVERLOADED | code::INTERNAL) => Ruling::unanswered(event, why, posture),
            Some(_) | None => Ruling::refused(event, why),
        };
    }
    let text = |pointer: &str| answer.pointer(pointer).and_then(Value::as_str);
    if text("/id") != Some(id) {
        return Ruling::refused(event, "the answer belongs to another question");
    }
    let decision_id = text("/result/data/decisionId").filter(|id| !id.is_empty());
    match text("/result/decision") {
        Some("allow") => Ruling::Go,
        Some("modify") => {
            let params = answer.pointer("/result/modifiedRequest/params");
            match params.and_then(|params| edited(event, params)) {
                Some(edited) => Ruling::Edit(edited),
                None => Ruling::denied(
                    event,
                    "This could only go on in an edited form, which is not possible here.",
                    decision_id,
                ),
            }
        }
        Some("deny") => Ruling::denied(event, text("/result/message").unwrap_or("This is denied."), decision_id),
        Some(_) | None => Ruling::refused(event, "the answer is none of an AOS guardian"),
    }
}

impl Server {
    async fn ask(&self, body: String) -> Result<Value, Unanswered> {
        let unavailable = |what: &str| Unanswered::Unavailable(format!("{what} at {}", self.shown()));
        let mut http = outgoing::client();
        if self.is_here() {
            // A proxy for the world outside has nothing to do with this machine.
            http = http.no_proxy();
        }
        let http = http.build().map_err(|_| unavailable("nothing can be sent"))?;
        let mut response = outgoing::post(&http, self.url.clone(), self.key.as_ref(), body)
            .send()
            .await
            .map_err(|_| unavailable("there is no answer from the guardian"))?;
        let status = response.status();
        let body = outgoing::body(&mut response, MAX_ANSWER).await;
        let body = body.map_err(|_| unavailable("the answer broke off"))?;
        let body = body.ok_or_else(|| Unanswered::Refused("its answer is too large".to_owned()))?;
        match serde_json::from_slice(&body) {
            Ok(answer) => Ok(answer),
            Err(_) if status.is_server_error() => Err(unavailable(&format!("HTTP {}", status.as_u16()))),
            Err(_) => Err(Unanswered::Refused(format!(
                "HTTP {} without an answer in JSON, at {}",
                status.as_u16(),
                self.shown()
            ))),
        }
    }

    /// Returns `true` if it is on this machine.
    fn is_here(&self) -> bool {
        match self.url.host() {
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            Some(Host::Domain(name)) => name == "localhost",
            None => false,
        }
    }

    /// Returns the address without what may be secret in it.
    fn shown(&self) -> String {
        self.url.origin().ascii_serialization()
    }
}
