//! The HTTP client of exporters. They run on threads of their own, without a runtime: requests are sent on ours.

use std::time::Duration;

use async_trait::async_trait;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use tokio::runtime::Handle;

use crate::outgoing;

/// The longest time that sending a batch may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The most bytes of an answer of the collector.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;

/// Sends on the runtime in which it was made.
#[derive(Clone, Debug)]
pub(super) struct Client {
    http: reqwest::Client,
    runtime: Handle,
}

impl Client {
    /// Makes a client on the current runtime. Redirects are not followed: headers may hold a key.
    pub(super) fn new() -> Result<Self, reqwest::Error> {
        let http = outgoing::client().timeout(TIMEOUT).build()?;
        Ok(Self {
            http,
            runtime: Handle::current(),
        })
    }
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let http = self.http.clone();
        let sending = self.runtime.spawn(async move {
            let mut response = http
                .execute(request.try_into()?)
                .await
                .map_err(reqwest::Error::without_url)?;
            let (status, headers) = (response.status(), response.headers().clone());
            let body = outgoing::body(&mut response, MAX_ANSWER_BYTES).await?;
            let body = body.ok_or("the collector's answer is too large")?;
            let mut answer = Response::new(Bytes::from(body));
            *answer.status_mut() = status;
            *answer.headers_mut() = headers;
            Ok(answer)
        });
        sending.await?
    }
}
