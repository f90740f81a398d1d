//! A session in the making: its agent and its steps, as an adapter finds them, and the lines of a suite that come of it.

use serde_json::{Map, Value, json};

use crate::eval::session_line::MAX_STEPS;

/// The label that a document gives a step.
#[derive(Clone, Debug, Default)]
pub(super) struct Label {
    /// True if it must not pass; `None` where the document does not say.
    pub(super) deny: Option<bool>,
    /// Reason codes.
    pub(super) codes: Vec<String>,
    /// The reason, in a sentence.
    pub(super) why: Option<String>,
}

impl Label {
    /// Makes the label of an attack.
    pub(super) fn attack(code: &str, why: &str) -> Self {
        Self {
            deny: Some(true),
            codes: vec![code.to_owned()],
            why: Some(why.to_owned()),
        }
    }

    /// Makes the label of honest work.
    pub(super) fn honest() -> Self {
        Self {
            deny: Some(false),
            ..Self::default()
        }
    }

    /// Makes the label of a step that has none.
    pub(super) fn unknown() -> Self {
        Self::default()
    }

    /// Reads the label that stands beside a message: `label`, `codes`, `why`.
    pub(super) fn beside(value: &Value) -> Self {
        let deny = match value.get("label").and_then(Value::as_str) {
            Some("deny" | "attack" | "harmful" | "unsafe" | "malicious") => Some(true),
            Some("allow" | "honest" | "harmless" | "safe" | "benign") => Some(false),
            Some(_) | None => None,
        };
        let codes = value.get("codes").or_else(|| value.get("reason_codes"));
        let codes = codes.and_then(Value::as_array).into_iter().flatten();
        Self {
            deny,
            codes: codes.filter_map(Value::as_str).map(str::to_owned).collect(),
            why: value.get("why").and_then(Value::as_str).map(str::to_owned),
        }
    }

    pub(super) fn or(self, other: Self) -> Self {
        if self.deny.is_some() { self } else { other }
    }
}

/// A session.
#[derive(Clone, Debug, Default)]
pub(super) struct Session {
    /// Its id within its suite.
    pub(super) id: String,
    /// The id of the agent, where it is known.
    pub(super) agent: Option<String>,
    /// The instructions of the agent.
    pub(super) instructions: String,
    /// Tools, as suites have them.
    pub(super) tools: Vec<Value>,
    steps: Vec<Value>,
}

/// A line of a suite.
pub(super) struct Line {
    pub(super) text: String,
    pub(super) steps: usize,
    pub(super) labelled: usize,
}

impl Session {
    pub(super) fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            ..Self::default()
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Adds a text of one party: `user`, `agent`, `system`. Empty texts are no steps.
    pub(super) fn says(&mut self, kind: &str, text: &str, label: Label) {
        if !text.trim().is_empty() {
            self.add(kind, label, [("text", json!(text))]);
        }
    }

    /// Adds a call of a tool.
    pub(super) fn calls(&mut self, tool: &str, arguments: Value, reasoning: Option<&str>, label: Label) {
        let arguments = match arguments {
            Value::Object(arguments) => arguments,
            Value::Null => Map::new(),
            other => Map::from_iter([("arguments".to_owned(), other)]),
        };
        let mut members = vec![("tool", json!(tool)), ("args", Value::Object(arguments))];
        members.extend(
            reasoning
                .filter(|text| !text.trim().is_empty())
                .map(|text| ("reasoning", json!(text))),
        );
        self.add("call", label, members);
    }

    /// Adds what a tool answered.
    pub(super) fn results(&mut self, text: Value, failed: bool, label: Label) {
        let text = if text.is_null() { json!("") } else { text };
        let mut members = vec![("text", text)];
        members.extend(failed.then_some(("error", json!(true))));
        self.add("result", label, members);
    }

    /// Adds a step of any kind.
    pub(super) fn add(&mut self, kind: &str, label: Label, members: impl IntoIterator<Item = (&'static str, Value)>) {
        let mut step = Map::from_iter([("kind".to_owned(), json!(kind))]);
        step.extend(members.into_iter().map(|(name, value)| (name.to_owned(), value)));
        if let Some(deny) = label.deny {
            step.insert("label".to_owned(), json!(if deny { "deny" } else { "allow" }));
            if deny && !label.codes.is_empty() {
                step.insert("codes".to_owned(), json!(label.codes));
            }
        }
        if let Some(why) = label.why {
            step.insert("why".to_owned(), json!(why));
        }
        self.steps.push(Value::Object(step));
    }

    /// Labels the last step, where it has no label yet.
    pub(super) fn label_last(&mut self, label: Label) {
        let Some(Value::Object(mut step)) = self.steps.pop() else {
            return;
        };
        let labelled = step.contains_key("label");
        match (step.remove("kind"), labelled) {
            (Some(Value::String(kind)), false) => {
                let mut one = Self::default();
                one.add(&kind, label, []);
                let added = one.steps.pop();
                if let Some(Value::Object(mut added)) = added {
                    added.extend(step);
                    self.steps.push(Value::Object(added));
                }
            }
            (kind, _) => {
                step.extend(kind.map(|kind| ("kind".to_owned(), kind)));
                self.steps.push(Value::Object(step));
            }
        }
    }

    /// Writes the session as lines of a suite; a long one as several, each with so many steps as a session may have.
    pub(super) fn lines(&self, source: &str) -> Vec<Line> {
        let id = self.agent.as_deref().unwrap_or("agent");
        let agent = json!({"id": id, "name": "Agent", "instructions": self.instructions, "tools": self.tools});
        let parts = self.steps.chunks(MAX_STEPS).enumerate();
        let lines = parts.map(|(index, steps)| {
            let id = if index == 0 {
                self.id.clone()
            } else {
                format!("{}-{}", self.id, index + 1)
            };
            let mut line = json!({"id": id, "agent": agent, "steps": steps});
            if let (Some(line), false) = (line.as_object_mut(), source.is_empty()) {
                line.insert("source".to_owned(), json!(source));
            }
            Line {
                text: line.to_string(),
                steps: steps.len(),
                labelled: steps.iter().filter(|step| step.get("label").is_some()).count(),
            }
        });
        lines.collect()
    }
}

/// Returns a tool as suites have it, of its name, description and JSON Schema.
pub(super) fn tool(name: &str, description: &str, schema: Option<&Value>) -> Value {
    let properties = schema.and_then(|schema| schema.get("properties")?.as_object());
    let required = schema.and_then(|schema| schema.get("required")?.as_array());
    let arguments = properties.into_iter().flatten().map(|(name, property)| {
        let text = |key: &str| property.get(key).and_then(Value::as_str);
        json!({
            "name": name,
            "type": text("type").unwrap_or("string"),
            "description": text("description").unwrap_or_default(),
            "required": required.is_some_and(|required| required.iter().any(|one| one == name)),
        })
    });
    json!({"name": name, "description": description, "arguments": arguments.collect::<Vec<_>>()})
}

/// Returns the items of a list that an object holds under a key; none where it holds no list there.
pub(in crate::eval) fn items<'v>(object: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    object.get(key).and_then(Value::as_array).into_iter().flatten()
}

/// Parses a text that is JSON; any other stays a text.
pub(super) fn parsed(value: &Value) -> Value {
    match value {
        Value::String(text) => match serde_json::from_str(text) {
            Ok(found @ (Value::Object(_) | Value::Array(_))) => found,
            Ok(_) | Err(_) => value.clone(),
        },
        other => other.clone(),
    }
}
