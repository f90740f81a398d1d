//! Definitions of tools, pinned: what servers offered, and what of it a person approved, in a small file.
//!
//! A tool that was approved and then changed is hidden until it is approved again. So is one that has the name, or nearly the name, of an
//! approved tool of another server, unless it was approved itself. A tool that is not approved is judged like everything else, and remembered.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use unicode_security::confusable_detection::skeleton;

use crate::files;
use crate::model::named_enum;

/// The reason why the file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct PinsError(String);

/// Bytes of the file.
const MAX_SIZE: u64 = 64 * 1024 * 1024;
/// Bytes of a definition that is kept whole; of a larger one, the hash.
const MAX_DEFINITION: usize = 64 * 1024;
/// Tools of a server.
const MAX_TOOLS: usize = 1_024;
/// Servers.
const MAX_SERVERS: usize = 256;

/// The file of definitions.
#[derive(Clone, Debug)]
pub struct Pins(PathBuf);

/// The known tools: server, tool, definition.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Known(pub BTreeMap<String, BTreeMap<String, Tool>>);

/// One tool.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Tool {
    /// As it was offered last.
    pub offered: Definition,
    /// As it was approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<Definition>,
}

/// A definition.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Definition {
    /// BLAKE3 of it, in hexadecimal digits.
    pub hash: String,
    /// All of it; `null` where it is too large.
    pub text: Value,
}

named_enum! {
    /// The status of a tool.
    PinStatus {
        /// It is not approved.
        Seen = "seen",
        /// It is as it was approved.
        Approved = "approved",
        /// It changed since it was approved: it is hidden.
        Changed = "changed: hidden",
        /// It has the name of an approved tool of another server: it is hidden.
        Shadows = "shadows another: hidden",
    }
}

impl PinStatus {
    /// Returns the reason why an agent does not get to see a tool.
    pub(super) const fn hides(self) -> Option<&'static str> {
        match self {
            PinStatus::Seen | PinStatus::Approved => None,
            PinStatus::Changed => Some(
                "The definition of this tool changed since it was approved. The user can look at it with `guardian mcp diff`.",
            ),
            PinStatus::Shadows => Some(
                "This tool has the name of an approved tool of another server. The user can look at both with `guardian mcp list`.",
            ),
        }
    }
}

impl Known {
    /// Returns the status of a tool.
    pub fn status(&self, server: &str, name: &str) -> PinStatus {
        let tool = self.0.get(server).and_then(|tools| tools.get(name));
        match tool.and_then(|tool| Some((tool, tool.approved.as_ref()?))) {
            Some((tool, approved)) if approved.hash == tool.offered.hash => PinStatus::Approved,
            Some(_) => PinStatus::Changed,
            None if self.has_twin(server, name) => PinStatus::Shadows,
            None => PinStatus::Seen,
        }
    }

    /// Returns `true` if another server has an approved tool whose name looks like this one.
    fn has_twin(&self, server: &str, name: &str) -> bool {
        let look = look(name);
        let others = self.0.iter().filter(|(other, _)| *other != server);
        others
            .flat_map(|(_, tools)| tools)
            .any(|(other, tool)| tool.approved.is_some() && self::look(other) == look)
    }

    fn note(&mut self, server: &str, offered: &[(String, Definition)]) -> bool {
        if !self.0.contains_key(server) && self.0.len() >= MAX_SERVERS {
            return false;
        }
        let tools = self.0.entry(server.to_owned()).or_default();
        let mut changes = false;
        for (name, definition) in offered {
            let has_room = tools.len() < MAX_TOOLS;
            match tools.get_mut(name) {
                Some(tool) if tool.offered == *definition => {}
                Some(tool) => {
                    tool.offered = definition.clone();
                    changes = true;
                }
                None if has_room => {
                    let offered = definition.clone();
                    tools.insert(
                        name.clone(),
                        Tool {
                            offered,
                            approved: None,
                        },
                    );
                    changes = true;
                }
                None => {}
            }
        }
        changes
    }
}

/// Returns the look of a name: without case, separators and letters that stand for others.
fn look(name: &str) -> String {
    let letters: String = name.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect();
    skeleton(&letters).collect::<String>().to_lowercase()
}

impl Definition {
    fn of(tool: &Value) -> Self {
        // The order of members means nothing, and is not the same for every answer of every server.
        let mut sorted = tool.clone();
        sorted.sort_all_objects();
        let text = sorted.to_string();
        Self {
            hash: blake3::hash(text.as_bytes()).to_hex().to_string(),
            text: if text.len() <= MAX_DEFINITION {
                sorted
            } else {
                Value::Null
            },
        }
    }
}

