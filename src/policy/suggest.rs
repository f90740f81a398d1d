//! "Did you mean": the name that an unknown one was most likely meant to be.

/// More changes than this make another word of a name, not a misspelt one.
const MAX_CHANGES: usize = 3;

/// Returns the known name that is most like an unknown one, if one is like it.
fn nearest<'n>(unknown: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let wanted = unknown.to_lowercase();
    let most = (wanted.chars().count() / 2).clamp(1, MAX_CHANGES);
    known
        .map(|name| (strsim::osa_distance(&wanted, &name.to_lowercase()), name))
        .filter(|(changes, _)| *changes <= most)
        .min_by_key(|(changes, _)| *changes)
        .map(|(_, name)| name)
}

/// Returns a reader's message about an unknown key with the key that was most likely meant; any other message as it is.
pub fn with_suggestion(message: &str) -> String {
    let message = message.trim();
    let Some((_, rest)) = message.rsplit_once("unknown field `") else {
        return message.to_owned();
    };
    let unknown = rest.split('`').next().unwrap_or_default();
    // The names stand between back-quotes: after the unknown one, every second piece is one.
    let known = rest.split('`').skip(2).step_by(2);
    format!("{message}{}", did_you_mean(unknown, known))
}

/// The end of a message about an unknown name: the one that was most likely meant, or nothing.
pub fn did_you_mean<'n>(unknown: &str, known: impl Iterator<Item = &'n str>) -> String {
    nearest(unknown, known).map_or_else(String::new, |meant| format!("; did you mean `{meant}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_key_is_told_what_it_was_meant_to_be() {
        let message = "line 3: unknown field `forbidd`, expected one of `allow`, `forbid`, `deny`";
        assert_eq!(with_suggestion(message), format!("{message}; did you mean `forbid`?"));
        let one = "unknown field `denny`, expected `deny`";
        assert_eq!(with_suggestion(one), format!("{one}; did you mean `deny`?"));
        for other in [
            "unknown field `xyzzy`, expected one of `allow`, `deny`",
            "expected a string",
        ] {
            assert_eq!(with_suggestion(other), other);
        }
    }
}
