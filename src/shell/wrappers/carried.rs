//! Commands that other programs carry: in options, in variables, in scripts of their own, on other hosts.

use super::options::after_options;
use super::{Inner, here, inner_call, joined};
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

/// What a terminal multiplexer is told to run.
pub(super) fn in_terminal(call: &Call) -> Vec<Inner> {
    if call.program == "screen" {
        let words = after_options(&call.args, &["-S", "-t", "-c", "-s", "-T", "-p", "-e", "-h"], 0);
        // `screen -X stuff 'text\n'` types into a window.
        return match words.split_first() {
            Some((verb, typed)) if verb.text == "stuff" => vec![here(joined(typed))],
            _ => inner_call(words, false),
        };
    }
    let Some(verb) = call.args.iter().position(|word| {
        matches!(
            word.text.as_str(),
            "new"
                | "new-session"
                | "neww"
                | "new-window"
                | "splitw"
                | "split-window"
                | "respawn-pane"
                | "run"
                | "run-shell"
                | "send"
                | "send-keys"
                | "popup"
                | "display-popup"
                | "pipe-pane"
                | "if-shell"
        )
    }) else {
        return Vec::new();
    };
    let rest = call.args.get(verb + 1..).unwrap_or_default();
    let words = after_options(rest, &["-s", "-n", "-t", "-c", "-x", "-y", "-F", "-e", "-l", "-N"], 0);
    let mut text = joined(words);
    // The names of keys that end a typed line.
    for key in [" Enter", " C-m", " ENTER"] {
        text = text.replace(key, "\n");
    }
    vec![here(text)]
}

/// What is run on other hosts.
pub(super) fn on_many_hosts(call: &Call) -> Vec<Inner> {
    match call.program.as_str() {
        "ansible" => {
            let runs = call.values(&["-m", "--module-name"]).next().is_none_or(|(_, module)| {
                ["shell", "command", "raw", "script"]
                    .iter()
                    .any(|name| module.ends_with(name))
            });
            let text = call.values(&["-a", "--args"]).next().filter(|_| runs);
            text.map(|(_, text)| here(text.to_owned())).into_iter().collect()
        }
        "salt" => {
            let at = call.args.iter().position(|word| word.text.starts_with("cmd."));
            let words = at.and_then(|at| call.args.get(at + 1..)).unwrap_or_default();
            vec![here(joined(words))]
        }
        _ => vec![here(joined(after_options(
            &call.args,
            &["-h", "-H", "-w", "-g", "-l", "-p", "-t", "-o", "-e", "-u"],
            0,
        )))],
    }
}

/// What a container is told to run.
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

/// Commands in the options of programs that otherwise run none, and in what is typed into them.
pub(super) fn in_options(call: &Call, stdin: Option<&str>) -> Vec<Inner> {
    let program = match call.program.as_str() {
        "gtar" | "bsdtar" => "tar",
        "mariadb" => "mysql",
        "mongosh" => "mongo",
        "apt-get" => "apt",
        other => other,
    };
    let mut scripts: Vec<String> = Vec::new();
    for (_, value) in call.values(programs::command_options(program)) {
        scripts.extend(own_command(program, value));
    }
    let typed = stdin.into_iter().flat_map(str::lines);
    let operands = call.args.iter().map(|word| word.text.as_str());
    for text in typed.chain(operands).take(64) {
        // `!command` and `.shell command` at a prompt; `+!command` starts `less` with one.
        let shouted = text.trim_start_matches(['+', ':', ' ']).strip_prefix('!');
        let dotted = text
            .strip_prefix(".shell ")
            .or_else(|| text.strip_prefix(".system "))
            .filter(|_| program == "sqlite3");
        let asked = shouted.filter(|_| program != "git" && program != "find").or(dotted);
        scripts.extend(asked.map(str::to_owned));
        scripts.extend(
            text.strip_prefix("ext::")
                .map(|script| script.strip_prefix("sh -c ").unwrap_or(script).to_owned()),
        );
    }
    if program == "git" {
        scripts.extend(in_git(call));
    }
    if program == "npm" {
        let values = call.args.iter().filter_map(|word| word.text.split_once('='));
        scripts.extend(
            values
                .filter(|(key, _)| key.starts_with("scripts."))
                .map(|(_, script)| script.to_owned()),
        );
        if call.has("set-script") {
            scripts.extend(call.args.last().map(|word| word.text.clone()));
        }
    }
    scripts.into_iter().map(here).collect()
}

