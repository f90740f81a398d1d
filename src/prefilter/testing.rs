//! Steps and contents for the tests of prefilters, and the check of every rule's own examples.

use std::sync::Arc;

use super::{Prefilter, Subject, Views};
use crate::model::{
    Content, ContentId, Edit, EditError, Finding, Form, Kind, Method, Origin, Original, Place, Pointer, Step,
};
use crate::policy::Policy;

#[derive(Debug)]
struct NoDocument;

impl Original for NoDocument {
    fn json(&self) -> &str {
        "{}"
    }

    fn edited(&self, _edits: &[Edit]) -> Result<Arc<Step>, EditError> {
        Err(EditError::Undecodable("there is no document".into()))
    }
}

/// A tool's answer with these contents.
pub(super) fn step(contents: impl IntoIterator<Item = (Origin, String)>) -> Step {
    Step {
        method: Method::ToolCallResult,
        kind: Kind::ToolResult,
        agent: None,
        session: None,
        user: None,
        tool_call: None,
        announced_tools: Vec::new(),
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
        remarks: Vec::new(),
        original: Arc::new(NoDocument),
    }
}

/// What a family sees in one text of this origin.
pub(super) fn seen(family: &dyn Prefilter, origin: Origin, text: &str) -> Vec<Finding> {
    let policy = Policy::standard().unwrap();
    let step = step([(origin, text.to_owned())]);
    let views = Views::of(&step.contents[0]);
    let subject = Subject {
        step: &step,
        policy: &policy,
        content: &step.contents[0],
        views: &views,
    };
    let mut found = Vec::new();
    family.screen_content(&subject, &mut found);
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

/// Holds every rule of a family to its examples, as texts of this origin; `chosen` picks the rules for which it is right.
pub(super) fn hold_examples(family: &dyn Prefilter, origin: Origin, chosen: impl Fn(&str) -> bool) {
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
