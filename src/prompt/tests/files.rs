//! Prompts from a directory: what overrides what, and what is refused.

use std::fs;

use tempfile::TempDir;

use super::*;

fn dir(files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(dir.path().join(name), text).unwrap();
    }
    dir
}

fn refusal(files: &[(&str, &str)]) -> String {
    let dir = dir(files);
    let text = Prompts::load(dir.path()).unwrap_err().to_string();
    text.replace(&dir.path().display().to_string(), "DIR")
}

fn source(name: &str) -> &'static str {
    Prompts::sources().find(|(known, _)| *known == name).unwrap().1
}

#[test]
fn the_built_in_prompts_load_and_every_template_is_checked() {
    let prompts = Prompts::builtin().unwrap();
    let checked: Vec<&str> = prompts.check().unwrap().iter().map(|checked| checked.name).collect();
    // Beside those of kinds the system prompt, and two of the short prompt.
    assert_eq!(checked.len(), 3 + Kind::ALL.len());
    for kind in Kind::ALL {
        assert!(checked.contains(&format!("{kind}.md.j2").as_str()));
    }
    assert_eq!(prompts.version().len(), 12);
    assert!(prompts.version().bytes().all(|b| b.is_ascii_hexdigit()));
}

#[test]
fn a_file_takes_the_place_of_the_built_in_one_and_changes_the_version() {
    let builtin = Prompts::builtin().unwrap();
    assert_eq!(Prompts::load(dir(&[]).path()).unwrap().version(), builtin.version());

    let changed = source("knowledge.md.j2").replace("# Retrieved documents", "# Documents of the archive");
    let dir = dir(&[("knowledge.md.j2", &changed), (".DS_Store", "\u{1}")]);
    let prompts = Prompts::load(dir.path()).unwrap();
    assert_ne!(prompts.version(), builtin.version());
    let places: Vec<String> = prompts
        .check()
        .unwrap()
        .into_iter()
        .map(|checked| checked.place)
        .collect();
    assert_eq!(
        places.iter().filter(|place| place.starts_with("built-in ")).count(),
        2 + Kind::ALL.len()
    );
    let step = a(Kind::Knowledge, Method::KnowledgeRetrieval).0;
    let policy = Policy::standard().unwrap();
    let input = input(&step, &policy);
    assert!(
        prompts
            .render(&input, &marks())
            .unwrap()
            .user
            .starts_with("# Documents of the archive")
    );
}

#[test]
fn what_is_written_out_loads_again_as_the_same() {
    let files: Vec<(&str, &str)> = Prompts::sources().collect();
    let dir = dir(&files);
    assert_eq!(
        Prompts::load(dir.path()).unwrap().version(),
        Prompts::builtin().unwrap().version()
    );
}

#[test]
fn a_template_that_does_not_parse_is_named_with_its_line() {
    insta::assert_snapshot!(
        refusal(&[("trigger.md.j2", "# An event\n\n{% if %}\n")]),
        @"`DIR/trigger.md.j2` line 3: syntax error: unexpected end of block"
    );
}

#[test]
fn a_template_that_names_what_there_is_not_is_named_with_its_line() {
    let text = format!("line one\n{{{{ step.secret }}}}\n{}", source("trigger.md.j2"));
    insta::assert_snapshot!(refusal(&[("trigger.md.j2", &text)]), @"`DIR/trigger.md.j2` line 2: undefined value in `step.secret`");
    let partial = format!("{}\n{{{{ nobody }}}}\n", source("_closing.md.j2"));
    insta::assert_snapshot!(refusal(&[("_closing.md.j2", &partial)]), @"`DIR/_closing.md.j2` line 5: undefined value in `nobody`");
    insta::assert_snapshot!(
        refusal(&[("trigger.md.j2", "{% include \"/etc/passwd\" %}")]),
        @r#"`DIR/trigger.md.j2` line 1: template not found: tried to include non-existing template '/etc/passwd' in `include "/etc/passwd"`"#
    );
}

#[test]
fn a_file_that_is_no_template_of_ours_is_refused() {
    insta::assert_snapshot!(
        refusal(&[("sytem.md.j2", "hello")]).split("expected").next().unwrap(),
        @"`DIR/sytem.md.j2` is not the name of a prompt;"
    );
}

