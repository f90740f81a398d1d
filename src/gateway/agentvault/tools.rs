//! Calls of MCP tools inside messages: AgentVault's proxy agents take them as data parts, so they are judged as the calls they are.

use serde_json::json;

use crate::gateway::denial::{Denial, Stage};
use crate::gateway::json::{Json, object};
use crate::gateway::route::Route;
use crate::gateway::verdicts::{Depth, Question};

/// Judges every tool call in the parameters of a request.
pub(super) async fn judge(route: &Route, params: &mut Json) -> Result<(), Denial> {
    let Some(Json::Array(parts)) = params.get_mut("message").and_then(|message| message.get_mut("parts")) else {
        return Ok(());
    };
    for part in parts {
        for name in ["content", "data"] {
            if let Some(call) = part.get_mut(name)
                && call.get("tool_name").is_some()
            {
                judge_call(route, call).await?;
            }
        }
    }
    Ok(())
}

async fn judge_call(route: &Route, call: &mut Json) -> Result<(), Denial> {
    let tool = match (call.str_of("target_mcp_server_id"), call.str_of("tool_name")) {
        (Some(server), Some(tool)) => format!("{server}/{tool}"),
        (None, Some(tool)) => tool.to_owned(),
        (_, None) => {
            let message = "A call of a tool does not name the tool, so it was stopped.";
            return Err(Denial::undecided(Stage::Request, "malformed_payload", message));
        }
    };
    let arguments = call.get("arguments").cloned().unwrap_or(Json::Null);
    let input = |name: &str, value: Json| object([("name", name.into()), ("value", value)]);
    let inputs = match &arguments {
        Json::Null => Vec::new(),
        Json::Object(members) => members.iter().map(|(name, value)| input(name, value.clone())).collect(),
        other => vec![input("arguments", other.clone())],
    };
    let request = object([
        ("executionId", uuid::Uuid::new_v4().to_string().into()),
        ("toolId", tool.into()),
        ("inputs", Json::Array(inputs)),
    ]);
    let context: Json = json!({
        "agent": {"id": route.settings.name, "name": route.settings.name}, "session": {"id": "agentvault"},
    })
    .into();
    let question = Question {
        method: "steps/toolCallRequest",
        params: object([("context", context), ("toolCallRequest", request)]),
        stage: Stage::Request,
    };
    match route.verdicts.ask(&question, Depth::Whole).await? {
        None => Ok(()),
        Some(params) => {
            let inputs = params.at(&["toolCallRequest", "inputs"]).map_or(&[][..], Json::items);
            match (&arguments, inputs) {
                (Json::Object(_), inputs) => {
                    let members = inputs
                        .iter()
                        .filter_map(|input| Some((input.str_of("name")?.to_owned(), input.get("value")?.clone())));
                    call.set("arguments", Json::Object(members.collect()));
                }
                (_, [input]) => call.set("arguments", input.get("value").cloned().unwrap_or(Json::Null)),
                (_, _) => {}
            }
            Ok(())
        }
    }
}
