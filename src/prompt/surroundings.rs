//! The surroundings of a step that are worth showing: the agent, its tools, the call, and everything that a finding points at.

use std::cmp::Ordering;
use std::collections::HashSet;

use super::context::{CallContext, DeclaredContext};
use super::fence::{self, Fence};
use super::{Reasoning, layout, tokens};
use crate::model::{Argument, Content, ContentId, Data, Fact, Form, Origin, Place, Step, Tool, ToolCall};

/// Tool names that are listed.
const MAX_TOOLS: usize = 80;
/// Arguments of a call that are listed.
const MAX_ARGUMENTS: usize = 48;
/// Tokens of an element's own text, and of a mark for what it leaves out.
const FRAME: usize = 36;
/// Characters of an argument's JSON, or of data.
const MAX_JSON: usize = 2_000;
/// Characters of a string in there. It stands whole among the contents.
const MAX_STRING: usize = 60;
/// Pieces of data that are listed.
const MAX_DATA: usize = 64;
/// Member names that say nothing beyond what pointers show.
const MAX_PLAIN_KEY: usize = 32;

/// The place where a content is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placement {
    /// With the step.
    Step,
    /// With the agent's description of itself.
    Agent,
    /// With the other agent of a conversation between agents.
    Remote,
    /// With the definition of the called tool.
    Tool,
    /// Nowhere, unless a finding points at it.
    Around,
    /// Nowhere.
    Nowhere,
}

/// A call as it is shown, and the contents whose text stands in it whole.
pub(super) struct Called {
    /// The context for the template.
    pub(super) context: CallContext,
    /// The contents that are shown there.
    pub(super) shown: Vec<ContentId>,
}

/// Decides where contents are shown.
pub(super) struct Placements<'a> {
    reasoning: Reasoning,
    /// Contents that the call shows.
    in_call: &'a [ContentId],
    /// The pointers under which the called tool, and the arguments that the call gives, are defined.
    defined: HashSet<&'a str>,
    /// The pointer of the called tool's id in the call.
    called: Option<&'a str>,
    /// The called tool.
    tool: Option<&'a str>,
    /// The pointers of objects that have a description.
    described: HashSet<&'a str>,
}

impl<'a> Placements<'a> {
    /// Prepares the placements of the contents of this step, of which the call shows some already.
    pub(super) fn of(step: &'a Step, reasoning: Reasoning, in_call: &'a [ContentId]) -> Self {
        let call = step.tool_call.as_ref();
        let described = step.contents_of(Origin::ToolDescription);
        let descriptions = described
            .filter(|content| content.place == Place::Surroundings && !content.text.trim().is_empty())
            .map(|content| split(content.pointer.as_str()))
            .filter(|(_, last)| *last == "description")
            .map(|(parent, _)| parent);
        Self {
            reasoning,
            in_call,
            defined: call.map(|call| definitions(step, call)).unwrap_or_default(),
            called: call
                .and_then(|call| call.content)
                .and_then(|id| step.content(id))
                .map(|content| content.pointer.as_str()),
            tool: call.map(|call| call.tool.as_str()),
            described: descriptions.collect(),
        }
    }

    /// Returns the placement of this content.
    pub(super) fn placement(&self, content: &Content) -> Placement {
        if !self.reasoning.shows(content.origin) {
            return Placement::Nowhere;
        }
        if self.called == Some(content.pointer.as_str()) {
            // The call shows its tool; only a name that is too long for it has to stand by itself.
            let whole = content.text.chars().nth(fence::MAX_ATTRIBUTE).is_none();
            return if whole { Placement::Nowhere } else { Placement::Step };
        }
        if self.in_call.contains(&content.id) {
            return Placement::Nowhere;
        }
        match content.place {
            Place::Body if is_plain_key(content) || says_nothing(content) => Placement::Around,
            Place::Body => Placement::Step,
            Place::Surroundings if self.is_of_tool(content) => {
                // An empty description, and the name that the call shows already, say nothing.
                let (parent, last) = split(content.pointer.as_str());
                let undescribed = last == "name" && !self.described.contains(parent);
                let silent = content.text.trim().is_empty() || undescribed || self.tool == Some(content.text.as_str());
                if silent { Placement::Nowhere } else { Placement::Tool }
            }
            Place::Surroundings if !describes_agent(content) => Placement::Around,
            Place::Surroundings if content.origin == Origin::Instructions => Placement::Agent,
            Place::Surroundings if content.origin == Origin::RemoteAgent => Placement::Remote,
            Place::Surroundings => Placement::Around,
        }
    }

    fn is_of_tool(&self, content: &Content) -> bool {
        let (parent, last) = split(content.pointer.as_str());
        matches!(last, "name" | "description" | "title") && self.defined.contains(parent)
    }
}

