//! The items of a log as parameters of AOS requests, and the way of their edits back into the log.

use super::{Call, ChatItem, Outcome, Part, Speaker};
use crate::wire::{Json, object};

/// The agent whose log it is: the context of its steps.
#[derive(Clone, Debug)]
pub(crate) struct Agent<'a> {
    /// Its id and name.
    pub(crate) name: &'a str,
    /// The session of its steps.
    pub(crate) session: &'a str,
    /// Its instructions.
    pub(crate) instructions: &'a str,
    /// The tools that it can call.
    pub(crate) tools: &'a [Json],
}

impl Agent<'_> {
    /// Returns the AOS method of an item, and its parameters.
    pub(crate) fn step(&self, said: &ChatItem) -> (&'static str, Json) {
        match said {
            ChatItem::Words { who, parts } => self.message(*who, parts),
            ChatItem::Call(call) => self.call(call),
            ChatItem::Result(result) => self.result(result),
        }
    }

    /// Returns the context of a step.
    fn context(&self) -> Json {
        let mut agent = object([
            ("id", self.name.into()),
            ("name", self.name.into()),
            ("instructions", self.instructions.into()),
        ]);
        if !self.tools.is_empty() {
            agent.set("tools", Json::Array(self.tools.to_vec()));
        }
        object([("agent", agent), ("session", object([("id", self.session.into())]))])
    }

    fn message(&self, who: Speaker, parts: &[Part]) -> (&'static str, Json) {
        let role = match who {
            Speaker::User => "user",
            Speaker::Agent => "agent",
        };
        let content = Json::Array(parts.iter().map(part).collect());
        let message = object([("role", role.into()), ("content", content)]);
        (
            "steps/message",
            object([("context", self.context()), ("message", message)]),
        )
    }

    fn call(&self, call: &Call) -> (&'static str, Json) {
        let input = |(name, value): (&str, &Json)| object([("name", name.into()), ("value", value.clone())]);
        let request = object([
            ("executionId", call.id.as_str().into()),
            ("toolId", call.name.as_str().into()),
            ("inputs", Json::Array(inputs(&call.arguments).map(input).collect())),
        ]);
        let mut params = object([("context", self.context()), ("toolCallRequest", request)]);
        if !call.reasoning.is_empty() {
            params.set("reasoning", call.reasoning.as_str());
        }
        ("steps/toolCallRequest", params)
    }

    fn result(&self, result: &Outcome) -> (&'static str, Json) {
        let outputs = Json::Array(result.parts.iter().map(part).collect());
        let params = object([
            ("context", self.context()),
            ("executionId", result.id.as_str().into()),
            (
                "result",
                object([("outputs", outputs), ("isError", Json::Bool(result.failed))]),
            ),
        ]);
        ("steps/toolCallResult", params)
    }
}

fn part(part: &Part) -> Json {
    match &part.value {
        text @ Json::Text(_) => object([("kind", "text".into()), ("text", text.clone())]),
        data => object([("kind", "data".into()), ("data", data.clone())]),
    }
}

/// Returns arguments with their names.
fn inputs(arguments: &Json) -> Box<dyn Iterator<Item = (&str, &Json)> + '_> {
    match arguments {
        Json::Object(members) => Box::new(members.iter().map(|(name, value)| (name.as_str(), value))),
        Json::Null => Box::new(std::iter::empty()),
        other => Box::new(std::iter::once(("arguments", other))),
    }
}

/// Writes a step's parameters as a verdict modified them into the log, at the places that they came from. `None` if that cannot be done: the log is
/// then not to be used.
pub(crate) fn write_back(log: &mut Json, said: &ChatItem, params: &Json) -> Option<()> {
    match said {
        ChatItem::Words { parts, .. } => write_parts(log, parts, params.at(&["message", "content"])?),
        ChatItem::Result(result) => write_parts(log, &result.parts, params.at(&["result", "outputs"])?),
        ChatItem::Call(call) => {
            let values: Vec<&Json> = params
                .at(&["toolCallRequest", "inputs"])?
                .items()
                .iter()
                .map(|input| input.get("value"))
                .collect::<Option<_>>()?;
            let mut arguments = call.arguments.clone();
            match &mut arguments {
                Json::Object(members) if members.len() == values.len() => {
                    for ((_, member), value) in members.iter_mut().zip(values) {
                        *member = value.clone();
                    }
                }
                Json::Object(_) | Json::Null => return None,
                other => *other = values.first().copied()?.clone(),
            }
            let place = log.at_place_mut(&call.arguments_at)?;
            *place = match (place.as_str(), &arguments) {
                (Some(_), Json::Object(_) | Json::Array(_)) => Json::Text(arguments.write()),
                (Some(_), _) | (None, _) => arguments,
            };
            Some(())
        }
    }
}

/// Writes changed texts. Data cannot be changed: its unreadable parts were left out.
fn write_parts(log: &mut Json, parts: &[Part], became: &Json) -> Option<()> {
    let became = became.items();
    if became.len() != parts.len() {
        return None;
    }
    for (part, became) in parts.iter().zip(became) {
        let place = match &part.value {
            Json::Text(before) if became.str_of("text") == Some(before) => continue,
            Json::Text(_) => log.at_place_mut(&part.place)?,
            data if became.get("data") == Some(data) => continue,
            _ => return None,
        };
        *place = became.get("text")?.clone();
    }
    Some(())
}
