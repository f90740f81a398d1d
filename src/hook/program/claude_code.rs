//! Claude Code.

use serde_json::{Value, json};

use super::{Form, Program, Settings, block, closed, denied_call, specific};
use crate::hook::event::{Event, Kind, Moment, Row, Shown};
use crate::hook::ruling::{Ruling, withheld};

pub(super) const PROGRAM: Program = Program {
    name: "claude-code",
    title: "Claude Code",
    notes: &[
        "A result can be withheld and edited, but not the error text of a tool that failed: the agent is told to follow nothing in it.",
        "Files that a prompt names with `@`, and tools that run at the model's provider, reach no hook.",
        "A prompt cannot be edited: what would be edited is denied.",
    ],
    events: &[
        Row::new("UserPromptSubmit", Kind::Prompt),
        Row::new("PreToolUse", Kind::Call),
        Row::new("PostToolUse", Kind::Result),
        Row::new("PostToolUseFailure", Kind::ShownResult),
    ],
    is_caller: super::calls_nobody,
    listing: None,
    answer,
    settings: Settings {
        variable: Some("CLAUDE_CONFIG_DIR"),
        folder: ".claude",
        file: "settings.json",
        form: Form::Entries {
            version: None,
            entry,
            off: Some("disableAllHooks"),
        },
    },
};

/// Returns the answer; nothing for a call that is let through, so that the user's own permissions still hold.
fn answer(event: &Event, ruling: Ruling) -> Value {
    match (&event.moment, ruling) {
        (Moment::Call(_), Ruling::Edit(input)) => specific(event, json!({"updatedInput": input})),
        (Moment::Call(_), Ruling::Stop(why)) => denied_call(event, &why),
        (
            Moment::Result {
                shown: Shown::AsRuled, ..
            },
            Ruling::Edit(output),
        ) => specific(event, json!({"updatedToolOutput": output})),
        (
            Moment::Result {
                call,
                output,
                shown: Shown::AsRuled,
            },
            Ruling::Stop(why),
        ) => json!({
            "decision": "block", "reason": why,
            "hookSpecificOutput": {
                "hookEventName": event.name, "updatedToolOutput": withheld(output, &call.input, &why),
            },
        }),
        (
            Moment::Result {
                shown: Shown::Anyway, ..
            },
            ruling,
        ) => match ruling.without_edit(event) {
            Ruling::Stop(why) => specific(event, json!({"additionalContext": why})),
            Ruling::Go | Ruling::Edit(_) => json!({}),
        },
        (Moment::Prompt(_) | Moment::Trigger { .. } | Moment::Nothing, ruling) => block(event, ruling),
        (Moment::Call(_) | Moment::Result { .. }, Ruling::Go) => json!({}),
    }
}

fn entry(row: &Row, command: &str, seconds: u64) -> Value {
    let hook = json!({"type": "command", "command": closed(command), "timeout": seconds, "onFailure": "block"});
    match row.kind {
        Kind::Prompt => json!({"hooks": [hook]}),
        Kind::Call | Kind::Result | Kind::ShownResult => json!({"matcher": "*", "hooks": [hook]}),
    }
}
