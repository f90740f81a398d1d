//! Tasks in answers: those that were stopped stand there as failed ones.

use std::sync::Arc;

use super::answers;
use super::call::{self, Binding, Call};
use super::events::scope;
use super::methods::Op;
use crate::gateway::denial::Denial;
use crate::gateway::json::{Json, object};
use crate::gateway::route::Route;

/// The answer with every task that was stopped before in the form of a failed one. An error where the answer is such a task
/// itself.
pub(super) fn overlaid(route: &Route, call: &Call, mut answer: Json) -> Result<Json, (Arc<Denial>, Json)> {
    let mut whole = None;
    let result = match answer.get("result").is_some() {
        true => answer.get_mut("result"),
        false => Some(&mut answer),
    };
    let Some(result) = result else { return Ok(answer) };
    if let Some(Json::Array(tasks)) = result.get_mut("tasks") {
        for task in tasks {
            if let Some(denial) = task.str_of("id").and_then(|id| route.judged.denied(id)) {
                *task = answers::failed_task(call, task, &denial);
            }
        }
        return Ok(answer);
    }
    let task = match result.get("task").is_some() {
        true => result.get_mut("task"),
        false => Some(result),
    };
    if let Some(task) = task
        && task.get("status").is_some()
        && let Some(denial) = task.str_of("id").and_then(|id| route.judged.denied(id))
    {
        *task = answers::failed_task(call, task, &denial);
        whole = Some(denial);
    }
    match whole {
        Some(denial) => Err((denial, answer)),
        None => Ok(answer),
    }
}

pub(super) fn has_tasks(answer: &Json) -> bool {
    let result = answer.get("result").unwrap_or(answer);
    matches!(result.get("tasks"), Some(Json::Array(_)))
}

/// A list in which every task that is stopped stands as a failed one. What else the list says is left out.
pub(super) async fn each_task(route: &Route, call: &Call, mut answer: Json) -> Json {
    let is_rpc = answer.get("result").is_some();
    let result = if is_rpc {
        answer.get_mut("result")
    } else {
        Some(&mut answer)
    };
    let Some(result) = result else { return answer };
    let Some(Json::Array(tasks)) = result.remove("tasks") else {
        return answer;
    };
    let one = Call {
        op: Op::Get,
        ..call.clone()
    };
    let mut shown = Vec::with_capacity(tasks.len());
    for task in tasks {
        let ids = call::ids(&task);
        let wrapped = match &call.binding {
            Binding::Rpc { id, .. } => {
                object([("jsonrpc", "2.0".into()), ("id", id.clone()), ("result", task.clone())])
            }
            Binding::Rest => task.clone(),
        };
        let question = |view| one.answer_question(route, view);
        let judged = route
            .judge_view(&scope(&ids), wrapped, question, |step| one.carried_answer(step))
            .await;
        shown.push(match judged {
            Ok(mut became) if is_rpc => became.remove("result").unwrap_or(Json::Null),
            Ok(became) => became,
            Err(denial) => {
                if let Some(task) = &ids.0 {
                    route.judged.deny(task, &denial);
                }
                answers::failed_task(call, &task, &denial)
            }
        });
    }
    let count = shown.len();
    let mut list = object([("tasks", Json::Array(shown))]);
    for name in ["nextPageToken", "pageSize", "totalSize"] {
        if let Some(value) = result
            .get(name)
            .filter(|value| crate::gateway::judged_units::is_bare(value))
        {
            list.set(name, value.clone());
        }
    }
    if list.get("nextPageToken").is_none() {
        list.set("nextPageToken", "");
    }
    tracing::debug!(count, "a list of tasks was judged task by task");
    *result = list;
    answer
}
