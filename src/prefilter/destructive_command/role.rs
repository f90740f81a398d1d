//! Which contents are run, which look as if they were, and which only talk of commands.

use crate::model::Origin;
use crate::prefilter::Subject;
use crate::prefilter::locations::{Location, Steering};

/// How a content relates to commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It is run.
    Command,
    /// It looks as if it were run.
    Likely,
    /// It talks of commands.
    Prose,
}

/// Labels of arguments that are run.
const COMMAND_LABELS: &[&str] = &[
    "command",
    "commands",
    "cmd",
    "cmdline",
    "command_line",
    "commandline",
    "script",
    "code",
    "bash",
    "shell",
    "shell_command",
    "source_code",
    "python",
    "python_code",
    "javascript",
    "js",
    "program",
    "exec",
    "bash_command",
    "powershell",
    "snippet",
    "terminal_command",
    "input_code",
    "run",
    "execute",
    "argv",
    "args",
    "entrypoint",
    "code_block",
    "cell",
    "expression",
    "line",
];
/// Labels of arguments that are never run, whatever the tool.
const OTHER_LABELS: &[&str] = &[
    "path",
    "file",
    "filename",
    "file_path",
    "cwd",
    "workdir",
    "working_directory",
    "directory",
    "description",
    "explanation",
    "reason",
    "title",
    "timeout",
    "message",
    "thought",
    "summary",
    "name",
    "id",
    "url",
    "query",
    "language",
    "lang",
    "session_id",
    "comment",
    "pattern",
    "regex",
    "regexp",
    "search",
    "needle",
    "keyword",
    "keywords",
];
/// Words in tool names that say that it runs something.
const RUNNER_WORDS: &[&str] = &[
    "bash",
    "sh",
    "shell",
    "terminal",
    "exec",
    "execute",
    "powershell",
    "pwsh",
    "cmd",
    "console",
    "subprocess",
    "python",
    "ssh",
    "repl",
    "interpreter",
    "run",
    "zsh",
    "jupyter",
    "ipython",
    "node",
    "sandbox",
    "command",
];

/// The role of a content, by who wrote it and what it is an argument of.
pub(super) fn role(subject: &Subject<'_>) -> Option<Role> {
    let content = subject.content;
    match content.origin {
        Origin::ToolArguments => {}
        Origin::Instructions | Origin::Unknown => return None,
        Origin::User
        | Origin::Agent
        | Origin::Reasoning
        | Origin::ToolOutput
        | Origin::Knowledge
        | Origin::Memory
        | Origin::RemoteAgent
        | Origin::Trigger
        | Origin::ToolDescription => return Some(Role::Prose),
    }
    let label = content.label.as_deref().unwrap_or_default();
    if is_listed(label, COMMAND_LABELS) {
        return Some(Role::Command);
    }
    let is_other = is_listed(label, OTHER_LABELS);
    let runs = || {
        let call = subject.step.tool_call.as_ref();
        usize::from(call.is_some_and(|call| runs_things(&call.tool)))
    };
    if subject.notes.once(0, runs) == 1 && !is_other {
        return Some(Role::Command);
    }
    if !is_other && subject.notes.once(1, || usize::from(lands_where_it_runs(subject))) == 1 {
        return Some(Role::Command);
    }
    Some(if !is_other && begins_like_command(&content.text) {
        Role::Likely
    } else {
        Role::Prose
    })
}

fn is_listed(label: &str, list: &[&str]) -> bool {
    list.iter().any(|known| known.eq_ignore_ascii_case(label))
}

/// Labels of arguments that say where a text is written to.
const PLACE_LABELS: &[&str] = &[
    "path",
    "file",
    "filename",
    "file_path",
    "filepath",
    "target",
    "target_file",
    "destination",
    "dest",
    "to",
];

/// Whether the call writes what it is given to a file that is run by itself: at login, at boot, on a timer, by a hook.
fn lands_where_it_runs(subject: &Subject<'_>) -> bool {
    const LONGEST_PATH: usize = 512;
    let mut places = subject.step.contents_of(Origin::ToolArguments).filter(|content| {
        let label = content.label.as_deref().unwrap_or_default();
        content.text.len() <= LONGEST_PATH && is_listed(label, PLACE_LABELS)
    });
    places.any(|place| {
        matches!(
            Location::of(&place.text).steering(),
            Some(Steering::Startup | Steering::Hook)
        )
    })
}

