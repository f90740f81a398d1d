//! A program in one argument and what it is called with in others: `{"command": "rm", "args": ["-rf", "/"]}`.

use super::LONGEST_COMMAND;
use super::recipe::quoted;
use crate::model::{Content, Form, Origin, Place};
use crate::prefilter::Subject;
use crate::prefilter::engine::is_command_label;

/// Names of arguments that a program is called with.
const CALLED_WITH: &[&str] = &[
    "args",
    "arguments",
    "argv",
    "arg",
    "parameters",
    "params",
    "flags",
    "flag",
    "options",
    "opts",
    "operands",
    "target",
    "targets",
];
/// The most arguments that are put behind a program.
const MOST: usize = 64;

/// The command line of a content that is a program alone and is called with what stands in other arguments.
pub(super) fn line(subject: &Subject<'_>) -> Option<String> {
    const LONGEST_PROGRAM: usize = 256;
    let program = subject.content.text.trim();
    let is_program = (1..=LONGEST_PROGRAM).contains(&program.len())
        && !program.starts_with('-')
        && !program.contains(char::is_whitespace)
        && subject.content.label.as_deref().is_some_and(is_command_label);
    if !is_program {
        return None;
    }
    let beside = |content: &&Content| {
        let label = content.label.as_deref().unwrap_or_default();
        let is_called_with = CALLED_WITH.iter().any(|known| known.eq_ignore_ascii_case(label));
        is_called_with && content.id != subject.content.id && content.place == Place::Body && content.form != Form::Key
    };
    let mut line = program.to_owned();
    for content in subject
        .step
        .contents_of(Origin::ToolArguments)
        .filter(beside)
        .take(MOST)
    {
        line.push(' ');
        line.push_str(&match is_item(content) {
            true => quoted(&content.text),
            false => content.text.clone(),
        });
        if line.len() > LONGEST_COMMAND {
            return None;
        }
    }
    (line.len() > program.len()).then_some(line)
}

/// Whether a content is one of a list: one word, whatever stands in it.
fn is_item(content: &Content) -> bool {
    let last = content.pointer.as_str().rsplit('/').next().unwrap_or_default();
    !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit())
}
