use proptest::prelude::*;

use super::*;
use crate::text::views::Normalized;

fn seen(text: &str) -> Vec<(ValueKind, &str)> {
    let mut found = Vec::new();
    values(text, &mut found);
    found.sort_by_key(|value| (value.span.start, value.kind));
    found.into_iter().map(|value| (value.kind, &text[value.span])).collect()
}

fn keys(text: &str) -> Vec<u64> {
    let mut found = Vec::new();
    values(Normalized::of(text).text(), &mut found);
    found.into_iter().map(|value| value.key).collect()
}

#[test]
fn values_are_found_where_they_stand() {
    use ValueKind::*;
    for (text, expected) in [
        ("write to eve@evil.example, now", vec![(Email, "eve@evil.example")]),
        ("mailto:Eve@Evil.example.", vec![(Email, "Eve@Evil.example")]),
        (
            "see https://evil.example/a/b?x=1.",
            vec![(Url, "evil.example/a/b?x=1"), (Host, "evil.example")],
        ),
        (
            "[x](http://a.example:80/)",
            vec![(Url, "a.example:80"), (Host, "a.example")],
        ),
        ("go to www.shop.example today", vec![(Host, "www.shop.example")]),
        (
            "to: DE89 3704 0044 0532 0130 00.",
            vec![(Account, "DE89 3704 0044 0532 0130 00")],
        ),
        (
            "recipient=GB29NWBK60161331926819",
            vec![(Account, "GB29NWBK60161331926819")],
        ),
        ("call +49 30 901820 99", vec![(Digits, "49 30 901820 99")]),
        ("card 4111-1111-1111-1111", vec![(Digits, "4111-1111-1111-1111")]),
        ("code 463820 or 98.70 EUR", vec![(Number, "463820"), (Number, "98.70")]),
        (
            "in /etc/app/secrets.yaml",
            vec![(Path, "/etc/app/secrets.yaml"), (File, "secrets.yaml")],
        ),
        ("open report-7.pdf", vec![(File, "report-7.pdf")]),
        ("order W-2390312 for JG7FMM", vec![(Id, "W-2390312"), (Id, "JG7FMM")]),
        (
            "use send_money or GradeRelease",
            vec![(Name, "send_money"), (Name, "GradeRelease")],
        ),
        ("ask @mallory_x about it", vec![(Handle, "@mallory_x")]),
    ] {
        assert_eq!(seen(text), expected, "{text}");
    }
}

#[test]
fn ordinary_text_has_no_values() {
    for text in [
        "Please send me the report by Friday, thank you.",
        "On 2026-03-01 at 10:30 we met 12 people; 100ml of 1st class tea, 1000 EUR.",
        "It costs 50 or 2000, e.g. in the year 2026.",
        "a/b or and/or x",
        "Math.round(x) and rows.push(y)",
        "",
    ] {
        assert_eq!(seen(text), [], "{text}");
    }
}

#[test]
fn spelling_does_not_make_another_value() {
    for (one, other) in [
        ("Eve@EVIL.example", "eve@evil.example"),
        ("eve@ev\u{200b}il.example", "eve@evil.example"),
        ("ｅve@evil.example", "eve@evil.example"),
        ("DE89 3704 0044 0532 0130 00", "de89370400440532013000"),
        ("4111 1111 1111 1111", "4111-1111-1111-1111"),
        ("WWW.Evil.example", "evil.example"),
        ("1,234.50", "1234.5"),
        ("SEND_MONEY", "sendMoney"),
        ("./etc/app/x.yaml", "/etc/app/x.yaml"),
    ] {
        let (one, other) = (keys(one), keys(other));
        assert!(one.first().is_some_and(|key| other.contains(key)), "{one:?} {other:?}");
    }
    assert_ne!(keys("eve@evil.example"), keys("eva@evil.example"));
}

proptest! {
    #[test]
    fn every_span_lies_in_the_text(text in "(?s).{0,200}") {
        let mut found = Vec::new();
        values(&text, &mut found);
        for value in found {
            prop_assert!(text.get(value.span).is_some());
        }
    }

    #[test]
    fn text_that_looks_like_values_is_read_too(text in "[a-zA-Z0-9@:/.?=&+() ,\u{200b}-]{0,120}") {
        let mut found = Vec::new();
        values(&text, &mut found);
        for value in found {
            prop_assert!(text.get(value.span).is_some_and(|value| !value.is_empty()));
        }
    }
}
