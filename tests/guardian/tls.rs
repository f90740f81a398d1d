//! A judge behind TLS whose certificate only the operator's own authority vouches for.

use serde_json::json;

use crate::authority::Authority;
use crate::support::{ScriptedJudge, TestGuardian, user_message};

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_is_trusted_by_ca_file_and_by_nothing_else() {
    let judge = ScriptedJudge::answering(|asked| asked.answer("allow", &[], json!([]))).await;
    let (authority, stranger) = (Authority::new(), Authority::new());
    let front = authority.before(judge.address()).await;
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, authority: &Authority| {
        let path = folder.path().join(name);
        std::fs::write(&path, authority.pem()).unwrap();
        format!("ca_file = '{}'", path.display())
    };
    let ours = file("ours.pem", &authority);
    let both = folder.path().join("both.pem");
    std::fs::write(&both, stranger.pem() + &authority.pem()).unwrap();
    let both = format!("ca_file = '{}'", both.display());
    for (trust, source, decision, asked) in [
        ("", "fallback", "deny", 0),
        (file("theirs.pem", &stranger).as_str(), "fallback", "deny", 0),
        (ours.as_str(), "judge", "allow", 1),
        (both.as_str(), "judge", "allow", 2),
    ] {
        let guardian = TestGuardian::with(&format!(
            "[judge]\nbase_url = '{}'\nmodel = 'm'\nproxy = 'none'\n{trust}",
            front.url()
        ))
        .await;
        let reply = guardian.post(&user_message("What does a hammer cost?")).await;
        assert_eq!(
            (reply.source(), reply.decision()),
            (source, decision),
            "{trust}: {:?}",
            reply.json
        );
        assert_eq!(judge.asked(), asked, "{trust}");
        if source == "fallback" {
            assert_eq!(reply.reason_codes(), ["judge_unavailable"], "{trust}");
        }
    }
}
