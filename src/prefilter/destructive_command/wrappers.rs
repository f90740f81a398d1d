//! Programs that run other programs: what they would run, taken out of their arguments.

mod carried;

use std::collections::HashMap;
use std::ops::Range;

use super::secrets::sought;
use super::shell::{Call, Word, program_name};

/// What a call would run in turn.
#[derive(Clone, Debug)]
pub(super) enum Inner {
    /// Another program, with arguments; more of them may come from elsewhere.
    Call { words: Vec<Word>, fed_arguments: bool },
    /// A shell text, with what it is given as `$0`, `$1`, ….
    Shell { script: String, arguments: Vec<String> },
    /// Code of another language.
    Code(String),
}

/// How a wrapper's own arguments are told from those of what it runs.
struct Wrapper {
    name: &'static str,
    /// Options that take the next word as value.
    valued: &'static [&'static str],
    /// Words that come before the program and are no options.
    operands: usize,
}

const fn wrapper(name: &'static str, valued: &'static [&'static str], operands: usize) -> Wrapper {
    Wrapper { name, valued, operands }
}

const WRAPPERS: &[Wrapper] = &[
    wrapper(
        "sudo",
        &[
            "-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-r", "-t", "-U", "--user", "--group",
        ],
        0,
    ),
    wrapper("doas", &["-u", "-C"], 0),
    wrapper("nohup", &[], 0),
    wrapper("setsid", &[], 0),
    wrapper("time", &["-f", "-o"], 0),
    wrapper("command", &[], 0),
    wrapper("builtin", &[], 0),
    wrapper("exec", &["-a"], 0),
    wrapper("busybox", &[], 0),
    wrapper("toybox", &[], 0),
    wrapper("nice", &["-n"], 0),
    wrapper("ionice", &["-c", "-n"], 0),
    wrapper("chrt", &[], 1),
    wrapper("taskset", &["-c"], 1),
    wrapper("stdbuf", &["-o", "-e", "-i"], 0),
    wrapper("timeout", &["-s", "-k", "--signal", "--kill-after"], 1),
    wrapper("gtimeout", &["-s", "-k"], 1),
    wrapper("strace", &["-o", "-e", "-p", "-s"], 0),
    wrapper("ltrace", &["-o", "-e"], 0),
    wrapper("unbuffer", &[], 0),
    wrapper("proxychains", &["-f"], 0),
    wrapper("proxychains4", &["-f"], 0),
    wrapper("torsocks", &[], 0),
    wrapper("chroot", &[], 1),
    wrapper("unshare", &[], 0),
    wrapper("setarch", &[], 1),
    wrapper("xvfb-run", &["-s", "-n"], 0),
    wrapper("caffeinate", &["-t"], 0),
    wrapper("winpty", &[], 0),
    wrapper("wsl", &["-d", "-u"], 0),
    wrapper("systemd-run", &["-p", "--unit"], 0),
    wrapper("pkexec", &["--user"], 0),
    wrapper("proot", &["-r", "-b", "-w"], 0),
    wrapper("firejail", &[], 0),
    wrapper("fakeroot", &[], 0),
    wrapper("fakechroot", &[], 0),
    wrapper("eatmydata", &[], 0),
    wrapper("valgrind", &[], 0),
    wrapper("prlimit", &[], 0),
    wrapper("cpulimit", &["-l"], 0),
    wrapper("choom", &["-n"], 0),
    wrapper("numactl", &["-C", "-N", "-m"], 0),
    wrapper("dbus-run-session", &[], 0),
    wrapper("dbus-launch", &[], 0),
    wrapper("systemd-inhibit", &[], 0),
    wrapper("rlwrap", &[], 0),
    wrapper("torify", &[], 0),
    wrapper("tsocks", &[], 0),
    wrapper("dtach", &["-n", "-A", "-c"], 0),
    wrapper("entr", &[], 0),
    wrapper("cross-env", &[], 0),
    wrapper("dotenv", &["-e", "-f"], 0),
    wrapper("capsh", &[], 0),
    wrapper("faketime", &[], 1),
    wrapper("setpriv", &["--reuid", "--regid"], 0),
    wrapper("ccache", &[], 0),
    wrapper("sem", &["-j"], 0),
];

const SHELLS: &[&str] = &[
    "sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "mksh", "rbash", "csh", "tcsh",
];

/// Whether it is a program that reads shell text.
pub(super) fn is_shell(program: &str) -> bool {
    SHELLS.contains(&program)
}

/// Whether it is a program that runs code of another language.
pub(super) fn is_interpreter(program: &str) -> bool {
    let bare = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    matches!(
        bare,
        "python"
            | "pypy"
            | "perl"
            | "ruby"
            | "node"
            | "nodejs"
            | "php"
            | "lua"
            | "deno"
            | "bun"
            | "osascript"
            | "powershell"
            | "pwsh"
            | "tclsh"
            | "wish"
            | "expect"
            | "rscript"
            | "r"
            | "julia"
            | "groovy"
            | "scala"
            | "erl"
            | "elixir"
            | "ghc"
            | "ocaml"
            | "octave"
            | "crystal"
            | "jrunscript"
            | "jshell"
            | "luajit"
            | "swift"
            | "raku"
    )
}

/// What a call would run, given what is known of its input and of the files that the text has written.
pub(super) fn peel(call: &Call, stdin: Option<&str>, files: &HashMap<String, String>) -> Vec<Inner> {
    let mut inner = carried::in_environment(call);
    inner.extend(run_by(call, stdin, files));
    inner
}

fn run_by(call: &Call, stdin: Option<&str>, files: &HashMap<String, String>) -> Vec<Inner> {
    let program = call.program.as_str();
    if let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.name == program) {
        let words = after_options(&call.args, wrapper.valued, wrapper.operands);
        // `command -v` and `sudo -l` ask, they run nothing.
        if program == "command" && (call.has("-v") || call.has("-V")) {
            return Vec::new();
        }
        return inner_call(words, false);
    }
    if is_shell(program) {
        return shell(call, stdin, files);
    }
    if is_interpreter(program) {
        return interpreter(call, stdin, files);
    }
    match program {
        "env" => environment(call),
        _ if carried::runs_after_verb(call).is_some() => match carried::runs_after_verb(call) {
            // One text is a command line.
            Some([only]) if only.text.contains(' ') => vec![here(only.text.clone())],
            Some(words) => inner_call(words, false),
            None => Vec::new(),
        },
        "git" | "tar" | "gtar" | "bsdtar" | "rsync" | "scp" | "cpio" | "zip" | "wget" | "tcpdump" | "strace"
        | "man" | "less" | "more" | "journalctl" | "systemctl" | "nano" | "apt" | "apt-get" | "gdb" | "lldb"
        | "ftp" | "sftp" | "telnet" | "ed" | "dc" | "bc" | "sqlite3" | "psql" | "mysql" | "mariadb" | "mongo"
        | "mongosh" | "npm" | "nmap" => carried::in_options(call, stdin),
        "xargs" | "parallel" => xargs(call, stdin),
        "find" | "fd" | "fdfind" => find(call),
        "eval" | "iex" => vec![here(joined(&call.args))],
        "alias" => call
            .args
            .iter()
            .filter_map(|word| word.text.split_once('='))
            .map(|(_, text)| here(text.to_owned()))
            .collect(),
        "crontab" => stdin.into_iter().flat_map(scheduled).collect(),
        "trap" => call
            .args
            .first()
            .map(|word| here(word.text.clone()))
            .into_iter()
            .collect(),
        "su" | "runuser" | "script" | "sg" | "flock" => command_option(call),
        "ssh" | "sshpass" | "mosh" => secure_shell(call),
        "docker" | "podman" | "nerdctl" | "kubectl" | "oc" | "docker-compose" | "lxc" => carried::in_container(call),
        // It hands its words to a shell.
        "watch" => vec![here(joined(after_options(
            &call.args,
            &["-n", "--interval", "-d", "-q"],
            0,
        )))],
        "tmux" | "screen" => carried::in_terminal(call),
        "ansible" | "salt" | "pssh" | "parallel-ssh" | "pdsh" | "clush" => carried::on_many_hosts(call),
        "rails" => {
            let at = call
                .args
                .iter()
                .position(|word| matches!(word.text.as_str(), "runner" | "r"));
            let code = at.and_then(|at| call.args.get(at + 1));
            code.map(|word| Inner::Code(word.text.clone())).into_iter().collect()
        }
        "nsenter" => inner_call(after_double_dash(&call.args), false),
        "cmd" => command_prompt(call),
        "source" | "." => {
            let operand = call.args.first().map_or("", |word| word.text.as_str());
            let known = if is_input(operand) {
                stdin.map(str::to_owned)
            } else {
                file(files, operand)
            };
            known.map(here).into_iter().collect()
        }
        "start-stop-daemon" => call
            .values(&["--exec", "-x", "--startas", "-a"])
            .next()
            .map(|(program, _)| {
                std::iter::once(program.clone())
                    .chain(after_double_dash(&call.args).to_vec())
                    .collect()
            })
            .map(|words| Inner::Call {
                words,
                fed_arguments: false,
            })
            .into_iter()
            .collect(),
        "at" | "batch" => stdin.map(|text| here(text.to_owned())).into_iter().collect(),
        "awk" | "gawk" | "mawk" | "nawk" | "vim" | "vi" | "nvim" | "rvim" | "ex" | "view" | "emacs" | "sed"
        | "make" | "gmake" => carried::in_own_language(call, stdin),
        _ => match file(files, &call.path) {
            Some(text) => vec![here(text)],
            None => unforeseen(call),
        },
    }
}

