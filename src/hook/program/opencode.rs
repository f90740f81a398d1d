//! OpenCode. It has no commands as hooks but plugins; ours calls the command and speaks in a form of our own.

use serde_json::{Value, json};

use super::{Form, Listing, Program, Settings};
use crate::hook::event::{Event, Kind, Moment, Row};
use crate::hook::ruling::{Ruling, withheld};

pub(super) const PROGRAM: Program = Program {
    name: "opencode",
    title: "OpenCode",
    notes: &[
        "A prompt that is denied is shown as an error of the server. A prompt cannot be edited: what would be edited is denied.",
    ],
    events: &[
        Row::new("prompt", Kind::Prompt),
        Row::new("call", Kind::Call),
        Row::new("result", Kind::Result),
    ],
    is_caller: super::calls_nobody,
    listing: Some(Listing::Printed(&["opencode", "debug", "config"])),
    answer,
    settings: Settings {
        variable: None,
        folder: ".config/opencode",
        file: "plugins/guardian.js",
        form: Form::Plugin(plugin),
    },
};

fn answer(event: &Event, ruling: Ruling) -> Value {
    match (&event.moment, ruling) {
        (_, Ruling::Go) => json!({}),
        (Moment::Call(_), Ruling::Edit(input)) => json!({"input": input}),
        (Moment::Result { .. }, Ruling::Edit(output)) => json!({"output": output}),
        (Moment::Result { call, output, .. }, Ruling::Stop(why)) => {
            json!({"output": withheld(output, &call.input, &why)})
        }
        (_, ruling) => match ruling.without_edit(event) {
            Ruling::Stop(why) => json!({"deny": why}),
            Ruling::Go | Ruling::Edit(_) => json!({}),
        },
    }
}

/// Returns the plugin: it calls a command, given as a JSON array of words, and waits so many seconds.
fn plugin(command: &str, seconds: u64) -> String {
    include_str!("opencode.js")
        .replace("[\"COMMAND\"]", command)
        .replace("\"SECONDS\"", &seconds.to_string())
}
