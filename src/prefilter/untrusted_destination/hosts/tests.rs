use super::*;

#[test]
fn addresses_are_placed_also_when_wrapped() {
    for (address, zone) in [
        ("169.254.169.254", Zone::Metadata),
        ("::ffff:169.254.169.254", Zone::Metadata),
        ("64:ff9b::a9fe:a9fe", Zone::Metadata),
        ("fd00:ec2::254", Zone::Metadata),
        ("127.8.9.1", Zone::Loopback),
        ("0.0.0.0", Zone::Loopback),
        ("::1", Zone::Loopback),
        ("2002:7f00:1::", Zone::Loopback),
        ("10.1.2.3", Zone::Private),
        ("100.64.0.1", Zone::Private),
        ("fc00::1", Zone::Private),
        ("93.184.216.34", Zone::Public),
        ("2606:4700::1111", Zone::Public),
    ] {
        assert_eq!(zone_of_address(address.parse().unwrap()), zone, "{address}");
    }
}

#[test]
fn imitations_are_seen_and_originals_are_not() {
    for name in [
        "g\u{043e}\u{043e}gle.com",
        "paypa1.com",
        "g00gle.com",
        "rnicrosoft.com",
        "githu\u{0431}.com",
    ] {
        assert!(imitates(name) || mixes_scripts(name), "{name}");
    }
    assert!(poses("github.com.sign-in.test"));
    for name in [
        "github.com",
        "google.com.au",
        "www.google.com.au",
        "apple.com.edgekey.net",
        "api.github.com",
    ] {
        assert!(!poses(name), "{name}");
    }
    for name in [
        "google.com",
        "mail.google.com",
        "b\u{fc}cher.example",
        "\u{4f8b}\u{3048}.jp",
        "github.io",
        "moon.test",
    ] {
        assert!(!imitates(name) && !mixes_scripts(name), "{name}");
    }
}
