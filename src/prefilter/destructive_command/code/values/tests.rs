use super::*;

#[test]
fn strings_and_comments_are_masked_and_apostrophes_are_not() {
    let is_text = |text: &str, word: &str| Mask::of(text).is_text(text.find(word).unwrap());
    assert!(is_text("x = 'open(' # y", "open"));
    assert!(is_text("x = 1 # open(", "open"));
    assert!(!is_text("don't open(", "open"));
}
