use proptest::prelude::*;

use super::*;
use crate::text::bytes::Digits;

fn found(text: &str) -> Vec<&str> {
    let mut hits = Vec::new();
    find(text, Digits(text.as_bytes()), &mut hits);
    hits.into_iter().map(|hit| &text[hit.span]).collect()
}

#[test]
fn addresses_are_found_without_a_label() {
    for address in [
        "12 Rose Lane, Camden",
        "742 Linden Terrace, Springfield, IL 62704",
        "Hauptstraße 12, 10115 Berlin",
        "Bahnhofstrasse 5 in 8001 Zürich",
        "Berliner Straße 7a",
        "15 rue de la Paix, 75002 Paris",
        "Calle Mayor 45, 28013 Madrid",
        "221B Baker Street, London NW1 6XE",
        "1600 Maple Ave NW, Washington, DC 20500",
        "Via Roma 10, 00184 Roma",
        "Keizersgracht 123, 1015 CJ Amsterdam",
        "350 Fifth Avenue, New York, NY 10118",
        "ul. Marszałkowska 10, 00-590 Warszawa",
        "Storgatan 5, 111 22 Stockholm",
    ] {
        for text in [
            address.to_owned(),
            format!("She moved: {address}.\nBye"),
            format!("he lives at {address}; he said"),
        ] {
            assert_eq!(found(&text), [address], "{text}");
        }
    }
    assert_eq!(found("we meet at 18 King Road tomorrow"), ["18 King Road"]);
}

#[test]
fn other_numbers_beside_names_are_none() {
    for text in [
        "the 5 Star Road Trip",
        "3 Main Street Journal articles",
        "Chapter 12 High Street retail",
        "On 12 May Anna drove 40 km",
        "Version 5 Drive Letters",
        "String 5, Spring 2026, During 2025",
        "via port 22 and Via Email",
        "10 Way",
        "{\"street\": \"12 Quay Road\"}",
        "page 12 St Andrews",
    ] {
        assert_eq!(found(text), Vec::<&str>::new(), "{text}");
    }
}

proptest! {
    #[test]
    fn no_text_is_too_odd(text in "(Via |Haupt|straße |12|5b| Rose| Lane|, |é|\n|1011 CJ| rue de|[A-Z]){0,20}") {
        found(&text);
    }
}
