use http::HeaderMap;
use sha2::{Digest, Sha256};

use super::*;
use crate::model::OrganisationId;

fn headers(name: &'static str, value: &str) -> HeaderMap {
    HeaderMap::from_iter([(name.parse().unwrap(), value.parse().unwrap())])
}

fn keyring(key: &str) -> Keyring {
    let mut keyring = Keyring::default();
    let key = Key {
        digest: Sha256::digest(key).into(),
        name: "key-1".into(),
        scopes: Scopes::JUDGE,
        expires: None,
    };
    keyring.insert(key, OrganisationId::new("acme"));
    keyring
}

#[tokio::test]
async fn a_key_speaks_for_its_organisation_in_either_header() {
    let keyring = keyring("the-key");
    for (name, value) in [
        ("authorization", "Bearer the-key"),
        ("authorization", "bearer  the-key "),
        ("x-api-key", "the-key"),
    ] {
        let identity = keyring.identify(&headers(name, value), None).await.unwrap();
        assert_eq!(identity.caller.organisation.as_str(), "acme");
    }
    for (headers, denied) in [
        (HeaderMap::new(), Denied::Missing),
        (headers("authorization", "Basic the-key"), Denied::Missing),
        (headers("x-api-key", "another"), Denied::Unknown),
        (headers("x-api-key", "looks.like.one"), Denied::Unknown),
    ] {
        assert_eq!(keyring.identify(&headers, None).await, Err(denied));
    }
}

#[tokio::test]
async fn an_empty_key_is_none_whatever_is_configured() {
    let keyring = keyring("");
    for (name, value) in [
        ("authorization", "Bearer "),
        ("authorization", "Bearer    "),
        ("x-api-key", ""),
        ("x-api-key", "  "),
    ] {
        let denied = keyring.identify(&headers(name, value), None).await;
        assert_eq!(denied, Err(Denied::Missing), "{name}: {value}");
    }
}

#[test]
fn names_in_certificates_are_whole() {
    let rule = |text: &str| CertificateRule::parse(text, OrganisationId::new("acme"));
    for right in [
        "cn:a",
        "o:Acme Ltd",
        "dns:a.example",
        "uri:spiffe://acme/*",
        "uri:spiffe://acme/a",
    ] {
        assert!(rule(right).is_ok(), "{right}");
    }
    for wrong in [
        "",
        "a",
        "cn:",
        "cn:*",
        "cn:a*",
        "dns:*.example",
        "uri:*",
        "uri:spiffe://*/a",
        "email:a",
    ] {
        assert!(rule(wrong).is_err(), "{wrong}");
    }
    assert_eq!(Names::of(b"no certificate"), Names::default());
}
