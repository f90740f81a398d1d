//! Steps made by hand, for the tests of rule families.

use std::sync::Arc;

use super::{Prefilter, Rule, Subject, Views};
use crate::model::{
    Argument, Content, ContentId, Edit, EditError, Finding, Form, Kind, Method, Origin, Original, Place, Pointer, Step,
    ToolCall,
};
use crate::policy::Policy;

#[derive(Debug)]
struct NoOriginal;

impl Original for NoOriginal {
    fn json(&self) -> &str {
        "{}"
    }

    fn edited(&self, _edits: &[Edit]) -> Result<Arc<Step>, EditError> {
        Err(EditError::Undecodable("made by hand".to_owned()))
    }
}

/// A step of one kind without any content.
pub(crate) fn step(kind: Kind, method: Method) -> Step {
    Step {
        method,
        kind,
        agent: None,
        session: None,
        user: None,
        tool_call: None,
        announced_tools: Vec::new(),
        contents: Vec::new(),
        remarks: Vec::new(),
        original: Arc::new(NoOriginal),
    }
}

/// Adds a content to a step.
pub(crate) fn with(mut step: Step, origin: Origin, label: Option<&str>, text: &str) -> Step {
    let index = step.contents.len();
    step.contents.push(Content {
        id: ContentId::from_index(index),
        origin,
        pointer: Pointer::new(format!("/params/contents/{index}")),
        label: label.map(str::to_owned),
        place: Place::Body,
        form: Form::Text,
        text: text.to_owned(),
    });
    step
}

/// A tool's answer.
pub(crate) fn tool_output(text: &str) -> Step {
    with(
        step(Kind::ToolResult, Method::ToolCallResult),
        Origin::ToolOutput,
        None,
        text,
    )
}

/// An agent's answer.
pub(crate) fn agent_message(text: &str) -> Step {
    with(step(Kind::AgentMessage, Method::Message), Origin::Agent, None, text)
}

/// A call of a tool with arguments that are strings.
pub(crate) fn tool_call(tool: &str, arguments: &[(&str, &str)]) -> Step {
    let mut made = step(Kind::ToolCall, Method::ToolCallRequest);
    for (name, value) in arguments {
        made = with(made, Origin::ToolArguments, Some(name), value);
    }
    let arguments = made
        .contents
        .iter()
        .map(|content| Argument {
            name: content.label.clone().unwrap_or_default(),
            pointer: content.pointer.clone(),
            json: serde_json::to_string(&content.text).unwrap(),
        })
        .collect();
    made.tool_call = Some(ToolCall {
        tool: tool.to_owned(),
        content: None,
        arguments,
    });
    made
}

/// What a family finds in a step, under a policy.
pub(crate) fn screen_under(family: &dyn Prefilter, step: &Step, policy: &Policy) -> Vec<Finding> {
    let mut found = Vec::new();
    for content in &step.contents {
        let views = Views::of(content);
        family.screen_content(
            &Subject {
                step,
                policy,
                content,
                views: &views,
            },
            &mut found,
        );
    }
    family.screen_step(step, policy, &mut found);
    found
}

/// What a family finds in a step, under the standard policy.
pub(crate) fn screen(family: &dyn Prefilter, step: &Step) -> Vec<Finding> {
    screen_under(family, step, &Policy::standard().unwrap())
}

/// Holds the examples of every rule of a family, each put into a step of the given shape.
pub(crate) fn hold_examples(family: &dyn Prefilter, shape: impl Fn(&Rule, &str) -> Step) {
    let mut ids = std::collections::BTreeSet::new();
    let mut wrong = Vec::new();
    for rule in family.rules() {
        assert!(ids.insert(&rule.id), "{} is listed twice", rule.id);
        assert!(
            rule.id.starts_with(&format!("{}.", family.family())),
            "{} is of another family",
            rule.id
        );
        assert!(
            !rule.fires_on.is_empty() && !rule.silent_on.is_empty(),
            "{} lacks examples",
            rule.id
        );
        let finds = |text: &String| {
            screen(family, &shape(rule, text))
                .iter()
                .any(|found| found.rule == rule.id)
        };
        wrong.extend(
            rule.fires_on
                .iter()
                .filter(|text| !finds(text))
                .map(|text| format!("{} is silent on {text:?}", rule.id)),
        );
        wrong.extend(
            rule.silent_on
                .iter()
                .filter(|text| finds(text))
                .map(|text| format!("{} fires on {text:?}", rule.id)),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
