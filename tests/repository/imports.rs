//! Imports point one way: each module may name only those listed for it, and the files of a module form no circle.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Module, and what it may import. The order is that of the path of a step, from the words outward.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("outgoing", &[]),
    ("files", &[]),
    ("organisation_share", &[]),
    ("telemetry", &["outgoing"]),
    ("access", &["model", "outgoing", "telemetry"]),
    ("shared", &["telemetry"]),
    ("work", &["model"]),
    ("incoming", &["work"]),
    ("wire", &["model"]),
    ("policy", &["model"]),
    ("text", &["model"]),
    ("shell", &["text"]),
    ("tools", &["model", "policy", "text"]),
    ("prefilter", &["model", "policy", "text", "shell", "tools"]),
    (
        "session",
        &[
            "files",
            "model",
            "organisation_share",
            "policy",
            "prefilter",
            "shared",
            "telemetry",
            "text",
            "shell",
            "tools",
        ],
    ),
    ("prompt", &["model", "policy", "text"]),
    ("llm", &["outgoing", "telemetry"]),
    ("local", &["model", "policy", "session", "text", "tools"]),
    // Pure but for its thread and its folder: it sees steps as the scorer does, and verdicts.
    ("learning", &["files", "model", "local", "telemetry"]),
    (
        "judge",
        &["model", "policy", "prompt", "llm", "telemetry", "text", "work"],
    ),
    (
        "cache",
        &["model", "organisation_share", "policy", "shared", "telemetry"],
    ),
    ("limit", &["model", "shared", "telemetry"]),
    ("audit", &["files", "model", "telemetry"]),
    ("events", &["audit", "files", "outgoing", "telemetry"]),
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
            "shared",
            "tools",
            "text",
            "local",
            "learning",
            "work",
        ],
    ),
    ("asking", &["model", "pipeline", "wire"]),
    (
        "gateway",
        &[
            "access",
            "asking",
            "files",
            "incoming",
            "model",
            "outgoing",
            "wire",
            "pipeline",
            "shared",
            "telemetry",
            "work",
        ],
    ),
    ("hook", &["asking", "model", "outgoing", "wire", "pipeline"]),
    (
        "server",
        &[
            "access",
            "files",
            "incoming",
            "model",
            "wire",
            "pipeline",
            "hook",
            "telemetry",
            "work",
        ],
    ),
    (
        "eval",
        &[
            "model", "outgoing", "wire", "policy", "prompt", "llm", "judge", "local", "pipeline",
        ],
    ),
    ("selftest", &["model", "telemetry", "wire", "judge", "pipeline", "eval"]),
    (
        "config",
        &[
            "access",
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
            "events",
            "session",
            "shared",
            "local",
            "learning",
            "pipeline",
            "gateway",
            "server",
            "selftest",
            "work",
        ],
    ),
    (
        "app",
        &[
            "config",
            "access",
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
            "shared",
            "local",
            "learning",
            "pipeline",
            "gateway",
            "server",
            "selftest",
            "work",
        ],
    ),
    (
        "reload",
        &[
            "access",
            "app",
            "audit",
            "config",
            "gateway",
            "model",
            "pipeline",
            "policy",
            "server",
            "shared",
            "telemetry",
        ],
    ),
    (
        "cli",
        &[
            "app",
            "config",
            "access",
            "files",
            "reload",
            "model",
            "outgoing",
            "telemetry",
            "wire",
            "policy",
            "prefilter",
            "prompt",
            "llm",
            "judge",
            "audit",
            "events",
            "pipeline",
            "gateway",
            "hook",
            "server",
            "session",
            // `doctor` asks whether the server answers.
            "shared",
            "tools",
            "text",
            "local",
            "learning",
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
        "text",
        &["tokio", "std::fs", "std::net", "std::time", "async fn", "std::env"],
    ),
    (
        "shell",
        &["tokio", "std::fs", "std::net", "std::time", "async fn", "std::env"],
    ),
    (
        "prefilter",
        &["tokio", "std::fs", "std::net", "std::time", "async fn", "std::env"],
    ),
];

