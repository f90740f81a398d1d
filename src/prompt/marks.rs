//! The marks of one call: the name of its fence and its canary.

use uuid::Uuid;

/// Digits of the name of a fence. It stands twice around every text, so it is short; it need not be long: wherever a text
/// holds it, it is shown escaped.
pub const FENCE_DIGITS: usize = 12;
/// Digits of a canary, too many to be guessed.
pub const CANARY_DIGITS: usize = 32;

/// The marks of one call to the judge. Fresh for every call, so that no content can know them.
#[derive(Clone, PartialEq, Eq)]
pub struct Marks {
    /// The name of the fence around untrusted text; [`FENCE_DIGITS`] hexadecimal digits.
    pub fence: String,
    /// The value that the judge has to give back; [`CANARY_DIGITS`] hexadecimal digits.
    pub canary: String,
}

impl Marks {
    /// Draws new marks from the operating system's random source.
    pub fn fresh() -> Self {
        Self {
            fence: digits(FENCE_DIGITS),
            canary: digits(CANARY_DIGITS),
        }
    }

    /// Takes given marks, to render the same prompt again: in tests, and to replay a recorded call.
    pub fn fixed(fence: impl Into<String>, canary: impl Into<String>) -> Self {
        Self {
            fence: fence.into(),
            canary: canary.into(),
        }
    }
}

fn digits(length: usize) -> String {
    Uuid::new_v4().simple().to_string().chars().take(length).collect()
}

/// The values stay out of logs: an attacker that knows them during a call can write what the judge believes.
impl std::fmt::Debug for Marks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Marks { .. }")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fresh_marks_are_hexadecimal_and_never_the_same() {
        let (one, two) = (Marks::fresh(), Marks::fresh());
        assert_ne!(one.fence, two.fence);
        assert_ne!(one.canary, two.canary);
        assert_eq!((one.fence.len(), one.canary.len()), (FENCE_DIGITS, CANARY_DIGITS));
        for mark in [&one.fence, &one.canary] {
            assert!(mark.bytes().all(|b| b.is_ascii_hexdigit()));
        }
    }
}
