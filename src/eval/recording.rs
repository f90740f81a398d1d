//! A recording: what a model said once, so that the same run can be had again without a network.
//!
//! One JSON object a line: the question's digest, the model, the marks of the call, and the reply; or, where the model refused, was
//! filtered, empty or cut off, the name of that failure. Prompts are not in it. Outages are not recorded: they say nothing about the
//! model. Recording into a file that is there continues it: what it holds is replayed, the rest is asked. The answers to a
//! [batch](super::batch) are replayed in the same way.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::EvalError;
use super::batch::BatchAnswer;
use crate::judge::{JudgeFailure, Question, Recorder};
use crate::llm::{self, Failure, Reply};
use crate::prompt::Marks;

/// The diagnostic that says that a recording does not hold a question.
pub(super) const MISS: &str = "replay_miss";
/// The diagnostic that says that the recorded call had failed.
const FAILED: &str = "recorded_failure";

/// One exchange, as a line.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Exchange {
    digest: String,
    model: String,
    #[serde(flatten)]
    said: ExchangeResult,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ExchangeResult {
    Reply {
        text: String,
        answered_by: String,
        fence: String,
        canary: String,
        usage: Tokens,
    },
    Failure(String),
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Tokens {
    prompt: u64,
    completion: u64,
}

/// A call, as it is replayed.
enum Call {
    /// The completion as JSON, and the marks that stand in it.
    Completed(String, Marks),
    /// The name of a failure.
    Failed(String),
}

/// A recording: replayed, and continued where it is open for that.
pub struct Recording {
    /// The calls, by model and digest.
    calls: Mutex<HashMap<(String, String), Call>>,
    model: Option<String>,
    out: Option<Mutex<Continued>>,
}

struct Continued {
    out: File,
    broken: Option<std::io::Error>,
}

impl Recording {
    /// Reads a recording that is only replayed.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub fn replayed(file: &Path) -> Result<Self, EvalError> {
        let opened = File::open(file).map_err(|why| EvalError::of(file, why))?;
        Self::read(opened, file)
    }

    /// Reads the output of a batch of questions to this model. Questions whose request failed are left out.
    ///
    /// # Errors
    ///
    /// The first line that is no answer, with file and line.
    pub fn of_batch(files: &[PathBuf], model: &str) -> Result<Self, EvalError> {
        let mut recording = Self::empty();
        let calls = recording.calls.get_mut().unwrap_or_else(PoisonError::into_inner);
        for file in files {
            let opened = File::open(file).map_err(|why| EvalError::of(file, why))?;
            each_line(opened, file, |line| {
                let answer = BatchAnswer::of(line)?;
                let Some(completion) = answer.completion else {
                    return Ok(());
                };
                if recording.model.is_none() {
                    recording.model = completion.get("model").and_then(Value::as_str).map(str::to_owned);
                }
                let key = (model.to_owned(), answer.digest);
                calls.insert(key, Call::Completed(completion.to_string(), answer.marks));
                Ok(())
            })?;
        }
        Ok(recording)
    }

    /// Opens a recording that goes on: a new file, or one that is there.
    ///
    /// # Errors
    ///
    /// When the file cannot be read and appended to.
    pub fn continued(file: &Path) -> Result<Self, EvalError> {
        let opened = File::options()
            .create(true)
            .read(true)
            .append(true)
            .open(file)
            .map_err(|why| EvalError::of(file, why))?;
        let again = opened.try_clone().map_err(|why| EvalError::of(file, why))?;
        let mut recording = Self::read(again, file)?;
        recording.out = Some(Mutex::new(Continued {
            out: opened,
            broken: None,
        }));
        Ok(recording)
    }

    fn empty() -> Self {
        Self {
            calls: Mutex::default(),
            model: None,
            out: None,
        }
    }

    fn read(opened: File, file: &Path) -> Result<Self, EvalError> {
        let mut recording = Self::empty();
        let calls = recording.calls.get_mut().unwrap_or_else(PoisonError::into_inner);
        each_line(opened, file, |line| {
            let exchange: Exchange = serde_json::from_str(line)
                .map_err(|why| format!("expected a line that `eval run --record` wrote: {why}"))?;
            recording.model.get_or_insert_with(|| exchange.model.clone());
            calls.insert((exchange.model, exchange.digest), exchange.said.into());
            Ok(())
        })?;
        Ok(recording)
    }

    /// Returns the model that was recorded first.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// Returns the number of exchanges that it holds.
    pub fn len(&self) -> usize {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Returns `true` if it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Checks that everything that was said could be written down.
    ///
    /// # Errors
    ///
    /// The first thing that went wrong.
    pub fn finish(&self) -> std::io::Result<()> {
        let Some(out) = &self.out else { return Ok(()) };
        let mut continued = out.lock().unwrap_or_else(PoisonError::into_inner);
        match continued.broken.take() {
            Some(error) => Err(error),
            None => continued.out.flush(),
        }
    }
}

/// Hands over each line of a file that is not empty.
fn each_line(opened: File, file: &Path, mut take: impl FnMut(&str) -> Result<(), String>) -> Result<(), EvalError> {
    for (index, line) in BufReader::new(opened).lines().enumerate() {
        let line = line.map_err(|why| EvalError::of(file, why))?;
        if !line.trim().is_empty() {
            take(&line).map_err(|why| EvalError::in_line(file, index + 1, why))?;
        }
    }
    Ok(())
}

impl From<ExchangeResult> for Call {
    fn from(said: ExchangeResult) -> Self {
        match said {
            ExchangeResult::Failure(code) => Call::Failed(code),
            ExchangeResult::Reply {
                text,
                answered_by,
                fence,
                canary,
                usage,
            } => {
                let usage = json!({"prompt_tokens": usage.prompt, "completion_tokens": usage.completion});
                let body = json!({"model": answered_by, "choices": [{"message": {"content": text}}], "usage": usage});
                Call::Completed(body.to_string(), Marks::fixed(fence, canary))
            }
        }
    }
}

impl Recorder for Recording {
    fn replay(&self, question: &Question<'_>) -> Result<Option<Reply>, JudgeFailure> {
        let key = (question.model.to_owned(), question.digest());
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        match calls.get(&key) {
            None if self.out.is_some() => Ok(None),
            None => Err(JudgeFailure {
                code: MISS,
                detail: "the recording, or the batch, does not hold an answer to this question; make it again"
                    .to_owned(),
            }),
            Some(Call::Failed(code)) => Err(JudgeFailure {
                code: FAILED,
                detail: format!("the recorded call had failed: {code}"),
            }),
            Some(Call::Completed(completion, marks)) => {
                let completion = completion
                    .replace(&marks.canary, &question.marks.canary)
                    .replace(&marks.fence, &question.marks.fence);
                let body = serde_json::from_str(&completion).map_err(|_| Failure::NotJson)?;
                let reply = llm::read_completion(&question.request, &body, question.model, "recording");
                Ok(Some(reply?))
            }
        }
    }

    fn record(&self, question: &Question<'_>, reply: &Result<Reply, Failure>) {
        let (Some(out), Some(said)) = (&self.out, said(question, reply)) else {
            return;
        };
        let exchange = Exchange {
            digest: question.digest(),
            model: question.model.to_owned(),
            said,
        };
        let key = (exchange.model.clone(), exchange.digest.clone());
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        // Two asked the same at the same time: what was taken down first stays, here as in the file.
        if calls.contains_key(&key) {
            return;
        }
        let mut continued = out.lock().unwrap_or_else(PoisonError::into_inner);
        let written = serde_json::to_string(&exchange)
            .map_err(std::io::Error::other)
            .and_then(|line| continued.out.write_all(format!("{line}\n").as_bytes()));
        if let Err(error) = written {
            continued.broken.get_or_insert(error);
        }
        calls.insert(key, exchange.said.into());
    }
}

fn said(question: &Question<'_>, reply: &Result<Reply, Failure>) -> Option<ExchangeResult> {
    match reply {
        Ok(reply) => Some(ExchangeResult::Reply {
            text: reply.text.clone(),
            answered_by: reply.model.clone(),
            fence: question.marks.fence.clone(),
            canary: question.marks.canary.clone(),
            usage: Tokens {
                prompt: reply.usage.prompt_tokens,
                completion: reply.usage.completion_tokens,
            },
        }),
        Err(failure @ (Failure::Refusal | Failure::ContentFilter | Failure::Empty | Failure::Truncated)) => {
            Some(ExchangeResult::Failure(failure.code().to_owned()))
        }
        Err(_) => None,
    }
}
