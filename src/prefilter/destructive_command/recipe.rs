//! Files that something runs by itself (makefiles, images, manifests, pipelines, units): their lines as commands.
//!
//! A line is read without what stands before its command; the grammar of the file is not followed. Only what no honest file
//! holds is told; everything else is left to the judge.

use super::secrets::found_key;
use super::{Danger, Seen, look_at_nested, look_at_shell, network};
use crate::prefilter::locations::{Location, Steering};
use crate::shell::{self, Call};

/// The most lines that are read of one file, and the longest file.
const MOST_LINES: usize = 256;
const LONGEST: usize = 64 * 1024;
/// What stands before the command of a line.
const LEADS: &[&str] = &[
    "- ",
    "@",
    "-",
    "+",
    "RUN ",
    "CMD ",
    "ENTRYPOINT ",
    "run:",
    "script:",
    "command:",
    "entrypoint:",
    "ExecStart=",
    "Exec=",
    "sh ",
    "| ",
];

/// Whether a file is run by itself, by its path.
pub(super) fn is_recipe(path: &str) -> bool {
    let location = Location::of(path);
    let path = location.as_str();
    let name = path.rsplit('/').next().unwrap_or(path);
    let bare = name.trim_end_matches(".yaml").trim_end_matches(".yml");
    matches!(
        name,
        "makefile" | "gnumakefile" | "justfile" | "package.json" | "composer.json" | "crontab"
    ) || ["dockerfile", "containerfile", "jenkinsfile"]
        .iter()
        .any(|lead| name.starts_with(lead))
        || [".mk", ".service", ".desktop", ".crontab"]
            .iter()
            .any(|end| name.ends_with(end))
        || matches!(bare, "docker-compose" | "compose" | "taskfile" | "cloud-init")
        || matches!(location.steering(), Some(Steering::Pipeline | Steering::Hook))
}

/// Looks at the lines of a file that is run by itself.
pub(super) fn look(text: &str, seen: &mut Seen) {
    if text.len() > LONGEST {
        seen.add_at(
            Danger::NotExamined,
            0..1,
            "is too long to be read as what runs by itself",
        );
        return;
    }
    let mut start = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let place = start..start + line.len();
        start = place.end;
        if number >= MOST_LINES {
            let what = "stands behind more lines than are read of one file";
            seen.add_at(Danger::NotExamined, place, what);
            return;
        }
        let command = command_of(line);
        if !command.contains(' ') {
            continue;
        }
        let mut here = Seen {
            outer: Some(place.clone()),
            ..Seen::default()
        };
        let mut nested = Vec::new();
        look_at_shell(&command, &mut here, &mut nested);
        let nested = nested.into_iter().map(|(text, _)| (text, place.clone())).collect();
        look_at_nested(nested, &mut here);
        seen.work += here.work;
        for (danger, span, what) in here.dangers {
            if is_grave(danger, &command) {
                seen.add_at(danger, span, what);
            }
        }
    }
}

/// The command of a line: without what stands before it, the value of a member in JSON, `$$` as `make` reads it.
fn command_of(line: &str) -> String {
    let mut rest = line.trim();
    while let Some(behind) = LEADS.iter().find_map(|lead| rest.strip_prefix(lead)) {
        rest = behind.trim_start();
    }
    if let Some((_, value)) = rest.strip_prefix('"').and_then(|member| member.split_once("\": \"")) {
        rest = value.trim_end_matches(['"', ',']);
    }
    rest.replace("$$", "$").replace("\\\"", "\"")
}

/// Whether no honest file does this.
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
