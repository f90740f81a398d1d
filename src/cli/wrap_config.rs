//! `guardian wrap-config`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use serde::{Deserialize, Serialize};
use url::{Host, Url};

use super::output::say;
use super::settings_file::{change, keep_note, note_file, read, read_note};
use super::{Ended, hook, local_guardian, printable};
use crate::hook::wrap::{self, Client, Command, Folders, Form, Headers, Kind, Server};

/// Put the MCP servers of a client behind the guardian, or take them out again.
///
/// Servers that the client starts become arguments of `guardian mcp-stdio --`; servers that it reaches become `guardian mcp-stdio --url`,
/// with the headers of the entry in its environment. Comments, order and white space of the file stay. What the client logs in to by itself
/// (OAuth) and what it runs by itself is left alone, and said. Clients read their file when they start.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The configuration file: JSON, comments allowed, or TOML (Codex).
    #[arg(value_name = "FILE", required_unless_present = "client", conflicts_with = "client")]
    file: Option<PathBuf>,
    /// claude-desktop, claude-code, cursor, vscode, windsurf, codex, gemini-cli, copilot, opencode or zed: its file for this user.
    #[arg(long, value_name = "NAME")]
    client: Option<String>,
    /// Show what would change, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Take back what this command changed: byte for byte where the file was not written since, else entry by entry.
    #[arg(long, conflicts_with_all = ["guardian", "config"])]
    undo: bool,
    /// The server that decides; left out, each `guardian mcp-stdio` decides by itself.
    #[arg(long, value_name = "URL")]
    guardian: Option<Url>,
    /// The configuration of guardians that decide by themselves.
    #[arg(long, value_name = "FILE", conflicts_with = "guardian")]
    config: Option<PathBuf>,
}

/// The note of a wrapping, to take it back. It may hold secrets of the configuration.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    file: PathBuf,
    before: String,
    written: String,
    entries: Vec<wrap::Path>,
}

/// The folder of the notes.
const NOTES: &str = "wrapped";

/// The time for which a server is asked whether it wants a login.
const ASKED: Duration = Duration::from_secs(5);

pub(super) async fn run(arguments: &Arguments) -> anyhow::Result<Ended> {
    let named = file(arguments)?;
    let text = read(&named)?.with_context(|| format!("{}: there is no such file", named.display()))?;
    let file = std::fs::canonicalize(&named).with_context(|| named.display().to_string())?;
    let note = note_of(&file)?;
    if arguments.undo {
        return undo(arguments, &file, &text, note, &note_file(NOTES, &file)?);
    }
    let form = Form::of(&file);
    let place = || file.display().to_string();
    // What was wrapped before is taken back first, so that one note is enough to take everything back.
    let base = match &note {
        None => text.clone(),
        Some(note) => restored(form, &text, note).with_context(place)?.0,
    };
    let mut entries = Vec::new();
    for server in form.servers(&base).with_context(place)? {
        let name = printable(server.name());
        match left_alone(&server).await {
            None => {
                say!("{name}: behind the guardian");
                entries.push(server.path);
            }
            Some(why) => say!("{name}: left alone: {why}"),
        }
    }
    let own = std::env::current_exe().context("where this program is")?;
    let command = Command {
        guardian: own.to_str().context("the path of this program is no UTF-8")?,
        options: &options(arguments)?,
    };
    let written = form.wrap(&base, &entries, &command).with_context(place)?;
    if entries.len() > 1 && arguments.guardian.is_none() {
        say!(
            "Each of these servers has a guardian of its own: what one of them answered is not known when another is called. With \
             `guardian serve` running and `--guardian http://127.0.0.1:8787`, they are judged as one session."
        );
    }
    if !arguments.dry_run && written != text {
        let note = Note {
            file: file.clone(),
            before: base,
            written: written.clone(),
            entries,
        };
        // Before the file: what cannot be taken back is not done.
        keep_note(&note, &note_file(NOTES, &file)?)?;
    }
    change(&file, Some(&text), Some(&written), arguments.dry_run)?;
    if !arguments.dry_run && written != text {
        say!("The client reads it at its next start; `--undo` takes it back.");
    }
    Ok(Ended::Done)
}

