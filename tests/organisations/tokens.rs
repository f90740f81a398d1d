//! Access tokens: whose they are, and which are refused.

use std::time::{Duration, Instant};

use rcgen::KeyPair;
use serde_json::{Value, json};

use crate::issuer::{Issuer, Mood, assembled, signed};
use crate::support::{Reply, TestGuardian, user_message};

async fn whoami(guardian: &TestGuardian, token: &str) -> (u16, Value) {
    let address = format!("{}v1/whoami", guardian.url);
    let reply = reqwest::Client::builder().no_proxy().build().unwrap();
    let reply = reply.get(address).bearer_auth(token).send().await.unwrap();
    (reply.status().as_u16(), reply.json().await.unwrap())
}

async fn post(guardian: &TestGuardian, path: &str, token: &str, body: &Value) -> (u16, String) {
    let request = guardian.request_to(path).bearer_auth(token).json(body);
    let reply = request.send().await.unwrap();
    (reply.status().as_u16(), reply.text().await.unwrap())
}

fn told(reply: &Reply) -> String {
    reply.json["error"]["message"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_speaks_for_its_organisation_at_every_door() {
    let issuer = Issuer::start().await;
    let gateway = "[[gateways]]\nprotocol = \"a2a\"\nlisten = \"/gw\"\ndirection = \"egress\"\norganisation = \"acme\"\n\
                   upstream = \"http://127.0.0.1:9\"\nclient_tokens = true\n";
    let guardian = TestGuardian::with(&format!("{}{gateway}", issuer.trusted(""))).await;
    let (acme, globex) = (issuer.token("acme"), issuer.token("globex"));
    let (status, who) = whoami(&guardian, &globex).await;
    assert_eq!(status, 200, "{who}");
    assert_eq!(
        (&who["organisation"], &who["caller"]),
        (&json!("globex"), &json!("token:login:agent-7"))
    );
    assert_eq!(who["scopes"], json!(["judge"]));
    assert_eq!(
        guardian.post_as(&acme, &user_message("hello")).await.decision(),
        "allow"
    );
    assert_eq!(
        guardian.post_as(&globex, &user_message("hello")).await.decision(),
        "allow"
    );
    assert_eq!(guardian.post(&user_message("hello")).await.status, 401);
    let log = json!({"messages": [{"role": "user", "content": "hello"}]});
    assert_eq!(post(&guardian, "v1/judge", &acme, &log).await.0, 200);
    assert_eq!(post(&guardian, "v1/judge", "no.such.token", &log).await.0, 401);
    let event = json!({"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Read", "tool_input": {"file_path": "a"}});
    assert_eq!(post(&guardian, "hook/claude-code", &acme, &event).await.0, 200);
    assert_eq!(post(&guardian, "hook/claude-code", "a.b.c", &event).await.0, 401);
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"id": "t"}});
    assert_ne!(
        post(&guardian, "gw/", &acme, &call).await.0,
        401,
        "of the gateway's organisation"
    );
    assert_eq!(post(&guardian, "gw/", &globex, &call).await.0, 401, "of another one");
    assert_eq!(post(&guardian, "gw/", "", &call).await.0, 401);
    let records = guardian.records(4).await;
    let text = serde_json::to_string(&records).unwrap();
    assert!(text.contains("token:login:agent-7") && !text.contains(&acme), "{text}");
    assert_eq!(issuer.asked(), 1, "keys are fetched once");
}

/// What is wrong, a token, and what is said of it.
type Wrong = Vec<(&'static str, String, &'static str)>;

