//! The log of a run: every outcome, written as soon as it is there, so that a run that ends early can go on where it ended.
//!
//! One JSON object a line: first what the run is (`{"run": …}`), then `{"outcome": …, "micros": …}` for each case. A line that was
//! cut off by a crash is the last one; it is dropped, and its case is run again.

use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Case, EvalError, Outcome};

/// What a run is: a log goes on only with the same one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunKey {
    /// The version of the guardian.
    pub guardian: String,
    /// The judge.
    pub judge: String,
    /// Whose policy is in force.
    pub policy: String,
    /// What is made of histories.
    pub history: String,
    /// How often each case is judged.
    pub repeat: usize,
    /// A digest of the cases: their ids, requests, histories and expectations, in their order.
    pub cases: String,
}

impl RunKey {
    /// The digest of these cases.
    pub fn digest(cases: &[&Case]) -> String {
        let mut hasher = blake3::Hasher::new();
        for case in cases {
            let expected = format!("{:?} {:?}", case.expected, case.weight);
            let parts = [case.id.as_str(), case.request.get(), &expected];
            for part in parts.into_iter().chain(case.history.iter().map(|earlier| &**earlier)) {
                hasher.update(&(part.len() as u64).to_le_bytes());
                hasher.update(part.as_bytes());
            }
        }
        hasher.finalize().to_hex().chars().take(32).collect()
    }

    fn differs(&self, found: &Self) -> Option<(&'static str, String, String)> {
        let parts = [
            ("version", &self.guardian, &found.guardian),
            ("judge", &self.judge, &found.judge),
            ("policy", &self.policy, &found.policy),
            ("treatment of histories", &self.history, &found.history),
            ("digest of cases", &self.cases, &found.cases),
        ];
        let differs = parts.into_iter().find(|(_, one, other)| one != other);
        let differs = differs.map(|(what, one, other)| (what, one.clone(), other.clone()));
        differs.or_else(|| {
            (self.repeat != found.repeat).then(|| ("--repeat", self.repeat.to_string(), found.repeat.to_string()))
        })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum First {
    Run(RunKey),
}

#[derive(Serialize, Deserialize)]
struct Line<O> {
    outcome: O,
    micros: u64,
}

/// A log that is being written.
pub struct RunLog {
    out: File,
}

impl RunLog {
    /// Begins a log.
    ///
    /// # Errors
    ///
    /// When there is one already, or it cannot be written.
    pub fn begin(file: &Path, key: &RunKey) -> Result<Self, EvalError> {
        let opened = File::options().write(true).create_new(true).open(file);
        let mut out = opened.map_err(|why| match why.kind() {
            std::io::ErrorKind::AlreadyExists => EvalError::of(
                file,
                "holds a run that was begun; `--resume` goes on with it, or remove the file",
            ),
            _ => EvalError::of(file, why),
        })?;
        let first = serde_json::to_string(&First::Run(key.clone())).map_err(std::io::Error::other);
        first
            .and_then(|first| out.write_all(format!("{first}\n").as_bytes()))
            .map_err(|why| EvalError::of(file, why))?;
        Ok(Self { out })
    }

    /// Goes on with a log, or begins one where there is none; with the outcomes that it holds.
    ///
    /// # Errors
    ///
    /// When it is the log of another run, or cannot be read and written.
    pub fn resume(file: &Path, key: &RunKey) -> Result<(Self, Vec<Outcome>), EvalError> {
        if !file.exists() {
            return Ok((Self::begin(file, key)?, Vec::new()));
        }
        let mut out = File::options()
            .read(true)
            .write(true)
            .open(file)
            .map_err(|why| EvalError::of(file, why))?;
        let mut reader = BufReader::new(&out);
        let (mut outcomes, mut whole, mut number) = (Vec::new(), 0u64, 0);
        let mut line = String::new();
        loop {
            line.clear();
            number += 1;
            let read = reader.read_line(&mut line).map_err(|why| EvalError::of(file, why))?;
            if !line.ends_with('\n') {
                break;
            }
            let malformed = |why: serde_json::Error| {
                EvalError::in_line(file, number, format_args!("expected a line of a run's log: {why}"))
            };
            if number == 1 {
                let First::Run(found) = serde_json::from_str(&line).map_err(malformed)?;
                if let Some((what, expected, found)) = key.differs(&found) {
                    let why = format_args!(
                        "is the log of another run: its {what} is `{found}`, that of this run `{expected}`"
                    );
                    return Err(EvalError::of(file, why));
                }
            } else {
                let line: Line<Outcome> = serde_json::from_str(&line).map_err(malformed)?;
                outcomes.push(Outcome {
                    micros: line.micros,
                    ..line.outcome
                });
            }
            whole += read as u64;
        }
        // What was cut off goes; what comes next begins a line.
        out.set_len(whole)
            .and_then(|()| out.seek(SeekFrom::Start(whole)))
            .map_err(|why| EvalError::of(file, why))?;
        if whole == 0 {
            drop(out);
            std::fs::remove_file(file).map_err(|why| EvalError::of(file, why))?;
            return Ok((Self::begin(file, key)?, Vec::new()));
        }
        Ok((Self { out }, outcomes))
    }

    /// Writes an outcome down.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn write(&mut self, outcome: &Outcome) -> std::io::Result<()> {
        let line = Line {
            outcome,
            micros: outcome.micros,
        };
        let line = serde_json::to_string(&line)?;
        self.out.write_all(format!("{line}\n").as_bytes())
    }
}
