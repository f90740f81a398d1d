//! Webhooks in calls: checked, put behind the gateway, and shown again as they were; and notifications on their way to them.

use std::sync::Arc;

use axum::response::Response;
use http::StatusCode;
use http::header::AUTHORIZATION;

use super::answers;
use super::call::{Binding, Call, Ids};
use super::events::scope;
use super::methods::{Op, Version};
use crate::gateway::answer::{Answer, rpc_error};
use crate::gateway::denial::{Denial, Stage};
use crate::gateway::exchange::UNKNOWN_TASK;
use crate::gateway::json::Json;
use crate::gateway::protocol_words::has_long_id;
use crate::gateway::push::{Owner, PUSH_PATH};
use crate::gateway::query::Query;
use crate::gateway::receive::Received;
use crate::gateway::route::Route;

/// Checks that every webhook of a call may be called.
pub(super) fn check(route: &Route, call: &Call) -> Result<(), Denial> {
    each(&mut call.clone(), |url| match route.settings.callable.check(url) {
        Ok(_) => Ok(url.to_owned()),
        Err(why) => Err(why),
    })
}

/// Puts those webhooks behind the gateway that the configuration names. A verdict sees a word in their place: they are trusted, and lead
/// inside, which others must not.
pub(super) fn hide_trusted(route: &Route, call: &mut Call, owner: Owner) -> Result<(), Denial> {
    each(call, |url| {
        if !route.settings.callable.is_named(url) {
            return Ok(url.to_owned());
        }
        Ok(format!("{TRUSTED}{}", route.webhooks.register(url, owner)?))
    })
}

/// Puts every webhook of a call behind the gateway.
pub(super) fn hide(route: &Route, call: &mut Call, owner: Owner) -> Result<(), Denial> {
    each(call, |url| {
        let known = url
            .strip_prefix(TRUSTED)
            .filter(|id| route.webhooks.find_own(id, owner).is_some());
        let id = match known {
            Some(id) => id.to_owned(),
            None => route.webhooks.register(url, owner)?,
        };
        Ok(route.here(&format!("{PUSH_PATH}{id}")))
    })
}

const TRUSTED: &str = "configured-webhook-";

