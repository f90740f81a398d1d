//! Imports point one way: each module may name only those listed for it, so that a cycle cannot land.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "in a test, what is not as expected is a failed test"
)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Module, and what it may import. The order is that of the path of a step, from the words outward.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("telemetry", &[]),
    ("wire", &["model"]),
    ("policy", &["model"]),
    ("prefilter", &["model", "policy"]),
    ("session", &["model", "policy", "telemetry"]),
    ("prompt", &["model", "policy"]),
    ("llm", &["telemetry"]),
    ("judge", &["model", "policy", "prompt", "llm", "telemetry"]),
    ("cache", &["model", "policy", "telemetry"]),
    ("limit", &["model", "telemetry"]),
    ("audit", &["model", "telemetry"]),
    (
        "pipeline",
        &[
            "model",
            "telemetry",
            "policy",
            "prefilter",
            "prompt",
            "llm",
            "judge",
            "cache",
            "limit",
            "audit",
            "session",
        ],
    ),
    ("server", &["model", "wire", "pipeline", "telemetry"]),
    (
        "eval",
        &["model", "wire", "policy", "prompt", "llm", "judge", "pipeline"],
    ),
    ("selftest", &["model", "telemetry", "wire", "judge", "pipeline", "eval"]),
    (
        "config",
        &[
            "model",
            "telemetry",
            "wire",
            "policy",
            "prompt",
            "llm",
            "judge",
            "cache",
            "limit",
            "audit",
            "session",
            "pipeline",
            "server",
            "selftest",
        ],
    ),
    (
        "app",
        &[
            "config",
            "model",
            "telemetry",
            "wire",
            "policy",
            "prefilter",
            "prompt",
            "llm",
            "judge",
            "cache",
            "limit",
            "audit",
            "session",
            "pipeline",
            "server",
            "selftest",
        ],
    ),
    (
        "cli",
        &[
            "app",
            "config",
            "model",
            "telemetry",
            "wire",
            "policy",
            "prefilter",
            "prompt",
            "llm",
            "judge",
            "audit",
            "pipeline",
            "server",
            "session",
            "eval",
            "selftest",
        ],
    ),
];

/// Modules that know no serialisation, no async and no I/O; and what gives those away.
const PURE: &[(&str, &[&str])] = &[
    (
        "model",
        &[
            "serde",
            "tokio",
            "std::fs",
            "std::net",
            "std::time",
            "async fn",
            "std::env",
        ],
    ),
    (
        "wire",
        &[
            "tokio",
            "std::fs",
            "std::net",
            "std::time",
            "async fn",
            "std::env",
            "jiff",
        ],
    ),
    ("policy", &["tokio", "std::net", "std::time", "async fn"]),
    (
        "prefilter",
        &["tokio", "std::fs", "std::net", "std::time", "async fn", "std::env"],
    ),
];

fn source_files(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            source_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// Code lines of each module, comments and tests left out.
fn modules() -> Vec<(String, PathBuf, String)> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    source_files(&src, &mut files);
    files
        .into_iter()
        .filter(|file| {
            let name = file.file_name().unwrap().to_string_lossy().into_owned();
            let in_tests = file.components().any(|part| part.as_os_str() == "tests");
            !in_tests && !["lib.rs", "main.rs", "tests.rs", "testing.rs"].contains(&name.as_str())
        })
        .map(|file| {
            let relative = file.strip_prefix(&src).unwrap().to_owned();
            let first = relative
                .components()
                .next()
                .unwrap()
                .as_os_str()
                .to_string_lossy()
                .into_owned();
            let text = std::fs::read_to_string(&file).unwrap();
            let code: Vec<&str> = text
                .split("#[cfg(test)]\nmod tests {")
                .next()
                .unwrap()
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"))
                .collect();
            (first.trim_end_matches(".rs").to_owned(), relative, code.join("\n"))
        })
        .collect()
}

/// The modules that a piece of code names: `crate::name`, and the names of `use crate::{a, b::c}`.
fn imports(code: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        if let Some(list) = rest.strip_prefix('{') {
            let mut depth = 0;
            let mut name = String::new();
            for c in list.chars() {
                match c {
                    '{' => depth += 1,
                    '}' if depth == 0 => break,
                    '}' => depth -= 1,
                    ',' if depth == 0 => {
                        found.insert(first_segment(&name));
                        name.clear();
                    }
                    _ if depth == 0 => name.push(c),
                    _ => {}
                }
            }
            found.insert(first_segment(&name));
        } else {
            found.insert(first_segment(rest));
        }
    }
    found.remove("");
    found
}

fn first_segment(path: &str) -> String {
    path.trim()
        .chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect()
}

#[test]
fn every_module_imports_only_what_it_may() {
    let mut wrong = Vec::new();
    for (module, file, code) in modules() {
        let Some((_, may)) = MAY_IMPORT.iter().find(|(name, _)| *name == module) else {
            wrong.push(format!("{}: the module `{module}` is not in the table", file.display()));
            continue;
        };
        for import in imports(&code) {
            if import != module && !may.contains(&import.as_str()) {
                wrong.push(format!("src/{}: `{module}` may not import `{import}`", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_table_itself_has_no_cycle() {
    let mut done: BTreeSet<&str> = BTreeSet::new();
    let mut left: Vec<_> = MAY_IMPORT.to_vec();
    while !left.is_empty() {
        let before = left.len();
        left.retain(|(module, may)| {
            let ready = may.iter().all(|import| done.contains(import));
            if ready {
                done.insert(module);
            }
            !ready
        });
        assert!(left.len() < before, "a cycle among {left:?}");
    }
}

#[test]
fn pure_modules_stay_pure() {
    for (module, file, code) in modules() {
        for (pure, traces) in PURE {
            if module == *pure {
                for trace in *traces {
                    assert!(
                        !code.contains(trace),
                        "src/{}: `{module}` must not use `{trace}`",
                        file.display()
                    );
                }
            }
        }
    }
}

#[test]
fn imports_are_read_as_they_are_written() {
    let code =
        "use crate::model::{Step, Kind};\nuse crate::{audit, cache::{A, B}, llm};\nlet x = crate::wire::decode();";
    let found: Vec<String> = imports(code).into_iter().collect();
    assert_eq!(found, ["audit", "cache", "llm", "model", "wire"]);
}