/// A program that nobody foresaw runs another one, when a shell with its `-c` stands among its arguments, or when an
/// option that means to run something takes a text.
fn unforeseen(call: &Call) -> Vec<Inner> {
    const ONLY_TEXT: &[&str] = &[
        "echo",
        "printf",
        "grep",
        "egrep",
        "fgrep",
        "rg",
        "ag",
        "ack",
        "which",
        "type",
        "apropos",
        "whatis",
        "logger",
        "mail",
        "gh",
        "glab",
        "jira",
        "curl",
        "notify-send",
        "say",
        "test",
        "[",
        "[[",
        "export",
        "set",
        "declare",
        "local",
        "return",
        "read",
        "cat",
        "sort",
        "cut",
        "head",
        "tail",
        "ls",
        "cp",
        "mv",
        "rm",
        "jq",
        "yq",
        "tr",
        "diff",
    ];
    const RUN_OPTIONS: &[&str] = &[
        "--command",
        "--run",
        "--exec",
        "--cmd",
        "--shell-command",
        "--run-command",
        "--scripts",
        "--script-inline",
    ];
    // Their short options, and their operands, are shell text.
    const SHORT: &[(&str, &[&str])] = &[
        ("npx", &["-c"]),
        ("vagrant", &["-c"]),
        ("fly", &["-C"]),
        ("flyctl", &["-C"]),
        ("xterm", &["-e"]),
        ("konsole", &["-e"]),
        ("gnome-terminal", &["-e"]),
        ("urxvt", &["-e"]),
        ("alacritty", &["-e"]),
        ("kitty", &["-e"]),
        ("nix", &["-c"]),
        ("cargo", &["-s", "-x"]),
        ("nodemon", &["-x"]),
        ("flatpak", &["-c"]),
        ("parallel-ssh", &["-i"]),
        ("mc", &["-c"]),
        ("lftp", &["-e"]),
        ("zellij", &["-c"]),
    ];
    const OPERANDS: &[&str] = &[
        "concurrently",
        "hyperfine",
        "watchexec",
        "viddy",
        "multitail",
        "ts-exec",
    ];
    let program = call.program.as_str();
    if ONLY_TEXT.contains(&program) || call.args.is_empty() {
        return Vec::new();
    }
    let shell_at = call.args.iter().enumerate().position(|(at, word)| {
        is_shell(&program_name(&word.text))
            && call.args.get(at + 1).is_some_and(|flag| {
                flag.text
                    .strip_prefix('-')
                    .is_some_and(|flags| flags.len() <= 5 && flags.ends_with('c'))
            })
    });
    if let Some(words) = shell_at.and_then(|at| call.args.get(at..)) {
        return inner_call(words, false);
    }
    let short = SHORT
        .iter()
        .find(|(name, _)| *name == program)
        .map_or(&[][..], |(_, options)| options);
    let texts = call.values(RUN_OPTIONS).chain(call.values(short)).map(|(_, text)| text);
    let operands = call
        .operands()
        .filter(|_| OPERANDS.contains(&program))
        .map(|word| word.text.as_str());
    texts
        .chain(operands)
        .filter(|text| text.contains(' ') || text.contains('$'))
        .take(8)
        .map(|text| here(text.to_owned()))
        .collect()
}

