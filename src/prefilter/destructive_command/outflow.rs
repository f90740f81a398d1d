//! Data that leaves: files, command output and secrets on their way to another machine.

mod hosts;
mod payload;

use std::collections::{HashMap, HashSet};

use super::network::{bare, is_fetch, is_unprotected, written_by_fetch};
use super::{Danger, Dangers, commands};
use crate::prefilter::locations::Location;
use crate::shell::programs::{self, Role};
use crate::shell::syntax::Direction;
use crate::shell::wrappers::{is_interpreter, is_shell};
use crate::shell::{Call, Reading, Stdin, Word};
use hosts::{sends_foreign_key, serves_everything};
use payload::{Payload, payload_of_call, payload_of_path};

/// Looks at all calls together: what is fetched into a file and run later, what is copied into a file and sent later.
pub(super) fn look_across(reading: &Reading, seen: &mut Dangers) {
    let mut fetched: HashSet<String> = HashSet::new();
    let mut unprotected = false;
    let mut copied: HashMap<String, Payload> = HashMap::new();
    let mut looped: Option<Payload> = None;
    // What stands behind `done` feeds the loop before it.
    for call in reading.calls.iter().filter(|call| call.program.is_empty()) {
        if let Stdin::File(path) = &call.stdin {
            looped = looped.max(payload_of_path(path));
        }
    }
    for call in &reading.calls {
        let takes_variable = || call.args.iter().any(|word| word.text.contains('$'));
        if matches!(looped, Some(Payload::Secret | Payload::System))
            && (is_name_lookup(call) || is_sender(call))
            && takes_variable()
        {
            seen.add(Danger::Exfiltrate, call);
        }
        let runs_text =
            is_shell(&call.program) || is_interpreter(&call.program) || matches!(call.program.as_str(), "source" | ".");
        let runs_file = fetched.contains(bare(&call.path))
            || (runs_text
                && call
                    .operands()
                    .next()
                    .is_some_and(|word| fetched.contains(bare(&word.text))));
        if !fetched.is_empty() && runs_file {
            seen.add(Danger::DownloadRun, call);
            if unprotected {
                seen.add(Danger::UnprotectedRun, call);
            }
        }
        if is_fetch(call) {
            let files = written_by_fetch(call);
            unprotected |= !files.is_empty() && is_unprotected(call);
            fetched.extend(files);
        }
        if !copied.is_empty() && is_sender(call) {
            send_copy(reading, call, &copied, seen);
        }
        let files = written_by_copy(call);
        if files.is_empty() {
            continue;
        }
        let read = reading.upstream(call).into_iter().chain([call]);
        if let Some(payload @ (Payload::Secret | Payload::System)) = read.filter_map(payload_of_call).max() {
            copied.extend(files.into_iter().map(|file| (file, payload)));
        }
    }
}

/// Looks at what a call sends of files that were written before.
fn send_copy(reading: &Reading, call: &Call, copied: &HashMap<String, Payload>, seen: &mut Dangers) {
    let sent = sent_words(call).into_iter().flat_map(|word| paths_in(&word.text));
    let from_input = match &call.stdin {
        Stdin::File(path) => Some(path.as_str()),
        Stdin::Calls(_) | Stdin::Text(_) | Stdin::Unknown => None,
    };
    let piped: Vec<&Call> = reading.upstream(call);
    let read = piped
        .iter()
        .flat_map(|from| from.operands())
        .map(|word| word.text.as_str());
    let payload = sent
        .chain(from_input)
        .chain(read)
        .filter_map(|path| copied.get(bare(path)).copied())
        .max();
    match payload {
        Some(Payload::Secret) => seen.add(Danger::Exfiltrate, call),
        Some(Payload::System) => seen.add(Danger::UploadSystem, call),
        Some(Payload::Output | Payload::File) | None => {}
    }
}

