//! The refusals of the transport: each once, with its HTTP status, its JSON-RPC code and its sentence.

use std::time::Duration;

use axum::response::{IntoResponse, Response};
use http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, StatusCode};

use crate::access::{Scope, TokenFault};
use crate::incoming::{BodyFault, Foreign};
use crate::telemetry::names;
use crate::wire::{self, RpcError};

/// A request that never became a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// 401: a key is needed and none was sent.
    NoCredential,
    /// 401: the key is none that is known.
    WrongCredential,
    /// 401: the key's time is over.
    ExpiredCredential,
    /// 401: the token is not accepted.
    WrongToken(TokenFault),
    /// 503: the keys of the token's issuer cannot be had.
    Unverifiable,
    /// 403: the credential speaks for another organisation than the certificate of the connection.
    Contradictory,
    /// 403: the credential may not be used for this.
    MissingScope(Scope, Option<String>),
    /// 403: the body says that it comes from another organisation.
    ClaimsAnother,
    /// 403: the key's organisation is not served any more.
    OrganisationGone,
    /// 403: the request names another machine, and no key is asked for.
    ForeignHost,
    /// 403: a web page of another site sends it, and no key is asked for.
    ForeignOrigin,
    /// 415: the body is not declared as JSON.
    NotJson,
    /// 413, 415, 408 or 400: the body is not taken.
    Body(BodyFault),
    /// 429: the caller's limit is reached.
    LimitReached(Duration),
    /// 503: too much is being worked on.
    Overloaded,
    /// 503: audit records cannot be written, and no step is taken without one.
    Unrecorded,
    /// 404: steps go to `/` or `/aos`, envelopes of ACS to `/acs`, message logs to `/v1/judge`.
    NoSuchPath,
    /// 405: this path takes these HTTP methods.
    MethodNotAllowed(&'static str),
}

impl Refusal {
    /// Returns the HTTP status.
    pub fn status(&self) -> StatusCode {
        self.status_and_name().0
    }

