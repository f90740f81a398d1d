//! Files that are written in one step and run in another: what is run is what was written.

use super::act::is_harm;
use super::scene::Scene;
use super::{RuleId, Sighting, TextScreener, finding};
use crate::model::{Confidence, Content, Finding, Origin, Severity, ToolClass};
use crate::policy::Policy;
use crate::session::effects::file_name;
use crate::session::trail::Written;

pub(super) fn screen(scene: &Scene<'_>, policy: &Policy, screener: &dyn TextScreener, found: &mut Vec<Finding>) {
    if !scene.has(ToolClass::Executes) {
        return;
    }
    for content in scene.arguments() {
        if let Some(written) = run(scene, content) {
            found.extend(harm(scene, content, written, policy, screener).or_else(|| taint(scene, content, written)));
            return;
        }
    }
}

/// The file that a command runs, if it was written in this session. A command that names itself in a redirection writes.
fn run<'a>(scene: &'a Scene<'_>, content: &Content) -> Option<&'a Written> {
    let trail = scene.trail();
    trail.files().next()?;
    let mut words = content
        .text
        .split(|c: char| c.is_whitespace() || matches!(c, ';' | '|' | '&' | '(' | ')' | '"' | '\'' | '`' | '$'));
    let mut before = "";
    words.find_map(|word| {
        let runs = is_runner(before)
            || before.starts_with('-')
            || word.starts_with("./")
            || word.starts_with('/')
            || before.is_empty();
        if !word.is_empty() {
            before = word;
        }
        let name = file_name(word)?;
        trail.file(&name).filter(|_| runs)
    })
}

/// Words behind which a file is run.
fn is_runner(word: &str) -> bool {
    let program = word.rsplit('/').next().unwrap_or_default();
    let program = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    matches!(
        program,
        "sh" | "bash"
            | "zsh"
            | "dash"
            | "ksh"
            | "fish"
            | "source"
            | ""
            | "exec"
            | "eval"
            | "python"
            | "node"
            | "perl"
            | "ruby"
            | "php"
            | "pwsh"
            | "powershell"
            | "deno"
            | "bun"
            | "make"
            | "sudo"
            | "nohup"
            | "time"
            | "env"
            | "xargs"
            | "start"
            | "osascript"
            | "lua"
            | "Rscript"
            | "psql"
            | "mysql"
            | "sqlite"
            | "java"
            | "go"
            | "cargo"
            | "run"
            | "exec(open("
            | "file"
    )
}

fn harm(
    scene: &Scene<'_>,
    content: &Content,
    written: &Written,
    policy: &Policy,
    screener: &dyn TextScreener,
) -> Option<Finding> {
    let worst = screener
        .examine(scene.step, Origin::ToolArguments, &written.text, policy)
        .into_iter()
        .filter(is_harm)
        .max_by_key(|finding| (finding.severity, finding.confidence))?;
    let grave = worst.severity >= Severity::High && worst.confidence == Confidence::High;
    let mut told = tell(
        RuleId::RunsHarmfulFile,
        scene,
        content,
        written,
        &format!("step {}", written.number),
    )?;
    told.reason = worst.reason;
    told.severity = worst.severity;
    told.confidence = worst.confidence;
    told.suggested = worst.suggested;
    if grave {
        told.suggested = told.suggested.max(crate::model::Treatment::Evidence);
    }
    told.explanation = format!("{}: {}", told.explanation, worst.explanation);
    Some(told)
}

fn taint(scene: &Scene<'_>, content: &Content, written: &Written) -> Option<Finding> {
    let from = written
        .from
        .as_ref()
        .filter(|from| !from.classes.has(ToolClass::Executes))?;
    tell(RuleId::RunsTaintedFile, scene, content, written, &from.describe())
}

fn tell(rule: RuleId, scene: &Scene<'_>, content: &Content, written: &Written, place: &str) -> Option<Finding> {
    let file = format!("the file `{}`", crate::session::taint::short(&written.name));
    finding(rule, scene, Sighting::of(content, &file, place))
}
