//! What is read: keys, environments, accounts, files of the system.

use super::shell::{Call, Reading, Stdin};
use super::{Danger, Seen};
use crate::prefilter::locations::{Location, Secret};

/// Looks at one call.
/// Whether a program shows or copies what it is given.
pub(super) fn is_reader(program: &str) -> bool {
    matches!(
        program,
        "cat"
            | "bat"
            | "less"
            | "more"
            | "head"
            | "tail"
            | "strings"
            | "xxd"
            | "od"
            | "hexdump"
            | "base64"
            | "base32"
            | "cp"
            | "mv"
            | "tar"
            | "zip"
            | "7z"
            | "gzip"
            | "bzip2"
            | "xz"
            | "zstd"
            | "grep"
            | "egrep"
            | "fgrep"
            | "rg"
            | "ag"
            | "awk"
            | "gawk"
            | "sed"
            | "cut"
            | "sort"
            | "nl"
            | "tac"
            | "dd"
            | "gpg"
            | "rev"
            | "tr"
            | "paste"
            | "column"
            | "fold"
            | "split"
            | "uuencode"
            | "view"
            | "type"
            | "vim"
            | "vi"
            | "nano"
            | "emacs"
            | "install"
            | "rsync"
            | "scp"
            | "john"
            | "hashcat"
            | "unshadow"
            | "diff"
            | "cpio"
    )
}

pub(super) fn look(reading: &Reading, call: &Call, seen: &mut Seen) {
    let program = call.program.as_str();
    match program {
        "mimikatz" | "lazagne" | "secretsdump.py" | "secretsdump" | "unshadow" | "gsecdump" | "pwdump" => {
            seen.add(Danger::CredentialRead, call, "collects stored passwords");
        }
        "security"
            if call.args.iter().any(|word| {
                matches!(
                    word.text.as_str(),
                    "dump-keychain" | "find-generic-password" | "find-internet-password"
                )
            }) =>
        {
            seen.add(Danger::CredentialRead, call, "reads passwords from the key chain");
        }
        "kubectl" | "oc"
            if call.has("get")
                && call
                    .args
                    .iter()
                    .any(|word| matches!(word.text.as_str(), "secret" | "secrets"))
                && call.values(&["-o", "--output"]).next().is_some() =>
        {
            seen.add(Danger::EnvironmentRead, call, "prints the secrets of a cluster");
        }
        "grep" | "egrep" | "rg"
            if call.operands().next().is_some_and(|pattern| {
                let pattern = pattern.text.to_ascii_lowercase();
                ["secret", "token", "passw", "api_key", "apikey", "_key", "credential"]
                    .iter()
                    .any(|word| pattern.contains(word))
            }) && reading
                .upstream(call)
                .iter()
                .any(|from| matches!(from.program.as_str(), "env" | "printenv" | "set")) =>
        {
            seen.add(
                Danger::EnvironmentRead,
                call,
                "looks for keys among the environment variables",
            );
        }
        _ => {}
    }
    if !is_reader(program) {
        return;
    }
    let input = match &call.stdin {
        Stdin::File(path) => Some(path.as_str()),
        Stdin::Calls(_) | Stdin::Text(_) | Stdin::Unknown => None,
    };
    let only_source = matches!(program, "cp" | "mv" | "install" | "rsync" | "scp");
    let operands: Vec<&str> = call.operands().map(|word| word.text.as_str()).collect();
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
        let location = Location::of(&call.place(path));
        if climbs_into_system(path, &location) {
            seen.add(
                Danger::ClimbingPath,
                call,
                "climbs out of one directory into a place of the system",
            );
        }
        match location.secret() {
            Some(secret) if secret.is_key_material() => seen.add(Danger::CredentialRead, call, reads(secret)),
            Some(Secret::Environment) => seen.add(Danger::EnvironmentRead, call, reads(Secret::Environment)),
            Some(secret) => seen.add(Danger::AccountRead, call, reads(secret)),
            None if location.is_system() && !is_public(location.as_str()) => {
                seen.add(Danger::SystemRead, call, "reads a file of the system");
            }
            None => {}
        }
    }
}

/// What reading a secret is called.
pub(super) fn reads(secret: Secret) -> String {
    format!("reads {}", secret.describe())
}

/// A path that climbs out of one directory into a place of the system.
pub(super) fn climbs_into_system(path: &str, location: &Location) -> bool {
    path.contains("..")
        && path.starts_with(['/', '~', '.'])
        && (location.is_system() || location.secret().is_some_and(Secret::is_key_material))
}

/// System files that everybody reads to learn where they are.
pub(super) fn is_public(path: &str) -> bool {
    const PUBLIC: &[&str] = &[
        "/etc/os-release",
        "/etc/hosts",
        "/etc/hostname",
        "/etc/resolv.conf",
        "/etc/timezone",
        "/etc/issue",
        "/etc/debian_version",
        "/etc/lsb-release",
        "/etc/redhat-release",
        "/etc/services",
        "/etc/fstab",
        "/proc/cpuinfo",
        "/proc/meminfo",
        "/proc/version",
        "/proc/mounts",
        "/proc/loadavg",
        "/proc/uptime",
        "/proc/stat",
    ];
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