/// Shows the call that a step makes: the tool, and every argument with its value or the content that holds it.
///
/// Most numbers and booleans are no contents, but an amount is often what matters most.
pub(super) fn call(step: &Step, fence: &Fence<'_>, room: usize) -> Option<Called> {
    let call = step.tool_call.as_ref()?;
    let id = call.content.map(|id| format!("{id} ")).unwrap_or_default();
    let mut lines = vec![format!("{id}tool: {}", fence.quoted(&call.tool))];
    let mut shown: Vec<ContentId> = call.content.into_iter().collect();
    let mut left = room.saturating_sub(FRAME + tokens::estimate(lines.concat().as_str()));
    for (at, argument) in call.arguments.iter().enumerate() {
        let (line, held) = self::argument(argument, step, fence);
        let costs = tokens::estimate(&line) + 1;
        if costs > left || at >= MAX_ARGUMENTS {
            let hidden = call.arguments.iter().skip(at);
            lines.push(fence::cut_mark(hidden.map(|argument| argument.json.len()).sum()));
            break;
        }
        left -= costs;
        lines.push(line);
        shown.extend(held);
    }
    let attributes = Fence::speaker(Origin::ToolArguments);
    let context = CallContext {
        fenced: fence.element("call", &attributes, &lines.join("\n")),
        declared: declared(step, call),
    };
    Some(Called { context, shown })
}

/// Shows an argument on a line; also returns the content whose text stands in it whole.
fn argument(argument: &Argument, step: &Step, fence: &Fence<'_>) -> (String, Option<ContentId>) {
    let name = fence.quoted(&argument.name);
    let held = step
        .contents
        .iter()
        .find(|content| content.pointer == argument.pointer && !matches!(content.form, Form::Key | Form::Number));
    match held {
        Some(content) if layout::is_short(content) => {
            let line = format!("{} at={name}: {}", content.id, fence.inline(&content.text));
            (line, Some(content.id))
        }
        Some(content) => (format!("{} at={name}: below", content.id), None),
        None => (format!("at={name} = {}", json(&argument.json, fence)), None),
    }
}

/// Shows the data of the step that holds more than strings, as the JSON that it is, one element for each writer. Data that the call shows is left
/// out.
pub(super) fn data(step: &Step, fence: &Fence<'_>, room: usize) -> Vec<String> {
    let arguments = step.tool_call.iter().flat_map(|call| &call.arguments);
    let called: HashSet<&str> = arguments.map(|argument| argument.pointer.as_str()).collect();
    let around: HashSet<&str> = called.iter().map(|pointer| split(pointer).0).collect();
    let is_called = |data: &Data| {
        let pointer = data.pointer.as_str();
        around.contains(pointer) || is_within(pointer, &called)
    };
    let listed: Vec<&Data> = step
        .data
        .iter()
        .filter(|data| !is_called(data) && tells_something(data))
        .collect();
    let mut left = room.saturating_sub(FRAME);
    let mut elements = Vec::new();
    let mut shown = 0;
    for run in listed.chunk_by(|one, other| one.origin == other.origin) {
        let mut lines = Vec::new();
        for data in run {
            let line = format!(
                "at={}: {}",
                fence.quoted(data.pointer.as_str()),
                json(&data.json, fence)
            );
            let costs = tokens::estimate(&line) + 1;
            if costs > left || shown >= MAX_DATA {
                let hidden = listed.iter().skip(shown);
                lines.push(fence::cut_mark(hidden.map(|data| data.json.len()).sum()));
                elements.push(fence.element("data", &Fence::speaker(data.origin), &lines.join("\n")));
                return elements;
            }
            left -= costs;
            shown += 1;
            lines.push(line);
        }
        if let Some(first) = run.first() {
            elements.push(fence.element("data", &Fence::speaker(first.origin), &lines.join("\n")));
            left = left.saturating_sub(FRAME);
        }
    }
    elements
}

/// Returns `true` if a judge learns something from it: a field without a value, and a call that did not fail, are as usual.
fn tells_something(data: &Data) -> bool {
    match data.json.as_str() {
        "null" => false,
        "false" => split(data.pointer.as_str()).1 != "isError",
        _ => true,
    }
}

/// Returns `true` if a pointer is one of these, or leads to something below one.
fn is_within(pointer: &str, these: &HashSet<&str>) -> bool {
    let mut at = pointer;
    loop {
        if these.contains(at) {
            return true;
        }
        match at.rsplit_once('/') {
            Some((parent, _)) => at = parent,
            None => return false,
        }
    }
}

/// Returns the facts about the step, one on a line, fenced; empty when there are none.
pub(super) fn facts(step: &Step, fence: &Fence<'_>) -> String {
    if step.facts.is_empty() {
        return String::new();
    }
    let line = |fact: &Fact| format!("{}: {}", fact.kind.as_str(), fence.quoted(&fact.text));
    let lines: Vec<String> = step.facts.iter().map(line).collect();
    fence.element("values", &Fence::speaker(Origin::Unknown), &lines.join("\n"))
}

/// Returns the names of the agent's tools, fenced; empty when it declares none.
pub(super) fn tool_names(step: &Step, fence: &Fence<'_>, room: usize) -> String {
    let tools: &[Tool] = step.agent.as_ref().map_or(&[], |agent| &agent.tools);
    if tools.is_empty() {
        return String::new();
    }
    let mut names = Vec::new();
    let mut left = room.saturating_sub(FRAME);
    for (at, tool) in tools.iter().enumerate() {
        let name = fence.quoted(&tool.id);
        let costs = tokens::estimate(&name) + 1;
        if costs > left || at >= MAX_TOOLS {
            names.push(format!("⟦… {} more …⟧", tools.len() - at));
            break;
        }
        left -= costs;
        names.push(name);
    }
    fence.element("tools", "", &names.join(", "))
}

