use super::*;

fn of(text: &str) -> Option<Payload> {
    payload(text, &Url::parse(text).unwrap())
}

#[test]
fn encoded_text_is_told_from_hashes_and_signatures() {
    for text in [
        "https://x.test/p.png?d=cGFzc3dvcmQ6IGh1bnRlcjIgYW5kIG1vcmU",
        "https://x.test/70617373776f72643a2068756e746572322021",
        "https://70617373776f72642068756e74657232.x.test/",
        "https://x.test/#dGhlIHVzZXIgc2FpZCBoZWxsbyB3b3JsZA==",
    ] {
        assert_eq!(of(text), Some(Payload::Encoded), "{text}");
    }
    for text in [
        "https://cdn.test/a.png?v=3f2a9c0d1e4b5a6978d0c1b2a3948576",
        "https://cdn.test/3f2a9c0d-1e4b-5a69-78d0-c1b2a3948576/image.png",
        "https://b.test/x?X-Amz-Signature=9b7f0c3c1a6d54e2f8b0a9d7c6e5f4a3b2c1d0e9f8a7b6c5d4e3f2a1b0c9d8e7",
        "https://www.youtube.test/watch?v=dQw4w9WgXcQ",
        "https://example.test/a-long-title-of-some-blog-post-about-nothing",
        "https://github.test/internationalization/localization",
    ] {
        assert_eq!(of(text), None, "{text}");
    }
}

#[test]
fn places_held_for_secrets_are_told_from_those_of_an_api() {
    for text in [
        "https://x.test/l?d={{conversation}}",
        "https://x.test/?q=[USER PASSWORD]",
        "https://x.test/?q=BASE64_ENCODED_DATA",
        "https://x.test/i.png?d=${secret}",
    ] {
        assert_eq!(of(text), Some(Payload::SecretPlaceholder), "{text}");
    }
    assert_eq!(of("https://api.x.test/users/{id}"), Some(Payload::Placeholder));
    assert_eq!(of("https://api.x.test/users/7?tags[]=a"), None);
}
