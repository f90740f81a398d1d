//! What calls do over the network: run what they fetch, hand a shell to somebody, carry data out.

use std::collections::{HashMap, HashSet};

use super::shell::{Call, Reading, Stdin, Word, is_decoder};
use super::syntax::Direction;
use super::wrappers::{is_interpreter, is_shell, names_shell};
use super::{Danger, Seen};
use crate::prefilter::locations::{Breadth, Location, Secret};

/// Installers that their projects tell everybody to pipe into a shell.
const KNOWN_INSTALLERS: &[&str] = &[
    "sh.rustup.rs",
    "get.docker.com",
    "get.k3s.io",
    "get.helm.sh",
    "deb.nodesource.com",
    "rpm.nodesource.com",
    "bun.sh",
    "deno.land",
    "astral.sh",
    "install.python-poetry.org",
    "get.sdkman.io",
    "raw.githubusercontent.com/homebrew/",
    "raw.githubusercontent.com/nvm-sh/",
    "raw.githubusercontent.com/ohmyzsh/",
    "raw.githubusercontent.com/helm/",
    "raw.githubusercontent.com/pyenv/",
    "bootstrap.pypa.io",
    "starship.rs",
    "get.pnpm.io",
    "fnm.vercel.app",
    "cli.github.com",
    "apt.llvm.org",
    "pyenv.run",
    "ollama.com/install.sh",
    "tailscale.com/install.sh",
];

/// What a text shows of somebody's data before it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Cargo {
    /// A file of the user's choice.
    File,
    /// What a command prints.
    Output,
    /// Files of the system, or everything somebody has.
    System,
    /// Keys, passwords, environments.
    Secret,
}

/// Looks at one call.
pub(super) fn look(reading: &Reading, call: &Call, seen: &mut Seen) {
    run_fetched(reading, call, seen);
    remote_shell(reading, call, seen);
    carry_out(reading, call, seen);
    read_secret(reading, call, seen);
    tunnel(call, seen);
}

/// Looks at all calls together: what is fetched into a file and run later, what is copied into a file and sent later.
pub(super) fn look_across(reading: &Reading, seen: &mut Seen) {
    let mut fetched: HashSet<String> = HashSet::new();
    let mut laden: HashMap<String, Cargo> = HashMap::new();
    for call in &reading.calls {
        let runs_text =
            is_shell(&call.program) || is_interpreter(&call.program) || matches!(call.program.as_str(), "source" | ".");
        let runs_file = fetched.contains(bare(&call.path))
            || (runs_text
                && call
                    .operands()
                    .next()
                    .is_some_and(|word| fetched.contains(bare(&word.text))));
        if !fetched.is_empty() && runs_file {
            seen.add(
                Danger::DownloadRun,
                call,
                "runs a file that was fetched from the network just before",
            );
        }
        if is_fetch(call) {
            fetched.extend(written_by_fetch(call));
        }
        if !laden.is_empty() && is_sender(call) {
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
            let cargo = sent
                .chain(from_input)
                .chain(read)
                .filter_map(|path| laden.get(bare(path)).copied())
                .max();
            match cargo {
                Some(Cargo::Secret) => seen.add(
                    Danger::Exfiltrate,
                    call,
                    "sends a copy of keys or passwords to another machine",
                ),
                Some(Cargo::System) => seen.add(
                    Danger::UploadSystem,
                    call,
                    "sends a copy of system files to another machine",
                ),
                Some(Cargo::Output | Cargo::File) | None => {}
            }
        }
        let cargo = reading
            .upstream(call)
            .into_iter()
            .chain([call])
            .filter_map(cargo_of_call)
            .max();
        if let Some(cargo @ (Cargo::Secret | Cargo::System)) = cargo {
            for file in written_by_copy(call) {
                laden.insert(file, cargo);
            }
        }
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

fn bare(path: &str) -> &str {
    path.strip_prefix("./").unwrap_or(path)
}

/// Whether a call brings text in from another machine.
pub(super) fn is_fetch(call: &Call) -> bool {
    match call.program.as_str() {
        "curl" | "wget" | "fetch" | "aria2c" | "http" | "https" | "xh" | "lwp-download" | "lwp-request" | "get"
        | "nc" | "ncat" | "netcat" | "telnet" | "ftp" | "tftp" | "axel" => true,
        "lynx" | "links" | "w3m" | "elinks" => call
            .args
            .iter()
            .any(|word| word.text.starts_with("-dump") || word.text.starts_with("-source")),
        "openssl" => call.has("s_client"),
        "socat" => true,
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

fn urls(call: &Call) -> impl Iterator<Item = &str> {
    call.args.iter().map(|word| word.text.as_str()).filter(|text| {
        text.contains("://")
            || (text.contains('.') && text.contains('/') && !text.starts_with(['/', '.', '-', '~', '@']))
    })
}

fn run_fetched(reading: &Reading, call: &Call, seen: &mut Seen) {
    let program = call.program.as_str();
    let shell = is_shell(program);
    let interpreter = is_interpreter(program) && !matches!(program, "powershell" | "pwsh");
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
            seen.add(
                Danger::KnownInstaller,
                call,
                "pipes a well-known installer into a shell",
            );
        } else {
            seen.add(Danger::PipeToShell, call, "runs what another machine sends, unseen");
        }
    }
    if sources.iter().any(|from| is_decoder(from)) {
        seen.add(Danger::DecodedRun, call, "decodes a text and runs it");
    }
}

fn remote_shell(reading: &Reading, call: &Call, seen: &mut Seen) {
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
            seen.add(Danger::ReverseShell, call, "hands a shell to another machine");
        } else if !matches!(program, "" | "timeout" | "true" | ":")
            || call
                .redirects
                .iter()
                .any(|redirect| redirect.direction == Direction::Both)
        {
            seen.add(Danger::RawSocket, call, "opens a raw network connection from the shell");
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
                seen.add(Danger::ReverseShell, call, "hands a shell to another machine");
            }
        }
        "telnet" | "openssl" if is_fetch(call) && reading.upstream(call).iter().any(|from| is_shell(&from.program)) => {
            seen.add(Danger::ReverseShell, call, "hands a shell to another machine");
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
                seen.add(Danger::ReverseShell, call, "hands a shell to another machine");
            }
        }
        _ => {}
    }
}

