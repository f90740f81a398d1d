use super::*;
use crate::llm::Counted;
use crate::model::{Authorization, ReasonCode, Risk};

fn judged(decision: Decision, confidence: f64, risk: Risk) -> Judged {
    Judged {
        assessment: Assessment {
            risk,
            authorization: Authorization::Implied,
            decision,
            reason_codes: match decision {
                Decision::Allow => Vec::new(),
                Decision::Modify | Decision::Deny => vec![ReasonCode::GoalHijack],
            },
            confidence,
            reasoning: "Because.".to_owned(),
            message: "So.".to_owned(),
            edits: Vec::new(),
        },
        stage: Stage::First,
        model: "m".to_owned(),
        endpoint: Arc::from("e"),
        usage: Usage {
            prompt_tokens: 100,
            completion_tokens: 10,
            counted: Counted::ByEndpoint,
        },
        cost: Cost::from_micros(7),
        latency: Duration::from_millis(3),
        cut: false,
        decision: None,
        notes: Vec::new(),
    }
}

fn rules() -> FirstStageRules {
    Policy::standard().unwrap().judge.first
}

#[test]
fn the_first_model_decides_what_it_is_sure_of_and_nothing_else() {
    let doubt_of = |decision, confidence, risk| doubt(&judged(decision, confidence, risk), &rules(), None);
    assert_eq!(doubt_of(Decision::Allow, 0.8, Risk::Medium), None);
    assert_eq!(doubt_of(Decision::Deny, 0.95, Risk::Low), None);
    assert_eq!(doubt_of(Decision::Allow, 0.79, Risk::None), Some("unsure"));
    assert_eq!(doubt_of(Decision::Allow, 1.0, Risk::High), Some("risk"));
    assert_eq!(doubt_of(Decision::Modify, 1.0, Risk::Low), Some("decision"));
    for code in ["judge_raised", "judge_unsure", stricter::DISAGREEMENT] {
        let mut at_odds = judged(Decision::Deny, 1.0, Risk::Low);
        at_odds.note(Diagnostic {
            code,
            detail: String::new(),
        });
        assert_eq!(doubt(&at_odds, &rules(), None), Some("at_odds"));
    }
    let strict = FirstStageRules {
        escalate: vec![Decision::Deny, Decision::Modify],
        ..rules()
    };
    assert_eq!(
        doubt(&judged(Decision::Deny, 1.0, Risk::Low), &strict, None),
        Some("decision")
    );
}

#[test]
fn the_first_model_lets_no_suspected_step_happen() {
    let suspicion = Suspicion {
        rule: "session.follows_instruction".to_owned(),
        why: "x".to_owned(),
    };
    for decision in Decision::ALL {
        let doubt = doubt(&judged(*decision, 1.0, Risk::None), &rules(), Some(&suspicion));
        assert_eq!(doubt.is_none(), *decision == Decision::Deny, "{decision}");
    }
}

#[test]
fn of_two_readings_the_stricter_one_counts_and_both_are_paid_for() {
    for one in Decision::ALL {
        for other in Decision::ALL {
            let with = judged(*one, 0.9, Risk::Low);
            let without = judged(*other, 0.8, Risk::Low);
            let counts = stricter::of_readings(Ok(with), Ok(without)).unwrap();
            assert_eq!(counts.assessment.decision, *one.max(other));
            assert_eq!((counts.usage.tokens(), counts.cost.micros()), (220, 14));
            let noted = counts.notes.iter().any(|note| note.code == stricter::DISAGREEMENT);
            assert_eq!(noted, one != other, "{one} {other}");
        }
    }
    let less_sure = stricter::of_readings(
        Ok(judged(Decision::Allow, 0.9, Risk::Low)),
        Ok(judged(Decision::Allow, 0.4, Risk::Low)),
    );
    assert!((less_sure.unwrap().assessment.confidence - 0.4).abs() < 1e-9);
}

#[test]
fn half_an_allow_is_none_and_half_a_denial_is_one() {
    let failure = || {
        Err(JudgeFailure {
            code: "timeout",
            detail: String::new(),
        })
    };
    let one = |decision| Ok(judged(decision, 0.9, Risk::Low));
    assert!(stricter::of_readings(one(Decision::Allow), failure()).is_err());
    assert!(stricter::of_readings(failure(), one(Decision::Modify)).is_err());
    assert!(stricter::of_readings(failure(), one(Decision::Deny)).is_ok());
    assert!(stricter::of_readings(failure(), failure()).is_err());
}

#[test]
fn what_an_answer_owns_weighs() {
    let small = judged(Decision::Deny, 0.9, Risk::Low);
    let mut large = small.clone();
    large.assessment.reasoning = "r".repeat(10_000);
    large.note(Diagnostic {
        code: "note",
        detail: "d".repeat(5_000),
    });
    assert!(large.weight() >= small.weight() + 20_000);
    assert!(small.weight() as usize >= size_of::<Judged>());
}
