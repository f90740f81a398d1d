//! Tool calls that the policy forbids, that the agent does not declare, or that do not fit the declaration.
//!
//! Agents are sloppy with arguments, so a misfit is a hint. A name that only looks like another tool's is not: nobody
//! types a zero-width character or a Cyrillic letter into a tool's name by accident.

mod arguments;

use unicode_normalization::UnicodeNormalization;

use super::{Plain, Prefilter, Rule, Spoken, Subject};
use crate::model::{
    Confidence, Finding, Pointer, ReasonCode, Severity, Step, Tool as Definition, ToolCall, Treatment, View,
};
use crate::policy::{Policy, Undeclared};
use crate::prefilter::engine::{Entry, RuleTable};
use crate::text::views::is_invisible;
use arguments::Misfit;

/// What a rule of this family is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    NotAllowed,
    LookAlike,
    Undeclared,
    Misfit(Misfit),
}

/// In the examples, the agent declares `send_email(to!: string, body: string, count: integer)` and `read_file(path!: string)`,
/// and the policy denies `shell*`.
const RULES: &[Entry<Fault>] = &[
    Entry {
        key: Fault::NotAllowed,
        id: "tool.not_allowed",
        title: "The policy does not allow this tool.",
        reason: ReasonCode::ToolNotAllowed,
        severity: Severity::Critical,
        confidence: Confidence::High,
        suggests: Treatment::Deny,
        fires_on: &["shell()", "shell_exec(command=\"ls\")", "she\u{200b}ll()"],
        silent_on: &["send_email(to=\"a\")", "read_file(path=\"a\")", "nutshell()"],
    },
    Entry {
        key: Fault::LookAlike,
        id: "tool.look_alike",
        title: "The tool's name only looks like that of a declared tool.",
        reason: ReasonCode::ToolNotAllowed,
        severity: Severity::Critical,
        confidence: Confidence::High,
        suggests: Treatment::Deny,
        fires_on: &[
            "send_em\u{0430}il(to=\"a\")",
            "send_email\u{200b}(to=\"a\")",
            "read_fi1e(path=\"a\")",
            "\u{ff53}end_email(to=\"a\")",
        ],
        silent_on: &["send_email(to=\"a\")", "send_mail(to=\"a\")", "Send_Email(to=\"a\")"],
    },
    Entry {
        key: Fault::Undeclared,
        id: "tool.undeclared",
        title: "The agent calls a tool that it does not declare.",
        reason: ReasonCode::ToolNotAllowed,
        severity: Severity::Medium,
        confidence: Confidence::Medium,
        suggests: Treatment::Evidence,
        fires_on: &["delete_account(id=1)", "Send_Email(to=\"a\")"],
        silent_on: &["send_email(to=\"a\")", "mail.send_email(to=\"a\")"],
    },
    Entry {
        key: Fault::Misfit(Misfit::Unknown),
        id: "tool.unknown_argument",
        title: "An argument that the tool does not declare.",
        reason: ReasonCode::InvalidArguments,
        severity: Severity::Low,
        confidence: Confidence::Medium,
        suggests: Treatment::Evidence,
        fires_on: &["send_email(to=\"a\", bcc=\"b\")"],
        silent_on: &["send_email(to=\"a\", body=\"b\")", "unknown_tool(x=1)"],
    },
    Entry {
        key: Fault::Misfit(Misfit::Missing),
        id: "tool.missing_argument",
        title: "A required argument is missing.",
        reason: ReasonCode::InvalidArguments,
        severity: Severity::Info,
        confidence: Confidence::Medium,
        suggests: Treatment::Evidence,
        fires_on: &["send_email(body=\"b\")"],
        silent_on: &["send_email(to=\"a\")"],
    },
    Entry {
        key: Fault::Misfit(Misfit::Type),
        id: "tool.argument_type",
        title: "An argument is of another type than declared.",
        reason: ReasonCode::InvalidArguments,
        severity: Severity::Low,
        confidence: Confidence::Low,
        suggests: Treatment::Evidence,
        fires_on: &[
            "send_email(to={\"x\":1})",
            "send_email(to=[\"a\"])",
            "send_email(to=\"a\", count=true)",
        ],
        silent_on: &[
            "send_email(to=\"a\", count=3)",
            "send_email(to=\"a\", body=null)",
            "send_email(to=\"a\", count=\"3\")",
        ],
    },
    Entry {
        key: Fault::Misfit(Misfit::Duplicate),
        id: "tool.duplicate_argument",
        title: "The same argument is given twice.",
        reason: ReasonCode::InvalidArguments,
        severity: Severity::Medium,
        confidence: Confidence::Medium,
        suggests: Treatment::Evidence,
        fires_on: &["send_email(to=\"a\", to=\"b\")"],
        silent_on: &["send_email(to=\"a\", body=\"b\")"],
    },
];

/// The family.
pub(super) struct Tool {
    catalogue: RuleTable<Fault>,
}

impl Tool {
    /// Makes the family.
    pub(super) fn new() -> Self {
        Self {
            catalogue: RuleTable::new(RULES),
        }
    }

