//! The replacement of masked text.

use std::fmt;

use crate::model::{Finding, ReasonCode};

/// The style in which masked text is replaced.
#[derive(Clone, PartialEq, Eq)]
pub enum MaskStyle {
    /// Twelve stars, as in the AOS examples.
    Stars,
    /// The kind of the text, after its rule: `[EMAIL]`, `[GITHUB_PAT]`.
    Placeholder,
    /// Stars, and the last four characters where those are digits: `********1234`.
    LastFour,
    /// The kind of the text and twelve hexadecimal digits of a keyed hash: equal values stay equal, `[EMAIL:1f0c2a9b7d3e]`.
    Hash {
        /// The key: BLAKE3 of what the configured variable holds.
        key: [u8; 32],
    },
}

/// The key stays out of logs.
impl fmt::Debug for MaskStyle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

const STARS: &str = "************";

impl MaskStyle {
    /// Returns the name in policies.
    pub const fn as_str(&self) -> &'static str {
        match self {
            MaskStyle::Stars => "stars",
            MaskStyle::Placeholder => "placeholder",
            MaskStyle::LastFour => "last_four",
            MaskStyle::Hash { .. } => "hash",
        }
    }

    /// Returns the replacement for a part of an argument: one plain word in every style. Stars and brackets mean something to a shell,
    /// a path or a pattern.
    pub fn word(&self, finding: &Finding, text: &str) -> String {
        let stand_in = self.stand_in(finding, text);
        let plain: String = stand_in
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || *c == '_')
            .collect();
        format!("MASKED{plain}")
    }

    /// Returns the replacement for a text that a finding wants masked.
    pub fn stand_in(&self, finding: &Finding, text: &str) -> String {
        let what = finding.rule.rsplit('.').next().unwrap_or_default().to_ascii_uppercase();
        match self {
            MaskStyle::Stars => STARS.to_owned(),
            MaskStyle::Placeholder => format!("[{what}]"),
            MaskStyle::LastFour => last_four(text).map_or_else(|| STARS.to_owned(), |four| format!("********{four}")),
            MaskStyle::Hash { key } => {
                let hash = blake3::keyed_hash(key, text.as_bytes()).to_hex();
                format!("[{what}:{}]", hash.chars().take(12).collect::<String>())
            }
        }
    }

    /// Returns the replacement for a text of which only the reason for masking is known.
    pub fn stand_in_for(&self, reason: &ReasonCode) -> String {
        match self {
            MaskStyle::Stars | MaskStyle::LastFour => STARS.to_owned(),
            MaskStyle::Placeholder | MaskStyle::Hash { .. } => format!("[{}]", reason.as_str().to_ascii_uppercase()),
        }
    }
}

/// Returns the last four digits of a text of at least twelve characters that ends in four digits.
fn last_four(text: &str) -> Option<&str> {
    let (_, four) = text.split_at_checked(text.len().checked_sub(4)?)?;
    (text.len() >= 12 && four.bytes().all(|byte| byte.is_ascii_digit())).then_some(four)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing::finding;

    #[test]
    fn each_style_stands_in_as_it_says() {
        let card = finding("personal_data.payment_card");
        let of = |style: &MaskStyle, text: &str| style.stand_in(&card, text);
        assert_eq!(of(&MaskStyle::Stars, "4111 1111 1111 1234"), "************");
        assert_eq!(of(&MaskStyle::Placeholder, "4111 1111 1111 1234"), "[PAYMENT_CARD]");
        assert_eq!(of(&MaskStyle::LastFour, "4111 1111 1111 1234"), "********1234");
        assert_eq!(of(&MaskStyle::LastFour, "Jane Doe"), "************");
        assert_eq!(of(&MaskStyle::LastFour, "1234"), "************");
        assert_eq!(MaskStyle::Stars.word(&card, "4111 1111 1111 1234"), "MASKED");
        assert_eq!(
            MaskStyle::Placeholder.word(&card, "4111 1111 1111 1234"),
            "MASKEDPAYMENT_CARD"
        );
        let (one, other) = (MaskStyle::Hash { key: [1; 32] }, MaskStyle::Hash { key: [2; 32] });
        assert_eq!(of(&one, "a"), of(&one, "a"));
        assert_ne!(of(&one, "a"), of(&one, "b"));
        assert_ne!(of(&one, "a"), of(&other, "a"));
        assert!(!format!("{one:?}").contains('1'), "the key is in the debug output");
    }
}
