//! Screens a text that is no content of the step, for the session rules: for example a file that an earlier step wrote and
//! this one runs.

use crate::model::{Content, ContentId, FileUse, Finding, Form, Origin, Place, Pointer, Step, ToolCall};
use crate::policy::Policy;
use crate::prefilter::{self, Prefilters};
use crate::session::rules::TextScreener;

impl TextScreener for Prefilters {
    fn examine(&self, step: &Step, origin: Origin, text: &str, policy: &Policy) -> Vec<Finding> {
        let is_command = origin == Origin::ToolArguments;
        let aside = Step {
            agent: None,
            tool_call: is_command.then(|| ToolCall {
                tool: "bash".to_owned(),
                content: None,
                arguments: Vec::new(),
            }),
            facts: Vec::new(),
            announced_tools: Vec::new(),
            contents: vec![Content {
                id: ContentId::from_index(0),
                origin,
                pointer: Pointer::default(),
                label: is_command.then(|| "command".to_owned()),
                place: Place::Body,
                form: Form::Text,
                text: text.to_owned(),
            }],
            data: Vec::new(),
            remarks: Vec::new(),
            ..step.clone()
        };
        self.screen(&aside, policy).findings
    }

    fn becomes_of(&self, path: &str) -> Option<FileUse> {
        prefilter::becomes_of(path)
    }
}
