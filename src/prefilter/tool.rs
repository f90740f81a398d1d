//! Tool calls that the policy forbids, that the agent does not declare, or that do not fit the declaration.
//!
//! Agents are sloppy with arguments, so a misfit is a hint. A name that only looks like another tool's is not: no one types
//! a zero-width character or a Cyrillic letter into a tool's name by accident.

mod arguments;

use unicode_normalization::UnicodeNormalization;

use super::Prefilter;
use crate::model::{Finding, Pointer, Step, Tool as Definition, ToolCall, Treatment};
use crate::policy::{Policy, Undeclared};
use crate::prefilter::engine::{family, rule_keys};
use crate::text::characters::is_invisible;

rule_keys! {
    /// The subject of a rule of this family.
    pub(super) enum Fault {
        NotAllowed = "not_allowed",
        LookAlike = "look_alike",
        Undeclared = "undeclared",
        UnknownArgument = "unknown_argument",
        MissingArgument = "missing_argument",
        ArgumentType = "argument_type",
        DuplicateArgument = "duplicate_argument",
        UnreadableArguments = "unreadable_arguments",
    }
}

family! {
    /// The family.
    Tool of Fault = "tool", InvalidArguments, Nothing
}

impl Tool {
    /// A finding on the name of a call's tool, where the document holds it.
    fn on_name(&self, fault: Fault, step: &Step, call: &ToolCall) -> Finding {
        let rule = self.rules.rule(fault);
        match call.content.and_then(|id| step.content(id)) {
            Some(content) => rule.on_content(content, rule.title.clone()),
            None => rule.on_step(Pointer::default(), rule.title.clone()),
        }
    }
}

impl Prefilter for Tool {
    fn screen_step(&self, step: &Step, policy: &Policy, found: &mut Vec<Finding>) {
        let Some(call) = &step.tool_call else { return };
        let declared: &[Definition] = step.agent.as_ref().map_or(&[], |agent| &agent.tools);
        let definition = declared.iter().find(|tool| is_same(tool, &call.tool));
        if is_forbidden(call, definition, policy) {
            found.push(self.on_name(Fault::NotAllowed, step, call));
        }
        if let Some(pointer) = arguments::unreadable(call, definition) {
            let rule = self.rules.rule(Fault::UnreadableArguments);
            found.push(rule.on_step(pointer, rule.title.clone()));
        }
        match definition {
            Some(definition) => {
                for (misfit, pointer, explanation) in arguments::misfits(call, definition) {
                    let finding = match pointer {
                        Some(pointer) => self.rules.rule(misfit).on_step(pointer, explanation),
                        None => Finding {
                            explanation,
                            ..self.on_name(misfit, step, call)
                        },
                    };
                    found.push(finding);
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
            found.push(self.on_name(Fault::LookAlike, step, call));
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
        let finding = self.on_name(Fault::Undeclared, step, call);
        found.push(Finding { suggested, ..finding });
    }
}

fn is_forbidden(call: &ToolCall, definition: Option<&Definition>, policy: &Policy) -> bool {
    let plain = plain(&call.tool);
    // Some programs find their tools in any case, and behind blanks.
    let folded = plain.trim().to_lowercase();
    let names = [
        Some(call.tool.as_str()),
        Some(plain.as_str()),
        Some(folded.as_str()),
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

/// Returns `true` if a call means this tool: by its id, its name, or one of them behind the name of a server.
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

/// Returns the skeleton of a name, by which look-alikes are equal.
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
