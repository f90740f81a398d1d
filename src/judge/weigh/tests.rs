use proptest::prelude::*;

use super::super::answer::ProposedEdit;
use super::super::testing::step;
use super::*;
use crate::model::{Kind, Origin, Risk};

fn answer(decision: Decision) -> Answer {
    Answer {
        risk: Risk::Low,
        authorization: Authorization::Implied,
        decision,
        reason_codes: Vec::new(),
        confidence: 0.8,
        reasoning: "Because.".into(),
        message: "All is well.".into(),
        edits: Vec::new(),
        flaw: None,
    }
}

fn edit(find: &str, replace: &str) -> ProposedEdit {
    ProposedEdit {
        content: "c1".into(),
        find: find.into(),
        replace: replace.into(),
    }
}

fn weighed(kind: Kind, coverage: PromptCoverage, answer: Answer) -> (Assessment, Vec<&'static str>) {
    let step = step(kind, &[(Origin::ToolOutput, "the key is tk_made_up")]);
    let policy = Policy::standard().unwrap();
    let checks = AnswerChecks {
        step: &step,
        findings: &[],
        history: History::NONE,
        policy: &policy,
        shown: &[ContentId::from_index(0)],
        coverage,
    };
    let (assessment, notes) = checks.weigh(answer);
    (assessment, notes.into_iter().map(|note| note.code).collect())
}

#[test]
fn an_allow_has_no_reasons_and_keeps_its_words() {
    let (assessment, notes) = weighed(
        Kind::ToolResult,
        PromptCoverage::Whole,
        Answer {
            reason_codes: vec![ReasonCode::Obfuscation],
            ..answer(Decision::Allow)
        },
    );
    assert_eq!((assessment.decision, assessment.confidence), (Decision::Allow, 0.8));
    assert_eq!(
        (assessment.message.as_str(), assessment.reasoning.as_str()),
        ("All is well.", "Because.")
    );
    assert!(assessment.reason_codes.is_empty() && notes.is_empty());
}

#[test]
fn an_allow_on_a_cut_prompt_is_less_sure_and_a_deny_is_not() {
    let confidence = |decision| {
        weighed(Kind::ToolResult, PromptCoverage::Cut, answer(decision))
            .0
            .confidence
    };
    assert!((confidence(Decision::Allow) - 0.6).abs() < 1e-9);
    assert!((confidence(Decision::Deny) - 0.8).abs() < 1e-9);
}

fn unsure(kind: Kind, decision: Decision, confidence: f64) -> (Assessment, Vec<&'static str>) {
    let edits = match decision {
        Decision::Modify => vec![edit("tk_made_up", "************")],
        Decision::Allow | Decision::Deny => Vec::new(),
    };
    let answer = Answer {
        confidence,
        edits,
        ..answer(decision)
    };
    weighed(kind, PromptCoverage::Whole, answer)
}

#[test]
fn an_allow_that_is_less_sure_than_the_policy_demands_lets_nothing_happen() {
    for (kind, confidence, expected) in [
        (Kind::ToolCall, 0.5, Decision::Allow),
        (Kind::ToolCall, 0.49, Decision::Deny),
        (Kind::ToolResult, 0.3, Decision::Allow),
        (Kind::ToolResult, 0.29, Decision::Deny),
        (Kind::ToolResult, 0.0, Decision::Deny),
    ] {
        let (assessment, notes) = unsure(kind, Decision::Allow, confidence);
        assert_eq!(assessment.decision, expected, "{kind} {confidence}");
        assert_eq!(notes.contains(&"judge_unsure"), expected == Decision::Deny);
        if expected == Decision::Deny {
            assert_eq!(assessment.reason_codes, [ReasonCode::ApprovalRequired]);
            assert!(!assessment.message.contains("All is well"), "{}", assessment.message);
            assert!(
                assessment.reasoning.contains("the policy demands"),
                "{}",
                assessment.reasoning
            );
        }
    }
    assert_eq!(
        unsure(Kind::ToolResult, Decision::Modify, 0.1).0.decision,
        Decision::Deny
    );
    // A denial needs no confidence.
    assert_eq!(unsure(Kind::ToolCall, Decision::Deny, 0.0).1, Vec::<&str>::new());
}

#[test]
fn an_allow_on_a_cut_prompt_has_to_be_surer() {
    let (assessment, notes) = weighed(
        Kind::ToolCall,
        PromptCoverage::Cut,
        Answer {
            confidence: 0.6,
            ..answer(Decision::Allow)
        },
    );
    assert_eq!(
        (assessment.decision, notes.as_slice()),
        (Decision::Deny, ["judge_unsure"].as_slice())
    );
}

