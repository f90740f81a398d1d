//! Message logs, as the interfaces of models write them: OpenAI's Chat Completions and Responses, Anthropic's Messages.
//!
//! `read` finds the speaker and the content of each message in a request, an answer, both together, or a bare list of messages; `steps` makes AOS
//! requests of them, and takes edits back to their places; `form` says whether all clients read an answer alike. A role is the claim of the sender of
//! the log. Content that is neither the user's nor the agent's words — attachments, and everything that no interface defines — is read as the result
//! of a tool: it has no authority, and is judged.

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
pub(crate) use trace::{MAX_STEPS, NoTrace, Traced, Under, decision_of, is_log, is_trace, steps, strictest};

use super::{Json, Place};

/// The content of a log.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Log {
    /// The instructions of the agent: system prompts, in their order.
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
    /// Its place in the log.
    pub(crate) place: Place,
    /// Its items, in their order.
    pub(crate) said: Vec<ChatItem>,
}

/// The speaker of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speaker {
    /// The user.
    User,
    /// The model, for the agent.
    Agent,
}

/// The party that runs a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunBy {
    /// The agent, once it has the answer.
    Agent,
    /// The provider of the model: it has run when the answer comes.
    Provider,
}

/// An item at one place of a log.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ChatItem {
    /// Words.
    Words {
        /// The speaker.
        who: Speaker,
        /// Texts, in their order.
        parts: Vec<Part>,
    },
    /// A call of a tool.
    Call(Call),
    /// The result of a tool.
    Result(Outcome),
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    /// Its place in the log.
    pub(crate) place: Place,
    /// The id that it shares with its result; empty if it has none.
    pub(crate) id: String,
    /// The tool.
    pub(crate) name: String,
    /// The place of its arguments.
    pub(crate) arguments_at: Place,
    /// Its arguments; of a text that holds a JSON object, the object.
    pub(crate) arguments: Json,
    /// The reasoning of the model before it.
    pub(crate) reasoning: String,
    /// The party that runs it.
    pub(crate) run_by: RunBy,
}

/// The result of a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Outcome {
    /// Its place in the log.
    pub(crate) place: Place,
    /// The id that it shares with its call.
    pub(crate) id: String,
    /// The place of its content, as a whole.
    pub(crate) content_at: Place,
    /// Texts and data.
    pub(crate) parts: Vec<Part>,
    /// True if the tool failed.
    pub(crate) failed: bool,
    /// The party that ran it.
    pub(crate) run_by: RunBy,
}

/// A piece of words or of a result.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Part {
    /// Its place in the log.
    pub(crate) place: Place,
    /// A text; or data, without the bytes of files in it.
    pub(crate) value: Json,
}

impl ChatItem {
    /// Returns its place: the block or call, or the message if it is all of its content.
    pub(crate) fn place(&self) -> Option<&Place> {
        match self {
            ChatItem::Words { parts, .. } => parts.first().map(|part| &part.place),
            ChatItem::Call(call) => Some(&call.place),
            ChatItem::Result(result) => Some(&result.place),
        }
    }
}