fn is_sender(call: &Call) -> bool {
    match call.program.as_str() {
        "curl" => {
            call.args.iter().any(|word| {
                let text = word.text.as_str();
                matches!(
                    text,
                    "-d" | "-F"
                        | "-T"
                        | "--upload-file"
                        | "--form"
                        | "--json"
                        | "--data"
                        | "--data-binary"
                        | "--data-raw"
                        | "--data-urlencode"
                        | "--url-query"
                ) || ["-d", "-F", "-T"]
                    .iter()
                    .any(|flag| text.starts_with(flag) && text.len() > 2)
                    || ["--data", "--form", "--upload-file", "--json", "--url-query"]
                        .iter()
                        .any(|flag| text.starts_with(flag))
            }) || call.args.iter().any(|word| !word.inside.is_empty())
        }
        "wget" => call
            .args
            .iter()
            .any(|word| word.text.starts_with("--post") || word.text.starts_with("--body") || !word.inside.is_empty()),
        "nc" | "ncat" | "netcat" | "telnet" | "socat" | "tftp" | "ftp" | "sftp" | "scp" | "rsync" | "mail"
        | "mailx" | "mutt" | "sendmail" | "swaks" | "sendemail" | "croc" | "wormhole" | "transfer" => true,
        "http" | "https" | "xh" => call
            .operands()
            .any(|word| word.text.eq_ignore_ascii_case("post") || word.text.contains('@') || word.text.contains('=')),
        "openssl" => call.has("s_client"),
        "rclone" => call
            .operands()
            .next()
            .is_some_and(|word| matches!(word.text.as_str(), "copy" | "sync" | "move" | "copyto")),
        "aws" | "gsutil" | "az" | "gcloud" | "mc" | "s3cmd" | "azcopy" => call.operands().any(|word| {
            matches!(
                word.text.as_str(),
                "cp" | "sync" | "upload" | "put" | "mv" | "rsync" | "copy"
            )
        }),
        "gh" => call.has("gist"),
        "ssh" => matches!(call.stdin, Stdin::Calls(_) | Stdin::File(_)),
        _ => false,
    }
}

fn is_name_lookup(call: &Call) -> bool {
    matches!(
        call.program.as_str(),
        "dig" | "nslookup" | "host" | "drill" | "ping" | "getent" | "resolvectl"
    )
}

