use super::*;
use proptest::prelude::*;

/// The same, read off the text before the place each time.
fn is_user_info_plainly(head: &str) -> bool {
    let delimits = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>' | '(');
    let word = head.rsplit(delimits).next().unwrap_or_default();
    word.rfind("://")
        .is_some_and(|scheme| !word[scheme + 3..].contains('/'))
}

#[test]
fn a_place_on_a_machine_is_no_mail_address() {
    let found = |text: &str| {
        let mut hits = Vec::new();
        emails(text, &mut hits);
        hits.len()
    };
    for place in [
        "scp a.tgz deploy@web1.acme.test:/srv/app/",
        "rsync -a x me@nas.acme.test:~/x",
        "git@hub.acme.test:me/x",
    ] {
        assert_eq!(found(place), 0, "{place}");
    }
    for address in [
        "write to anna@acme.test: she knows",
        "anna@acme.test:12",
        "<anna@acme.test>",
    ] {
        assert_eq!(found(address), 1, "{address}");
    }
}

proptest! {
    #[test]
    fn a_word_that_is_read_once_says_what_one_read_anew_says(text in "[ab:/ \"(é@]{0,60}", skip in 1usize..6) {
        let mut word = UrlWord::default();
        for (at, _) in text.char_indices().step_by(skip) {
            prop_assert_eq!(word.is_user_info(&text, at), is_user_info_plainly(&text[..at]), "{:?} at {}", text, at);
        }
    }
}
