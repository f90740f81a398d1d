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
    // Whoever writes the key where its variable's name belongs does not find it in a log.
    let key = error("[judge]\nbase_url='http://h/v1'\nmodel='m'\napi_key_env='sk-3kd93jd9'");
    assert!(
        key.contains("`judge.api_key_env`: expected the name of an environment variable") && !key.contains("3kd93jd9"),
        "{key}"
    );
    let key = error("[[organisations]]\nid='a'\napi_keys=['env:s3cret-4711']");
    assert!(key.contains("expected the name") && !key.contains("4711"), "{key}");
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
    assert!(error("[sessions]\norganisation_share = 2.0").contains("over 0 and up to 1, found 2"));
    assert!(error("[sessions]\nmax_steps = 0").contains("`sessions.max_steps`: expected 1 to 10000, found 0"));
    let off = ConfigFile::parse("[sessions]\nenabled = false", "g")
        .unwrap()
        .resolve("g", Path::new("."))
        .unwrap();
    assert_eq!(off.sessions, None);
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

fn endpoints(judge: &str) -> Result<crate::llm::ChainSettings, String> {
    let file = ConfigFile::parse(judge, "g.toml").map_err(|error| error.to_string())?;
    let config = file
        .resolve("g.toml", Path::new("."))
        .map_err(|error| error.to_string())?;
    Ok(config.judge.expect("a judge").llm)
}

#[test]
fn further_endpoints_follow_the_first_and_take_over_no_key_and_no_header() {
    let chain = endpoints(
        "[judge]\nbase_url='http://h/v1'\nmodel='m'\nmax_output_tokens=900\nhedge_after_ms=700\nheaders={x='1'}\n\
         [judge.breaker]\nfaults=3\n\
         [[judge.endpoints]]\nname='spare'\nbase_url='http://i/v1'\nprice_in=0.5\nrequests_per_minute=9\nproxy='none'",
    )
    .unwrap();
    let [first, spare] = chain.endpoints.as_slice() else {
        panic!("expected two endpoints, found {chain:?}");
    };
    assert_eq!((first.headers.len(), spare.headers.len()), (1, 0));
    assert_eq!(
        (spare.name.as_str(), spare.model.as_str(), spare.max_output_tokens),
        ("spare", "m", 900)
    );
    assert_eq!(
        (
            spare.price.per_million_in,
            spare.rates.requests_per_minute.unwrap().get()
        ),
        (0.5, 9)
    );
    assert!(matches!(spare.proxy, crate::llm::Proxy::Direct));
    assert_eq!((chain.hedge_after.unwrap().as_millis(), chain.breaker.faults), (700, 3));
}

#[test]
fn a_list_of_endpoints_can_be_all_there_is() {
    let chain = endpoints("[judge]\nmodel='m'\n[[judge.endpoints]]\nbase_url='http://i/v1'").unwrap();
    assert_eq!(chain.endpoints.len(), 1);
}

#[test]
fn a_wrong_endpoint_says_which_key_of_which_endpoint() {
    let fine = "[judge]\nbase_url='http://h/v1'\nmodel='m'\n";
    let with = |more: &str| endpoints(&format!("{fine}{more}")).unwrap_err();
    assert!(with("[[judge.endpoints]]\nmodel='n'").contains("`judge.endpoints[0].base_url`"));
    assert!(with("[[judge.endpoints]]\nbase_url='nowhere'").contains("`judge.endpoints[0]`: `base_url`"));
    assert!(with("[[judge.endpoints]]\nurl='x'").contains("unknown field"));
    assert!(with("api='azure'").contains("`judge.api_version`"));
    assert!(with("api_version='1'").contains("only for `api = \"azure\"`"));
    assert!(with("api='bedrock'").contains("`openai`, `azure`, found `bedrock`"));
    assert!(with("ca_file='not-there.pem'").contains("`judge.ca_file`"));
    assert!(with("proxy='here'").contains("`proxy`"));
    assert!(with("price_in=-1.0").contains("`price_in`"));
    assert!(with("tokens_per_minute=0").contains("leave it out for no limit"));
    assert!(with("hedge_after_ms=0").contains("`judge.hedge_after_ms`"));
    assert!(with("[judge.breaker]\nfaults=0").contains("`judge.breaker.faults`"));
    assert!(with("unusable_answers='guess'").contains("`ask_again`, `fail`, found `guess`"));
}
