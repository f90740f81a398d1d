//! The dialect of an endpoint: found out by asking, then remembered.
//!
//! Endpoints that call themselves compatible differ in three things: whether a reply can be held to a schema, the name of the limit of output tokens,
//! and whether a temperature may be given. A call starts with the remembered dialect (at first: strict schema, `max_tokens`, temperature). When the
//! endpoint refuses the request, the next dialect is tried.
//!
//! Only a call that *succeeds* settles what is remembered, and only what an endpoint clearly said is settled for good:
//! otherwise content that makes an endpoint refuse a request could talk us down to plain text. Endpoints do change, though
//! (another server behind the same address), and then three calls for each step are too dear. So, where a settled dialect is
//! refused and a looser one works:
//!
//! - once: the next call begins with the settled one, as if nothing had happened;
//! - [`SLIPS`] times in a row: calls begin with the looser one for a while ([`FIRST_WHILE`], doubling up to
//!   [`MAX_WHILE`]), then one call tries the settled one again.
//!
//! The same while is given to a looser dialect that was found only because an endpoint refused a request without a reason.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::{Complaint, StructuredOutput};

/// The number of times in a row that the settled dialect is refused before calls begin with a looser one.
const SLIPS: u32 = 2;
/// The number of requests in a row that are refused without a reason before other dialects are tried again.
const ODD_REFUSALS: u32 = 5;
/// The time for which calls begin with the looser dialect at first.
const FIRST_WHILE: Duration = Duration::from_secs(60);
/// The longest that they do.
const MAX_WHILE: Duration = Duration::from_secs(3600);

/// The format that the reply is held to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A strict JSON schema.
    JsonSchema,
    /// Some JSON object.
    JsonObject,
    /// No format.
    Text,
}

/// The name of the limit of output tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenLimit {
    /// Understood nearly everywhere.
    MaxTokens,
    /// The name that newer models of OpenAI require.
    MaxCompletionTokens,
}

/// The presence of the temperature in requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Temperature {
    Sent,
    Omitted,
}

/// One way of asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dialect {
    pub(super) format: Format,
    pub(super) token_limit: TokenLimit,
    pub(super) temperature: Temperature,
}

/// The origin of the format: one that is chosen here may change when the endpoint refuses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    Ours,
    Configured,
}

/// The certainty of the remembered dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Certainty {
    /// Nothing has worked yet, or not for a long time.
    Guess,
    /// It has worked.
    Settled,
}

/// The remembered dialect of an endpoint.
#[derive(Debug)]
pub(super) struct Memory {
    choice: Choice,
    known: Mutex<DialectState>,
}

#[derive(Debug)]
struct DialectState {
    dialect: Dialect,
    certainty: Certainty,
    /// A looser dialect that is used for a while.
    detour: Option<Detour>,
    /// The number of times in a row that the dialect was refused and a looser one worked.
    slips: u32,
    /// The number of requests in a row that were refused without a reason.
    odd_refusals: u32,
}

#[derive(Clone, Copy, Debug)]
struct Detour {
    dialect: Dialect,
    until: Instant,
    lasts: Duration,
}

impl Memory {
    pub(super) fn new(configured: StructuredOutput) -> Self {
        let (format, choice) = match configured {
            StructuredOutput::Auto => (Format::JsonSchema, Choice::Ours),
            StructuredOutput::JsonSchema => (Format::JsonSchema, Choice::Configured),
            StructuredOutput::JsonObject => (Format::JsonObject, Choice::Configured),
            StructuredOutput::Text => (Format::Text, Choice::Configured),
        };
        let dialect = Dialect {
            format,
            token_limit: TokenLimit::MaxTokens,
            temperature: Temperature::Sent,
        };
        Self {
            choice,
            known: Mutex::new(DialectState {
                dialect,
                certainty: Certainty::Guess,
                detour: None,
                slips: 0,
                odd_refusals: 0,
            }),
        }
    }

    /// Returns the dialect to begin with.
    pub(super) fn recall(&self) -> (Dialect, Certainty) {
        self.lock().recall(Instant::now())
    }

