//! The effects of calls on files: delete, overwrite, open to everyone.

mod disks;
mod permissions;

use super::{Danger, Dangers, network};
use crate::prefilter::locations::{Breadth, Location, Steering};
use crate::prefilter::words::destructive_command_files::NARROWING;
use crate::shell::syntax::Direction;
use crate::shell::{Call, Reading, Word, program_name};
use disks::{disk_tool, storage_pool};
use permissions::permissions;

/// Looks at one call.
pub(super) fn look(reading: &Reading, call: &Call, seen: &mut Dangers) {
    match call.program.as_str() {
        "rm" | "unlink" | "rmdir" | "srm" | "trash" => remove(reading, call, seen),
        "find" => find(call, seen),
        "git" => checked_out(call, seen),
        "mv" => moved(reading, call, seen),
        "rsync" => mirrored(call, seen),
        "cp" | "install" | "ln" => copied_to(call, seen),
        "shred" | "wipe" => shred(reading, call, seen),
        "dd" => {
            for word in &call.args {
                if let Some(target) = word.text.strip_prefix("of=") {
                    written(target, Written::Replaced, call, seen);
                }
            }
        }
        "truncate" => {
            for word in call.operands() {
                written(&word.text, Written::Emptied, call, seen);
            }
        }
        "curl" | "wget" => {
            for target in network::written_by_fetch(call) {
                if network::is_unprotected(call) && is_script_of_system(&target, call) {
                    seen.add(Danger::PlantedPayload, call);
                }
                written(&target, Written::Replaced, call, seen);
            }
        }
        "tee" | "sponge" => {
            let how = if call.has_short(&['a']) || call.has("--append") {
                Written::Extended
            } else {
                Written::Replaced
            };
            for word in call.operands() {
                written(&word.text, how, call, seen);
            }
        }
        "sed" | "perl" | "ed"
            if call.program == "ed"
                || call
                    .args
                    .iter()
                    .any(|word| word.text.starts_with("-i") || word.text == "--in-place" || word.text == "-pi") =>
        {
            for word in call
                .operands()
                .filter(|word| word.text.contains('/') || word.text.starts_with('.'))
            {
                written(&word.text, Written::Changed, call, seen);
            }
        }
        "chmod" | "chown" | "chgrp" => permissions(call, seen),
        "wipefs" | "blkdiscard" | "mke2fs" | "mkswap" | "cryptsetup" | "hdparm" | "badblocks" | "sgdisk" | "parted"
        | "diskutil" | "fdisk" | "gdisk" | "sfdisk" => {
            disk_tool(call, seen);
        }
        program if program.starts_with("mkfs") || program.starts_with("newfs") => disk_tool(call, seen),
        "diskpart" | "zpool" | "lvremove" | "vgremove" => storage_pool(call, seen),
        _ => {}
    }
    redirects(call, seen);
}

fn moved(reading: &Reading, call: &Call, seen: &mut Dangers) {
    if call.args.last().is_some_and(|word| word.text == "/dev/null") {
        remove(reading, call, seen);
    } else {
        let broad = call
            .operands()
            .any(|word| matches!(Location::of(&word.text).breadth(), Breadth::Everything));
        if broad {
            seen.add(Danger::DeleteRoot, call);
        }
        let is_guard = |word: &Word| Location::of(&call.place(&word.text)).is_guard(seen.policy.as_deref());
        if call.operands().any(is_guard) {
            seen.add(Danger::GuardOff, call);
        }
    }
    copied_to(call, seen);
}

fn mirrored(call: &Call, seen: &mut Dangers) {
    let mirrors = call.args.iter().any(|word| word.text.starts_with("--del"));
    if mirrors && let Some(target) = call.operands().last() {
        let broad = Location::of(&target.text).breadth().is_vital();
        if broad {
            seen.add(Danger::DeleteRoot, call);
        }
    }
    copied_to(call, seen);
}

fn is_recursive(call: &Call) -> bool {
    call.has_short(&['r', 'R']) || call.has("--recursive") || call.program == "mv" || call.program == "trash"
}

