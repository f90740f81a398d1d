use super::*;
use crate::model::{Agent, Argument, ArgumentDefinition, Kind, Method, Origin};
use crate::policy::PolicyFile;
use crate::prefilter::Family;
use crate::prefilter::testing::{empty, screen_under, with};

fn definition(name: &str, arguments: &[(&str, &str, bool)]) -> Definition {
    Definition {
        id: name.to_owned(),
        name: name.to_owned(),
        description: None,
        arguments: Some(
            arguments
                .iter()
                .map(|(name, kind, required)| ArgumentDefinition {
                    name: (*name).to_owned(),
                    type_name: Some((*kind).to_owned()),
                    required: *required,
                })
                .collect(),
        ),
    }
}

/// `tool(name=json, …)` as a step of an agent with two tools.
fn call(text: &str) -> Step {
    let (tool, rest) = text.split_once('(').unwrap();
    let mut step = with(
        empty(Kind::ToolCall, Method::ToolCallRequest),
        Origin::Unknown,
        Some("toolId"),
        tool,
    );
    step.agent = Some(Agent {
        id: None,
        name: None,
        tools: vec![
            definition(
                "send_email",
                &[
                    ("to", "string", true),
                    ("body", "string", false),
                    ("count", "integer", false),
                ],
            ),
            definition("read_file", &[("path", "string", true)]),
        ],
    });
    let arguments = rest
        .strip_suffix(')')
        .unwrap()
        .split(", ")
        .filter(|argument| !argument.is_empty());
    step.tool_call = Some(ToolCall {
        tool: tool.to_owned(),
        content: Some(step.contents[0].id),
        arguments: arguments
            .enumerate()
            .map(|(index, argument)| {
                let (name, json) = argument.split_once('=').unwrap();
                Argument {
                    name: name.to_owned(),
                    pointer: Pointer::new(format!("/params/toolCallRequest/inputs/{index}/value")),
                    json: json.to_owned(),
                }
            })
            .collect(),
    });
    step
}

fn policy(text: &str) -> Policy {
    PolicyFile::parse(text, "p").unwrap().compile("p").unwrap()
}

fn rules_under(text: &str, step: &Step) -> Vec<(String, Treatment)> {
    screen_under(&Tool::load().unwrap(), step, &policy(text))
        .into_iter()
        .map(|finding| (finding.rule, finding.suggested))
        .collect()
}

#[test]
fn every_rule_holds_its_examples() {
    for rule in Tool::load().unwrap().rules() {
        for (texts, fires) in [(&rule.fires_on, true), (&rule.silent_on, false)] {
            assert!(!texts.is_empty(), "{}", rule.id);
            for text in texts {
                let found = rules_under("[tools]\ndeny = ['shell*']", &call(text));
                assert_eq!(
                    found.iter().any(|(id, _)| *id == rule.id),
                    fires,
                    "{} on {text:?}: {found:?}",
                    rule.id
                );
            }
        }
    }
}

#[test]
fn an_allow_list_admits_nothing_else_and_no_look_alike() {
    let only = "[tools]\nallow = ['send_*']";
    assert_eq!(rules_under(only, &call("send_email(to=\"a\")")), []);
    assert_eq!(
        rules_under(only, &call("read_file(path=\"a\")")),
        [("tool.not_allowed".to_owned(), Treatment::Deny)]
    );
    let rules: Vec<String> = rules_under(only, &call("s\u{0435}nd_sms()"))
        .into_iter()
        .map(|(rule, _)| rule)
        .collect();
    assert_eq!(rules, ["tool.not_allowed", "tool.look_alike"]);
}

#[test]
fn the_policy_says_what_is_made_of_undeclared_tools() {
    let step = call("delete_account()");
    assert_eq!(rules_under("[tools]\nundeclared = 'ignore'", &step), []);
    assert_eq!(
        rules_under("", &step),
        [("tool.undeclared".to_owned(), Treatment::Evidence)]
    );
    assert_eq!(
        rules_under("[tools]\nundeclared = 'deny'", &step),
        [("tool.undeclared".to_owned(), Treatment::Deny)]
    );
    let mut alone = step;
    alone.agent = None;
    assert_eq!(rules_under("[tools]\nundeclared = 'deny'", &alone), []);
}

#[test]
fn findings_point_at_the_tools_id_or_at_the_argument() {
    let found = screen_under(
        &Tool::load().unwrap(),
        &call("shell()"),
        &policy("[tools]\ndeny = ['shell']"),
    );
    assert_eq!(
        (found[0].content.map(|id| id.index()), found[0].span.clone()),
        (Some(0), 0..5)
    );
    let found = screen_under(&Tool::load().unwrap(), &call("send_email(to=\"a\", x=1)"), &policy(""));
    assert_eq!(found[0].pointer.as_str(), "/params/toolCallRequest/inputs/1/value");
}
