use super::super::testing::{finding, step};
use super::*;
use crate::model::Kind;

fn rules(deny_at: f64) -> LocalJudgeRules {
    LocalJudgeRules {
        deny_at,
        thresholds: Default::default(),
    }
}

fn judged(findings: &[Finding]) -> Assessment {
    let step = step(
        Kind::ToolResult,
        &[
            (Origin::ToolOutput, "x"),
            (Origin::User, "y"),
            (Origin::ToolOutput, "z"),
        ],
    );
    let evidence: Vec<_> = findings.iter().map(|finding| (finding, Treatment::Evidence)).collect();
    assess(&step, &evidence, &rules(0.75))
}

fn hint(reason: ReasonCode, severity: Severity, confidence: Confidence, content: usize) -> Finding {
    finding(reason, severity, confidence, content, 0..1)
}

#[test]
fn nothing_found_is_a_confident_allow() {
    let assessment = judged(&[]);
    assert_eq!(
        (assessment.decision, assessment.confidence, assessment.risk),
        (Decision::Allow, 1.0, Risk::None)
    );
    assert!(assessment.reason_codes.is_empty() && assessment.edits.is_empty());
}

#[test]
fn one_sure_and_serious_finding_denies() {
    let assessment = judged(&[hint(ReasonCode::PromptInjection, Severity::High, Confidence::High, 0)]);
    assert_eq!((assessment.decision, assessment.risk), (Decision::Deny, Risk::High));
    assert_eq!(assessment.reason_codes, [ReasonCode::PromptInjection]);
    assert!((assessment.confidence - 0.85).abs() < 1e-9);
}

#[test]
fn ten_repetitions_are_one_hint() {
    let one = judged(&[hint(ReasonCode::Obfuscation, Severity::Medium, Confidence::Medium, 0)]);
    let mut many = vec![hint(ReasonCode::Obfuscation, Severity::Medium, Confidence::Medium, 0); 10];
    many.push(hint(ReasonCode::Obfuscation, Severity::Medium, Confidence::Medium, 2));
    assert_eq!(judged(&many), one);
    assert_eq!(one.decision, Decision::Allow);
    assert!((one.confidence - 0.7).abs() < 1e-9);
}

#[test]
fn different_hints_add_up_and_the_heaviest_reason_comes_first() {
    let assessment = judged(&[
        hint(ReasonCode::Obfuscation, Severity::Medium, Confidence::High, 0),
        hint(ReasonCode::DataExfiltration, Severity::High, Confidence::Medium, 0),
        hint(ReasonCode::DataExfiltration, Severity::Low, Confidence::Low, 1),
    ]);
    let score = 1.0 - 0.55 * 0.45 * 0.95;
    assert_eq!(assessment.decision, Decision::Deny);
    assert!((assessment.confidence - score).abs() < 1e-9);
    assert_eq!(
        assessment.reason_codes,
        [ReasonCode::DataExfiltration, ReasonCode::Obfuscation]
    );
}

#[test]
fn personal_data_and_wrong_arguments_never_deny() {
    let assessment = judged(&[
        hint(ReasonCode::PersonalData, Severity::Critical, Confidence::High, 0),
        hint(ReasonCode::InvalidArguments, Severity::Critical, Confidence::High, 1),
        hint(ReasonCode::PersonalData, Severity::Critical, Confidence::High, 1),
    ]);
    assert_eq!((assessment.decision, assessment.confidence), (Decision::Allow, 1.0));
}

#[test]
fn only_evidence_counts() {
    let step = step(Kind::ToolResult, &[(Origin::ToolOutput, "x")]);
    let sure = hint(ReasonCode::MaliciousCode, Severity::Critical, Confidence::High, 0);
    for treatment in Treatment::ALL {
        let assessment = assess(&step, &[(&sure, *treatment)], &rules(0.75));
        let expected = match treatment {
            Treatment::Evidence => Decision::Deny,
            Treatment::Allow | Treatment::Ignore | Treatment::Mask | Treatment::Suspect | Treatment::Deny => {
                Decision::Allow
            }
        };
        assert_eq!(assessment.decision, expected, "{treatment}");
    }
}

#[test]
fn a_finding_about_the_shape_is_a_group_of_its_own() {
    let mut shape = hint(ReasonCode::ToolPoisoning, Severity::High, Confidence::Medium, 0);
    shape.content = None;
    let text = hint(ReasonCode::ToolPoisoning, Severity::High, Confidence::Medium, 0);
    assert_eq!(judged(&[shape.clone()]).decision, Decision::Allow);
    assert_eq!(judged(&[shape, text]).decision, Decision::Deny);
}

#[test]
fn the_threshold_is_the_policys() {
    let step = step(Kind::ToolResult, &[(Origin::ToolOutput, "x")]);
    let hint = hint(ReasonCode::Jailbreak, Severity::Medium, Confidence::High, 0);
    let at = |deny_at| assess(&step, &[(&hint, Treatment::Evidence)], &rules(deny_at)).decision;
    assert_eq!((at(0.44), at(0.46)), (Decision::Deny, Decision::Allow));
}

#[test]
fn rules_are_named_in_the_record_only() {
    let assessment = judged(&[hint(ReasonCode::PromptInjection, Severity::High, Confidence::High, 0)]);
    assert!(
        assessment.reasoning.contains("test.prompt_injection"),
        "{}",
        assessment.reasoning
    );
    assert_eq!(
        assessment.message,
        "The step is denied. Content without authority gives instructions."
    );
    let many: Vec<Finding> = (0..40)
        .map(|number| Finding {
            rule: format!("test.rule_{number:02}"),
            ..hint(ReasonCode::Jailbreak, Severity::Low, Confidence::Low, 1)
        })
        .collect();
    let reasoning = judged(&many).reasoning;
    assert!(
        reasoning.contains("and 28 more") && reasoning.len() < 400,
        "{reasoning}"
    );
}

#[test]
fn more_evidence_never_turns_a_deny_into_an_allow() {
    let mut findings = Vec::new();
    let mut before = Decision::Allow;
    for reason in ReasonCode::all() {
        findings.push(hint(reason, Severity::Medium, Confidence::Medium, findings.len() % 3));
        let now = judged(&findings).decision;
        assert!(now >= before);
        before = now;
    }
    assert_eq!(before, Decision::Deny);
}
