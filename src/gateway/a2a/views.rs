//! Tasks in answers: those that were stopped stand there as failed ones.

use super::answers;
use super::call::{Binding, Call};
use super::events::scope;
use super::methods::Op;
use crate::gateway::json::{Json, object};
use crate::gateway::route::Route;

/// Returns the answer with every task that was stopped before in the form of a failed one. The answer is an error if it is
/// such a task itself.
pub(super) fn overlaid(route: &Route, call: &Call, mut answer: Json) -> Result<Json, Json> {
    let Some(result) = call.result_mut(&mut answer) else {
        return Ok(answer);
    };
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
        return Err(answer);
    }
    Ok(answer)
}

pub(super) fn has_tasks(call: &Call, answer: &Json) -> bool {
    let tasks = call.result(answer).and_then(|result| result.get("tasks"));
    matches!(tasks, Some(Json::Array(_)))
}

/// Returns a list in which every task that is stopped stands as a failed one. The list's other members are left out.
pub(super) async fn each_task(route: &Route, call: &Call, mut answer: Json) -> Json {
    let is_rpc = call.binding != Binding::Rest;
    let Some(result) = call.result_mut(&mut answer) else {
        return answer;
    };
    let Some(Json::Array(tasks)) = result.remove("tasks") else {
        return answer;
    };
    let one = Call {
        op: Op::Get,
        ..call.head()
    };
    let mut shown = Vec::with_capacity(tasks.len());
    for task in tasks {
        let wrapped = match is_rpc {
            true => object([("result", task.clone())]),
            false => task.clone(),
        };
        let ids = one.ids(&wrapped);
        let question = |view| one.answer_question(route, view);
        let judged = route
            .judge_view(scope(&ids).as_deref(), wrapped, question, |step| {
                one.carried_answer(step)
            })
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
