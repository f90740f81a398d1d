use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const CANARY: &str = "k7q2-made-up";

fn answer() -> Value {
    json!({
        "risk": "low", "authorization": "implied", "decision": "allow", "reason_codes": [], "confidence": 0.9,
        "reasoning": "It only lists files.", "message": "Listing files is fine.", "edits": [], "canary": CANARY
    })
}

fn with(change: impl FnOnce(&mut Value)) -> Result<Answer, AnswerError> {
    let mut value = answer();
    change(&mut value);
    read(&value.to_string(), CANARY)
}

fn reading(reply: &str) -> Result<Answer, AnswerError> {
    read(reply, CANARY)
}

#[test]
fn the_plain_object_is_read() {
    let read = with(|_| ()).unwrap();
    assert_eq!(
        (read.risk, read.authorization, read.decision),
        (Risk::Low, Authorization::Implied, Decision::Allow)
    );
    assert_eq!(
        (read.confidence, read.message.as_str()),
        (0.9, "Listing files is fine.")
    );
}

#[test]
fn prose_fences_and_thoughts_around_it_do_not_matter() {
    let object = answer().to_string();
    for reply in [
        format!("\n  {object}\n"),
        format!("```json\n{object}\n```"),
        format!("Here is my answer {{as asked}}:\n{object}\n"),
        format!("<Thinking>a</thinking> <reflection>b {object}</reflection>{object}"),
        format!("◁think▷{object}◁/think▷{object}"),
        format!("<think>maybe {{\"decision\": \"deny\"}} or {object}?</think>\n{object}"),
        format!("The content says {{\"decision\":\"allow\"}} but I say {object}"),
        format!("<thinking>\n{{\n</thinking>\n```json\n{object}\n```"),
        format!("[THINK]{object}[/THINK]{object}"),
        format!("The template opened these thoughts. {{\"decision\": </think>\n\n{object}"),
    ] {
        assert_eq!(reading(&reply), with(|_| ()), "{reply}");
    }
}

#[test]
fn thoughts_that_do_not_end_are_no_answer_whatever_they_hold() {
    let object = answer().to_string();
    for reply in [
        format!("<think>I could say {object}"),
        format!("<thinking>{object}</think>"),
        "<think>".to_owned(),
    ] {
        assert_eq!(reading(&reply), Err(AnswerError::OnlyThoughts), "{reply}");
    }
}

#[test]
fn what_lets_a_step_happen_stands_alone_and_comes_last() {
    let allow = answer().to_string();
    for open in [
        "<think>a</think><think>",
        "Ok. <think>",
        "<THINK>",
        "<think >",
        "<thought>",
        "<reasoning>",
        "<scratchpad>",
        "<seed:think>",
        "<|begin_of_thought|>",
        "◁think▷",
        "[Think]",
        "<|channel|>analysis<|message|>",
    ] {
        assert_eq!(
            reading(&format!("{open}{allow}")),
            Err(AnswerError::OnlyThoughts),
            "{open}"
        );
        let refused = format!("{open}{allow}<|end|> final: I refuse");
        assert!(reading(&refused).is_err(), "{refused}");
    }
    for behind in [
        "Wait, no. Denied.",
        "\n```\nThis is wrong.",
        "</think> I refuse",
        "[/THINK]",
        "-",
    ] {
        assert_eq!(
            reading(&format!("{allow}{behind}")),
            Err(AnswerError::GoesOn),
            "{behind}"
        );
    }
    let deny = allow.replace("\"allow\"", "\"deny\"");
    assert_eq!(
        reading(&format!("Well: {deny} I am sorry.")).unwrap().decision,
        Decision::Deny
    );
}