fn carry_out(reading: &Reading, call: &Call, seen: &mut Seen) {
    if is_name_lookup(call) {
        let data = call
            .args
            .iter()
            .flat_map(|word| reading.within(word))
            .collect::<Vec<_>>();
        let upstream = reading.upstream(call);
        let cargo = data
            .iter()
            .chain(&upstream)
            .filter_map(|from| cargo_of_call(from))
            .max();
        match cargo {
            Some(Cargo::Secret) => seen.add(
                Danger::Exfiltrate,
                call,
                "sends secrets out in the names that it looks up",
            ),
            _ if !data.is_empty()
                && call
                    .args
                    .iter()
                    .any(|word| !word.inside.is_empty() && word.text.contains("$(…).")) =>
            {
                seen.add(
                    Danger::DnsCarrier,
                    call,
                    "puts a command's output into a name that it looks up",
                );
            }
            _ => {}
        }
        return;
    }
    let socket = call
        .redirects
        .iter()
        .any(|redirect| redirect.target.text.contains("/dev/tcp/") && redirect.direction != Direction::In);
    let fed = call.fed_arguments && matches!(call.program.as_str(), "curl" | "wget");
    if !is_sender(call) && !socket && !fed {
        return;
    }
    let mut cargo: Option<Cargo> = None;
    let mut carry = |more: Option<Cargo>| cargo = cargo.max(more);
    let copies_in = matches!(call.program.as_str(), "scp" | "rsync" | "sftp")
        && !call.operands().last().is_some_and(|word| is_remote(&word.text));
    if copies_in {
        return;
    }
    for word in sent_words(call) {
        for path in paths_in(&word.text) {
            carry(cargo_of_path(path));
        }
        for from in reading.within(word) {
            carry(cargo_of_call(from).or(Some(Cargo::Output).filter(|_| !is_harmless(from))));
            for earlier in reading.upstream(from) {
                carry(cargo_of_call(earlier));
            }
        }
    }
    if let Stdin::File(path) = &call.stdin {
        carry(cargo_of_path(path));
    }
    for from in reading.upstream(call) {
        carry(cargo_of_call(from));
    }
    if socket && matches!(call.program.as_str(), "cat" | "tar" | "env" | "printenv") {
        carry(cargo_of_call(call));
    }
    let sends = is_sender(call) || socket;
    match cargo {
        Some(Cargo::Secret) => seen.add(
            Danger::Exfiltrate,
            call,
            "sends keys, passwords or environment variables to another machine",
        ),
        Some(Cargo::System) => seen.add(
            Danger::UploadSystem,
            call,
            "sends system files, or all files of somebody, to another machine",
        ),
        Some(Cargo::Output) if sends => seen.add(
            Danger::CommandInRequest,
            call,
            "sends a command's output to another machine",
        ),
        Some(Cargo::File) if sends => seen.add(Danger::Upload, call, "sends a file to another machine"),
        Some(Cargo::Output | Cargo::File) | None => {}
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

/// What of an argument may be a path: the whole, what follows `@` or `=@`, what follows `=`.
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

fn cargo_of_path(path: &str) -> Option<Cargo> {
    if path.is_empty() || path == "-" || path.contains(' ') {
        return None;
    }
    let location = Location::of(path);
    if location.secret().is_some() {
        return Some(Cargo::Secret);
    }
    if location.is_system()
        || matches!(
            location.breadth(),
            Breadth::Everything | Breadth::Home | Breadth::SystemDirectory
        )
    {
        return Some(Cargo::System);
    }
    // Operands such as a host and a port are no paths.
    (path.contains('/') || path.contains('.') && !path.contains(':')).then_some(Cargo::File)
}

fn cargo_of_call(call: &Call) -> Option<Cargo> {
    let program = call.program.as_str();
    if (matches!(program, "env" | "printenv")
        || (program == "set" || program == "export") && call.args.iter().all(|word| word.text == "-p"))
        && call.operands().all(|word| !word.text.contains('='))
    {
        return Some(Cargo::Secret);
    }
    if !is_reader(program) {
        return None;
    }
    let from_input = match &call.stdin {
        Stdin::File(path) => cargo_of_path(path),
        Stdin::Calls(_) | Stdin::Text(_) | Stdin::Unknown => None,
    };
    let files = call
        .operands()
        .filter(|word| !word.text.contains("://"))
        .filter_map(|word| cargo_of_path(word.text.strip_prefix("if=").unwrap_or(&word.text)));
    files.chain(from_input).max()
}

fn is_harmless(call: &Call) -> bool {
    matches!(
        call.program.as_str(),
        "date"
            | "uuidgen"
            | "seq"
            | "echo"
            | "printf"
            | "basename"
            | "dirname"
            | "nproc"
            | "git"
            | "jq"
            | "curl"
            | "wget"
            | "lsb_release"
            | "uname"
            | "dpkg"
            | "arch"
            | "mktemp"
    )
}

fn is_reader(program: &str) -> bool {
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

fn read_secret(reading: &Reading, call: &Call, seen: &mut Seen) {
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

fn tunnel(call: &Call, seen: &mut Seen) {
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
        seen.add(Danger::Tunnel, call, "opens a way in from outside");
    }
}
