//! Batches: the questions of a run as a file that goes to a model elsewhere, and the answers as they come back.
//!
//! Both files are those of the OpenAI Batch API, one JSON object a line. The `custom_id` of a question is `CASE#DIGEST-FENCE-CANARY`: the
//! digest by which a [recording](super::Recording) knows a question, and the marks of its prompt. So an answer that comes back is checked as
//! any other: the canary has to be that of its own question.

use std::io::Write;
use std::sync::{Mutex, PoisonError};

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::judge::{DIGEST_DIGITS, JudgeFailure, Question, Recorder};
use crate::llm::{self, Failure, Reply};
use crate::prompt::{CANARY_DIGITS, FENCE_DIGITS, Marks};

/// The diagnostic that says that a question was written out; the answer is not there yet.
pub(super) const BATCHED: &str = "batch_written";

/// Writes out the questions of a run.
pub struct BatchQuestions {
    settings: llm::Settings,
    file: Mutex<QuestionFile>,
}

struct QuestionFile {
    out: Box<dyn Write + Send>,
    written: Written,
    broken: Option<std::io::Error>,
}

/// The amount that was written out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Questions.
    pub questions: usize,
    /// Bytes.
    pub bytes: usize,
}

#[derive(Serialize)]
struct QuestionLine<'a> {
    custom_id: &'a str,
    method: &'static str,
    url: &'static str,
    body: &'a RawValue,
}

impl BatchQuestions {
    /// Questions to the model that the settings name, put as they say.
    pub fn new(settings: llm::Settings, out: Box<dyn Write + Send>) -> Self {
        Self {
            settings,
            file: Mutex::new(QuestionFile {
                out,
                written: Written::default(),
                broken: None,
            }),
        }
    }

    /// Waits until everything that was written reaches its destination.
    ///
    /// # Errors
    ///
    /// When a question could not be written.
    pub fn finish(&self) -> std::io::Result<Written> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = file.broken.take() {
            return Err(error);
        }
        file.out.flush()?;
        Ok(file.written)
    }

    fn write(&self, question: &Question<'_>, file: &mut QuestionFile) -> std::io::Result<()> {
        let line = QuestionLine {
            custom_id: &custom_id(question.asker, &question.digest(), question.marks),
            method: "POST",
            url: "/v1/chat/completions",
            body: &llm::batch_body(&question.request, &self.settings)?,
        };
        // The schema is sent as it is written, on several lines. A line break in JSON is never part of a string.
        let line = serde_json::to_string(&line)?.replace(['\n', '\r'], " ") + "\n";
        file.out.write_all(line.as_bytes())?;
        file.written.questions += 1;
        file.written.bytes += line.len();
        Ok(())
    }
}

impl Recorder for BatchQuestions {
    fn replay(&self, question: &Question<'_>) -> Result<Option<Reply>, JudgeFailure> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = self.write(question, &mut file) {
            file.broken.get_or_insert(error);
        }
        Err(JudgeFailure {
            code: BATCHED,
            detail: "the question was written into the batch".to_owned(),
        })
    }

    fn record(&self, _question: &Question<'_>, _reply: &Result<Reply, Failure>) {}
}

fn custom_id(case: &str, digest: &str, marks: &Marks) -> String {
    format!("{case}#{digest}-{}-{}", marks.fence, marks.canary)
}

/// Reads digest and marks of a question out of its `custom_id`.
fn digest_and_marks(custom_id: &str) -> Option<(String, Marks)> {
    let (_, rest) = custom_id.rsplit_once('#')?;
    let mut parts = rest.split('-').zip([DIGEST_DIGITS, FENCE_DIGITS, CANARY_DIGITS]);
    let mut next = || {
        let (part, digits) = parts.next()?;
        (part.len() == digits && part.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(part)
    };
    Some((next()?.to_owned(), Marks::fixed(next()?, next()?)))
}

/// The answer to a question of a batch.
pub(super) struct BatchAnswer {
    pub(super) digest: String,
    pub(super) marks: Marks,
    /// The completion; `None`: the request failed.
    pub(super) completion: Option<Value>,
}

/// A line of an output file of the Batch API; or, written by hand, a `custom_id` with the judge's `answer`.
#[derive(Deserialize)]
struct AnswerLine {
    custom_id: String,
    response: Option<Response>,
    error: Option<IgnoredAny>,
    answer: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Response {
    status_code: Option<u16>,
    body: Option<Value>,
}

impl BatchAnswer {
    /// Reads a line.
    pub(super) fn of(line: &str) -> Result<Self, String> {
        let line: AnswerLine = serde_json::from_str(line)
            .map_err(|error| format!("expected a line of a batch's output, with a `custom_id`: {error}"))?;
        let (digest, marks) = digest_and_marks(&line.custom_id).ok_or_else(|| {
            format!(
                "`custom_id`: expected `CASE#DIGEST-FENCE-CANARY` as `--batch-out` wrote it, found `{}`",
                line.custom_id
            )
        })?;
        let completion = match (line.answer, line.error, line.response) {
            (Some(answer), ..) => Some(json!({"choices": [{"message": {"content": answer.get()}}]})),
            (None, Some(_), _) => None,
            (None, None, Some(Response { status_code, body })) if body.is_some() || status_code.is_some() => {
                body.filter(|_| status_code.is_none_or(|status| (200..=299).contains(&status)))
            }
            (None, None, _) => return Err("expected a `response` with a `body`, an `error`, or an `answer`".to_owned()),
        };
        Ok(Self {
            digest,
            marks,
            completion,
        })
    }
}

#[cfg(test)]
mod tests;