    fn finding(
        &self,
        fault: Fault,
        step: &Step,
        call: &ToolCall,
        pointer: Option<&Pointer>,
        explanation: String,
    ) -> Option<Finding> {
        let rule = self.catalogue.rule(fault)?;
        let content = call
            .content
            .and_then(|id| step.content(id))
            .filter(|_| pointer.is_none());
        Some(Finding {
            rule: rule.id.clone(),
            reason: rule.reason.clone(),
            severity: rule.severity,
            confidence: rule.confidence,
            content: content.map(|content| content.id),
            pointer: pointer
                .or_else(|| content.map(|content| &content.pointer))
                .cloned()
                .unwrap_or_default(),
            span: 0..content.map_or(0, |content| content.text.len()),
            view: View::Structure,
            suggested: rule.suggests,
            explanation,
        })
    }
}

impl Prefilter for Tool {
    fn family(&self) -> &'static str {
        "tool"
    }

    fn rules(&self) -> &[Rule] {
        self.catalogue.rules()
    }

    fn heeds_plain(&self, _plain: Plain<'_>) -> bool {
        false
    }

    fn screen_content(&self, _subject: &Subject<'_>, _found: &mut Vec<Finding>) {}

    fn screen_step(&self, step: &Step, policy: &Policy, _spoken: Spoken<'_>, found: &mut Vec<Finding>) {
        let Some(call) = &step.tool_call else { return };
        let declared: &[Definition] = step.agent.as_ref().map_or(&[], |agent| &agent.tools);
        let definition = declared.iter().find(|tool| is_same(tool, &call.tool));
        if is_forbidden(call, definition, policy) {
            found.extend(self.finding(
                Fault::NotAllowed,
                step,
                call,
                None,
                "the policy does not allow this tool".to_owned(),
            ));
        }
        match definition {
            Some(definition) => {
                for (misfit, pointer, explanation) in arguments::misfits(call, definition) {
                    found.extend(self.finding(Fault::Misfit(misfit), step, call, pointer.as_ref(), explanation));
                }
            }
            None => self.screen_undeclared(step, call, declared, policy, found),
        }
    }
}

impl Tool {
    fn screen_undeclared(
        &self,
        step: &Step,
        call: &ToolCall,
        declared: &[Definition],
        policy: &Policy,
        found: &mut Vec<Finding>,
    ) {
        let called = skeleton(&call.tool);
        let looks_declared = declared.iter().any(|tool| {
            [&tool.id, &tool.name]
                .into_iter()
                .any(|name| *name != call.tool && !name.is_empty() && skeleton(name) == called)
        });
        let plain = plain(&call.tool);
        let looks_allowed = plain != call.tool
            && policy
                .tools
                .allow
                .as_ref()
                .is_some_and(|allow| allow.matches(&plain) && !allow.matches(&call.tool));
        if looks_declared || looks_allowed {
            let explanation =
                "the tool's name looks like that of another tool, but is spelled with other characters".to_owned();
            found.extend(self.finding(Fault::LookAlike, step, call, None, explanation));
            return;
        }
        if declared.is_empty() {
            return;
        }
        let suggested = match policy.tools.undeclared {
            Undeclared::Ignore => return,
            Undeclared::Evidence => Treatment::Evidence,
            Undeclared::Deny => Treatment::Deny,
        };
        let explanation = "the agent declares tools, but not this one".to_owned();
        let finding = self.finding(Fault::Undeclared, step, call, None, explanation);
        found.extend(finding.map(|finding| Finding { suggested, ..finding }));
    }
}

fn is_forbidden(call: &ToolCall, definition: Option<&Definition>, policy: &Policy) -> bool {
    let plain = plain(&call.tool);
    let names = [
        Some(call.tool.as_str()),
        Some(plain.as_str()),
        definition.map(|tool| tool.id.as_str()),
        definition.map(|tool| tool.name.as_str()),
    ];
    if names.iter().flatten().any(|name| policy.tools.deny.matches(name)) {
        return true;
    }
    match &policy.tools.allow {
        // What only looks allowed is not: the plain spelling does not count here.
        Some(allow) => {
            !allow.matches(&call.tool)
                && !definition.is_some_and(|tool| allow.matches(&tool.id) || allow.matches(&tool.name))
        }
        None => false,
    }
}

/// Whether a call means this tool: by its id, its name, or one of them behind the name of a server.
fn is_same(tool: &Definition, called: &str) -> bool {
    [&tool.id, &tool.name].into_iter().any(|name| {
        let behind = |long: &str, short: &str| {
            !short.is_empty()
                && long.strip_suffix(short).is_some_and(|server| {
                    ["__", ".", "/", ":"]
                        .iter()
                        .any(|sign| server.len() > sign.len() && server.ends_with(sign))
                })
        };
        name == called || behind(called, name) || behind(name, called)
    })
}

/// What a name looks like.
fn skeleton(name: &str) -> String {
    let visible: String = name
        .nfkc()
        .filter(|c| !is_invisible(*c) && !c.is_whitespace())
        .collect();
    unicode_security::skeleton(&visible).collect()
}

/// The name in plain letters, for comparison with patterns.
fn plain(name: &str) -> String {
    if name.is_ascii() {
        return name.to_owned();
    }
    name.nfkc()
        .filter(|c| !is_invisible(*c))
        .map(|c| {
            if c.is_ascii() {
                return c;
            }
            let mut letters = unicode_security::skeleton(c.encode_utf8(&mut [0; 4]))
                .collect::<Vec<_>>()
                .into_iter();
            match (letters.next(), letters.next()) {
                (Some(letter), None) => letter,
                _ => c,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests;