/// What of an option's value is run by a shell.
fn own_command(program: &str, value: &str) -> Option<String> {
    match program {
        "tar" => Some(value.strip_prefix("exec=").unwrap_or(value).to_owned()),
        // A hook of the package manager: `APT::Update::Pre-Invoke::=command`.
        "apt" => value
            .split_once('=')
            .filter(|(key, _)| key.to_ascii_lowercase().contains("invoke"))
            .map(|(_, script)| script.to_owned()),
        "strace" => value.strip_prefix(['!', '|']).map(str::to_owned),
        "gdb" | "lldb" => ["!", "shell ", "platform shell ", "python "]
            .iter()
            .find_map(|lead| value.strip_prefix(lead))
            .map(str::to_owned),
        "psql" | "mysql" => {
            let escaped = value.split_once("\\!").map(|(_, script)| script);
            let named = value.strip_prefix("system ").filter(|_| program == "mysql");
            let copied = value
                .to_ascii_uppercase()
                .find(" PROGRAM ")
                .and_then(|at| value.get(at + " PROGRAM ".len()..))
                .map(|script| script.trim().trim_matches(['\'', ';', '"']));
            escaped.or(named).or(copied).map(str::to_owned)
        }
        "mongo" => value
            .split_once("run(\"")
            .or_else(|| value.split_once("run('"))
            .map(|(_, script)| script.trim_end_matches([')', '"', '\'', ';']).to_owned()),
        _ => Some(value.to_owned()),
    }
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
    const MOST: usize = 16;
    let hits = COMMANDS.captures_iter(code).take(MOST);
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

/// Programs that run what follows a word of theirs: `poetry run …`, `bundle exec …`, `op run -- …`.
pub(super) fn runs_after_verb(call: &Call) -> Option<&[Word]> {
    const VALUED: &[&str] = &[
        "-n",
        "-p",
        "--name",
        "-a",
        "--app",
        "-C",
        "--with",
        "--python",
        "--project",
        "--directory",
        "--env-file",
    ];
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
    let words = from_dashes.unwrap_or_else(|| after_options(rest, VALUED, operands));
    (!words.is_empty()).then_some(words)
}

/// Editors and text tools whose own language can run programs.
pub(super) fn in_own_language(call: &Call, stdin: Option<&str>) -> Vec<Inner> {
    if matches!(call.program.as_str(), "make" | "gmake") {
        return in_makefile(call, stdin);
    }
    let typed = stdin
        .into_iter()
        .flat_map(str::lines)
        .filter_map(|line| line.strip_prefix('!'));
    let typed = typed
        .filter(|_| call.program == "ex")
        .map(|script| here(script.to_owned()));
    let given = call.args.iter().filter_map(|word| {
        let text = word.text.as_str();
        if let Some(at) = text.find("system(") {
            return text.get(at..).map(|code| Inner::Code(code.to_owned()));
        }
        if call.program == "sed" {
            return sed_command(text).map(here);
        }
        if call.program == "emacs" {
            return text.contains("shell-command").then(|| {
                let inside = text.split('"').nth(1).unwrap_or_default();
                here(inside.to_owned())
            });
        }
        if call.program.ends_with("awk") {
            return awk_command(text).map(here);
        }
        if call.program.contains("vi") || call.program == "ex" {
            let bare = text.trim_start_matches([':', '+']);
            if matches!(bare, "shell" | "sh" | "terminal" | "term") {
                return Some(here("sh".to_owned()));
            }
            if bare.starts_with("py") || bare.starts_with("lua") {
                return Some(Inner::Code(bare.to_owned()));
            }
            return text
                .trim_start_matches([':', '+', '-', 'c'])
                .strip_prefix('!')
                .map(|script| here(script.to_owned()));
        }
        None
    });
    given.chain(typed).collect()
}

/// What `awk` reads from a command or writes into one: `"command" | getline`, `print | "command"`.
fn awk_command(script: &str) -> Option<String> {
    let quoted = |text: &str| text.split('"').next().map(str::to_owned);
    if let Some((before, _)) = script.split_once("| getline").or_else(|| script.split_once("|getline")) {
        let before = before.trim_end().strip_suffix('"')?;
        return before.rsplit('"').next().map(str::to_owned);
    }
    script
        .split_once("| \"")
        .or_else(|| script.split_once("|\""))
        .and_then(|(_, rest)| quoted(rest))
}

/// The recipes of a makefile that is fed in, and what `--eval` makes of a text.
fn in_makefile(call: &Call, stdin: Option<&str>) -> Vec<Inner> {
    let recipes = stdin
        .into_iter()
        .flat_map(str::lines)
        .filter_map(|line| line.strip_prefix('\t'))
        .map(|recipe| recipe.trim_start_matches(['@', '-', '+']));
    let given = call.values(&["--eval", "-E"]).flat_map(|(_, text)| text.lines());
    let given = given
        .filter_map(|line| line.strip_prefix('\t'))
        .map(|recipe| recipe.trim_start_matches(['@', '-', '+']));
    let evaluated = call.values(&["--eval", "-E"]).filter_map(|(_, text)| {
        text.split_once("$(shell ")
            .map(|(_, script)| script.trim_end_matches(')'))
    });
    recipes
        .chain(given)
        .chain(evaluated)
        .take(64)
        .map(|script| here(script.to_owned()))
        .collect()
}

/// What a script of `sed` runs: the command `e`, or a substitution whose flags hold `e`.
fn sed_command(script: &str) -> Option<String> {
    let script = script.trim();
    let command = script.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '$' | ',' | ' ' | '!'));
    if let Some(text) = command.strip_prefix("e ") {
        return Some(text.to_owned());
    }
    let rest = command.strip_prefix('s')?;
    let delimiter = rest.chars().next().filter(|c| c.is_ascii_punctuation() && *c != '\\')?;
    let mut parts = vec![String::new()];
    let mut characters = rest.chars().skip(1);
    while let Some(c) = characters.next() {
        let part = parts.last_mut()?;
        match c {
            '\\' => part.extend(characters.next()),
            _ if c == delimiter => parts.push(String::new()),
            _ => part.push(c),
        }
    }
    let [_, replacement, flags] = parts.as_slice() else {
        return None;
    };
    let runs = flags.contains('e') && flags.chars().all(|c| c.is_ascii_alphanumeric());
    runs.then(|| replacement.clone())
}
