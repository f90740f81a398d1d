//! `guardian mcp`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::output::{difference, say, write};
use super::{Ended, local_guardian, printable};
use crate::gateway::{PinStatus, PinnedTool, Pins};

/// Look at the tools that guarded MCP servers offered, and approve them.
///
/// `guardian mcp-stdio` notes every definition that it lets through, and so does a gateway with a `tools_file`. One that was approved and then changes is hidden from the agent until
/// it is approved again, and so is a tool of another server with the same or nearly the same name.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Show the tools of all servers, or of one.
    List(OfServer),
    /// Approve tools as they are offered now.
    Approve(Named),
    /// Show what changed in definitions since they were approved.
    Diff(OfServer),
}

#[derive(Debug, Args)]
pub(super) struct OfServer {
    /// The server, by the name that `guardian mcp list` shows.
    #[arg(value_name = "SERVER")]
    server: Option<String>,
    #[command(flatten)]
    definitions: Definitions,
}

#[derive(Debug, Args)]
pub(super) struct Named {
    /// The server, by the name that `guardian mcp list` shows.
    #[arg(value_name = "SERVER")]
    server: String,
    /// The tools [default: all of the server].
    #[arg(value_name = "TOOL")]
    tools: Vec<String>,
    #[command(flatten)]
    definitions: Definitions,
}

#[derive(Debug, Args)]
pub(super) struct Definitions {
    /// The file of definitions, as `tools_file` of a gateway names it [default: the one of `guardian mcp-stdio`].
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

impl Definitions {
    fn pins(&self) -> anyhow::Result<Pins> {
        Ok(Pins::new(match &self.file {
            Some(file) => file.clone(),
            None => definitions_file()?,
        }))
    }
}

/// Returns the file of definitions.
pub(super) fn definitions_file() -> anyhow::Result<PathBuf> {
    Ok(local_guardian::state_folder()?.join("mcp-tools.json"))
}

pub(super) fn run(command: &Command) -> anyhow::Result<Ended> {
    match command {
        Command::List(of) => list(&of.definitions.pins()?, of.server.as_deref()),
        Command::Approve(named) => {
            let approved = named.definitions.pins()?.approve(&named.server, &named.tools)?;
            let approved: Vec<String> = approved.iter().map(|name| printable(name)).collect();
            say!("approved: {}", approved.join(", "));
            Ok(Ended::Done)
        }
        Command::Diff(of) => diff(&of.definitions.pins()?, of.server.as_deref()),
    }
}

fn list(pins: &Pins, only: Option<&str>) -> anyhow::Result<Ended> {
    let known = pins.read()?;
    let shown = known
        .0
        .iter()
        .filter(|(server, _)| only.is_none_or(|only| only == *server));
    let mut rows = vec![["SERVER", "TOOL", "STANDING", "WHAT IT SAYS OF ITSELF"].map(str::to_owned)];
    for (server, tools) in shown {
        for (name, tool) in tools {
            let words = tool.offered.text.get("description").and_then(|words| words.as_str());
            rows.push([
                printable(server),
                printable(name),
                known.status(server, name).as_str().to_owned(),
                shortened(&printable(words.unwrap_or_default())),
            ]);
        }
    }
    if rows.len() == 1 {
        say!("No tools were offered yet: run an MCP server behind `guardian mcp-stdio`.");
        return Ok(Ended::Done);
    }
    let width = |column: usize| {
        let widths = rows.iter().filter_map(|row| row.get(column));
        widths.map(|text| text.chars().count()).max().unwrap_or_default()
    };
    let (first, second, third) = (width(0), width(1), width(2));
    for [server, tool, status, words] in &rows {
        let line = format!("{server:first$}  {tool:second$}  {status:third$}  {words}");
        say!("{}", line.trim_end());
    }
    Ok(Ended::Done)
}

fn diff(pins: &Pins, only: Option<&str>) -> anyhow::Result<Ended> {
    let known = pins.read()?;
    let mut some = false;
    for (server, tools) in known
        .0
        .iter()
        .filter(|(server, _)| only.is_none_or(|only| only == *server))
    {
        for (name, tool) in tools {
            if known.status(server, name) == PinStatus::Changed {
                some = true;
                write(format_args!("{}\n", compare(&format!("{server}/{name}"), tool)));
            }
        }
    }
    if !some {
        say!("No approved tool has changed.");
    }
    Ok(Ended::Done)
}

/// Returns how the two definitions of a tool differ.
fn compare(title: &str, tool: &PinnedTool) -> String {
    let text = |definition: &serde_json::Value| serde_json::to_string_pretty(definition).unwrap_or_default() + "\n";
    let approved = tool.approved.as_ref();
    let approved = approved.map(|approved| text(&approved.text)).unwrap_or_default();
    let (before, after) = (format!("{title} (approved)"), format!("{title} (offered)"));
    difference(&before, &approved, &after, &text(&tool.offered.text))
}

fn shortened(text: &str) -> String {
    const MAX_LEN: usize = 60;
    if text.chars().count() <= MAX_LEN {
        return text.to_owned();
    }
    text.chars().take(MAX_LEN - 1).chain(['…']).collect()
}
