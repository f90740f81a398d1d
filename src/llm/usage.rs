//! The usage of a call: tokens, and their cost.
//!
//! The usage of endpoints that report no count is estimated, and marked as an estimate.

use std::iter::Sum;
use std::ops::Add;

/// More tokens than this in one call are no count but a mistake.
const MAX_TOKENS: u64 = 100_000_000;

/// Tokens of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the prompt.
    pub prompt_tokens: u64,
    /// Tokens of the reply.
    pub completion_tokens: u64,
    /// The source of the count.
    pub counted: Counted,
}

/// The source of a count of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// The endpoint.
    ByEndpoint,
    /// No source: it is an estimate from the length of the texts.
    Estimated,
}

impl Usage {
    /// Returns the endpoint's count; `None` if it is impossible.
    pub(super) fn reported(prompt_tokens: u64, completion_tokens: u64) -> Option<Self> {
        let plausible = (1..=MAX_TOKENS).contains(&prompt_tokens) && completion_tokens <= MAX_TOKENS;
        plausible.then_some(Self {
            prompt_tokens,
            completion_tokens,
            counted: Counted::ByEndpoint,
        })
    }

    /// Makes an estimate for a prompt in these parts and a reply.
    pub(super) fn estimated(prompt: &[&str], reply: &str) -> Self {
        Self {
            prompt_tokens: prompt.iter().map(|text| estimate_tokens(text)).sum(),
            completion_tokens: estimate_tokens(reply),
            counted: Counted::Estimated,
        }
    }

    /// Returns the tokens of prompt and reply together.
    pub fn tokens(&self) -> u64 {
        self.prompt_tokens.saturating_add(self.completion_tokens)
    }
}

/// The usage of two calls; an estimate if one of them is.
impl Add for Usage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            prompt_tokens: self.prompt_tokens.saturating_add(other.prompt_tokens),
            completion_tokens: self.completion_tokens.saturating_add(other.completion_tokens),
            counted: match (self.counted, other.counted) {
                (Counted::ByEndpoint, Counted::ByEndpoint) => Counted::ByEndpoint,
                (Counted::Estimated, _) | (_, Counted::Estimated) => Counted::Estimated,
            },
        }
    }
}

/// Estimates the tokens of a text: four bytes of ASCII a token, one and a half other characters a token.
pub fn estimate_tokens(text: &str) -> u64 {
    // Every character that is not ASCII has exactly one leading byte.
    let (mut ascii, mut other) = (0u64, 0u64);
    // No more than a byte can count: the compiler then counts sixteen bytes at a time.
    for part in text.as_bytes().chunks(255) {
        ascii += u64::from(part.iter().map(|byte| u8::from(*byte < 0x80)).sum::<u8>());
        other += u64::from(part.iter().map(|byte| u8::from(*byte >= 0xC0)).sum::<u8>());
    }
    ascii.div_ceil(4) + (other * 2).div_ceil(3)
}

/// The price of a million tokens, in any unit the operator counts: a currency, credits, seconds of a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Price {
    /// Of the prompt.
    pub per_million_in: f64,
    /// Of the reply.
    pub per_million_out: f64,
}

impl Price {
    /// Returns the cost of this usage.
    pub fn of(&self, usage: &Usage) -> Cost {
        // A price per million tokens is a price per token in millionths.
        let micros =
            self.per_million_in * usage.prompt_tokens as f64 + self.per_million_out * usage.completion_tokens as f64;
        // Casts of floats saturate; prices are checked to be finite and not negative.
        Cost(micros.ceil() as u64)
    }
}

/// An amount in price units, exact to a millionth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cost(u64);

impl Cost {
    /// Makes an amount of so many millionths of a unit.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// Returns the millionths of a unit.
    pub const fn micros(self) -> u64 {
        self.0
    }

    /// Returns the units.
    pub fn units(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sum for Cost {
    fn sum<I: Iterator<Item = Self>>(costs: I) -> Self {
        costs.fold(Self::default(), Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_per_million_becomes_a_cost_exact_to_a_millionth() {
        let price = Price {
            per_million_in: 0.4,
            per_million_out: 1.6,
        };
        let usage = Usage::reported(2_000, 100).unwrap();
        assert_eq!(price.of(&usage), Cost::from_micros(960));
        assert!((price.of(&usage).units() - 0.000_96).abs() < 1e-12);
        assert_eq!(Price::default().of(&usage), Cost::default());
        assert_eq!(
            [Cost::from_micros(1), Cost::from_micros(u64::MAX)]
                .into_iter()
                .sum::<Cost>()
                .micros(),
            u64::MAX
        );
    }

    #[test]
    fn counts_that_cannot_be_are_none() {
        assert_eq!(Usage::reported(0, 5), None);
        assert_eq!(Usage::reported(u64::MAX, 5), None);
        assert_eq!(Usage::reported(7, 5).unwrap().tokens(), 12);
    }

    #[test]
    fn estimates_grow_with_the_text_and_are_marked() {
        let usage = Usage::estimated(&["abcd", "efgh"], "");
        assert_eq!((usage.prompt_tokens, usage.completion_tokens), (2, 0));
        assert_eq!(usage.counted, Counted::Estimated);
        assert_eq!(estimate_tokens("жжж"), 2);
        let both = usage + Usage::reported(1, 1).unwrap();
        assert_eq!((both.tokens(), both.counted), (4, Counted::Estimated));
    }
}
