use super::*;
use crate::model::Step;
use crate::prefilter::testing::{hold_shaped_examples, screen, tool_call};

fn shape(text: &str) -> Step {
    let (tool, path) = match text.split_once(' ') {
        Some((verb @ ("write" | "delete"), path)) => (format!("{verb}_file"), path),
        _ => ("read_file".to_owned(), text),
    };
    tool_call(&tool, &[("path", path)])
}

#[test]
fn every_rule_holds_its_examples() {
    hold_shaped_examples(&Path::load().unwrap(), |_, text| shape(text));
}

#[test]
fn paths_are_known_by_their_shape_too() {
    let found = screen(&Path::load().unwrap(), &tool_call("open", &[("what", "/etc/shadow")]));
    assert_eq!(
        (found[0].rule.as_str(), found[0].confidence),
        ("path.key_file", Confidence::Medium)
    );
    for text in [
        "see /etc/shadow in the manual for how passwords are kept",
        "a/b testing",
        "and/or",
        "10/12/2024",
        "I like ../../ as a smiley, do you not?",
    ] {
        assert_eq!(
            screen(&Path::load().unwrap(), &tool_call("say", &[("text", text)])),
            [],
            "{text}"
        );
    }
}

#[test]
fn ordinary_paths_are_silent() {
    for text in [
        "src/main.rs",
        "/home/alice/project/src",
        "./a/b.txt",
        "../lib/util.py",
        "C:\\Users\\bob\\report.docx",
        "/tmp/x",
        "/var/www/html/index.html",
        "data/2024/10.csv",
        "write src/lib.rs",
        "delete /tmp/x/y",
        "write /workspace/app/Dockerfile",
    ] {
        assert_eq!(screen(&Path::load().unwrap(), &shape(text)), [], "{text}");
    }
}

#[test]
fn tools_whose_names_only_contain_a_word_for_writing_read() {
    for tool in ["get_credit_report", "compute_stats", "get_input"] {
        let found = screen(&Path::load().unwrap(), &tool_call(tool, &[("path", "/etc/hosts")]));
        let rules: Vec<&str> = found.iter().map(|finding| finding.rule.as_str()).collect();
        assert!(!rules.contains(&"path.system_write"), "{tool}: {rules:?}");
    }
    let written = screen(
        &Path::load().unwrap(),
        &tool_call("edit_file", &[("path", "/etc/hosts")]),
    );
    assert!(written.iter().any(|finding| finding.rule == "path.system_write"));
}
