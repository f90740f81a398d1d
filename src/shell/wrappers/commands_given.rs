//! Commands that other programs are given: in options, in variables, behind signs that hand a text to a shell.

use super::options::after_options;
use super::{Inner, here, inner_call};
use crate::shell::{Call, Word, programs};
use crate::text::expression::expressions;

/// Commands in variables that are set for a call.
pub(super) fn in_environment(call: &Call) -> Vec<Inner> {
    let set_here = call
        .environment
        .iter()
        .map(|(name, word)| (name.as_str(), word.text.as_str()));
    let exported = call
        .args
        .iter()
        .filter(|_| matches!(call.program.as_str(), "export" | "env"))
        .filter_map(|word| word.text.split_once('='));
    // A prompt is expanded: a substitution in it is run.
    let prompts = call
        .environment
        .iter()
        .filter(|(name, word)| matches!(name.as_str(), "PS1" | "PS2" | "PS4") && word.text.contains("$("))
        .map(|(_, word)| here(format!("echo {}", word.text)));
    set_here
        .chain(exported)
        .filter(|(name, value)| {
            programs::names().command_variables.iter().any(|known| known == name) && value.contains(' ')
        })
        .map(|(_, value)| here(value.trim_start_matches('|').to_owned()))
        .chain(prompts)
        .collect()
}

/// Returns the commands that a container is told to run.
pub(super) fn in_container(call: &Call) -> Vec<Inner> {
    let Some(verb) = call
        .args
        .iter()
        .position(|word| matches!(word.text.as_str(), "exec" | "run"))
    else {
        return Vec::new();
    };
    let rest = call.args.get(verb + 1..).unwrap_or_default();
    if let Some(at) = rest.iter().position(|word| word.text == "--") {
        return inner_call(rest.get(at + 1..).unwrap_or_default(), false);
    }
    inner_call(after_options(rest, &programs::names().container_options, 1), false)
}

/// Commands in the options of programs that otherwise run none, and behind the signs by which editors, pagers and prompts hand
/// a text to a shell.
pub(super) fn in_options(call: &Call, stdin: Option<&str>) -> Vec<Inner> {
    const MAX: usize = 64;
    let program = call.program.as_str();
    let typed = stdin.into_iter().flat_map(str::lines);
    // A recipe of a makefile.
    let recipes = typed.clone().filter(|_| program.ends_with("make"));
    let recipes = recipes.filter_map(|line| line.strip_prefix('\t'));
    let recipes = recipes.map(|recipe| recipe.trim_start_matches(['@', '-', '+']));
    let given = call.args.iter().map(|word| word.text.as_str());
    let texts = call.values(programs::command_options(program)).map(|(_, value)| value);
    let scripts = texts.map(|value| behind_escape(value).unwrap_or(value));
    // Of what `git` is given only a transport is run, of what `npm` is given the scripts of a package.
    let is_asked = |text: &&str| program != "git" || text.starts_with("ext::");
    let asked = typed.chain(given.clone()).filter(is_asked).filter_map(behind_escape);
    let of_package = given
        .clone()
        .filter(|text| program == "npm" && text.starts_with("scripts."));
    let of_package = of_package.filter_map(|text| Some(text.split_once('=')?.1));
    let mut inner: Vec<Inner> = scripts
        .chain(asked)
        .chain(recipes)
        .chain(of_package)
        .take(MAX)
        .map(|script| here(script.to_owned()))
        .collect();
    if program == "git" {
        inner.extend(in_git(call).into_iter().map(here));
    }
    if program == "npm" && call.has("set-script") {
        inner.extend(call.args.last().map(|word| here(word.text.clone())));
    }
    let code = given.filter_map(|text| text.find("system(").and_then(|at| text.get(at..)));
    inner.extend(code.map(|code| Inner::Code(code.to_owned())));
    inner
}

