//! A program in one argument and what it is called with in others: `{"command": "rm", "args": ["-rf", "/"]}`.

use super::MAX_COMMAND;
use crate::model::{Content, Form, Origin, Place};
use crate::prefilter::Subject;
use crate::prefilter::engine::is_command_label;
use crate::prefilter::words::destructive_command_program_arguments::CALLED_WITH;
use crate::shell::quoted;

/// The most arguments that are put behind a program.
const MAX: usize = 64;

/// The command line of a content that is a program alone and is called with what stands in other arguments.
pub(super) fn line(subject: &Subject<'_>) -> Option<String> {
    if !is_program(subject.content) {
        return None;
    }
    let mut line = subject.content.text.trim().to_owned();
    let program = line.len();
    let arguments = subject.step.contents_of(Origin::ToolArguments);
    for content in arguments.filter(|content| is_called_with(content)).take(MAX) {
        line.push(' ');
        line.push_str(&match is_item(content) {
            true => quoted(&content.text),
            false => content.text.clone(),
        });
        if line.len() > MAX_COMMAND {
            return None;
        }
    }
    (line.len() > program).then_some(line)
}

/// Whether a content is an argument of a program that stands in another one: by itself it is no command. What begins with a sign
/// between commands is one all the same, where a tool puts program and arguments together as one line.
pub(super) fn is_behind_program(subject: &Subject<'_>) -> bool {
    let begins_command = subject
        .content
        .text
        .trim_start()
        .starts_with([';', '|', '&', '$', '`', '(', '<', '>']);
    let has_program = || {
        subject
            .step
            .contents_of(Origin::ToolArguments)
            .take(MAX)
            .any(is_program)
    };
    is_called_with(subject.content) && is_item(subject.content) && !begins_command && has_program()
}

/// Whether a content names a program and nothing else.
fn is_program(content: &Content) -> bool {
    const MAX_LEN: usize = 256;
    let name = content.text.trim();
    (1..=MAX_LEN).contains(&name.len())
        && !name.starts_with('-')
        && !name.contains(char::is_whitespace)
        && !is_called_with(content)
        && content.label.as_deref().is_some_and(is_command_label)
}

fn is_called_with(content: &Content) -> bool {
    content.is_labelled(&CALLED_WITH) && content.place == Place::Body && content.form != Form::Key
}

/// Whether a content is one of a list: one word, whatever stands in it.
fn is_item(content: &Content) -> bool {
    let last = content.pointer.as_str().rsplit('/').next().unwrap_or_default();
    !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit())
}
