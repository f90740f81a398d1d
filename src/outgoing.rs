//! HTTP to others: one client that goes where it is told and nowhere else, and bodies that are read within bounds.

use std::time::Duration;

use http::header::CONTENT_TYPE;
use reqwest::{Client, IntoUrl, RequestBuilder, Response};
use secrecy::{ExposeSecret, SecretString};
use tokio::net::TcpStream;
use url::Url;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Makes a client that follows no redirect: headers may hold a key.
pub fn client() -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .user_agent(concat!("aos-guardian/", env!("CARGO_PKG_VERSION")))
}

/// Connects to the server of an address and hangs up; returns its host and port.
///
/// # Errors
///
/// Why no connection can be made.
pub async fn reach(url: &Url) -> Result<String, String> {
    let host = url.host_str().unwrap_or_default();
    let place = format!("{host}:{}", url.port_or_known_default().unwrap_or(0));
    match TcpStream::connect(&place).await {
        Ok(_) => Ok(place),
        Err(error) => Err(format!("{place} cannot be reached: {error}")),
    }
}

/// Makes a request that posts JSON, with a key where one is needed.
pub fn post(http: &Client, url: impl IntoUrl, key: Option<&SecretString>, json: String) -> RequestBuilder {
    let request = http.post(url).header(CONTENT_TYPE, "application/json").body(json);
    match key {
        Some(key) => request.bearer_auth(key.expose_secret()),
        None => request,
    }
}

/// Reads the whole body of an answer; `None` where it is larger than this.
///
/// # Errors
///
/// When it breaks off.
pub async fn body(response: &mut Response, most: usize) -> Result<Option<Vec<u8>>, reqwest::Error> {
    if response.content_length().is_some_and(|length| length > most as u64) {
        return Ok(None);
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > most {
            return Ok(None);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Some(body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_body_is_read_up_to_its_bound() {
        for (most, read) in [(4, true), (3, false)] {
            let mut response = Response::from(http::Response::new("four"));
            let body = body(&mut response, most).await.unwrap();
            assert_eq!(body.is_some_and(|body| body == b"four"), read, "{most}");
        }
    }
}
