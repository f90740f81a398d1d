//! Warming up: rules are compiled when first needed, and the first step should not pay for that.

use std::sync::Arc;

use super::Prefilters;
use crate::model::{
    Content, ContentId, Edit, EditError, Form, Kind, Method, Origin, Original, Place, Pointer, Step, ToolCall,
};
use crate::policy::Policy;

/// A step that no request stands behind.
#[derive(Debug)]
struct NoRequest;

impl Original for NoRequest {
    fn json(&self) -> &str {
        "null"
    }

    fn edited(&self, _edits: &[Edit]) -> Result<Arc<Step>, EditError> {
        Err(EditError::Undecodable(
            "there is no request behind this step".to_owned(),
        ))
    }
}

impl Prefilters {
    /// Screens an example of every rule, so that everything that is compiled lazily is compiled.
    pub fn warm_up(&self, policy: &Policy) {
        for origin in [Origin::ToolArguments, Origin::ToolOutput, Origin::User] {
            self.screen(&self.examples(origin), policy);
        }
    }

    fn examples(&self, origin: Origin) -> Step {
        let texts = self.rules().filter_map(|rule| rule.fires_on.first());
        let contents = texts
            .enumerate()
            .map(|(index, text)| Content {
                id: ContentId::from_index(index),
                origin,
                pointer: Pointer::default(),
                label: Some("command".to_owned()),
                place: Place::Body,
                form: Form::Text,
                text: text.clone(),
            })
            .collect();
        Step {
            method: Method::ToolCallRequest,
            kind: Kind::ToolCall,
            agent: None,
            session: None,
            user: None,
            ties: crate::model::Ties::default(),
            tool_call: Some(ToolCall {
                tool: "bash".to_owned(),
                content: None,
                arguments: Vec::new(),
            }),
            announced_tools: Vec::new(),
            contents,
            particulars: Vec::new(),
            remarks: Vec::new(),
            data: Vec::new(),
            original: Arc::new(NoRequest),
        }
    }
}
