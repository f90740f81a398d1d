//! The agent of VS Code. It has no hooks of its own to install: it reads those of Claude Code and of Copilot CLI, and is answered as Claude Code is.

use serde_json::{Map, Value};

use super::{Program, claude_code};

pub(super) const PROGRAM: Program = Program {
    name: "vscode",
    title: "VS Code's agent",
    is_caller,
    ..claude_code::PROGRAM
};

/// Returns `true` if the input names the event as no other program does.
fn is_caller(input: &Map<String, Value>) -> bool {
    input.contains_key("hookEventName")
}