/// The files that a call may copy what it reads into.
fn written_by_copy(call: &Call) -> Vec<String> {
    let redirected = call
        .redirects
        .iter()
        .filter(|redirect| matches!(redirect.direction, Direction::Out | Direction::Append))
        .map(|redirect| redirect.target.text.as_str());
    let copies = matches!(
        call.program.as_str(),
        "cp" | "mv" | "install" | "tar" | "zip" | "7z" | "gpg" | "openssl" | "gzip" | "tee" | "dd"
    );
    let named = call
        .operands()
        .filter(|_| copies)
        .map(|word| word.text.strip_prefix("of=").unwrap_or(&word.text));
    redirected
        .chain(named)
        .filter(|path| Location::of(path).secret().is_none())
        .take(8)
        .map(|path| bare(path).to_owned())
        .collect()
}

/// Returns `true` if a text holds the name of a program that may send: far quicker than reading it.
pub(super) fn may_send(text: &str) -> bool {
    let is_name = |word: &str| {
        programs::is(Role::Sends, word) || commands::may_send(word) || matches!(word, "curl" | "wget" | "ssh")
    };
    text.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_')))
        .any(|word| is_name(&word.to_ascii_lowercase()))
}

/// Returns `true` if a call hands data to another machine.
pub(super) fn is_sender(call: &Call) -> bool {
    const OF_CURL: &[&str] = &[
        "-d",
        "-F",
        "-T",
        "--data",
        "--form",
        "--upload-file",
        "--json",
        "--url-query",
    ];
    let has_output = || call.args.iter().any(|word| !word.inside.is_empty());
    let is_flag = |text: &str| OF_CURL.iter().any(|flag| text.starts_with(flag));
    programs::is(Role::Sends, &call.program)
        || commands::sends(call)
        || match call.program.as_str() {
            "curl" => has_output() || call.args.iter().any(|word| is_flag(&word.text)),
            "wget" => has_output(),
            "ssh" => matches!(call.stdin, Stdin::Calls(_) | Stdin::File(_)),
            _ => false,
        }
}

fn is_name_lookup(call: &Call) -> bool {
    programs::is(Role::LooksNamesUp, &call.program)
}

/// Looks at a call that looks names up: what it carries in them.
fn look_up(reading: &Reading, call: &Call, seen: &mut Dangers) {
    let data = call
        .args
        .iter()
        .flat_map(|word| reading.within(word))
        .collect::<Vec<_>>();
    let upstream = reading.upstream(call);
    let payload = data
        .iter()
        .chain(&upstream)
        .filter_map(|from| payload_of_call(from))
        .max();
    match payload {
        Some(Payload::Secret) => seen.add(Danger::Exfiltrate, call),
        _ if data
            .iter()
            .any(|from| matches!(from.program.as_str(), "base64" | "base32" | "xxd" | "od" | "hexdump")) =>
        {
            seen.add(Danger::Exfiltrate, call);
        }
        _ if !data.is_empty()
            && call
                .args
                .iter()
                .any(|word| !word.inside.is_empty() && word.text.contains("$(…).")) =>
        {
            seen.add(Danger::DnsCarrier, call);
        }
        _ => {}
    }
}

