//! Answers, read back.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{FAILED, MISSING, QuestionId, STALE, marks};
use crate::eval::EvalError;
use crate::judge::{JudgeFailure, Question, Recorder};
use crate::llm::{self, Failure, Reply};
use crate::prompt::Marks;

/// The longest line: an answer with all that an endpoint adds to it.
const MAX_LINE: u64 = 4 * 1024 * 1024;
/// The most lines over all files.
const MAX_LINES: usize = 1_000_000;

/// The treatment of an answer whose question would be put differently now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stale {
    /// It is no answer.
    Refused,
    /// It is taken for an answer to the present question.
    Taken,
}

/// The answers of a batch, by case.
#[derive(Debug)]
pub struct BatchAnswers {
    cases: HashMap<String, CaseEntry>,
    stale: Stale,
}

#[derive(Debug)]
struct CaseEntry {
    seed: String,
    /// File and line of the first answer.
    place: String,
    answers: Vec<(QuestionId, Arrived)>,
}

#[derive(Debug)]
enum Arrived {
    /// A completion.
    Completion(Value),
    /// The request failed: what is said of it, in a word.
    Failed(String),
}

/// A line of an output file of the Batch API; or, written by hand, a `custom_id` with the judge's `answer`.
#[derive(Deserialize)]
struct Line {
    custom_id: String,
    response: Option<Response>,
    error: Option<Value>,
    answer: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Response {
    status_code: Option<u16>,
    body: Option<Value>,
}

impl BatchAnswers {
    /// Reads the answers in these files.
    ///
    /// # Errors
    ///
    /// The first line that is no answer, or the second answer to one question, with file and line.
    pub fn read(files: &[PathBuf], stale: Stale) -> Result<Self, EvalError> {
        let mut answers = Self {
            cases: HashMap::new(),
            stale,
        };
        let mut lines = 0;
        for file in files {
            answers.read_file(file, &mut lines)?;
        }
        Ok(answers)
    }

    fn read_file(&mut self, file: &Path, lines: &mut usize) -> Result<(), EvalError> {
        let unreadable = |why| EvalError::of(file, format_args!("cannot be read: {why}"));
        let mut reader = BufReader::new(std::fs::File::open(file).map_err(unreadable)?);
        for number in 1.. {
            let malformed = |why: String| EvalError::in_line(file, number, why);
            let mut line = Vec::new();
            let read = reader
                .by_ref()
                .take(MAX_LINE)
                .read_until(b'\n', &mut line)
                .map_err(unreadable)?;
            if read == 0 {
                break;
            }
            *lines += 1;
            if read as u64 == MAX_LINE || *lines > MAX_LINES {
                return Err(malformed(format!(
                    "expected lines of less than {MAX_LINE} bytes, and at most {MAX_LINES} of them"
                )));
            }
            if !line.trim_ascii().is_empty() {
                let place = format!("{}:{number}", file.display());
                self.take(line.trim_ascii(), place).map_err(malformed)?;
            }
        }
        Ok(())
    }

    fn take(&mut self, line: &[u8], place: String) -> Result<(), String> {
        let line: Line = serde_json::from_slice(line)
            .map_err(|error| format!("expected a line of a batch's output, with a `custom_id`: {error}"))?;
        let id = QuestionId::parse(&line.custom_id).ok_or_else(|| {
            format!(
                "`custom_id`: expected `CASE#SEED-DIGEST` as `--batch-out` wrote it, found `{}`",
                line.custom_id
            )
        })?;
        let arrived = line.arrived()?;
        let entry = self.cases.entry(id.case.clone()).or_insert_with(|| CaseEntry {
            seed: id.seed.clone(),
            place: place.clone(),
            answers: Vec::new(),
        });
        if entry.seed != id.seed {
            return Err(format!(
                "the case `{}` was answered at {} already, in another batch; expected the answers of one",
                id.case, entry.place
            ));
        }
        if entry.answers.iter().any(|(other, _)| other.number == id.number) {
            return Err(format!("`{id}` was answered already, at {} or after", entry.place));
        }
        entry.answers.push((id, arrived));
        Ok(())
    }