fn each(call: &mut Call, mut replace: impl FnMut(&str) -> Result<String, &'static str>) -> Result<(), Denial> {
    let mut wrong = None;
    let mut visit = |url: &mut String| match replace(url) {
        Ok(other) => *url = other,
        Err(why) => wrong = Some(why),
    };
    match call.op {
        Op::PushSet => urls(&mut call.params, UrlPlace::Inside, &mut visit),
        Op::Send | Op::Stream => {
            for name in ["configuration", "config"] {
                if let Some(configuration) = call.params.get_mut(name) {
                    urls(configuration, UrlPlace::Around, &mut visit);
                }
            }
        }
        Op::Unknown => urls(&mut call.params, UrlPlace::Around, &mut visit),
        Op::Get | Op::List | Op::Cancel | Op::Subscribe | Op::PushGet | Op::PushList | Op::PushDelete | Op::Card => {}
    }
    match wrong {
        None => Ok(()),
        Some(why) => {
            let message = format!("The address for push notifications cannot be used: {why}.");
            Err(Denial::undecided(Stage::Request, "untrusted_destination", message))
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum UrlPlace {
    /// In a configuration of push notifications.
    Inside,
    /// Elsewhere: such a configuration may follow.
    Around,
}

fn urls(value: &mut Json, place: UrlPlace, visit: &mut impl FnMut(&mut String)) {
    match value {
        Json::Object(members) => {
            for (name, member) in members {
                match member {
                    Json::Text(url) if place == UrlPlace::Inside && name.eq_ignore_ascii_case("url") => visit(url),
                    _ => {
                        let plain = name.replace('_', "").to_ascii_lowercase();
                        let inside = plain.ends_with("pushnotificationconfig") || place == UrlPlace::Inside;
                        urls(member, if inside { UrlPlace::Inside } else { UrlPlace::Around }, visit);
                    }
                }
            }
        }
        Json::Array(items) => items.iter_mut().for_each(|item| urls(item, place, visit)),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) => {}
    }
}

/// Shows the webhooks in a push configuration as the caller named them, to that caller.
pub(super) async fn restore(route: &Route, call: &Call, answer: &mut Json, owner: Owner) {
    if !matches!(call.op, Op::PushSet | Op::PushGet | Op::PushList) {
        return;
    }
    let prefix = route.here(PUSH_PATH);
    let mut ids = Vec::new();
    if let Some(result) = call.result_mut(answer) {
        urls(result, UrlPlace::Inside, &mut |url| {
            ids.extend(url.strip_prefix(&prefix).map(str::to_owned))
        });
    }
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    // Those that are not known are shown as they are.
    let _ = route.webhooks.learn(&ids).await;
    if let Some(result) = call.result_mut(answer) {
        urls(result, UrlPlace::Inside, &mut |url| {
            if let Some(own) = url
                .strip_prefix(&prefix)
                .and_then(|id| route.webhooks.find_own(id, owner))
            {
                *url = own.to_string();
            }
        });
    }
}

/// Returns the owner that a caller is: by the key that it showed here, or by its credential if that goes on to the agent.
pub(super) fn owner(route: &Route, received: &Received) -> Owner {
    let shown = received.headers.get(AUTHORIZATION).filter(|_| route.settings.pass_auth);
    received
        .caller
        .or_else(|| shown.map(|shown| blake3::hash(shown.as_bytes()).into()))
}

/// Judges a notification of the agent behind the gateway, and delivers it. A stopped one arrives as a failed task.
pub(super) async fn notify(route: &Arc<Route>, received: Received) -> Response {
    let refuse = |status, message: &str| {
        let body = rpc_error(&Json::Null, -32603, &format!("[guardian] {message}"), None).write();
        Answer::json(status, body).into_response()
    };
    let id = received.rest.strip_prefix(PUSH_PATH).unwrap_or_default();
    let learned = route.webhooks.learn(&[id]).await;
    let Some(url) = route.webhooks.find(id) else {
        if learned.is_err() {
            return refuse(StatusCode::SERVICE_UNAVAILABLE, UNKNOWN_TASK);
        }
        return refuse(StatusCode::GONE, "no task waits for this notification");
    };
    let notification = match route.parse(&received.body) {
        Ok(notification) if notification.is_object() => notification,
        Ok(_) | Err(_) => {
            route.count("refused");
            return refuse(StatusCode::BAD_REQUEST, "the notification is not JSON");
        }
    };
    let is_v1 = ["task", "message", "statusUpdate", "artifactUpdate"]
        .iter()
        .any(|name| notification.get(name).is_some());
    let version = if is_v1 { Version::V1 } else { Version::V0 };
    let call = Call::over_rest(Op::Stream, version, Json::Null, "", Query::default());
    if has_long_id(&notification) {
        route.count("refused");
        return refuse(
            StatusCode::BAD_REQUEST,
            "the notification has an id of more than 256 bytes",
        );
    }
    let ids = call.ids(&notification);
    if let Some(task) = ids.0.as_deref()
        && route.judged.learn(&[task]).await.is_err()
    {
        return refuse(StatusCode::SERVICE_UNAVAILABLE, UNKNOWN_TASK);
    }
    let denied = ids.0.as_deref().and_then(|task| route.judged.denied(task));
    let judged = match denied {
        Some(denial) => Err(denial),
        None => {
            let question = |view| call.answer_question(route, view);
            route
                .judge_view(scope(&ids).as_deref(), notification.clone(), question, |step| {
                    call.carried_answer(step)
                })
                .await
        }
    };
    let body = match judged {
        Ok(became) => {
            route.count("relayed");
            became
        }
        Err(denial) => {
            route.count("denied_response");
            if let Some(task) = &ids.0 {
                route.judged.deny(task, &denial);
            }
            stopped(&call, &ids, &denial)
        }
    };
    route.tell_nodes().await;
    let status = route.webhooks.deliver(url, &received.headers, body.write()).await;
    let mut response = Response::new(axum::body::Body::empty());
    *response.status_mut() = status;
    response
}

fn stopped(call: &Call, ids: &Ids, denial: &Denial) -> Json {
    let task: Json = serde_json::json!({"id": ids.0, "contextId": ids.1}).into();
    match call.version {
        Version::V1 => crate::gateway::json::object([("task", answers::failed_task(call, &task, denial))]),
        Version::V0 => {
            let rpc = Call {
                binding: Binding::Rpc {
                    id: Json::Null,
                    name: String::new(),
                },
                ..call.head()
            };
            answers::failed_task(&rpc, &task, denial)
        }
    }
}
