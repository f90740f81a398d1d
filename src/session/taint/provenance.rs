//! The provenance of a text: the place where it was read for the first time, and its description.

use serde::{Deserialize, Serialize};

use crate::model::{ClassSet, Method, Origin, Pointer};

/// The place where something was read for the first time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// The number of the step in its session, from 1.
    pub number: u32,
    /// The step's method.
    pub method: Method,
    /// The tool whose output it was, where one is known.
    pub tool: Option<String>,
    /// The classes of that tool.
    pub classes: ClassSet,
    /// The author.
    pub origin: Origin,
    /// The content.
    pub pointer: Pointer,
}

impl Provenance {
    /// Returns the bytes that it takes in memory, roughly.
    pub(in crate::session) fn bytes(&self) -> usize {
        160 + self.tool.as_ref().map_or(0, String::len) + self.pointer.as_str().len()
    }

    /// Describes it in a few words: "the output of `web.read`, step 3".
    pub fn describe(&self) -> String {
        let what = match (self.origin, &self.tool) {
            (Origin::ToolOutput, Some(tool)) => format!("the output of `{}`", short(tool)),
            (Origin::ToolOutput, None) => "a tool's output".to_owned(),
            (Origin::ToolArguments, Some(tool)) => format!("a call of `{}`", short(tool)),
            (Origin::Knowledge, _) => "a retrieved document".to_owned(),
            (Origin::Memory, _) => "a memory".to_owned(),
            (Origin::RemoteAgent, _) => "a remote agent's answer".to_owned(),
            (Origin::Trigger, _) => "the event that woke the agent".to_owned(),
            (Origin::ToolDescription, _) => "a tool's description".to_owned(),
            (
                Origin::Instructions
                | Origin::User
                | Origin::Agent
                | Origin::Reasoning
                | Origin::ToolArguments
                | Origin::Unknown,
                _,
            ) => "text of unknown origin".to_owned(),
        };
        format!("{what}, step {}", self.number)
    }
}

/// Shortens a name, and takes out what does not belong into a sentence.
pub(in crate::session) fn short(name: &str) -> String {
    name.chars().filter(|c| !c.is_control() && *c != '`').take(60).collect()
}
