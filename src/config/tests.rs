use super::*;

fn error(text: &str) -> String {
    let resolve = |text: &str| ConfigFile::parse(text, "g.toml")?.resolve("g.toml", Path::new("."));
    resolve(text).unwrap_err().to_string()
}

/// The reference with every example taken up.
fn reference_in_use() -> String {
    REFERENCE
        .lines()
        .map(|line| {
            line.strip_prefix('#')
                .filter(|rest| !rest.starts_with(' '))
                .unwrap_or(line)
        })
        .fold(String::new(), |text, line| text + line + "\n")
}

#[test]
fn the_reference_is_a_configuration_as_it_stands_and_in_full() {
    let defaults = ConfigFile::default().resolve("-", Path::new(".")).unwrap();
    let read = ConfigFile::parse(REFERENCE, "reference")
        .unwrap()
        .resolve("-", Path::new("."))
        .unwrap();
    assert_eq!(format!("{defaults:?}"), format!("{read:?}"));
    ConfigFile::parse(&reference_in_use(), "reference").unwrap();
}

#[test]
fn unknown_keys_are_refused_with_file_and_key() {
    for text in [
        "lisen = 'x'",
        "[judge]\nbase = 'x'",
        "[limits]\nrpm = 1",
        "[[organisations]]\nname = 'x'",
    ] {
        let error = error(text);
        assert!(
            error.starts_with("g.toml: ") && error.contains("unknown field"),
            "{error}"
        );
    }
}

#[test]
fn wrong_values_say_where_what_and_what_to_do() {
    assert_eq!(
        error("listen = 'here'"),
        "g.toml: `listen`: expected an address and port such as `127.0.0.1:8787` or `localhost:8787`, found `here`"
    );
    assert_eq!(
        error("[judge]\nmodel = 'm'"),
        "g.toml: `judge.base_url`: is needed when `[judge]` is there"
    );
    assert!(
        error("[judge]\nbase_url='http://h/v1'\nmodel='m'\non_failure='open'")
            .contains("`deny`, `allow`, `error`, found `open`")
    );
    assert!(
        error("[judge]\nbase_url='http://h/v1'\nmodel='m'\napi_key_env='NOT_SET_ANYWHERE'")
            .contains("`NOT_SET_ANYWHERE` is not set")
    );
    let canaries = |text: &str| {
        error(&format!(
            "[judge]\nbase_url='http://h/v1'\nmodel='m'\n[judge.canaries]\n{text}"
        ))
    };
    assert!(canaries("min_right = 0.9").contains("`judge.canaries.every_minutes`: is needed"));
    assert!(canaries("every_minutes = 0").contains("expected 1 to 10080, found 0"));
    assert!(canaries("every_minutes = 5\nmin_right = 80.0").contains("expected 0 to 1, found 80"));
    assert!(canaries("every_minutes = 5\non_alarm = 'stop'").contains("`log`, `deny`, found `stop`"));
    assert!(error("[[organisations]]\nid='a'").contains("organisations[0].api_keys"));
    assert!(error("[[organisations]]\nid='a'\napi_keys=['hunter2']").contains("does not belong into a file"));
    assert!(error("[limits]\nrequests_per_minute = 0").contains("leave it out for no limit"));
    let twice = format!(
        "[[organisations]]\nid='a'\napi_keys=['sha256:{0}']\n[[organisations]]\nid='b'\napi_keys=['sha256:{0}']",
        "ab".repeat(32)
    );
    assert!(error(&twice).contains("a key also belongs to `a`"));
}

#[test]
fn a_policy_is_a_profile_by_name_or_a_file() {
    let config = ConfigFile::parse("policy = 'redact'", "g")
        .unwrap()
        .resolve("g", Path::new("conf"))
        .unwrap();
    assert_eq!(config.organisations[0].policy, PolicyChoice::Profile("redact".into()));
    let config = ConfigFile::parse("policy = 'own.toml'", "g")
        .unwrap()
        .resolve("g", Path::new("conf"))
        .unwrap();
    assert_eq!(
        config.organisations[0].policy,
        PolicyChoice::File("conf/own.toml".into())
    );
}
