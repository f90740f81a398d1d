//! The log of a run: every outcome, written as soon as it is there, so that a run that ends early can go on where it ended.
//!
//! One JSON object a line: first what the run is (`{"run": …}`), then `{"outcome": …, "micros": …}` for each case. A line that was
//! cut off by a crash is the last one; it is dropped, and its case is run again.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, Write};
use std::path::{Path, PathBuf};

use serde::ser::{Error, SerializeSeq};
use serde::{Deserialize, Serialize, Serializer};

use super::{EvalError, Outcome};

/// The identity of a run: a log goes on only with the same one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunKey {
    /// The version of the guardian.
    pub guardian: String,
    /// The judge.
    pub judge: String,
    /// The policy that is in force.
    pub policy: String,
    /// The use of histories.
    pub history: String,
    /// The number of times that each case is judged.
    pub repeat: usize,
    /// A digest of the cases: their ids, requests, histories and expectations, in their order.
    pub cases: String,
}

impl RunKey {
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

/// A log that is being written. What a run came to is read from it: so a run that was interrupted comes to the same.
#[derive(Debug)]
pub struct RunLog {
    out: File,
    file: PathBuf,
}

impl RunLog {
    /// Begins a log.
    ///
    /// # Errors
    ///
    /// When there is one already, or it cannot be written.
    pub fn begin(file: &Path, key: &RunKey) -> Result<Self, EvalError> {
        let opened = File::options().read(true).append(true).create_new(true).open(file);
        let out = opened.map_err(|why| match why.kind() {
            io::ErrorKind::AlreadyExists => EvalError::of(
                file,
                "holds a run that was begun; `--resume` goes on with it, or remove the file",
            ),
            _ => EvalError::of(file, why),
        })?;
        Self::start(out, file, key)
    }

    /// Begins a log that is gone with its run.
    ///
    /// # Errors
    ///
    /// When there is no place for it.
    pub fn fleeting(key: &RunKey) -> Result<Self, EvalError> {
        let file = std::env::temp_dir();
        let out = tempfile::tempfile_in(&file).map_err(|why| EvalError::of(&file, why))?;
        Self::start(out, &file, key)
    }

    fn start(mut out: File, file: &Path, key: &RunKey) -> Result<Self, EvalError> {
        let first = serde_json::to_string(&First::Run(key.clone())).map_err(io::Error::other);
        first
            .and_then(|first| out.write_all(format!("{first}\n").as_bytes()))
            .map_err(|why| EvalError::of(file, why))?;
        let file = file.to_owned();
        Ok(Self { out, file })
    }

    /// Goes on with a log, or begins one where there is none.
    ///
    /// # Errors
    ///
    /// When it is the log of another run, or cannot be read and written.
    pub fn resume(file: &Path, key: &RunKey) -> Result<Self, EvalError> {
        if !file.exists() {
            return Self::begin(file, key);
        }
        let unusable = |why: io::Error| EvalError::of(file, why);
        let opened = File::options().read(true).append(true).open(file);
        let out = opened.map_err(unusable)?;
        let mut reader = BufReader::new(&out);
        let mut first = String::new();
        reader.read_line(&mut first).map_err(unusable)?;
        if !first.ends_with('\n') {
            out.set_len(0).map_err(unusable)?;
            return Self::start(out, file, key);
        }
        let First::Run(found) = serde_json::from_str(&first).map_err(|why| malformed(file, 1, &why))?;
        if let Some((what, expected, found)) = key.differs(&found) {
            let why = format_args!("is the log of another run: its {what} is `{found}`, that of this run `{expected}`");
            return Err(EvalError::of(file, why));
        }
        // What was cut off goes; what comes next begins a line.
        let mut whole = first.len() as u64;
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line).map_err(unusable)? > 0 && line.ends_with(b"\n") {
            whole += line.len() as u64;
            line.clear();
        }
        out.set_len(whole).map_err(unusable)?;
        let file = file.to_owned();
        Ok(Self { out, file })
    }

    /// Writes an outcome down.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn write(&mut self, outcome: &Outcome) -> io::Result<()> {
        let line = Line {
            outcome,
            micros: outcome.micros,
        };
        let line = serde_json::to_string(&line)?;
        self.out.write_all(format!("{line}\n").as_bytes())
    }

    /// The outcomes so far, one after another, in the order in which they were written: that of the cases.
    pub fn outcomes(&self) -> impl Iterator<Item = Result<Outcome, EvalError>> + '_ {
        let mut out = &self.out;
        let begun = out.rewind().map_err(|why| EvalError::of(&self.file, why));
        let lines = BufReader::new(out).lines().enumerate().skip(1).map(|(index, line)| {
            let line = line.map_err(|why| EvalError::of(&self.file, why))?;
            let line: Line<Outcome> =
                serde_json::from_str(&line).map_err(|why| malformed(&self.file, index + 1, &why))?;
            Ok(Outcome {
                micros: line.micros,
                ..line.outcome
            })
        });
        begun.err().map(Err).into_iter().chain(lines)
    }
}

fn malformed(file: &Path, number: usize, why: &serde_json::Error) -> EvalError {
    EvalError::in_line(file, number, format_args!("expected a line of a run's log: {why}"))
}

/// As the list of its outcomes.
impl Serialize for RunLog {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        for outcome in self.outcomes() {
            list.serialize_element(&outcome.map_err(S::Error::custom)?)?;
        }
        list.end()
    }
}
