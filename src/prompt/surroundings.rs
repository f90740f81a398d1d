//! What stands around a step and is worth showing: the agent, its tools, the call, and whatever a finding points at.

use super::Reasoning;
use super::context::{CallContext, DeclaredContext};
use super::fence::{self, Fence};
use crate::model::{Content, Form, Origin, Place, Step, Tool, ToolCall};

/// Tool names that are listed.
const MAX_TOOLS: usize = 80;
/// Arguments of a call that are listed.
const MAX_ARGUMENTS: usize = 48;
/// Characters of an argument's JSON.
const MAX_JSON: usize = 400;
/// Member names that say nothing beyond what pointers show.
const MAX_PLAIN_KEY: usize = 32;

/// Where a content is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shelf {
    /// With the step.
    Step,
    /// With the agent's description of itself.
    Agent,
    /// With the definition of the called tool.
    Tool,
    /// Nowhere, unless a finding points at it.
    Around,
    /// Nowhere.
    Nowhere,
}

/// Decides where contents are shown.
pub(super) struct Shelves<'a> {
    reasoning: Reasoning,
    /// The pointer of the called tool's definition.
    tool: Option<&'a str>,
    /// The pointer of the called tool's id in the call.
    called: Option<&'a str>,
}

impl<'a> Shelves<'a> {
    /// For the contents of this step.
    pub(super) fn of(step: &'a Step, reasoning: Reasoning) -> Self {
        let call = step.tool_call.as_ref();
        Self {
            reasoning,
            tool: call.and_then(|call| definition(step, call)),
            called: call
                .and_then(|call| call.content)
                .and_then(|id| step.content(id))
                .map(|content| content.pointer.as_str()),
        }
    }

    /// Where this content is shown.
    pub(super) fn shelf(&self, content: &Content) -> Shelf {
        if !self.reasoning.shows(content.origin) {
            return Shelf::Nowhere;
        }
        match content.place {
            // The call shows its tool; a second element would only repeat it.
            Place::Body if self.called == Some(content.pointer.as_str()) => Shelf::Nowhere,
            Place::Body if is_plain_key(content) => Shelf::Around,
            Place::Body => Shelf::Step,
            Place::Surroundings if self.is_of_tool(content) => Shelf::Tool,
            Place::Surroundings if is_of_agent(content) => Shelf::Agent,
            Place::Surroundings => Shelf::Around,
        }
    }

    fn is_of_tool(&self, content: &Content) -> bool {
        let inside = self
            .tool
            .and_then(|tool| content.pointer.as_str().strip_prefix(tool))
            .is_some_and(|rest| rest.starts_with('/'));
        inside && matches!(last_segment(content.pointer.as_str()), "name" | "description" | "title")
    }
}

/// The call that a step makes: the tool, and every argument with its value or the content that holds it.
///
/// Numbers and booleans are no contents, but an amount is often what matters most.
pub(super) fn call(step: &Step, fence: &Fence<'_>) -> Option<CallContext> {
    let call = step.tool_call.as_ref()?;
    let id = call.content.map(|id| format!(" {id}")).unwrap_or_default();
    let mut lines = vec![format!("tool{id}: {}", fence.quoted(&call.tool))];
    for argument in call.arguments.iter().take(MAX_ARGUMENTS) {
        let name = fence.quoted(&argument.name);
        let held = step
            .contents
            .iter()
            .find(|content| content.pointer == argument.pointer && content.form != Form::Key);
        lines.push(match held {
            Some(content) => format!("argument {name}: {}", content.id),
            None => format!("argument {name} = {}", json(&argument.json, fence)),
        });
    }
    if call.arguments.len() > MAX_ARGUMENTS {
        let bytes = call
            .arguments
            .iter()
            .skip(MAX_ARGUMENTS)
            .map(|argument| argument.json.len())
            .sum();
        lines.push(fence::cut_mark(bytes));
    }
    Some(CallContext {
        fenced: fence.element("call", " authority=\"none\"", &lines.join("\n")),
        declared: declared(step, call),
    })
}

/// The names of the agent's tools, fenced; empty when it declares none.
pub(super) fn tool_names(step: &Step, fence: &Fence<'_>) -> String {
    let tools: &[Tool] = step.agent.as_ref().map_or(&[], |agent| &agent.tools);
    if tools.is_empty() {
        return String::new();
    }
    let mut names: Vec<String> = tools
        .iter()
        .take(MAX_TOOLS)
        .map(|tool| fence.quoted(&tool.id))
        .collect();
    if tools.len() > MAX_TOOLS {
        names.push(format!("⟦… {} more …⟧", tools.len() - MAX_TOOLS));
    }
    fence.element("tools", " authority=\"none\"", &names.join(", "))
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

/// The pointer of the definition of the called tool: `/params/context/agent/tools/3`.
fn definition<'a>(step: &'a Step, call: &ToolCall) -> Option<&'a str> {
    let named = |member: &'static str| {
        step.contents_of(Origin::ToolDescription).find_map(|content| {
            let (parent, last) = content.pointer.as_str().rsplit_once('/')?;
            (last == member && content.text == call.tool && content.place == Place::Surroundings).then_some(parent)
        })
    };
    named("id").or_else(|| named("name"))
}

fn is_of_agent(content: &Content) -> bool {
    let pointer = content.pointer.as_str();
    let own = content.origin == Origin::Instructions
        || pointer
            .rsplit_once('/')
            .is_some_and(|(parent, _)| last_segment(parent) == "agent");
    own && matches!(last_segment(pointer), "name" | "description" | "instructions")
}

/// A member name that is a plain identifier says nothing that the pointers of its values do not show.
fn is_plain_key(content: &Content) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'$');
    content.form == Form::Key && content.text.len() <= MAX_PLAIN_KEY && content.text.bytes().all(plain)
}

fn last_segment(pointer: &str) -> &str {
    pointer.rsplit_once('/').map_or(pointer, |(_, last)| last)
}

/// JSON on one line, without the white space between its tokens, cut when it is long.
fn json(json: &str, fence: &Fence<'_>) -> String {
    let mut compact = String::new();
    let (mut in_string, mut escaped) = (false, false);
    for c in json.chars() {
        if in_string {
            in_string = escaped || c != '"';
            escaped = c == '\\' && !escaped;
        } else if c.is_ascii_whitespace() {
            continue;
        } else {
            in_string = c == '"';
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
        let long = json(&format!("[{}]", "7,".repeat(1000)), &fence);
        assert!(long.ends_with("⟦… 1,602 bytes cut, not shown …⟧"), "{long}");
    }
}
