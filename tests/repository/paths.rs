//! Every file and folder that a document, a comment or a doc comment names is there.

use std::path::{Path, PathBuf};

use regex::Regex;

/// The folders of the repository, and those of `src`, below which documents name files.
const FOLDERS: [&str; 7] = ["src", "docs", "tests", "evals", "benches", "prompts", ".ci"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path.strip_prefix(root()).unwrap().to_owned());
        }
    }
}

/// Lists the files of the repository, without those of builds, by their paths from the root.
fn all_files() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in FOLDERS {
        files(&root().join(folder), &mut found);
    }
    let here = std::fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().path());
    found.extend(
        here.filter(|path| path.is_file())
            .map(|path| path.strip_prefix(root()).unwrap().to_owned()),
    );
    found
}

/// What stands in back-quotes and is written like a path: no blanks, no patterns.
fn quoted(text: &str) -> Vec<String> {
    let quoted = Regex::new(r"`([A-Za-z0-9_./-]+)`").unwrap();
    quoted.captures_iter(text).map(|found| found[1].to_owned()).collect()
}

/// Whether a path leads somewhere: from the root, or from `src`, with the ending `.rs` or without.
fn leads_somewhere(path: &str) -> bool {
    let from_root = root().join(path);
    let from_src = root().join("src").join(path);
    from_root.exists() || from_src.exists() || from_src.with_extension("rs").exists()
}

#[test]
fn every_path_in_a_document_leads_somewhere() {
    let (mut wrong, mut checked) = (Vec::new(), 0);
    let documents = all_files()
        .into_iter()
        .filter(|file| file.extension().is_some_and(|ending| ending == "md"));
    for file in documents.filter(|file| file.to_str() != Some("CHANGELOG.md")) {
        let text = std::fs::read_to_string(root().join(&file)).unwrap();
        // The walk through the files names those of `src` without it; elsewhere `tools/call` is a method.
        let is_walk = file.to_str() == Some("docs/architecture.md");
        for path in quoted(&text) {
            let first = path.split('/').next().unwrap_or_default();
            let of_repository = FOLDERS.contains(&first) && path.contains('/');
            let of_source = is_walk && path.contains('/') && root().join("src").join(first).exists();
            let is_file = is_walk && path.ends_with(".rs");
            if of_repository || of_source || is_file {
                checked += 1;
                if !leads_somewhere(&path) {
                    wrong.push(format!("{}: `{path}`", file.display()));
                }
            }
        }
    }
    assert!(checked > 50, "only {checked} paths were found");
    assert!(wrong.is_empty(), "these are not there:\n{}", wrong.join("\n"));
}

#[test]
fn every_file_that_a_comment_names_is_there() {
    let all: Vec<String> = all_files().iter().map(|file| format!("/{}", file.display())).collect();
    let named = Regex::new(r"`((?:\.\./)*[a-z0-9_./-]*[a-z0-9_-]+\.(?:rs|toml|md|txt|j2))`").unwrap();
    let (mut wrong, mut checked) = (Vec::new(), 0);
    for file in all.iter().filter(|file| file.ends_with(".rs")) {
        let text = std::fs::read_to_string(root().join(&file[1..])).unwrap();
        let comments = text.lines().filter(|line| line.trim_start().starts_with("//"));
        for line in comments {
            for name in named
                .captures_iter(line)
                .map(|found| found[1].trim_start_matches("../").to_owned())
            {
                checked += 1;
                let is_there = all.iter().any(|file| file.ends_with(&format!("/{name}")));
                if !is_there && !OUTSIDE.contains(&name.as_str()) {
                    wrong.push(format!("{}: `{name}`", &file[1..]));
                }
            }
        }
    }
    assert!(checked > 100, "only {checked} names were found");
    assert!(wrong.is_empty(), "these are not there:\n{}", wrong.join("\n"));
}

/// Files that comments name and that are not the repository's: those that users write.
const OUTSIDE: [&str; 1] = ["guardian.toml"];

#[test]
fn every_module_in_the_map_of_the_crate_is_one() {
    let map = std::fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let row = Regex::new(r"(?m)^//! \| \[`(\w+)`\] \|").unwrap();
    let mut named: Vec<String> = row.captures_iter(&map).map(|found| found[1].to_owned()).collect();
    let declared = Regex::new(r"(?m)^pub mod (\w+);").unwrap();
    let mut modules: Vec<String> = declared.captures_iter(&map).map(|found| found[1].to_owned()).collect();
    named.sort();
    modules.sort();
    assert_eq!(named, modules);
}

#[test]
fn no_document_holds_what_a_merge_left() {
    for file in all_files()
        .into_iter()
        .filter(|file| file.extension().is_some_and(|ending| ending == "md"))
    {
        let text = std::fs::read_to_string(root().join(&file)).unwrap();
        let left = text
            .lines()
            .find(|line| line.starts_with("<<<<<<<") || line.starts_with(">>>>>>>"));
        assert_eq!(left, None, "{}", file.display());
    }
}
