use super::*;
use crate::prefilter::Keywords;

fn in_text(text: &str) -> Vec<Found<'_>> {
    let hits = Keywords::of([words()]).hits(text);
    urls(text, hits.of(0)).found
}

fn texts(text: &str) -> Vec<(&str, LinkMode)> {
    in_text(text).into_iter().map(|found| (found.url, found.mode)).collect()
}

#[test]
fn every_url_is_found_with_its_stand() {
    assert_eq!(
        texts("See http://a.test/x, (https://b.test/y_(z)) and ![i](https://c.test/i.png?q=1)."),
        [
            ("http://a.test/x", LinkMode::Linked),
            ("https://b.test/y_(z)", LinkMode::Linked),
            ("https://c.test/i.png?q=1", LinkMode::Loaded)
        ]
    );
    assert_eq!(
        texts("https://a.test/?u=http://b.test/x"),
        [
            ("https://a.test/?u=http://b.test/x", LinkMode::Linked),
            ("http://b.test/x", LinkMode::Linked)
        ]
    );
    assert_eq!(
        texts("<img alt='' src=\"//c.test/p\">"),
        [("//c.test/p", LinkMode::Loaded)]
    );
    assert_eq!(
        texts("[a](https://a.test/?q={{ the secret }})"),
        [("https://a.test/?q={{ the secret }}", LinkMode::Linked)]
    );
    assert_eq!(
        texts("[x](JavaScript:alert(1))"),
        [("JavaScript:alert(1)", LinkMode::Linked)]
    );
    assert_eq!(texts("a :// b, c: d"), []);
}

proptest::proptest! {
    #[test]
    fn spans_are_the_urls(text in "[a-z:/.()\\[\\]{}!? é<>\"]{0,120}") {
        for found in in_text(&text) {
            proptest::prop_assert_eq!(text.get(found.span.clone()), Some(found.url));
        }
    }
}
