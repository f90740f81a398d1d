//! The family as a whole: every rule's examples, spans, dedupe, seams, speed.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::model::{Content, ContentId, Edit, EditError, Form, Kind, Method, Original, Place, Pointer, Severity};
use crate::prefilter::Views;

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

fn step(contents: Vec<Content>) -> Step {
    Step {
        method: Method::ToolCallResult,
        kind: Kind::ToolResult,
        agent: None,
        session: None,
        user: None,
        tool_call: None,
        announced_tools: Vec::new(),
        contents,
        remarks: Vec::new(),
        original: Arc::new(NoDocument),
    }
}

fn content(index: usize, pointer: &str, label: Option<&str>, text: &str) -> Content {
    Content {
        id: ContentId::from_index(index),
        origin: Origin::ToolOutput,
        pointer: Pointer::new(pointer),
        label: label.map(str::to_owned),
        place: Place::Body,
        form: Form::Text,
        text: text.to_owned(),
    }
}

fn screen(step: &Step) -> Vec<Finding> {
    let policy = Policy::standard().unwrap();
    let mut found = Vec::new();
    for content in &step.contents {
        let views = Views::of(content);
        let subject = Subject {
            step,
            policy: &policy,
            content,
            views: &views,
        };
        Secret.screen_content(&subject, &mut found);
    }
    Secret.screen_step(step, &policy, &mut found);
    found
}

fn found_in(text: &str) -> Vec<Finding> {
    screen(&step(vec![content(0, "/params/result/outputs/0/text", None, text)]))
}

#[test]
fn the_embedded_data_is_sound() {
    let table = TABLE.as_ref().unwrap();
    assert_eq!(table.broken_patterns(), Vec::<String>::new());
    let mut ids: Vec<&str> = table.rules().iter().map(|rule| rule.id.as_str()).collect();
    assert!(ids.len() > 300, "{}", ids.len());
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), table.rules().len());
}

#[test]
fn every_rule_fires_on_its_examples_and_is_silent_on_its_twins() {
    let mut wrong = Vec::new();
    for rule in Secret.rules() {
        for text in &rule.fires_on {
            let found = found_in(text);
            if !found.iter().any(|finding| finding.rule == rule.id) {
                let instead: Vec<&str> = found.iter().map(|finding| finding.rule.as_str()).collect();
                wrong.push(format!("{} is silent on {text:?}; found {instead:?}", rule.id));
            }
        }
        for text in &rule.silent_on {
            if found_in(text).iter().any(|finding| finding.rule == rule.id) {
                wrong.push(format!("{} fires on {text:?}", rule.id));
            }
        }
        assert!(
            rule.id == "secret.flood" || !rule.fires_on.is_empty(),
            "{} has no example",
            rule.id
        );
        assert!(!rule.silent_on.is_empty() || !rule.fires_on.is_empty(), "{}", rule.id);
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}
