use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::super::{Prefilters, testing};
use super::*;
use crate::model::{Origin, Treatment};
use crate::policy::PolicyFile;

const POLICY: &str = r#"
[[rules]]
id = "badge_number"
title = "A badge number of ours."
reason = "personal_data"
treatment = "mask"
words = ["BDG-"]
pattern = 'BDG-(\d{6})'

[[rules]]
id = "code_word"
title = "The name of a project that is not public."
reason = "data_exfiltration"
treatment = "deny"
words = ["bluebird"]
pattern = 'project bluebird'
origins = ["tool_output", "agent"]
"#;

fn policy() -> Policy {
    PolicyFile::parse(POLICY, "p").unwrap().compile("p").unwrap()
}

fn found(origin: Origin, text: &str) -> Vec<(String, String)> {
    let step = testing::step([(origin, text.to_owned())]);
    let screening = Prefilters::standard().unwrap().screen(&step, &policy());
    let own = screening
        .findings
        .into_iter()
        .filter(|finding| finding.rule.starts_with("own."));
    own.map(|finding| (finding.rule, text[finding.span].to_owned()))
        .collect()
}

fn one(rule: &str, text: &str) -> Vec<(String, String)> {
    vec![(rule.to_owned(), text.to_owned())]
}

#[test]
fn a_rule_finds_its_group_or_the_whole_of_what_it_fits() {
    assert_eq!(
        found(Origin::ToolOutput, "badge BDG-123456."),
        one("own.badge_number", "123456")
    );
    assert_eq!(
        found(Origin::ToolOutput, "see Project Bluebird."),
        one("own.code_word", "Project Bluebird")
    );
    for silent in ["BDG-12345", "bdg-123456", "a bluebird", ""] {
        assert_eq!(found(Origin::ToolOutput, silent), [], "{silent}");
    }
}

#[test]
fn a_rule_suggests_what_the_policy_says() {
    let step = testing::step([(Origin::ToolOutput, "BDG-123456 project bluebird".to_owned())]);
    let policy = policy();
    let findings = testing::seen_in_contents(&CustomRules, &step, &policy);
    let treatments: Vec<Treatment> = findings.iter().map(|found| policy.treatment(found, &step)).collect();
    assert_eq!(treatments, [Treatment::Mask, Treatment::Deny]);
    assert_eq!(testing::seen(&CustomRules, Origin::ToolOutput, "BDG-123456"), []);
}

#[test]
fn origins_are_heeded() {
    assert_eq!(found(Origin::User, "project bluebird"), []);
    assert_eq!(found(Origin::Agent, "project bluebird").len(), 1);
}

#[test]
fn disguises_are_seen_through() {
    let look_alike = "pr\u{43e}ject blu\u{435}bird";
    assert_eq!(found(Origin::Agent, look_alike), one("own.code_word", look_alike));
    let stuffed = "BDG-12\u{200b}34\u{200b}56";
    assert_eq!(
        found(Origin::Agent, stuffed),
        one("own.badge_number", "12\u{200b}34\u{200b}56")
    );
    let wide = "ＢＤＧ-１２３４５６";
    assert_eq!(found(Origin::Agent, wide), one("own.badge_number", "１２３４５６"));
    let encoded = STANDARD.encode("the badge is BDG-123456, and nothing else is said here");
    let text = format!("see {encoded} there");
    let seen = found(Origin::Agent, &text);
    assert_eq!(seen.len(), 1, "{seen:?}");
    assert!(encoded.contains(&seen[0].1) && seen[0].1.len() >= 8, "{seen:?}");
    let json = r#"{"inner": "{\"badge\": \"BDG-123456\"}"}"#;
    assert_eq!(found(Origin::Agent, json), one("own.badge_number", "123456"));
}

#[test]
fn of_a_flood_nothing_stays_unmasked() {
    let some = "BDG-123456 ".repeat(MAX_HITS);
    assert_eq!(found(Origin::ToolOutput, &some).len(), MAX_HITS);
    let named = "project bluebird ".repeat(MAX_HITS);
    assert_eq!(found(Origin::ToolOutput, &named).len(), MAX_HITS);
    let many = "BDG-123456 ".repeat(MAX_HITS + 1);
    assert_eq!(found(Origin::ToolOutput, &many), one("own.badge_number", &many));
}