/// Looks at one call.
pub(super) fn look(reading: &Reading, call: &Call, seen: &mut Dangers) {
    if is_name_lookup(call) {
        return look_up(reading, call, seen);
    }
    if sends_foreign_key(call) {
        seen.add(Danger::Exfiltrate, call);
    }
    if serves_everything(call) {
        seen.add(Danger::UploadSystem, call);
    }
    let socket = call
        .redirects
        .iter()
        .any(|redirect| redirect.target.text.contains("/dev/tcp/") && redirect.direction != Direction::In);
    let fed = call.fed_arguments && matches!(call.program.as_str(), "curl" | "wget");
    if !is_sender(call) && !socket && !fed {
        return;
    }
    let mut payload: Option<Payload> = None;
    let mut carry = |more: Option<Payload>| payload = payload.max(more);
    let scripted = call.program == "sftp" && call.stdin != Stdin::Unknown;
    let copies_in = matches!(call.program.as_str(), "scp" | "rsync" | "sftp")
        && !scripted
        && !call.operands().last().is_some_and(|word| is_remote(&word.text));
    if copies_in {
        return;
    }
    for word in sent_words(call) {
        for path in paths_in(&word.text) {
            carry(payload_of_path(path));
        }
        for from in reading.within(word) {
            carry(payload_of_call(from).or(Some(Payload::Output).filter(|_| !is_harmless(from))));
            for earlier in reading.upstream(from) {
                carry(payload_of_call(earlier));
            }
        }
    }
    match &call.stdin {
        Stdin::File(path) => carry(payload_of_path(path)),
        // What is typed into `ftp` and its like: `put FILE`.
        Stdin::Text(text) if matches!(call.program.as_str(), "ftp" | "sftp" | "lftp" | "smbclient" | "tftp") => {
            for word in text.split_whitespace().take(64) {
                carry(payload_of_path(word));
            }
        }
        Stdin::Calls(_) | Stdin::Text(_) | Stdin::Unknown => {}
    }
    if matches!(call.program.as_str(), "lftp" | "smbclient") {
        for word in call.args.iter().flat_map(|word| word.text.split([' ', ';'])).take(64) {
            carry(payload_of_path(word));
        }
    }
    // A dump that goes to a store or to another host of one's own is a backup.
    let is_backup = matches!(
        call.program.as_str(),
        "ssh" | "aws" | "gsutil" | "az" | "gcloud" | "rclone" | "scp" | "rsync" | "mc"
    );
    for from in reading.upstream(call) {
        carry(payload_of_call(from).filter(|_| !(is_backup && from.program.contains("dump"))));
    }
    if socket && matches!(call.program.as_str(), "cat" | "tar" | "env" | "printenv") {
        carry(payload_of_call(call));
    }
    tell_payload(payload, is_sender(call) || socket, call, seen);
}

/// Tells what a call carries away; `sends`: whether it is known to send.
fn tell_payload(payload: Option<Payload>, sends: bool, call: &Call, seen: &mut Dangers) {
    match payload {
        Some(Payload::Secret) => seen.add(Danger::Exfiltrate, call),
        Some(Payload::System) => seen.add(Danger::UploadSystem, call),
        Some(Payload::Output) if sends => seen.add(Danger::CommandInRequest, call),
        Some(Payload::File) if sends => seen.add(Danger::Upload, call),
        Some(Payload::Output | Payload::File) | None => {}
    }
}

/// The arguments that carry data: not a key that only opens the connection.
fn sent_words(call: &Call) -> Vec<&Word> {
    let mut skip = false;
    call.args
        .iter()
        .filter(|word| {
            let identity = std::mem::replace(
                &mut skip,
                matches!(
                    word.text.as_str(),
                    "-i" | "--cert"
                        | "--key"
                        | "--cacert"
                        | "-E"
                        | "-o"
                        | "--output"
                        | "-O"
                        | "--netrc-file"
                        | "-K"
                        | "--config"
                        | "-b"
                        | "-c"
                        | "--cookie-jar"
                        | "-e"
                        | "--rsh"
                ),
            ) && !matches!(call.program.as_str(), "rsync");
            !identity
        })
        .collect()
}

fn is_remote(text: &str) -> bool {
    text.split_once(':')
        .is_some_and(|(host, _)| !host.is_empty() && !host.contains('/'))
}

/// Returns the parts of an argument that may be paths: the whole, what follows `@` or `=@`, what follows `=`.
fn paths_in(text: &str) -> Vec<&str> {
    let mut paths = Vec::new();
    if text.contains("://") && !text.starts_with("file://") {
        return paths;
    }
    if let Some((_, path)) = text.split_once('@') {
        if !path.contains(':') {
            paths.push(path.split(';').next().unwrap_or(path));
        }
    } else if let Some((_, path)) = text.split_once("=<") {
        paths.push(path);
    } else if let Some((_, path)) = text.split_once('=').filter(|(name, _)| name.starts_with('-')) {
        paths.push(path);
    } else if !text.starts_with('-') {
        paths.push(text);
    }
    paths
}

fn is_harmless(call: &Call) -> bool {
    programs::is(Role::PrintsHarmless, &call.program)
}
