//! The clients: where each keeps the servers of its user.

use std::path::{Path, PathBuf};

/// A program that uses MCP servers.
#[derive(Debug)]
pub struct Client {
    /// Its name on the command line.
    pub name: &'static str,
    /// The variable that moves its folder.
    variable: Option<&'static str>,
    /// The folder, and where it is.
    folder: (Base, &'static str),
    /// The files that it may have, the likeliest last.
    files: &'static [&'static str],
}

#[derive(Clone, Copy, Debug)]
enum Base {
    Home,
    /// The folder in which programs with windows keep their settings.
    Configuration,
    /// The same, but for programs that follow XDG on every system but Windows.
    Xdg,
}

/// The folders of the user.
pub struct Folders<'a> {
    /// The user's home.
    pub home: &'a Path,
    /// The variables of the environment.
    pub variable: &'a dyn Fn(&str) -> Option<PathBuf>,
}

impl Folders<'_> {
    fn of(&self, base: Base) -> PathBuf {
        let xdg = || (self.variable)("XDG_CONFIG_HOME").unwrap_or_else(|| self.home.join(".config"));
        let roaming = || (self.variable)("APPDATA").unwrap_or_else(|| self.home.join("AppData/Roaming"));
        match base {
            Base::Home => self.home.to_owned(),
            Base::Configuration if cfg!(target_os = "macos") => self.home.join("Library/Application Support"),
            Base::Configuration | Base::Xdg if cfg!(windows) => roaming(),
            Base::Configuration | Base::Xdg => xdg(),
        }
    }
}

const fn client(name: &'static str, folder: (Base, &'static str), files: &'static [&'static str]) -> Client {
    Client {
        name,
        variable: None,
        folder,
        files,
    }
}

impl Client {
    /// All of them.
    pub const ALL: &'static [Client] = &[
        client(
            "claude-desktop",
            (Base::Configuration, "Claude"),
            &["claude_desktop_config.json"],
        ),
        client("claude-code", (Base::Home, ""), &[".claude.json"]),
        client("cursor", (Base::Home, ".cursor"), &["mcp.json"]),
        client("vscode", (Base::Configuration, "Code/User"), &["mcp.json"]),
        client("windsurf", (Base::Home, ".codeium/windsurf"), &["mcp_config.json"]),
        Client {
            variable: Some("CODEX_HOME"),
            ..client("codex", (Base::Home, ".codex"), &["config.toml"])
        },
        client("gemini-cli", (Base::Home, ".gemini"), &["settings.json"]),
        client("copilot", (Base::Home, ".copilot"), &["mcp-config.json"]),
        client(
            "opencode",
            (Base::Xdg, "opencode"),
            &["opencode.jsonc", "opencode.json"],
        ),
        client("zed", (Base::Xdg, "zed"), &["settings.json"]),
    ];

    /// Returns the client of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::ALL.iter().find(|client| client.name == name)
    }

    /// Returns the file with the servers of this user: the first that is there.
    pub fn file(&self, folders: &Folders<'_>) -> PathBuf {
        let (base, below) = self.folder;
        let moved = self.variable.and_then(|name| (folders.variable)(name));
        let folder = moved.unwrap_or_else(|| folders.of(base).join(below));
        let mut files = self.files.iter().map(|file| folder.join(file));
        let there = files.clone().find(|file| file.exists());
        there.or_else(|| files.next_back()).unwrap_or(folder)
    }
}
