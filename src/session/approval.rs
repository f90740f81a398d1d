//! Approvals: words of a user that make sense only as an answer.
//!
//! “Yes, do it” grants what it answers and nothing else. So such words are bound to the step before them.

use super::lexicon;

/// Words of a message that is nothing but an approval.
const MAX_WORDS: usize = 8;

/// Returns `true` if a message is nothing but an approval: few words, one of which agrees, and no value of its own.
pub(super) fn is_bare(text: &str) -> bool {
    if text.len() > 120 || text.contains(|c: char| c.is_ascii_digit() || matches!(c, '@' | '/' | '?')) {
        return false;
    }
    let words: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric() && c != '\'')
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    if words.is_empty() || words.len() > MAX_WORDS {
        return false;
    }
    let whole = words.join(" ");
    let begins = words.first().is_some_and(|first| lexicon::agrees(first));
    begins
        || lexicon::agreeing_phrases()
            .iter()
            .any(|phrase| whole.starts_with(phrase.as_str()) || whole.ends_with(phrase.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_yes_is_an_approval_and_a_request_is_none() {
        for text in [
            "yes",
            "OK!",
            "Yes, please do it.",
            "Go ahead",
            "sure, go for it",
            "Approved.",
            "Ja, bitte",
            "please go ahead",
            "Klar, mach das.",
            "D'accord, allez-y",
            "Doe maar",
        ] {
            assert!(is_bare(text), "{text}");
        }
        for text in [
            "",
            "Pay Ann 50 euros.",
            "yes, and also send the report to bob@shop.example",
            "Okay, then book the flight on Monday and tell the whole team about it please",
            "Is that ok?",
            "no",
            "Yesterday was fine",
        ] {
            assert!(!is_bare(text), "{text}");
        }
    }
}