/// What the text has written into a file, by any spelling of its name.
fn file(files: &HashMap<String, String>, path: &str) -> Option<String> {
    let bare = path.strip_prefix("./").unwrap_or(path);
    files
        .get(path)
        .or_else(|| files.get(bare))
        .or_else(|| files.get(&format!("./{bare}")))
        .cloned()
}

/// Whether a file name stands for what is fed in.
fn is_input(path: &str) -> bool {
    matches!(path, "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0") || path.starts_with("<(…)")
}

fn here(script: String) -> Inner {
    Inner::Shell {
        script,
        arguments: Vec::new(),
    }
}

fn joined(words: &[Word]) -> String {
    words
        .iter()
        .map(|word| word.text.as_str())
        .collect::<Vec<_>>()
        .join(" ")
}

fn inner_call(words: &[Word], fed_arguments: bool) -> Vec<Inner> {
    if words.is_empty() {
        Vec::new()
    } else {
        vec![Inner::Call {
            words: words.to_vec(),
            fed_arguments,
        }]
    }
}

/// What is left after options, `NAME=value` and a number of operands.
fn after_options<'a>(args: &'a [Word], valued: &[&str], mut operands: usize) -> &'a [Word] {
    let mut rest = args;
    while let Some((word, tail)) = rest.split_first() {
        let text = word.text.as_str();
        if text == "--" {
            rest = tail;
            continue;
        }
        if valued.contains(&text) {
            rest = tail.get(1..).unwrap_or_default();
        } else if text.starts_with('-') && text.len() > 1 || is_assignment(text) {
            rest = tail;
        } else if operands > 0 {
            operands -= 1;
            rest = tail;
        } else {
            break;
        }
    }
    rest
}

