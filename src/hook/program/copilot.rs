//! GitHub Copilot CLI, in the dialect of events that begin with a capital letter.

use serde_json::{Map, Value, json};

use super::{Form, Program, Settings, block};
use crate::hook::event::{Event, Kind, Moment, Row};
use crate::hook::ruling::{Ruling, as_text};

pub(super) const PROGRAM: Program = Program {
    name: "copilot",
    title: "Copilot CLI",
    notes: &[
        "A prompt cannot be edited: what would be edited is denied.",
        "A hook that hangs is given up and the tool runs; the guardian answers before that.",
    ],
    events: &[
        Row::new("UserPromptSubmit", Kind::Prompt),
        Row::new("PreToolUse", Kind::Call),
        Row::new("PostToolUse", Kind::Result),
    ],
    is_caller,
    listing: None,
    answer,
    settings: Settings {
        variable: None,
        folder: ".copilot",
        file: "hooks/guardian.json",
        form: Form::Entries {
            version: Some(1),
            entry,
            off: None,
        },
    },
};

/// Returns `true` if the input gives a time, and no transcript.
fn is_caller(input: &Map<String, Value>) -> bool {
    input.contains_key("timestamp") && !input.contains_key("transcript_path")
}

fn answer(event: &Event, ruling: Ruling) -> Value {
    let result = |text: &str| json!({"modifiedResult": {"resultType": "success", "textResultForLlm": text}});
    match (&event.moment, ruling) {
        (Moment::Call(_), Ruling::Edit(input)) => json!({"permissionDecision": "allow", "modifiedArgs": input}),
        (Moment::Call(_), Ruling::Stop(why)) => {
            json!({"permissionDecision": "deny", "permissionDecisionReason": why})
        }
        (Moment::Result { .. }, Ruling::Edit(output)) => {
            let text = output.get("text_result_for_llm").unwrap_or(&output);
            result(&as_text(text))
        }
        (Moment::Result { .. }, Ruling::Stop(why)) => result(&why),
        (_, ruling) => block(event, ruling),
    }
}

fn entry(_: &Row, command: &str, seconds: u64) -> Value {
    json!({"type": "command", "command": command, "timeoutSec": seconds})
}