fn wrong_claims(issuer: &Issuer) -> Wrong {
    let with = |name: &str, value: Value| {
        let mut claims = issuer.claims("acme");
        claims[name] = value;
        issuer.sign(&claims)
    };
    let now = jiff::Timestamp::now().as_second();
    let mut nameless = issuer.claims("acme");
    nameless.as_object_mut().unwrap().remove("exp");
    vec![
        (
            "another issuer",
            with("iss", json!("https://login.example.com")),
            "its issuer is not trusted",
        ),
        ("another audience", with("aud", json!("payroll")), "another audience"),
        ("no audience", with("aud", json!([])), "another audience"),
        ("expired", with("exp", json!(now - 3_600)), "it has expired"),
        ("not yet", with("nbf", json!(now + 3_600)), "it is not valid yet"),
        ("no end", issuer.sign(&nameless), "`exp`, `iss` or `aud` is missing"),
        (
            "no organisation",
            with("organisation", Value::Null),
            "it names no organisation",
        ),
        (
            "two organisations",
            with("organisation", json!(["acme", "globex"])),
            "it names no organisation",
        ),
        (
            "a path",
            with("organisation", json!("../acme")),
            "it names no organisation",
        ),
        ("no caller", with("sub", json!("")), "it names no caller"),
        (
            "a caller of two lines",
            with("sub", json!("a\nb")),
            "it names no caller",
        ),
    ]
}

