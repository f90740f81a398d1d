use crate::model::{Origin, Pointer};
use crate::policy::Policy;
use crate::prefilter::{Prefilters, testing};

fn found(texts: &[(&str, &str, &str)]) -> Vec<(String, String)> {
    let contents = texts
        .iter()
        .map(|(_, _, text)| (Origin::ToolArguments, (*text).to_owned()));
    let mut step = testing::step(contents);
    for (content, (pointer, label, _)) in step.contents.iter_mut().zip(texts) {
        content.pointer = Pointer::new(*pointer);
        content.label = Some((*label).to_owned());
    }
    let findings = Prefilters::standard()
        .unwrap()
        .screen(&step, &Policy::standard().unwrap())
        .findings;
    let told = findings.into_iter().map(|finding| {
        let content = step.content(finding.content.unwrap()).unwrap();
        (finding.rule, content.text[finding.span].to_owned())
    });
    told.collect()
}

#[test]
fn a_command_in_json_in_a_string_is_found_where_it_stands() {
    for text in [r#"{"command": "rm -rf /"}"#, r#"["{\"command\": \"rm -rf /\"}"]"#] {
        let found = found(&[("/a", "input", text)]);
        assert!(
            found
                .iter()
                .any(|(rule, span)| rule == "destructive_command.delete_root" && span.contains("rm -rf /")),
            "{found:?}"
        );
    }
    assert!(found(&[("/a", "input", r#"{"command": "ls -la"}"#)]).is_empty());
}

#[test]
fn a_command_among_very_many_strings_is_found_or_told_of() {
    let among = |count: usize| {
        let others: String = (0..count).map(|n| format!(r#""a{n}": "x", "#)).collect();
        format!(r#"{{{others}"command": "rm -rf /"}}"#)
    };
    let rules = |text: &str| -> Vec<String> {
        let found = found(&[("/a", "input", text)]);
        found.into_iter().map(|(rule, _)| rule).collect()
    };
    assert!(rules(&among(300)).contains(&"destructive_command.delete_root".to_owned()));
    assert!(rules(&among(3_000)).contains(&"oversize.cut".to_owned()));
    let long = format!(r#"{{"a": "{}", "command": "rm -rf /"}}"#, "x".repeat(70_000));
    assert!(rules(&long).contains(&"destructive_command.delete_root".to_owned()));
    let deep = (0..6).fold(r#"{"command": "rm -rf /"}"#.to_owned(), |text, _| {
        serde_json::json!({ "a": text }).to_string()
    });
    assert!(rules(&deep).contains(&"oversize.cut".to_owned()));
}

#[test]
fn a_command_of_very_many_words_is_told_of() {
    let pointers: Vec<String> = (0..400).map(|n| format!("/a/{n}")).collect();
    let word = |n| match n {
        0 => "rm",
        1 => "-rf",
        399 => "/",
        _ => "-v",
    };
    let texts: Vec<(&str, &str, &str)> = (0..400).map(|n| (pointers[n].as_str(), "args", word(n))).collect();
    let rules: Vec<String> = found(&texts).into_iter().map(|(rule, _)| rule).collect();
    assert!(
        rules.contains(&"destructive_command.not_examined".to_owned()),
        "{rules:?}"
    );
}

#[test]
fn words_in_a_list_are_one_command() {
    let bare = [
        ("/a/0", "command", "rm"),
        ("/a/1", "command", "-rf"),
        ("/a/2", "command", "/"),
    ];
    let split = [("/c", "command", "rm"), ("/a/0", "args", "-rf"), ("/a/1", "args", "/")];
    for texts in [bare, split] {
        let found = found(&texts);
        assert_eq!(found, [("destructive_command.delete_root".to_owned(), "rm".to_owned())]);
    }
    assert!(
        found(&[("/a/0", "command", "echo"), ("/a/1", "command", "rm -rf /")])
            .iter()
            .all(|(_, span)| span == "rm -rf /")
    );
    assert!(found(&[("/a/0", "command", "ls"), ("/a/1", "command", "it's; x")]).is_empty());
}