    /// Returns the name in metrics.
    pub fn name(&self) -> &'static str {
        self.status_and_name().1
    }

    fn status_and_name(&self) -> (StatusCode, &'static str) {
        match self {
            Refusal::NoCredential => (StatusCode::UNAUTHORIZED, "no_credential"),
            Refusal::WrongCredential => (StatusCode::UNAUTHORIZED, "wrong_credential"),
            Refusal::ExpiredCredential => (StatusCode::UNAUTHORIZED, "expired_credential"),
            Refusal::WrongToken(_) => (StatusCode::UNAUTHORIZED, "wrong_token"),
            Refusal::Unverifiable => (StatusCode::SERVICE_UNAVAILABLE, "unverifiable_token"),
            Refusal::Contradictory => (StatusCode::FORBIDDEN, "contradictory_credentials"),
            Refusal::MissingScope(..) => (StatusCode::FORBIDDEN, "missing_scope"),
            Refusal::ClaimsAnother => (StatusCode::FORBIDDEN, "claims_another_organisation"),
            Refusal::OrganisationGone => (StatusCode::FORBIDDEN, "organisation_gone"),
            Refusal::ForeignHost => (StatusCode::FORBIDDEN, "foreign_host"),
            Refusal::ForeignOrigin => (StatusCode::FORBIDDEN, "foreign_origin"),
            Refusal::NotJson => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "not_json"),
            Refusal::Body(BodyFault::Encoded) => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "encoded"),
            Refusal::Body(BodyFault::NotGzip) => (StatusCode::BAD_REQUEST, "not_gzip"),
            Refusal::Body(BodyFault::TooLarge(_)) => (StatusCode::PAYLOAD_TOO_LARGE, "too_large"),
            Refusal::Body(BodyFault::TooSlow) => (StatusCode::REQUEST_TIMEOUT, "too_slow"),
            Refusal::Body(BodyFault::Broken) => (StatusCode::BAD_REQUEST, "broken"),
            Refusal::LimitReached(_) => (StatusCode::TOO_MANY_REQUESTS, "limit_reached"),
            Refusal::Body(BodyFault::NoRoom) | Refusal::Overloaded => (StatusCode::SERVICE_UNAVAILABLE, "overloaded"),
            Refusal::Unrecorded => (StatusCode::SERVICE_UNAVAILABLE, "unrecorded"),
            Refusal::NoSuchPath => (StatusCode::NOT_FOUND, "no_such_path"),
            Refusal::MethodNotAllowed(_) => (StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed"),
        }
    }

    /// Returns the JSON-RPC error of its body.
    pub fn error(&self) -> RpcError {
        match self {
            Refusal::NoCredential => {
                RpcError::authentication("an API key is needed: send `Authorization: Bearer KEY` or `X-Api-Key: KEY`")
            }
            Refusal::WrongCredential => RpcError::authentication("the API key is not known here"),
            Refusal::OrganisationGone => {
                RpcError::authorization("the organisation of this credential is not served here")
            }
            Refusal::ExpiredCredential => RpcError::authentication("the API key has expired"),
            Refusal::WrongToken(fault) => RpcError::authentication(format!("the token is not accepted: {fault}")),
            Refusal::Unverifiable => RpcError::unverifiable(5_000),
            Refusal::Contradictory => RpcError::authorization(
                "the credential and the certificate of the connection are of different organisations",
            ),
            Refusal::MissingScope(scope, None) => {
                RpcError::authorization(format!("this credential lacks the scope `{}`", scope.as_str()))
            }
            Refusal::MissingScope(scope, Some(claim)) => RpcError::authorization(format!(
                "the token lacks the scope `{}`: expected `guardian:{}` in its claim `{claim}` (`scope_claim` of the issuer)",
                scope.as_str(),
                scope.as_str()
            )),
            Refusal::ClaimsAnother => RpcError::authorization(
                "the request names another organisation than its credential: take the user's `organization` out, or send it with \
                 that organisation's key",
            ),
            Refusal::ForeignHost => RpcError::authorization(
                "no keys are configured, so only this machine is served: expected `Host: localhost` or a loopback address; to be \
                 reached by another name, give `[[organisations]]` keys",
            ),
            Refusal::ForeignOrigin => RpcError::authorization(
                "no keys are configured, so pages of other sites are not served: expected no `Origin`, or one on this machine; \
                 for pages, give `[[organisations]]` keys",
            ),
            Refusal::NotJson => RpcError::invalid_request("expected the header `Content-Type: application/json`"),
            Refusal::Body(fault @ BodyFault::NotGzip) => RpcError::unreadable(fault.to_string()),
            Refusal::Body(BodyFault::NoRoom) | Refusal::Overloaded => RpcError::overloaded(1_000),
            Refusal::Body(fault) => RpcError::invalid_request(fault.to_string()),
            Refusal::LimitReached(after) => RpcError::rate_limited(millis(*after)),
            Refusal::Unrecorded => RpcError::unrecorded(5_000),
            Refusal::NoSuchPath => RpcError::invalid_request(
                "there is nothing here: steps go to `POST /` or `POST /aos`, envelopes of ACS to `POST /acs`, message logs to `POST /v1/judge`",
            ),
            Refusal::MethodNotAllowed(methods) => {
                RpcError::invalid_request(format!("expected the HTTP method {methods}"))
            }
        }
    }

    /// Returns the whole answer; `id` if the request got far enough to have one.
    pub(super) fn answer(&self, id: Option<&crate::model::RequestId>) -> Response {
        metrics::counter!(names::REFUSALS, "reason" => self.name()).increment(1);
        let mut response = (self.status(), wire::encode_error(id, &self.error())).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.extend(self.header());
        response
    }

    fn header(&self) -> Option<(HeaderName, HeaderValue)> {
        let said = |name, value| Some((name, HeaderValue::from_static(value)));
        match self {
            Refusal::NoCredential | Refusal::WrongCredential | Refusal::ExpiredCredential => {
                said(WWW_AUTHENTICATE, "Bearer")
            }
            Refusal::WrongToken(_) => said(WWW_AUTHENTICATE, "Bearer error=\"invalid_token\""),
            Refusal::LimitReached(after) => Some((RETRY_AFTER, millis(*after).div_ceil(1_000).into())),
            Refusal::Body(BodyFault::NoRoom) | Refusal::Overloaded => said(RETRY_AFTER, "1"),
            Refusal::Unrecorded | Refusal::Unverifiable => said(RETRY_AFTER, "5"),
            Refusal::MethodNotAllowed(methods) => said(ALLOW, methods),
            _ => None,
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        self.answer(None)
    }
}

impl From<BodyFault> for Refusal {
    fn from(fault: BodyFault) -> Self {
        Refusal::Body(fault)
    }
}

impl From<Foreign> for Refusal {
    fn from(foreign: Foreign) -> Self {
        match foreign {
            Foreign::Host => Refusal::ForeignHost,
            Foreign::Origin => Refusal::ForeignOrigin,
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX).max(1)
}
