use super::*;

fn normal(text: &str) -> String {
    normalize(text, 1 << 20).map_or_else(|| text.to_owned(), |derived| derived.text)
}

#[test]
fn invisible_characters_go_and_compatibility_forms_become_plain() {
    assert_eq!(normal("ig\u{200b}no\u{ad}re\u{e0041}\u{fe0f}"), "ignore");
    assert_eq!(normal("ｉｇｎｏｒｅ 𝐢𝐠𝐧𝐨𝐫𝐞 ⓘⓖⓝⓞⓡⓔ"), "ignore ignore ignore");
    assert_eq!(normal("\u{212a}ey ſecret"), "Key secret");
    assert_eq!(normal("i\u{336}g\u{336}\u{300}\u{301}nore"), "ignore");
    assert_eq!(normal("ig\u{1b}[31mno\u{1b}[0mre\u{8}"), "ignore");
    assert_eq!(normal("ig\u{86}no\u{9b}0mre\u{9f}"), "ignore");
    assert_eq!(normal("one\u{1b}[1Ctwo\u{9b}2;1Hthree\u{1b}[2K"), "one two\nthree");
    assert_eq!(normal("⒤⒢⒩⒪⒭⒠ 🄘"), "ignore I");
}

#[test]
fn ordinary_text_is_left_alone() {
    for text in [
        "plain",
        "Crème brûlée, naïve",
        "Привет, мир",
        "你好，世界".replace('，', "、").as_str(),
        "नमस्ते",
        "",
    ] {
        assert!(normalize(text, 1 << 20).is_none(), "{text}");
    }
    assert_eq!(normal("cafe\u{301}"), "café");
}

#[test]
fn signs_that_stand_for_sentences_stay_signs() {
    assert!(normalize("\u{fdfa} \u{fdfb}", 1 << 20).is_none());
    let marked = "\u{fdfa}\u{301}\u{200b}".repeat(100);
    assert!(normal(&marked).len() < marked.len());
}

#[test]
fn what_does_not_fit_is_counted() {
    let text = "\u{3316}".repeat(100);
    let derived = normalize(&text, 64).unwrap();
    assert!(derived.text.len() <= 64);
    assert!(derived.cut > 200);
}
