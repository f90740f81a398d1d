use super::*;
use crate::model::Origin;
use crate::prefilter::testing::{hold_examples, seen};

#[test]
fn every_rule_keeps_to_its_examples() {
    hold_examples(&Obfuscation::load().unwrap(), Origin::ToolOutput, |id| {
        id != "obfuscation.pieces"
    });
}

#[test]
fn spans_are_those_of_the_words() {
    let text = "это pаsswоrd, да";
    let found = seen(&Obfuscation::load().unwrap(), Origin::ToolOutput, text);
    assert_eq!(found.len(), 1);
    assert_eq!(text.get(found[0].span.clone()), Some("pаsswоrd"));
}

#[test]
fn ordinary_texts_of_the_world_are_left_alone() {
    for text in [
        "Ελλάδα και Κύπρος, SMS και email",
        "Сервис Google и iPhone; IP-адрес",
        "שלום \u{200f}(abc)\u{200f}",
        "مرحبا \u{200e}PDF\u{200e}",
        "日本語テキスト ＡＢＣ１２３",
        "H₂O, 10 µm, 5 kΩ, ΔG°, x̄ ± σ",
    ] {
        assert!(
            seen(&Obfuscation::load().unwrap(), Origin::ToolOutput, text).is_empty(),
            "{text}"
        );
    }
}
