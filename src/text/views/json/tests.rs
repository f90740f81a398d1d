use super::*;

#[test]
fn json_is_said_line_by_line() {
    let text = r#"{"a": "x\ny", "b": ["\u0069g", 7, {"c": "{\"d\": \"e\"}"}]}"#;
    let inside = inside(text, 1000).unwrap();
    assert_eq!(inside.said.text, "a: x\ny\nb: \nig\n7\nc: {\"d\": \"e\"}\n");
    let nested = inside.nested.first().unwrap().clone();
    assert_eq!(inside.said.text.get(nested.clone()), Some(r#"{"d": "e"}"#));
    assert_eq!(text.get(inside.said.map.source_span(nested)), Some(r#"{\"d\": \"e\"}"#));
    let place = inside.said.text.find("ig").unwrap();
    assert_eq!(
        text.get(inside.said.map.source_span(place..place + 2)),
        Some(r"\u0069g")
    );
}

#[test]
fn leaves_know_their_name_and_their_place() {
    let text = r#"{"a": "x\ny", "b": ["\u0069g", 7, {"c": "z"}]}"#;
    let leaves = leaves(text).unwrap();
    let told: Vec<_> = leaves
        .iter()
        .map(|leaf| (leaf.key.as_deref().unwrap(), leaf.text.as_str()))
        .collect();
    assert_eq!(told, [("a", "x\ny"), ("b", "ig"), ("c", "z")]);
    assert_eq!(text.get(leaves[1].source_span(0..1)), Some(r"\u0069"));
    assert_eq!(text.get(leaves[0].source_span(2..3)), Some("y"));
    assert!(super::leaves("plain").is_none() && super::leaves("[1, 2").is_none());
}

#[test]
fn what_is_not_json_or_has_no_escapes_is_left_to_the_other_views() {
    for text in [r#"{"a": "b"}"#, r#"{"a": "\n""#, "[INFO] \\n", "", "{", r#""\n""#] {
        assert!(inside(text, 1000).is_none(), "{text}");
    }
}
