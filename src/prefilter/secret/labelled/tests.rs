use super::*;

fn find(text: &str) -> Option<(&str, Confidence)> {
    keywords().find_map(|(keyword, label)| {
        let at = text.to_ascii_lowercase().find(keyword)?;
        let found = value_after(text, &name_at(text, at..at + keyword.len(), label)?)?;
        Some((text.get(found.span.clone())?, found.confidence))
    })
}

proptest::proptest! {
    #[test]
    fn the_telling_word_is_that_of_a_plain_search(
        name in "((db|user|api|my)[_-]?)?(pass(word)?|pwd|token|secret|key|auth|PASSWD|Token){1,3}([_.]?[a-z]{0,4})",
    ) {
        let lower = name.to_ascii_lowercase();
        let plainly = keywords()
            .filter_map(|(keyword, label)| lower.rfind(keyword).map(|at| (at..at + keyword.len(), label)))
            .max_by_key(|(range, label)| (*label != Label::Key, range.end, range.len()));
        proptest::prop_assert_eq!(telling_word(&name), plainly);
    }
}

#[test]
fn the_span_is_exactly_the_value() {
    for (text, value) in [
        ("password = \"m0oring Line 42\"", "m0oring Line 42"),
        ("{\"dbPassword\": \"t7Hq22mV\"}", "t7Hq22mV"),
        ("{\\\"db_password\\\": \\\"t7Hq22mV\\\"}", "t7Hq22mV"),
        ("PASSWORD=t7Hq22mV!\nUSER=x", "t7Hq22mV!"),
        ("app --password q7Vt-Lm22 run", "q7Vt-Lm22"),
        ("the password is gr8-Lanterns.", "gr8-Lanterns"),
        ("conf['password'] = 't7Hq22mV'", "t7Hq22mV"),
        ("<DbPassword>t7Hq22mV</DbPassword>", "t7Hq22mV"),
        ("setPassword(\"t7Hq22mV\")", "t7Hq22mV"),
        ("DB_PASS=t7Hq22mV", "t7Hq22mV"),
        ("the password for the orders account is gr8-Lanterns", "gr8-Lanterns"),
    ] {
        assert_eq!(find(text).map(|(value, _)| value), Some(value), "{text}");
    }
}

#[test]
fn names_around_a_secret_are_not_its_name() {
    for text in [
        "password_hint = \"t7Hq22mV\"",
        "max_tokens = 409612345",
        "tokenizer = \"q8ZtVw3nYkR5xLp2Jd7s\"",
        "primary_key = \"q8ZtVw3nYkR5xLp2Jd7s99ab\"",
        "secretary: q8ZtVw3nYkR5xLp2Jd7s",
        "monkey = q8ZtVw3nYkR5xLp2Jd7s99ab",
        "bypass = t7Hq22mV",
        "passing: t7Hq22mV",
    ] {
        assert_eq!(find(text), None, "{text}");
    }
}

#[test]
fn a_member_of_that_name_is_the_secret_whole() {
    assert_eq!(whole("dbPassword", " t7Hq22mV ").map(|found| found.span), Some(1..9));
    assert_eq!(
        whole("api_key", "q8ZtVw3nYkR5xLp2Jd7s").map(|found| found.span),
        Some(0..20)
    );
    assert_eq!(whole("api_key_id", "q8ZtVw3nYkR5xLp2Jd7s"), None);
    assert_eq!(whole("password", "please reset it tomorrow"), None);
}
