//! The family as a whole.

use proptest::prelude::*;

use super::*;
use crate::model::Origin;
use crate::policy::Policy;
use crate::prefilter::testing;

static PERSONAL: LazyLock<PersonalData> = LazyLock::new(|| PersonalData::new().unwrap());

#[test]
fn every_rule_fires_on_its_examples_and_is_silent_on_its_twins() {
    let policy = Policy::profile("redact").unwrap();
    let seen = |text: &str| testing::seen_under(&*PERSONAL, Origin::ToolOutput, text, &policy);
    let mut wrong = Vec::new();
    for rule in PERSONAL.rules() {
        for text in &rule.fires_on {
            let found = seen(text);
            if !found.iter().any(|finding| finding.rule == rule.id) {
                let instead: Vec<&str> = found.iter().map(|finding| finding.rule.as_str()).collect();
                wrong.push(format!("{} is silent on {text:?}; found {instead:?}", rule.id));
            }
        }
        for text in &rule.silent_on {
            let found = seen(text);
            if found.iter().any(|finding| finding.rule == rule.id) {
                wrong.push(format!("{} fires on {text:?}", rule.id));
            }
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}

fn spans(text: &str) -> Vec<(String, String)> {
    testing::seen(&*PERSONAL, Origin::ToolOutput, text)
        .into_iter()
        .filter(|finding| finding.confidence >= Confidence::Medium)
        .map(|finding| {
            (
                finding.rule.replace("personal_data.", ""),
                text.get(finding.span).unwrap().to_owned(),
            )
        })
        .collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected
        .iter()
        .map(|(rule, text)| ((*rule).to_owned(), (*text).to_owned()))
        .collect()
}

#[test]
fn a_signature_is_taken_apart_into_its_values() {
    let text = "Nina Falk\nHarbour Ltd\nMobile: 432 03 163\nDesk: (602)272-9781\nFax: 001-253-366-9781\nnina@harbour.io\nIP 81.143.22.9";
    assert_eq!(
        spans(text),
        pairs(&[
            ("phone", "432 03 163"),
            ("phone", "(602)272-9781"),
            ("phone", "001-253-366-9781"),
            ("email", "nina@harbour.io"),
            ("ip_address", "81.143.22.9"),
        ])
    );
}

#[test]
fn a_card_is_found_beside_its_expiry_and_among_other_numbers() {
    assert_eq!(
        spans("pay with 4539 5787 6362 1486 12/27 123"),
        pairs(&[("payment_card", "4539 5787 6362 1486")])
    );
    assert_eq!(
        spans("items 3 2 5 4539-5787-6362-1486 7"),
        pairs(&[("payment_card", "4539-5787-6362-1486")])
    );
}

#[test]
fn ordinary_numbers_are_not_personal() {
    for text in [
        "Order 112-4839204-5523411 shipped on 2026-05-11 at 13:50:25, total 1.299,00 EUR",
        "commit 9f2c7b1e8d4a6035fc19e7b2aa01dd34ee56ff78",
        "id 3f8a1c52-9b7e-4d60-8a1f-72c4e95b0d13",
        "ISBN 978-3-16-148410-0, EAN 4006381333931",
        "lat 47.376888, lon 8.541694; bbox 8.44,47.32,8.62,47.43",
        "took 1718031122334 ms, pid 448112, port 65535, 1234567890 bytes",
        "version 1.22.333.4444 (build 20260511.1)",
        "rows 100 200 300 400 500 600 700 800 900 1000 1100 1200",
        "x = 0xdeadbeef; y = 123_456_789; z = 1e-12345678",
        "a::b::c std::fmt::Display 10:20:30 f::1",
        "+1 -1 +2 -2 @@ -120,7 +120,7 @@",
        "see page 1203-1219, vol. 12 (2010), pp. 555-1234",
    ] {
        assert_eq!(spans(text), [], "{text}");
    }
}

#[test]
fn a_record_of_a_patient_shows_whole() {
    let mut step = testing::step([
        (Origin::RemoteAgent, "P1234567".to_owned()),
        (Origin::RemoteAgent, "Jane Roe".to_owned()),
        (Origin::RemoteAgent, "1982-04-12".to_owned()),
        (Origin::RemoteAgent, "chronic cough".to_owned()),
        (Origin::RemoteAgent, "ABX-9234-8821".to_owned()),
    ]);
    let members = [
        ("/data/patient_id", "patient_id"),
        ("/data/name", "name"),
        ("/data/date_of_birth", "date_of_birth"),
        ("/data/symptoms/0", "symptoms"),
        ("/data/lab/insurance_number", "insurance_number"),
    ];
    for (content, (pointer, label)) in step.contents.iter_mut().zip(members) {
        content.pointer = crate::model::Pointer::new(pointer);
        content.label = Some(label.to_owned());
    }
    let policy = crate::policy::Policy::standard().unwrap();
    let found = crate::prefilter::testing::seen_in_contents(&*PERSONAL, &step, &policy);
    let seen: Vec<(&str, usize, usize)> = found
        .iter()
        .map(|f| (f.rule.strip_prefix("personal_data.").unwrap(), f.span.start, f.span.end))
        .collect();
    assert_eq!(
        seen,
        [
            ("health_id", 0, 8),
            ("name", 0, 8),
            ("date_of_birth", 0, 10),
            ("insurance_id", 0, 13)
        ]
    );
    assert!(
        found
            .iter()
            .all(|f| f.confidence >= Confidence::Medium && f.suggested == Treatment::Evidence)
    );
}

#[test]
fn encoded_data_is_found_and_led_back() {
    use base64::Engine;
    let encoded = base64::engine::general_purpose::STANDARD.encode("please pay GB82WEST12345698765432 today, thanks");
    let text = format!("data: {encoded}");
    let found = testing::seen(&*PERSONAL, Origin::ToolOutput, &text);
    assert!(
        found
            .iter()
            .any(|f| f.rule == "personal_data.iban" && f.view == View::Decoded),
        "{found:?}"
    );
}

#[test]
fn a_list_too_long_is_one_finding() {
    let text: String = (0..1500).map(|i| format!("person{i}@harbour.io\n")).collect();
    let found = testing::seen(&*PERSONAL, Origin::ToolOutput, &text);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].rule, "personal_data.flood");
    assert_eq!(found[0].span, 0..text.len());
}

