//! Batches: the questions of a run as a file that goes to a model elsewhere, and the answers as they come back.
//!
//! Both files are those of the OpenAI Batch API, one JSON object a line. A question has the `custom_id`
//! `CASE#SEED-DIGEST`: the marks of its prompt — fence and canary — are made of the seed, which is fresh for every question that
//! is written out, and the digest tells whether the same question would be asked now. So an answer that comes back is checked
//! as any other: the canary has to be that of its own question. A case that takes more than one question has
//! `CASE#SEED-DIGEST-2`, and so on.

mod answers;
mod questions;

use uuid::Uuid;

pub use answers::{BatchAnswers, Stale};
pub(super) use questions::CaseQuestions;
pub use questions::{BatchQuestions, Written};

use crate::prompt::{CANARY_DIGITS, FENCE_DIGITS, Marks};

/// The diagnostics that say that a batch had no answer, rather than that the answer was bad.
pub(super) const NO_ANSWER: &[&str] = &[BATCHED, MISSING, FAILED, STALE];

/// The question was written out; the answer is not there yet.
const BATCHED: &str = "batch_written";
/// There is no line for the question.
const MISSING: &str = "batch_missing";
/// There is a line, and it says that the request failed.
const FAILED: &str = "batch_failed";
/// The answer was given to another question.
const STALE: &str = "batch_stale";

/// The name of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
struct QuestionId {
    case: String,
    seed: String,
    digest: String,
    /// The number, from 1.
    number: usize,
}

/// Hexadecimal digits of a seed, and of a digest.
const DIGITS: usize = 32;
/// More questions than any judge asks about one step: two readings of eight parts, each asked again.
const MAX_QUESTIONS: usize = 32;

impl QuestionId {
    fn parse(text: &str) -> Option<Self> {
        let (case, rest) = text.rsplit_once('#')?;
        let mut parts = rest.split('-');
        let hexadecimal = |part: &&str| {
            part.len() == DIGITS && part.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
        };
        let seed = parts.next().filter(hexadecimal)?;
        let digest = parts.next().filter(hexadecimal)?;
        let number = match parts.next() {
            None => 1,
            Some(number) => number.parse().ok().filter(|n| (2..=MAX_QUESTIONS).contains(n))?,
        };
        parts.next().is_none().then(|| Self {
            case: case.to_owned(),
            seed: seed.to_owned(),
            digest: digest.to_owned(),
            number,
        })
    }
}

impl std::fmt::Display for QuestionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}#{}-{}", self.case, self.seed, self.digest)?;
        match self.number {
            1 => Ok(()),
            number => write!(f, "-{number}"),
        }
    }
}

fn fresh_seed() -> String {
    Uuid::new_v4().simple().to_string()
}

/// Makes the marks of a question. They follow from the seed, and no one knows a seed before its question is written out.
fn marks(seed: &str, number: usize) -> Marks {
    let make = |context: &str, digits: usize| -> String {
        let key = blake3::derive_key(context, format!("{seed} {number}").as_bytes());
        blake3::Hash::from_bytes(key).to_hex().chars().take(digits).collect()
    };
    Marks::fixed(
        make("aos-guardian 2026 evaluation batch fence", FENCE_DIGITS),
        make("aos-guardian 2026 evaluation batch canary", CANARY_DIGITS),
    )
}

#[cfg(test)]
mod tests;