fn wrong_signatures(issuer: &Issuer, good: &str) -> Wrong {
    let own = KeyPair::generate().unwrap();
    let claims = issuer.claims("acme");
    let (message, signature) = good.rsplit_once('.').unwrap();
    let confused = {
        // The public key, known to every caller, as the secret of an HMAC.
        let header = jsonwebtoken::Header {
            kid: Some("k1".to_owned()),
            ..jsonwebtoken::Header::new(jsonwebtoken::Algorithm::HS256)
        };
        let secret = jsonwebtoken::EncodingKey::from_secret(&issuer.public_key());
        jsonwebtoken::encode(&header, &claims, &secret).unwrap()
    };
    vec![
        (
            "a stranger's key",
            signed(&claims, Some("k1"), &own),
            "its signature is wrong",
        ),
        (
            "an unknown key",
            signed(&claims, Some("k9"), &own),
            "its key is none of its issuer's",
        ),
        (
            "none",
            assembled(&json!({"alg": "none", "typ": "JWT"}), &claims, b""),
            "expected a signed JWT",
        ),
        (
            "None",
            assembled(&json!({"alg": "None", "kid": "k1"}), &claims, b""),
            "expected a signed JWT",
        ),
        ("a shared secret", confused, "its algorithm is not allowed"),
        (
            "ES384 with a key of ES256",
            assembled(&json!({"alg": "ES384", "kid": "k1"}), &claims, &[0; 96]),
            "its algorithm is not allowed",
        ),
        (
            "a critical extension",
            assembled(
                &json!({"alg": "ES256", "kid": "k1", "crit": ["b64"], "b64": false}),
                &claims,
                &[0; 64],
            ),
            "expected a signed JWT",
        ),
        (
            "other claims under a good signature",
            {
                let other = assembled(&json!({"alg": "ES256", "kid": "k1"}), &issuer.claims("globex"), b"");
                format!("{}.{signature}", other.trim_end_matches('.'))
            },
            "its signature is wrong",
        ),
        ("no signature", format!("{message}."), "its signature is wrong"),
        (
            "too long",
            format!("{message}{}.{signature}", "A".repeat(20_000)),
            "expected a signed JWT",
        ),
        ("no JWT", "a.b.c".to_owned(), "expected a signed JWT"),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_that_are_wrong_in_one_thing_are_refused() {
    let issuer = Issuer::start().await;
    let guardian = TestGuardian::with(&issuer.trusted("")).await;
    let good = issuer.token("acme");
    let (_, signature) = good.rsplit_once('.').unwrap();
    for (what, token, said) in wrong_claims(&issuer)
        .into_iter()
        .chain(wrong_signatures(&issuer, &good))
    {
        let reply = guardian.post_as(&token, &user_message("hello")).await;
        assert_eq!(reply.status, 401, "{what}: {reply:?}");
        assert!(told(&reply).contains(said), "{what}: {}", told(&reply));
        assert!(!told(&reply).contains(signature), "{what}");
    }
    assert_eq!(
        guardian.post_as(&good, &user_message("hello")).await.decision(),
        "allow"
    );
    let gone = guardian.post_as(&issuer.token("initech"), &user_message("hello")).await;
    assert_eq!(
        (gone.status, gone.error_code()),
        (403, -32003),
        "an organisation that is not served"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_may_be_an_access_token_by_its_type_is_one() {
    let issuer = Issuer::start().await;
    let guardian = TestGuardian::with(&issuer.trusted("")).await;
    for (of_type, is_accepted) in [
        (None, true),
        (Some("JWT"), true),
        (Some("at+jwt"), true),
        (Some("application/AT+JWT"), true),
        (Some("logout+jwt"), false),
        (Some("secevent+jwt"), false),
        (Some("dpop+jwt"), false),
        (Some("application/"), false),
        (Some(""), false),
    ] {
        let reply = guardian.post_as(&issuer.of_type(of_type), &user_message("hello")).await;
        assert_eq!(
            reply.status,
            if is_accepted { 200 } else { 401 },
            "{of_type:?}: {reply:?}"
        );
        assert!(
            is_accepted || told(&reply).contains("`typ`"),
            "{of_type:?}: {}",
            told(&reply)
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn scopes_of_a_token_say_what_it_may_do() {
    let issuer = Issuer::start().await;
    let guardian =
        TestGuardian::with(&issuer.trusted("scope_claim = \"scope\"\norganisation_claim = \"/org/id\"")).await;
    for (scope, may) in [
        (json!("openid guardian:judge"), true),
        (json!(["guardian:judge", "guardian:audit"]), true),
        (json!("guardian:audit"), false),
        (json!("judge"), false),
        (Value::Null, false),
    ] {
        let mut claims = issuer.claims("globex");
        claims["org"] = json!({"id": "acme"});
        claims["scope"] = scope.clone();
        let token = issuer.sign(&claims);
        assert_eq!(whoami(&guardian, &token).await.1["organisation"], "acme", "{scope}");
        let reply = guardian.post_as(&token, &user_message("hello")).await;
        assert_eq!(reply.status, if may { 200 } else { 403 }, "{scope}: {reply:?}");
        let names_the_claim = told(&reply).contains("expected `guardian:judge` in its claim `scope`");
        assert_eq!(names_the_claim, !may, "{reply:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_doctor_asks_issuers_for_their_keys() {
    let issuer = Issuer::start().await;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("guardian.toml"), issuer.trusted("")).unwrap();
    for (mood, code, found) in [
        (Mood::Well, 0, "1 keys for signatures"),
        (Mood::Gone, 1, "expected status 200, found 404"),
    ] {
        issuer.feels(mood);
        let mut doctor = std::process::Command::new(env!("CARGO_BIN_EXE_guardian"));
        doctor
            .args(["doctor", "--config", "guardian.toml"])
            .current_dir(folder.path());
        let output = tokio::task::spawn_blocking(move || doctor.output().unwrap())
            .await
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(code), "{text}");
        assert!(
            text.lines().any(|line| line.contains("issuer") && line.contains(found)),
            "{text}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_cannot_be_had_refuse_and_do_not_hang() {
    for mood in [Mood::Gone, Mood::Slow, Mood::Huge, Mood::NotJson, Mood::Moved] {
        let issuer = Issuer::start().await;
        issuer.feels(mood);
        let guardian = TestGuardian::with(&issuer.trusted("")).await;
        let begun = Instant::now();
        let token = issuer.token("acme");
        let asking = (0..20).map(|_| async { guardian.post_as(&token, &user_message("hello")).await.status });
        let answers = futures_util::future::join_all(asking).await;
        assert!(answers.iter().all(|status| *status == 503), "{answers:?}");
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
        assert!(issuer.asked() <= 2, "asked {} times", issuer.asked());
        issuer.feels(Mood::Well);
        until_accepted(&guardian, &token).await;
        issuer.feels(Mood::Gone);
        assert_eq!(
            guardian.post_as(&token, &user_message("hello")).await.status,
            200,
            "what is known goes on to be used"
        );
    }
}

async fn until_accepted(guardian: &TestGuardian, token: &str) {
    for _ in 0..200 {
        if guardian.post_as(token, &user_message("hello")).await.status == 200 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("never accepted");
}

#[tokio::test(flavor = "multi_thread")]
async fn other_keys_in_mid_flight_are_fetched_once_and_old_ones_end() {
    let issuer = Issuer::start().await;
    let guardian = TestGuardian::with(&issuer.trusted("")).await;
    let old = issuer.token("acme");
    until_accepted(&guardian, &old).await;
    issuer.rotate("k2");
    let new = issuer.token("acme");
    until_accepted(&guardian, &new).await;
    assert_eq!(issuer.asked(), 2);
    assert_eq!(
        guardian.post_as(&old, &user_message("hello")).await.status,
        401,
        "its key was withdrawn"
    );
    let before = issuer.asked();
    let (stranger, claims) = (KeyPair::generate().unwrap(), issuer.claims("acme"));
    let flood = (0..100).map(|n| {
        let token = signed(&claims, Some(&format!("made-up-{n}")), &stranger);
        let guardian = &guardian;
        async move { guardian.post_as(&token, &user_message("hello")).await.status }
    });
    let begun = Instant::now();
    let answers = futures_util::future::join_all(flood).await;
    let seconds = usize::try_from(begun.elapsed().as_secs()).unwrap();
    assert!(answers.iter().all(|status| *status == 401), "{answers:?}");
    assert!(
        issuer.asked() <= before + 2 + seconds,
        "asked {} times more",
        issuer.asked() - before
    );
    until_accepted(&guardian, &new).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_are_too_old_are_used_no_more() {
    let issuer = Issuer::start().await;
    let guardian = TestGuardian::with(&issuer.trusted("refresh_seconds = 1\nmax_stale_seconds = 3")).await;
    let token = issuer.token("acme");
    until_accepted(&guardian, &token).await;
    issuer.feels(Mood::Gone);
    let begun = Instant::now();
    let mut last = 200;
    while begun.elapsed() < Duration::from_secs(10) && last == 200 {
        last = guardian.post_as(&token, &user_message("hello")).await.status;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(last, 503);
    assert!(begun.elapsed() > Duration::from_millis(1_500), "{:?}", begun.elapsed());
}

#[test]
fn settings_that_would_trust_too_much_are_refused() {
    let refused = |text: &str| {
        let text = format!("{text}\n[[organisations]]\nid = \"acme\"\n");
        let file = aos_guardian::config::ConfigFile::parse(&text, "t");
        let read = file.and_then(|file| file.resolve("t", std::path::Path::new(".")));
        read.err().map(|error| error.to_string()).unwrap_or_default()
    };
    let good = "issuer = \"https://login.example.com\"\naudience = \"guardian\"";
    assert_eq!(refused(&format!("[oidc]\n{good}")), "");
    assert_eq!(
        refused(&format!(
            "[[oidc]]\n{good}\n[[oidc]]\nissuer = \"https://b.example\"\naudience = \"g\""
        )),
        ""
    );
    for (text, said) in [
        ("[oidc]\naudience = \"guardian\"".to_owned(), "`oidc.issuer`"),
        (
            "[oidc]\nissuer = \"https://login.example.com\"".to_owned(),
            "`oidc.audience`",
        ),
        (
            "[oidc]\nissuer = \"http://login.example.com\"\naudience = \"g\"".to_owned(),
            "https://",
        ),
        (
            format!("[oidc]\n{good}\njwks_url = \"http://login.example.com/keys\""),
            "`oidc.jwks_url`",
        ),
        (
            format!("[oidc]\n{good}\nalgorithms = [\"HS256\"]"),
            "`oidc.algorithms[0]`",
        ),
        (
            format!("[oidc]\n{good}\nalgorithms = [\"none\"]"),
            "`oidc.algorithms[0]`",
        ),
        (format!("[oidc]\n{good}\nalgorithms = []"), "at least one"),
        (
            format!("[oidc]\n{good}\norganisation = \"initech\""),
            "expected the id of one of `[[organisations]]`",
        ),
        (format!("[oidc]\n{good}\nissuers = 1"), "unknown field `issuers`"),
        (format!("[[oidc]]\n{good}\n[[oidc]]\n{good}"), "is there twice"),
    ] {
        assert!(refused(&text).contains(said), "{text}: {}", refused(&text));
    }
    assert!(refused("").contains("no caller could speak for it"));
}
