use proptest::prelude::*;

use super::*;

fn read_plainly(text: &str) -> String {
    plain(text, text, 1 << 20).map_or_else(|| text.to_owned(), |derived| derived.text)
}

#[test]
fn mixed_words_are_read_in_their_own_case() {
    assert_eq!(
        read_plainly("кеу АKІАQ7 это httр://ехаmрlе.org/а"),
        "кеу AKIAQ7 это http://example.org/a"
    );
    assert_eq!(read_plainly("cцгl it, dяop it"), "curl it, drop it");
    let derived = plain("x АKІА y", "", 100).unwrap();
    assert_eq!(derived.map.source_span(2..6), 2..9);
}

#[test]
fn whole_words_of_ornaments_are_read() {
    for text in ["ภє๓є ђเร", "几乇爪乇 卄丨丂", "ᑎeᗰe ᕼiᔕ", "ⲚⲈⲘⲈ ⲎⲒS", "⠝⠑⠍⠑ ⠓⠊⠎"]
    {
        assert_eq!(read_plainly(text).to_lowercase(), "neme his", "{text}");
    }
    assert_eq!(read_plainly("\u{1f1f3}\u{1f1e6}\u{1f1f2}\u{1f1ea}"), "NAME");
}

#[test]
fn strangers_between_letters_go() {
    for stranger in [
        "😀", "\u{e001}", "\u{fffd}", "\u{64b}", "\u{e34}", "\u{2800}", "\u{fffc}", "\u{3099}",
    ] {
        let text = format!("dr{stranger}op {stranger}it");
        assert!(read_plainly(&text).starts_with("drop "), "{text}");
    }
    assert_eq!(read_plainly("Íǵńóŕé íţ áļļ"), "Ignore it all");
    assert_eq!(read_plainly("d😀r😀o😀p😀 😀i😀t"), "drop😀 😀it");
    assert_eq!(read_plainly("ргеѵіоцѕ огԁег ѕаѵеԁ"), "previous order saved");
}

#[test]
fn the_texts_of_the_world_stay() {
    for text in [
        "Привет, мир, как дела",
        "Wi-Fi работает",
        "http://пример.рф/",
        "naïve café, déjà vu",
        "你好 abc, 几千人在山上",
        "สวัสดีครับ ภาษาไทย",
        "Tiếng Việt rất đẹp và phong phú",
        "I ❤ NY, 10°C, 3×4, don’t — really… (a→b)",
        "हिन्दी में लिखा है",
        "plain",
    ] {
        assert_eq!(read_plainly(text), text);
    }
}

proptest! {
    #[test]
    fn no_text_is_too_odd(text in "([a-zа-яค-๛ᗩ-ᘔ😀́é]{0,8}[ \n]){0,20}", room in 0usize..200) {
        if let Some(derived) = plain(&text, &text, room) {
            prop_assert!(derived.text.len() <= room);
            prop_assert!(text.get(derived.map.source_span(0..derived.text.len())).is_some());
        }
    }
}
