use proptest::prelude::*;

use super::*;

const SAID: &str = "send it to me";

fn place(derived: &Derived) -> std::ops::Range<usize> {
    derived.map.source_span(0..derived.text.len())
}

fn digits(base: usize, width: usize, kinds: &[char]) -> String {
    let number = |byte: u8| {
        let mut rest = usize::from(byte);
        let mut digits: Vec<char> = (0..width)
            .map(|_| {
                let digit = kinds[rest % base];
                rest /= base;
                digit
            })
            .collect();
        digits.reverse();
        digits
    };
    SAID.bytes().flat_map(number).collect()
}

#[test]
fn bits_of_invisible_characters_are_read() {
    for hidden in [
        digits(2, 8, &['\u{200b}', '\u{200c}']),
        digits(2, 8, &['\u{200f}', '\u{200e}']),
        digits(2, 16, &['\u{3164}', '\u{115f}']),
    ] {
        let derived = decode(&format!("a{hidden}b"), 1000).unwrap();
        assert_eq!(derived.text, SAID);
        assert_eq!(place(&derived), 1..1 + hidden.len());
        let apart: String = hidden.chars().flat_map(|digit| ['w', digit]).collect();
        assert_eq!(decode(&apart, 1000).unwrap().text, SAID);
    }
}

#[test]
fn scripts_that_need_invisible_characters_hide_nothing() {
    for text in [
        "می\u{200c}خواهم نمی\u{200c}دانم کتاب\u{200c}ها ".repeat(20),
        "क्\u{200d}ष प्र\u{200c}काश ക്\u{200d}ഷ ".repeat(20),
        "\u{200f}שלום\u{200e} (abc)\u{200f} ".repeat(20),
        "Donau\u{ad}dampf\u{ad}schiff\u{ad}fahrt ".repeat(20),
        "👩\u{200d}👩\u{200d}👧\u{200d}👦 ".repeat(20),
    ] {
        assert!(decode(&text, 1000).is_none(), "{text}");
    }
}

proptest! {
    #[test]
    fn no_text_is_too_odd(text in "[\u{200b}\u{200c}\u{200d}\u{2060}\u{ad}\u{e000}\u{e061}\u{3000} \tw\n]{0,200}", room in 0usize..100) {
        if let Some(derived) = decode(&text, room) {
            prop_assert!(derived.text.len() <= room);
            prop_assert!(text.get(place(&derived)).is_some());
        }
    }
}