    /// Learns that a call that began with one dialect succeeded in another, or the same.
    pub(super) fn learn(&self, began: Dialect, worked: Dialect, reason: Option<Complaint>) {
        self.lock().learn(Instant::now(), began, worked, reason);
    }

    /// Notes that a request was refused, and no other dialect helped.
    pub(super) fn refused(&self) {
        self.lock().refused();
    }

    fn lock(&self) -> MutexGuard<'_, DialectState> {
        // Nothing that can panic happens under the lock.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the dialect to try after the endpoint refused this one; `None` when there is none left.
    pub(super) fn after(&self, refused: Dialect, complaint: Complaint, certainty: Certainty) -> Option<Dialect> {
        match complaint {
            Complaint::ResponseFormat => self.looser(refused),
            Complaint::TokenLimit => (refused.token_limit == TokenLimit::MaxTokens).then_some(Dialect {
                token_limit: TokenLimit::MaxCompletionTokens,
                ..refused
            }),
            Complaint::Temperature => (refused.temperature == Temperature::Sent).then_some(Dialect {
                temperature: Temperature::Omitted,
                ..refused
            }),
            // Older endpoints refuse what they do not know without naming it.
            Complaint::Unspecified => match certainty {
                Certainty::Guess => self.looser(refused),
                Certainty::Settled => None,
            },
        }
    }

    fn looser(&self, refused: Dialect) -> Option<Dialect> {
        let format = match (self.choice, refused.format) {
            (Choice::Configured, _) | (_, Format::Text) => return None,
            (Choice::Ours, Format::JsonSchema) => Format::JsonObject,
            (Choice::Ours, Format::JsonObject) => Format::Text,
        };
        Some(Dialect { format, ..refused })
    }
}

impl DialectState {
    fn recall(&self, now: Instant) -> (Dialect, Certainty) {
        match self.detour {
            Some(detour) if now < detour.until => (detour.dialect, Certainty::Settled),
            Some(_) | None => (self.dialect, self.certainty),
        }
    }

    fn learn(&mut self, now: Instant, began: Dialect, worked: Dialect, reason: Option<Complaint>) {
        self.odd_refusals = 0;
        if self.certainty == Certainty::Guess && reason != Some(Complaint::Unspecified) {
            self.dialect = worked;
            self.certainty = Certainty::Settled;
            self.detour = None;
            self.slips = 0;
        } else if worked == self.dialect {
            self.certainty = Certainty::Settled;
            self.detour = None;
            self.slips = 0;
        } else if began == self.dialect {
            self.slips += 1;
            // A dialect that was refused without a reason is not worth asking for twice.
            if self.slips >= SLIPS || self.certainty == Certainty::Guess {
                let lasts = self.detour.map_or(FIRST_WHILE, |detour| detour.lasts.saturating_mul(2));
                let lasts = lasts.min(MAX_WHILE);
                self.detour = Some(Detour {
                    dialect: worked,
                    until: now + lasts,
                    lasts,
                });
            }
        }
    }

