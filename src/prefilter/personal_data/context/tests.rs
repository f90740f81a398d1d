use super::*;

#[test]
fn names_read_alike_in_every_spelling() {
    for name in ["dateOfBirth", "date_of_birth", "Date-Of-Birth", "date of birth"] {
        assert_eq!(plain_name(name), "date of birth", "{name}");
    }
}

#[test]
fn a_word_counts_only_from_its_beginning() {
    let text = "headset 450 0840";
    assert!(!Context::of(text, &(8..16), "").says(&["set"]));
    assert!(Context::of("tel 450 0840", &(4..12), "").says(&["tel"]));
    assert!(Context::of("450 0840", &(0..8), "office phone").says(&["phone"]));
}
