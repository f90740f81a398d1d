//! Steps and contents for the tests of prefilters, and the check of every rule's own examples.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use super::engine::CalledTool;
use super::{Keywords, Prefilter, Prefilters, ScanContext, Subject, Views};
use crate::model::{
    Argument, Content, ContentId, Finding, Form, Kind, Method, Origin, Place, Pointer, Rule, Screening, Step, ToolCall,
};
use crate::policy::Policy;
use crate::text::views;

/// A tool's answer with these contents.
pub(crate) fn step(contents: impl IntoIterator<Item = (Origin, String)>) -> Step {
    Step {
        contents: contents
            .into_iter()
            .enumerate()
            .map(|(index, (origin, text))| Content {
                id: ContentId::from_index(index),
                origin,
                pointer: Pointer::new(format!("/params/result/outputs/{index}/text")),
                label: None,
                place: Place::Body,
                form: Form::Text,
                text,
            })
            .collect(),
        ..crate::model::testing::step()
    }
}

/// Returns the findings of every family in a step, under the built-in policy.
pub(crate) fn screened(step: &Step) -> Screening {
    static PREFILTERS: LazyLock<Prefilters> = LazyLock::new(|| Prefilters::standard().unwrap());
    PREFILTERS.screen(step, &Policy::standard().unwrap())
}

/// Returns the findings of a family in one text of this origin.
pub(crate) fn seen(family: &dyn Prefilter, origin: Origin, text: &str) -> Vec<Finding> {
    seen_under(family, origin, text, &Policy::standard().unwrap())
}

/// Returns the findings of a family in one text of this origin, under a policy.
pub(crate) fn seen_under(family: &dyn Prefilter, origin: Origin, text: &str, policy: &Policy) -> Vec<Finding> {
    let step = step([(origin, text.to_owned())]);
    let found = seen_in_contents(family, &step, policy);
    for finding in &found {
        assert!(
            text.get(finding.span.clone()).is_some(),
            "{}: {:?} of {text:?}",
            finding.rule,
            finding.span
        );
    }
    found
}

/// The gate for a family alone, compiled once.
fn gate_of(family: &dyn Prefilter) -> Arc<Keywords> {
    static GATES: LazyLock<Mutex<HashMap<&'static str, Arc<Keywords>>>> = LazyLock::new(Mutex::default);
    let mut gates = GATES.lock().unwrap();
    let gate = gates
        .entry(family.family())
        .or_insert_with(|| Arc::new(views::keywords([family.words()].into_iter())));
    Arc::clone(gate)
}

/// Returns the findings of a family in the contents of a step.
pub(crate) fn seen_in_contents(family: &dyn Prefilter, step: &Step, policy: &Policy) -> Vec<Finding> {
    let gate = gate_of(family);
    let mut found = Vec::new();
    let notes = ScanContext::default();
    let called = CalledTool::of(step, policy);
    for content in &step.contents {
        let views = Views::of(content, &gate);
        let subject = Subject {
            step,
            policy,
            content,
            called: &called,
            views: &views,
            vocabulary: views::OF_FAMILIES,
            context: &notes,
        };
        family.screen_content(&subject, &mut found);
    }
    found
}

/// Returns the findings of a family in the shape of a step.
pub(crate) fn seen_in_shape(family: &dyn Prefilter, step: &Step, policy: &Policy) -> Vec<Finding> {
    let mut found = Vec::new();
    family.screen_step(step, policy, &mut found);
    found
}

/// Holds every rule of a family to its examples, as texts of this origin; `chosen` picks the rules for which it is right.
pub(crate) fn hold_examples(family: &dyn Prefilter, origin: Origin, chosen: impl Fn(&str) -> bool) {
    for rule in family.rules().iter().filter(|rule| chosen(&rule.id)) {
        assert!(rule.id.starts_with(&format!("{}.", family.family())), "{}", rule.id);
        assert!(
            !rule.fires_on.is_empty() && !rule.silent_on.is_empty(),
            "{} has no examples",
            rule.id
        );
        for text in &rule.fires_on {
            let found = seen(family, origin, text);
            assert!(
                found.iter().any(|finding| finding.rule == rule.id),
                "{} is silent on {text:?}; found {:?}",
                rule.id,
                found.iter().map(|f| &f.rule).collect::<Vec<_>>()
            );
        }
        for text in &rule.silent_on {
            let found = seen(family, origin, text);
            assert!(
                found.iter().all(|finding| finding.rule != rule.id),
                "{} fires on {text:?}",
                rule.id
            );
        }
    }
}

/// A step of one kind without any content.
pub(crate) fn empty(kind: Kind, method: Method) -> Step {
    Step {
        method,
        kind,
        contents: Vec::new(),
        ..crate::model::testing::step()
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
        empty(Kind::ToolResult, Method::ToolCallResult),
        Origin::ToolOutput,
        None,
        text,
    )
}

/// An agent's answer.
pub(crate) fn agent_message(text: &str) -> Step {
    with(empty(Kind::AgentMessage, Method::Message), Origin::Agent, None, text)
}

/// A call of a tool with arguments that are strings.
pub(crate) fn tool_call(tool: &str, arguments: &[(&str, &str)]) -> Step {
    let mut made = empty(Kind::ToolCall, Method::ToolCallRequest);
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

/// Returns the findings of a family in a step, under a policy.
pub(crate) fn screen_under(family: &dyn Prefilter, step: &Step, policy: &Policy) -> Vec<Finding> {
    let mut found = seen_in_contents(family, step, policy);
    found.append(&mut seen_in_shape(family, step, policy));
    found
}

/// Returns the findings of a family in a step, under the standard policy.
pub(crate) fn screen(family: &dyn Prefilter, step: &Step) -> Vec<Finding> {
    screen_under(family, step, &Policy::standard().unwrap())
}

/// Holds the examples of every rule of a family, each put into a step of the given shape.
pub(crate) fn hold_shaped_examples(family: &dyn Prefilter, shape: impl Fn(&Rule, &str) -> Step) {
    let mut ids = std::collections::BTreeSet::new();
    let mut wrong = Vec::new();
    for rule in family.rules() {
        assert!(ids.insert(&rule.id), "{} is listed twice", rule.id);
        assert!(
            rule.id.starts_with(&format!("{}.", family.family())),
            "{} is of another family",
            rule.id
        );
        // What counts does not fit into a text.
        let counts = rule.id.ends_with(".flood");
        assert!(
            (counts || !rule.fires_on.is_empty()) && !rule.silent_on.is_empty(),
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
