use super::*;
use crate::{audit, telemetry};

fn error(text: &str) -> String {
    let resolve = |text: &str| ConfigFile::parse(text, "g.toml")?.resolve("g.toml", Path::new("."));
    resolve(text).unwrap_err().to_string()
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
    // A key that is written where its variable's name belongs stands in no log.
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
    assert_eq!(chain.hedge_after.unwrap().as_millis(), 700);
    assert!(matches!(spare.proxy, crate::llm::Proxy::Direct));
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
    assert!(with("price_in=-1.0").contains("`judge.price_in`"));
    assert!(with("tokens_per_minute=0").contains("leave it out for no limit"));
    assert!(with("hedge_after_ms=0").contains("`judge.hedge_after_ms`"));
    assert!(with("[judge.breaker]\nfaults=3").contains("`judge.breaker`: was removed"));
    assert!(with("unusable_answers='guess'").contains("`ask_again`, `fail`, found `guess`"));
}

#[test]
fn a_budget_in_money_needs_prices_of_every_endpoint() {
    let judge = "[judge]\nbase_url='http://h/v1'\nmodel='m'\n";
    let prices = "price_in=0.4\nprice_out=1.6\n";
    let spare = "[[judge.endpoints]]\nbase_url='http://i/v1'\n";
    let budget = "[limits]\norganisation_spend_per_day=5.0\n";
    let own = format!(
        "[[organisations]]\nid='a'\nspend_per_day=5.0\napi_keys=['sha256:{}']\n",
        "12".repeat(32)
    );
    for (text, key, place) in [
        (
            format!("{budget}{judge}"),
            "limits.organisation_spend_per_day",
            "`judge`",
        ),
        (
            format!("{budget}{judge}price_in=0.4\n"),
            "limits.organisation_spend_per_day",
            "`judge`",
        ),
        (format!("{own}{judge}"), "organisations[0].spend_per_day", "`judge`"),
        (
            format!("{budget}{judge}{prices}{spare}"),
            "limits.organisation_spend_per_day",
            "`judge.endpoints[0]`",
        ),
        (
            format!("{budget}{judge}{prices}[judge.first]\nmodel='s'\n"),
            "limits.organisation_spend_per_day",
            "`judge.first`",
        ),
    ] {
        let error = error(&text);
        assert!(
            error.starts_with(&format!("g.toml: `{key}`: ")) && error.contains(place),
            "{text}: {error}"
        );
        assert!(error.contains("price_in"), "{error}");
    }
    assert!(error(budget).contains("no [judge] is configured"));
    for fine in [
        format!("{budget}{judge}{prices}"),
        format!("{budget}{judge}price_in=0.0\nprice_out=0.0\n"),
        format!("{budget}{judge}{prices}{spare}{prices}"),
    ] {
        ConfigFile::parse(&fine, "g")
            .unwrap()
            .resolve("g", Path::new("."))
            .expect(&fine);
    }
}

#[test]
fn metrics_cannot_have_the_address_of_the_server() {
    for (server, metrics) in [
        ("127.0.0.1:8787", "127.0.0.1:8787"),
        ("0.0.0.0:9100", "127.0.0.1:9100"),
        ("127.0.0.1:9100", "0.0.0.0:9100"),
    ] {
        let error = error(&format!("listen='{server}'\n[metrics]\nlisten='{metrics}'"));
        assert!(
            error.starts_with("g.toml: `metrics.listen`: is taken by the server"),
            "{error}"
        );
    }
    for fine in ["127.0.0.1:9101", "127.0.0.2:9100"] {
        let text = format!("listen='127.0.0.1:9100'\n[metrics]\nlisten='{fine}'");
        ConfigFile::parse(&text, "g")
            .unwrap()
            .resolve("g", Path::new("."))
            .expect(fine);
    }
}