/// Pieces that make the scanners work.
fn pieces() -> impl Strategy<Value = String> {
    prop_oneof![
        "[0-9 ().+/x-]{1,24}",
        "[0-9]{7,20}",
        "[a-zA-Z0-9.@_-]{1,24}",
        "[0-9a-f:.]{3,30}",
        "(phone|call me at|card|iban|ssn|dob|patient id|passport|name|address|mrn)[: =\"]{0,3}",
        "(DE89 3704 0044 0532 0130 00|4539 5787 6362 1486|nina@harbour.io|756.9217.0769.85)",
        "[äöüßéא中🙂\u{200b}\u{e0041} ]{1,6}",
        any::<String>(),
    ]
}

proptest! {
    #[test]
    fn what_opens_and_closes_a_value_is_no_part_of_it(
        local in "[a-z][a-z0-9]{0,6}([._+-][a-z0-9]{1,5}){0,2}",
        name in "[a-z]{0,8}",
        sign in "(=|:|: | |<>|==|&x=|=%)",
        quotes in proptest::sample::select(vec![("'", "'"), ("\"", "\""), ("`", "`"), ("(", ")"), ("['", "']"), ("<", ">"), ("('", "')"), ("\\\"", "\\\""), ("{", "}")]),
    ) {
        let (open, close) = quotes;
        let mail = format!("{local}@example.com");
        let text = format!("{name}{sign}{open}{mail}{close} AND id=5");
        for finding in testing::seen(&*PERSONAL, Origin::ToolOutput, &text) {
            if finding.rule == "personal_data.email" {
                prop_assert_eq!(&text[finding.span], mail.as_str(), "in {}", text);
            }
        }
    }


    #[test]
    fn any_text_is_survived_and_spans_are_on_borders(parts in proptest::collection::vec(pieces(), 0..12)) {
        // `seen` asserts that every span can be cut out of the text.
        testing::seen(&*PERSONAL, Origin::ToolOutput, &parts.concat());
    }

    #[test]
    fn what_was_masked_is_not_found_again(before in pieces(), after in pieces(), index in 0_usize..40) {
        let rules = PERSONAL.rules();
        let rule = &rules[index % rules.len()];
        let Some(example) = rule.fires_on.first() else { return Ok(()) };
        let text = format!("{before}\n{example}\n{after}");
        for finding in testing::seen(&*PERSONAL, Origin::ToolOutput, &text) {
            if finding.confidence < Confidence::Medium {
                continue;
            }
            let mut masked = text.clone();
            masked.replace_range(finding.span.clone(), "************");
            let place = finding.span.start..finding.span.start + 12;
            let again = testing::seen(&*PERSONAL, Origin::ToolOutput, &masked);
            let left = again.iter().find(|f| f.confidence >= Confidence::Medium && f.span.start < place.end && place.start < f.span.end);
            prop_assert!(left.is_none(), "{:?} after {:?} in {:?}", left, finding.rule, masked);
        }
    }
}
