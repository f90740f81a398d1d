//! One attempt: send, look at the status, read a bounded body.
//!
//! The client library never sees an error body or a body that is no JSON: it would log it.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use async_openai::middleware::HttpRequestFactory;
use jiter::JsonValue;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Certificate, Client, Response, StatusCode};
use secrecy::ExposeSecret;
use tower::Service;
use url::Url;

use super::Failure;
use super::complaint::{Refused, read_refusal, speaks_of_content};
use super::retry::retry_after;
use super::settings::{Proxy, Settings, SettingsError};
use crate::outgoing;
use crate::telemetry::spans;

/// The longest that connecting may take, however long a call may.
const MAX_CONNECT: Duration = Duration::from_secs(5);

/// The most bytes of a reply, after decompression.
const MAX_BYTES: usize = 1024 * 1024;
/// The most bytes of an error body that are looked at.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// Sends requests with our own HTTP client.
#[derive(Clone)]
pub(super) struct Transport {
    http: Client,
}

impl Transport {
    /// Makes a transport to the endpoint of these settings.
    ///
    /// Redirects are not followed: a request and its key go nowhere but where they were sent.
    pub(super) fn new(settings: &Settings) -> Result<Self, SettingsError> {
        let mut builder = Client::builder()
            .connect_timeout(settings.timeout.min(MAX_CONNECT))
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .user_agent(concat!("aos-guardian/", env!("CARGO_PKG_VERSION")));
        if let Some(pem) = &settings.ca {
            let certificates = Certificate::from_pem_bundle(pem).map_err(|_| no_certificate())?;
            if certificates.is_empty() {
                return Err(no_certificate());
            }
            builder = builder.tls_certs_merge(certificates);
        }
        builder = match &settings.proxy {
            Proxy::Environment => builder,
            Proxy::Direct => builder.no_proxy(),
            Proxy::Through(url) => builder.proxy(proxy(url.expose_secret())?),
        };
        let http = builder
            .build()
            .map_err(|error| SettingsError(format!("the HTTP client cannot be set up: {error}")))?;
        Ok(Self { http })
    }

    pub(super) fn http(&self) -> Client {
        self.http.clone()
    }
}

fn no_certificate() -> SettingsError {
    let expected = "expected certificates in PEM form, `-----BEGIN CERTIFICATE-----` and so on";
    SettingsError::of("ca_file", expected)
}

/// Makes a proxy at an address that has a host.
fn proxy(address: &str) -> Result<reqwest::Proxy, SettingsError> {
    let wrong = || SettingsError::of("proxy", "expected `none` or a URL such as `http://proxy.example:3128`");
    let url = Url::parse(address).map_err(|_| wrong())?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(wrong());
    }
    reqwest::Proxy::all(url).map_err(|_| wrong())
}

pub(super) type Attempt = Pin<Box<dyn Future<Output = Result<Response, Failure>> + Send>>;

impl Service<HttpRequestFactory> for Transport {
    type Response = Response;
    type Error = Failure;
    type Future = Attempt;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: HttpRequestFactory) -> Attempt {
        let http = self.http.clone();
        Box::pin(async move {
            let mut request = request.build().await?;
            spans::inject(request.headers_mut());
            let response = http.execute(request).await.map_err(|error| Failure::from(&error))?;
            let status = response.status();
            if status == StatusCode::OK {
                whole(response).await
            } else if status.is_success() {
                // Accepted for later (202), a part of an answer (206), nothing (204): no completion.
                Err(Failure::Malformed)
            } else {
                Err(refused(status, response).await)
            }
        })
    }
}

/// Returns a successful response with its whole body, which is JSON.
async fn whole(response: Response) -> Result<Response, Failure> {
    let streams = is_event_stream(response.headers());
    let body = read(response, MAX_BYTES).await?;
    if streams || EVENTS.iter().any(|event| body.trim_ascii_start().starts_with(event)) {
        return Err(Failure::EventStream);
    }
    // The very parse that the library does: what passes here cannot fail there.
    serde_json::from_slice::<serde_json::Value>(&body).map_err(|_| Failure::NotJson)?;
    // If a member stands twice, one reader takes the first and another the last.
    if repeats_members(&body) {
        return Err(Failure::Malformed);
    }
    Ok(http::Response::new(body).into())
}

