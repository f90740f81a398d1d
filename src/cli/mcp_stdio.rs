//! `guardian mcp-stdio`.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use http::{HeaderMap, HeaderName, HeaderValue};
use tokio::sync::mpsc;
use url::Url;

use super::Ended;
use super::local_guardian::{Asked, LocalGuardian, Profile, SessionMemory};
use crate::gateway::{Bridge, Decider, Line, Lines, MAX_LINE, Pins, RemoteGuardian, Side};

/// Guard an MCP server: run it, or reach it, and stand between it and the client that calls this command.
///
/// In the configuration of a client, write this before the command of the server: `guardian mcp-stdio -- npx -y SERVER`. Calls, results,
/// descriptions and everything else that is said are judged; the server's standard error passes through, and its exit code is that of
/// this command.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The server that decides; left out, this process does.
    #[arg(long, value_name = "URL", env = "GUARDIAN_URL")]
    guardian: Option<Url>,
    #[command(flatten)]
    asked: Asked,
    /// The name of the MCP server, under which its tools are known to `guardian mcp` [default: as its command says].
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    name: Option<String>,
    /// The session of the steps; servers with the same one are judged together where a server decides [default: of the calling process].
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// After how many seconds without a verdict a message is stopped.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=600))]
    deadline: u64,
    /// An MCP server that is reached by Streamable HTTP, in place of a command.
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    url: Option<Url>,
    /// A header for the server at that address.
    #[arg(long = "header", value_name = "NAME: VALUE", requires = "url")]
    headers: Vec<String>,
    /// A header whose value stands in a variable of the environment.
    #[arg(long = "header-env", value_name = "NAME=VARIABLE", requires = "url")]
    headers_env: Vec<String>,
    /// The variable of the environment in which a bearer token for that server stands.
    #[arg(long, value_name = "VARIABLE", requires = "url")]
    bearer_env: Option<String>,
    /// The command of the MCP server.
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "url")]
    command: Vec<String>,
}

/// Lines that wait to be judged or written.
const WAITING: usize = 16;
/// The time that a server may take to end when nothing more comes.
const END_TIMEOUT: Duration = Duration::from_secs(5);
/// The time that it may take to end when it says nothing more.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(10);

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ended> {
    let mut alone = None;
    let decider = match arguments.asked.server(arguments.guardian.as_ref())? {
        Some(url) => Decider::There(RemoteGuardian {
            url: url.clone(),
            key: arguments.asked.key.clone(),
        }),
        None => {
            // Clients show it in the log of the server.
            eprintln!(
                "[guardian] decides by itself: what other MCP servers of this client answer is not known here; `--guardian URL` \
                 of a running `guardian serve` judges them as one session"
            );
            let own = alone.insert(LocalGuardian::new(
                arguments.asked.config.as_deref(),
                SessionMemory::Here,
                Profile::Usual("default"),
                None,
            )?);
            Decider::Here {
                guardian: own.guardian.clone(),
                caller: own.caller.clone(),
            }
        }
    };
    let name = arguments.name.clone().unwrap_or_else(|| name_of(arguments));
    let session = arguments.session.clone().unwrap_or_else(calling_process);
    let deadline = Duration::from_secs(arguments.deadline);
    let pins = Pins::new(super::mcp::definitions_file()?);
    let lines = Lines::new(decider, deadline, &name, pins, &format!("mcp:{session}"))?;
    let runtime = super::runtime()?;
    let (to, written) = write_lines(std::io::stdout());
    let client = Side {
        from: read_lines(std::io::stdin()),
        to,
    };
    let ended = runtime.block_on(async {
        match &arguments.url {
            Some(url) => {
                let server = Bridge::new(url.clone(), headers(arguments)?)?.open();
                until_signal(lines.guard(client, server, END_TIMEOUT)).await?;
                Ok(Ended::Done)
            }
            None => {
                let (child, server) = start(&arguments.command)?;
                let ended = until_signal(lines.guard(client, server, END_TIMEOUT)).await;
                let status = wait(child).await?;
                ended?;
                Ok(Ended::As(code_of(status)))
            }
        }
    });
    // What was judged is written before this process ends.
    let _ = written.join();
    if let Some(own) = &alone {
        own.guardian.flush_audit();
    }
    runtime.shutdown_background();
    ended
}

/// Waits for the end, or for the signal that asks for it.
async fn until_signal(work: impl Future<Output = ()>) -> anyhow::Result<()> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        tokio::select! {
            () = work => {}
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    }
    #[cfg(not(unix))]
    tokio::select! {
        () = work => {}
        _ = tokio::signal::ctrl_c() => {}
    }
    Ok(())
}

/// Starts the server; gives it and what it says.
fn start(command: &[String]) -> anyhow::Result<(Child, Side)> {
    let (program, arguments) = command
        .split_first()
        .context("expected the command of the MCP server behind `--`")?;
    let spawn = |program: &str| {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        command.spawn()
    };
    let child = match spawn(program) {
        // Windows runs scripts by their whole names only.
        Err(error) if cfg!(windows) && error.kind() == ErrorKind::NotFound => spawn(&format!("{program}.cmd")),
        other => other,
    };
    let mut child = child.with_context(|| format!("`{program}` cannot be started"))?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let (stdin, stdout) = stdin
        .zip(stdout)
        .context("the MCP server has no standard input and output")?;
    let (to, _) = write_lines(stdin);
    let from = read_lines(stdout);
    Ok((child, Side { from, to }))
}

