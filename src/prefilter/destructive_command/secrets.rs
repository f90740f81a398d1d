//! Data that calls read: keys, environments, accounts, files of the system.

use super::{Danger, Dangers};
use crate::prefilter::locations::{Location, Secret};
use crate::prefilter::words::destructive_command_secrets::PUBLIC;
use crate::shell::programs::{self, Role};
use crate::shell::{Call, Reading, Stdin, Word};

/// Looks at one call.
pub(super) fn look(reading: &Reading, call: &Call, seen: &mut Dangers) {
    let program = call.program.as_str();
    if matches!(program, "grep" | "egrep" | "rg") && looks_for_keys(reading, call) {
        seen.add(Danger::EnvironmentRead, call);
    }
    let input = match &call.stdin {
        Stdin::File(path) => Some(path.as_str()),
        Stdin::Calls(_) | Stdin::Text(_) | Stdin::Unknown => None,
    };
    if !programs::is(Role::Reads, program) {
        return unforeseen(call, input, seen);
    }
    read_by(call, input, seen);
}

/// Returns `true` if a search of environment variables looks for keys.
fn looks_for_keys(reading: &Reading, call: &Call) -> bool {
    const KEYS: &[&str] = &["secret", "token", "passw", "api_key", "apikey", "_key", "credential"];
    let pattern = call.operands().next().map(|word| word.text.to_ascii_lowercase());
    let prints_variables = |from: &&Call| matches!(from.program.as_str(), "env" | "printenv" | "set");
    pattern.is_some_and(|pattern| KEYS.iter().any(|word| pattern.contains(word)))
        && reading.upstream(call).iter().any(prints_variables)
}

/// Looks at what a program reads that is known for showing or copying files.
fn read_by(call: &Call, input: Option<&str>, seen: &mut Dangers) {
    let program = call.program.as_str();
    let only_source = matches!(program, "cp" | "mv" | "install" | "rsync" | "scp" | "copy" | "xcopy");
    // `scp -i KEY` opens the connection with it.
    let identity = call
        .values(&["-i", "-F"])
        .next()
        .filter(|_| program == "scp")
        .map(|(word, _)| word.text.as_str());
    let operands: Vec<&str> = call
        .operands()
        .map(|word| word.text.as_str())
        .filter(|text| Some(*text) != identity)
        .collect();
    let sources = if only_source {
        operands.split_last().map_or(&[][..], |(_, sources)| sources)
    } else {
        operands.as_slice()
    };
    for path in sources.iter().copied().chain(input) {
        let path = path.strip_prefix("if=").unwrap_or(path);
        if path.contains(' ') || path.starts_with("of=") {
            continue;
        }
        read(path, &Location::of(&call.place(path)), call, seen);
    }
}

/// One path is read.
pub(super) fn read(path: &str, location: &Location, call: &Call, seen: &mut Dangers) {
    let secret = location.secret();
    let climbs = path.contains("..") && path.starts_with(['/', '~', '.']);
    if climbs && (location.is_system() || secret.is_some_and(Secret::is_key_material)) {
        seen.add(Danger::ClimbingPath, call);
    }
    match secret {
        Some(secret) if secret.is_key_material() => seen.add(Danger::CredentialRead, call),
        Some(Secret::Environment) => seen.add(Danger::EnvironmentRead, call),
        Some(_) => seen.add(Danger::AccountRead, call),
        None if location.is_system() && !is_public(location.as_str()) => seen.add(Danger::SystemRead, call),
        None => {}
    }
}

/// A program that is not known for showing files still gets what it is given: keys handed to it are read.
fn unforeseen(call: &Call, input: Option<&str>, seen: &mut Dangers) {
    let program = call.program.as_str();
    // Most words are no paths at all: they are not spelled out.
    let is_path = |path: &str| call.directory.is_some() || path.contains(['/', '\\']);
    let hashes = |path: &str| is_path(path) && Location::of(&call.place(path)).secret() == Some(Secret::PasswordHashes);
    let keys = |path: &str| {
        path.starts_with(['/', '~', '$', 'C', 'c']) && Location::of(path).secret().is_some_and(Secret::is_key_material)
    };
    let found = if programs::is(Role::ShowsNothing, program) {
        // None of them has a reason to be given the hashes of all users' passwords, but to look at them from outside.
        let opens = matches!(
            program,
            "ssh" | "openssl" | "curl" | "wget" | "git" | "ln" | "cpio" | "xargs"
        );
        opens
            && call
                .args
                .iter()
                .any(|word| hashes(word.text.trim_start_matches("file://")))
    } else {
        let mut after_option = false;
        let given = call.args.iter().any(|word| {
            let is_value = std::mem::replace(&mut after_option, word.text.starts_with('-'));
            let path = word.text.as_str();
            !path.contains([' ', '=']) && (hashes(path) || !is_value && !program.is_empty() && keys(path))
        });
        given || input.is_some_and(|path| hashes(path) || keys(path))
    };
    if found {
        seen.add(Danger::CredentialRead, call);
    }
}

/// The file that a `find` or `ls` names, if it is one that holds keys: it stands for what is found.
pub(super) fn found_key(call: &Call, words: &[Word]) -> Option<String> {
    if call.program == "ls" {
        let listed = call.operands().next().map(|word| word.text.clone());
        return listed.filter(|path| Location::of(path).secret().is_some_and(Secret::is_key_material));
    }
    sought(call).or_else(|| sent_key(call, words))
}

/// A key, where what a `find` finds by the end of its name goes to another machine.
fn sent_key(find: &Call, words: &[Word]) -> Option<String> {
    const SENDERS: &[&str] = &[
        "curl", "wget", "scp", "rsync", "sftp", "nc", "ncat", "http", "rclone", "gsutil",
    ];
    const ENDS: &[&str] = &[".pem", ".key", ".ppk", ".pfx", ".p12", ".jks", ".kdbx", ".ovpn"];
    let sends = words.first().is_some_and(|word| SENDERS.contains(&word.text.as_str()));
    let is_key = |(_, name): (&Word, &str)| name.starts_with('*') && ENDS.iter().any(|end| name.ends_with(end));
    let finds_keys = find.values(&["-name", "-iname"]).any(is_key);
    (sends && finds_keys).then(|| "~/.ssh/id_rsa".to_owned())
}

/// The secret that a `find` looks for by its name, as a path.
pub(super) fn sought(find: &Call) -> Option<String> {
    let root = find
        .args
        .first()
        .filter(|word| !word.text.starts_with('-'))
        .map_or(".", |word| &word.text);
    find.values(&["-name", "-iname", "-path", "-ipath", "-wholename"])
        .map(|(_, name)| {
            format!(
                "{}/{}",
                root.trim_end_matches('/'),
                name.trim_matches('*').trim_start_matches('/')
            )
        })
        .find(|path| Location::of(path).secret().is_some_and(Secret::is_key_material))
}

/// Returns `true` for system files that any program reads to learn where it is.
fn is_public(path: &str) -> bool {
    PUBLIC.contains(&path)
        || [
            "/usr/share/",
            "/usr/include/",
            "/usr/lib/",
            "/lib/",
            "/var/log/",
            "/sys/class/",
            "/dev/",
        ]
        .iter()
        .any(|top| path.starts_with(top))
}
