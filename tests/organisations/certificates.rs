//! Client certificates: their names speak for organisations.

use std::sync::Arc;

use aos_guardian::config::ConfigFile;
use aos_guardian::server::Server;
use aos_guardian::{app, audit};
use serde_json::Value;

use crate::authority::{Authority, Pair};
use crate::hash;
use crate::support::user_message;

async fn asked(authority: &Authority, pair: &Pair, key: Option<&str>, address: &str) -> (u16, Value) {
    let root = reqwest::Certificate::from_pem(authority.pem().as_bytes()).unwrap();
    let identity = reqwest::Identity::from_pem(format!("{}{}", pair.certificate, pair.key).as_bytes()).unwrap();
    let client = reqwest::Client::builder()
        .no_proxy()
        .tls_certs_only([root])
        .identity(identity)
        .build()
        .unwrap();
    let post = client.post(format!("https://{address}/")).json(&user_message("hello"));
    let mut who = client.get(format!("https://{address}/v1/whoami"));
    let post = match key {
        Some(key) => {
            who = who.bearer_auth(key);
            post.bearer_auth(key)
        }
        None => post,
    };
    let status = post.send().await.unwrap().status().as_u16();
    (status, who.send().await.unwrap().json().await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_in_a_certificate_speaks_for_its_organisation_and_for_no_other() {
    let (authority, clients) = (Authority::new(), Authority::new());
    let folder = tempfile::tempdir().unwrap();
    let server = authority.pair();
    for (name, text) in [
        ("s.pem", &server.certificate),
        ("s.key", &server.key),
        ("c.pem", &clients.pem()),
    ] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let text = format!(
        "listen = \"127.0.0.1:0\"\n[tls]\ncertificate = \"s.pem\"\nkey = \"s.key\"\nclient_ca = \"c.pem\"\n\
         [[organisations]]\nid = \"acme\"\ncertificates = [\"uri:spiffe://acme.example/*\"]\napi_keys = [\"sha256:{}\"]\n\
         [[organisations]]\nid = \"globex\"\ncertificates = [\"cn:globex-agent\", \"dns:agent.globex.example\"]\napi_keys = [\"sha256:{}\"]\n",
        hash("acme-key-0123456789"),
        hash("globex-key-0123456789")
    );
    let config = ConfigFile::parse(&text, "t")
        .unwrap()
        .resolve("t", folder.path())
        .unwrap();
    let guardian = Arc::new(app::guardian(&config, &audit::Settings::Off).unwrap());
    let server = Server::bind(
        config.server.clone(),
        config.wire,
        guardian,
        app::keyring(&config).unwrap(),
    )
    .unwrap();
    let address = server.address().to_string();
    tokio::spawn(server.run());
    let named = |name: &str, alternative: &[&str]| clients.pair_named(name, alternative);
    let acme = named("agent", &["uri:spiffe://acme.example/agents/7"]);
    let (status, who) = asked(&authority, &acme, None, &address).await;
    assert_eq!((status, &who["organisation"]), (200, &"acme".into()), "{who}");
    assert_eq!(who["caller"], "certificate:spiffe://acme.example/agents/7");
    for pair in [named("globex-agent", &[]), named("x", &["dns:AGENT.globex.example"])] {
        assert_eq!(
            asked(&authority, &pair, None, &address).await.1["organisation"],
            "globex"
        );
    }
    for (pair, status) in [
        (named("stranger", &["uri:spiffe://acme.example.evil/1"]), 401),
        (named("globex-agent.evil", &["dns:globex-agent"]), 401),
        (named("globex-agent", &["uri:spiffe://acme.example/1"]), 403),
    ] {
        assert_eq!(asked(&authority, &pair, None, &address).await.0, status);
    }
    assert_eq!(
        asked(&authority, &acme, Some("acme-key-0123456789"), &address).await.0,
        200
    );
    assert_eq!(
        asked(&authority, &acme, Some("globex-key-0123456789"), &address)
            .await
            .0,
        403,
        "of another organisation"
    );
    assert_eq!(
        asked(&authority, &acme, Some("wrong-key-0123456789"), &address).await.0,
        401
    );
    let stranger = named("stranger", &[]);
    assert_eq!(
        asked(&authority, &stranger, Some("globex-key-0123456789"), &address)
            .await
            .0,
        200,
        "a key is enough"
    );
}