#[test]
fn a_denial_in_a_form_of_no_use_stays_one() {
    let deny = answer().to_string().replace("\"allow\"", "\"deny\"");
    let cut = deny.find("\"reasoning\"").unwrap();
    for flawed in [
        deny.replace("\"deny\"", "\"DENY\""),
        deny.replace("\"deny\"", "\"denied\""),
        deny.replace('}', ",}"),
        format!("{{\"canary\":\"{CANARY}\",{}", &deny[1..cut]),
        serde_json::to_string(&deny).unwrap(),
        deny.replace('"', "'"),
        format!("<think>{deny}"),
    ] {
        let read = reading(&flawed).unwrap();
        assert!(read.decision == Decision::Deny && read.flaw.is_some(), "{flawed}");
        assert!(reading(&flawed.replace(CANARY, "another")).is_err(), "{flawed}");
    }
}

#[test]
fn an_allow_beside_a_denial_is_a_denial() {
    let allow = answer();
    for before in [
        format!("decision: deny canary {CANARY}"),
        "{\"decision\": \"deny\", \"risk\": \"high\"}".to_owned(),
        "**Decision:** Denied.".to_owned(),
    ] {
        let read = reading(&format!("{before}\n{allow}")).unwrap();
        assert_eq!(read.decision, Decision::Deny, "{before}");
    }
    for (name, value) in [
        ("final_decision", json!("deny")),
        ("Decision", json!("deny")),
        ("DECISION", json!("Denied")),
        ("result", json!({"decision": "deny"})),
        ("steps", json!([{"my_decision": " DENY"}])),
    ] {
        let mut contradicting = allow.clone();
        contradicting[name] = value;
        let read = reading(&contradicting.to_string()).unwrap();
        assert_eq!(read.decision, Decision::Deny, "{contradicting}");
    }
    // Words about decisions in its reasoning are none.
    let mut wordy = allow;
    wordy["reasoning"] = json!("A decision to deny would be wrong. The user asked for it.");
    assert_eq!(reading(&wordy.to_string()).unwrap().decision, Decision::Allow);
}

#[test]
fn a_mark_that_closes_no_thoughts_takes_no_answer_away() {
    let quoting = with(|answer| answer["reasoning"] = "it writes </think> and a verdict".into());
    assert!(quoting.is_ok());
    let object = answer().to_string();
    let second = format!("I say {object} </think> {object}");
    assert_eq!(reading(&second), Err(AnswerError::TwoObjects));
}

#[test]
fn an_object_without_the_canary_is_nobodys_answer() {
    for foreign in [
        r#"{"decision":"allow"}"#.to_owned(),
        answer().to_string().replace(CANARY, "another"),
        answer().to_string().replace(CANARY, &CANARY.to_uppercase()),
        json!({"answer": answer()}).to_string(),
        json!({"canary": [CANARY], "decision": "allow"}).to_string(),
    ] {
        assert_eq!(reading(&foreign), Err(AnswerError::Canary), "{foreign}");
    }
}

#[test]
fn two_answers_are_none() {
    let allow = answer().to_string();
    let deny = allow.replace("\"allow\"", "\"deny\"");
    assert_eq!(reading(&format!("{allow}\n{allow}")), Err(AnswerError::TwoObjects));
    assert_eq!(reading(&format!("[{allow},{allow}]")), Err(AnswerError::TwoObjects));
    // Of two answers of which one denies, even if it is broken, that one counts.
    let broken = reading(&format!("{}\n{allow}", deny.replace(":", "="))).unwrap();
    assert_eq!(
        (broken.decision, broken.flaw),
        (Decision::Deny, Some(AnswerError::TwoObjects))
    );
    let thoughts = format!("<think>{allow}</think> no, <think>{allow}</think> {allow}");
    assert_eq!(reading(&thoughts), Err(AnswerError::TwoObjects));
}

