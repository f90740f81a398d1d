//! Questions, written out.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde_json::value::RawValue;

use super::{BATCHED, MAX_QUESTIONS, QuestionId, fresh_seed, marks};
use crate::judge::{JudgeFailure, Question, Recorder};
use crate::llm::{self, Failure, Reply};
use crate::prompt::Marks;

/// Writes out the questions of a run, in the order of its cases.
pub struct BatchQuestions {
    settings: llm::Settings,
    file: Mutex<File>,
}

struct File {
    out: Box<dyn Write + Send>,
    written: Written,
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
struct Line<'a> {
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
            file: Mutex::new(File {
                out,
                written: Written::default(),
            }),
        }
    }

    /// Returns the amount that was written so far.
    pub fn written(&self) -> Written {
        self.file.lock().unwrap_or_else(PoisonError::into_inner).written
    }

    /// Writes the questions of one case.
    ///
    /// # Errors
    ///
    /// When they cannot be written.
    pub fn write(&self, questions: &CaseQuestions) -> std::io::Result<()> {
        let lines = questions.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        for line in lines.iter() {
            file.out.write_all(line.as_bytes())?;
            file.out.write_all(b"\n")?;
            file.written.questions += 1;
            file.written.bytes += line.len() + 1;
        }
        Ok(())
    }

    /// Waits until everything that was written reaches its destination.
    ///
    /// # Errors
    ///
    /// When it does not.
    pub fn finish(&self) -> std::io::Result<Written> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.out.flush()?;
        Ok(file.written)
    }

    /// Makes a recorder that takes down the questions of one case.
    pub fn of_case(self: &Arc<Self>, case: &str) -> Arc<CaseQuestions> {
        Arc::new(CaseQuestions {
            batch: Arc::clone(self),
            case: case.to_owned(),
            seed: fresh_seed(),
            asked: Mutex::new(0),
            lines: Mutex::new(Vec::new()),
        })
    }
}

/// The questions of one case.
pub struct CaseQuestions {
    batch: Arc<BatchQuestions>,
    case: String,
    seed: String,
    asked: Mutex<usize>,
    lines: Mutex<Vec<String>>,
}

impl CaseQuestions {
    fn line(&self, question: &Question<'_>) -> Option<String> {
        let number = (1..=MAX_QUESTIONS).find(|number| marks(&self.seed, *number) == *question.marks)?;
        let id = QuestionId {
            case: self.case.clone(),
            seed: self.seed.clone(),
            digest: question.digest(),
            number,
        };
        let line = Line {
            custom_id: &id.to_string(),
            method: "POST",
            url: "/v1/chat/completions",
            body: &llm::batch_body(&question.request, &self.batch.settings).ok()?,
        };
        // The schema is sent as it is written, on several lines. A line break in JSON is never part of a string.
        Some(serde_json::to_string(&line).ok()?.replace(['\n', '\r'], " "))
    }
}

impl Recorder for CaseQuestions {
    fn marks(&self) -> Marks {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        *asked += 1;
        marks(&self.seed, *asked)
    }

    fn replay(&self, question: &Question<'_>) -> Result<Option<Reply>, JudgeFailure> {
        let line = self.line(question).ok_or_else(|| JudgeFailure {
            code: "batch_unwritable",
            detail: "the question cannot be written into a batch".to_owned(),
        })?;
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        Err(JudgeFailure {
            code: BATCHED,
            detail: "the question was written into the batch".to_owned(),
        })
    }

    fn record(&self, _question: &Question<'_>, _reply: &Result<Reply, Failure>) {}
}
