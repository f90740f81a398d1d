//! Shells that begin with the rights of root inside a program that was allowed to run with them.
//!
//! Who may run one program as root must not come out of it with a shell. A shell that `sudo` itself is asked for is not
//! hidden, and who starts one in a container or on another host is not root here: neither is told of.

use std::sync::LazyLock;

use regex::Regex;

use super::shell::{Call, Embedded, Stdin};
use super::wrappers::is_shell;
use super::{Danger, Seen};
use crate::prefilter::expression::expression;

/// Who has a program run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Bearer {
    /// Whether it was given the rights of root.
    pub as_root: bool,
    /// The program that runs it in turn; empty when that one is there to begin shells, or when there is none.
    pub program: String,
}

/// Programs that give rights.
const GIVERS: &[&str] = &["sudo", "doas", "pkexec"];
/// Programs that stand before another one without being it.
const TRANSPARENT: &[&str] = &["exec", "command", "builtin", "sh", "bash", "zsh", "dash", "ksh", "ash"];
/// Programs that begin shells elsewhere, or for somebody else.
const ELSEWHERE: &[&str] = &[
    "su",
    "runuser",
    "sg",
    "login",
    "script",
    "tmux",
    "screen",
    "chroot",
    "docker",
    "podman",
    "nerdctl",
    "kubectl",
    "oc",
    "lxc",
    "incus",
    "nsenter",
    "unshare",
    "systemd-run",
    "bwrap",
    "proot",
    "fakeroot",
    "fakechroot",
    "firejail",
    "setpriv",
    "capsh",
    "vagrant",
    "wsl",
    "docker-compose",
    "mosh",
    "salt",
    "ansible",
    "xvfb-run",
    "nohup",
];

/// What a call hands on to the programs that it runs.
pub(super) fn handed_on(call: &Call) -> Bearer {
    let name = call.program.as_str();
    if GIVERS.contains(&name) {
        return Bearer {
            as_root: call.bearer.as_root || gives_root(call),
            program: call.bearer.program.clone(),
        };
    }
    if TRANSPARENT.contains(&name) {
        return call.bearer.clone();
    }
    if ELSEWHERE.contains(&name) {
        return Bearer::default();
    }
    Bearer {
        as_root: call.bearer.as_root,
        program: name.to_owned(),
    }
}

/// Whether rights are given that are those of root.
fn gives_root(call: &Call) -> bool {
    let is_root = |user: &str| matches!(user, "root" | "#0" | "0");
    let mut words = call.args.iter().map(|word| word.text.as_str());
    while let Some(word) = words.next() {
        let named = word.strip_prefix("--user=").or_else(|| word.strip_prefix("-u"));
        match (word, named) {
            ("-u" | "--user", _) => return words.next().is_some_and(is_root),
            (_, Some(user)) => return is_root(user),
            _ if word.starts_with('-') || word.contains('=') => {}
            _ => return true,
        }
    }
    false
}

/// Looks at one call.
pub(super) fn look(call: &Call, seen: &mut Seen) {
    let carries = ["exec:", "system:"];
    let connected = call.program == "socat"
        && call.bearer.as_root
        && call.operands().any(|word| {
            let word = word.text.to_ascii_lowercase();
            let program = carries.iter().find_map(|lead| word.strip_prefix(lead));
            program.is_some_and(|program| is_shell(program.rsplit('/').next().unwrap_or(program)))
        });
    if connected || (is_borne(&call.bearer, call.has_short(&['p'])) && is_interactive(call)) {
        tell(call, seen);
    }
}

/// Whether a shell that begins there has rights that it was not to have.
fn is_borne(bearer: &Bearer, keeps_rights: bool) -> bool {
    !bearer.program.is_empty() && (bearer.as_root || keeps_rights)
}

