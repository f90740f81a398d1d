//! Lists of what a server offers: tools, prompts, resources. A list is judged as a whole; where that is denied, each entry is judged by itself,
//! and those that are denied are left out.

use super::asking::Judge;
use super::message::Message;
use crate::gateway::denial::{Denial, Stage};
use crate::gateway::json::Json;
use crate::gateway::verdicts::Depth;

/// A list of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct List {
    /// The member of the result that holds it, and the kind of its entries.
    name: &'static str,
    /// The member of an entry by which it is asked for.
    key: &'static str,
}

/// Entries of a list that was denied as a whole that are judged by themselves. More are left out.
const MAX: usize = 512;

/// Methods that ask for lists.
const LISTS: [(&str, List); 4] = [
    (
        "tools/list",
        List {
            name: "tools",
            key: "name",
        },
    ),
    (
        "prompts/list",
        List {
            name: "prompts",
            key: "name",
        },
    ),
    (
        "resources/list",
        List {
            name: "resources",
            key: "uri",
        },
    ),
    (
        "resources/templates/list",
        List {
            name: "resourceTemplates",
            key: "uriTemplate",
        },
    ),
];

/// Returns the list that answers a request of this method.
pub(super) fn list_of(method: &str) -> Option<List> {
    LISTS.iter().find(|(of, _)| *of == method).map(|(_, list)| *list)
}

/// Returns the method whose answer has this form.
pub(super) fn method_of(answer: &Json) -> Option<&'static str> {
    let result = answer.get("result")?;
    let list = LISTS.iter().find(|(_, list)| result.get(list.name).is_some());
    // A result is one whatever else it says.
    let calls = result.get("content").map(|_| "tools/call");
    calls
        .or(list.map(|(method, _)| *method))
        .or(result.get("instructions").map(|_| "initialize"))
}

/// Has a list judged; gives the answer with the entries that may be shown.
pub(super) async fn judged(judge: &Judge<'_>, list: List, message: Message) -> Result<Json, Denial> {
    let before = message.value.clone();
    let mut after = match judge.ask(message.clone(), Depth::Whole, Stage::Response).await {
        Ok(after) => {
            for entry in entries(&after.value, list) {
                judge
                    .session
                    .hide(list.name, entry.str_of(list.key).unwrap_or_default(), None);
            }
            after.value
        }
        Err(denial) if entries(&message.value, list).is_empty() => return Err(denial),
        Err(_) => each(judge, list, message).await?,
    };
    if list.name == "tools" {
        hide_unpinned(judge, &mut after).await?;
        for tool in entries(&after, list) {
            let name = tool.str_of("name").unwrap_or_default();
            judge.session.keep_schema(name, tool.get("outputSchema"));
        }
    }
    if after != before
        && let Some(result) = after.get_mut("result")
        && result.get("ttlMs").is_some()
    {
        // What was left out today may be judged otherwise tomorrow, and for others.
        result.set("ttlMs", Json::Number("0".into()));
        result.set("cacheScope", "private");
    }
    Ok(after)
}

/// Takes tools out that are not as they were approved.
async fn hide_unpinned(judge: &Judge<'_>, answer: &mut Json) -> Result<(), Denial> {
    let Some(pinned) = judge.pinned.cloned() else {
        return Ok(());
    };
    let Some(Json::Array(tools)) = answer.get_mut("result").and_then(|result| result.get_mut("tools")) else {
        return Ok(());
    };
    let unknown = |why: String| {
        tracing::error!("the definitions of tools cannot be looked up: {why}");
        let message = "The definitions of the tools could not be compared with those that were approved.";
        Denial::undecided(Stage::Response, "judge_unavailable", message)
    };
    // The values are known to be JSON: they were read as such.
    let offered = tools.iter().filter_map(|tool| serde_json::from_str(&tool.write()).ok());
    let offered: Vec<serde_json::Value> = offered.collect();
    let noting = tokio::task::spawn_blocking(move || pinned.pins.note(&pinned.server, &offered)).await;
    let statuses = noting
        .map_err(|error| unknown(error.to_string()))?
        .map_err(|error| unknown(error.to_string()))?;
    let mut seen = std::collections::HashSet::new();
    tools.retain(|tool| {
        let name = tool.str_of("name").unwrap_or_default();
        let status = statuses
            .iter()
            .find(|(noted, _)| noted == name)
            .map(|(_, status)| *status);
        let why = match status {
            _ if !seen.insert(name.to_owned()) => "Two tools have this name.",
            None => "The definition of this tool cannot be compared with one that was approved.",
            Some(status) => match status.hides() {
                Some(why) => why,
                None => return true,
            },
        };
        tracing::warn!(tool = name, "a tool is hidden: {why}");
        let denial = Denial::undecided(Stage::Request, "tool_poisoning", why);
        judge.session.hide("tools", name, Some(&denial));
        false
    });
    Ok(())
}

/// Has the answer judged without entries, and each entry by itself.
async fn each(judge: &Judge<'_>, list: List, message: Message) -> Result<Json, Denial> {
    let with = |entries: Vec<Json>| {
        let mut value = message.value.clone();
        if let Some(result) = value.get_mut("result") {
            result.set(list.name, Json::Array(entries));
        }
        Message {
            value,
            ..message.clone()
        }
    };
    let mut bare = judge.ask(with(Vec::new()), Depth::Whole, Stage::Response).await?.value;
    let mut shown = Vec::new();
    for (index, entry) in entries(&message.value, list).iter().enumerate() {
        let ruling = if index < MAX {
            judge
                .ask(with(vec![entry.clone()]), Depth::Whole, Stage::Response)
                .await
        } else {
            let why = "The list is longer than can be judged.";
            Err(Denial::undecided(Stage::Response, "oversized", why))
        };
        let name = entry.str_of(list.key).unwrap_or_default();
        judge.session.hide(list.name, name, ruling.as_ref().err());
        match ruling {
            Ok(after) => shown.extend(entries(&after.value, list).first().cloned()),
            Err(denial) => tracing::warn!(
                list = list.name,
                index,
                decision = denial.decision_id,
                "an entry of a list was left out"
            ),
        }
    }
    if let Some(result) = bare.get_mut("result") {
        result.set(list.name, Json::Array(shown));
    }
    Ok(bare)
}

fn entries(answer: &Json, list: List) -> &[Json] {
    answer.at(&["result", list.name]).map_or(&[], Json::items)
}
