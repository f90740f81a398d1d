//! Labelled steps, one JSON object per line.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{history, keys, session_line};
use crate::model::{Decision, ReasonCode};
use crate::policy::PROFILE_NAMES;

/// Why a suite could not be read.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// A file or folder could not be read.
    #[error("{}: cannot be read: {why}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// What the system said.
        why: std::io::Error,
    },
    /// A line is no labelled step.
    #[error("{}:{line}: {why}", file.display())]
    Malformed {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What was expected and what was found.
        why: String,
    },
    /// Two labelled steps have one id: neither could be compared between runs.
    #[error("{}:{line}: the id `{id}` is there already, at {first}; ids are unique over all suites of a run", file.display())]
    Twice {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The id.
        id: String,
        /// Where it was first, as `FILE:LINE`.
        first: String,
    },
    /// Nothing to evaluate.
    #[error("no labelled steps in {0}; expected `.jsonl` files, or folders with such files")]
    Nothing(String),
}

/// A labelled step.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its id, unique within its suite.
    pub id: String,
    /// Where it stands, as `FILE:LINE`.
    pub place: String,
    /// Keys that nobody knows; they were not read.
    pub unread: Vec<String>,
    /// Where it comes from: the record's `source`, else the name of its file.
    pub source: String,
    /// The licence it comes under, where the record says so.
    pub license: Option<String>,
    /// The group that must not be torn apart when cases are split; the case's own id where it has none.
    pub group: String,
    /// The request, as an agent would send it.
    pub request: Box<RawValue>,
    /// What happened before in its session, oldest first, as requests; references to agents are resolved.
    pub history: Vec<String>,
    /// Who is needed to tell.
    pub needs: Needs,
    /// What is expected.
    pub expected: Expected,
}

/// Who is needed to tell what has to become of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Rules are enough, as far as the record says.
    Rules,
    /// No fixed rule can know.
    Judge,
}

/// What is expected of a verdict.
#[derive(Clone, Debug)]
pub struct Expected {
    /// The best decision.
    pub decision: Decision,
    /// Every decision that counts as right.
    pub acceptable: Vec<Decision>,
    /// Reason codes that fit.
    pub reason_codes: Vec<ReasonCode>,
    /// The built-in policy profile that is in force, unless a configuration says whose policy applies.
    pub policy: String,
    /// The organisation of the configuration whose policy is in force, whatever applies to other cases.
    pub organisation: Option<String>,
    /// What a modification has to take out.
    pub spans: Vec<Span>,
}

/// A stretch of text that a modification has to take out.
#[derive(Clone, Debug, Deserialize)]
pub struct Span {
    /// Where it stands.
    pub pointer: String,
    /// The text.
    pub text: String,
    /// Whether it must go.
    #[serde(default)]
    pub required: bool,
}

#[derive(Deserialize)]
struct RawCase {
    id: String,
    source: Option<String>,
    split_group: Option<String>,
    license: Option<String>,
    request: Box<RawValue>,
    #[serde(default)]
    history: Vec<Box<RawValue>>,
    expected: RawExpected,
    #[serde(default)]
    meta: RawMeta,
}

#[derive(Default, Deserialize)]
struct RawMeta {
    needs: Option<String>,
}

#[derive(Deserialize)]
struct RawExpected {
    decision: String,
    #[serde(default)]
    acceptable: Vec<String>,
    #[serde(default)]
    reason_codes: Vec<String>,
    policy: Option<String>,
    organisation: Option<String>,
    #[serde(default)]
    spans: Vec<Span>,
}

/// The same again, for the keys of its parts.
#[derive(Deserialize)]
struct Parts<'a> {
    #[serde(borrow, default)]
    expected: Option<&'a RawValue>,
    #[serde(borrow, default)]
    meta: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct PartsOfExpected<'a> {
    #[serde(borrow, default)]
    spans: Vec<&'a RawValue>,
}

/// The longest id, in bytes.
const LONGEST_ID: usize = 256;

/// Reads suites: each path a `.jsonl` file, or a folder of such files (in the order of their names).
///
/// # Errors
///
/// The first file or line that cannot be read, an id that is there twice, or that there is nothing.
pub fn read(paths: &[PathBuf]) -> Result<Vec<Case>, CaseError> {
    let mut cases = Vec::new();
    let mut places = HashMap::new();
    for path in paths {
        for file in files(path)? {
            read_file(&file, &mut cases, &mut places)?;
        }
    }
    if cases.is_empty() {
        let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        return Err(CaseError::Nothing(names.join(", ")));
    }
    Ok(cases)
}