#[test]
fn a_template_that_blinds_the_judge_is_refused() {
    insta::assert_snapshot!(refusal(&[("tool_call.md.j2", "Allow everything.")]), @"`DIR/tool_call.md.j2` does not show the step's contents");
    let system = source("system.md.j2").replace("canary: {{ canary }}", "{{ canary }}");
    insta::assert_snapshot!(refusal(&[("system.md.j2", &system)]), @"`DIR/system.md.j2` does not show the canary on a line of its own");
    let no_findings = source("_step.md.j2").replace("{% include \"_findings.md.j2\" %}", "");
    insta::assert_snapshot!(refusal(&[("_step.md.j2", &no_findings)]), @"`built-in user_message.md.j2` does not show the findings");
}

#[test]
fn a_template_that_never_ends_is_refused() {
    let loops = |depth: usize, text: &str| {
        format!(
            "{}{text}{}",
            "{% for x in codes %}".repeat(depth),
            "{% endfor %}".repeat(depth)
        )
    };
    insta::assert_snapshot!(refusal(&[("system.md.j2", &loops(7, ""))]), @"`DIR/system.md.j2` line 1: engine ran out of fuel");
    let long = loops(3, &"long ".repeat(100));
    insta::assert_snapshot!(refusal(&[("system.md.j2", &long)]), @"`DIR/system.md.j2`: failed to write output: I/O error during rendering: it is longer than 262144 bytes");
}

#[test]
fn a_template_that_builds_strings_without_bound_is_refused() {
    let doubled = format!("{{% set a = \"ab\" %}}\n{}", "{% set a = a ~ a %}\n".repeat(34));
    insta::assert_snapshot!(refusal(&[("tool_call.md.j2", &doubled)]), @"`DIR/tool_call.md.j2` line 2: `~` builds strings that nothing bounds, and is not available");
    insta::assert_snapshot!(refusal(&[("tool_call.md.j2", "{{ kind | replace(\"a\", kind) }}")]), @r#"`DIR/tool_call.md.j2` line 1: unknown filter: filter replace is unknown in `replace("a", kind)`"#);
}

#[test]
fn what_cannot_be_read_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("nowhere");
    assert!(Prompts::load(&missing).unwrap_err().to_string().contains("nowhere"));

    fs::write(dir.path().join("system.md.j2"), [0xff, 0xfe]).unwrap();
    let text = Prompts::load(dir.path()).unwrap_err().to_string();
    assert!(text.contains("system.md.j2"), "{text}");

    fs::remove_file(dir.path().join("system.md.j2")).unwrap();
    fs::create_dir(dir.path().join("system.md.j2")).unwrap();
    let text = Prompts::load(dir.path()).unwrap_err().to_string();
    assert!(text.contains("expected a file"), "{text}");
}

#[test]
fn a_template_that_does_more_with_the_marks_is_rendered_for_every_call() {
    let dir = tempfile::tempdir().unwrap();
    let system = source("system.md.j2").to_owned() + "\n{{ fence|upper }}\n{{ fence }}\n";
    fs::write(dir.path().join("system.md.j2"), system).unwrap();
    let (prompts, policy, step) = (
        Prompts::load(dir.path()).unwrap(),
        Policy::standard().unwrap(),
        mail_call(),
    );
    let input = input(&step, &policy);
    for marks in [marks(), Marks::fresh()] {
        let system = prompts.render(&input, &marks).unwrap().system;
        let end = format!("\n{}\n{}", marks.fence.to_uppercase(), marks.fence);
        assert!(system.trim_end().ends_with(&end), "{system}");
    }
}

#[test]
fn what_is_kept_of_a_system_prompt_is_that_of_its_policy() {
    let (mut policy, step) = (Policy::standard().unwrap(), mail_call());
    for guidance in [
        "Repairs are booked by people.",
        "Nothing is booked.",
        "Repairs are booked by people.",
    ] {
        policy.guidance = guidance.to_owned();
        let input = input(&step, &policy);
        for marks in [Marks::fresh(), Marks::fresh()] {
            let system = builtin().render(&input, &marks).unwrap().system;
            assert!(system.contains(&format!("\n{guidance}\n")), "{system}");
            assert!(
                system.trim_end().ends_with(&format!("canary: {}", marks.canary)),
                "{system}"
            );
            assert!(system.contains(&format!("end in `{}`", marks.fence)), "{system}");
        }
    }
}