/// Waits for the server to end; one that does not is ended.
async fn wait(mut child: Child) -> anyhow::Result<ExitStatus> {
    let ending = async {
        loop {
            match child.try_wait() {
                Ok(None) => tokio::time::sleep(LOOK).await,
                Ok(Some(status)) => return Ok(status),
                Err(error) => return Err(error),
            }
        }
    };
    if let Ok(status) = tokio::time::timeout(EXIT_TIMEOUT, ending).await {
        return Ok(status?);
    }
    child.kill()?;
    Ok(child.wait()?)
}

/// Returns the exit code; of a process that a signal ended, as shells tell it.
fn code_of(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt;
        if let Some(signal) = status.signal() {
            return u8::try_from(128 + signal).unwrap_or(1);
        }
    }
    status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

/// Reads lines in a thread, until there are no more or the receiver is gone.
fn read_lines(source: impl Read + Send + 'static) -> mpsc::Receiver<Line> {
    let (lines, taken) = mpsc::channel(WAITING);
    std::thread::spawn(move || {
        let mut source = BufReader::new(source);
        while let Ok(Some(line)) = next_line(&mut source) {
            let is_blank = matches!(&line, Line::Whole(bytes) if bytes.trim_ascii().is_empty());
            if !is_blank && lines.blocking_send(line).is_err() {
                return;
            }
        }
    });
    taken
}

/// Reads the next line; of one that is too long nothing is kept.
fn next_line(source: &mut impl BufRead) -> std::io::Result<Option<Line>> {
    let (mut line, mut too_long, mut some) = (Vec::new(), false, false);
    loop {
        let buffer = match source.fill_buf() {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            buffer => buffer?,
        };
        if buffer.is_empty() {
            break;
        }
        some = true;
        let end = memchr::memchr(b'\n', buffer);
        let piece = buffer.get(..end.unwrap_or(buffer.len())).unwrap_or_default();
        too_long |= line.len() + piece.len() > MAX_LINE;
        if too_long {
            line = Vec::new();
        } else {
            line.extend_from_slice(piece);
        }
        let taken = piece.len() + usize::from(end.is_some());
        source.consume(taken);
        if end.is_some() {
            break;
        }
    }
    Ok(some.then_some(if too_long { Line::TooLong } else { Line::Whole(line) }))
}

/// Writes lines in a thread, until none come or the sink is closed.
fn write_lines(mut sink: impl Write + Send + 'static) -> (mpsc::Sender<String>, JoinHandle<()>) {
    let (lines, mut taken) = mpsc::channel::<String>(WAITING);
    let writing = std::thread::spawn(move || {
        while let Some(mut line) = taken.blocking_recv() {
            line.push('\n');
            if sink.write_all(line.as_bytes()).and_then(|()| sink.flush()).is_err() {
                return;
            }
        }
    });
    (lines, writing)
}

/// Returns the headers for a server that is reached by HTTP.
fn headers(arguments: &Arguments) -> anyhow::Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    let mut put = |name: &str, value: String| {
        let name = HeaderName::try_from(name.trim()).with_context(|| format!("`{name}` is no name of a header"))?;
        let value = HeaderValue::try_from(value.trim());
        let mut value = value.with_context(|| format!("`{name}`: its value cannot be sent in a header"))?;
        value.set_sensitive(true);
        headers.append(name, value);
        anyhow::Ok(())
    };
    let variable = |name: &str| std::env::var(name).with_context(|| format!("the variable `{name}` is not set"));
    for text in &arguments.headers {
        let (name, value) = text.split_once(':').context("expected `--header 'NAME: VALUE'`")?;
        put(name, value.to_owned())?;
    }
    for text in &arguments.headers_env {
        let (name, from) = text.split_once('=').context("expected `--header-env NAME=VARIABLE`")?;
        put(name, variable(from)?)?;
    }
    if let Some(from) = &arguments.bearer_env {
        put("authorization", format!("Bearer {}", variable(from)?))?;
    }
    Ok(headers)
}

/// Returns the name of a server by its command: of one that a launcher starts, the package.
fn name_of(arguments: &Arguments) -> String {
    const LAUNCHERS: &[&str] = &[
        "npx", "uvx", "bunx", "pnpx", "pipx", "uv", "npm", "node", "deno", "bun", "python", "python3", "docker", "sh",
        "bash",
    ];
    if let Some(url) = &arguments.url {
        return url.host_str().unwrap_or("mcp").to_owned();
    }
    let stem = |text: &str| {
        let stem = Path::new(text).file_stem().and_then(|stem| stem.to_str());
        stem.unwrap_or(text).to_owned()
    };
    let mut words = arguments.command.iter();
    let program = words.next().map(|program| stem(program)).unwrap_or_default();
    if !LAUNCHERS.contains(&program.as_str()) {
        return program;
    }
    let package = words.find(|word| !word.starts_with('-') && !matches!(word.as_str(), "run" | "exec" | "tool"));
    package.map_or(program, |package| stem(package))
}

/// Returns the process that calls this one: it starts all the servers of a client.
fn calling_process() -> String {
    #[cfg(unix)]
    {
        format!("client-{}", std::os::unix::process::parent_id())
    }
    #[cfg(not(unix))]
    {
        uuid::Uuid::new_v4().to_string()
    }
}