/// Circles between files that are still there: the folder, and the files or folders in it that import one another. No line may
/// be added, and none may grow.
const KNOWN_CIRCLES: &[(&str, &[&str])] = &[
    ("llm", &["retry", "transport"]),
    ("prefilter", &["hidden_text", "injected_instruction"]),
    ("session", &["agent", "step_record"]),
    ("session", &["relevance", "rules", "snapshot", "store"]),
    // A zone names the shapes of every protocol.
    (
        "wire",
        &["a2a", "acs", "aos", "draft", "mcp", "part", "wrapping", "zone"],
    ),
    ("wire", &["decode", "original", "walk"]),
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

/// Every path that a piece of code imports or names from `crate`, `super` or `self`, lists of imports spelled out.
fn named_paths(code: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for keyword in ["crate::", "super::", "self::"] {
        for (at, _) in code.match_indices(keyword) {
            let behind_name = code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
            if !behind_name {
                spell_out(&code[at..], Vec::new(), &mut found);
            }
        }
    }
    for (at, _) in code.match_indices("use ") {
        if code[..at].ends_with(['\n', ' ', ')']) || at == 0 {
            spell_out(&code[at + "use ".len()..], Vec::new(), &mut found);
        }
    }
    found
}

/// Follows one path, and each of a list in braces; answers how many bytes it takes.
fn spell_out(code: &str, mut path: Vec<String>, found: &mut Vec<Vec<String>>) -> usize {
    let mut at = 0;
    loop {
        let name = first_segment(&code[at..]);
        let blank = code[at..].len() - code[at..].trim_start().len();
        if name.is_empty() {
            at += blank;
            if code[at..].starts_with('{') {
                at += 1;
                while let Some(next) = code[at..].chars().next() {
                    match next {
                        '}' => return at + 1,
                        ',' | ' ' | '\n' => at += 1,
                        _ => at += spell_out(&code[at..], path.clone(), found).max(1),
                    }
                }
                return at;
            }
            found.push(path);
            return at;
        }
        at += blank + name.len();
        path.push(name);
        if !code[at..].starts_with("::") {
            found.push(path);
            return at;
        }
        at += 2;
    }
}

/// The module that a file is.
fn module_of(file: &Path) -> Vec<String> {
    let mut parts: Vec<String> = file
        .components()
        .map(|part| part.as_os_str().to_string_lossy().trim_end_matches(".rs").to_owned())
        .collect();
    if parts.last().is_some_and(|last| last == "mod") {
        parts.pop();
    }
    parts
}

/// The module in which a path ends, seen from the module that names it; what a facade takes from a file of its folder is
/// that file's.
fn resolve(from: &[String], path: &[String], codes: &BTreeMap<Vec<String>, String>) -> Option<Vec<String>> {
    let mut rest = path;
    let mut at: Vec<String> = match rest.first()?.as_str() {
        "crate" => Vec::new(),
        "super" | "self" => from.to_vec(),
        _ => return None,
    };
    while let Some((first, tail)) = rest.split_first() {
        match first.as_str() {
            "crate" | "self" => {}
            "super" => {
                at.pop();
            }
            name => {
                let mut inner = at.clone();
                inner.push(name.to_owned());
                if codes.contains_key(&inner) {
                    at = inner;
                } else {
                    return Some(taken_from(&at, name, codes).unwrap_or(at));
                }
            }
        }
        rest = tail;
    }
    Some(at)
}

/// The file of a folder from which its facade takes this name.
fn taken_from(facade: &[String], name: &str, codes: &BTreeMap<Vec<String>, String>) -> Option<Vec<String>> {
    let code = codes.get(facade)?;
    named_paths(code).into_iter().find_map(|path| {
        let bare: Vec<String> = path.into_iter().skip_while(|part| part == "self").collect();
        let (last, before) = bare.split_last()?;
        let file = [facade, &before[..before.len().min(1)]].concat();
        (last == name && !before.is_empty() && codes.contains_key(&file)).then_some(file)
    })
}

/// For each folder, which of its files and folders import which others.
fn edges() -> BTreeMap<Vec<String>, BTreeMap<String, BTreeSet<String>>> {
    let codes: BTreeMap<Vec<String>, String> = modules()
        .into_iter()
        .map(|(_, file, code)| (module_of(&file), code))
        .collect();
    let mut edges: BTreeMap<Vec<String>, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for (from, code) in &codes {
        for path in named_paths(code) {
            let Some(to) = resolve(from, &path, &codes) else {
                continue;
            };
            let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
            if let (Some(a), Some(b)) = (from.get(shared), to.get(shared))
                && shared > 0
            {
                let folder = edges.entry(from[..shared].to_vec()).or_default();
                folder.entry(a.clone()).or_default().insert(b.clone());
            }
        }
    }
    edges
}

/// The files from which each file can be reached again.
fn circles(folder: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<Vec<String>> {
    let reach = |start: &String| {
        let mut seen: BTreeSet<&String> = BTreeSet::new();
        let mut open: Vec<&String> = vec![start];
        while let Some(next) = open.pop() {
            for to in folder.get(next).into_iter().flatten() {
                if seen.insert(to) {
                    open.push(to);
                }
            }
        }
        seen
    };
    let mut found = BTreeSet::new();
    for file in folder.keys() {
        let reached = reach(file);
        if reached.contains(file) {
            let circle = reached.into_iter().filter(|other| reach(other).contains(file));
            found.insert(circle.cloned().collect());
        }
    }
    found
}

#[test]
fn the_files_of_a_module_form_no_circle() {
    let mut new = Vec::new();
    for (folder, files) in edges() {
        let folder = folder.join("/");
        let is_known = |circle: &Vec<String>| {
            let mut known = KNOWN_CIRCLES.iter().filter(|(known, _)| *known == folder);
            known.any(|(_, files)| circle.iter().all(|file| files.contains(&file.as_str())))
        };
        let circles = circles(&files).into_iter().filter(|circle| !is_known(circle));
        new.extend(circles.map(|circle| format!("{folder}: {}", circle.join(", "))));
    }
    assert!(new.is_empty(), "files that import one another:\n{}", new.join("\n"));
}

#[test]
fn paths_are_read_as_they_are_written() {
    let code = "use super::{a, b::{C, d::E}};\npub use x::Y;\nlet z = crate::wire::decode();";
    let found: Vec<String> = named_paths(code).iter().map(|path| path.join("::")).collect();
    for path in [
        "super::a",
        "super::b::C",
        "super::b::d::E",
        "x::Y",
        "crate::wire::decode",
    ] {
        assert!(found.contains(&path.to_owned()), "{path} in {found:?}");
    }
}
