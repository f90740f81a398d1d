//! Keys with scopes and an end.

use crate::hash;
use crate::support::{TestGuardian, user_message};

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_names_another_organisation_is_refused_denied_or_ignored() {
    let two = format!(
        "[[organisations]]\nid = \"acme\"\napi_keys = [\"sha256:{}\"]\n[[organisations]]\nid = \"globex\"\napi_keys = [\"sha256:{}\"]\n",
        hash("acme-key-0123456789"),
        hash("globex-key-0123456789")
    );
    for (policy, status_of_another, is_denied) in [
        ("", 403, false),
        ("other_organisation = \"deny\"\n", 200, true),
        ("other_organisation = \"ignore\"\n", 200, false),
    ] {
        let guardian = TestGuardian::with(&format!("{policy}{two}")).await;
        for (place, name, value, another) in [
            ("user", "id", "globex", true),
            ("identity", "name", "globex", true),
            ("user", "id", "acme", false),
            ("user", "name", "Globex Ltd", false),
        ] {
            let mut request = user_message("hello");
            request["params"]["context"][place] = serde_json::json!({"id": "u", "organization": {name: value}});
            let reply = guardian.post_as("acme-key-0123456789", &request).await;
            let status = if another { status_of_another } else { 200 };
            assert_eq!(reply.status, status, "{policy} {place} {name} {value}: {reply:?}");
            if status == 200 {
                let told = reply
                    .json
                    .to_string()
                    .contains("names another organisation that is served here");
                assert_eq!(told, another && is_denied, "{policy} {place} {name} {value}: {reply:?}");
                assert!(!told || reply.decision() == "deny", "{reply:?}");
            }
        }
        let accepted = if status_of_another == 403 { 2 } else { 4 };
        let records = guardian.records(accepted).await;
        assert!(
            records.iter().all(|record| record["organisation"] == "acme"),
            "{records:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_good_for_its_scopes_and_until_its_end() {
    let key = |name: &str, more: &str| {
        let hash = hash(&format!("{name}-key-0123456789"));
        format!("[[organisations.keys]]\nname = \"{name}\"\nkey = \"sha256:{hash}\"\n{more}\n")
    };
    let keys = [
        key("plain", ""),
        key("until", "expires = \"2999-01-01\""),
        key("over", "expires = \"2020-01-01T00:00:00Z\""),
        key("reader", "scopes = [\"audit\"]"),
        key("both", "scopes = [\"audit\", \"judge\"]"),
    ];
    let guardian = TestGuardian::with(&format!("[[organisations]]\nid = \"acme\"\n{}", keys.concat())).await;
    for (name, status) in [
        ("plain", 200),
        ("until", 200),
        ("over", 401),
        ("reader", 403),
        ("both", 200),
        ("none", 401),
    ] {
        let key = format!("{name}-key-0123456789");
        let reply = guardian.post_as(&key, &user_message("hello")).await;
        assert_eq!(reply.status, status, "{name}: {reply:?}");
    }
    let records = guardian.records(3).await;
    assert_eq!(records[0]["caller"], "plain");
}