    /// Refuses answers to cases that are not in this run.
    ///
    /// # Errors
    ///
    /// The answer that comes first by the name of its case.
    pub fn check_cases<'a>(&self, known: impl Iterator<Item = &'a str>) -> Result<(), EvalError> {
        let known: std::collections::HashSet<&str> = known.collect();
        let foreign = self.cases.iter().filter(|(case, _)| !known.contains(case.as_str()));
        match foreign.min_by_key(|(case, _)| case.as_str()) {
            None => Ok(()),
            Some((case, entry)) => {
                let id = entry
                    .answers
                    .first()
                    .map_or_else(|| case.clone(), |(id, _)| id.to_string());
                let place = &entry.place;
                let why =
                    format!("{place}: the answer `{id}` is of no case in these suites; is it the file of another run?");
                Err(EvalError(why))
            }
        }
    }

    /// Returns the number of cases that have an answer.
    pub fn cases(&self) -> usize {
        self.cases.len()
    }

    /// Returns `true` if a case has an answer.
    pub fn has(&self, case: &str) -> bool {
        self.cases.contains_key(case)
    }

    /// Makes a recorder that replays the answers of one case.
    pub fn of_case(self: &Arc<Self>, case: &str) -> Arc<CaseAnswers> {
        Arc::new(CaseAnswers {
            batch: Arc::clone(self),
            case: case.to_owned(),
            asked: Mutex::new(0),
        })
    }
}

impl Line {
    fn arrived(self) -> Result<Arrived, String> {
        if let Some(answer) = self.answer {
            let message = json!({"role": "assistant", "content": answer.get()});
            return Ok(Arrived::Completion(
                json!({"choices": [{"message": message, "finish_reason": "stop"}]}),
            ));
        }
        if let Some(error) = self.error.filter(|error| !error.is_null()) {
            let code = error.get("code").and_then(Value::as_str).unwrap_or("error");
            return Ok(Arrived::Failed(short(code)));
        }
        match self.response {
            Some(Response {
                status_code: None | Some(200..=299),
                body: Some(body),
            }) => Ok(Arrived::Completion(body)),
            Some(Response {
                status_code: Some(status),
                ..
            }) => Ok(Arrived::Failed(format!("status {status}"))),
            Some(_) | None => Err("expected a `response` with a `body`, an `error`, or an `answer`".to_owned()),
        }
    }
}

/// Returns a name fit for a report.
fn short(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(80).collect()
}

/// The answers of one case, as its judge asks for them.
pub struct CaseAnswers {
    batch: Arc<BatchAnswers>,
    case: String,
    asked: Mutex<usize>,
}

impl Recorder for CaseAnswers {
    fn marks(&self) -> Marks {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        *asked += 1;
        match self.batch.cases.get(&self.case) {
            Some(entry) => marks(&entry.seed, *asked),
            None => Marks::fresh(),
        }
    }

    fn replay(&self, question: &Question<'_>) -> Result<Option<Reply>, JudgeFailure> {
        let failure = |code, detail: String| JudgeFailure { code, detail };
        let entry = self.batch.cases.get(&self.case);
        let answer = entry.and_then(|entry| {
            let mut answers = entry.answers.iter();
            answers.find(|(id, _)| marks(&entry.seed, id.number) == *question.marks)
        });
        let Some((id, arrived)) = answer else {
            return Err(failure(MISSING, "the batch has no answer for this case".to_owned()));
        };
        if id.digest != question.digest() && self.batch.stale == Stale::Refused {
            return Err(failure(
                STALE,
                "the batch was written when the question was another one; write a new batch".to_owned(),
            ));
        }
        match arrived {
            Arrived::Failed(why) => Err(failure(
                FAILED,
                format!("the batch says that the request failed: {why}"),
            )),
            Arrived::Completion(body) => Ok(Some(llm::read_completion(
                &question.request,
                body,
                question.model,
                "batch",
            )?)),
        }
    }

    fn record(&self, _question: &Question<'_>, _reply: &Result<Reply, Failure>) {}
}
