use super::*;

#[test]
fn every_profile_compiles_and_has_a_version_of_its_own() {
    let versions: std::collections::BTreeSet<String> = PROFILE_NAMES
        .iter()
        .map(|name| Policy::profile(name).unwrap().version)
        .collect();
    assert_eq!(versions.len(), PROFILE_NAMES.len());
}

#[test]
fn the_version_changes_exactly_when_the_policy_says_something_else() {
    let compile = |text: &str| {
        PolicyFile::parse(text, "p.toml")
            .unwrap()
            .compile("p.toml")
            .unwrap()
            .version
    };
    assert_eq!(
        compile("# a comment\n[tools]\ndeny = [\"x\"]"),
        compile("[tools]\ndeny=['x']")
    );
    assert_ne!(compile("[tools]\ndeny = [\"x\"]"), compile("[tools]\ndeny = [\"y\"]"));
}

#[test]
fn errors_name_the_file_the_key_and_what_was_expected() {
    let error = |text: &str| {
        PolicyFile::parse(text, "acme.toml")
            .and_then(|file| file.compile("acme.toml"))
            .unwrap_err()
            .to_string()
    };
    let unknown = error("[tools]\nforbid = []");
    assert!(
        unknown.starts_with("acme.toml: ") && unknown.contains("forbid") && unknown.contains("deny"),
        "{unknown}"
    );
    assert_eq!(
        error("[[treatments]]\nreasons = ['nonsense']\ntreatment = 'deny'"),
        "acme.toml: `treatments[0].reasons`: expected a published reason code or `org.…`, found `nonsense`"
    );
    assert_eq!(
        error("[posture]\ndefault = 'open'"),
        "acme.toml: `posture.\"default\"`: expected one of `deny`, `allow`, `error`, found `open`"
    );
    assert!(error("[local_judge]\ndeny_at = 7.0").contains("local_judge.deny_at"));
    assert!(error("extends = 'none'").contains("`extends`: expected one of default, coding, redact"));
}

#[test]
fn a_methods_own_posture_wins_over_the_policys_and_that_over_the_servers() {
    let table = |text: &str| PolicyFile::parse(text, "p").unwrap().compile("p").unwrap().posture;
    let none = table("");
    assert_eq!(none.of(Method::ToolCallRequest, Posture::Deny), Posture::Deny);
    assert_eq!(none.of(Method::Message, Posture::Error), Posture::Error);
    let own = table("[posture]\ndefault = 'deny'\n'steps/message' = 'allow'");
    assert_eq!(own.of(Method::Message, Posture::Error), Posture::Allow);
    assert_eq!(own.of(Method::ToolCallRequest, Posture::Error), Posture::Deny);
}

#[test]
fn destinations_are_patterns_of_hosts_in_lower_case() {
    let policy = PolicyFile::parse(
        "[destinations]\nallow = ['*.Acme.test']\ndeny = ['paste.acme.test']",
        "p",
    )
    .unwrap()
    .compile("p")
    .unwrap();
    assert!(policy.destinations.allow.matches("api.acme.test"));
    assert!(!policy.destinations.allow.matches("acme.test.example"));
    assert!(policy.destinations.deny.matches("paste.acme.test"));
    let error = PolicyFile::parse("[destinations]\ndeny = ['']", "p")
        .unwrap()
        .compile("p")
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "p: `destinations.deny`: expected a name pattern, found an empty string"
    );
}

#[test]
fn what_fits_no_host_is_refused_rather_than_overlooked() {
    let compile = |host: &str| {
        let text = format!("[destinations]\ndeny = ['{host}']");
        PolicyFile::parse(&text, "p").unwrap().compile("p")
    };
    for host in [
        "*.acme.test",
        "localhost",
        "10.0.*",
        "::1",
        "[2001:db8::1]",
        "münchen.test",
        "*",
    ] {
        assert!(compile(host).is_ok(), "{host}");
    }
    for host in [
        "https://acme.test",
        "acme.test/upload",
        "acme.test:8443",
        "me@acme.test",
        "acme test",
    ] {
        let error = compile(host).unwrap_err().to_string();
        assert!(error.contains(host) && error.contains("expected a host"), "{error}");
    }
}

#[test]
fn an_expression_for_an_argument_stands_by_itself() {
    for expression in ["(", "a)|(.*"] {
        let text = format!("[[harmless]]\nname = 'x'\ntools = ['a']\narguments = {{ item = '{expression}' }}");
        let error = PolicyFile::parse(&text, "p")
            .unwrap()
            .compile("p")
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("p: `harmless[0].arguments`: expected an expression for `item`"),
            "{error}"
        );
    }
}

#[test]
fn a_list_of_harmless_steps_cannot_mean_every_step() {
    let parse = |text: &str| {
        PolicyFile::parse(text, "p")
            .unwrap()
            .compile("p")
            .map(|_| ())
            .map_err(|error| error.to_string())
    };
    assert!(
        parse("[[harmless]]\nname = 'all'")
            .unwrap_err()
            .contains("every step would be harmless")
    );
    assert!(
        parse("[[harmless]]\ntools = ['x']")
            .unwrap_err()
            .contains("expected a name")
    );
    assert!(
        parse("[[harmless]]\nname = 'x'\ntools = ['x']\narguments = { a = '(' }")
            .unwrap_err()
            .contains("harmless[0].arguments")
    );
    assert!(parse("[mask]\nstyle = 'hash'").unwrap_err().contains("mask.key_env"));
}