/// Whether it is a shell that waits for what somebody types.
fn is_interactive(call: &Call) -> bool {
    let listed = call.fed_arguments && call.bearer.program != "find";
    is_shell(&call.program)
        && !listed
        && call.stdin == Stdin::Unknown
        && call.args.iter().all(|word| {
            let flags = word.text.strip_prefix(['-', '+']);
            flags.is_some_and(|flags| !flags.ends_with('c') || flags.starts_with('-'))
        })
}

/// A shell that code starts, whatever it calls that.
static STARTS_SHELL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    expression(
        r#"\b(?:spawn\w*|exec\w*|system|popen|Popen|call|run|execute|posix_spawn\w*)\b[\s(\[]{0,4}["']?(?:/usr)?(?:/bin/)?(?:ba|z|da|k|a)?sh(?:\s+-[ip]+)?(?:["']|;|\s*$)"#,
    )
});

/// Looks at code that would be run.
pub(super) fn look_at_code(embedded: &Embedded, seen: &mut Seen) {
    if !is_borne(&embedded.bearer, false) || !embedded.code.contains("sh") {
        return;
    }
    let Some(hit) = STARTS_SHELL.as_ref().and_then(|regex| regex.find(&embedded.code)) else {
        return;
    };
    // With a text of its own the shell runs that, and whoever reads commands has it.
    let behind = embedded.code.get(hit.end()..).unwrap_or_default();
    let next = behind.trim_start_matches([',', ' ', '[', '"', '\'']);
    if !next.starts_with("-c") && !next.starts_with("-lc") {
        seen.add_at(Danger::RootShell, embedded.span.clone(), WHAT);
    }
}

const WHAT: &str = "begins a shell with the rights of root inside another program";

fn tell(call: &Call, seen: &mut Seen) {
    seen.add(Danger::RootShell, call, WHAT);
}

#[cfg(test)]
mod tests {
    use super::super::look_at_shell;
    use super::*;

    fn is_told(command: &str) -> bool {
        let mut seen = Seen::default();
        look_at_shell(command, &mut seen, &mut Vec::new());
        seen.dangers.iter().any(|(danger, _, _)| *danger == Danger::RootShell)
    }

    #[test]
    fn shells_out_of_programs_that_run_as_root_are_told() {
        for command in [
            r"sudo find /srv -maxdepth 1 -exec /bin/bash \; -quit",
            "sudo vi -c ':!/bin/sh' /dev/null",
            "sudo -n awk 'BEGIN {system(\"/bin/dash\")}'",
            "sudo -u root tar cf /dev/null x --checkpoint=1 --checkpoint-action=exec=/bin/sh",
            "doas python3 -c 'import pty; pty.spawn(\"/bin/sh\")'",
            "sudo perl -e 'exec \"/bin/sh\";'",
            "sudo lua -e 'os.execute(\"/bin/sh\")'",
            "sudo env /bin/sh",
            "sudo sh -c 'timeout 1d bash'",
            "sudo socat - exec:/bin/sh",
            "printf '!/bin/sh\\n' | sudo less /var/log/syslog",
            r"find . -maxdepth 0 -exec /bin/sh -p \;",
            "sudo apt-get update -o APT::Update::Pre-Invoke::=/bin/sh",
            "sudo vim -c ':set shell=/bin/sh' -c ':shell'",
        ] {
            assert!(is_told(command), "{command}");
        }
    }

    #[test]
    fn asked_for_shells_and_shells_elsewhere_are_not() {
        for command in [
            "sudo -i",
            "sudo bash",
            "sudo bash deploy.sh",
            "sudo sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'",
            "sudo -u postgres env bash",
            "sudo docker exec -it web bash",
            "sudo chroot /mnt/target /bin/bash",
            "sudo find . -name '*.sh' -exec bash {} \\;",
            "find . -maxdepth 1 -exec sh -c 'echo \"$1\"' _ {} \\;",
            "sudo python3 -c 'import subprocess; subprocess.run([\"sh\", \"-c\", \"date\"])'",
            "sudo vim /etc/hosts",
            "env bash",
        ] {
            assert!(!is_told(command), "{command}");
        }
    }
}
