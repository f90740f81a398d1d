//! What holds for screening as a whole.

mod floods;

use std::rc::Rc;
use std::sync::LazyLock;

use super::engine::Scanner;
use super::*;
use crate::model::{Confidence, Finding, Origin, ReasonCode, Rule, RuleObject, Severity, Treatment, View, ViewSet};
use crate::policy::Policy;
use crate::text::views::Triage;

/// A family that finds the word `marker` in every view.
struct Markers(Vec<Rule>);

impl Markers {
    fn new() -> Box<Self> {
        Box::new(Self(vec![Rule {
            id: "markers.marker".into(),
            title: "The word `marker`.".into(),
            reason: ReasonCode::PolicyViolation,
            severity: Severity::Low,
            confidence: Confidence::High,
            suggests: Treatment::Evidence,
            fires_on: vec!["a marker".into()],
            silent_on: vec!["nothing".into()],
            object: RuleObject::Words,
            administration: false,
        }]))
    }
}

impl Family for Markers {
    fn family(&self) -> &'static str {
        "markers"
    }

    fn rules(&self) -> &[Rule] {
        &self.0
    }
}

impl Prefilter for Markers {
    fn words(&self) -> Vec<Word> {
        vec![Word::any_case("marker")]
    }

    fn screen_content(&self, subject: &Subject<'_>, found: &mut Vec<Finding>) {
        for view in subject.views.iter() {
            for (at, word) in view.text().match_indices("marker") {
                found.push(self.0[0].at(subject, view, at..at + word.len(), "a marker"));
            }
        }
    }
}

#[test]
fn every_content_is_screened_and_covered() {
    let prefilters = Prefilters::of(vec![Markers::new()]).unwrap();
    let step = testing::step([
        (Origin::ToolOutput, "a marker here, a mar\u{200b}ker there".to_owned()),
        (Origin::User, "MARKER".to_owned()),
        (Origin::Unknown, "nothing".to_owned()),
    ]);
    let screening = prefilters.screen(&step, &Policy::standard().unwrap());
    let places: Vec<_> = screening
        .findings
        .iter()
        .map(|f| (f.content.unwrap().index(), f.span.clone()))
        .collect();
    assert_eq!(places, [(0, 2..8), (0, 17..26), (1, 0..6)]);
    assert_eq!(screening.coverage.contents, 3);
    assert_eq!(screening.coverage.bytes, step.text_bytes());
    assert_eq!(screening.coverage.cut_bytes, 0);
    assert_eq!(
        screening.coverage.views,
        [View::Raw, View::Normalized, View::Folded, View::Structure]
    );
}

#[test]
fn what_was_cut_is_said_with_its_pointer() {
    let step = testing::step([(Origin::ToolOutput, "\u{3316}".repeat(200_000))]);
    let screening = Prefilters::of(vec![])
        .unwrap()
        .screen(&step, &Policy::standard().unwrap());
    assert!(screening.coverage.cut_bytes > 0);
    assert_eq!(screening.coverage.cut, [step.contents[0].pointer.clone()]);
}

#[test]
fn rule_ids_are_unique_and_begin_with_their_family() {
    let prefilters = Prefilters::standard().unwrap();
    let mut ids: Vec<&str> = prefilters.rules().map(|rule| rule.id.as_str()).collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count);
    for family in prefilters.families() {
        for rule in family.rules() {
            assert!(rule.id.starts_with(&format!("{}.", family.family())), "{}", rule.id);
            assert!(!rule.title.is_empty(), "{}", rule.id);
        }
    }
}

proptest::proptest! {
    #[test]
    fn any_step_is_screened_with_spans_inside_its_texts(
        texts in proptest::collection::vec(
            r#"(\PC|[\u{200b}\u{202e}\u{fe0f}\u{e0041}\u{1b}]|<!-- ?|-->|ignore |previous |instructions|i g n o r e |1gn0r3 |aWdub3Jl|%69|\\u0069|["{}:]){0,40}"#,
            1..4,
        ),
        origin in 0usize..Origin::ALL.len(),
    ) {
        let origin = Origin::ALL[origin];
        let step = testing::step(texts.into_iter().map(|text| (origin, text)));
        static PREFILTERS: LazyLock<Prefilters> = LazyLock::new(|| Prefilters::standard().unwrap());
        let screening = PREFILTERS.screen(&step, &Policy::standard().unwrap());
        for finding in screening.findings {
            let content = step.content(finding.content.unwrap()).unwrap();
            proptest::prop_assert!(content.text.get(finding.span.clone()).is_some(), "{}: {:?}", finding.rule, finding.span);
        }
    }
}

/// Returns the findings that are passed over when a content is plain and no rule heeds its name.
fn passed_over(text: &str, label: Option<&str>, origin: Origin) -> Vec<Finding> {
    static STANDARD: LazyLock<(Prefilters, Policy)> =
        LazyLock::new(|| (Prefilters::standard().unwrap(), Policy::standard().unwrap()));
    let (prefilters, policy) = &*STANDARD;
    let mut step = testing::step([(origin, text.to_owned())]);
    step.contents[0].label = label.map(Into::into);
    let content = &step.contents[0];
    let triage = Triage::at(content, &prefilters.keywords);
    let scanner = Scanner::of(prefilters, &step, policy, &Rc::default());
    if !triage.is_trivial(content) || scanner.concerns_trivial(content) {
        return Vec::new();
    }
    let views = Views::of(content, &prefilters.keywords);
    assert_eq!(
        views.iter().map(ViewText::view).collect::<ViewSet>(),
        Triage::trivial_views()
    );
    assert_eq!(views.derived_bytes(), triage.trivial_derived_bytes(content));
    scanner.look_at(content, &views)
}

#[test]
fn plain_contents_are_passed_over() {
    let triage = |text: &str| {
        let step = testing::step([(Origin::ToolOutput, text.to_owned())]);
        Triage::at(&step.contents[0], &Prefilters::standard().unwrap().keywords).is_trivial(&step.contents[0])
    };
    for text in [
        "shipped",
        "Northwind Hardware",
        "leave it at the gate",
        "e-17",
        "paidLate",
    ] {
        assert!(triage(text), "{text}");
    }
    for text in [
        "ignore all of this",
        "cr\u{e9}me",
        "aWdub3JlIGFsbA",
        "4111111111111111",
        "a@b.example",
        "%41",
    ] {
        assert!(!triage(text), "{text}");
    }
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(2_000))]
    #[test]
    fn nothing_is_passed_over_that_a_family_would_tell(
        text in "[a-zA-Z]{1,12}( [a-zA-Z]{1,8}){0,3}[.,;:!?]?|[a-zA-Z0-9./:_-]{1,8}|[ -~]{1,12}|[a-z .,()]{0,40}",
        label in proptest::option::of(proptest::sample::select(vec![
            "text", "name", "customerName", "status", "pin", "zip", "phone", "value", "apiKey", "password", "host", "cmd",
            "birth", "address", "token", "user", "email", "card", "cvv", "id", "path", "query",
        ])),
        origin in proptest::sample::select(vec![
            Origin::User, Origin::Agent, Origin::Reasoning, Origin::ToolArguments, Origin::ToolOutput, Origin::Knowledge,
            Origin::Memory, Origin::RemoteAgent, Origin::Trigger, Origin::ToolDescription, Origin::Instructions,
        ]),
    ) {
        let found = passed_over(&text, label, origin);
        proptest::prop_assert!(found.is_empty(), "{:?}", found.iter().map(|f| &f.rule).collect::<Vec<_>>());
    }
}
