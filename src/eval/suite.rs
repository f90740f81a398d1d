//! Suites: files of labelled steps, read line by line.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::IgnoredAny;
use serde_json::Value;

use super::case::{self, Case};
use super::import;
use super::session_line;
use super::wrong::{EvalError, Wrong};

/// The cases that were read from suites.
#[derive(Debug, Default)]
pub struct Suites {
    /// The labelled steps.
    pub cases: Vec<Case>,
    /// Lines that could not be read, in their order.
    pub unreadable: Vec<EvalError>,
    /// Steps of sessions that have no label: they are history of the others.
    pub unlabelled: usize,
}

/// Reads suites: each path a `.jsonl` file, a `.json` file with one case or a list of them, or a folder of `.jsonl` files (in the
/// order of their names).
///
/// # Errors
///
/// The first file or line that cannot be read, an id that is there twice, or that there is nothing.
pub fn read(paths: &[PathBuf]) -> Result<Vec<Case>, EvalError> {
    whole(read_all(paths)?)
}

/// Reads suites as [`read`] does, past lines that cannot be read: those are told.
///
/// # Errors
///
/// The first file that cannot be read, or that there is nothing.
pub fn read_all(paths: &[PathBuf]) -> Result<Suites, EvalError> {
    let mut reader = CaseReader::of(paths)?;
    let suites = collect(&mut reader);
    match suites.cases.is_empty() && suites.unreadable.is_empty() {
        true => Err(reader.nothing(paths)),
        false => Ok(suites),
    }
}

/// Reads a suite that is no file; `name` stands for its name.
///
/// # Errors
///
/// The first line that is no labelled step, or an id that is there twice.
pub fn read_text(name: &str, text: &str) -> Result<Vec<Case>, EvalError> {
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut reader = CaseReader {
        file: Arc::from(Path::new(name)),
        lines: Some(Box::new(lines.into_iter().map(Ok).enumerate())),
        ..CaseReader::default()
    };
    whole(collect(&mut reader))
}

fn collect(reader: &mut CaseReader) -> Suites {
    let mut suites = Suites::default();
    for read in reader.by_ref() {
        match read {
            Ok(case) => suites.cases.push(case),
            Err(error) => suites.unreadable.push(error),
        }
    }
    suites.unlabelled = reader.unlabelled;
    suites
}

fn whole(mut suites: Suites) -> Result<Vec<Case>, EvalError> {
    match suites.unreadable.is_empty() {
        true => Ok(suites.cases),
        false => Err(suites.unreadable.swap_remove(0)),
    }
}

/// Reads the labelled steps of suites one after another, and holds those of one line at a time. What cannot be read is an error in
/// its place, and the next one is read.
pub struct CaseReader {
    /// Files that are still to be read.
    files: VecDeque<PathBuf>,
    /// The file that is being read.
    file: Arc<Path>,
    lines: Option<Lines>,
    /// The rest of the line that was read last.
    read: VecDeque<Result<Case, EvalError>>,
    /// Where each id was first: the file and its line. Ids go by their digest, for there may be many.
    places: HashMap<[u8; 16], (Arc<Path>, usize)>,
    /// Steps of sessions that have no label, so far.
    pub unlabelled: usize,
}

/// The lines of a file, with their numbers from 0.
type Lines = Box<dyn Iterator<Item = (usize, io::Result<String>)> + Send>;

impl Default for CaseReader {
    fn default() -> Self {
        Self {
            files: VecDeque::new(),
            file: Arc::from(Path::new("")),
            lines: None,
            read: VecDeque::new(),
            places: HashMap::new(),
            unlabelled: 0,
        }
    }
}

impl CaseReader {
    /// Of these paths, as [`read`] takes them.
    ///
    /// # Errors
    ///
    /// The first file that cannot be opened.
    pub fn of(paths: &[PathBuf]) -> Result<Self, EvalError> {
        let mut reader = Self::default();
        for path in paths {
            reader.files.extend(files(path)?);
        }
        // What is not there is an error of the whole, not of a line.
        for file in &reader.files {
            let readable = File::open(file)
                .and_then(|opened| opened.metadata())
                .and_then(|is| match is.is_dir() {
                    true => Err(io::ErrorKind::IsADirectory.into()),
                    false => Ok(()),
                });
            readable.map_err(|why| EvalError::of(file, format_args!("cannot be read: {why}")))?;
        }
        Ok(reader)
    }

    /// That there was no labelled step in these paths.
    pub(super) fn nothing(&self, paths: &[PathBuf]) -> EvalError {
        let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        let hint = match self.unlabelled {
            0 => String::new(),
            steps => format!("; {steps} steps have no label: put `\"label\": \"allow\"` or `\"deny\"` beside them"),
        };
        EvalError(format!(
            "no labelled steps in {}; expected `.jsonl` files (or `.json`), or folders of `.jsonl` files{hint}",
            names.join(", ")
        ))
    }

