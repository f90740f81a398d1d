//! A program and what it is called with, in several arguments: `{"command": "rm", "args": ["-rf", "/"]}`, `["rm", "-rf", "/"]`.

use super::MAX_COMMAND;
use crate::model::{Content, Origin};
use crate::prefilter::Subject;
use crate::prefilter::engine::{array_place, is_command_label};
use crate::prefilter::words::destructive_command_program_arguments::CALLED_WITH;
use crate::shell::quoted;

/// The most arguments that are put behind a program.
const MAX: usize = 64;
/// The most words of a list: more than a shell text is read to.
const MAX_WORDS: usize = 256;

/// The command line of a content that is a program alone and is called with what stands in other arguments, or in the list that
/// it begins.
pub(super) fn line(subject: &Subject<'_>) -> Option<String> {
    let content = subject.content;
    let list = list_of(content).filter(|(_, place)| *place == 0);
    let of_list = |other: &&Content| {
        list.zip(list_of(other))
            .is_some_and(|((one, _), (other, _))| one == other)
    };
    let behind = subject.step.contents.iter().skip(content.id.index() + 1);
    let listed = behind.take_while(of_list).take(MAX_WORDS);
    let arguments = subject.step.contents_of(Origin::ToolArguments);
    let called_with = arguments
        .filter(|other| is_program(content) && is_called_with(other))
        .take(MAX);
    let program = content.text.trim();
    if program.contains(char::is_whitespace) {
        return None;
    }
    let mut line = program.to_owned();
    for word in listed.chain(called_with) {
        line.push(' ');
        line.push_str(&match is_item(word) {
            true => quoted(&word.text),
            false => word.text.clone(),
        });
        if line.len() > MAX_COMMAND {
            return None;
        }
    }
    (line.len() > program.len()).then_some(line)
}

/// Returns `true` if a content is an argument of a program that stands in another one: by itself it is no command, unless it
/// begins with a sign between commands, where a tool puts program and arguments together as one line.
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

/// Returns `true` if a content names a program and nothing else.
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
    content.is_labelled(&CALLED_WITH) && content.is_body_value()
}

/// Returns `true` if a content is one of a list: one word, whatever stands in it.
fn is_item(content: &Content) -> bool {
    list_of(content).is_some()
}

/// The list that a content is an item of, and its place in it.
fn list_of(content: &Content) -> Option<(&str, usize)> {
    match array_place(content.pointer.as_str()) {
        Some((list, place, "")) => Some((list, place)),
        _ => None,
    }
}
