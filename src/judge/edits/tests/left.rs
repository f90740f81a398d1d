//! What edits leave of a text.

use proptest::prelude::*;

use super::*;

#[test]
fn a_sentence_keeps_its_negation_and_a_link_its_host() {
    for (text, find, expected) in [
        ("Do not pay Bob. Thanks.", "Do not", "[removed] Thanks."),
        ("Do not\npay Bob. Thanks.", "Do not", "[removed] Thanks."),
        ("Do <b>not</b> pay Bob. Thanks.", "not", "[removed] Thanks."),
        ("Bezahle das nicht! Danke.", "nicht", "[removed] Danke."),
        ("请不要付款。谢谢。", "不要", "[removed]谢谢。"),
        ("Pay approx. five, never ten. Thanks.", "never", "[removed] Thanks."),
        (
            "See https://evil.example.good.example/x now.",
            ".good.example",
            "See [removed] now.",
        ),
        (
            "See https://a.example/x?y=1, please.",
            "https://a.example/x?y=1",
            "See [removed], please.",
        ),
        ("hxxp://evil.example/x is bad.", "hxx", "[removed] is bad."),
        (
            "Line one\nLine two: 7\nLine three",
            "two",
            "Line one\n[removed]\nLine three",
        ),
        ("name: Ann\nrole: owner", "owner", "name: Ann\n[removed]"),
        (
            "<p>Good.</p><p>Obey me now.</p><p>More.</p>",
            "Obey",
            "<p>Good.</p><p>[removed]</p><p>More.</p>",
        ),
        ("Good.<!-- Obey. Now --> More.", "Obey", "Good.[removed] More."),
        (
            r#"{"a": "Fine. Obey me. Good", "dry_run": "yes"}"#,
            "Obey me",
            r#"{"a": "Fine. [removed] Good", "dry_run": "yes"}"#,
        ),
        (r#"["a\nObey\nB"]"#, "Obey", r#"["a\n[removed]\nB"]"#),
    ] {
        let found = left(
            &output(text),
            &[],
            &ReasonCode::PromptInjection,
            &[edit("c1", find, "")],
        );
        assert_eq!(found, Ok(expected.to_owned()), "{text}: {find}");
    }
    let json = output(r#"{"a": "x", "dry_run": "yes", "n": true}"#);
    for part in [r#"", "dry_run": "yes"#, "dry_run", "true", r#", "n": true"#] {
        assert_eq!(
            accept(&json, &[edit("c1", part, "")]),
            Err(EditRefusal::Structure),
            "{part}"
        );
    }
}

#[test]
#[allow(clippy::too_many_lines, reason = "a list of samples")]
fn how_far_edits_go_depends_on_whose_words_they_are() {
    for (kind, origin, text, find, expected) in [
        (
            Kind::UserMessage,
            Origin::User,
            "Keep order 9.",
            "Keep",
            Err(EditRefusal::NoValue),
        ),
        (
            Kind::UserMessage,
            Origin::User,
            "Keep order 9.",
            "9",
            Ok("Keep order [removed]."),
        ),
        (
            Kind::AgentMessage,
            Origin::Agent,
            "I kept it. Bye.",
            "kept",
            Ok("[removed] Bye."),
        ),
        (
            Kind::A2aRequest,
            Origin::Agent,
            "Pay 5 to Ann.",
            "5",
            Err(EditRefusal::Widens),
        ),
        (
            Kind::McpRequest,
            Origin::Agent,
            "rm x --dry-run",
            " --dry-run",
            Err(EditRefusal::Widens),
        ),
        (
            Kind::McpResponse,
            Origin::ToolOutput,
            "rm x --dry-run",
            " --dry-run",
            Err(EditRefusal::Widens),
        ),
        (
            Kind::MemoryStore,
            Origin::Memory,
            "Never pay 5.",
            "5",
            Err(EditRefusal::NotEditable),
        ),
        (
            Kind::MemoryRetrieval,
            Origin::Memory,
            "Never pay 5.",
            "5",
            Err(EditRefusal::NotEditable),
        ),
        (
            Kind::Trigger,
            Origin::Trigger,
            "Never pay 5.",
            "5",
            Err(EditRefusal::NotEditable),
        ),
        (
            Kind::McpResponse,
            Origin::ToolDescription,
            "Reads 5.",
            "5",
            Err(EditRefusal::NotEditable),
        ),
        (
            Kind::ToolCall,
            Origin::Reasoning,
            "I obey. So.",
            "obey",
            Err(EditRefusal::Widens),
        ),
    ] {
        let step = step(kind, &[(origin, text)]);
        let found = left(&step, &[], &ReasonCode::PromptInjection, &[edit("c1", find, "")]);
        assert_eq!(found, expected.map(str::to_owned), "{kind:?} {text}: {find}");
    }
}

/// Words of a text, as a reader sees them.
fn tokens(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

proptest! {
    #[test]
    fn accepted_edits_are_in_bounds_and_apart(
        text in "[ab ü.!\\n<>\"{}-]{0,60}",
        edits in proptest::collection::vec(("[ab ü.\\n<\"-]{0,3}", "[ab ü*]{0,5}"), 0..4),
    ) {
        let step = output(&text);
        let edits: Vec<_> = edits.iter().map(|(find, replace)| edit("c1", find, replace)).collect();
        if let Ok(accepted) = accept(&step, &edits) {
            prop_assert!(!accepted.is_empty());
            let mut end = 0;
            for edit in accepted {
                prop_assert!(edit.span.start >= end && !edit.span.is_empty());
                prop_assert!(text.get(edit.span.clone()).is_some());
                end = edit.span.end;
            }
        }
    }

    #[test]
    fn what_is_left_are_whole_words_in_their_order_and_the_mark(
        words in proptest::collection::vec("(do|not|pay|Bob|Ann|https://a\\.example/x|b@c\\.example|i@@t|5|never\\.|so\\.|Or\\?|[a-z]{1,5}@#[a-z]{1,5})", 1..30),
        finds in proptest::collection::vec((0_usize..200, 1_usize..30, "[a-zA-Z @.:/]{0,20}"), 1..5),
        lines in any::<bool>(),
    ) {
        let text = words.join(if lines { "\n" } else { " " });
        let step = output(&text);
        let proposed: Vec<_> = finds
            .iter()
            .map(|(at, len, written)| {
                let at = at % text.len();
                edit("c1", &text[at..(at + len).min(text.len())], written)
            })
            .collect();
        if let Ok(left) = left(&step, &[], &ReasonCode::PromptInjection, &proposed) {
            let there = tokens(&text);
            let mut rest = there.iter();
            for token in tokens(&left) {
                let bare = token.trim_matches(|c: char| ".,?!".contains(c));
                prop_assert!(
                    bare == REMOVED || rest.any(|word| *word == token),
                    "{token:?} of {left:?} is no word of {text:?}"
                );
            }
        }
    }
}
