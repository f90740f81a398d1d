//! Dangers that come in: code that is fetched and run, shells that are handed to others, tunnels.

use super::{Danger, Dangers};
use crate::prefilter::hosts::{host_of, is_this_machine};
use crate::prefilter::words::destructive_command_network::KNOWN_INSTALLERS;
use crate::shell::programs::{self, Role};
use crate::shell::syntax::Direction;
use crate::shell::wrappers::{is_interpreter, is_shell, names_shell};
use crate::shell::{Call, Reading, is_decoder};

/// Looks at one call.
pub(super) fn look(reading: &Reading, call: &Call, seen: &mut Dangers) {
    run_fetched(reading, call, seen);
    remote_shell(reading, call, seen);
    tunnel(call, seen);
    installs_unprotected(call, seen);
}

/// A path without `./` before it.
pub(super) fn bare(path: &str) -> &str {
    path.strip_prefix("./").unwrap_or(path)
}

/// Returns `true` if a call brings text in from another machine.
pub(super) fn is_fetch(call: &Call) -> bool {
    match call.program.as_str() {
        program if programs::is(Role::Fetches, program) => true,
        "lynx" | "links" | "w3m" | "elinks" => call
            .args
            .iter()
            .any(|word| word.text.starts_with("-dump") || word.text.starts_with("-source")),
        "openssl" => call.has("s_client"),
        _ => false,
    }
}

/// The files that a call fetches into.
pub(super) fn written_by_fetch(call: &Call) -> Vec<String> {
    let mut files: Vec<String> = call
        .values(match call.program.as_str() {
            "wget" => &["-O", "--output-document"],
            _ => &["-o", "--output", "--out"],
        })
        .map(|(_, value)| value.to_owned())
        .collect();
    files.extend(
        call.redirects
            .iter()
            .filter(|redirect| redirect.direction == Direction::Out)
            .map(|redirect| redirect.target.text.clone()),
    );
    let named_by_url = call.program == "wget" || call.has_short(&['O']) || call.has("--remote-name");
    if files.is_empty() && named_by_url {
        files.extend(urls(call).filter_map(|url| {
            let path = url.split(['?', '#']).next().unwrap_or(url);
            path.rsplit('/')
                .next()
                .filter(|name| !name.is_empty())
                .map(str::to_owned)
        }));
    }
    files.retain(|file| file != "-");
    files.iter().map(|file| bare(file).to_owned()).collect()
}

/// Returns `true` if what a call fetches can be another's: it comes unencrypted, or from an address instead of a name.
pub(super) fn is_unprotected(call: &Call) -> bool {
    urls(call).any(|url| {
        let lower = url.to_ascii_lowercase();
        let scheme = lower.split_once("://").map_or("", |(scheme, _)| scheme);
        let host = host_of(&lower);
        let is_numeric = !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        !is_this_machine(host) && (matches!(scheme, "http" | "ftp") || is_numeric || host.contains(':'))
    })
}

fn urls(call: &Call) -> impl Iterator<Item = &str> {
    call.args.iter().map(|word| word.text.as_str()).filter(|text| {
        text.contains("://")
            || (text.contains('.') && text.contains('/') && !text.starts_with(['/', '.', '-', '~', '@']))
    })
}

/// Programs that install or apply what a URL names, and run code of it.
fn installs_unprotected(call: &Call, seen: &mut Dangers) {
    let installs = match call.program.as_str() {
        "pip" | "pip3" | "pipx" | "npm" | "yarn" | "pnpm" | "brew" | "helm" | "gem" | "yum" | "dnf" | "zypper"
        | "cargo" => call.has_any(&["install", "add", "i", "upgrade", "localinstall"]),
        "dpkg" | "rpm" | "npx" | "ansible-pull" | "msiexec" => true,
        "kubectl" | "oc" => call.has_any(&["apply", "create", "replace"]),
        "go" => call.has("run") || call.has("install"),
        _ => false,
    };
    let source = |word: &crate::shell::Word| {
        word.text
            .to_ascii_lowercase()
            .trim_start_matches("git+")
            .starts_with("http://")
    };
    if installs
        && call.operands().any(source)
        && is_unprotected(call)
        && !call
            .args
            .iter()
            .any(|word| word.text.starts_with("--registry") || word.text.starts_with("--index") || word.text == "-i")
    {
        seen.add(Danger::UnprotectedRun, call);
    }
}