#[test]
fn records_go_to_a_stream_that_there_is_or_to_a_file() {
    for slip in [
        "stdout",
        "STDERR",
        "none",
        "null",
        "true",
        "syslog",
        "journald",
        "-",
        "",
        " ",
        "stderr ",
        "off,stderr",
        "logs/",
        ".",
        "..",
    ] {
        let error = error(&format!("[audit]\nto = '{slip}'"));
        assert!(
            error.starts_with("g.toml: `audit.to`: expected `stderr`, `off`, a file"),
            "{slip}: {error}"
        );
    }
    let to = |text: &str| {
        let config = ConfigFile::parse(&format!("[audit]\nto = '{text}'"), "g").unwrap();
        config.resolve("g", Path::new("/etc")).unwrap().audit.unwrap()
    };
    assert_eq!(to("stderr"), audit::Settings::Stderr);
    assert_eq!(to("off"), audit::Settings::Off);
    assert_eq!(to("sqlite:audit.db"), audit::Settings::Sqlite("/etc/audit.db".into()));
    for file in ["audit.jsonl", "./stdout", "/var/log/guardian", "logs/audit"] {
        assert_eq!(to(file), audit::Settings::File(Path::new("/etc").join(file)));
    }
    assert!(error("[audit]\nto='off'\non_failure='refuse'").contains("`audit.on_failure`"));
    let postgres = "[audit]\nto='postgres://u:s3cret@db.example/g'\n";
    let kept = ConfigFile::parse(&format!("{postgres}keep='90 days'\nspool='spool'"), "g").unwrap();
    let kept = kept.resolve("g", Path::new("/etc")).unwrap();
    assert_eq!(
        kept.audit_keeping.keep,
        Some(std::time::Duration::from_secs(90 * 24 * 3_600))
    );
    assert_eq!(kept.audit_keeping.spool.unwrap().file, Path::new("/etc/spool"));
    assert!(matches!(&kept.audit, Some(audit::Settings::Postgres(address)) if address.shown() == "db.example/g"));
    assert!(!format!("{:?}", kept.audit).contains("s3cret"));
    for (wrong, key) in [
        ("keep='an hour'", "`audit.keep`"),
        ("keep='12 hours'", "`audit.keep`"),
        (
            "max_spool_bytes=2000000",
            "`audit.max_spool_bytes`: counts only where `spool` is set",
        ),
        ("sign_key_file='not-there.pem'", "`audit.sign_key_file`"),
        ("sign_key_env='NOT_SET_ANYWHERE'", "`audit.sign_key_env`"),
    ] {
        let found = error(&format!("{postgres}{wrong}"));
        assert!(found.contains(key) && !found.contains("s3cret"), "{found}");
    }
    let wrong = error("[audit]\nto='postgres://u:s3cret@/g?no_such=1'");
    assert!(wrong.contains("`audit.to`") && !wrong.contains("s3cret"), "{wrong}");
    for misplaced in ["spool='spool'", "keep='90 days'", "sign_key_file='key'"] {
        let to = if misplaced.starts_with("sign") {
            "stderr"
        } else {
            "audit.jsonl"
        };
        let found = error(&format!("[audit]\nto='{to}'\n{misplaced}"));
        assert!(found.contains("counts only where `to` is"), "{found}");
    }
}

#[test]
fn a_hash_of_no_key_is_refused() {
    use sha2::{Digest, Sha256};
    let of = |hash: &str| error(&format!("[[organisations]]\nid='a'\napi_keys=['sha256:{hash}']"));
    let hex = |text: &str| -> String { Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect() };
    assert_eq!(
        hex(""),
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    );
    for text in ["", "\n", " ", "\r\n", "\"\"", "null"] {
        assert!(of(&hex(text)).contains("the hash of no key"), "{text:?}");
        assert!(of(&hex(text).to_uppercase()).contains("the hash of no key"), "{text:?}");
    }
    assert!(of(&"+f".repeat(32)).contains("64 hexadecimal digits"));
    let twice = format!("['sha256:{0}','sha256:{0}']", "12".repeat(32));
    assert!(
        error(&format!("[[organisations]]\nid='a'\napi_keys={twice}"))
            .contains("`organisations[0].api_keys[1]`: this key is there twice")
    );
    assert!(error(&format!("[metrics]\napi_keys=['sha256:{}']", hex(""))).contains("`metrics.api_keys[0]`"));
}

#[test]
fn settings_that_could_never_take_effect_are_refused() {
    assert!(error("[judge]\nbase_url='http:///v1'\nmodel='m'").contains("expected a host after `://`"));
    assert!(error("[sessions]\nmax_bytes=1048576\nmax_session_bytes=4194304").contains("`sessions.max_session_bytes`"));
    assert!(error("[sessions]\nmax_disk_bytes=33554432").contains("`sessions.directory`: is needed"));
    for filter in ["verbose", "warn,loud", "inf"] {
        let settings = telemetry::Settings {
            filter: filter.to_owned(),
            ..telemetry::Settings::default()
        };
        assert!(
            telemetry::check(&settings)
                .unwrap_err()
                .to_string()
                .contains("is no level"),
            "{filter}"
        );
    }
}

#[test]
fn keys_that_nobody_needs_may_be_missing_and_are_told() {
    let text = "[judge]\nbase_url='http://h/v1'\nmodel='m'\napi_key_env='NOT_SET_ANYWHERE'\n\
                [[organisations]]\nid='a'\napi_keys=['env:NOT_SET_EITHER']";
    let config = ConfigFile::parse(text, "g").unwrap();
    let config = config.resolve_with("g", Path::new("."), Keys::Unneeded).unwrap();
    let missing: Vec<_> = config
        .missing_keys
        .iter()
        .map(|key| (key.whose, key.variable.as_str()))
        .collect();
    assert_eq!(
        missing,
        [
            (WhoseKey::Endpoint, "NOT_SET_ANYWHERE"),
            (WhoseKey::Caller, "NOT_SET_EITHER")
        ]
    );
    // No caller is let in without a key for that.
    assert_eq!(config.server.authentication, crate::server::Authentication::Keys);
}
