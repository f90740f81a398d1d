use super::*;

#[test]
fn tag_characters_spell_and_flags_do_not() {
    let spelled: String = "hi"
        .chars()
        .map(|c| char::from_u32(c as u32 + 0xe0000).unwrap())
        .collect();
    let text = format!("a{spelled}b");
    let derived = tags(&text, 100).unwrap();
    assert_eq!(derived.text, "hi");
    assert_eq!(derived.map.source_span(0..2), 1..9);
    assert!(tags("🏴󠁧󠁢󠁥󠁮󠁧󠁿 wins", 100).is_none());
}

#[test]
fn selectors_spell_bytes_and_emoji_do_not() {
    let spelled: String = "hello"
        .bytes()
        .map(|b| char::from_u32(if b < 16 { 0xfe00 } else { 0xe0100 - 16 } + u32::from(b)).unwrap())
        .collect();
    let text = format!("😀{spelled}!");
    let derived = selectors(&text, 100).unwrap();
    assert_eq!(derived.text, "hello");
    assert_eq!(derived.map.source_span(0..5), 4..24);
    assert!(selectors("❤️ and ☀️ and ✌️", 100).is_none());
}

#[test]
fn overrides_are_shown_reversed() {
    let derived = shown_order("run \u{202e}fdp.exe\u{202c} now", 100).unwrap();
    assert_eq!(derived.text, "run exe.pdf\u{202c} now");
    assert_eq!(derived.map.source_span(4..7), 11..14);
}
