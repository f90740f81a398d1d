use super::*;

fn program(name: &str) -> &'static Program {
    Program::named(name).unwrap()
}

fn command(name: &str) -> Vec<String> {
    ["/opt/my tools/guardian", "hook", name, "--alone"]
        .map(str::to_owned)
        .to_vec()
}

const OWN: &str = r#"{
  // How I like it.
  "model": "opus",
  "hooks": {
    "PreToolUse": [
      { "matcher": "Bash", "hooks": [ { "type": "command", "command": "my-own-check" } ] }, // mine
    ],
  },
  "env": { "A": "1" } /* end */
}
"#;

#[test]
fn what_is_installed_is_seen_and_taken_back_and_the_rest_stays() {
    let claude = program("claude-code");
    assert_eq!(installed(claude, Some(OWN)), Ok(Hooked::No));
    let with = install(claude, Some(OWN), &command("claude-code"), 10).unwrap();
    assert_eq!(installed(claude, Some(&with)), Ok(Hooked::Whole));
    for kept in [
        "// How I like it.",
        "// mine",
        "/* end */",
        "my-own-check",
        "\"env\": { \"A\": \"1\" }",
    ] {
        assert!(with.contains(kept), "{kept} is gone:\n{with}");
    }
    assert!(
        with.contains("'/opt/my tools/guardian' hook claude-code --alone"),
        "{with}"
    );
    assert!(with.contains("\"onFailure\": \"block\""), "{with}");
    // Twice is once.
    assert_eq!(install(claude, Some(&with), &command("claude-code"), 10).unwrap(), with);
    let without = uninstall(claude, &with).unwrap().unwrap();
    assert_eq!(installed(claude, Some(&without)), Ok(Hooked::No));
    for kept in [
        "// How I like it.",
        "// mine",
        "/* end */",
        "my-own-check",
        "\"env\": { \"A\": \"1\" }",
    ] {
        assert!(without.contains(kept), "{kept} is gone:\n{without}");
    }
}

#[test]
fn a_file_that_only_we_wrote_is_removed_again() {
    for program in Program::ALL {
        let text = install(program, None, &command(program.name), 10).unwrap();
        assert_eq!(installed(program, Some(&text)), Ok(Hooked::Whole), "{}", program.name);
        assert_eq!(uninstall(program, &text), Ok(None), "{}", program.name);
        assert!(text.contains("/opt/my tools/guardian"), "{text}");
        if let Form::Entries { .. } = program.settings.form {
            let read: Value = serde_json::from_str(&text).unwrap();
            for row in program.events {
                assert_eq!(read["hooks"][row.name].as_array().unwrap().len(), 1, "{text}");
            }
        }
    }
}

#[test]
fn what_is_missing_or_switched_off_is_told() {
    let claude = program("claude-code");
    let with = install(claude, None, &command("claude-code"), 10).unwrap();
    let mut read: Value = serde_json::from_str(&with).unwrap();
    read["disableAllHooks"] = Value::Bool(true);
    assert_eq!(
        installed(claude, Some(&read.to_string())),
        Ok(Hooked::SwitchedOff("disableAllHooks"))
    );
    read["hooks"].as_object_mut().unwrap().remove("PostToolUse");
    assert_eq!(
        installed(claude, Some(&read.to_string())),
        Ok(Hooked::Partly(vec!["PostToolUse"]))
    );
}

#[test]
fn settings_that_cannot_be_edited_are_refused() {
    let claude = program("claude-code");
    let refused = |text: &str| {
        install(claude, Some(text), &command("claude-code"), 10)
            .unwrap_err()
            .to_string()
    };
    assert!(refused("{\"hooks\": ").starts_with("expected JSON, comments allowed: "));
    assert_eq!(refused("[]"), "expected an object, in braces; correct the file first");
    assert_eq!(
        refused("{\"hooks\": []}"),
        "expected an object in `hooks`; correct the file first"
    );
    assert_eq!(
        refused("{\"hooks\": {\"PreToolUse\": {}}}"),
        "expected an array in `hooks.PreToolUse`; correct the file first"
    );
    let theirs = "export const Mine = async () => ({});\n";
    let opencode = program("opencode");
    assert_eq!(
        install(opencode, Some(theirs), &command("opencode"), 10),
        Err(SettingsError::NotOurs)
    );
    assert_eq!(uninstall(opencode, theirs), Err(SettingsError::NotOurs));
    assert_eq!(installed(opencode, Some(theirs)), Ok(Hooked::No));
}

#[test]
fn programs_that_go_on_after_a_crash_call_a_shell_that_denies() {
    for name in ["codex", "gemini-cli"] {
        let text = install(program(name), None, &command(name), 10).unwrap();
        assert!(
            text.contains("|| { echo '[guardian] no verdict' >&2; exit 2; }"),
            "{text}"
        );
    }
}