/// Returns `true` if an object of a completion has a member twice.
fn repeats_members(body: &[u8]) -> bool {
    fn repeats(value: &JsonValue<'_>) -> bool {
        match value {
            JsonValue::Object(members) => {
                let mut names: Vec<&str> = members.iter().map(|(name, _)| name.as_ref()).collect();
                names.sort_unstable();
                names
                    .windows(2)
                    .any(|pair| matches!(pair, [one, other] if one == other))
                    || members.iter().any(|(_, value)| repeats(value))
            }
            JsonValue::Array(items) => items.iter().any(repeats),
            JsonValue::Null | JsonValue::Bool(_) | JsonValue::Int(_) | JsonValue::Float(_) | JsonValue::Str(_) => false,
        }
    }
    JsonValue::parse(body, true).is_ok_and(|value| repeats(&value))
}

/// The beginnings of an event stream.
const EVENTS: &[&[u8]] = &[b"data:", b"event:", b"id:", b"retry:", b": "];

fn is_event_stream(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    content_type
        .get(..EVENT_STREAM.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(EVENT_STREAM))
}

const EVENT_STREAM: &[u8] = b"text/event-stream";

/// Returns the failure that an error response means. Its body is looked at if it tells more than the status.
async fn refused(status: StatusCode, response: Response) -> Failure {
    let retry_after = retry_after(response.headers());
    let code = status.as_u16();
    match code {
        300..=399 => return Failure::Redirect,
        405 => return Failure::PathNotFound,
        413 => return Failure::PromptTooLong,
        _ => {}
    }
    let body = read(response, MAX_ERROR_BYTES).await.unwrap_or_default();
    let json = serde_json::from_slice::<serde_json::Value>(&body).ok();
    // An error about the conversation comes first, whatever the status: the author of a content can bring it about. So does an answer under an
    // error's status: a model has spoken.
    match &json {
        Some(said) if speaks_of_content(said) => return Failure::ContentFilter,
        Some(said) if said.get("choices").is_some() => return Failure::Malformed,
        _ => {}
    }
    let server_error = Failure::ServerError {
        status: code,
        retry_after,
    };
    match (code, read_refusal(&body)) {
        (401, _) => Failure::Auth,
        (402, _) => Failure::Quota,
        (408 | 502..=599, _) => server_error,
        (404, Refused::NoModel) => Failure::ModelNotFound,
        (404, _) => Failure::PathNotFound,
        // A firewall that dislikes a text answers in HTML, an endpoint that dislikes a key in JSON.
        (403, _) if json.is_some() => Failure::Auth,
        (403, _) => Failure::Blocked,
        (429, Refused::Quota) => Failure::Quota,
        (429, _) => Failure::RateLimited { retry_after },
        (_, Refused::PromptTooLong) => Failure::PromptTooLong,
        (_, Refused::ContentFilter) => Failure::ContentFilter,
        (500 | 501, Refused::Complaint(super::Complaint::Unspecified) | Refused::Quota | Refused::NoModel) => {
            server_error
        }
        (_, Refused::Quota) => Failure::Quota,
        (_, Refused::NoModel) => Failure::BadRequest {
            status: code,
            complaint: super::Complaint::Unspecified,
        },
        (_, Refused::Complaint(complaint)) => Failure::BadRequest {
            status: code,
            complaint,
        },
    }
}

/// Reads a body up to a limit.
async fn read(mut response: Response, limit: usize) -> Result<Vec<u8>, Failure> {
    let body = outgoing::body(&mut response, limit).await;
    body.map_err(|error| Failure::from(&error))?.ok_or(Failure::TooLarge)
}