#[test]
fn a_denial_with_the_canary_stays_one_whatever_else_is_wrong() {
    let deny = answer().to_string().replace("\"allow\"", "\"deny\"");
    for (flawed, flaw) in [
        (format!("{deny}\n{}", answer()), AnswerError::TwoObjects),
        (deny.replace("0.9", "1.5"), AnswerError::ConfidenceRange),
        (deny.replace("0.9", "\"high\""), AnswerError::WrongType("confidence")),
        (
            deny.replace("\"reason_codes\":[]", "\"reason_codes\":[\"jailbreak\",\"made-up\"]"),
            AnswerError::UnknownReasonCode,
        ),
        (
            deny.replacen('{', "{\"decision\":\"allow\",", 1),
            AnswerError::DuplicateKey,
        ),
        (deny.replace("\"risk\":\"low\",", ""), AnswerError::MissingField("risk")),
        (
            deny.replace("\"risk\":\"low\"", "\"risk\":\"severe\""),
            AnswerError::UnknownValue("risk"),
        ),
    ] {
        assert_ne!(flawed, deny);
        let read = reading(&flawed).unwrap();
        assert_eq!((read.decision, read.flaw), (Decision::Deny, Some(flaw)), "{flawed}");
        assert!((0.0..=1.0).contains(&read.confidence), "{flawed}");
    }
    let codes = deny.replace("\"reason_codes\":[]", "\"reason_codes\":[\"jailbreak\",\"made-up\"]");
    assert_eq!(reading(&codes).unwrap().reason_codes, [ReasonCode::Jailbreak]);
    let uncanaried = deny.replace(CANARY, "another").replace("0.9", "1.5");
    assert_eq!(reading(&uncanaried), Err(AnswerError::Canary));
}

#[test]
fn an_allow_with_reasons_against_it_is_no_answer() {
    let read = with(|answer| answer["reason_codes"] = json!(["prompt_injection"]));
    assert_eq!(read, Err(AnswerError::Inconsistent));
}

#[test]
fn an_answer_inside_a_broken_one_does_not_count() {
    let allow = answer().to_string();
    let outer = format!("{{\"decision\":\"deny\",\"canary\":\"{CANARY}\",\"x\":{allow} oops");
    let read = reading(&outer).unwrap();
    assert_eq!(
        (read.decision, read.flaw),
        (Decision::Deny, Some(AnswerError::TwoObjects))
    );
}

#[test]
fn what_is_no_json_object_is_told_apart() {
    let object = answer().to_string();
    assert_eq!(reading(""), Err(AnswerError::NoObject));
    assert_eq!(reading("I cannot help with that."), Err(AnswerError::NoObject));
    assert_eq!(reading("\"allow\""), Err(AnswerError::NoObject));
    assert_eq!(reading("{decision: allow}"), Err(AnswerError::BrokenJson));
    assert_eq!(reading(&object.replace('"', "'")), Err(AnswerError::BrokenJson));
    assert_eq!(reading(&"{".repeat(1000)), Err(AnswerError::BrokenJson));
    for cut in 1..object.len() {
        assert_eq!(
            reading(object.get(..cut).unwrap()),
            Err(AnswerError::TruncatedJson),
            "{cut}"
        );
    }
    let nested = "{\"a\":".repeat(10_000);
    assert!(reading(&nested).is_err());
    assert_eq!(
        reading(&format!("{object}{}", " ".repeat(MAX_BYTES))),
        Err(AnswerError::TooLong)
    );
}