    fn refused(&mut self) {
        self.odd_refusals += 1;
        if self.odd_refusals >= ODD_REFUSALS {
            self.odd_refusals = 0;
            self.certainty = Certainty::Guess;
            self.detour = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;

    fn at(seconds: u64) -> Instant {
        static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);
        *BEGUN + Duration::from_secs(seconds)
    }

    fn known() -> DialectState {
        Memory::new(StructuredOutput::Auto).known.into_inner().unwrap()
    }

    fn object(dialect: Dialect) -> Dialect {
        Dialect {
            format: Format::JsonObject,
            ..dialect
        }
    }

    const FORMAT: Option<Complaint> = Some(Complaint::ResponseFormat);

    #[test]
    fn what_an_endpoint_clearly_says_is_settled_with_the_first_success() {
        let mut known = known();
        let (strict, certainty) = known.recall(at(0));
        assert_eq!((strict.format, certainty), (Format::JsonSchema, Certainty::Guess));
        known.learn(at(0), strict, object(strict), FORMAT);
        assert_eq!(known.recall(at(1_000_000)), (object(strict), Certainty::Settled));
    }

    #[test]
    fn a_settled_dialect_is_not_talked_down_by_one_refusal() {
        let mut known = known();
        let (strict, _) = known.recall(at(0));
        known.learn(at(0), strict, strict, None);
        for _ in 0..10 {
            known.learn(at(0), strict, object(strict), FORMAT);
            assert_eq!(known.recall(at(0)), (strict, Certainty::Settled));
            known.learn(at(0), strict, strict, None);
        }
    }

    #[test]
    fn an_endpoint_that_changed_costs_further_calls_only_now_and_then() {
        let mut known = known();
        let (strict, _) = known.recall(at(0));
        known.learn(at(0), strict, strict, None);
        let mut dear = 0;
        // A call a second for two hours, of an endpoint that takes no schema any more.
        for second in 0..7_200 {
            let (began, _) = known.recall(at(second));
            dear += u32::from(began == strict);
            let reason = (began == strict).then_some(Complaint::ResponseFormat);
            known.learn(at(second), began, object(strict), reason);
        }
        assert!((SLIPS..=10).contains(&dear), "{dear}");
        // It takes one again.
        let later = at(20_000);
        assert_eq!(known.recall(later).0, strict);
        known.learn(later, strict, strict, None);
        assert_eq!(known.recall(later), (strict, Certainty::Settled));
    }

    #[test]
    fn what_was_found_without_a_reason_is_used_for_a_while() {
        let mut known = known();
        let (strict, _) = known.recall(at(0));
        known.learn(at(0), strict, object(strict), Some(Complaint::Unspecified));
        assert_eq!(known.recall(at(59)), (object(strict), Certainty::Settled));
        assert_eq!(known.recall(at(61)), (strict, Certainty::Guess));
        known.learn(at(61), strict, strict, None);
        assert_eq!(known.recall(at(61)), (strict, Certainty::Settled));
    }

    #[test]
    fn an_endpoint_that_refuses_everything_is_looked_at_anew() {
        let mut known = known();
        let (strict, _) = known.recall(at(0));
        known.learn(at(0), strict, strict, None);
        for _ in 1..ODD_REFUSALS {
            known.refused();
        }
        known.learn(at(0), strict, strict, None);
        for _ in 1..ODD_REFUSALS {
            known.refused();
            assert_eq!(known.recall(at(0)).1, Certainty::Settled, "a success in between");
        }
        known.refused();
        assert_eq!(known.recall(at(0)), (strict, Certainty::Guess));
    }

    #[test]
    fn an_unspecified_refusal_is_taken_for_one_of_the_format_only_as_long_as_we_guess() {
        let memory = Memory::new(StructuredOutput::Auto);
        let (first, _) = memory.recall();
        assert_eq!(memory.after(first, Complaint::Unspecified, Certainty::Settled), None);
        assert!(memory.after(first, Complaint::Unspecified, Certainty::Guess).is_some());
    }

    #[test]
    fn a_configured_format_is_kept_whatever_the_endpoint_says() {
        let memory = Memory::new(StructuredOutput::JsonObject);
        let (first, certainty) = memory.recall();
        assert_eq!(memory.after(first, Complaint::ResponseFormat, certainty), None);
        assert_eq!(memory.after(first, Complaint::Unspecified, certainty), None);
        assert!(memory.after(first, Complaint::Temperature, certainty).is_some());
    }

    #[test]
    fn every_chain_of_refusals_ends() {
        let memory = Memory::new(StructuredOutput::Auto);
        for complaint in [
            Complaint::ResponseFormat,
            Complaint::TokenLimit,
            Complaint::Temperature,
            Complaint::Unspecified,
        ] {
            let mut dialect = Some(memory.recall().0);
            let mut steps = 0;
            while let Some(refused) = dialect {
                dialect = memory.after(refused, complaint, Certainty::Guess);
                steps += 1;
                assert!(steps <= 3, "{complaint:?}");
            }
        }
    }
}
