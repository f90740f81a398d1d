//! Edits: the result differs from the original in the edited strings and in nothing else.

use proptest::prelude::*;

use super::*;
use crate::model::{ContentId, Edit, EditError, ReasonCode};

fn edit(content: &Content, span: std::ops::Range<usize>, replacement: &str) -> Edit {
    Edit {
        content: content.id,
        span,
        replacement: replacement.into(),
        reason: ReasonCode::PersonalData,
    }
}

fn whole(content: &Content, replacement: &str) -> Edit {
    edit(content, 0..content.text.len(), replacement)
}

/// A request in a spelling that no writer of ours would choose.
const ODD: &str = r#" {"params" : {"context":{"agent":{"id":"a","version":1.50}}, "message":{ "role":"user",
   "content":[{"kind":"text","text":"caf\u00e9 \/ 4111 1111"} ,{"kind":"file","file":{"mimeType":"text/plain","bytes":"c2VjcmV0IC8_"}}],
   "metadata":{"n":1e2,"z":null}}}, "method":"steps\/message","id":"7","jsonrpc":"2.0"}
"#;

#[test]
fn only_the_edited_tokens_change() {
    let (_, step) = decode_step(ODD, &Limits::default()).unwrap();
    assert_eq!(step.original.json(), ODD.trim());
    let text = at(&step, "/params/message/content/0/text");
    assert_eq!(text.text, "café / 4111 1111");
    let modified = step.original.edited(&[edit(text, 8..17, "\"****\"")]).unwrap();
    let expected = ODD
        .trim()
        .replace(r#""caf\u00e9 \/ 4111 1111""#, r#""café / \"****\"""#);
    assert_eq!(modified.original.json(), expected);
    assert_eq!(at(&modified, "/params/message/content/0/text").text, "café / \"****\"");
}

#[test]
fn a_text_file_is_edited_inside_its_encoding() {
    let (_, step) = decode_step(ODD, &Limits::default()).unwrap();
    let file = at(&step, "/params/message/content/1/file/bytes");
    assert_eq!(file.text, "secret /?");
    let modified = step.original.edited(&[edit(file, 0..6, "??????")]).unwrap();
    assert_eq!(
        modified.original.json(),
        ODD.trim().replace("c2VjcmV0IC8_", "Pz8_Pz8_IC8_")
    );
    assert_eq!(at(&modified, "/params/message/content/1/file/bytes").text, "?????? /?");
}

#[test]
fn several_edits_of_several_contents_apply_in_any_order() {
    let (_, step) = decode_step(ODD, &Limits::default()).unwrap();
    let text = at(&step, "/params/message/content/0/text");
    let file = at(&step, "/params/message/content/1/file/bytes");
    let edits = [
        edit(file, 7..9, ""),
        edit(text, 0..5, "tea"),
        edit(text, 13..17, "2"),
        edit(text, 5..5, "!"),
    ];
    let modified = step.original.edited(&edits).unwrap();
    assert_eq!(at(&modified, "/params/message/content/0/text").text, "tea! / 4111 2");
    assert_eq!(at(&modified, "/params/message/content/1/file/bytes").text, "secret ");
    let again = modified.original.edited(&[]).unwrap();
    assert_eq!(again.original.json(), modified.original.json());
}

#[test]
fn edits_that_reach_beyond_are_refused() {
    let (_, step) = decode_step(ODD, &Limits::default()).unwrap();
    let text = at(&step, "/params/message/content/0/text");
    let role = at(&step, "/params/message/role");
    let agent = at(&step, "/params/context/agent/id");
    let key = step.contents.iter().find(|content| content.form == Form::Key).unwrap();
    let refused = |edits: &[Edit]| step.original.edited(edits).unwrap_err();
    assert_eq!(refused(&[edit(text, 0..99, "")]), EditError::OutOfBounds(text.id));
    assert_eq!(
        refused(&[edit(text, 4..6, "")]),
        EditError::OutOfBounds(text.id),
        "inside a character"
    );
    #[allow(clippy::reversed_empty_ranges)]
    let backwards = edit(text, 3..1, "");
    assert_eq!(refused(&[backwards]), EditError::OutOfBounds(text.id));
    assert_eq!(
        refused(&[edit(text, 0..3, ""), edit(text, 2..5, "")]),
        EditError::Overlap(text.id)
    );
    assert_eq!(
        refused(&[edit(text, 1..1, "a"), edit(text, 1..1, "b")]),
        EditError::Overlap(text.id)
    );
    for fixed in [role, agent, key] {
        assert_eq!(refused(&[whole(fixed, "x")]), EditError::NotEditable(fixed.id));
    }
    let nobody = ContentId::from_index(999);
    let unknown = Edit {
        content: nobody,
        ..edit(text, 0..0, "")
    };
    assert_eq!(refused(&[unknown]), EditError::UnknownContent(nobody));
}

#[test]
fn an_edit_that_outgrows_the_limits_is_refused() {
    let limits = Limits {
        max_body_bytes: ODD.len() + 20,
        ..Limits::default()
    };
    let (_, step) = decode_step(ODD, &limits).unwrap();
    let text = at(&step, "/params/message/content/0/text");
    assert!(step.original.edited(&[edit(text, 0..0, "small")]).is_ok());
    let error = step.original.edited(&[edit(text, 0..0, &"x".repeat(100))]).unwrap_err();
    assert!(matches!(error, EditError::Undecodable(_)));
}

#[test]
fn the_items_of_a_batch_are_edited_alone() {
    let body = format!(" [ {ODD} , {ODD}]");
    let Ok(Incoming::Batch(items)) = decode(body.as_bytes(), &Limits::default()) else {
        panic!("a batch")
    };
    for item in items {
        let Ok(Call::Step(step)) = item.call else {
            panic!("a step")
        };
        assert_eq!(step.original.json(), ODD.trim());
        let text = at(&step, "/params/message/content/0/text");
        let modified = step.original.edited(&[whole(text, "x")]).unwrap();
        assert_eq!(at(&modified, "/params/message/content/0/text").text, "x");
    }
}

#[test]
fn every_sample_survives_no_edits_byte_for_byte() {
    for sample in samples::all() {
        for text in [
            sample.request.to_string(),
            serde_json::to_string_pretty(&sample.request).unwrap(),
        ] {
            let (id, step) = decode_step(&text, &Limits::default()).unwrap();
            let same = step.original.edited(&[]).unwrap();
            assert_eq!(
                (same.original.json(), same.contents == step.contents),
                (text.as_str(), true)
            );
            assert_eq!(decode_step(same.original.json(), &Limits::default()).unwrap().0, id);
        }
    }
}

/// A sample and up to four edits of it; spans are cut to character borders when they are used.
fn a_sample_and_edits() -> impl Strategy<Value = (usize, Vec<(prop::sample::Index, u8, u8, String)>)> {
    let one = (
        any::<prop::sample::Index>(),
        any::<u8>(),
        any::<u8>(),
        "\\PC{0,12}|[\"\\\\\u{0}\n]{0,4}",
    );
    (0..samples::all().len(), prop::collection::vec(one, 1..5))
}

proptest! {
    #[test]
    fn an_edit_changes_what_it_says_and_nothing_else((sample, wanted) in a_sample_and_edits()) {
        let samples = samples::all();
        let request = &samples[sample].request;
        let step = step(request);
        let editable: Vec<&Content> = step.contents.iter().filter(|content| content.is_editable()).collect();
        prop_assume!(!editable.is_empty());
        let mut edits: Vec<Edit> = Vec::new();
        for (place, from, to, replacement) in &wanted {
            let content = editable[place.index(editable.len())];
            if edits.iter().any(|edit| edit.content == content.id) {
                continue;
            }
            let one = content.text.floor_char_boundary(usize::from(*from) % (content.text.len() + 1));
            let other = content.text.floor_char_boundary(usize::from(*to) % (content.text.len() + 1));
            edits.push(edit(content, one.min(other)..one.max(other), replacement));
        }
        let modified = step.original.edited(&edits).unwrap();
        let mut expected = request.clone();
        for edit in &edits {
            let content = step.content(edit.content).unwrap();
            let mut text = content.text.clone();
            text.replace_range(edit.span.clone(), &edit.replacement);
            let target = expected.pointer_mut(content.pointer.as_str()).unwrap();
            match content.form {
                Form::TextFile { .. } => {
                    let now = at(&modified, content.pointer.as_str());
                    if matches!(now.form, Form::TextFile { .. }) {
                        prop_assert_eq!(&now.text, &text);
                    }
                    let found: Value = serde_json::from_str(modified.original.json()).unwrap();
                    *target = found.pointer(content.pointer.as_str()).unwrap().clone();
                }
                _ => *target = Value::from(text),
            }
        }
        let found: Value = serde_json::from_str(modified.original.json()).unwrap();
        prop_assert_eq!(&found, &expected);
        prop_assert_eq!(&found["id"], &request["id"]);
        prop_assert_eq!((modified.method, modified.kind), (step.method, step.kind));
    }
}

#[test]
fn a_long_number_is_a_content_that_becomes_a_string_where_it_is_edited() {
    let request = aos_request(
        "steps/toolCallResult",
        json!({"executionId": "e", "result": {"isError": false, "outputs": [
            {"kind": "data", "data": {"card": 4111111111111111_u64, "n": 12, "rate": 0.12345678901234, "paid": true}}]}}),
    );
    let step = step(&request);
    let place = "/params/result/outputs/0/data";
    let card = at(&step, &format!("{place}/card"));
    assert_eq!(
        (&card.form, card.text.as_str(), card.origin),
        (&Form::Number, "4111111111111111", Origin::ToolOutput)
    );
    assert_eq!(card.label.as_deref(), Some("card"));
    let noted: Vec<(&str, &str)> = step
        .data
        .iter()
        .map(|data| (data.pointer.as_str(), data.json.as_str()))
        .collect();
    let json = r#"{"card":4111111111111111,"n":12,"paid":true,"rate":0.12345678901234}"#;
    assert!(noted.contains(&("/params/result/isError", "false")), "{noted:?}");
    assert!(
        noted.iter().any(|(at, data)| *at == place && data.len() == json.len()),
        "{noted:?}"
    );
    assert_eq!(noted.len(), 2, "{noted:?}");
    let modified = step.original.edited(&[edit(card, 0..12, "************")]).unwrap();
    let masked = at(&modified, &format!("{place}/card"));
    assert_eq!((&masked.form, masked.text.as_str()), (&Form::Text, "************1111"));
    assert_eq!(modified.contents.len(), step.contents.len());
    assert!(
        modified
            .data
            .iter()
            .any(|data| data.json.contains(r#""************1111""#))
    );
}
