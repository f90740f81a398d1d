//! Steps for these tests, made by hand: decoding is tested elsewhere.

use std::sync::Arc;

use aos_guardian::model::{
    Content, ContentId, Edit, EditError, Form, Kind, Method, Origin, Original, Place, Pointer, Step,
};

#[derive(Debug)]
struct Nowhere;

impl Original for Nowhere {
    fn json(&self) -> &'static str {
        "{}"
    }

    fn edited(&self, _: &[Edit]) -> Result<Arc<Step>, EditError> {
        Err(EditError::Undecodable("this step has no document".to_owned()))
    }
}

/// A step with these contents in its body.
pub(crate) fn step(method: Method, kind: Kind, contents: &[(Origin, &str)]) -> Step {
    let content = |(index, (origin, text)): (usize, &(Origin, &str))| Content {
        id: ContentId::from_index(index),
        origin: *origin,
        pointer: Pointer::new(format!("/params/content/{index}/text")),
        label: None,
        place: Place::Body,
        form: Form::Text,
        text: (*text).to_owned(),
    };
    Step {
        method,
        kind,
        agent: None,
        session: None,
        user: None,
        ties: aos_guardian::model::Ties::default(),
        tool_call: None,
        announced_tools: Vec::new(),
        contents: contents.iter().enumerate().map(content).collect(),
        particulars: Vec::new(),
        remarks: Vec::new(),
        data: Vec::new(),
        original: Arc::new(Nowhere),
    }
}

/// A tool's answer.
pub(crate) fn tool_output(text: &str) -> Step {
    step(Method::ToolCallResult, Kind::ToolResult, &[(Origin::ToolOutput, text)])
}

/// A tool call with one argument.
pub(crate) fn tool_call(argument: &str) -> Step {
    step(
        Method::ToolCallRequest,
        Kind::ToolCall,
        &[(Origin::ToolArguments, argument)],
    )
}