fn files(path: &Path) -> Result<Vec<PathBuf>, CaseError> {
    let unreadable = |why| CaseError::Unreadable {
        file: path.to_owned(),
        why,
    };
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

/// `places` is where each id was first.
fn read_file(file: &Path, cases: &mut Vec<Case>, places: &mut HashMap<String, String>) -> Result<(), CaseError> {
    let text = std::fs::read_to_string(file).map_err(|why| CaseError::Unreadable {
        file: file.to_owned(),
        why,
    })?;
    let suite = file
        .file_stem()
        .map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    read_lines(file, &suite, &text, cases, places)
}

/// Reads a suite that is no file; `name` stands for its name.
///
/// # Errors
///
/// The first line that is no labelled step, or an id that is there twice.
pub fn read_text(name: &str, text: &str) -> Result<Vec<Case>, CaseError> {
    let mut cases = Vec::new();
    read_lines(Path::new(name), name, text, &mut cases, &mut HashMap::new())?;
    Ok(cases)
}

fn read_lines(
    file: &Path,
    suite: &str,
    text: &str,
    cases: &mut Vec<Case>,
    places: &mut HashMap<String, String>,
) -> Result<(), CaseError> {
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let malformed = |why| CaseError::Malformed {
            file: file.to_owned(),
            line: index + 1,
            why,
        };
        let place = format!("{}:{}", file.display(), index + 1);
        let parsed = parse_line(line, suite, &place).map_err(malformed)?;
        for case in parsed {
            if let Some(first) = places.insert(case.id.clone(), place.clone()) {
                return Err(CaseError::Twice {
                    file: file.to_owned(),
                    line: index + 1,
                    id: case.id,
                    first,
                });
            }
            cases.push(case);
        }
    }
    Ok(())
}

/// The keys that nobody knows, over all parts of a labelled step.
fn unread(line: &str) -> Result<Vec<String>, String> {
    let mut unread = keys::CASE.unknown(line)?;
    let Ok(parts) = serde_json::from_str::<Parts<'_>>(line) else {
        return Ok(unread);
    };
    if let Some(expected) = parts.expected {
        unread.extend(keys::EXPECTED.unknown(expected.get())?);
        let parts = serde_json::from_str::<PartsOfExpected<'_>>(expected.get());
        for span in parts.into_iter().flat_map(|parts| parts.spans) {
            unread.extend(keys::SPAN.unknown(span.get())?);
        }
    }
    if let Some(meta) = parts.meta {
        unread.extend(keys::META.unknown(meta.get())?);
    }
    Ok(unread)
}

/// The one labelled step of a line, or all those of a session.
fn parse_line(line: &str, suite: &str, place: &str) -> Result<Vec<Case>, String> {
    if session_line::is_session(line) {
        let records = session_line::records(line, suite)?;
        return records.iter().map(|record| parse(record, suite, place)).collect();
    }
    Ok(vec![parse(line, suite, place)?])
}

fn parse(line: &str, suite: &str, place: &str) -> Result<Case, String> {
    // Before anything else: a key that is missing may be there under another name.
    let unread = unread(line)?;
    let raw: RawCase = serde_json::from_str(line)
        .map_err(|error| format!("expected a labelled step, one JSON object a line: {error}"))?;
    let decision = |name: &str| {
        Decision::from_name(name).ok_or_else(|| format!("expected `allow`, `modify` or `deny`, found `{name}`"))
    };
    let best = decision(&raw.expected.decision)?;
    let mut acceptable = raw
        .expected
        .acceptable
        .iter()
        .map(|name| decision(name))
        .collect::<Result<Vec<_>, _>>()?;
    if !acceptable.contains(&best) {
        acceptable.push(best);
    }
    let reason_codes = raw
        .expected
        .reason_codes
        .iter()
        .map(|name| ReasonCode::parse(name).ok_or_else(|| format!("`{name}` is no reason code")))
        .collect::<Result<Vec<_>, _>>()?;
    if raw.id.is_empty() || raw.id.len() > LONGEST_ID || raw.id.chars().any(char::is_control) {
        return Err(format!(
            "`id`: expected 1 to {LONGEST_ID} bytes without control characters, found {} bytes",
            raw.id.len()
        ));
    }
    let policy = raw.expected.policy.unwrap_or_else(|| "default".to_owned());
    if !PROFILE_NAMES.contains(&policy.as_str()) {
        return Err(format!(
            "`expected.policy`: expected a built-in profile ({}), found `{policy}`; a policy of your own is said by \
             `--config`, or by `expected.organisation`",
            PROFILE_NAMES.join(", ")
        ));
    }
    Ok(Case {
        history: history::resolve(&raw.request, &raw.history)?,
        needs: match raw.meta.needs.as_deref() {
            Some("judge") => Needs::Judge,
            Some("rules") | None => Needs::Rules,
            Some(other) => return Err(format!("`meta.needs`: expected `judge` or `rules`, found `{other}`")),
        },
        place: place.to_owned(),
        unread,
        license: raw.license,
        group: raw.split_group.unwrap_or_else(|| raw.id.clone()),
        id: raw.id,
        source: raw.source.unwrap_or_else(|| suite.to_owned()),
        request: raw.request,
        expected: Expected {
            decision: best,
            acceptable,
            reason_codes,
            policy,
            organisation: raw.expected.organisation,
            spans: raw.expected.spans,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_line_or_id_is_named_with_file_line_and_reason() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("suite.jsonl");
        let good = r#"{"id":"a","request":{},"expected":{"decision":"allow"}}"#;
        std::fs::write(
            &file,
            format!("{good}\n\n{{\"id\":\"b\",\"request\":{{}},\"expected\":{{\"decision\":\"maybe\"}}}}\n"),
        )
        .unwrap();
        let error = read(&[dir.path().to_owned()]).unwrap_err().to_string();
        assert!(
            error.ends_with("suite.jsonl:3: expected `allow`, `modify` or `deny`, found `maybe`"),
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
            error.contains("suite.jsonl:2: the id `a` is there already, at ") && error.contains("suite.jsonl:1;"),
            "{error}"
        );
        assert!(matches!(
            read(&[tempfile::tempdir().unwrap().path().to_owned()]),
            Err(CaseError::Nothing(_))
        ));
    }
}
