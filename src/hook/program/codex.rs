//! Codex. It refuses answers with members that it does not know.

use serde_json::{Value, json};

use super::{Form, Listing, Program, Settings, block, closed, denied_call, specific};
use crate::hook::event::{Event, Kind, Moment, Row};
use crate::hook::ruling::{Ruling, as_text};

pub(super) const PROGRAM: Program = Program {
    name: "codex",
    title: "Codex",
    notes: &[
        "Codex skips a hook without a word until you trust it: open `/hooks` in Codex once after every install, or install with `--trust`.",
        "Words that are written into a shell that already runs, commands that are still running, and hosted web search reach no hook.",
        "A prompt cannot be edited: what would be edited is denied. An edited result is given as the reason that replaces it.",
        "A hook that hangs is given up and the tool runs; the guardian answers before that.",
    ],
    events: &[
        Row::new("UserPromptSubmit", Kind::Prompt),
        Row::new("PreToolUse", Kind::Call),
        Row::new("PostToolUse", Kind::Result),
    ],
    is_caller: super::calls_nobody,
    listing: Some(Listing::CodexServer),
    answer,
    settings: Settings {
        variable: Some("CODEX_HOME"),
        folder: ".codex",
        file: "hooks.json",
        form: Form::Entries {
            version: None,
            entry,
            off: None,
        },
    },
};

fn answer(event: &Event, ruling: Ruling) -> Value {
    match (&event.moment, ruling) {
        (Moment::Call(_), Ruling::Edit(input)) => {
            specific(event, json!({"permissionDecision": "allow", "updatedInput": input}))
        }
        (Moment::Call(_), Ruling::Stop(why)) => denied_call(event, &why),
        (Moment::Result { .. }, Ruling::Edit(output)) => json!({"decision": "block", "reason": as_text(&output)}),
        (_, ruling) => block(event, ruling),
    }
}

fn entry(row: &Row, command: &str, seconds: u64) -> Value {
    let hook = json!({"type": "command", "command": closed(command), "timeout": seconds});
    match row.kind {
        Kind::Prompt => json!({"hooks": [hook]}),
        Kind::Call | Kind::Result | Kind::ShownResult => json!({"matcher": ".*", "hooks": [hook]}),
    }
}
