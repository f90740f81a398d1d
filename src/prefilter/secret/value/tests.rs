use super::*;

#[test]
fn entropy_is_that_of_shannon() {
    assert_eq!(entropy(b""), 0.0);
    assert_eq!(entropy(b"aaaa"), 0.0);
    assert!((entropy(b"abab") - 1.0).abs() < 1e-9);
    assert!((entropy(b"abcdefgh") - 3.0).abs() < 1e-9);
    assert!((entropy(b"aab") - 0.918_295_8).abs() < 1e-6);
}

#[test]
fn words_and_paths_are_not_random_and_keys_are() {
    for word in [
        "service-account-token",
        "GITHUB_TOKEN",
        "my-app-v2-production",
        "getClientCredentials",
        "2026-05-06T09:08:54Z",
        "orders/database/primary",
        "1234567890123456",
        "com.example.security.TokenProvider",
    ] {
        assert!(!looks_random(word), "{word}");
    }
    for key in [
        "q8ZtVw3nYkR5xLp2Jd7s",
        "9f2c7b1e8d4a6035fc19e7b2",
        "3f8a1c52-9b7e-4d60-8a1f-72c4e95b0d13",
    ] {
        assert!(looks_random(key), "{key}");
    }
}

#[test]
fn references_are_no_values() {
    for reference in [
        "${DB}",
        "$DB",
        "{{ x }}",
        "<password>",
        "%DB_PASSWORD%",
        "os.environ['X']",
        "process.env.X",
        "!vault x",
    ] {
        assert!(is_reference(reference), "{reference}");
    }
    for value in [
        "m0oring-Line-42",
        "!Harb0ur",
        "$ecret-99!",
        "*Lantern7",
        "a<b9!x",
        "[x9",
    ] {
        assert!(!is_reference(value), "{value}");
    }
}