fn run_fetched(reading: &Reading, call: &Call, seen: &mut Dangers) {
    let program = call.program.as_str();
    let shell = is_shell(program);
    let interpreter = is_interpreter(program);
    let evaluates = matches!(program, "eval" | "source" | ".");
    if !shell && !interpreter && !evaluates {
        return;
    }
    let only_dashes = call.operands().all(|word| word.text == "-");
    let reads_stdin = (shell && (only_dashes || call.has("-s")) && !call.has_short(&['c']))
        || (interpreter && !call.has_short(&['c', 'e', 'm', 'r', 'p', 'n', 'E']) && only_dashes);
    // `… | xargs sh -c`: what is read becomes the script.
    let takes_script =
        shell && call.fed_arguments && call.has_short(&['c']) && (call.operands().next().is_none() || call.has("{}"));
    let mut sources: Vec<&Call> = Vec::new();
    if reads_stdin || takes_script {
        sources.extend(reading.upstream(call));
    }
    for word in &call.args {
        let whole = word.text.starts_with("$(…)") || word.text.starts_with("<(…)") || evaluates;
        if whole {
            sources.extend(reading.within(word));
        }
    }
    for redirect in &call.redirects {
        if redirect.direction == Direction::In {
            sources.extend(reading.within(&redirect.target));
        }
    }
    if let Some(fetch) = sources.iter().find(|from| is_fetch(from)) {
        let known = urls(fetch).any(|url| {
            let url = url.to_ascii_lowercase();
            KNOWN_INSTALLERS
                .iter()
                .any(|installer| url.strip_prefix("https://").unwrap_or(&url).starts_with(installer))
        });
        if known {
            seen.add(Danger::KnownInstaller, call);
        } else {
            seen.add(Danger::PipeToShell, call);
        }
    }
    if sources.iter().any(|from| is_decoder(from)) {
        seen.add(Danger::DecodedRun, call);
    }
}

fn remote_shell(reading: &Reading, call: &Call, seen: &mut Dangers) {
    let program = call.program.as_str();
    let to_socket = |text: &str| text.contains("/dev/tcp/") || text.contains("/dev/udp/");
    let socket_redirect = call.redirects.iter().any(|redirect| to_socket(&redirect.target.text));
    if socket_redirect {
        let interactive = is_shell(program)
            && (call.has_short(&['i'])
                || call
                    .redirects
                    .iter()
                    .any(|redirect| redirect.direction == Direction::Duplicate));
        let reads_commands = matches!(program, "exec" | "")
            && reading.calls.iter().any(|other| {
                other.program.starts_with('$')
                    || other.program == "eval"
                    || (is_shell(&other.program)
                        && other
                            .redirects
                            .iter()
                            .any(|redirect| redirect.direction == Direction::Duplicate))
            });
        if interactive || reads_commands {
            seen.add(Danger::ReverseShell, call);
        } else if !matches!(program, "" | "timeout" | "true" | ":")
            || call
                .redirects
                .iter()
                .any(|redirect| redirect.direction == Direction::Both)
        {
            seen.add(Danger::RawSocket, call);
        }
    }
    match program {
        "nc" | "ncat" | "netcat" | "nc.traditional" | "nc.openbsd" => {
            let executes = call
                .values(&["-e", "-c", "--exec", "--sh-exec"])
                .any(|(_, value)| names_shell(value.split_whitespace().next().unwrap_or(value)))
                || (call.args.iter().any(|word| {
                    word.text.starts_with('-') && !word.text.starts_with("--") && word.text.ends_with('e')
                }) && call.args.iter().any(|word| names_shell(&word.text)));
            if executes || reading.upstream(call).iter().any(|from| is_shell(&from.program)) {
                seen.add(Danger::ReverseShell, call);
            }
        }
        "telnet" | "openssl" if is_fetch(call) && reading.upstream(call).iter().any(|from| is_shell(&from.program)) => {
            seen.add(Danger::ReverseShell, call);
        }
        "socat" => {
            let runs = call.args.iter().any(|word| {
                let text = word.text.to_ascii_lowercase();
                text.starts_with("exec:") || text.starts_with("system:")
            });
            let connects = call.args.iter().any(|word| {
                let text = word.text.to_ascii_lowercase();
                ["tcp", "udp", "openssl", "ssl", "socks"]
                    .iter()
                    .any(|kind| text.starts_with(kind))
            });
            if runs && connects {
                seen.add(Danger::ReverseShell, call);
            }
        }
        _ => {}
    }
}

fn tunnel(call: &Call, seen: &mut Dangers) {
    let opens = match call.program.as_str() {
        "ngrok" | "frpc" | "localtunnel" | "lt" | "bore" | "pagekite" | "chisel" | "gost" | "rathole" => {
            call.operands().next().is_some()
        }
        "cloudflared" => call.has("tunnel"),
        "ssh" | "autossh" => call.args.iter().any(|word| {
            word.text.starts_with("-R")
                || (word.text.starts_with("-f") && word.text.contains('R'))
                || word.text == "-NR"
        }),
        _ => false,
    };
    if opens {
        seen.add(Danger::Tunnel, call);
    }
}
