use super::*;

#[test]
fn what_doubles_with_every_line_is_followed_up_to_a_length() {
    for line in ["a = a + a\n", "a = f\"{a}{a}\"\n", "a = os.path.join(a, a)\n"] {
        let text = format!("a = \"abcdefgh\"\n{}", line.repeat(60));
        let length = constants(&text, &Mask::of(&text)).0.get("a").map_or(0, String::len);
        assert!((MAX_VALUE / 2..=MAX_VALUE).contains(&length), "{line}: {length}");
    }
}

#[test]
fn strings_and_comments_are_masked_and_apostrophes_are_not() {
    let is_text = |text: &str, word: &str| Mask::of(text).is_text(text.find(word).unwrap());
    assert!(is_text("x = 'open(' # y", "open"));
    assert!(is_text("x = 1 # open(", "open"));
    assert!(!is_text("don't open(", "open"));
}
