//! The input of a hook: one JSON object, of which the event's name and the session are the least.

use serde_json::{Map, Value};

/// The kind of an event of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The agent is given a task.
    Prompt,
    /// A tool is about to run.
    Call,
    /// A tool has run; what it returned can be withheld or replaced.
    Result,
    /// A tool has run; the program shows what it returned whatever the hook says.
    ShownResult,
}

/// An event that a program has a hook for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// Its name in the input.
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// The tool, where the input names none.
    pub(super) tool: &'static str,
}

impl Row {
    pub(super) const fn new(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, tool: "" }
    }
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Call {
    /// The id that the call shares with its result.
    pub(super) id: String,
    pub(super) tool: String,
    pub(super) input: Value,
}

/// The moment at which an event is raised.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Moment {
    /// Words of the user.
    Prompt(String),
    /// Words that start a turn and are not the user's: a schedule, a wake-up, a poll.
    Trigger { source: String, text: String },
    /// A tool is about to run.
    Call(Call),
    /// A tool has run.
    Result { call: Call, output: Value, shown: Shown },
    /// Nothing that is judged: a session starts or ends, a turn ends, or the program has an event that has no words.
    Nothing,
}

/// The way in which the agent gets a result: as the hook rules, or whatever it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// As the hook rules.
    AsRuled,
    /// It is.
    Anyway,
}

/// One event of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Its name, as the program calls it.
    pub(super) name: String,
    /// The session's id, as the program calls it.
    pub(super) session: String,
    /// The folder in which the agent works, where the program tells.
    pub folder: Option<String>,
    pub(super) moment: Moment,
}

/// The reason why an input is no event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// There is none.
    #[error("expected one JSON object on standard input, found nothing")]
    Empty,
    /// It is none.
    #[error("expected one JSON object on standard input, found something else: {0}")]
    NotJson(String),
    /// A member is missing that every event has.
    #[error("expected `{0}` in the input of the hook, a string that is not empty")]
    Missing(&'static str),
}

/// Names under which programs give the result of a tool, and those under which they name the session.
const RESULTS: &[&str] = &["tool_response", "tool_result", "tool_output", "error", "content"];
const SESSIONS: &[&str] = &["conversation_id", "session_id", "sessionId"];
/// Names under which they name the event; the second one is that of VS Code, which reads hooks of others.
const EVENTS: &[&str] = &["hook_event_name", "hookEventName"];
/// The members of a call, where a program gives no `tool_input`.
const INPUTS: &[&str] = &["command", "cwd", "file_path", "url"];
/// The authors of a prompt that count as the user.
const USERS: &[&str] = &["user", "sdk"];

/// Reads the input of a hook.
///
/// # Errors
///
/// When it is no JSON object.
pub(super) fn read(input: &[u8]) -> Result<Map<String, Value>, Unreadable> {
    if input.trim_ascii().is_empty() {
        return Err(Unreadable::Empty);
    }
    serde_json::from_slice(input).map_err(|error| Unreadable::NotJson(error.to_string()))
}

/// Returns the event's name in an input.
pub(super) fn name(input: &Map<String, Value>) -> Option<String> {
    text(input, EVENTS)
}

impl Event {
    /// Reads the input of a hook of a program that has these events.
    ///
    /// # Errors
    ///
    /// When it lacks its event or its session.
    pub(super) fn of(rows: &[Row], input: &Map<String, Value>) -> Result<Self, Unreadable> {
        let name = name(input).ok_or(Unreadable::Missing("hook_event_name"))?;
        let row = rows.iter().find(|row| row.name == name);
        let moment = row.map_or(Moment::Nothing, |row| moment(row, input));
        let session = match text(input, SESSIONS) {
            Some(session) => session,
            None if moment == Moment::Nothing => String::new(),
            None => return Err(Unreadable::Missing("session_id")),
        };
        Ok(Self {
            name,
            session,
            folder: text(input, &["cwd"]).or_else(|| first_root(input)),
            moment,
        })
    }

    /// Returns `true` if there is nothing in it to be judged.
    pub fn is_silent(&self) -> bool {
        self.moment == Moment::Nothing
    }
}

fn moment(row: &Row, input: &Map<String, Value>) -> Moment {
    match row.kind {
        Kind::Prompt => {
            let text_of_prompt = text(input, &["prompt"]).unwrap_or_default();
            match text(input, &["source"]) {
                Some(source) if !USERS.contains(&source.as_str()) => Moment::Trigger {
                    source,
                    text: text_of_prompt,
                },
                Some(_) | None => Moment::Prompt(text_of_prompt),
            }
        }
        Kind::Call => Moment::Call(call(row, input)),
        Kind::Result | Kind::ShownResult => Moment::Result {
            call: call(row, input),
            output: output(input),
            shown: match row.kind {
                Kind::ShownResult => Shown::Anyway,
                Kind::Prompt | Kind::Call | Kind::Result => Shown::AsRuled,
            },
        },
    }
}

fn call(row: &Row, event: &Map<String, Value>) -> Call {
    let tool = text(event, &["tool_name"]).unwrap_or_else(|| row.tool.to_owned());
    let input = match event.get("tool_input") {
        // Cursor hands on what MCP tools are called with as a text.
        Some(Value::String(json)) => serde_json::from_str(json).unwrap_or_else(|_| Value::String(json.clone())),
        Some(input) => input.clone(),
        None => {
            let given = INPUTS
                .iter()
                .filter_map(|name| Some(((*name).to_owned(), event.get(*name)?.clone())));
            Value::Object(given.collect())
        }
    };
    let id = text(event, &["tool_use_id"]).unwrap_or_else(|| {
        // The same call has the same id, in whatever order its members are written.
        let mut sorted = input.clone();
        sorted.sort_all_objects();
        let hash = blake3::hash(format!("{tool}\n{sorted}").as_bytes());
        hash.to_hex().chars().take(16).collect()
    });
    Call { id, tool, input }
}

fn output(event: &Map<String, Value>) -> Value {
    let found = RESULTS.iter().find_map(|name| event.get(*name));
    let mut output = found.cloned().unwrap_or(Value::Null);
    // Gemini CLI gives the same words once for the model and once for the terminal.
    if let Value::Object(members) = &mut output
        && members.contains_key("llmContent")
    {
        members.remove("returnDisplay");
    }
    output
}

/// Returns the first folder of Cursor's workspace.
fn first_root(input: &Map<String, Value>) -> Option<String> {
    let roots = input.get("workspace_roots")?.as_array()?;
    roots.first()?.as_str().map(str::to_owned)
}

/// Returns the first of these members that is a text, and not an empty one.
fn text(input: &Map<String, Value>, names: &[&str]) -> Option<String> {
    let mut texts = names.iter().filter_map(|name| input.get(*name)?.as_str());
    texts.find(|text| !text.is_empty()).map(str::to_owned)
}
