//! Suites: files of labelled steps, read line by line.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::IgnoredAny;
use serde_json::Value;

use super::case::{self, Case};
use super::import;
use super::session_line;
use super::wrong::{EvalError, Wrong};

/// What was read of suites.
#[derive(Debug, Default)]
pub struct Suites {
    /// The labelled steps.
    pub cases: Vec<Case>,
    /// Lines that could not be read, in their order.
    pub unreadable: Vec<EvalError>,
    /// Steps of sessions that have no label: they are history of the others.
    pub unlabelled: usize,
    /// Where each id was first.
    places: HashMap<String, String>,
}

/// Reads suites: each path a `.jsonl` file, a `.json` file with one case or a list of them, or a folder of `.jsonl` files (in the
/// order of their names).
///
/// # Errors
///
/// The first file or line that cannot be read, an id that is there twice, or that there is nothing.
pub fn read(paths: &[PathBuf]) -> Result<Vec<Case>, EvalError> {
    let mut suites = read_all(paths)?;
    match suites.unreadable.is_empty() {
        true => Ok(suites.cases),
        false => Err(suites.unreadable.swap_remove(0)),
    }
}

/// Reads suites as [`read`] does, past lines that cannot be read: those are told.
///
/// # Errors
///
/// The first file that cannot be read, or that there is nothing.
pub fn read_all(paths: &[PathBuf]) -> Result<Suites, EvalError> {
    let mut suites = Suites::default();
    for path in paths {
        for file in files(path)? {
            suites.read_file(&file)?;
        }
    }
    if suites.cases.is_empty() && suites.unreadable.is_empty() {
        let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        let hint = match suites.unlabelled {
            0 => String::new(),
            steps => format!("; {steps} steps have no label: put `\"label\": \"allow\"` or `\"deny\"` beside them"),
        };
        let paths = names.join(", ");
        return Err(EvalError(format!(
            "no labelled steps in {paths}; expected `.jsonl` files (or `.json`), or folders of `.jsonl` files{hint}"
        )));
    }
    Ok(suites)
}

/// Reads a suite that is no file; `name` stands for its name.
///
/// # Errors
///
/// The first line that is no labelled step, or an id that is there twice.
pub fn read_text(name: &str, text: &str) -> Result<Vec<Case>, EvalError> {
    let mut suites = Suites::default();
    suites.read_lines(Path::new(name), name, text);
    match suites.unreadable.is_empty() {
        true => Ok(suites.cases),
        false => Err(suites.unreadable.swap_remove(0)),
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

impl Suites {
    fn read_file(&mut self, file: &Path) -> Result<(), EvalError> {
        let text =
            std::fs::read_to_string(file).map_err(|why| EvalError::of(file, format_args!("cannot be read: {why}")))?;
        let suite = file
            .file_stem()
            .map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        match file.extension().is_some_and(|extension| extension == "json") {
            // A whole document: one case, or a list of them.
            true => self.read_lines(file, &suite, &one_a_line(&text)),
            false => self.read_lines(file, &suite, &text),
        }
        Ok(())
    }

    fn read_lines(&mut self, file: &Path, suite: &str, text: &str) {
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let number = index + 1;
            let place = format!("{}:{number}", file.display());
            match parse_line(line, suite, &place) {
                Err(why) => self.unreadable.push(EvalError::in_line(file, number, why)),
                Ok(line) => {
                    self.unlabelled += line.unlabelled;
                    self.add(line.cases, file, number, &place);
                }
            }
        }
    }

    fn add(&mut self, cases: Vec<Case>, file: &Path, line: usize, place: &str) {
        // The steps of a session have nearly the same history: each text of it is kept once.
        let mut texts: HashSet<Arc<str>> = HashSet::new();
        for mut case in cases {
            if let Some(first) = self.places.get(&case.id) {
                let id = &case.id;
                let why = format_args!(
                    "at /id: the id `{id}` is there already, at {first}; ids are unique over all suites of a run"
                );
                self.unreadable.push(EvalError::in_line(file, line, why));
                continue;
            }
            self.places.insert(case.id.clone(), place.to_owned());
            for earlier in &mut case.history {
                match texts.get(earlier) {
                    Some(known) => *earlier = Arc::clone(known),
                    None => _ = texts.insert(Arc::clone(earlier)),
                }
            }
            self.cases.push(case);
        }
    }
}

/// The document of a file, or each of its list, on a line; the file as it is where it is no JSON, for whoever reads it to say so.
fn one_a_line(text: &str) -> String {
    match serde_json::from_str(text) {
        Ok(Value::Array(documents)) => {
            let lines: Vec<String> = documents.iter().map(Value::to_string).collect();
            lines.join("\n")
        }
        Ok(document) => document.to_string(),
        Err(_) => text.to_owned(),
    }
}

/// The labelled steps of one line.
#[derive(Default)]
struct Line {
    cases: Vec<Case>,
    unlabelled: usize,
}

/// The one labelled step of a line, or all those of a session or a message log.
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

/// A line that is a message log as OpenAI or Anthropic write it.
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
