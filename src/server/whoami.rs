//! `GET /v1/whoami`: the organisation and the scopes of a request's credential. Nothing of the credential itself is told.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::Request;
use serde_json::json;

use super::Shared;
use super::authentication::identify;
use super::steps::json;

pub(super) async fn answer(State(shared): State<Arc<Shared>>, request: Request<Body>) -> Response {
    match identify(&shared, request.headers(), request.extensions()).await {
        Ok(identity) => {
            let scopes: Vec<&str> = identity.scopes.names().collect();
            let told = json!({
                "organisation": identity.caller.organisation.as_str(),
                "caller": identity.caller.name,
                "scopes": scopes,
                "expires": identity.expires.map(|end| end.to_string()),
            });
            json(told.to_string().into_bytes())
        }
        Err(refusal) => refusal.into_response(),
    }
}
