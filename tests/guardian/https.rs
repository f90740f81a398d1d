//! A guardian that speaks TLS itself.

use std::path::Path;
use std::sync::Arc;

use aos_guardian::access::Keyring;
use aos_guardian::config::ConfigFile;
use aos_guardian::server::{Control, Server, TlsSettings};
use aos_guardian::{app, audit};
use serde_json::Value;

use crate::authority::{Authority, Pair};
use crate::support::user_message;

struct Https {
    url: String,
    control: Control,
    settings: TlsSettings,
    folder: tempfile::TempDir,
}

fn write(folder: &Path, pair: &Pair) {
    std::fs::write(folder.join("server.pem"), &pair.certificate).unwrap();
    std::fs::write(folder.join("server.key"), &pair.key).unwrap();
}

async fn https(pair: &Pair, more: &str) -> Https {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), pair);
    std::fs::write(folder.path().join("clients.pem"), more).unwrap();
    let client_ca = if more.is_empty() {
        ""
    } else {
        "client_ca = \"clients.pem\""
    };
    let text =
        format!("listen = \"127.0.0.1:0\"\n[tls]\ncertificate = \"server.pem\"\nkey = \"server.key\"\n{client_ca}");
    let config = ConfigFile::parse(&text, "t")
        .unwrap()
        .resolve("t", folder.path())
        .unwrap();
    let guardian = Arc::new(app::guardian(&config, &audit::Settings::Off).unwrap());
    let keyring = app::keyring(&config).unwrap();
    let server = Server::bind(config.server.clone(), config.wire, guardian, keyring).unwrap();
    let (url, control) = (format!("https://{}/", server.address()), server.control());
    tokio::spawn(server.run());
    let settings = config.server.tls.unwrap();
    Https {
        url,
        control,
        settings,
        folder,
    }
}

fn client(authority: &Authority, identity: Option<&Pair>) -> reqwest::Client {
    let root = reqwest::Certificate::from_pem(authority.pem().as_bytes()).unwrap();
    let mut builder = reqwest::Client::builder().no_proxy().tls_certs_only([root]);
    if let Some(pair) = identity {
        let pem = format!("{}{}", pair.certificate, pair.key);
        builder = builder.identity(reqwest::Identity::from_pem(pem.as_bytes()).unwrap());
    }
    builder.build().unwrap()
}

async fn posted(client: &reqwest::Client, url: &str) -> Result<(reqwest::Version, Value), reqwest::Error> {
    let reply = client
        .post(url)
        .json(&user_message("What does a hammer cost?"))
        .send()
        .await?;
    Ok((reply.version(), reply.json().await?))
}

#[tokio::test(flavor = "multi_thread")]
async fn steps_are_answered_over_tls_in_both_versions_of_http_and_not_without() {
    let authority = Authority::new();
    let server = https(&authority.pair(), "").await;
    let trusting = client(&authority, None);
    let (version, reply) = posted(&trusting, &server.url).await.unwrap();
    assert_eq!(
        (version, &reply["result"]["decision"]),
        (reqwest::Version::HTTP_2, &"allow".into())
    );
    let many = (0..50).map(|_| posted(&trusting, &server.url));
    let many = futures_util::future::join_all(many).await;
    assert!(
        many.into_iter()
            .all(|reply| reply.unwrap().1["result"]["decision"] == "allow")
    );
    let root = reqwest::Certificate::from_pem(authority.pem().as_bytes()).unwrap();
    let old = reqwest::Client::builder()
        .no_proxy()
        .http1_only()
        .tls_certs_only([root])
        .build()
        .unwrap();
    assert_eq!(posted(&old, &server.url).await.unwrap().0, reqwest::Version::HTTP_11);
    assert!(posted(&client(&Authority::new(), None), &server.url).await.is_err());
    assert!(posted(&trusting, &server.url.replace("https", "http")).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_needs_a_certificate_where_its_authority_is_named() {
    let (authority, clients) = (Authority::new(), Authority::new());
    let server = https(&authority.pair(), &clients.pem()).await;
    assert!(posted(&client(&authority, None), &server.url).await.is_err());
    assert!(
        posted(&client(&authority, Some(&authority.pair())), &server.url)
            .await
            .is_err()
    );
    assert!(
        posted(&client(&authority, Some(&clients.pair())), &server.url)
            .await
            .is_ok()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_change_without_an_end_to_what_stands_and_not_for_broken_ones() {
    let (first, second) = (Authority::new(), Authority::new());
    let server = https(&first.pair(), "").await;
    let standing = client(&first, None);
    posted(&standing, &server.url).await.unwrap();
    std::fs::write(&server.settings.certificate, "no certificate").unwrap();
    let prepare = |tls| server.control.prepare(Keyring::default(), tls);
    let error = prepare(Some(&server.settings)).err().unwrap().to_string();
    assert!(
        error.contains("`tls.certificate`") && error.contains("server.pem"),
        "{error}"
    );
    posted(&client(&first, None), &server.url).await.unwrap();
    write(server.folder.path(), &second.pair());
    prepare(Some(&server.settings)).unwrap().put_in_force();
    posted(&standing, &server.url).await.unwrap();
    posted(&client(&second, None), &server.url).await.unwrap();
    assert!(posted(&client(&first, None), &server.url).await.is_err());
    assert!(prepare(None).is_err());
}
