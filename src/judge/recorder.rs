//! A recorder between a judge and its model: it records questions and replies, or replays recorded replies.
//!
//! The prompt, the checks of the answer and the weighing are the same with and without a recorder. A recorder
//! identifies a question by a digest that leaves out the marks, because each call has its own.

use super::JudgeFailure;
use crate::llm::{Failure, Reply, Request};
use crate::prompt::Marks;

/// A question that a judge is about to ask.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The name under which the recorder stands before the judge: what the question is asked for.
    pub asker: &'a str,
    /// The model that would be asked.
    pub model: &'a str,
    /// The request.
    pub request: Request<'a>,
    /// The marks under which the prompt was rendered.
    pub marks: &'a Marks,
}

/// Hexadecimal digits of a digest.
pub const DIGEST_DIGITS: usize = 32;

impl Question<'_> {
    /// Returns the digest of the question, whichever model is asked and whatever its marks are: 32 hexadecimal digits over messages and schema.
    pub fn digest(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        let unmarked = |text: &str| {
            text.replace(&self.marks.fence, "FENCE")
                .replace(&self.marks.canary, "CANARY")
        };
        for part in [
            self.request.schema.json.get(),
            &unmarked(self.request.system),
            &unmarked(self.request.user),
        ] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        hasher.finalize().to_hex().chars().take(DIGEST_DIGITS).collect()
    }
}

/// Records the questions of a judge to its model, or replays recorded replies.
pub trait Recorder: Send + Sync {
    /// Returns the reply, if the recorder answers in the model's place; `None`, and the model is asked.
    ///
    /// # Errors
    ///
    /// When the recorder should answer and cannot.
    fn replay(&self, question: &Question<'_>) -> Result<Option<Reply>, JudgeFailure>;

    /// Records the model's reply.
    fn record(&self, question: &Question<'_>, reply: &Result<Reply, Failure>);
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;
    use crate::llm::Schema;

    fn digest(marks: &Marks, text: &str) -> String {
        let json: Box<RawValue> = serde_json::from_str("{}").unwrap();
        let question = Question {
            asker: "a",
            model: "m",
            request: Request {
                system: &format!("canary: {}", marks.canary),
                user: &format!("<text-{}>{text}</text-{}>", marks.fence, marks.fence),
                schema: Schema { name: "s", json: &json },
            },
            marks,
        };
        question.digest()
    }

    #[test]
    fn a_digest_leaves_the_marks_out_and_nothing_else() {
        let (one, two) = (Marks::fresh(), Marks::fresh());
        assert_eq!(digest(&one, "a"), digest(&two, "a"));
        assert_ne!(digest(&one, "a"), digest(&one, "b"));
        assert_eq!(digest(&one, "a").len(), DIGEST_DIGITS);
    }
}
