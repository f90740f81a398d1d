//! Gemini CLI.

use serde_json::{Map, Value, json};

use super::{Form, Program, Settings, block, closed};
use crate::hook::event::{self, Event, Kind, Moment, Row};
use crate::hook::ruling::{Ruling, as_text};

pub(super) const PROGRAM: Program = Program {
    name: "gemini-cli",
    title: "Gemini CLI",
    notes: &[
        "A prompt cannot be edited: what would be edited is denied. An edited result is given as the reason that replaces it.",
        "A hook that hangs is given up and the tool runs; the guardian answers before that.",
    ],
    events: &[
        Row::new("BeforeAgent", Kind::Prompt),
        Row::new("BeforeTool", Kind::Call),
        Row::new("AfterTool", Kind::Result),
    ],
    is_caller,
    listing: None,
    answer,
    settings: Settings {
        variable: None,
        folder: ".gemini",
        file: "settings.json",
        form: Form::Entries {
            version: None,
            entry,
            off: None,
        },
    },
};

/// Its own command `gemini hooks migrate` takes over hooks of Claude Code, under its own names of events.
fn is_caller(input: &Map<String, Value>) -> bool {
    let named = event::name(input).unwrap_or_default();
    PROGRAM.events.iter().any(|row| row.name == named)
}

fn answer(event: &Event, ruling: Ruling) -> Value {
    let deny = |why: String| json!({"decision": "deny", "reason": why});
    match (&event.moment, ruling) {
        (Moment::Call(_), Ruling::Edit(input)) => json!({"hookSpecificOutput": {"tool_input": input}}),
        (Moment::Result { .. }, Ruling::Edit(output)) => deny(as_text(&output)),
        (_, Ruling::Stop(why)) => deny(why),
        (_, ruling) => block(event, ruling),
    }
}

/// Makes an entry, with time in milliseconds.
fn entry(row: &Row, command: &str, seconds: u64) -> Value {
    let hook = json!({"type": "command", "name": "guardian", "command": closed(command), "timeout": seconds * 1000});
    match row.kind {
        Kind::Prompt => json!({"hooks": [hook]}),
        Kind::Call | Kind::Result | Kind::ShownResult => json!({"matcher": "*", "hooks": [hook]}),
    }
}
