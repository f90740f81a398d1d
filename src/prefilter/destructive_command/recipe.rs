//! Files that something runs by itself (makefiles, images, manifests, pipelines, units): their lines as commands.
//!
//! A line is read without what stands before its command; the grammar of the file is not followed. Only what no honest file
//! holds is told; everything else is left to the judge.

use std::ops::Range;

use super::secrets::found_key;
use super::{Danger, Dangers, code, look_at_nested, look_at_shell, network};
use crate::model::FileUse;
use crate::prefilter::locations::{Location, Steering};
use crate::prefilter::words::destructive_command_recipe::{LEADS, NAMES};
use crate::shell::syntax::Direction;
use crate::shell::wrappers::jobs;
use crate::shell::{self, Call, quoted};

/// The most lines that are read of one file, and the longest file.
const MAX_LINES: usize = 256;
const MAX_LEN: usize = 64 * 1024;
/// Returns `true` if a file is run by itself, by its path.
pub(super) fn is_recipe(path: &str) -> bool {
    let location = Location::of(path);
    let path = location.as_str();
    let name = path.rsplit('/').next().unwrap_or(path);
    let bare = name.trim_end_matches(".yaml").trim_end_matches(".yml");
    NAMES.contains(&name)
        || NAMES.contains(&bare)
        || ["dockerfile", "containerfile", "jenkinsfile"]
            .iter()
            .any(|lead| name.starts_with(lead))
        || [".mk", ".crontab"].iter().any(|end| name.ends_with(end))
        || is_unit(name)
        || matches!(location.steering(), Some(Steering::Pipeline | Steering::Hook))
}

/// Returns the use of a file by itself, once it is written.
pub fn becomes_of(path: &str) -> Option<FileUse> {
    let location = Location::of(path);
    match location.steering() {
        Some(Steering::Guard | Steering::Agent) => Some(FileUse::Steers),
        Some(Steering::Startup | Steering::Hook | Steering::Pipeline | Steering::Login) => Some(FileUse::Runs),
        Some(Steering::Privilege) | None => (is_recipe(path) || location.is_build()).then_some(FileUse::Runs),
    }
}

/// Returns `true` if a file is one whose lines name what is run behind a key, by its path: no shell reads it.
pub(super) fn is_unit(path: &str) -> bool {
    [".service", ".timer", ".desktop"].iter().any(|end| path.ends_with(end))
}

/// Looks at what a call prints into a file that is run by itself.
pub(super) fn look_at_written(call: &Call, seen: &mut Dangers) {
    // What stands inside another text is not followed any further.
    let Some(text) = call.prints.as_ref().filter(|_| seen.outer.is_none()) else {
        return;
    };
    let is_written = call.redirects.iter().any(|redirect| {
        let writes = matches!(redirect.direction, Direction::Out | Direction::Both | Direction::Append);
        writes && is_recipe(&redirect.target.text)
    });
    if is_written {
        let mut here = Dangers::default();
        look(text, &mut here);
        seen.work += here.work;
        for (danger, _) in here.found {
            seen.add_at(danger, call.span.clone());
        }
    }
}

/// Looks at the lines of a file that is run by itself.
pub(super) fn look(text: &str, seen: &mut Dangers) {
    if text.len() > MAX_LEN {
        seen.add_at(Danger::NotExamined, 0..1);
        return;
    }
    let mut start = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let place = start..start + line.len();
        start = place.end;
        if number >= MAX_LINES {
            seen.add_at(Danger::NotExamined, place);
            return;
        }
        let command = command_of(line);
        if !command.contains(' ') {
            continue;
        }
        let here = seen_in_line(&command, place);
        seen.work += here.work;
        for (danger, span) in here.found {
            if is_grave(danger, &command) {
                seen.add_at(danger, span);
            }
        }
    }
}

/// Returns the dangers in a command line that stands, in other words, at this place of a text.
pub(super) fn seen_in_line(command: &str, place: Range<usize>) -> Dangers {
    let mut here = Dangers {
        outer: Some(place.clone()),
        ..Dangers::default()
    };
    let mut nested = Vec::new();
    if code::is_code(command) {
        code::look(command, &mut here, &mut nested);
    }
    look_at_shell(command, &mut here, &mut nested);
    let nested = nested.into_iter().map(|(text, _)| (text, place.clone())).collect();
    look_at_nested(nested, &mut here);
    here
}

/// The command of a line: without what stands before it, the value of a member in JSON, `$$` as `make` reads it.
fn command_of(line: &str) -> String {
    let mut rest = behind_schedule(line.trim());
    while let Some(behind) = LEADS.iter().find_map(|lead| rest.strip_prefix(lead)) {
        rest = behind.trim_start();
    }
    if let Ok(words) = serde_json::from_str::<Vec<String>>(rest) {
        return words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    }
    if let Some((_, value)) = rest.strip_prefix('"').and_then(|member| member.split_once("\": \"")) {
        rest = value.trim_end_matches(['"', ',']);
    }
    // A step in a line of a pipeline: `steps { sh 'make' }`.
    for (lead, quote) in [(" sh '", '\''), (" sh \"", '"')] {
        if let Some((_, behind)) = rest.split_once(lead)
            && let Some((command, _)) = behind.split_once(quote)
        {
            rest = command;
        }
    }
    rest.replace("$$", "$").replace("\\\"", "\"")
}

/// A line of a table of timers without when it is run, and as whom.
fn behind_schedule(line: &str) -> &str {
    let command = jobs(line).next().map_or(line, |(command, _)| command);
    command.strip_prefix("root ").unwrap_or(command)
}

/// Returns `true` if no honest file does this.
fn is_grave(danger: Danger, command: &str) -> bool {
    let is_plain = matches!(
        danger,
        Danger::DeleteRoot
            | Danger::DiskOverwrite
            | Danger::ForkBomb
            | Danger::ReverseShell
            | Danger::Exfiltrate
            | Danger::Ransom
    );
    // Installers are piped into shells in such files every day, over a connection that is protected.
    let fetches = |call: &Call| network::is_fetch(call) && network::is_unprotected(call);
    is_plain || danger == Danger::PipeToShell && shell::read(command, found_key).calls.iter().any(fetches)
}
