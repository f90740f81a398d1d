use super::*;

#[test]
fn borders_become_those_of_ascii_and_nothing_else_changes() {
    assert_eq!(
        with_plain_borders(r"\brm\b \\bin [^\s]"),
        r"(?-u:\b)rm(?-u:\b) \\bin [^\s]"
    );
    assert_eq!(with_plain_borders("\\"), "\\");
}

#[test]
fn words_are_told_apart_in_any_script() {
    let remove = Expression::new(r"(?i)\brm\b");
    for (text, found) in [("да rm да", true), ("RM", true), ("farm", false), ("忽略rm忽略", true)] {
        assert_eq!(remove.is_match(text), found, "{text}");
    }
}
