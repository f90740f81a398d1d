//! What an endpoint takes: found out by asking, then remembered.
//!
//! Endpoints that call themselves compatible differ in three things: whether a reply can be held to a schema, what the
//! limit of output tokens is called, and whether a temperature may be given. A call starts with what is remembered (at
//! first: strict schema, `max_tokens`, temperature). When the endpoint refuses the request, the next dialect is tried.
//!
//! Only a call that *succeeds* settles what is remembered, and what is settled stays: otherwise content that makes an
//! endpoint refuse a request could talk us down to plain text for good.

use std::sync::atomic::{AtomicU8, Ordering};

use super::{Complaint, StructuredOutput};

/// How the reply is held to a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A strict JSON schema.
    JsonSchema,
    /// Some JSON object.
    JsonObject,
    /// Nothing holds it.
    Text,
}

/// What the limit of output tokens is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenLimit {
    /// Understood nearly everywhere.
    MaxTokens,
    /// What newer models of OpenAI insist on.
    MaxCompletionTokens,
}

/// Whether the temperature is given.
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

/// Whether the format may be changed when the endpoint refuses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    Ours,
    Configured,
}

/// How sure we are of what is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// No call has succeeded yet.
    Guess,
    /// A call has succeeded.
    Settled,
}

/// What is remembered of an endpoint.
#[derive(Debug)]
pub(super) struct Memory {
    packed: AtomicU8,
    choice: Choice,
}

const SETTLED: u8 = 0b1000_0000;
const COMPLETION_TOKENS: u8 = 0b0001_0000;
const NO_TEMPERATURE: u8 = 0b0010_0000;
const JSON_OBJECT: u8 = 0b0000_0001;
const TEXT: u8 = 0b0000_0010;

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
            packed: AtomicU8::new(dialect.packed()),
            choice,
        }
    }

    /// What to begin with.
    pub(super) fn recall(&self) -> (Dialect, Standing) {
        let packed = self.packed.load(Ordering::Acquire);
        let standing = if packed & SETTLED == 0 {
            Standing::Guess
        } else {
            Standing::Settled
        };
        (Dialect::unpacked(packed), standing)
    }

    /// A call in this dialect succeeded. The first such call settles it.
    pub(super) fn learn(&self, dialect: Dialect) {
        let guess = self.packed.load(Ordering::Acquire);
        if guess & SETTLED == 0 {
            let settled = dialect.packed() | SETTLED;
            // Whoever comes second has settled nothing else than the same endpoint's ways.
            let _ = self
                .packed
                .compare_exchange(guess, settled, Ordering::AcqRel, Ordering::Acquire);
        }
    }

    /// The dialect to try after the endpoint refused this one; `None` when there is none left.
    pub(super) fn after(&self, refused: Dialect, complaint: Complaint, standing: Standing) -> Option<Dialect> {
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
            Complaint::Unspecified => match standing {
                Standing::Guess => self.looser(refused),
                Standing::Settled => None,
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

impl Dialect {
    const fn packed(self) -> u8 {
        let format = match self.format {
            Format::JsonSchema => 0,
            Format::JsonObject => JSON_OBJECT,
            Format::Text => TEXT,
        };
        let tokens = match self.token_limit {
            TokenLimit::MaxTokens => 0,
            TokenLimit::MaxCompletionTokens => COMPLETION_TOKENS,
        };
        let temperature = match self.temperature {
            Temperature::Sent => 0,
            Temperature::Omitted => NO_TEMPERATURE,
        };
        format | tokens | temperature
    }

    const fn unpacked(packed: u8) -> Self {
        Self {
            format: if packed & TEXT != 0 {
                Format::Text
            } else if packed & JSON_OBJECT != 0 {
                Format::JsonObject
            } else {
                Format::JsonSchema
            },
            token_limit: if packed & COMPLETION_TOKENS != 0 {
                TokenLimit::MaxCompletionTokens
            } else {
                TokenLimit::MaxTokens
            },
            temperature: if packed & NO_TEMPERATURE != 0 {
                Temperature::Omitted
            } else {
                Temperature::Sent
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dialect_packs_and_unpacks() {
        for format in [Format::JsonSchema, Format::JsonObject, Format::Text] {
            for token_limit in [TokenLimit::MaxTokens, TokenLimit::MaxCompletionTokens] {
                for temperature in [Temperature::Sent, Temperature::Omitted] {
                    let dialect = Dialect {
                        format,
                        token_limit,
                        temperature,
                    };
                    assert_eq!(Dialect::unpacked(dialect.packed() | SETTLED), dialect);
                }
            }
        }
    }

    #[test]
    fn a_settled_dialect_is_not_talked_down() {
        let memory = Memory::new(StructuredOutput::Auto);
        let (first, standing) = memory.recall();
        assert_eq!((first.format, standing), (Format::JsonSchema, Standing::Guess));
        memory.learn(first);
        let looser = memory
            .after(first, Complaint::ResponseFormat, Standing::Settled)
            .unwrap();
        memory.learn(looser);
        assert_eq!(memory.recall(), (first, Standing::Settled));
        assert_eq!(memory.after(first, Complaint::Unspecified, Standing::Settled), None);
    }

    #[test]
    fn a_configured_format_is_kept_whatever_the_endpoint_says() {
        let memory = Memory::new(StructuredOutput::JsonObject);
        let (first, standing) = memory.recall();
        assert_eq!(memory.after(first, Complaint::ResponseFormat, standing), None);
        assert_eq!(memory.after(first, Complaint::Unspecified, standing), None);
        assert!(memory.after(first, Complaint::Temperature, standing).is_some());
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
                dialect = memory.after(refused, complaint, Standing::Guess);
                steps += 1;
                assert!(steps <= 3, "{complaint:?}");
            }
        }
    }
}
