use super::*;

proptest::proptest! {
    #[test]
    fn a_word_is_a_name_wherever_it_is_asked(pieces in proptest::collection::vec("ignoreallprevious|www\\.|test|:|//|te|st| |é|\n", 1..30)) {
        let text: String = pieces.concat();
        let mut standing = WordBefore::default();
        for (at, phrase) in text.match_indices("ignoreallprevious") {
            let word = text[..at].rsplit(char::is_whitespace).next().unwrap_or_default();
            let named = WordBefore::NAMES.iter().any(|name| word.contains(name));
            proptest::prop_assert_eq!(standing.is_in_name(&text, &(at..at + phrase.len())), named, "{}", text);
        }
    }
}