    fn line(&mut self, number: usize, line: io::Result<String>) {
        let file = Arc::clone(&self.file);
        let suite = file.file_stem().unwrap_or_default().to_string_lossy();
        let line = line.map_err(|why| Wrong::at("", format!("cannot be read: {why}")));
        let parsed = line.and_then(|line| match line.trim().is_empty() {
            true => Ok(Line::default()),
            false => parse_line(&line, &suite, &format!("{}:{number}", file.display())),
        });
        match parsed {
            Err(why) => self.read.push_back(Err(EvalError::in_line(&file, number, why))),
            Ok(line) => {
                self.unlabelled += line.unlabelled;
                self.add(line.cases, &file, number);
            }
        }
    }

    fn add(&mut self, cases: Vec<Case>, file: &Arc<Path>, number: usize) {
        // The steps of a session have nearly the same history: each text of it is kept once.
        let mut texts: HashSet<Arc<str>> = HashSet::new();
        for mut case in cases {
            let id = blake3::hash(case.id.as_bytes());
            let id = id.as_bytes().first_chunk().copied().unwrap_or_default();
            if let Some((first, line)) = self.places.get(&id) {
                let why = format_args!(
                    "at /id: the id `{}` is there already, at {}:{line}; ids are unique over all suites of a run",
                    case.id,
                    first.display()
                );
                self.read.push_back(Err(EvalError::in_line(file, number, why)));
                continue;
            }
            self.places.insert(id, (Arc::clone(file), number));
            for earlier in &mut case.history {
                match texts.get(earlier) {
                    Some(known) => *earlier = Arc::clone(known),
                    None => _ = texts.insert(Arc::clone(earlier)),
                }
            }
            self.read.push_back(Ok(case));
        }
    }
}

impl Iterator for CaseReader {
    type Item = Result<Case, EvalError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(read) = self.read.pop_front() {
                return Some(read);
            }
            match self.lines.as_mut().and_then(Iterator::next) {
                Some((index, line)) => self.line(index + 1, line),
                None => {
                    self.file = Arc::from(self.files.pop_front()?);
                    match lines(&self.file) {
                        Ok(lines) => self.lines = Some(lines),
                        Err(why) => {
                            let why = format_args!("cannot be read: {why}");
                            return Some(Err(EvalError::of(&self.file, why)));
                        }
                    }
                }
            }
        }
    }
}

fn files(path: &Path) -> Result<Vec<PathBuf>, EvalError> {
    let unreadable = |why| EvalError::of(path, format_args!("cannot be read: {why}"));
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(unreadable)? {
        let file = entry.map_err(unreadable)?.path();
        if file.extension().is_some_and(|extension| extension == "jsonl") {
            files.push(file);
        }
    }
    files.sort();
    Ok(files)
}

fn lines(file: &Path) -> io::Result<Lines> {
    if file.extension().is_some_and(|extension| extension == "json") {
        // A whole document: one case, or a list of them.
        let lines = one_a_line(&std::fs::read_to_string(file)?);
        return Ok(Box::new(lines.into_iter().map(Ok).enumerate()));
    }
    Ok(Box::new(BufReader::new(File::open(file)?).lines().enumerate()))
}

/// The document of a file, or each of its list, on a line; the file as it is where it is no JSON: its reader reports that.
fn one_a_line(text: &str) -> Vec<String> {
    match serde_json::from_str(text) {
        Ok(Value::Array(documents)) => documents.iter().map(Value::to_string).collect(),
        Ok(document) => vec![Value::to_string(&document)],
        Err(_) => text.lines().map(str::to_owned).collect(),
    }
}

/// The labelled steps of one line.
#[derive(Default)]
struct Line {
    cases: Vec<Case>,
    unlabelled: usize,
}

/// Reads the one labelled step of a line, or all those of a session or a message log.
fn parse_line(line: &str, suite: &str, place: &str) -> Result<Line, Wrong> {
    if let Some(log) = message_log(line) {
        let name = place.rsplit_once(':').map_or(place, |(_, line)| line);
        let session = import::log_as_session(&log, name)
            .ok_or_else(|| Wrong::at("/messages", "expected messages, found none"))?;
        return parse_session(&session, suite, place);
    }
    if !session_line::is_session(line) {
        return Ok(Line {
            cases: vec![case::parse(line, suite, place)?],
            unlabelled: 0,
        });
    }
    parse_session(line, suite, place)
}

