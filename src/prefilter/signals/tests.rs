use super::*;
use crate::model::{ReasonCode, RuleObject, Treatment};

fn load(text: &str) -> Result<Signals, DataError> {
    Signals::load(&RuleFile {
        data: crate::text::DataFile {
            path: "test",
            text: Box::leak(text.to_owned().into_boxed_str()),
        },
        family: "test",
        reason: ReasonCode::PromptInjection,
        suggests: Treatment::Evidence,
        object: RuleObject::Words,
    })
}

const FILE: &str = r#"
        [[rule]]
        id = "greeting"
        title = "A greeting."
        severity = "low"
        confidence = "low"
        weight = 3
        fires_on = ["hello there"]
        silent_on = ["bye"]
        [[rule.patterns]]
        gate = ["hello"]
        re = "\\bhello (?:there|you)\\b"

        [[rule]]
        id = "farewell"
        title = "A farewell."
        severity = "low"
        confidence = "low"
        weight = 2
        fires_on = ["bye"]
        silent_on = ["hello"]
        [[rule.patterns]]
        gate = ["bye", "до свидания"]
        re = "\\bbye\\b|до свидания"
    "#;

#[test]
fn weights_of_different_signals_close_together_are_added() {
    let signals = load(FILE).unwrap();
    let near = "hello *there*, hello\nyou, bye";
    let hits = signals.hits(near);
    assert_eq!(hits.len(), 3);
    let clusters = signals.gravest(&hits, 10, |hit| hit.weight);
    assert_eq!(clusters.len(), 1);
    assert_eq!((clusters[0].score, clusters[0].span.clone()), (10, 0..near.len()));
    let far = format!("hello there {} bye", "word ".repeat(300));
    assert!(signals.gravest(&signals.hits(&far), 10, |hit| hit.weight).is_empty());
    assert_eq!(signals.hits(&fold_pattern("до свидания")).len(), 1);
}

#[test]
fn a_quotation_weighs_half() {
    let signals = load(FILE).unwrap();
    let weight = |text: &str| signals.hits(text)[0].weight;
    assert_eq!(weight("hello there"), 6);
    assert_eq!(weight("people say \"hello there\" a lot"), 3);
    assert_eq!(weight("an attacker says hello there"), 3);
    assert_eq!(weight("{\"text\": \"hello there, friend\"}"), 6);
    assert_eq!(weight("patterns = [\"hello there\", \"bye\"]"), 3);
    assert_eq!(weight("tries to hello there"), 3);
    assert_eq!(weight("you have to hello there"), 6);
}

#[test]
fn what_a_manual_or_a_test_shows_weighs_a_quarter() {
    let signals = load(FILE).unwrap();
    let weight = |text: &str| signals.hits(text)[0].weight;
    assert_eq!(
        weight("try it:\n```text\n/check hello there\n```\nthis is found by the scanner."),
        1
    );
    assert_eq!(
        weight("attacks = [\n    'hello there and more',\n]\ndef test_it(): pass"),
        1
    );
    assert_eq!(weight("try it:\n```text\n/check hello there\n```\nthis is fun."), 6);
    assert_eq!(weight("the scanner found:\n```text\nnothing\n```\nhello there"), 6);
}

#[test]
fn another_word_nearby_makes_it_something_else() {
    let file = FILE.replace(
        "gate = [\"hello\"]",
        "gate = [\"hello\"]\n        unless = [\"customer:\"]",
    );
    let signals = load(&file).unwrap();
    assert_eq!(signals.hits("hello there").len(), 1);
    assert!(signals.hits("customer: ok\nhello there").is_empty());
}

#[test]
fn windows_do_not_invent_word_borders() {
    let signals = load(FILE).unwrap();
    let text = format!("{}bye{}", "x".repeat(BEFORE), " ");
    assert!(signals.hits(&text).is_empty());
}

#[test]
fn a_bad_file_is_told_with_its_rule() {
    let error = load(&FILE.replace("severity = \"low\"", "severity = \"awful\"")).unwrap_err();
    let error = error.to_string();
    assert!(
        error.starts_with("test: rule `greeting`: expected one of `info`"),
        "{error}"
    );
    assert!(error.contains("found `awful`"), "{error}");
}
