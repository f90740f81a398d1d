//! The additions of a policy to the system prompt: guidance, reason codes of its own, examples behind a fence.

use super::context::ExampleContext;
use super::fence::Fence;
use super::{PromptError, sources};
use crate::policy::{Example, OwnCode, Policy};

/// The additions of a policy to the system prompt.
#[derive(Clone, Copy)]
pub(super) struct Own<'a> {
    pub(super) guidance: &'a str,
    pub(super) codes: &'a [OwnCode],
    pub(super) examples: &'a [Example],
}

impl<'a> Own<'a> {
    /// Takes the additions of a policy.
    pub(super) fn of(policy: &'a Policy) -> Self {
        Self {
            guidance: &policy.guidance,
            codes: &policy.own_codes,
            examples: &policy.examples,
        }
    }

    /// Returns the examples behind this fence.
    pub(super) fn examples(&self, token: &str) -> Result<Vec<ExampleContext<'a>>, PromptError> {
        if self.examples.is_empty() {
            return Ok(Vec::new());
        }
        let fence = fence(token)?;
        let example = |(index, example): (usize, &'a Example)| ExampleContext {
            fenced: fence.element(
                "example",
                &format!(" id=\"x{}\"", index + 1),
                &fence.lines(&example.step),
            ),
            decision: example.decision.as_str(),
            reason_codes: example
                .reason_codes
                .iter()
                .map(|code| format!("`{code}`"))
                .collect::<Vec<_>>()
                .join(", "),
            why: &example.why,
        };
        Ok(self.examples.iter().enumerate().map(example).collect())
    }
}

/// Makes the fence of this token.
pub(super) fn fence(token: &str) -> Result<Fence<'_>, PromptError> {
    Fence::new(token).map_err(|error| PromptError::Broken {
        file: sources::SYSTEM.to_owned(),
        line: None,
        what: format!("the fence cannot be watched for: {error}"),
    })
}
