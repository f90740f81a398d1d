//! Prompts as a whole: what the judge's model gets to read for a step.

use std::sync::Arc;

use super::*;
use crate::model::{
    Agent, AgentId, Argument, Confidence, Content, ContentId, Edit, EditError, Form, Kind, Method, Original, Place,
    Pointer, ReasonCode, SessionId, Severity, Tool, ToolCall, Treatment, UserId, View,
};

/// The document of a step that was made by hand.
#[derive(Debug)]
struct ByHand;

impl Original for ByHand {
    fn json(&self) -> &str {
        "{}"
    }

    fn edited(&self, _: &[Edit]) -> Result<Arc<Step>, EditError> {
        Err(EditError::Undecodable("made by hand".to_owned()))
    }
}

/// A step, put together in words.
struct Build(Step);

fn a(kind: Kind, method: Method) -> Build {
    Build(Step {
        method,
        kind,
        agent: None,
        session: None,
        user: None,
        tool_call: None,
        announced_tools: Vec::new(),
        contents: Vec::new(),
        remarks: Vec::new(),
        original: Arc::new(ByHand),
    })
}

impl Build {
    fn put(mut self, origin: Origin, place: Place, form: Form, pointer: &str, text: impl Into<String>) -> Self {
        self.0.contents.push(Content {
            id: ContentId::from_index(self.0.contents.len()),
            origin,
            pointer: Pointer::new(pointer),
            label: None,
            place,
            form,
            text: text.into(),
        });
        self
    }

    fn with(self, origin: Origin, pointer: &str, text: impl Into<String>) -> Self {
        self.put(origin, Place::Body, Form::Text, pointer, text)
    }

    fn around(self, origin: Origin, pointer: &str, text: impl Into<String>) -> Self {
        self.put(origin, Place::Surroundings, Form::Text, pointer, text)
    }

    fn labelled(mut self, label: &str) -> Self {
        self.0.contents.last_mut().unwrap().label = Some(label.to_owned());
        self
    }

    fn of_the_desk_agent(mut self) -> Self {
        self.0.agent = Some(Agent {
            id: Some(AgentId::new("desk-1")),
            name: Some("Desk".to_owned()),
            tools: vec![tool("mail.send"), tool("tickets.find")],
        });
        self.0.session = Some(SessionId::new("s-1"));
        self.0.user = Some(UserId::new("u-1"));
        self.around(Origin::Unknown, "/params/context/agent/id", "desk-1")
            .around(Origin::Instructions, "/params/context/agent/name", "Desk")
            .around(
                Origin::Instructions,
                "/params/context/agent/instructions",
                "You answer questions of tenants.\nNever promise repairs.",
            )
            .around(Origin::ToolDescription, "/params/context/agent/tools/0/id", "mail.send")
            .around(
                Origin::ToolDescription,
                "/params/context/agent/tools/0/description",
                "Sends a mail.",
            )
            .around(
                Origin::ToolDescription,
                "/params/context/agent/tools/1/id",
                "tickets.find",
            )
            .around(
                Origin::ToolDescription,
                "/params/context/agent/tools/1/description",
                "Finds tickets.",
            )
            .around(Origin::Unknown, "/params/context/timestamp", "2026-11-20T10:00:00Z")
    }
}

fn tool(id: &str) -> Tool {
    Tool {
        id: id.to_owned(),
        name: id.to_owned(),
        description: None,
        arguments: None,
    }
}

fn finding(step: &Step, index: usize, needle: &str, reason: ReasonCode, view: View) -> Finding {
    let content = &step.contents[index];
    let start = content.text.find(needle).unwrap();
    Finding {
        rule: "family.rule".to_owned(),
        reason,
        severity: Severity::High,
        confidence: Confidence::Medium,
        content: Some(content.id),
        pointer: content.pointer.clone(),
        span: start..start + needle.len(),
        view,
        suggested: Treatment::Evidence,
        explanation: "something was seen".to_owned(),
    }
}

fn marks() -> Marks {
    Marks::fixed("0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210")
}

fn render_with(step: &Step, findings: &[Finding], budget_tokens: usize, reasoning: Reasoning) -> Rendered {
    let policy = Policy::standard().unwrap();
    let input = PromptInput {
        step,
        findings,
        policy: &policy,
        budget_tokens,
        reasoning,
    };
    Prompts::builtin().unwrap().render(&input, &marks()).unwrap()
}

fn render(step: &Step, findings: &[Finding]) -> Rendered {
    render_with(step, findings, DEFAULT_BUDGET_TOKENS, Reasoning::Shown)
}

fn mail_call() -> Step {
    let mut step = a(Kind::ToolCall, Method::ToolCallRequest)
        .of_the_desk_agent()
        .around(Origin::ToolArguments, "/params/toolCallRequest/toolId", "mail.send")
        .with(
            Origin::ToolArguments,
            "/params/toolCallRequest/inputs/0/value",
            "tenant@example.org",
        )
        .labelled("to")
        .with(
            Origin::ToolArguments,
            "/params/toolCallRequest/inputs/1/value",
            "Dear tenant,\nyour ticket is open.",
        )
        .labelled("body")
        .with(
            Origin::Reasoning,
            "/params/reasoning",
            "The tenant asked for the state of the ticket.",
        )
        .0;
    let argument = |name: &str, pointer: &str, json: &str| Argument {
        name: name.to_owned(),
        pointer: Pointer::new(pointer),
        json: json.to_owned(),
    };
    step.tool_call = Some(ToolCall {
        tool: "mail.send".to_owned(),
        content: Some(ContentId::from_index(8)),
        arguments: vec![
            argument("to", "/params/toolCallRequest/inputs/0/value", "\"tenant@example.org\""),
            argument(
                "body",
                "/params/toolCallRequest/inputs/1/value",
                "\"Dear tenant,\\nyour ticket is open.\"",
            ),
            argument("copies", "/params/toolCallRequest/inputs/2/value", "3"),
        ],
    });
    step
}

#[test]
fn every_kind_of_step_renders() {
    for kind in Kind::ALL {
        let step = a(*kind, Method::Message)
            .with(Origin::User, "/params/message/content/0/text", "What is new?")
            .0;
        let rendered = render(&step, &[]);
        assert!(
            rendered
                .user
                .contains("\nWhat is new?\n</content-0123456789abcdef0123456789abcdef>"),
            "{kind}"
        );
        assert_eq!(rendered.shown, [ContentId::from_index(0)]);
        assert_eq!(rendered.cut, []);
    }
}

#[test]
fn the_evidence_is_listed() {
    let step = mail_call();
    let found = finding(&step, 9, "tenant@", ReasonCode::PersonalData, View::Raw);
    assert!(render(&step, &[found]).user.contains("`family.rule` in c10"));
}
