//! Contents that are run, and those that look as if they were.

use super::program_arguments::is_behind_program;
use super::recipe::{is_recipe, is_unit};
use crate::model::{Origin, ToolClass};
use crate::prefilter::Subject;
use crate::prefilter::engine::{is_command_label, is_target_label};
use crate::prefilter::locations::{Location, Steering};
use crate::prefilter::words::destructive_command_role::{OTHER_LABELS, OTHERS, STARTS};

/// The relation of a content to commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It is run.
    Command,
    /// It looks as if it were run.
    Likely,
    /// It is written to a file that something runs by itself.
    Recipe,
}

/// The role of a content, by who wrote it and what it is an argument of.
pub(super) fn role(subject: &Subject<'_>) -> Option<Role> {
    let content = subject.content;
    if content.origin != Origin::ToolArguments {
        return None;
    }
    let label = content.label.as_deref().unwrap_or_default();
    if is_behind_program(subject) {
        return Some(Role::Likely);
    }
    if is_command_label(label) {
        return Some(Role::Command);
    }
    let is_other = content.is_labelled(&OTHER_LABELS);
    // Where nothing else is there to be run, that is what a command is, however it is called.
    if subject.called.classes.set.has(ToolClass::Executes)
        && (!is_other || (begins_like_command(&content.text) && !subject.called.has_command))
    {
        return Some(Role::Command);
    }
    if !is_other && runs_where_written(subject) {
        return Some(Role::Command);
    }
    if !is_other && !is_target_label(label) && subject.called.targets.iter().any(|target| is_recipe(target)) {
        return Some(Role::Recipe);
    }
    (!is_other && begins_like_command(&content.text)).then_some(Role::Likely)
}

/// Returns `true` if the call writes to a file that is run by itself: at login, at boot, on a timer, by a hook.
fn runs_where_written(subject: &Subject<'_>) -> bool {
    let mut targets = subject.called.targets.iter().filter(|target| !is_unit(target));
    targets.any(|target| {
        matches!(
            Location::of(target).steering(),
            Some(Steering::Startup | Steering::Hook)
        )
    })
}

/// Returns `true` if a text begins as a shell line that matters.
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

/// Returns `true` if a text opens as a shell line does, whatever follows: the first line decides, and a word of another
/// language further down makes no program of that language out of it.
pub(super) fn opens_as_command(text: &str) -> bool {
    /// Words that begin lines of shells and of other languages alike, with what a shell's line goes on with.
    const ALIKE: &[&str] = &["if", "for", "while", "do", "until", "case", "select", "local", "export"];
    let line = text
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty() && !["#", "//", "/*", "*", "<"].iter().any(|lead| line.starts_with(lead)))
        .unwrap_or_default();
    if line.starts_with("\"\"\"") || line.starts_with("'''") {
        return false;
    }
    let line = line.trim_start_matches(['(', '{', '!', ' ', '"', '\'', '\\', '$', '@']);
    let end = line
        .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '~' | '*' | '?')))
        .unwrap_or(line.len());
    let (word, rest) = line.split_at_checked(end).unwrap_or((line, ""));
    let lower = word.to_ascii_lowercase();
    let is = |words: &[&str]| words.contains(&lower.as_str());
    if is(ALIKE) {
        let assigned = rest.split_whitespace().next().is_some_and(|next| next.contains('='));
        let of_shell = ["; do", ";do", "; then", ";then", ";;", " [ ", " [[ "]
            .iter()
            .any(|part| line.contains(part));
        return of_shell || line.ends_with(" do") || line.ends_with(" then") || (assigned && is(&["export", "local"]));
    }
    // An assignment without blanks is one of a shell: prose has none.
    if rest.starts_with('=') && !rest.starts_with("==") && !rest.starts_with("= ") && !rest.starts_with("=>") {
        return !word.is_empty();
    }
    let behind = rest.trim_start();
    let begins = !word.is_empty() && !is(&OTHERS);
    let goes_on = rest.is_empty() || rest.starts_with([' ', '\t', ';', '&', '|', '>', '"', '\'', ')', '}']);
    let is_expression = behind.starts_with(['=', '(', ',', ':', '+', '*', '%', '?', '['])
        || line.ends_with([':', '{', ','])
        || rest.starts_with("()");
    let is_member = word.contains('.') && !word.contains('/') && behind.is_empty();
    begins && goes_on && !is_expression && !is_member
}

#[cfg(test)]
mod tests;