/// Reads a line that is a message log as OpenAI or Anthropic write it.
fn message_log(line: &str) -> Option<Value> {
    // A large log is read twice; other lines only to their keys.
    let keys: HashMap<String, IgnoredAny> = serde_json::from_str(line).ok()?;
    let others = ["request", "steps"].iter().any(|key| keys.contains_key(*key));
    if others || !keys.contains_key("messages") {
        return None;
    }
    serde_json::from_str(line).ok().filter(import::is_log)
}

fn parse_session(line: &str, suite: &str, place: &str) -> Result<Line, Wrong> {
    let session = session_line::read(line, suite)?;
    let parsed = session.records.iter().map(|(index, record)| {
        case::parse(record, suite, place).map_err(|wrong| Wrong::at(format!("/steps/{index}"), wrong.why))
    });
    Ok(Line {
        cases: parsed.collect::<Result<_, _>>()?,
        unlabelled: session.unlabelled,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(id: &str, decision: &str) -> String {
        let content = r#"[{"kind":"text","text":"hi"}]"#;
        format!(
            r#"{{"id":"{id}","request":{{"jsonrpc":"2.0","id":1,"method":"steps/message","params":{{"context":{{"agent":{{"id":"a","name":"A","version":"1","instructions":"Help.","provider":{{"name":"S","url":"https://shop.example"}}}},"session":{{"id":"s"}},"turnId":"t","stepId":"s1","timestamp":"2026-03-01T10:00:00Z"}},"message":{{"id":"m","role":"user","content":{content}}}}}}},"expected":{{"decision":"{decision}"}}}}"#
        )
    }

    #[test]
    fn a_wrong_line_or_id_is_named_with_file_line_and_reason() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("suite.jsonl");
        let good = &case("a", "allow");
        std::fs::write(&file, format!("{good}\n\n{}\n", case("b", "maybe"))).unwrap();
        let error = read(&[dir.path().to_owned()]).unwrap_err().to_string();
        assert!(
            error
                .ends_with("suite.jsonl:3: at /expected/decision: expected `allow`, `modify` or `deny`, found `maybe`"),
            "{error}"
        );
        std::fs::write(&file, "# Suites").unwrap();
        let error = read(std::slice::from_ref(&file)).unwrap_err().to_string();
        assert!(
            error.contains("suite.jsonl:1: expected a labelled step, one JSON object a line"),
            "{error}"
        );
        std::fs::write(&file, good).unwrap();
        let cases = read(&[dir.path().to_owned()]).unwrap();
        assert_eq!((cases.len(), cases[0].source.as_str()), (1, "suite"));
        std::fs::write(&file, format!("{good}\n{good}")).unwrap();
        let error = read(&[dir.path().to_owned()]).unwrap_err().to_string();
        assert!(
            error.contains("suite.jsonl:2: at /id: the id `a` is there already, at ")
                && error.contains("suite.jsonl:1;"),
            "{error}"
        );
        let nothing = read(&[tempfile::tempdir().unwrap().path().to_owned()]).unwrap_err();
        assert!(nothing.to_string().contains("no labelled steps"), "{nothing}");
    }

    #[test]
    fn a_request_that_cannot_be_read_is_told_with_its_pointer_and_the_others_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("suite.jsonl");
        let bad = case("b", "allow").replace("steps/message", "steps/mesage");
        let worse = case("c", "allow").replace("\"context\":", "\"contxt\":");
        std::fs::write(
            &file,
            format!("{}\n{bad}\n{worse}\n{}", case("a", "allow"), case("d", "deny")),
        )
        .unwrap();
        let suites = read_all(std::slice::from_ref(&file)).unwrap();
        let told: Vec<String> = suites.unreadable.iter().map(EvalError::to_string).collect();
        assert!(
            told[0].contains("suite.jsonl:2: at /request: method not found: `steps/mesage`"),
            "{told:?}"
        );
        assert!(
            told[1].contains("suite.jsonl:3: at /request/params/context: "),
            "{told:?}"
        );
        let ids: Vec<&str> = suites.cases.iter().map(|case| case.id.as_str()).collect();
        assert_eq!(ids, ["a", "d"]);
        assert!(read(&[file]).is_err());
    }

    #[test]
    fn reason_codes_of_others_are_noted_and_do_no_harm() {
        let line = case("a", "deny").replace("\"deny\"", "\"deny\",\"reason_codes\":[\"jailbreak\",\"S7\"]");
        let cases = read_text("suite", &line).unwrap();
        assert_eq!(cases[0].expected.reason_codes, [crate::model::ReasonCode::Jailbreak]);
        assert!(cases[0].notes[0].contains("`S7`"), "{:?}", cases[0].notes);
    }
}
