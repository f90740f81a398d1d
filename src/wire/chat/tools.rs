//! Tools that a request declares: those that the agent runs, and those that run where the model is.

use crate::wire::Json;

/// Returns the tools that the agent runs, as `context.agent.tools` takes them.
pub(super) fn run_by_agent(log: &Json) -> impl Iterator<Item = Json> {
    declared(log)
        .iter()
        .filter(|tool| !is_hosted(tool))
        .filter_map(named_tool)
}

/// Returns the tools that run where the model is: a name, and the declaration. One that has a name beside its type stands under both.
pub(super) fn hosted(log: &Json) -> Vec<(String, Json)> {
    let mut hosted = Vec::new();
    for tool in declared(log).iter().filter(|tool| is_hosted(tool)) {
        let kind = tool.str_of("type");
        let name = tool.str_of("name").filter(|name| Some(*name) != kind);
        hosted.extend(
            [kind, name]
                .into_iter()
                .flatten()
                .map(|name| (name.to_owned(), tool.clone())),
        );
    }
    let search = log.get("web_search_options").filter(|options| options.is_object());
    hosted.extend(search.map(|options| ("web_search".to_owned(), options.clone())));
    let servers = log.get("mcp_servers").map_or(&[][..], Json::items);
    hosted.extend(servers.iter().map(|server| ("mcp".to_owned(), server.clone())));
    hosted
}

fn declared(log: &Json) -> &[Json] {
    let tools = log.get("tools").or_else(|| log.get("functions"));
    tools.map_or(&[][..], Json::items)
}

/// Returns `true` for a tool that runs where the model is: it has a type of its own, and no schema of the agent's.
fn is_hosted(tool: &Json) -> bool {
    let has_schema = ["function", "custom", "parameters", "input_schema"]
        .iter()
        .any(|name| tool.get(name).is_some());
    match tool.str_of("type") {
        // Some of these run where the agent is; their calls are judged as well.
        Some("function" | "custom") | None => false,
        Some(_) => !has_schema,
    }
}

/// Returns a tool with its name, as `context.agent.tools` takes it.
fn named_tool(tool: &Json) -> Option<Json> {
    let nested = ["function", "custom"]
        .into_iter()
        .find_map(|name| tool.get(name).filter(|inner| inner.is_object()));
    let mut members = vec![("name".to_owned(), Json::text(nested.unwrap_or(tool).str_of("name")?))];
    if let Json::Object(given) = nested.unwrap_or(tool) {
        let kept = given
            .iter()
            .filter(|(name, _)| !matches!(name.as_str(), "name" | "type" | "cache_control"));
        members.extend(kept.cloned());
    }
    Some(Json::Object(members))
}