fn remove(reading: &Reading, call: &Call, seen: &mut Dangers) {
    let recursive = is_recursive(call);
    if call.has("--no-preserve-root") {
        seen.add(Danger::DeleteRoot, call);
        return;
    }
    let targets = call
        .operands()
        .filter(|word| !(call.program == "mv" && word.text == "/dev/null"));
    for word in targets {
        deleted(&word.text, Depth::of(recursive), call, seen);
    }
    remove_fed(reading, call, seen);
}

/// Finds a deletion of what `find` finds by another program: handed on by `xargs`, or taken by a loop into a variable.
fn remove_fed(reading: &Reading, call: &Call, seen: &mut Dangers) {
    let takes_variable = || {
        call.operands()
            .any(|word| word.text.starts_with('$') && !word.text.contains('/'))
    };
    if !call.fed_arguments && !takes_variable() {
        return;
    }
    let Some(find) = reading.upstream(call).into_iter().find(|from| from.program == "find") else {
        return;
    };
    for (root, narrowed) in roots(find) {
        if !narrowed {
            deleted(root, Depth::Recursive, call, seen);
        }
    }
}

/// The depth of a deletion.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// One file, or the files of a pattern.
    Flat,
    /// A whole tree.
    Recursive,
}

impl Depth {
    fn of(recursive: bool) -> Self {
        if recursive { Depth::Recursive } else { Depth::Flat }
    }
}

/// One path is deleted.
pub(super) fn deleted(path: &str, depth: Depth, call: &Call, seen: &mut Dangers) {
    // What is fed into a pattern may be anything that fits it.
    let path = if call.fed_arguments && path != "{}" {
        path.replace("{}", "*")
    } else {
        path.to_owned()
    };
    let location = Location::of(&call.place(&path));
    let wildcard = path.contains('*');
    if location.is_needed() {
        seen.add(Danger::DeleteNeeded, call);
        return;
    }
    let guards_inside = || depth == Depth::Recursive && holds_guard(&call.place(&path));
    if location.is_guard(seen.policy.as_deref()) || guards_inside() {
        seen.add(Danger::GuardOff, call);
        return;
    }
    if is_log(&location) {
        seen.add(Danger::LogWipe, call);
        return;
    }
    if location.secret().is_some_and(|secret| secret.is_key_material()) {
        seen.add(Danger::DeleteSystem, call);
        return;
    }
    match (location.breadth(), depth) {
        (Breadth::Everything, Depth::Recursive) => seen.add(Danger::DeleteRoot, call),
        (Breadth::Home, Depth::Recursive) => seen.add(Danger::DeleteRoot, call),
        (Breadth::SystemDirectory, Depth::Recursive) => seen.add(Danger::DeleteRoot, call),
        (Breadth::SystemFile, _) | (Breadth::SystemDirectory, Depth::Flat) => {
            seen.add(Danger::DeleteSystem, call);
        }
        (Breadth::Everything | Breadth::Home, Depth::Flat) => {
            if wildcard {
                seen.add(Danger::DeleteBroad, call);
            }
        }
        (Breadth::Surroundings, Depth::Recursive) => {
            seen.add(Danger::DeleteBroad, call);
        }
        (Breadth::Surroundings, Depth::Flat) if !wildcard => {}
        (Breadth::Surroundings, Depth::Flat) | (Breadth::Other, Depth::Recursive) => {
            seen.add(Danger::DeleteFiles, call);
        }
        (Breadth::Disposable, _) | (Breadth::Other, Depth::Flat) => {}
    }
}

/// Returns `true` if a path is that of a script or a program in a directory of the system.
fn is_script_of_system(path: &str, call: &Call) -> bool {
    let location = Location::of(&call.place(path));
    let is_script = [".py", ".sh", ".pl", ".rb", ".js", ".php", ".exe"]
        .iter()
        .any(|end| path.ends_with(end));
    location.is_system() && (is_script || location.as_str().contains("bin/"))
}