/// Returns the part of a text that a shell gets: `!command`, `:!command`, `.shell command`, `\! command`, `print | "command"`.
fn behind_escape(text: &str) -> Option<&str> {
    let names = programs::names();
    let bare = text.trim_start_matches(['+', ':', '-', ' ']);
    if matches!(bare, "shell" | "sh" | "terminal" | "term") && bare != text {
        return Some("sh");
    }
    let lead = names.escapes.iter().find_map(|lead| bare.strip_prefix(lead.as_str()));
    let infix = || {
        names.infixes.iter().find_map(|infix| {
            let (_, rest) = text.split_once(infix.as_str())?;
            let quote = infix.chars().next_back().filter(|c| matches!(c, '"' | '\''));
            quote.map_or(Some(rest), |quote| rest.split(quote).next())
        })
    };
    lead.or_else(infix)
}

fn in_git(call: &Call) -> Vec<String> {
    let mut scripts = Vec::new();
    let mut words = call.args.iter().map(|word| word.text.as_str()).peekable();
    while let Some(word) = words.next() {
        let (name, value) = word
            .split_once('=')
            .map_or((word, None), |(name, value)| (name, Some(value)));
        let value = value.or_else(|| words.peek().copied());
        let lower = name.to_ascii_lowercase();
        let script = if programs::names().git_command_keys.contains(&lower) || lower.starts_with("filter.") {
            value
        } else if lower.starts_with("alias.") || lower.starts_with("credential.") {
            value.and_then(|value| value.strip_prefix('!'))
        } else {
            None
        };
        scripts.extend(script.map(str::to_owned));
    }
    let verb = |first: &str, second: &str| {
        call.args
            .iter()
            .position(|word| word.text == first)
            .and_then(|at| call.args.get(at + 1..))
            .and_then(<[_]>::split_first)
            .filter(|(word, _)| word.text == second)
            .map(|(_, rest)| rest)
    };
    if let Some(rest) = verb("bisect", "run").or_else(|| verb("submodule", "foreach")) {
        let words: Vec<String> = rest
            .iter()
            .filter(|word| !word.text.starts_with("--"))
            .map(|word| word.text.clone())
            .collect();
        scripts.extend(match words.as_slice() {
            [only] => Some(only.clone()),
            [_, _, script] if words.get(1).is_some_and(|flag| flag == "-c") => Some(script.clone()),
            [] => None,
            more => Some(more.join(" ")),
        });
    }
    scripts
}

expressions! {
    /// Commands in code: in back-ticks, in `qx(…)` and `%x(…)`, behind a word that runs what is quoted, before one that does.
    static COMMANDS = r#"`([^`]+)`|\b(?:qx|%x)[({]([^)}]+)[)}]|%x[({]([^)}]+)[)}]|(?i:\b(?:exec|system|popen|execute|spawn|do shell script|shell-command|cmd|command|run))\b[^\w"'`]{0,3}(?:%?q[({]([^)}]+)[)}]|"([^"]+)"|'([^']+)')|"([^"]+)"\s*\.\s*(?:execute\(|!)|\b(?:exec|spawn)\s+(sh\s[^\n;]+)"#;
}

/// The commands that a piece of code holds.
pub(super) fn in_code(code: &str) -> impl Iterator<Item = String> {
    const MAX: usize = 16;
    let hits = COMMANDS.captures_iter(code).take(MAX);
    hits.filter_map(|hit| {
        hit.iter()
            .skip(1)
            .flatten()
            .next()
            .map(|script| script.as_str().to_owned())
    })
    .filter(|script| script.contains(' '))
    .collect::<Vec<_>>()
    .into_iter()
}

/// Programs that run what follows a word of theirs: `poetry run …`, `bundle exec …`, `op run -- …`, `tmux new-session …`.
pub(super) fn runs_after_verb(call: &Call) -> Option<&[Word]> {
    let verbs = programs::runs_after(&call.program)?;
    let at = call.args.iter().position(|word| verbs.contains(&word.text))?;
    let rest = call.args.get(at + 1..)?;
    let from_dashes = rest
        .iter()
        .position(|word| word.text == "--")
        .and_then(|at| rest.get(at + 1..));
    // A name of a place to run in, or of a session, may stand before the program.
    let operands = usize::from(matches!(
        call.program.as_str(),
        "direnv" | "oc" | "incus" | "aws-vault" | "chamber" | "knife" | "screen"
    ));
    let words = from_dashes.unwrap_or_else(|| after_options(rest, &programs::names().run_valued, operands));
    (!words.is_empty()).then_some(words)
}
