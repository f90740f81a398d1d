//! Keys with scopes and an end.

use crate::hash;
use crate::support::{TestGuardian, user_message};

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
