//! The tool that a step calls, looked up once for all families.

use crate::model::{Origin, Step};
use crate::policy::Policy;
use crate::tools::{Classified, classes_of_call};

/// Names of arguments that are run.
#[rustfmt::skip]
const COMMAND_LABELS: &[&str] = &[
    "command", "commands", "cmd", "cmdline", "command_line", "commandline", "script", "code", "bash", "shell",
    "shell_command", "source_code", "python", "python_code", "javascript", "js", "program", "exec",
    "bash_command", "powershell", "snippet", "terminal_command", "input_code", "run", "execute", "argv",
    "args", "entrypoint", "code_block", "cell", "expression", "line",
];

/// Names of arguments that say where a text is written to.
#[rustfmt::skip]
const TARGET_LABELS: &[&str] = &[
    "path", "file", "filename", "file_path", "filepath", "target", "target_file", "destination", "dest", "to",
];

/// The tool that a step calls.
#[derive(Debug, Default)]
pub struct CalledTool<'s> {
    /// Its classes.
    pub classes: Classified,
    /// True if the call has an argument whose name says that it is run.
    pub has_command: bool,
    /// The arguments that say where a text is written to, a few of them.
    pub targets: Vec<&'s str>,
}

impl<'s> CalledTool<'s> {
    /// Describes the tool of this step; the default where there is none.
    pub(in crate::prefilter) fn of(step: &'s Step, policy: &Policy) -> Self {
        const MAX_TARGETS: usize = 4;
        const MAX_TARGET: usize = 512;
        let Some(call) = &step.tool_call else {
            return Self::default();
        };
        let named = |labels: &'static [&'static str]| {
            let arguments = step.contents_of(Origin::ToolArguments);
            arguments.filter(move |content| is_listed(content.label.as_deref().unwrap_or_default(), labels))
        };
        let targets = named(TARGET_LABELS).map(|content| content.text.as_str());
        Self {
            classes: classes_of_call(step, call, policy),
            has_command: named(COMMAND_LABELS).next().is_some(),
            targets: targets
                .filter(|text| text.len() <= MAX_TARGET)
                .take(MAX_TARGETS)
                .collect(),
        }
    }
}

/// Returns `true` if an argument of this name is run.
pub(in crate::prefilter) fn is_command_label(label: &str) -> bool {
    is_listed(label, COMMAND_LABELS)
}

/// Returns `true` if an argument of this name says where a text is written to.
pub(in crate::prefilter) fn is_target_label(label: &str) -> bool {
    is_listed(label, TARGET_LABELS)
}

fn is_listed(label: &str, list: &[&str]) -> bool {
    list.iter().any(|known| known.eq_ignore_ascii_case(label))
}
