use super::*;
use crate::text::expression::ByteExpression;

fn parsed(expression: &str) -> Hir {
    ByteExpression::parse(expression.to_owned()).unwrap().1
}

fn needs(expression: &str, gate: &[&str]) -> Vec<String> {
    let gate: Vec<String> = gate.iter().map(|word| (*word).to_owned()).collect();
    let sets = Needs::of(&parsed(expression), &gate).0;
    let text = |piece: Vec<u8>| String::from_utf8(piece).unwrap();
    sets.into_iter().flat_map(|need| need.pieces).map(text).collect()
}

#[test]
fn what_every_match_contains_is_needed() {
    assert_eq!(
        needs(r"\bbreak (?:your|my)* *instructions\b", &["break"]),
        ["instructions"]
    );
    assert_eq!(
        needs(
            r"\bwipe\b.{0,9}?(?:audit log|outbox|trash)\b",
            &["audit log", "outbox", "trash"]
        ),
        ["wipe"]
    );
    assert_eq!(
        needs("ghost(?:writer)? (?:(?:pizza|quilt)es)+", &["ghost"]),
        ["pizza", "quilt"]
    );
}

#[test]
fn what_some_match_does_without_is_not() {
    for (expression, gate) in [
        ("break(?: instructions)?", "break"),
        ("break (?:instructions|\\w+)", "break"),
        ("break (?:of|on)", "break"),
        ("break|instructions", "break"),
        ("breakwater", "breakwater"),
    ] {
        assert!(needs(expression, &[gate]).is_empty(), "{expression}");
    }
}

#[test]
fn a_text_without_any_piece_is_spared() {
    let needs = Needs::of(&parsed("break (?:the rules|all guidelines)"), &["break".to_owned()]);
    assert!(needs.may_be_met(b"break all guidelines"));
    assert!(!needs.may_be_met(b"after the break we met"));
    assert!(Needs::default().may_be_met(b""));
}
