//! Message logs, as the interfaces of models write them: OpenAI's Chat Completions and Responses, Anthropic's Messages.
//!
//! `read` finds who says what in a request, an answer, both together, or a bare list of messages; `steps` makes AOS requests of that,
//! and takes edits back to their places; `form` says whether all clients read an answer so. A role is the claim of whoever sends the log. What is none of the user's or the agent's words —
//! attachments, and whatever no interface defines — is read as the result of a tool: it has no authority, and is judged.

mod form;
mod read;
mod steps;
mod tools;
mod trace;

#[cfg(test)]
mod tests;

pub(crate) use form::{has_content, is_plain};
pub(crate) use read::{read, read_answer, run_by, text_of};
pub(crate) use steps::{Agent, write_back};
pub(crate) use trace::{MAX_STEPS, NoTrace, Traced, Under, is_log, is_trace, steps};

use super::{Json, Place};

/// What a log says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Log {
    /// What the agent is told: system prompts, in their order.
    pub(crate) instructions: String,
    /// Tools that the agent runs, as they were written.
    pub(crate) tools: Vec<Json>,
    /// Tools that run where the model is: a name, and how it is declared. One that has a name beside its type stands under both.
    pub(crate) hosted: Vec<(String, Json)>,
    /// Messages and items, in their order.
    pub(crate) messages: Vec<Message>,
}

/// One message, or one item of a list that holds calls and results beside messages.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Message {
    /// Where it stands.
    pub(crate) place: Place,
    /// What it says, in its order.
    pub(crate) said: Vec<ChatItem>,
}

/// Who says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speaker {
    /// The user.
    User,
    /// The model, for the agent.
    Agent,
}

/// Who runs a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunBy {
    /// The agent, once it has the answer.
    Agent,
    /// Whoever serves the model: it has run when the answer comes.
    Provider,
}

/// What is said at one place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ChatItem {
    /// Words.
    Words {
        /// Whose.
        who: Speaker,
        /// Texts, in their order.
        parts: Vec<Part>,
    },
    /// A call of a tool.
    Call(Call),
    /// What a tool gave.
    Result(Outcome),
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    /// Where it stands.
    pub(crate) place: Place,
    /// What it shares with its result; empty where it has none.
    pub(crate) id: String,
    /// The tool.
    pub(crate) name: String,
    /// Where its arguments stand.
    pub(crate) arguments_at: Place,
    /// Its arguments; of a text that holds a JSON object, the object.
    pub(crate) arguments: Json,
    /// What the model thought before it.
    pub(crate) reasoning: String,
    /// Who runs it.
    pub(crate) run_by: RunBy,
}

/// The result of a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Outcome {
    /// Where it stands.
    pub(crate) place: Place,
    /// What it shares with its call.
    pub(crate) id: String,
    /// Where its content stands, as a whole.
    pub(crate) content_at: Place,
    /// Texts and data.
    pub(crate) parts: Vec<Part>,
    /// Whether the tool failed.
    pub(crate) failed: bool,
    /// Who ran it.
    pub(crate) run_by: RunBy,
}

/// A piece of what is said.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Part {
    /// Where it stands.
    pub(crate) place: Place,
    /// A text; or data, without the bytes of files in it.
    pub(crate) value: Json,
}

impl ChatItem {
    /// Where it stands: the block or call, or the message where it is all of its content.
    pub(crate) fn place(&self) -> Option<&Place> {
        match self {
            ChatItem::Words { parts, .. } => parts.first().map(|part| &part.place),
            ChatItem::Call(call) => Some(&call.place),
            ChatItem::Result(result) => Some(&result.place),
        }
    }
}