fn is_assignment(text: &str) -> bool {
    text.split_once('=')
        .is_some_and(|(name, _)| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
}

fn after_double_dash(args: &[Word]) -> &[Word] {
    match args.iter().position(|word| word.text == "--") {
        Some(at) => args.get(at + 1..).unwrap_or_default(),
        None => after_options(args, &["-t", "--target", "-S", "-G"], 0),
    }
}

/// Where `-c` (also bundled, as in `-lc`) puts its text.
fn script_argument(args: &[Word], flag: char) -> Option<&Word> {
    let at = args
        .iter()
        .take_while(|word| word.text.starts_with(['-', '+']))
        .position(|word| {
            word.text
                .strip_prefix('-')
                .is_some_and(|rest| !rest.starts_with('-') && rest.ends_with(flag))
        })?;
    args.get(at + 1)
}

fn shell(call: &Call, stdin: Option<&str>, files: &HashMap<String, String>) -> Vec<Inner> {
    let flag = call
        .args
        .iter()
        .take_while(|word| word.text.starts_with(['-', '+']))
        .position(|word| {
            word.text
                .strip_prefix('-')
                .is_some_and(|rest| !rest.starts_with('-') && rest.ends_with('c'))
        });
    let flag = flag.or_else(|| call.args.iter().position(|word| word.text == "-c"));
    if let Some((script, arguments)) = flag
        .and_then(|at| call.args.get(at + 1..))
        .and_then(<[Word]>::split_first)
    {
        return vec![Inner::Shell {
            script: script.text.clone(),
            arguments: arguments.iter().map(|word| word.text.clone()).collect(),
        }];
    }
    let operand = after_options(&call.args, &["-o", "-O", "--rcfile", "--init-file"], 0).first();
    match operand.filter(|word| !is_input(&word.text)) {
        Some(script) => file(files, &script.text).map(here).into_iter().collect(),
        None => stdin.map(|text| here(text.to_owned())).into_iter().collect(),
    }
}

fn interpreter(call: &Call, stdin: Option<&str>, files: &HashMap<String, String>) -> Vec<Inner> {
    let program = call.program.as_str();
    if matches!(program, "powershell" | "pwsh") {
        // What follows -Command is code; the rules see an encoded command by its option.
        return vec![Inner::Code(format!("{program} {}", joined(&call.args)))];
    }
    let flags: &[char] = match program.chars().next() {
        Some('p') if program.starts_with("py") => &['c'],
        Some('p') if program.starts_with("php") => &['r'],
        Some('e') if program == "expect" => &['c'],
        _ => &['e', 'E', 'p'],
    };
    for flag in flags {
        if let Some(code) = script_argument(&call.args, *flag) {
            return code_with_commands(program, &code.text);
        }
    }
    if let Some(at) = call
        .args
        .iter()
        .position(|word| matches!(word.text.as_str(), "eval" | "-eval" | "--eval" | "--print"))
    {
        return call
            .args
            .get(at + 1)
            .map_or_else(Vec::new, |word| code_with_commands(program, &word.text));
    }
    match call.operands().find(|word| !is_input(&word.text)) {
        Some(script) => file(files, &script.text).map(Inner::Code).into_iter().collect(),
        None => stdin.map_or_else(Vec::new, |text| code_with_commands(program, text)),
    }
}

/// Code, and the commands that it holds in the ways of its language.
fn code_with_commands(program: &str, code: &str) -> Vec<Inner> {
    let mut inner = vec![Inner::Code(code.to_owned())];
    if !program.starts_with("py") {
        inner.extend(carried::in_code(code).map(here));
    }
    inner
}

fn environment(call: &Call) -> Vec<Inner> {
    if let Some((_, text)) = call.values(&["-S", "--split-string"]).next() {
        return vec![here(text.to_owned())];
    }
    inner_call(after_options(&call.args, &["-u", "-C", "--unset", "--chdir"], 0), false)
}

fn xargs(call: &Call, stdin: Option<&str>) -> Vec<Inner> {
    const VALUED: &[&str] = &[
        "-I",
        "-n",
        "-P",
        "-L",
        "-d",
        "-s",
        "-a",
        "-E",
        "-j",
        "--max-args",
        "--max-procs",
        "--arg-file",
    ];
    let words = after_options(&call.args, VALUED, 0);
    if call.program == "parallel" {
        let given = call.args.iter().position(|word| word.text == ":::");
        let (command, values) = given
            .and_then(|at| call.args.split_at_checked(at))
            .unwrap_or((&call.args, &[]));
        // Without a command of its own every value is one.
        if after_options(command, VALUED, 0).is_empty() {
            let typed = stdin.into_iter().flat_map(str::lines).map(str::to_owned);
            let values = values.iter().skip(1).map(|word| word.text.clone());
            return values.chain(typed).take(16).map(here).collect();
        }
    }
    if words.is_empty() {
        return Vec::new();
    }
    let Some(stdin) = stdin else {
        return vec![Inner::Call {
            words: words.to_vec(),
            fed_arguments: true,
        }];
    };
    let placeholder = call
        .values(&["-I", "--replace"])
        .map(|(_, value)| value.to_owned())
        .next()
        .or_else(|| {
            words
                .iter()
                .any(|word| word.text.contains("{}"))
                .then(|| "{}".to_owned())
        });
    let values = stdin.split_whitespace().take(64);
    let words = match placeholder {
        Some(placeholder) => values
            .take(8)
            .flat_map(|value| words.iter().map(move |word| (word, value)))
            .map(|(word, value)| Word {
                text: word.text.replace(&placeholder, value),
                ..word.clone()
            })
            .collect(),
        None => words.iter().cloned().chain(values.map(Word::known)).collect(),
    };
    vec![Inner::Call {
        words,
        fed_arguments: true,
    }]
}

fn find(call: &Call) -> Vec<Inner> {
    let mut inner = Vec::new();
    let mut rest = call.args.as_slice();
    while let Some(at) = rest.iter().position(|word| {
        matches!(
            word.text.as_str(),
            "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X" | "--exec"
        )
    }) {
        rest = rest.get(at + 1..).unwrap_or_default();
        let end = rest
            .iter()
            .position(|word| matches!(word.text.as_str(), ";" | "+" | "\\"))
            .unwrap_or(rest.len());
        let (words, after) = rest.split_at_checked(end).unwrap_or((rest, &[]));
        // Where only keys or password files can be found, their name stands for what is found.
        match sought(call) {
            Some(found) => {
                let words: Vec<Word> = words
                    .iter()
                    .map(|word| Word {
                        text: word.text.replace("{}", &found),
                        ..word.clone()
                    })
                    .collect();
                inner.extend(inner_call(&words, true));
            }
            None => inner.extend(inner_call(words, true)),
        }
        rest = after;
    }
    inner
}

fn command_option(call: &Call) -> Vec<Inner> {
    // Also bundled, as in `script -qc`.
    let bundled = script_argument(&call.args, 'c').map(|word| word.text.as_str());
    match call
        .values(&["-c", "--command"])
        .map(|(_, text)| text)
        .next()
        .or(bundled)
    {
        Some(text) => vec![here(text.to_owned())],
        None if call.program == "flock" => inner_call(after_options(&call.args, &["-w", "-E"], 1), false),
        None => Vec::new(),
    }
}

fn secure_shell(call: &Call) -> Vec<Inner> {
    const VALUED: &[&str] = &[
        "-i", "-p", "-o", "-l", "-F", "-J", "-L", "-R", "-D", "-b", "-c", "-e", "-m", "-E", "-S", "-W", "-B", "-I",
        "-Q", "-w",
    ];
    if call.program == "sshpass" {
        return inner_call(after_options(&call.args, &["-p", "-f", "-e"], 0), false);
    }
    let proxies = call
        .values(&["-o"])
        .filter_map(|(_, value)| value.split_once('='))
        .filter(|(name, _)| {
            matches!(
                name.to_ascii_lowercase().as_str(),
                "proxycommand" | "localcommand" | "knownhostscommand"
            )
        })
        .map(|(_, script)| here(script.to_owned()));
    let words = after_options(&call.args, VALUED, 1);
    if words.is_empty() {
        return proxies.collect();
    }
    if let Some(proxy) = proxies.into_iter().next() {
        return vec![proxy, here(joined(words))];
    }
    vec![here(joined(words))]
}

fn command_prompt(call: &Call) -> Vec<Inner> {
    let at = call
        .args
        .iter()
        .position(|word| matches!(word.text.to_ascii_lowercase().as_str(), "/c" | "/k" | "/r"));
    match at.and_then(|at| call.args.get(at + 1..)) {
        Some(words) if !words.is_empty() => vec![here(joined(words))],
        _ => Vec::new(),
    }
}

/// The commands of a table of jobs.
fn scheduled(table: &str) -> impl Iterator<Item = Inner> {
    jobs(table).map(|(command, _)| here(command.to_owned()))
}

/// The commands of a table of jobs, with their places; in tables of the system a user stands first, so the rest
/// behind the first word is another.
pub(super) fn jobs(table: &str) -> impl Iterator<Item = (&str, Range<usize>)> {
    const MOST: usize = 32;
    let is_time = |field: &str| {
        field
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'*' | b'/' | b',' | b'-'))
    };
    let mut start = 0;
    table
        .split_inclusive('\n')
        .filter_map(move |whole| {
            let begin = start;
            start += whole.len();
            let line = whole.trim();
            let first = line.bytes().next()?;
            if !(first == b'@' || first == b'*' || first.is_ascii_digit()) {
                return None;
            }
            let times = if first == b'@' { 1 } else { 5 };
            let mut rest = line;
            for field in 0..times {
                let (time, behind) = rest.split_once(char::is_whitespace)?;
                if (field > 0 || first != b'@') && !is_time(time) {
                    return None;
                }
                rest = behind.trim_start();
            }
            let span = begin..begin + whole.len();
            let without_user = rest
                .split_once(char::is_whitespace)
                .map(|(_, command)| command.trim_start());
            Some([Some((rest, span.clone())), without_user.map(|command| (command, span))])
        })
        .flatten()
        .flatten()
        .take(MOST)
}

/// Whether a path names a shell.
pub(super) fn names_shell(path: &str) -> bool {
    let name = program_name(path);
    is_shell(&name) || matches!(name.as_str(), "cmd" | "powershell" | "pwsh")
}
