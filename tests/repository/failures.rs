//! `src/judge/FAILURES.md` names every failure of a judge, and says of each what the code does about it.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;

const PAGE: &str = include_str!("../../src/judge/FAILURES.md");
/// The source that says which failures the author of a step cannot bring about.
const JUDGE: &str = include_str!("../../src/judge/failure.rs");
const FAILURE: &str = include_str!("../../src/llm/failure.rs");
const ANSWER: &str = include_str!("../../src/judge/answer/error.rs");
const REST: [&str; 5] = [
    include_str!("../../src/llm/no_connection.rs"),
    include_str!("../../src/judge/failure.rs"),
    include_str!("../../src/judge/model.rs"),
    include_str!("../../src/judge/spend_budget.rs"),
    include_str!("../../src/pipeline/judging.rs"),
];

/// The rows of the page: what stands in each cell after the code's.
fn rows() -> BTreeMap<String, Vec<String>> {
    PAGE.lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| {
            let mut cells = line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned());
            (cells.next().unwrap().trim_matches('`').to_owned(), cells.collect())
        })
        .collect()
}

/// The body of a function.
fn function<'a>(source: &'a str, head: &str) -> &'a str {
    let after = source.split_once(head).unwrap_or_else(|| panic!("no `{head}`")).1;
    after.split_once("\n    }\n").unwrap().0
}

/// Variants and their codes.
fn codes(source: &str) -> BTreeMap<String, String> {
    let arm = Regex::new(r#"(?m)::(\w+)(?:\(_\)| \{ \.\. \})? => "(\w+)","#).unwrap();
    let arms = arm.captures_iter(function(source, "pub const fn code"));
    arms.map(|arm| (arm[1].to_owned(), arm[2].to_owned())).collect()
}

/// The variants of each arm that ends like this.
fn arm<'a>(body: &'a str, end: &str) -> BTreeSet<&'a str> {
    let at = body.find(end).unwrap_or_else(|| panic!("no `{end}`"));
    let begin = body[..at].rfind("=>").map_or(0, |before| before + 2);
    let name = Regex::new(r"(?:Failure|AnswerError)::(\w+)").unwrap();
    name.captures_iter(&body[begin..at])
        .map(|found| found.get(1).unwrap().as_str())
        .collect()
}

#[test]
fn every_failure_is_on_the_page_and_nothing_else() {
    let mut expected: BTreeSet<String> = codes(FAILURE)
        .into_values()
        .chain(codes(ANSWER).into_values())
        .collect();
    assert!(expected.len() > 30, "{expected:?}");
    let literal = Regex::new(
        r#"(?m)(?:code: |failure\(\s*|const \w+: &str = |NoConnection::\w+(?: \| NoConnection::\w+)* => )"([a-z_]+)""#,
    )
    .unwrap();
    for source in REST {
        let code = source.split("#[cfg(test)]").next().unwrap();
        expected.extend(literal.captures_iter(code).map(|found| found[1].to_owned()));
    }
    let named: BTreeSet<String> = rows().into_keys().collect();
    assert_eq!(named, expected);
}

#[test]
fn the_page_says_which_failures_lead_to_the_next_endpoint_and_which_count_as_faults() {
    let body = function(FAILURE, "const fn blame");
    let (faults, traffic) = (arm(body, "=> Blame::Endpoint"), arm(body, "=> Blame::Traffic"));
    let rows = rows();
    for (variant, code) in codes(FAILURE) {
        let cells = &rows[&code];
        let next = faults.contains(variant.as_str()) || traffic.contains(variant.as_str());
        let said = (cells[1].as_str(), cells[2].as_str());
        let yes = |is: bool| if is { "yes" } else { "no" };
        let next = if code == "breaker_open" { "–" } else { yes(next) };
        assert_eq!(said, (next, yes(faults.contains(variant.as_str()))), "{code}");
    }
}

#[test]
fn the_page_says_which_answers_are_asked_for_again() {
    let again = arm(function(ANSWER, "const fn may_be_chance"), "=> true");
    let rows = rows();
    for (variant, code) in codes(ANSWER) {
        let expected = if again.contains(variant.as_str()) { "yes" } else { "no" };
        assert_eq!(rows[&code][1], expected, "{code}");
    }
}

#[test]
fn the_page_lists_the_failures_that_lead_to_an_open_posture() {
    let (_, list) = JUDGE.split_once("const NOT_PROVOKED: &[&str] = &[").unwrap();
    let (list, _) = list.split_once("];").unwrap();
    let quoted = |text: &str, mark: char| -> BTreeSet<String> {
        text.split(mark).skip(1).step_by(2).map(str::to_owned).collect()
    };
    let (_, said) = PAGE.split_once("cannot bring\nabout: ").unwrap();
    let (said, _) = said.split_once(". After").unwrap();
    assert_eq!(quoted(said, '`'), quoted(list, '"'));
}