fn runs_things(tool: &str) -> bool {
    let mut word = String::new();
    let mut previous_lower = false;
    for c in tool.chars().chain(std::iter::once('.')) {
        let breaks = !c.is_alphanumeric() || (c.is_uppercase() && previous_lower);
        if breaks {
            if RUNNER_WORDS.contains(&word.as_str()) {
                return true;
            }
            word.clear();
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        previous_lower = c.is_lowercase();
    }
    false
}

/// Programs with which a shell line that matters begins.
const STARTS: &[&str] = &[
    "rm",
    "sudo",
    "curl",
    "wget",
    "bash",
    "sh",
    "nc",
    "dd",
    "chmod",
    "chown",
    "find",
    "python",
    "python3",
    "node",
    "php",
    "ruby",
    "awk",
    "perl",
    "mkfs",
    "cat",
    "echo",
    "eval",
    "powershell",
    "cmd",
    "git",
    "ssh",
    "scp",
    "tar",
    "base64",
    "crontab",
    "kubectl",
    "docker",
    "aws",
    "terraform",
    "iptables",
    "systemctl",
    "Remove-Item",
    "iex",
    "env",
    "xargs",
    "export",
    "nohup",
];

/// Whether a text begins as a shell line that matters.
pub(super) fn begins_like_command(text: &str) -> bool {
    let first_line = text.trim_start().lines().next().unwrap_or_default();
    let mut words = first_line.split_whitespace();
    let Some(first) = words.next() else { return false };
    let first = first.rsplit('/').next().unwrap_or(first);
    first_line.starts_with("#!/")
        || STARTS.contains(&first)
            && words.next().is_some_and(|second| {
                second.starts_with(['-', '/', '~', '.', '"', '\'', '$', '@']) || second.contains("://")
            })
}

/// Whether a text opens as a shell line does, whatever follows: what the first line is, the text is, and a word of another
/// language further down makes no program of that language out of it.
pub(super) fn opens_as_command(text: &str) -> bool {
    /// Words with which lines of other languages begin.
    const OTHERS: &[&str] = &[
        "import",
        "from",
        "def",
        "class",
        "const",
        "let",
        "var",
        "my",
        "our",
        "use",
        "using",
        "package",
        "return",
        "async",
        "await",
        "function",
        "fn",
        "pub",
        "public",
        "private",
        "static",
        "try",
        "with",
        "if",
        "for",
        "while",
        "do",
        "else",
        "export",
        "default",
        "type",
        "interface",
        "enum",
        "struct",
        "throw",
        "raise",
        "assert",
        "yield",
        "print",
        "puts",
        "require",
        "local",
        "echo",
        "select",
        "insert",
        "update",
        "delete",
        "with",
        "create",
        "global",
        "del",
        "lambda",
        "module",
        "include",
        "begin",
        "end",
        "new",
        "not",
        "in",
        "is",
        "and",
        "or",
        "void",
        "int",
        "auto",
        "library",
    ];
    let line = text
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty() && !line.starts_with(['#', '/', '*', '"', '\'', '<']))
        .unwrap_or_default();
    let end = line
        .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '~')))
        .unwrap_or(line.len());
    let (word, rest) = line.split_at_checked(end).unwrap_or((line, ""));
    let behind = rest.trim_start();
    let begins = !word.is_empty() && !OTHERS.contains(&word.to_ascii_lowercase().as_str());
    let goes_on = rest.is_empty() || rest.starts_with([' ', '\t', ';', '&', '|', '>']);
    let is_expression =
        behind.starts_with(['=', '(', ',', ':', '+', '*', '%', '?', '{', '[']) || line.ends_with([':', '{', ',']);
    let is_member = word.contains('.') && !word.contains('/') && behind.is_empty();
    begins && goes_on && !is_expression && !is_member
}

#[cfg(test)]
mod tests {
    use super::opens_as_command;

    #[test]
    fn the_first_line_tells_a_shell_text_from_others() {
        for text in [
            "mv a b; ls # require('x')",
            "sudo node -e 'require(\"x\").y()'",
            "true; ls # f(1);",
            "# a note\nmake all\nimport os",
        ] {
            assert!(opens_as_command(text), "{text}");
        }
        for text in [
            "import os\nprint(1)",
            "const a = require('a');",
            "x = 5\nprint(x)",
            "foo(1);",
            "fs.rm('a')",
            "a.b.c\nprint(1)",
            "if x:\n    f(x)",
            "'use strict';\nlet a = require('a');",
            "(async () => {\n  await f();\n})();",
            "// first\nrun(x);",
        ] {
            assert!(!opens_as_command(text), "{text}");
        }
    }
}
