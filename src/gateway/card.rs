//! The card that the agent behind a gateway shows: what it says of itself, as a JSON object.

use http::{HeaderMap, Method, StatusCode};

use super::json::Json;
use super::receive::Received;
use super::route::Route;
use super::upstream::{Forward, UpstreamFault};

/// Fetches the card under the path that was asked for, with the headers of the answer.
///
/// # Errors
///
/// The status and the sentence for the caller.
pub(super) async fn fetch(route: &Route, received: &Received) -> Result<(Json, HeaderMap), (StatusCode, String)> {
    let Some(upstream) = &route.upstream else {
        let why = "there is no agent behind this gateway".to_owned();
        return Err((StatusCode::NOT_FOUND, why));
    };
    let forward = Forward {
        method: Method::GET,
        rest: &received.rest,
        query: None,
        headers: &received.headers,
        body: None,
    };
    let unanswered = |why: UpstreamFault| (why.status(), why.to_string());
    let mut response = upstream.send(forward).await.map_err(unanswered)?;
    let status = response.status();
    if !status.is_success() {
        let why = format!("the agent behind the gateway answered HTTP {}", status.as_u16());
        return Err((status, why));
    }
    let headers = response.headers().clone();
    let body = upstream.read(&mut response).await.map_err(unanswered)?;
    match route.parse(&body).ok().filter(Json::is_object) {
        Some(card) => Ok((card, headers)),
        None => Err((
            StatusCode::BAD_GATEWAY,
            "the agent's card is not a JSON object".to_owned(),
        )),
    }
}
