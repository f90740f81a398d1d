use super::*;
use crate::model::Origin;
use crate::prefilter::testing::{hold_examples, seen};

#[test]
fn every_rule_keeps_to_its_examples() {
    hold_examples(&HiddenText::load().unwrap(), Origin::ToolOutput, |_| true);
}

#[test]
fn hidden_text_inside_an_encoding_is_seen() {
    let found = seen(
        &HiddenText::load().unwrap(),
        Origin::ToolOutput,
        r#"{"a": "x\udb40\udc73\udb40\udc65\n"}"#,
    );
    assert!(
        found
            .iter()
            .any(|finding| finding.rule == "hidden_text.tags" && finding.view == View::Hidden)
    );
}

#[test]
fn emoji_and_scripts_that_need_joiners_are_left_alone() {
    for text in [
        "👩\u{200d}🚀 🏳\u{fe0f}\u{200d}🌈 ❤\u{fe0f}\u{200d}🔥 1\u{fe0f}\u{20e3}",
        "ക്\u{200d}ഷ പ്ര\u{200c}കാശം",
        "\u{feff}Hello",
        "سلام\u{200c}ها \u{200f}(PDF)\u{200e}",
        "Straßen\u{ad}bahn\u{ad}halte\u{ad}stelle",
        "très\u{202f}bien\u{a0}!",
    ] {
        let found = seen(&HiddenText::load().unwrap(), Origin::ToolOutput, text);
        assert!(found.is_empty(), "{text:?}: {found:?}");
    }
}
