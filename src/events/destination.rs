//! The destinations of events: NATS JetStream, a webhook, a file.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::header::NATS_MESSAGE_ID;
use async_nats::jetstream::context::PublishErrorKind;
use async_nats::jetstream::{self, stream};
use futures_util::future::try_join_all;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::ocsf::Event;
use super::{MAX_BATCH, Settings};
use crate::{files, outgoing};

/// The time for which the stream knows an id: a repetition within it is stored once.
const REPETITIONS: Duration = Duration::from_secs(600);
/// The most bytes that a stream that is made here may take; the oldest events make room.
const MAX_STREAM_BYTES: i64 = 1 << 30;
const CONNECTING: Duration = Duration::from_secs(5);

/// The reason why a batch was not sent.
pub(super) enum Unsent {
    /// It may be taken later.
    Failed(String),
    /// The destination does not take it as it is.
    Refused(String),
}

impl From<String> for Unsent {
    fn from(why: String) -> Self {
        Unsent::Failed(why)
    }
}

/// A destination; connected on first use.
pub(super) struct Destination {
    settings: Settings,
    nats: Option<jetstream::Context>,
    http: reqwest::Client,
}

impl Destination {
    pub(super) fn new(settings: Settings) -> Self {
        let http = crate::outgoing::client().build();
        Self {
            settings,
            nats: None,
            http: http.unwrap_or_default(),
        }
    }

    /// Sends a batch, and waits until it is acknowledged.
    ///
    /// # Errors
    ///
    /// Why it was not, without the address, which may hold a password.
    pub(super) async fn send(&mut self, batch: &[Event]) -> Result<(), Unsent> {
        match &self.settings {
            Settings::Nats { url, stream, subject } => {
                let context = match &self.nats {
                    Some(context) => context.clone(),
                    None => self.nats.insert(connected(url, stream, subject).await?).clone(),
                };
                publish(&context, subject, batch).await
            }
            Settings::Webhook { url, key } => {
                let events: Vec<&Value> = batch.iter().map(|event| &event.json).collect();
                let body = serde_json::to_vec(&events).map_err(|error| error.to_string())?;
                let mut request = self.http.post(url.expose_secret()).body(body);
                request = request.header(CONTENT_TYPE, "application/cloudevents-batch+json");
                if let Some(key) = key {
                    request = request.bearer_auth(key.expose_secret());
                }
                let answer = request.send().await.map_err(|error| error.without_url().to_string())?;
                let why = format!("the webhook answered {}", answer.status());
                match answer.status() {
                    status if status.is_success() => Ok(()),
                    StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE | StatusCode::UNPROCESSABLE_ENTITY => {
                        Err(Unsent::Refused(why))
                    }
                    _ => Err(Unsent::Failed(why)),
                }
            }
            Settings::File(path) => {
                let lines: String = batch.iter().map(|event| format!("{}\n", event.json)).collect();
                let path = path.clone();
                let written = tokio::task::spawn_blocking(move || append(&path, &lines)).await;
                let written = written.map_err(|error| error.to_string())?;
                written.map_err(|error| Unsent::Failed(error.to_string()))
            }
        }
    }
}

/// Tries whether events could be sent, and sends none. The stream is made where it is missing: a server would do the same.
///
/// # Errors
///
/// Why they could not.
pub async fn probe(settings: &Settings) -> Result<String, String> {
    match settings {
        Settings::Nats { url, stream, subject } => {
            connected(url, stream, subject).await?;
            Ok(format!("NATS answers, the stream `{stream}` takes `{subject}.>`"))
        }
        Settings::Webhook { url, .. } => {
            let url = url
                .expose_secret()
                .parse()
                .map_err(|_| "the webhook has no address".to_owned())?;
            let place = outgoing::reach(&url)
                .await
                .map_err(|why| format!("the webhook's server at {why}"))?;
            Ok(format!(
                "the webhook's server at {place} can be reached; nothing was posted"
            ))
        }
        Settings::File(path) => {
            let was_there = path.exists();
            append(path, "").map_err(|error| format!("{}: {error}", path.display()))?;
            if !was_there {
                std::fs::remove_file(path).map_err(|error| format!("{}: {error}", path.display()))?;
            }
            Ok(format!("{} can be written", path.display()))
        }
    }
}

fn append(path: &Path, lines: &str) -> std::io::Result<()> {
    let mut file = files::private().create(true).append(true).open(path)?;
    file.write_all(lines.as_bytes())?;
    file.sync_data()
}

/// Connects, and makes the stream; a stream that is there stays as it is.
async fn connected(url: &SecretString, stream: &str, subject: &str) -> Result<jetstream::Context, String> {
    let options = async_nats::ConnectOptions::new().connection_timeout(CONNECTING);
    let client = options.connect(url.expose_secret()).await;
    let context = jetstream::new(client.map_err(|error| error.kind().to_string())?);
    let made = context.get_or_create_stream(stream::Config {
        name: stream.to_owned(),
        subjects: vec![format!("{subject}.>")],
        max_bytes: MAX_STREAM_BYTES,
        duplicate_window: REPETITIONS,
        ..stream::Config::default()
    });
    made.await.map_err(|error| {
        format!(
            "the stream `{stream}` with the subjects `{subject}.>` cannot be used: {error}; another installation on this server needs a \
             `stream` and a `subject` of its own in `[events]`"
        )
    })?;
    Ok(context)
}

/// Publishes all, and waits for the acknowledgement of each.
async fn publish(context: &jetstream::Context, subject: &str, batch: &[Event]) -> Result<(), Unsent> {
    let mut acknowledgements = Vec::with_capacity(MAX_BATCH);
    for event in batch {
        let mut headers = HeaderMap::new();
        headers.insert(NATS_MESSAGE_ID, event.id.as_str());
        headers.insert("content-type", "application/cloudevents+json");
        // A dot would begin another token of the subject.
        let organisation = event.organisation.replace(['.', ':'], "_");
        let to = format!("{subject}.{organisation}.{}", event.decision);
        let payload = event.json.to_string().into();
        let published = context.publish_with_headers(to, headers, payload).await;
        let published = published.map_err(|error| match error.kind() {
            PublishErrorKind::MaxPayloadExceeded => Unsent::Refused(error.to_string()),
            _ => Unsent::Failed(error.to_string()),
        });
        acknowledgements.push(published?.into_future());
    }
    try_join_all(acknowledgements)
        .await
        .map_err(|error| error.to_string())?;
    Ok(())
}