fn undo(arguments: &Arguments, file: &Path, text: &str, note: Option<Note>, kept: &Path) -> anyhow::Result<Ended> {
    let note = note.with_context(|| format!("{}: this user has wrapped nothing in it", file.display()))?;
    let (after, changed) = restored(Form::of(file), text, &note).with_context(|| file.display().to_string())?;
    if text == note.written {
        say!("the file was not written since: it is restored byte for byte");
    } else {
        let back = note.entries.len() - changed.len();
        say!(
            "another program or person has written the file since: {back} entries are restored, everything else stays as it is now"
        );
    }
    for path in &changed {
        let name = printable(path.last().map_or("", String::as_str));
        say!("{name}: changed by another program or person, and left as it is: take `mcp-stdio` out of it by hand");
    }
    change(file, Some(text), Some(&after), arguments.dry_run)?;
    if !arguments.dry_run && changed.is_empty() {
        std::fs::remove_file(kept).with_context(|| format!("{}: cannot be removed", kept.display()))?;
    }
    Ok(if changed.is_empty() {
        Ended::Done
    } else {
        Ended::UnderThreshold
    })
}

/// Returns the file without what a note says was wrapped, and the entries that were changed since by others.
fn restored(form: Form, text: &str, note: &Note) -> anyhow::Result<(String, Vec<wrap::Path>)> {
    if text == note.written {
        return Ok((note.before.clone(), Vec::new()));
    }
    Ok(form.unwrap(text, &note.entries, &note.before, &note.written)?)
}

/// Returns the reason why a server is left alone; `None` where it is wrapped.
async fn left_alone(server: &Server) -> Option<String> {
    match &server.kind {
        Kind::Program => None,
        Kind::Wrapped => Some("it calls the guardian already".to_owned()),
        Kind::LeftAlone(why) => Some((*why).to_owned()),
        Kind::Address { url, headers } => {
            if !["http://", "https://"].iter().any(|scheme| url.starts_with(scheme)) {
                return Some("its address is neither http:// nor https://".to_owned());
            }
            match headers {
                Headers::Given => None,
                Headers::None => wants_login(url).await,
            }
        }
    }
}

/// Returns the reason why a server to which the client sends no headers is left alone: it asks for a login, or that is not known.
async fn wants_login(address: &str) -> Option<String> {
    let unknown = |why: &str| Some(format!("whether it asks for a login cannot be found out: {why}"));
    let Ok(url) = Url::parse(address) else {
        return unknown("its address cannot be read");
    };
    if address.contains("${") || address.contains("{env:") {
        return unknown("the client fills in its address");
    }
    let is_here = match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    };
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"guardian","version":"1"}}}"#;
    let client = crate::outgoing::client().timeout(ASKED);
    let client = if is_here { client.no_proxy() } else { client };
    let Ok(client) = client.build() else {
        return unknown("nothing can be sent");
    };
    let asked = client
        .post(url)
        .header(http::header::CONTENT_TYPE, "application/json")
        .header(http::header::ACCEPT, "application/json, text/event-stream")
        .body(hello);
    match asked.send().await {
        Ok(answer) if matches!(answer.status().as_u16(), 401 | 403) => Some(
            "it asks for a login, which the client does by itself (OAuth): give it headers of its own first".to_owned(),
        ),
        Ok(_) => None,
        // A server on this machine that is not running now asks for no login.
        Err(_) if is_here => None,
        Err(_) => unknown("it does not answer; try again when it does"),
    }
}

fn file(arguments: &Arguments) -> anyhow::Result<PathBuf> {
    let Some(name) = &arguments.client else {
        return arguments.file.clone().context("expected a file, or `--client NAME`");
    };
    let client = Client::named(name).with_context(|| {
        let names: Vec<&str> = Client::ALL.iter().map(|client| client.name).collect();
        format!(
            "there is no client `{}`; there are: {}",
            printable(name),
            names.join(", ")
        )
    })?;
    Ok(client.file(&Folders {
        home: &local_guardian::home()?,
        variable: &hook::variable,
    }))
}

fn options(arguments: &Arguments) -> anyhow::Result<Vec<String>> {
    let mut words = Vec::new();
    if let Some(url) = &arguments.guardian {
        words.extend(["--guardian".to_owned(), url.to_string()]);
    }
    if let Some(config) = &arguments.config {
        let config = std::path::absolute(config)?;
        let config = config.to_str().context("the path of the configuration is no UTF-8")?;
        words.extend(["--config".to_owned(), config.to_owned()]);
    }
    Ok(words)
}

fn note_of(file: &Path) -> anyhow::Result<Option<Note>> {
    let note: Option<Note> = read_note(&note_file(NOTES, file)?)?;
    Ok(note.filter(|note| note.file == file))
}