impl Pins {
    /// Makes the pins in this file, which need not be there.
    pub fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// Reads all that is known.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub fn read(&self) -> Result<Known, PinsError> {
        if !self.0.exists() {
            return Ok(Known::default());
        }
        self.parse(&mut File::open(&self.0).map_err(|why| self.failed(why))?)
    }

    /// Approves the tools of a server as they were offered last: these, or all; gives their names.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or written, or a tool was never offered.
    pub fn approve(&self, server: &str, names: &[String]) -> Result<Vec<String>, PinsError> {
        self.change(|known| {
            let unknown = |name: &str| {
                PinsError(format!(
                    "`{name}` was never offered; `guardian mcp list` shows what was"
                ))
            };
            let tools = known.0.get_mut(server).ok_or_else(|| unknown(server))?;
            let named: Vec<String> = match names {
                [] => tools.keys().cloned().collect(),
                names => names.to_vec(),
            };
            for name in &named {
                let tool = tools.get_mut(name).ok_or_else(|| unknown(name))?;
                tool.approved = Some(tool.offered.clone());
            }
            Ok((named, true))
        })
    }

    /// Notes what a server offers; says where each tool stands.
    pub(super) fn note(&self, server: &str, offered: &[Value]) -> Result<Vec<(String, PinStatus)>, PinsError> {
        let named = offered.iter().filter_map(|tool| {
            let name = tool.get("name")?.as_str()?;
            Some((name.to_owned(), Definition::of(tool)))
        });
        let named: Vec<(String, Definition)> = named.take(MAX_TOOLS).collect();
        self.change(|known| {
            let changes = known.note(server, &named);
            let status = |(name, _): &(String, Definition)| (name.clone(), known.status(server, name));
            Ok((named.iter().map(status).collect(), changes))
        })
    }

    /// Reads, changes and writes the file; other processes wait for that.
    fn change<T>(&self, change: impl FnOnce(&mut Known) -> Result<(T, bool), PinsError>) -> Result<T, PinsError> {
        let mut file = self.opened().map_err(|why| self.failed(why))?;
        file.lock().map_err(|why| self.failed(why))?;
        let mut known = self.parse(&mut file)?;
        let (given, changes) = change(&mut known)?;
        if changes {
            let text = serde_json::to_vec_pretty(&known).map_err(|why| self.failed(why))?;
            let writing = file
                .seek(SeekFrom::Start(0))
                .and_then(|_| file.set_len(0))
                .and_then(|()| file.write_all(&text))
                .and_then(|()| file.sync_data());
            writing.map_err(|why| self.failed(why))?;
        }
        Ok(given)
    }

    fn opened(&self) -> std::io::Result<File> {
        if let Some(folder) = self.0.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut options = files::private();
        options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&self.0)
    }

    fn parse(&self, file: &mut File) -> Result<Known, PinsError> {
        let mut text = Vec::new();
        let read = file.take(MAX_SIZE + 1).read_to_end(&mut text);
        read.map_err(|why| self.failed(why))?;
        if text.len() as u64 > MAX_SIZE {
            return Err(self.failed(format_args!(
                "expected at most {MAX_SIZE} bytes; move the file away to begin anew"
            )));
        }
        if text.is_empty() {
            return Ok(Known::default());
        }
        serde_json::from_slice(&text).map_err(|why| {
            let expected = "expected what `guardian mcp-stdio` wrote there";
            self.failed(format_args!(
                "{expected}, found: {why}; move the file away to begin anew"
            ))
        })
    }

    fn failed(&self, why: impl std::fmt::Display) -> PinsError {
        PinsError(format!("{}: {why}", Path::display(&self.0)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_approved_and_changed_is_hidden_and_so_is_its_twin() {
        let folder = tempfile::tempdir().unwrap();
        let pins = Pins::new(folder.path().join("state/tools.json"));
        let tool = |name: &str, words: &str| json!({"name": name, "description": words});
        let status = |server: &str, tool: Value| pins.note(server, &[tool]).unwrap()[0].1;
        assert_eq!(status("files", tool("read_file", "Reads.")), PinStatus::Seen);
        assert_eq!(status("files", tool("read_file", "Reads a file.")), PinStatus::Seen);
        assert_eq!(status("other", tool("Read-Fi1e", "Reads.")), PinStatus::Seen);
        assert_eq!(pins.approve("files", &[]).unwrap(), ["read_file"]);
        assert_eq!(status("files", tool("read_file", "Reads a file.")), PinStatus::Approved);
        assert_eq!(status("other", tool("Read-Fi1e", "Reads.")), PinStatus::Shadows);
        assert_eq!(status("files", tool("read_file", "Reads it.")), PinStatus::Changed);
        pins.approve("files", &["read_file".to_owned()]).unwrap();
        assert_eq!(pins.read().unwrap().status("files", "read_file"), PinStatus::Approved);
        assert!(pins.approve("files", &["write".to_owned()]).is_err());
        assert!(pins.approve("nobody", &[]).is_err());
    }
}
