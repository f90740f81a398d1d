use super::*;

#[test]
fn a_word_may_stand_across_a_seam_wherever_it_is_cut() {
    let words = ["ghp_", "AKIA", "xo", "-----BEGIN"];
    let crossing = Crossing::of(words.into_iter());
    for word in words {
        for cut in 1..word.len() {
            let (before, behind) = word.split_at(cut);
            assert!(
                crossing.may_stand(before.as_bytes(), behind.as_bytes()),
                "{before}|{behind}"
            );
            let (before, behind) = (format!("key: {before}"), format!("{behind}77"));
            assert!(
                crossing.may_stand(before.as_bytes(), behind.to_uppercase().as_bytes()),
                "{before}|{behind}"
            );
        }
    }
}

#[test]
fn across_most_seams_none_may() {
    let crossing = Crossing::of(["ghp_", "AKIA"].into_iter());
    for (before, behind) in [
        ("shipped", "Northwind"),
        ("dog", "house"),
        ("dish", "power"),
        ("", "ghp_"),
        ("ghp_", ""),
    ] {
        assert!(
            !crossing.may_stand(before.as_bytes(), behind.as_bytes()),
            "{before}|{behind}"
        );
    }
    // A single byte may be the middle of one.
    assert!(crossing.may_stand(b"g", b"h"));
    assert!(!crossing.may_stand(b"g", b"k"));
}