fn is_log(location: &Location) -> bool {
    let path = location.as_str();
    (path.starts_with("/var/log/") && !location.is_rotated_log())
        || path == "/var/log"
        || matches!(location.secret(), Some(crate::prefilter::locations::Secret::History))
}

/// Returns the paths where a `find` starts, each with `true` if tests narrow it down.
fn roots(find: &Call) -> Vec<(&str, bool)> {
    let narrowed = find.args.iter().enumerate().any(|(at, word)| {
        let anything = |value: &Word| matches!(value.text.as_str(), "*" | "*.*" | "**" | "?*");
        NARROWING.contains(&word.text.as_str()) && !find.args.get(at + 1).is_some_and(anything)
    });
    let mut roots: Vec<(&str, bool)> = find
        .args
        .iter()
        .skip_while(|word| matches!(word.text.as_str(), "-L" | "-H" | "-P"))
        .take_while(|word| !word.text.starts_with(['-', '(', '!']))
        .map(|word| (word.text.as_str(), narrowed))
        .collect();
    if roots.is_empty() {
        roots.push((".", narrowed));
    }
    roots
}

fn find(call: &Call, seen: &mut Dangers) {
    // `-exec rm {}.bak` deletes something else than what was found.
    let removes_found = call.args.iter().enumerate().any(|(at, word)| {
        let mut next = call.args.iter().skip(at + 1);
        word.text.starts_with("-exec")
            && next.next().is_some_and(|program| {
                matches!(
                    program_name(&program.text).as_str(),
                    "rm" | "shred" | "unlink" | "truncate" | "srm" | "wipe"
                )
            })
            && next
                .take_while(|word| !matches!(word.text.as_str(), ";" | "+"))
                .any(|word| word.text == "{}")
    });
    let deletes = call.has("-delete") || removes_found;
    if !deletes {
        return;
    }
    for (root, narrowed) in roots(call) {
        if !narrowed {
            deleted(root, Depth::Recursive, call, seen);
        } else if holds_guard(&call.place(root)) {
            seen.add(Danger::GuardOff, call);
        } else if Location::of(root).breadth() == Breadth::Everything {
            seen.add(Danger::DeleteFiles, call);
        }
    }
}

/// Returns `true` if files that watch an agent are kept below a folder.
fn holds_guard(folder: &str) -> bool {
    const NAMES: [&str; 4] = ["settings.json", "hooks.json", "hooks/x", "guardian/x"];
    let folder = folder.trim_end_matches(['/', '*']);
    let is_folder = !folder.is_empty() && folder != "~";
    let mut inside = NAMES.iter().map(|name| format!("{folder}/{name}"));
    is_folder && inside.any(|path| Location::of(&path).steering() == Some(Steering::Guard))
}

/// An older version of a file is put in its place.
fn checked_out(call: &Call, seen: &mut Dangers) {
    let mut words = call.operands();
    let restores = words
        .next()
        .is_some_and(|verb| matches!(verb.text.as_str(), "checkout" | "restore" | "rm" | "mv"));
    let mut paths = words.filter(|word| Location::of(&call.place(&word.text)).is_guard(seen.policy.as_deref()));
    if restores && paths.next().is_some() {
        seen.add(Danger::GuardOff, call);
    }
}

fn shred(reading: &Reading, call: &Call, seen: &mut Dangers) {
    remove_fed(reading, call, seen);
    for word in call.operands() {
        let location = Location::of(&word.text);
        if location.is_disk() {
            seen.add(Danger::DiskOverwrite, call);
        } else if is_log(&location) {
            seen.add(Danger::LogWipe, call);
        } else if location.is_system() {
            seen.add(Danger::DeleteSystem, call);
        } else {
            seen.add(Danger::WipeFile, call);
        }
    }
}

/// The way in which a file is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    /// Its content is replaced.
    Replaced,
    /// Something is added at its end.
    Extended,
    /// Parts of it are changed.
    Changed,
    /// It is emptied.
    Emptied,
}

