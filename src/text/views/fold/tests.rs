use super::*;

fn folded(text: &str) -> String {
    fold(text, 1 << 20).map_or_else(|| text.to_owned(), |derived| derived.text)
}

#[test]
fn look_alikes_become_what_they_look_like() {
    for disguised in [
        "ignоre",
        "Ignοre",
        "ɪɢɴᴏʀᴇ",
        "🅘🅖🅝🅞🅡🅔",
        "IGNORE",
        "ígnôrë",
        "іgпоге",
        "ΙGΝΟRΕ",
    ] {
        assert_eq!(folded(disguised), "ignore", "{disguised}");
    }
    assert_eq!(folded("‘a’ – “b”"), "'a' - \"b\"");
    assert_eq!(folded("Übergröße"), "ubergroße");
}

#[test]
fn text_that_is_folded_already_stays() {
    assert!(fold("all lower case, 123", 1 << 20).is_none());
    assert_eq!(folded("你好"), "你好");
}

#[test]
fn patterns_of_other_scripts_fit_folded_text() {
    let pattern = fold_pattern(r"игнорир\w+\s+предыдущие");
    assert!(pattern.contains(r"\w+\s+"));
    let text = folded("ИГНОРИРуй предыдущие");
    let regex = regex::Regex::new(&pattern).unwrap();
    assert!(regex.is_match(&text), "{pattern} on {text}");
}