#[test]
fn codes_that_the_policy_does_not_declare_are_left_out() {
    let own = ReasonCode::parse("org.four_eyes").unwrap();
    let (assessment, notes) = weighed(
        Kind::ToolCall,
        PromptCoverage::Whole,
        Answer {
            reason_codes: vec![own.clone()],
            ..answer(Decision::Deny)
        },
    );
    assert_eq!(assessment.reason_codes, [ReasonCode::PolicyViolation]);
    assert_eq!(notes, ["undeclared_code"]);
    let step = step(Kind::ToolCall, &[(Origin::ToolArguments, "x")]);
    let file = crate::policy::PolicyFile::parse("[reason_codes]\norg.four_eyes = 'Two people.'", "p").unwrap();
    let policy = file.compile("p").unwrap();
    let checks = AnswerChecks {
        step: &step,
        findings: &[],
        policy: &policy,
        history: &History::default(),
        shown: &[],
        coverage: PromptCoverage::Whole,
    };
    let (assessment, notes) = checks.weigh(Answer {
        reason_codes: vec![own.clone()],
        ..answer(Decision::Deny)
    });
    assert_eq!((assessment.reason_codes, notes), (vec![own], Vec::new()));
}

#[test]
fn a_deny_without_a_reason_has_one() {
    let (assessment, _) = weighed(Kind::ToolResult, PromptCoverage::Whole, answer(Decision::Deny));
    assert_eq!(assessment.reason_codes, [ReasonCode::PolicyViolation]);
}

#[test]
fn an_allow_against_its_own_view_is_denied_with_other_words() {
    let (assessment, notes) = weighed(
        Kind::ToolCall,
        PromptCoverage::Whole,
        Answer {
            risk: Risk::Critical,
            authorization: Authorization::Unknown,
            ..answer(Decision::Allow)
        },
    );
    assert_eq!(
        (assessment.decision, notes.as_slice()),
        (Decision::Deny, &["judge_raised"][..])
    );
    assert_eq!(assessment.reason_codes, [ReasonCode::PolicyViolation]);
    assert_eq!(
        assessment.message,
        "The step is denied. It is against the organisation's policy."
    );
    assert!(
        assessment.reasoning.starts_with("Because.\n[the judge said `allow`"),
        "{}",
        assessment.reasoning
    );
}

#[test]
fn good_edits_are_taken_and_carry_the_first_reason() {
    let (assessment, notes) = weighed(
        Kind::ToolResult,
        PromptCoverage::Whole,
        Answer {
            reason_codes: vec![ReasonCode::SecretExposure],
            edits: vec![edit("tk_made_up", "[REDACTED]")],
            ..answer(Decision::Modify)
        },
    );
    assert_eq!((assessment.decision, assessment.edits.len()), (Decision::Modify, 1));
    assert_eq!(assessment.edits[0].reason, ReasonCode::SecretExposure);
    assert!(notes.is_empty());
}

#[test]
fn refused_edits_deny() {
    for (edits, code) in [
        (vec![], "edit_missing"),
        (vec![edit("no such text", "")], "edit_not_found"),
        (vec![edit("key", "key https://evil.example")], "edit_adds_text"),
    ] {
        let (assessment, notes) = weighed(
            Kind::ToolResult,
            PromptCoverage::Whole,
            Answer {
                reason_codes: vec![ReasonCode::SecretExposure],
                edits,
                ..answer(Decision::Modify)
            },
        );
        assert_eq!((assessment.decision, notes.as_slice()), (Decision::Deny, &[code][..]));
        assert_eq!(
            assessment.reason_codes,
            [ReasonCode::ModificationRefused, ReasonCode::SecretExposure]
        );
        assert!(assessment.edits.is_empty());
    }
}

fn any_of<T: Copy + std::fmt::Debug>(all: &'static [T]) -> impl Strategy<Value = T> {
    proptest::sample::select(all)
}

proptest! {
    #[test]
    fn an_assessment_is_never_laxer_than_the_answer_and_is_consistent(
        risk in any_of(Risk::ALL), authorization in any_of(Authorization::ALL), decision in any_of(Decision::ALL),
        kind in any_of(Kind::ALL), find in "[a-z_ ]{0,8}", replace in "[a-z_ ./]{0,8}",
    ) {
        let answer = Answer { risk, authorization, edits: vec![edit(&find, &replace)], ..answer(decision) };
        let (assessment, _) = weighed(kind, PromptCoverage::Whole, answer);
        prop_assert!(assessment.decision >= decision);
        prop_assert_eq!(assessment.edits.is_empty(), assessment.decision != Decision::Modify);
        prop_assert_eq!(assessment.reason_codes.is_empty(), assessment.decision == Decision::Allow);
    }
}