/// One path is written.
pub(super) fn written(path: &str, how: Written, call: &Call, seen: &mut Dangers) {
    let location = Location::of(&call.place(path));
    let text = location.as_str();
    if text.starts_with("/dev/tcp/") || text.starts_with("/dev/udp/") || text.starts_with("/dev/pts") || path.is_empty()
    {
        return;
    }
    if location.is_disk() {
        seen.add(Danger::DiskOverwrite, call);
        return;
    }
    if text.starts_with("/proc/sysrq-trigger") {
        seen.add(Danger::StopEverything, call);
        return;
    }
    if [
        "/etc/selinux/",
        "/sys/fs/selinux/",
        "/proc/sys/kernel/randomize_va_space",
    ]
    .iter()
    .any(|place| text.starts_with(place))
    {
        seen.add(Danger::DefenceOff, call);
        return;
    }
    // An application's own log, one directory further down, is emptied when it is full.
    let own_log = text.strip_prefix("/var/log/").is_some_and(|below| {
        below.ends_with(".log")
            && below.contains('/')
            && !below.contains('*')
            && !["audit/", "journal/", "sudo", "sssd/"]
                .iter()
                .any(|kept| below.starts_with(kept))
    });
    if how == Written::Emptied && is_log(&location) && !own_log {
        seen.add(Danger::LogWipe, call);
        return;
    }
    match location.steering() {
        _ if location.is_guard(seen.policy.as_deref()) => seen.add(Danger::GuardOff, call),
        Some(Steering::Login) => seen.add(Danger::Persistence, call),
        Some(Steering::Privilege) => seen.add(Danger::Accounts, call),
        Some(Steering::Startup)
            if text.starts_with('~') && !text.contains("/.config/") && !text.contains("/launch") =>
        {
            seen.add(Danger::ShellStartup, call);
        }
        Some(Steering::Startup) => seen.add(Danger::Persistence, call),
        Some(Steering::Guard) => seen.add(Danger::GuardOff, call),
        Some(Steering::Agent | Steering::Hook | Steering::Pipeline) => {
            seen.add(Danger::SteeringWrite, call);
        }
        None if how == Written::Changed && is_log(&location) => {
            seen.add(Danger::LogWipe, call);
        }
        // Data of services is emptied for reasons; what the system itself reads is not.
        None if how == Written::Emptied && location.is_system() && !text.starts_with("/var/") => {
            seen.add(Danger::DeleteSystem, call);
        }
        None if location.is_system() => seen.add(Danger::SystemWrite, call),
        None => {}
    }
}

fn copied_to(call: &Call, seen: &mut Dangers) {
    let operands: Vec<&str> = call.operands().map(|word| word.text.as_str()).collect();
    if let Some((target, sources)) = operands.split_last()
        && !sources.is_empty()
    {
        let how = if sources.contains(&"/dev/null") {
            Written::Emptied
        } else {
            Written::Replaced
        };
        let source_name = |source: &&str| source.rsplit('/').next().unwrap_or_default().to_owned();
        let names: Vec<String> = sources.iter().map(source_name).collect();
        written(target, how, call, seen);
        // Into a directory: the file keeps its name there.
        for name in names.iter().take(8) {
            let inside = format!("{}/{name}", target.trim_end_matches('/'));
            if Location::of(target).steering().is_none() && Location::of(&inside).steering().is_some() {
                written(&inside, how, call, seen);
            }
        }
    }
}

fn redirects(call: &Call, seen: &mut Dangers) {
    let prints_nothing = matches!(call.program.as_str(), "" | ":" | "true")
        || (call.program == "cat" && call.has("/dev/null"))
        || (call.program == "echo" && call.operands().all(|word| word.text.is_empty()));
    for redirect in &call.redirects {
        let how = match redirect.direction {
            Direction::Out | Direction::Both if prints_nothing => Written::Emptied,
            Direction::Out | Direction::Both => Written::Replaced,
            Direction::Duplicate if !redirect.target.text.bytes().all(|b| b.is_ascii_digit() || b == b'-') => {
                Written::Replaced
            }
            Direction::Append => Written::Extended,
            Direction::Duplicate | Direction::In | Direction::Text => continue,
        };
        written(&redirect.target.text, how, call, seen);
    }
}