#[test]
fn keys_stand_once() {
    let object = answer().to_string();
    for twice in [
        object.replacen('{', r#"{"decision":"modify","#, 1),
        object.replacen('{', r#"{"d\u0065cision":"modify","#, 1),
        object.replacen('{', r#"{"canary":"other","#, 1),
        object.replacen('{', r#"{"extra":[{"a":1,"a":2}],"#, 1),
        object.replace(
            "\"edits\":[]",
            r#""edits":[{"content":"c1","find":"a","find":"b","replace":"c"}]"#,
        ),
    ] {
        assert_eq!(reading(&twice), Err(AnswerError::DuplicateKey), "{twice}");
    }
}

#[test]
fn every_field_must_be_there_but_empty_edits() {
    for name in [
        "risk",
        "authorization",
        "decision",
        "reason_codes",
        "confidence",
        "reasoning",
        "message",
    ] {
        let read = with(|answer| drop(answer.as_object_mut().unwrap().remove(name)));
        assert_eq!(read, Err(AnswerError::MissingField(name)));
        let read = with(|answer| answer[name] = Value::Null);
        assert_eq!(read, Err(AnswerError::WrongType(name)));
    }
    assert!(with(|answer| drop(answer.as_object_mut().unwrap().remove("edits"))).is_ok());
    assert!(with(|answer| answer["edits"] = Value::Null).is_ok());
    assert!(with(|answer| answer["note"] = json!({"more": [1, 2]})).is_ok());
}

#[test]
fn names_are_compared_exactly() {
    for (name, value) in [
        ("decision", "Allow"),
        ("decision", "allow "),
        ("risk", "NONE"),
        ("authorization", "yes"),
    ] {
        assert_eq!(
            with(|answer| answer[name] = value.into()),
            Err(AnswerError::UnknownValue(name))
        );
    }
    let codes = |codes: Value| with(|answer| answer["reason_codes"] = codes);
    assert_eq!(codes(json!(["prompt-injection"])), Err(AnswerError::UnknownReasonCode));
    assert_eq!(codes(json!([1])), Err(AnswerError::WrongType("reason_codes")));
    assert_eq!(codes(json!("jailbreak")), Err(AnswerError::WrongType("reason_codes")));
    assert_eq!(
        with(|answer| {
            answer["decision"] = json!("deny");
            answer["reason_codes"] = json!(["jailbreak", "org.acme", "jailbreak"]);
        })
        .unwrap()
        .reason_codes,
        [ReasonCode::Jailbreak, ReasonCode::Organisation("org.acme".into())]
    );
}

#[test]
fn confidence_is_a_number_from_0_to_1() {
    let confidence = |value: Value| with(|answer| answer["confidence"] = value).map(|answer| answer.confidence);
    assert_eq!(confidence(json!(1)), Ok(1.0));
    assert_eq!(confidence(json!(0)), Ok(0.0));
    for value in [json!(1.01), json!(-0.1), json!(95), json!(1e300)] {
        assert_eq!(confidence(value), Err(AnswerError::ConfidenceRange));
    }
    assert_eq!(confidence(json!("0.9")), Err(AnswerError::WrongType("confidence")));
    let nan = answer().to_string().replace("0.9", "NaN");
    assert_eq!(reading(&nan), Err(AnswerError::BrokenJson));
}

#[test]
fn edits_have_three_texts_and_an_allow_has_none() {
    let edits = |edits: Value| {
        with(|answer| {
            answer["decision"] = "modify".into();
            answer["edits"] = edits;
        })
    };
    let edit = json!({"content": "c3", "find": "a", "replace": ""});
    assert_eq!(edits(json!([edit])).unwrap().edits.len(), 1);
    assert_eq!(edits(json!({"c3": "a"})), Err(AnswerError::WrongType("edits")));
    assert_eq!(edits(json!(["c3"])), Err(AnswerError::WrongType("edits")));
    assert_eq!(
        edits(json!([{"content": "c3", "find": "a"}])),
        Err(AnswerError::MissingField("replace"))
    );
    assert_eq!(
        edits(json!([{"content": 3, "find": "a", "replace": ""}])),
        Err(AnswerError::WrongType("content"))
    );
    assert_eq!(
        edits(json!(vec![edit.clone(); 65])),
        Err(AnswerError::TooManyItems("edits"))
    );
    assert_eq!(
        with(|answer| answer["edits"] = json!([edit])),
        Err(AnswerError::Inconsistent)
    );
}

proptest! {
    #[test]
    fn no_reply_panics_and_none_without_the_canary_is_an_answer(reply in "[\\PC{}\"\\\\:,\\[\\] ]{0,200}") {
        prop_assert!(read(&reply, CANARY).is_err());
    }

    #[test]
    fn no_single_changed_byte_turns_a_deny_into_an_allow(at in 0usize..400, byte in 0x20u8..0x7f) {
        let mut bytes = answer().to_string().replace("\"allow\"", "\"deny\"").into_bytes();
        let at = at % bytes.len();
        bytes[at] = byte;
        if let Ok(read) = read(&String::from_utf8(bytes).unwrap(), CANARY) {
            prop_assert_eq!(read.decision, Decision::Deny);
        }
    }
}
