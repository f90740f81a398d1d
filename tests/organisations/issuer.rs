//! An issuer of tokens: its keys behind HTTP, and what it signs.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use rcgen::KeyPair;
use serde_json::{Value, json};
use wiremock::matchers::path;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

/// How the issuer answers who asks for its keys.
#[derive(Clone, Copy)]
pub(crate) enum Mood {
    Well,
    Gone,
    Slow,
    Huge,
    NotJson,
    Moved,
}

/// A running issuer.
pub(crate) struct Issuer {
    server: MockServer,
    state: Arc<Mutex<State>>,
}

struct State {
    keys: Vec<(String, KeyPair)>,
    mood: Mood,
    asked: usize,
}

struct Keys(Arc<Mutex<State>>);

impl Respond for Keys {
    fn respond(&self, _request: &Request) -> ResponseTemplate {
        let mut state = self.0.lock().unwrap();
        state.asked += 1;
        let keys: Vec<Value> = state.keys.iter().map(|(id, key)| jwk(id, key)).collect();
        let set = json!({ "keys": keys });
        match state.mood {
            Mood::Well => ResponseTemplate::new(200).set_body_json(set),
            Mood::Gone => ResponseTemplate::new(404),
            Mood::Slow => ResponseTemplate::new(200)
                .set_body_json(set)
                .set_delay(Duration::from_secs(60)),
            Mood::Huge => {
                ResponseTemplate::new(200).set_body_json(json!({ "keys": keys, "filler": "x".repeat(1 << 20) }))
            }
            Mood::NotJson => ResponseTemplate::new(200).set_body_string("<html>"),
            Mood::Moved => ResponseTemplate::new(302).insert_header("location", "http://127.0.0.1:9/keys"),
        }
    }
}

fn jwk(id: &str, key: &KeyPair) -> Value {
    let (x, y) = key.public_key_raw()[1..].split_at(32);
    let encode = |bytes| URL_SAFE_NO_PAD.encode(bytes);
    json!({ "kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": id, "x": encode(x), "y": encode(y) })
}

impl Issuer {
    pub(crate) async fn start() -> Self {
        let server = MockServer::start().await;
        let state = Arc::new(Mutex::new(State {
            keys: vec![("k1".to_owned(), KeyPair::generate().unwrap())],
            mood: Mood::Well,
            asked: 0,
        }));
        let keys = Mock::given(path("/keys")).respond_with(Keys(Arc::clone(&state)));
        keys.mount(&server).await;
        let metadata = json!({ "issuer": server.uri(), "jwks_uri": format!("{}/keys", server.uri()) });
        Mock::given(path("/.well-known/openid-configuration"))
            .respond_with(ResponseTemplate::new(200).set_body_json(metadata))
            .mount(&server)
            .await;
        Self { server, state }
    }

    pub(crate) fn url(&self) -> String {
        self.server.uri()
    }

    /// The sections of a configuration that trusts it, for two organisations that have no keys.
    pub(crate) fn trusted(&self, more: &str) -> String {
        format!(
            "[oidc]\nissuer = \"{}\"\naudience = \"guardian\"\nname = \"login\"\nunknown_key_seconds = 1\n{more}\n\
             [[organisations]]\nid = \"acme\"\n[[organisations]]\nid = \"globex\"\n",
            self.url()
        )
    }

    pub(crate) fn feels(&self, mood: Mood) {
        self.state.lock().unwrap().mood = mood;
    }

    pub(crate) fn asked(&self) -> usize {
        self.state.lock().unwrap().asked
    }

    /// Signs with another key from now on, and shows the old one no more.
    pub(crate) fn rotate(&self, id: &str) {
        self.state.lock().unwrap().keys = vec![(id.to_owned(), KeyPair::generate().unwrap())];
    }

    /// The public key, as an attacker knows it.
    pub(crate) fn public_key(&self) -> Vec<u8> {
        self.state.lock().unwrap().keys[0].1.public_key_raw().to_vec()
    }

    /// Claims that are accepted.
    pub(crate) fn claims(&self, organisation: &str) -> Value {
        let now = jiff::Timestamp::now().as_second();
        json!({
            "iss": self.url(), "aud": "guardian", "sub": "agent-7", "organisation": organisation,
            "iat": now, "nbf": now, "exp": now + 300,
        })
    }

    pub(crate) fn token(&self, organisation: &str) -> String {
        self.sign(&self.claims(organisation))
    }

    /// A token of this type.
    pub(crate) fn of_type(&self, of_type: Option<&str>) -> String {
        let state = self.state.lock().unwrap();
        let (id, key) = &state.keys[0];
        typed(&self.claims("acme"), Some(id), key, of_type)
    }

    pub(crate) fn sign(&self, claims: &Value) -> String {
        let state = self.state.lock().unwrap();
        let (id, key) = &state.keys[0];
        signed(claims, Some(id), key)
    }
}

/// A token that this key signs.
pub(crate) fn signed(claims: &Value, id: Option<&str>, key: &KeyPair) -> String {
    typed(claims, id, key, Some("JWT"))
}

/// The same of this type.
pub(crate) fn typed(claims: &Value, id: Option<&str>, key: &KeyPair, of_type: Option<&str>) -> String {
    let header = Header {
        kid: id.map(str::to_owned),
        typ: of_type.map(str::to_owned),
        ..Header::new(Algorithm::ES256)
    };
    jsonwebtoken::encode(&header, claims, &EncodingKey::from_ec_der(&key.serialize_der())).unwrap()
}

/// A token of this header and these claims, with this in the place of a signature.
pub(crate) fn assembled(header: &Value, claims: &Value, signature: &[u8]) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!(
        "{}.{}.{}",
        part(header),
        part(claims),
        URL_SAFE_NO_PAD.encode(signature)
    )
}
