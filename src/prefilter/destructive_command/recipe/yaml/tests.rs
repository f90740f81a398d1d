use proptest::prelude::*;

use super::*;

fn found(text: &str) -> Vec<String> {
    jobs(text).into_iter().map(|(job, _)| job).collect()
}

#[test]
fn commands_are_found_in_every_spelling() {
    for (text, expected) in [
        ("- run: make all", "make all"),
        ("run: \"make all\"", "make all"),
        ("run: 'it''s'", "it's"),
        ("run: |\n  make\n  ls\nnext: 1", "make\nls"),
        ("run: >-\n  make\n  ls\n", "make ls"),
        ("script:\n  - make\n  - ls -l", "make\nls -l"),
        ("script:\n- make all\n- |\n  a\n  b\n- c", "make all\na\nb\nc"),
        ("command: [sh, '-c', \"a; b\"]", "sh -c 'a; b'"),
    ] {
        assert!(
            found(text).iter().any(|job| job == expected),
            "{text:?} gave {:?}",
            found(text)
        );
    }
    assert_eq!(found("name: run make\nurl: https://a.example\n"), Vec::<String>::new());
}

proptest! {
    #[test]
    fn places_lie_inside_the_text(text in "((- )?(run|script|x): ?[|>\\[]?[a-z'\", \\]]{0,5}\n( {0,3}(- )?[a-zé|]{0,4}\n?){0,3}){0,4}") {
        for (_, span) in jobs(&text) {
            prop_assert!(text.get(span).is_some());
        }
    }
}
