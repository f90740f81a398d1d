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
        let guardian = TestGuardian::without_scorer(&format!(
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
            assert_eq!(reply.result()["data"]["diagnostics"][0], "tls", "{:?}", reply.json);
            assert!(
                reply.result()["reasoning"].as_str().unwrap().contains("`ca_file`"),
                "{:?}",
                reply.json
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_keeps_an_endpoint_away_has_a_name_and_a_remedy_in_the_denial() {
    let judge = ScriptedJudge::answering(|asked| asked.answer("allow", &[], json!([]))).await;
    let streaming = ScriptedJudge::responding(|_| {
        wiremock::ResponseTemplate::new(200)
            .set_body_raw("data: {\"choices\":[]}\n\n", "text/event-stream; charset=utf-8")
    })
    .await;
    let plain = judge.url().replace("http://", "https://");
    let nobody = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    for (base_url, code, remedy) in [
        (
            format!("http://{nobody}/v1"),
            "connection_refused",
            "host and port of `base_url`",
        ),
        (
            "http://no-such-host.invalid/v1".to_owned(),
            "dns",
            "the host of `base_url`",
        ),
        (format!("{plain}/v1"), "tls", "begin with `http://`"),
        (format!("{}/v2", judge.url()), "path_not_found", "check `base_url`"),
        (format!("{}/v1", streaming.url()), "event_stream", "turn off"),
    ] {
        let guardian = TestGuardian::without_scorer(&format!(
            "[judge]\nbase_url = '{base_url}'\nmodel = 'm'\nproxy = 'none'"
        ))
        .await;
        let reply = guardian.post(&user_message("What does a hammer cost?")).await;
        assert_eq!((reply.decision(), reply.source()), ("deny", "fallback"), "{base_url}");
        assert_eq!(
            reply.result()["data"]["diagnostics"][0],
            code,
            "{base_url}: {:?}",
            reply.json
        );
        let reasoning = reply.result()["reasoning"].as_str().unwrap();
        assert!(
            reasoning.contains(code) && reasoning.contains(remedy),
            "{base_url}: {reasoning}"
        );
    }
}
