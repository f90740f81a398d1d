//! Hooks of coding agents: programs that ask a command before they act, and after.
//!
//! ```text
//! standard input ─▶ event ─▶ question ─▶ ask ─────────────▶ program ─▶ standard output
//!   bounded JSON     what       AOS step    a server, or       the answer in the program's own form
//!                    happens                this process
//! ```
//!
//! | file | what it does |
//! |---|---|
//! | `event.rs` | reads what a program says happens; the table of a program names its events |
//! | `question.rs` | the AOS step that an event is, and what a modified step changes of the event |
//! | `ask.rs` | asks a server, or the guardian of this process |
//! | `ruling.rs` | what becomes of an event, and the words in which agents and users are told |
//! | `program` | one file a program: its events, its answers, its settings |
//! | `settings.rs` | writes hooks into a program's settings, and takes them out |
//! | `wrap` | puts the MCP servers of a client's configuration behind the guardian, and takes them out |
//!
//! Whatever goes wrong is a denial as far as the program lets a hook deny. This module prints nothing and touches no file.

mod ask;
mod event;
mod program;
mod question;
mod ruling;
mod settings;
pub mod wrap;

pub use ask::{Answerer, Server, ruling};
pub use event::{Event, Unreadable};
pub use program::{Home, Listing, Program};
pub use question::question;
pub use ruling::{OnFailure, Ruling};
pub use settings::{Hooked, SettingsError, install, installed, uninstall};

#[cfg(test)]
mod tests;