fn declared(step: &Step, call: &ToolCall) -> DeclaredContext {
    let tools: &[Tool] = step.agent.as_ref().map_or(&[], |agent| &agent.tools);
    if tools.is_empty() {
        DeclaredContext::Unknown
    } else if tools.iter().any(|tool| tool.id == call.tool || tool.name == call.tool) {
        DeclaredContext::Yes
    } else {
        DeclaredContext::No
    }
}

/// Returns the pointers of the definition of the called tool, and of those of its arguments that the call gives.
///
/// AOS lists arguments by position (`…/tools/3/arguments/0/name`), MCP by name (`…/properties/path/description`).
fn definitions<'a>(step: &'a Step, call: &ToolCall) -> HashSet<&'a str> {
    let tools = || {
        let described = step.contents_of(Origin::ToolDescription);
        described.filter(|content| content.place == Place::Surroundings)
    };
    let named = |member: &'static str| {
        tools().find_map(|content| {
            let (parent, last) = split(content.pointer.as_str());
            (last == member && content.text == call.tool).then_some(parent)
        })
    };
    let Some(tool) = named("id").or_else(|| named("name")) else {
        return HashSet::new();
    };
    let given: HashSet<&str> = call.arguments.iter().map(|argument| argument.name.as_str()).collect();
    let arguments = tools().filter_map(|content| {
        let (parent, last) = split(content.pointer.as_str());
        let inside = parent.strip_prefix(tool).is_some_and(|rest| rest.starts_with('/'));
        let by_position = last == "name" && given.contains(content.text.as_str());
        (inside && (by_position || given.contains(split(parent).1))).then_some(parent)
    });
    std::iter::once(tool).chain(arguments).collect()
}

/// Returns `true` if it is one of the members in which an agent is described. Its provider has a name as well.
fn describes_agent(content: &Content) -> bool {
    let (parent, last) = split(content.pointer.as_str());
    match last {
        "instructions" | "description" => true,
        "name" => split(parent).1 != "provider",
        _ => false,
    }
}

/// Returns `true` for a member name that is a plain identifier: it says nothing that the pointers of its values do not show.
fn is_plain_key(content: &Content) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'$');
    content.form == Form::Key && content.text.len() <= MAX_PLAIN_KEY && content.text.bytes().all(plain)
}

/// Returns `true` for an empty text, and for the name of a JSON type in the definition of a tool.
fn says_nothing(content: &Content) -> bool {
    const TYPES: [&str; 6] = ["object", "string", "integer", "number", "boolean", "array"];
    let text = content.text.as_str();
    let is_type = content.origin == Origin::ToolDescription
        && TYPES.contains(&text)
        && split(content.pointer.as_str()).1 == "type";
    text.is_empty() || is_type
}

/// Returns a pointer's parent and its last segment.
fn split(pointer: &str) -> (&str, &str) {
    pointer.rsplit_once('/').unwrap_or(("", pointer))
}

/// Shows JSON on one line, without the white space between its tokens; long strings lose their end, and so does all of it when it is long.
fn json(json: &str, fence: &Fence<'_>) -> String {
    let mut compact = String::new();
    let (mut in_string, mut escaped) = (false, false);
    // Characters of the string so far.
    let mut inside = 0;
    for c in json.chars() {
        if !in_string {
            if c.is_ascii_whitespace() {
                continue;
            }
            in_string = c == '"';
            inside = 0;
        } else if c == '"' && !escaped {
            in_string = false;
        } else {
            inside += 1;
            escaped = c == '\\' && !escaped;
            match inside.cmp(&MAX_STRING) {
                Ordering::Less => {}
                Ordering::Equal => {
                    compact.push('…');
                    continue;
                }
                Ordering::Greater => continue,
            }
        }
        compact.push(c);
    }
    let end = compact.char_indices().nth(MAX_JSON).map_or(compact.len(), |(at, _)| at);
    let head = fence.inline(compact.get(..end).unwrap_or_default());
    if end == compact.len() {
        head
    } else {
        format!("{head}{}", fence::cut_mark(compact.len() - end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_shown_on_one_line() {
        let fence = Fence::new("ff00").unwrap();
        assert_eq!(
            json("[\n  1, \"a  \\\" b\",\n  { \"x\" : true }\n]", &fence),
            "[1,\"a  \\\" b\",{\"x\":true}]"
        );
        let long = json(&format!("[{}]", "7,".repeat(2000)), &fence);
        assert!(long.ends_with("⟦… 2,002 bytes cut, not shown …⟧"), "{long}");
        let words = json(&format!("[\"{}\",7]", "a\\\"".repeat(100)), &fence);
        assert!(words.ends_with("…\",7]") && words.len() < 100, "{words}");
    }
}
