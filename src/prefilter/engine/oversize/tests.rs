use super::*;
use crate::model::Origin;
use crate::prefilter::testing::{seen_in_shape, step};

#[test]
fn the_rules_about_texts_keep_to_their_examples() {
    let oversize = Oversize::load().unwrap();
    // One character that stands for six.
    for (text, rule) in [
        ("\u{3316}".repeat(20_000), "oversize.cut"),
        ("word ".repeat(60_000), "oversize.large"),
    ] {
        let found = crate::prefilter::testing::seen(&oversize, Origin::ToolOutput, &text);
        assert!(found.iter().any(|finding| finding.rule == rule), "{rule}");
    }
}

#[test]
fn very_many_texts_are_told() {
    let contents = |count| (0..count).map(|_| (Origin::ToolOutput, String::new()));
    let policy = Policy::standard().unwrap();
    for (count, expected) in [(MANY_CONTENTS, 0), (MANY_CONTENTS + 1, 1)] {
        let found = seen_in_shape(&Oversize::load().unwrap(), &step(contents(count)), &policy);
        assert_eq!(found.len(), expected);
    }
}
