//! Puts the MCP servers of a client's configuration behind `guardian mcp-stdio`, and takes them out again. Texts in, texts out:
//! comments, order and white space of everything else stay as they are.
//!
//! A program that is started (`command`, `args`) becomes an argument of the guardian. A server that is reached (`url`) becomes a program: the
//! guardian as a bridge, with the headers of the entry in its environment, so that no secret stands in a command line.

mod clients;
mod json;
mod toml;

pub use clients::{Client, Folders};

use super::settings::SettingsError;

/// The way to an entry: the names of the members that lead there.
pub type Path = Vec<String>;

/// A server in a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// The path of its entry.
    pub path: Path,
    /// The kind of the entry.
    pub kind: Kind,
}

/// The kind of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A program that the client starts.
    Program,
    /// An address; with headers of its own, or without.
    Address {
        /// The address.
        url: String,
        /// The headers that the entry names, if it does.
        headers: Headers,
    },
    /// It calls the guardian already.
    Wrapped,
    /// It is left alone, for this reason.
    LeftAlone(&'static str),
}

/// The headers that an entry names, if it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Headers {
    /// It does.
    Given,
    /// It does not: where the server asks who is there, the client would log in by itself.
    None,
}

impl Server {
    /// Returns the name of the server.
    pub fn name(&self) -> &str {
        self.path.last().map_or("", String::as_str)
    }
}

/// The form of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// JSON, comments and trailing commas allowed.
    Json,
    /// TOML.
    Toml,
}

impl Form {
    /// Returns the form by the end of the file's name.
    pub fn of(file: &std::path::Path) -> Self {
        match file.extension().is_some_and(|extension| extension == "toml") {
            true => Form::Toml,
            false => Form::Json,
        }
    }

    /// Reads the servers in a configuration.
    ///
    /// # Errors
    ///
    /// When it is none that can be read.
    pub fn servers(self, text: &str) -> Result<Vec<Server>, SettingsError> {
        match self {
            Form::Json => json::servers(text),
            Form::Toml => toml::servers(text),
        }
    }

    /// Wraps these entries of the configuration. `guardian` is the program, `options` stand between `mcp-stdio` and what is wrapped.
    ///
    /// # Errors
    ///
    /// When it is none that can be read.
    pub fn wrap(self, text: &str, paths: &[Path], command: &Command<'_>) -> Result<String, SettingsError> {
        match self {
            Form::Json => json::wrap(text, paths, command),
            Form::Toml => toml::wrap(text, paths, command),
        }
    }

    /// Returns the configuration with these entries as they were before they were wrapped, and the entries that were changed since by another
    /// program or by hand: they stay as they are. `before` and `written` are the whole configuration before and after the wrapping.
    ///
    /// # Errors
    ///
    /// When one of the three is none that can be read.
    pub fn unwrap(
        self,
        text: &str,
        paths: &[Path],
        before: &str,
        written: &str,
    ) -> Result<(String, Vec<Path>), SettingsError> {
        match self {
            Form::Json => json::unwrap(text, paths, before, written),
            Form::Toml => toml::unwrap(text, paths, before, written),
        }
    }
}

/// The command that a wrapped entry calls.
#[derive(Debug)]
pub struct Command<'a> {
    /// The path of the guardian.
    pub guardian: &'a str,
    /// The options behind `mcp-stdio`.
    pub options: &'a [String],
}

impl Command<'_> {
    /// Returns the arguments before those of a server's program, which they end with.
    fn of_program(&self, server: &str, program: &str) -> Vec<String> {
        let mut words = self.words(server);
        words.extend(["--".to_owned(), program.to_owned()]);
        words
    }

    /// Returns the arguments of a bridge. Each header is sent with the value of its variable.
    fn of_address<'h>(
        &self,
        server: &str,
        url: &str,
        headers: impl Iterator<Item = (&'h str, &'h str)>,
    ) -> Vec<String> {
        let mut words = self.words(server);
        words.extend(["--url".to_owned(), url.to_owned()]);
        for (name, variable) in headers {
            words.extend(["--header-env".to_owned(), format!("{name}={variable}")]);
        }
        words
    }

    /// Returns the subcommand and its options: the server has the name that the configuration gives it.
    fn words(&self, server: &str) -> Vec<String> {
        let mut words = vec![SUBCOMMAND.to_owned(), "--name".to_owned(), server.to_owned()];
        words.extend_from_slice(self.options);
        words
    }
}

const SUBCOMMAND: &str = "mcp-stdio";

/// Returns the variable that holds a header's value in the environment of a bridge.
fn variable(header: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_uppercase()
        } else {
            '_'
        }
    };
    format!("GUARDIAN_HEADER_{}", header.chars().map(plain).collect::<String>())
}

/// The reasons why entries are left alone.
const OAUTH: &str = "the client logs in to it by itself (OAuth): a guardian between them has no token; give it headers of its own first";
const NO_SERVER: &str =
    "it names neither a program nor an address: the client runs it by itself (an extension, or a connector)";
const EVENTS: &str = "it speaks the old transport of events (sse): ask for its address over HTTP";
const OTHER_FORM: &str = "it is written in a form that is not known here";

#[cfg(test)]
mod tests;
